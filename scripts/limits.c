/* The limits of the machine that scripts/bench-shm.sh prints beside its ratios: how fast a cache
 * line goes to another core and back, memory is copied, a sleeper wakes, the scheduler switches.
 *
 * Usage: limits [line]
 *   line  the cache-line ping-pong alone
 * Prints `name value unit` for each; times are one way. What needs two processors is left out where
 * there is one. Needs Linux: futex(2), sched_setaffinity(2).
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The lower quartile of windows of many operations repeats better than their mean or median. */
enum { N_WINDOWS = 40, MAX_WINDOWS = 200 };
/* A guest's processors are moved for some tenths of a second after they begin to work. */
enum { WARM_UP_NS = 400000000 };
/* More than the caches of a core, and than most shared ones leave to a process. */
static const size_t COLD_BYTES = (size_t)256 << 20;
static const size_t COPY_BYTES[] = {4096, 65536, 1048576, 4194304};

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the values. */
static double lower_quartile(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[n / 4];
}

/* Two words on lines of their own, each written by one side; the processor fetches lines in pairs. */
struct words {
    _Alignas(128) atomic_uint ping;
    _Alignas(128) atomic_uint pong;
};

static inline void store(atomic_uint *word, unsigned value)
{
    /* Release: pairs with the acquire load of the wait, as in any transport. */
    atomic_store_explicit(word, value, memory_order_release);
}

static inline void spin(atomic_uint *word, unsigned value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value) {
#if defined __x86_64__
        __builtin_ia32_pause();
#endif
    }
}

typedef void await(atomic_uint *word, unsigned value);
typedef void notify(atomic_uint *word, unsigned value);

static int cpus[2], n_cpus;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *map(size_t length)
{
    void *start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        fail("limits: mmap");
    return start;
}

/* ---- processors ---- */

/* The first two processors that may be used. */
static void find_cpus(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        fail("limits: sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE && n_cpus < 2; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            cpus[n_cpus++] = cpu;
}

static void bind_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        fail("limits: sched_setaffinity");
}

/* ---- two processes that wait for each other ---- */

static void yield(atomic_uint *word, unsigned value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        sched_yield();
}

static void sleep_on(atomic_uint *word, unsigned value)
{
    unsigned seen;
    while ((seen = atomic_load_explicit(word, memory_order_acquire)) != value)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void store_and_wake(atomic_uint *word, unsigned value)
{
    store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The other side answers until it is killed. */
static pid_t start_echo(struct words *words, int cpu, await *wait_for, notify *tell)
{
    pid_t child = fork();
    if (child < 0)
        fail("limits: fork");
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_to(cpu);
    for (unsigned turn = 1;; turn++) {
        wait_for(&words->ping, turn);
        tell(&words->pong, turn);
    }
}

/* Half a round trip between processes on two processors, or on one if they are the same. */
static double half_round_trip_ns(int first, int second, int n_round_trips, await *wait_for,
                                 notify *tell)
{
    struct words *words = map(sizeof *words);
    double ns[N_WINDOWS];
    pid_t child = start_echo(words, second, wait_for, tell);
    unsigned turn = 0;
    bind_to(first);
    int64_t warm_ns = now_ns() + WARM_UP_NS;
    for (int i = 0; i < N_WINDOWS; i += now_ns() > warm_ns) {
        int64_t start_ns = now_ns();
        for (int r = 0; r < n_round_trips; r++) {
            tell(&words->ping, ++turn);
            wait_for(&words->pong, turn);
        }
        ns[i] = (double)(now_ns() - start_ns) / n_round_trips / 2;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(words, sizeof *words);
    return lower_quartile(ns, N_WINDOWS);
}

static void print(const char *name, double ns)
{
    printf("%s %.1f ns\n", name, ns);
}

/* ---- the limits ---- */

static void line(void)
{
    if (n_cpus == 2)
        print("line", half_round_trip_ns(cpus[0], cpus[1], 500, spin, store));
}

static void futex_wake(void)
{
    if (n_cpus == 2)
        print("futex_wake", half_round_trip_ns(cpus[0], cpus[1], 20, sleep_on, store_and_wake));
    print("futex_wake_same_cpu",
          half_round_trip_ns(cpus[0], cpus[0], 100, sleep_on, store_and_wake));
}

static void yield_alone(void)
{
    double ns[N_WINDOWS];
    for (int i = 0; i < N_WINDOWS; i++) {
        int64_t start_ns = now_ns();
        for (int r = 0; r < 1000; r++)
            sched_yield();
        ns[i] = (double)(now_ns() - start_ns) / 1000;
    }
    print("yield_alone", lower_quartile(ns, N_WINDOWS));
}

/* Two processes on one processor hand it to each other: each way is one switch. */
static void yield_switch(void)
{
    print("yield_switch", half_round_trip_ns(cpus[0], cpus[0], 500, yield, store));
}

/* Copies within `span` bytes each: within one length it stays in the cache. */
static double copy_ns(char *to, const char *from, size_t length, size_t span)
{
    static double ns[MAX_WINDOWS];
    int n_copies = length < 65536 ? 50 : 1;
    size_t at = 0;
    for (int i = 0; i < MAX_WINDOWS; i++) {
        int64_t start_ns = now_ns();
        for (int r = 0; r < n_copies; r++, at = at + 2 * length <= span ? at + length : 0)
            memcpy(to + at, from + at, length);
        ns[i] = (double)(now_ns() - start_ns) / n_copies;
    }
    return lower_quartile(ns, MAX_WINDOWS);
}

static void copies(void)
{
    char *from = map(COLD_BYTES), *to = map(COLD_BYTES), name[64];
    memset(from, 1, COLD_BYTES);
    memset(to, 2, COLD_BYTES);
    for (size_t i = 0; i < sizeof COPY_BYTES / sizeof *COPY_BYTES; i++) {
        size_t length = COPY_BYTES[i];
        snprintf(name, sizeof name, "memcpy_hot_%zu_bytes", length);
        print(name, copy_ns(to, from, length, length));
        snprintf(name, sizeof name, "memcpy_cold_%zu_bytes", length);
        print(name, copy_ns(to, from, length, COLD_BYTES));
    }
}

int main(int argc, char **argv)
{
    int is_line_alone = argc == 2 && !strcmp(argv[1], "line");
    if (argc > 1 && !is_line_alone) {
        fprintf(stderr, "usage: limits [line], got %s\n", argv[argc - 1]);
        return 2;
    }
    find_cpus();
    line();
    if (is_line_alone)
        return 0;
    futex_wake();
    yield_alone();
    yield_switch();
    copies();
    return 0;
}
