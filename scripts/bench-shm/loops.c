/* Windows of communication as plain C over MPI, for scripts/bench-shm.sh, which holds comet-shm
 * against this program. comet-shm/examples/windows/loops.rs does the same over CoMet, case by case.
 *
 * Usage: loops LINE_FILE LINE_NS WINDOW_US CASE_MS FIGURE:BYTES ...
 *   LINE_FILE  a fresh file of 4096 zeros, in which ranks 0 and 1 pass a cache line to and fro
 *              before and after each case; - for none
 *   LINE_NS    how long that usually takes one way: where it takes another time, they wait for some
 *              time until it does, and measure again
 *   WINDOW_US  the least length of a window in microseconds; 0 for the same number of operations
 *              whatever they take, by the length of the message
 *   CASE_MS    the time for the windows of a case in milliseconds, of which there are 40 to 200
 *   FIGURE     latency, latency_in_place, stream, barrier, sum, broadcast (one after the other) or
 *              broadcast_and_barrier (after each)
 * Prints `figure bytes ns line_before line_after` for each: the lower quartile of windows, one way
 * for a latency, for one operation for all others, and how fast the cache line went one way in ns.
 * Without arguments it prints the version of the library.
 */
#include "windows.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define INLINE static inline __attribute__((always_inline))

enum { MIN_WINDOWS = 40, MAX_WINDOWS = 200, MAX_OPERATIONS = 1 << 20 };
enum { MESSAGE = 1, ACKNOWLEDGEMENT = 2 };
/* Messages of a stream that one acknowledgement is for. */
enum { STREAM_MESSAGES = 1000 };
enum { ALIGNMENT = 128 };
/* A guest's processors are moved now and then, mostly soon after they begin to work. */
enum { LINE_ROUND_TRIPS = 500, N_LINE_WINDOWS = 10, MAX_TRIES = 3 };
static const double LINE_TOLERANCE = 1.2;

/* The two are one, unless the message that is sent has to stay as it is. */
struct buffers {
    char *sent, *received;
    int length;
};

typedef void window(struct buffers *b, int n);

/* What the received buffer holds after an operation. */
enum holds { NOTHING, MESSAGE_OF_PEER, MESSAGE_OF_ROOT, SUM };

struct figure {
    const char *name;
    window *run;
    enum holds holds;
    int is_separate;
    /* How many values one operation has. */
    int divisor;
};

struct pace {
    int64_t window_ns, case_ns;
};

static MPI_Comm comm;
static int rank, n_ranks;
/* The line between ranks 0 and 1, if there is one. */
static struct words *line;
static double usual_line_ns;
/* How long this launch may still wait for it. */
static int64_t patience_ns = 2000000000;

static void fail(const char *what)
{
    fprintf(stderr, "loops: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

INLINE void check(int code)
{
    if (code != MPI_SUCCESS)
        fail("an MPI call failed");
}

INLINE void send(const char *message, int length, int to, int tag)
{
    check(MPI_Send(message, length, MPI_BYTE, to, tag, comm));
}

INLINE void receive(char *message, int length, int from, int tag)
{
    check(MPI_Recv(message, length, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE));
}

INLINE int as_rank_0(int n)
{
    check(MPI_Bcast(&n, 1, MPI_INT, 0, comm));
    return n;
}

/* ---- the line ---- */

static void open_line(const char *path)
{
    int file = open(path, O_RDWR);
    if (file < 0)
        fail("cannot open LINE_FILE");
    line = mmap(NULL, sizeof *line, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (line == MAP_FAILED)
        fail("cannot map LINE_FILE");
}

/* How long the line takes one way; only rank 0 knows. */
static double line_ns(void)
{
    static unsigned turn;
    double ns[N_LINE_WINDOWS];
    for (int i = 0; line && i < N_LINE_WINDOWS; i++) {
        int64_t start_ns = now_ns();
        for (int r = 0; r < LINE_ROUND_TRIPS; r++) {
            turn++;
            if (rank == 0)
                store(&line->ping, turn);
            spin(rank == 0 ? &line->pong : &line->ping, turn);
            if (rank == 1)
                store(&line->pong, turn);
        }
        ns[i] = (double)(now_ns() - start_ns) / LINE_ROUND_TRIPS / 2;
    }
    return line ? lower_quartile(ns, N_LINE_WINDOWS) : 0;
}

static int is_unusual(double ns)
{
    double ratio = ns / usual_line_ns;
    return line && (ratio > LINE_TOLERANCE || ratio < 1 / LINE_TOLERANCE);
}

/* Passes the line to and fro until it takes its usual time, or patience ends; returns what it
 * takes. */
static double settle(void)
{
    double ns;
    int64_t start_ns = now_ns();
    do
        ns = line_ns();
    while (as_rank_0(is_unusual(ns) && now_ns() - start_ns < patience_ns));
    patience_ns -= now_ns() - start_ns;
    return ns;
}

/* ---- the windows ---- */

/* Ranks 0 and 1 echo; the others wait in the barrier that follows. */
static void latency(struct buffers *b, int n)
{
    for (int i = 0; i < n && rank == 0; i++) {
        send(b->sent, b->length, 1, MESSAGE);
        receive(b->received, b->length, 1, MESSAGE);
    }
    for (int i = 0; i < n && rank == 1; i++) {
        receive(b->received, b->length, 0, MESSAGE);
        send(b->sent, b->length, 0, MESSAGE);
    }
}

static void stream(struct buffers *b, int n)
{
    for (int i = 0; i < n && rank == 0; i++) {
        for (int m = 0; m < STREAM_MESSAGES; m++)
            send(b->sent, b->length, 1, MESSAGE);
        receive(b->received, 0, 1, ACKNOWLEDGEMENT);
    }
    for (int i = 0; i < n && rank == 1; i++) {
        for (int m = 0; m < STREAM_MESSAGES; m++)
            receive(b->received, b->length, 0, MESSAGE);
        send(b->sent, 0, 0, ACKNOWLEDGEMENT);
    }
}

static void barrier(struct buffers *b, int n)
{
    (void)b;
    for (int i = 0; i < n; i++)
        check(MPI_Barrier(comm));
}

static void sum(struct buffers *b, int n)
{
    int n_doubles = b->length / (int)sizeof(double);
    for (int i = 0; i < n; i++)
        check(MPI_Allreduce(MPI_IN_PLACE, b->sent, n_doubles, MPI_DOUBLE, MPI_SUM, comm));
}

static void broadcast(struct buffers *b, int n)
{
    for (int i = 0; i < n; i++)
        check(MPI_Bcast(b->sent, b->length, MPI_BYTE, 0, comm));
}

/* As the kernel `broadcast` of comet-run does it: the root cannot run ahead of the others. */
static void broadcast_and_barrier(struct buffers *b, int n)
{
    for (int i = 0; i < n; i++) {
        check(MPI_Bcast(b->sent, b->length, MPI_BYTE, 0, comm));
        check(MPI_Barrier(comm));
    }
}

static const struct figure FIGURES[] = {
    {"latency", latency, MESSAGE_OF_PEER, 1, 2},
    {"latency_in_place", latency, MESSAGE_OF_ROOT, 0, 2},
    {"stream", stream, MESSAGE_OF_ROOT, 0, STREAM_MESSAGES},
    {"barrier", barrier, NOTHING, 0, 1},
    {"sum", sum, SUM, 0, 1},
    {"broadcast", broadcast, MESSAGE_OF_ROOT, 0, 1},
    {"broadcast_and_barrier", broadcast_and_barrier, MESSAGE_OF_ROOT, 0, 1},
};

/* What one window takes, ns. All ranks begin together where more than two have a part in it, and
 * a broadcast has ended when all ranks have it. */
static int64_t window_ns(const struct figure *f, struct buffers *b, int n)
{
    int is_echo = f->run == latency || f->run == stream;
    if (!is_echo || n_ranks > 2)
        check(MPI_Barrier(comm));
    int64_t start_ns = now_ns();
    f->run(b, n);
    if (f->run == broadcast)
        check(MPI_Barrier(comm));
    return now_ns() - start_ns;
}

/* ---- how many operations and windows ---- */

static int fixed_operations(const struct figure *f, int length)
{
    if (f->run == stream)
        return 1;
    return length <= 4096 ? 500 : length <= 65536 ? 50 : length <= 1048576 ? 5 : 2;
}

/* The fewest, as a power of two, that fill a window. */
static int enough_operations(const struct figure *f, struct buffers *b, int64_t wanted_ns)
{
    int n = 1;
    while (as_rank_0(window_ns(f, b, n) < wanted_ns) && n < MAX_OPERATIONS)
        n *= 2;
    return n;
}

static int enough_windows(int64_t of_one_ns, int64_t case_ns)
{
    int64_t n = case_ns / (of_one_ns + 1);
    return (int)(n < MIN_WINDOWS ? MIN_WINDOWS : n > MAX_WINDOWS ? MAX_WINDOWS : n);
}

/* ---- what arrives ---- */

static unsigned char pattern(int of_rank, int i)
{
    return (unsigned char)(7 * i + 31 * of_rank + 1);
}

static void fill(const struct figure *f, struct buffers *b)
{
    double *values = (double *)b->sent;
    for (int i = 0; f->holds == SUM && i < b->length / (int)sizeof *values; i++)
        values[i] = rank + 1;
    for (int i = 0; f->holds != SUM && i < b->length; i++)
        b->sent[i] = (char)pattern(rank, i);
}

static void expect(const struct figure *f, const struct buffers *b)
{
    const double *values = (const double *)b->received;
    int from = f->holds == MESSAGE_OF_PEER ? 1 - rank : 0;
    for (int i = 0; f->holds == SUM && i < b->length / (int)sizeof *values; i++)
        if (values[i] != n_ranks * (n_ranks + 1) / 2.0)
            fail("a sum is wrong");
    for (int i = 0; f->holds != SUM && i < b->length; i++)
        if ((unsigned char)b->received[i] != pattern(from, i))
            fail("a message is wrong");
}

/* One operation whose result is looked at; never timed. */
static void verify(const struct figure *f, struct buffers *b)
{
    int has_part = n_ranks == 2 || f->holds != MESSAGE_OF_PEER || rank < 2;
    fill(f, b);
    window_ns(f, b, 1);
    if (f->holds != NOTHING && has_part)
        expect(f, b);
    if (f->holds == SUM)
        memset(b->sent, 0, (size_t)b->length);
}

/* ---- a case ---- */

static char *allocate(int length)
{
    void *memory = NULL;
    MPI_Aint padded = (MPI_Aint)length + ALIGNMENT;
    check(MPI_Alloc_mem(padded, MPI_INFO_NULL, &memory));
    memset(memory, 0, (size_t)padded);
    return memory;
}

static char *align(char *memory)
{
    return memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;
}

static double measure(const struct figure *f, struct buffers *b, struct pace pace)
{
    double ns[MAX_WINDOWS];
    int n = pace.window_ns ? enough_operations(f, b, pace.window_ns)
                           : fixed_operations(f, b->length);
    window_ns(f, b, n);
    int n_windows = as_rank_0(enough_windows(window_ns(f, b, n), pace.case_ns));
    for (int i = 0; i < n_windows; i++)
        ns[i] = (double)window_ns(f, b, n) / n / f->divisor;
    return lower_quartile(ns, n_windows);
}

/* The time of a case, with the line's before and after it. */
static double measure_undisturbed(const struct figure *f, struct buffers *b, struct pace pace,
                                  double *before_ns, double *after_ns)
{
    double ns;
    int n_tries = 0;
    do {
        *before_ns = settle();
        ns = measure(f, b, pace);
        *after_ns = line_ns();
        n_tries++;
    } while (as_rank_0(is_unusual(*before_ns) || is_unusual(*after_ns)) && n_tries < MAX_TRIES);
    return ns;
}

static void run_case(const struct figure *f, int length, struct pace pace)
{
    char *first = allocate(length), *second = allocate(length);
    struct buffers b = {align(first), align(f->is_separate ? second : first), length};
    double before_ns, after_ns;
    verify(f, &b);
    double ns = measure_undisturbed(f, &b, pace, &before_ns, &after_ns);
    verify(f, &b);
    if (rank == 0)
        printf("%s %d %.1f %.1f %.1f\n", f->name, length, ns, before_ns, after_ns);
    check(MPI_Free_mem(first));
    check(MPI_Free_mem(second));
}

/* ---- the command line ---- */

static void run_argument(const char *argument, struct pace pace)
{
    const char *colon = strchr(argument, ':');
    size_t n_figures = sizeof FIGURES / sizeof *FIGURES;
    for (size_t i = 0; colon && i < n_figures; i++) {
        size_t n = strlen(FIGURES[i].name);
        if (n == (size_t)(colon - argument) && !strncmp(argument, FIGURES[i].name, n)) {
            run_case(&FIGURES[i], atoi(colon + 1), pace);
            return;
        }
    }
    fail("a case is FIGURE:BYTES, as in latency:8");
}

/* MPI allows this before its initialisation, so that no launcher is needed. */
static int print_version(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = 0;
    printf("%s\n", version);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return print_version();
    check(MPI_Init(&argc, &argv));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &n_ranks));
    if (n_ranks < 2 || argc < 6)
        fail("usage: mpiexec -n RANKS loops LINE_FILE LINE_NS WINDOW_US CASE_MS FIGURE:BYTES ...");
    struct pace pace = {1000 * (int64_t)atoi(argv[3]), 1000000 * (int64_t)atoi(argv[4])};
    if (strcmp(argv[1], "-") && rank < 2)
        open_line(argv[1]);
    usual_line_ns = atof(argv[2]);
    for (int i = 5; i < argc; i++)
        run_argument(argv[i], pace);
    check(MPI_Comm_free(&comm));
    check(MPI_Finalize());
    return 0;
}
