/* What both programs of this folder need: the clock, the lower quartile of windows, and two words
 * that two processes wait for. A window is
 * a number of operations between two clock reads. Disturbances only lengthen windows, and the lower
 * quartile repeats better from launch to launch than the mean or the median. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

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
