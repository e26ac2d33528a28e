/* The kernels of comet-run as plain C over MPI: what they cost without CoMet.
 *
 * scripts/bench-mpi-fidelity.sh and bench-shm.sh hold comet-run against this program, so it does
 * what comet-run does, and nothing that a C program would not do: the same operations, definitions,
 * buffers, rounds, settling, repetitions and samples. Echo and exchange run on ranks 0 and 1, the
 * others on all. It asks for no status of a receive, and starts MPI by MPI_Init, that is at
 * MPI_THREAD_SINGLE, as comet-run does by default.
 *
 * Usage: mpi-fidelity SAMPLES REPETITIONS KERNEL:LENGTH ...
 *   LENGTH is in bytes, for a reduction in doubles, for a barrier 0.
 * Prints the version of the library behind a #, a head, and one line for each case.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INLINE static inline __attribute__((always_inline))

enum { TEST_NODE = 0 };
/* Tags of the kernels. */
enum { OUT = 1, BACK = 2, EXCHANGE = 3 };
/* As in comet-core/src/driver/probe.rs. */
enum { N_ROUNDS = 5, N_PROBE_SAMPLES = 3, SETTLE_NS = 500000, MIN_SETTLE = 2, MAX_SETTLE = 2000 };
/* Message buffers start at a cache line. */
enum { ALIGNMENT = 64 };

struct sample {
    int64_t start_ns, end_ns;
};

struct pace {
    int repetitions, n_samples, settle;
};

/* What an operation works on; `spare` is the second buffer of an exchange. */
struct buffers {
    char *message, *spare;
    int length;
};

typedef void operation(struct buffers *b);

struct kernel {
    const char *name;
    /* One operation between two clock reads, a barrier before each, and all ranks sample. */
    int is_single;
    int divisor;
    void (*measure)(int length, struct pace pace, struct sample *samples);
};

static MPI_Comm comm;
static int rank, n_ranks, peer;

/* ---- the timed loop, as in comet-core/src/context.rs ---- */

static void fail(const char *what)
{
    fprintf(stderr, "mpi-fidelity: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

INLINE void check(int code)
{
    if (code != MPI_SUCCESS)
        fail("an MPI call failed");
}

INLINE int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Inlined with a known operation, so that no call through a pointer is timed. */
INLINE void repeat(operation *op, struct buffers *b, struct pace pace, int is_single,
                   struct sample *samples)
{
    for (int i = 0; i < pace.settle; i++) {
        if (is_single)
            check(MPI_Barrier(comm));
        op(b);
    }
    for (int i = 0; i < pace.n_samples; i++) {
        if (is_single)
            check(MPI_Barrier(comm));
        int64_t start_ns = samples ? now_ns() : 0;
        for (int r = 0; r < pace.repetitions; r++)
            op(b);
        if (samples)
            samples[i] = (struct sample){start_ns, now_ns()};
    }
}

/* ---- buffers ---- */

static char *align(char *memory)
{
    return memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;
}

static char *allocate(int length)
{
    void *memory = NULL;
    MPI_Aint padded = (MPI_Aint)length + ALIGNMENT;
    check(MPI_Alloc_mem(padded, MPI_INFO_NULL, &memory));
    memset(memory, 0, (size_t)padded);
    return memory;
}

/* ---- the kernels, as in comet-kernels/src/comet ---- */

INLINE void bounce(struct buffers *b)
{
    check(MPI_Send(b->message, b->length, MPI_BYTE, peer, OUT, comm));
    check(MPI_Recv(b->message, b->length, MPI_BYTE, peer, BACK, comm, MPI_STATUS_IGNORE));
}

INLINE void send_back(struct buffers *b)
{
    check(MPI_Recv(b->message, b->length, MPI_BYTE, peer, OUT, comm, MPI_STATUS_IGNORE));
    check(MPI_Send(b->message, b->length, MPI_BYTE, peer, BACK, comm));
}

static void echo(int length, struct pace pace, struct sample *samples)
{
    char *memory = allocate(length);
    struct buffers b = {align(memory), NULL, length};
    if (rank == TEST_NODE)
        repeat(bounce, &b, pace, 0, samples);
    else if (peer == TEST_NODE)
        repeat(send_back, &b, pace, 0, NULL);
    check(MPI_Free_mem(memory));
}

INLINE void swap_messages(struct buffers *b)
{
    check(MPI_Sendrecv(b->message, b->length, MPI_BYTE, peer, EXCHANGE, b->spare, b->length,
                       MPI_BYTE, peer, EXCHANGE, comm, MPI_STATUS_IGNORE));
    char *received = b->spare;
    b->spare = b->message;
    b->message = received;
}

static void exchange(int length, struct pace pace, struct sample *samples)
{
    char *memory = allocate(length), *second = allocate(length);
    struct buffers b = {align(memory), align(second), length};
    if (rank <= 1)
        repeat(swap_messages, &b, pace, 0, rank == TEST_NODE ? samples : NULL);
    check(MPI_Free_mem(memory));
    check(MPI_Free_mem(second));
}

INLINE void broadcast_and_wait(struct buffers *b)
{
    check(MPI_Bcast(b->message, b->length, MPI_BYTE, TEST_NODE, comm));
    check(MPI_Barrier(comm));
}

static void broadcast(int length, struct pace pace, struct sample *samples)
{
    char *memory = allocate(length);
    struct buffers b = {align(memory), NULL, length};
    repeat(broadcast_and_wait, &b, pace, 0, rank == TEST_NODE ? samples : NULL);
    check(MPI_Free_mem(memory));
}

INLINE void global_sum(struct buffers *b)
{
    check(MPI_Allreduce(MPI_IN_PLACE, b->message, b->length, MPI_DOUBLE, MPI_SUM, comm));
}

/* The vector is the program's own memory, as it is in the kernel. */
static void reduction(int length, struct pace pace, struct sample *samples)
{
    char *vector = calloc((size_t)length + 1, sizeof(double));
    if (!vector)
        fail("out of memory");
    struct buffers b = {vector, NULL, length};
    repeat(global_sum, &b, pace, 1, samples);
    free(vector);
}

INLINE void wait_for_all(struct buffers *b)
{
    (void)b;
    check(MPI_Barrier(comm));
}

static void barrier(int length, struct pace pace, struct sample *samples)
{
    (void)length;
    repeat(wait_for_all, NULL, pace, 0, rank == TEST_NODE ? samples : NULL);
}

static const struct kernel KERNELS[] = {
    {"echo", 0, 2, echo},           {"exchange", 0, 1, exchange}, {"broadcast", 0, 1, broadcast},
    {"reduction", 1, 1, reduction}, {"barrier", 0, 1, barrier},
};

/* ---- statistics, as in comet-core/src/{definition,stats}.rs ---- */

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(const double *sorted, int n, double q)
{
    double position = q * (n - 1);
    int below = (int)position, above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
}

/* The sorted values of one operation; of a single one from the first start to the last end. */
static double *values_ns(const struct kernel *k, struct sample *of_ranks, int n, int repetitions)
{
    double *values = malloc((size_t)n * sizeof *values);
    if (!values)
        fail("out of memory");
    for (int i = 0; i < n; i++) {
        struct sample all = of_ranks[i];
        for (int r = 1; k->is_single && r < n_ranks; r++) {
            struct sample other = of_ranks[r * n + i];
            all.start_ns = other.start_ns < all.start_ns ? other.start_ns : all.start_ns;
            all.end_ns = other.end_ns > all.end_ns ? other.end_ns : all.end_ns;
        }
        values[i] = (double)(all.end_ns - all.start_ns) / repetitions / k->divisor;
    }
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values;
}

/* ---- a case, as in comet-core/src/driver/conductor.rs ---- */

static void take_samples(const struct kernel *k, int length, struct pace pace, struct sample *into)
{
    check(MPI_Barrier(comm));
    k->measure(length, pace, into);
}

/* How often to run a case before the first clock read of a round, by a few samples at `pace`. */
static int settle(const struct kernel *k, int length, struct pace pace)
{
    struct sample samples[N_PROBE_SAMPLES] = {{0, 0}};
    double ns[N_PROBE_SAMPLES];
    take_samples(k, length, pace, samples);
    for (int i = 0; i < N_PROBE_SAMPLES; i++)
        ns[i] = (double)(samples[i].end_ns - samples[i].start_ns) / pace.repetitions;
    qsort(ns, N_PROBE_SAMPLES, sizeof *ns, ascending);
    double times = SETTLE_NS / (quantile(ns, N_PROBE_SAMPLES, 0.5) + 1);
    int n = times < MIN_SETTLE ? MIN_SETTLE : times > MAX_SETTLE ? MAX_SETTLE : (int)times;
    check(MPI_Bcast(&n, 1, MPI_INT, TEST_NODE, comm));
    return n;
}

static void measure(const struct kernel *k, int length, struct pace pace, struct sample *samples)
{
    int n_samples = pace.n_samples, per_round = (n_samples + N_ROUNDS - 1) / N_ROUNDS;
    pace.n_samples = N_PROBE_SAMPLES;
    pace.settle = settle(k, length, (struct pace){1, N_PROBE_SAMPLES, MIN_SETTLE});
    pace.settle = settle(k, length, pace);
    for (int taken = 0; taken < n_samples; taken += pace.n_samples) {
        int n_left = n_samples - taken;
        pace.n_samples = n_left < per_round ? n_left : per_round;
        take_samples(k, length, pace, samples + taken);
    }
}

static void run_case(const struct kernel *k, int length, struct pace pace)
{
    int n = pace.n_samples;
    struct sample *samples = calloc((size_t)n * (size_t)(1 + n_ranks), sizeof *samples);
    if (!samples)
        fail("out of memory");
    struct sample *of_ranks = samples + n;
    pace.repetitions = k->is_single ? 1 : pace.repetitions;
    measure(k, length, pace, samples);
    int size = n * (int)sizeof *samples;
    check(MPI_Gather(samples, size, MPI_BYTE, of_ranks, size, MPI_BYTE, TEST_NODE, comm));
    if (rank == TEST_NODE) {
        double *sorted = values_ns(k, of_ranks, n, pace.repetitions);
        printf("%s,%d,%.3f,%.3f,%.3f\n", k->name, length, quantile(sorted, n, 0.5),
               quantile(sorted, n, 0.25), sorted[0]);
        free(sorted);
    }
    free(samples);
}

/* ---- the command line ---- */

static int positive(const char *text, const char *what)
{
    int number = atoi(text);
    if (number < 1)
        fail(what);
    return number;
}

static void run_argument(const char *argument, struct pace pace)
{
    const char *colon = strchr(argument, ':');
    size_t n_kernels = sizeof KERNELS / sizeof *KERNELS;
    for (size_t i = 0; colon && i < n_kernels; i++) {
        size_t n = strlen(KERNELS[i].name);
        if (n == (size_t)(colon - argument) && !strncmp(argument, KERNELS[i].name, n)) {
            run_case(&KERNELS[i], atoi(colon + 1), pace);
            return;
        }
    }
    fail("a case is KERNEL:LENGTH, as in echo:8");
}

static void print_head(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    check(MPI_Get_library_version(version, &length));
    version[strcspn(version, "\n")] = 0;
    printf("# %s\nkernel,length,median_ns,p25_ns,min_ns\n", version);
}

int main(int argc, char **argv)
{
    check(MPI_Init(&argc, &argv));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &n_ranks));
    if (n_ranks < 2 || argc < 4)
        fail("usage: mpiexec -n RANKS mpi-fidelity SAMPLES REPETITIONS KERNEL:LENGTH ...");
    peer = rank ^ 1;
    struct pace pace = {.n_samples = positive(argv[1], "SAMPLES is a positive number"),
                        .repetitions = positive(argv[2], "REPETITIONS is a positive number")};
    if (rank == TEST_NODE)
        print_head();
    for (int i = 3; i < argc; i++)
        run_argument(argv[i], pace);
    check(MPI_Comm_free(&comm));
    check(MPI_Finalize());
    return 0;
}
