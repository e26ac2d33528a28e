/* Messages with layouts as plain C over MPI, and the copies that pack them: what they cost without CoMet.
 *
 * scripts/bench-layouts.sh holds comet-run against this program, so it does what skampi/pingpong_send_recv and
 * skampi/pack do: the same derived types, one element of them a message, other buffers for what is sent and for
 * what is received, the same settling, repetitions and samples. It packs by a memcpy of each block.
 *
 * Usage: mpi-layouts SAMPLES REPETITIONS contiguous|vector:BLOCK:STRIDE|indexed|struct LENGTH ...
 *   LENGTH is that of the data, in bytes, and whole blocks.
 * Prints the version of the library behind a #, a head, and two lines for each length.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INLINE static inline __attribute__((always_inline))

enum { OUT = 1, BACK = 2, SETTLE = 20, ALIGNMENT = 64 };

/* Blocks of one length at one distance, or in lists. */
struct blocks {
    MPI_Datatype type;
    size_t n, length, stride, extent;
    size_t *starts, *lengths;
};

struct buffers {
    char *message, *place, *packed;
    struct blocks of;
};

typedef void operation(struct buffers *b);

static MPI_Comm comm;
static int rank;

static void fail(const char *what)
{
    fprintf(stderr, "mpi-layouts: %s\n", what);
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

/* ---- layouts, as in comet-core/src/layout ---- */

static struct blocks vector(size_t n_bytes, size_t block, size_t stride)
{
    struct blocks of = {.n = n_bytes / block, .length = block, .stride = stride};
    of.extent = (of.n - 1) * stride + block;
    check(MPI_Type_vector((int)of.n, (int)block, (int)stride, MPI_UINT8_T, &of.type));
    return of;
}

static struct blocks contiguous(size_t n_bytes)
{
    struct blocks of = {.n = 1, .length = n_bytes, .stride = n_bytes, .extent = n_bytes};
    check(MPI_Type_contiguous((int)n_bytes, MPI_UINT8_T, &of.type));
    return of;
}

/* Lines of the lower triangle of a square, the last one cut off. */
static struct blocks indexed(size_t n_bytes)
{
    size_t n = 0;
    while (n * (n + 1) / 2 < n_bytes)
        n++;
    struct blocks of = {.n = n, .starts = calloc(n, sizeof(size_t)), .lengths = calloc(n, sizeof(size_t))};
    int *starts = calloc(n, sizeof(int)), *lengths = calloc(n, sizeof(int));
    if (!of.starts || !of.lengths || !starts || !lengths)
        fail("out of memory");
    for (size_t i = 0; i < n; i++) {
        size_t left = n_bytes - i * (i + 1) / 2;
        of.starts[i] = i * n;
        of.lengths[i] = i + 1 < left ? i + 1 : left;
        starts[i] = (int)of.starts[i];
        lengths[i] = (int)of.lengths[i];
    }
    of.extent = of.starts[n - 1] + of.lengths[n - 1];
    check(MPI_Type_indexed((int)n, lengths, starts, MPI_UINT8_T, &of.type));
    free(starts);
    free(lengths);
    return of;
}

/* One byte, a gap of one, and two bytes, again and again. */
static struct blocks record(size_t n_bytes)
{
    size_t n = n_bytes / 3;
    struct blocks of = {.n = 2 * n, .starts = calloc(2 * n, sizeof(size_t)), .lengths = calloc(2 * n, sizeof(size_t))};
    if (!of.starts || !of.lengths)
        fail("out of memory");
    for (size_t i = 0; i < n; i++) {
        of.starts[2 * i] = 4 * i;
        of.lengths[2 * i] = 1;
        of.starts[2 * i + 1] = 4 * i + 2;
        of.lengths[2 * i + 1] = 2;
    }
    of.extent = 4 * n;
    int lengths[] = {1, 2};
    MPI_Aint starts[] = {0, 2};
    MPI_Datatype bytes[] = {MPI_UINT8_T, MPI_UINT8_T}, one;
    check(MPI_Type_create_struct(2, lengths, starts, bytes, &one));
    check(MPI_Type_contiguous((int)n, one, &of.type));
    check(MPI_Type_free(&one));
    return of;
}

static struct blocks layout(const char *text, size_t n_bytes)
{
    size_t block = 0, stride = 0;
    struct blocks of;
    if (sscanf(text, "vector:%zu:%zu", &block, &stride) == 2 && block > 0)
        of = vector(n_bytes, block, stride);
    else if (!strcmp(text, "contiguous"))
        of = contiguous(n_bytes);
    else if (!strcmp(text, "indexed"))
        of = indexed(n_bytes);
    else if (!strcmp(text, "struct"))
        of = record(n_bytes);
    else
        fail("a layout is contiguous, vector:BLOCK:STRIDE, indexed or struct");
    check(MPI_Type_commit(&of.type));
    return of;
}

/* ---- copies of each block, whose length the compiler knows where it is a usual one ---- */

INLINE void copy(char *into, const char *from, size_t n, size_t length, size_t in_step, size_t from_step)
{
    for (size_t i = 0; i < n; i++)
        memcpy(into + i * in_step, from + i * from_step, length);
}

/* By registers: some compilers make one string instruction of 64 bytes, which takes five times as long. */
INLINE void copy_64(char *into, const char *from, size_t n, size_t in_step, size_t from_step)
{
    for (size_t i = 0; i < n; i++)
        for (size_t part = 0; part < 64; part += 16)
            memcpy(into + i * in_step + part, from + i * from_step + part, 16);
}

INLINE void copy_all(char *into, const char *from, const struct blocks *of, size_t in_step, size_t from_step)
{
    switch (of->length) {
    case 8: copy(into, from, of->n, 8, in_step, from_step); break;
    case 16: copy(into, from, of->n, 16, in_step, from_step); break;
    case 64: copy_64(into, from, of->n, in_step, from_step); break;
    default: copy(into, from, of->n, of->length, in_step, from_step);
    }
}

INLINE void pack_and_unpack(struct buffers *b)
{
    struct blocks *of = &b->of;
    if (!of->starts) {
        copy_all(b->packed, b->message, of, of->length, of->stride);
        copy_all(b->place, b->packed, of, of->stride, of->length);
    } else {
        char *at = b->packed;
        for (size_t i = 0; i < of->n; at += of->lengths[i++])
            memcpy(at, b->message + of->starts[i], of->lengths[i]);
        at = b->packed;
        for (size_t i = 0; i < of->n; at += of->lengths[i++])
            memcpy(b->place + of->starts[i], at, of->lengths[i]);
    }
    /* What is copied is used. */
    __asm__ volatile("" : : "r"(b->packed), "r"(b->place) : "memory");
}

INLINE void bounce(struct buffers *b)
{
    check(MPI_Send(b->message, 1, b->of.type, 1 - rank, OUT, comm));
    check(MPI_Recv(b->place, 1, b->of.type, 1 - rank, BACK, comm, MPI_STATUS_IGNORE));
}

INLINE void send_back(struct buffers *b)
{
    check(MPI_Recv(b->place, 1, b->of.type, 1 - rank, OUT, comm, MPI_STATUS_IGNORE));
    check(MPI_Send(b->message, 1, b->of.type, 1 - rank, BACK, comm));
}

/* Inlined with a known operation, so that no call through a pointer is timed. */
INLINE void repeat(operation *op, struct buffers *b, int n_samples, int repetitions, double *samples)
{
    for (int i = 0; i < SETTLE; i++)
        op(b);
    for (int i = 0; i < n_samples; i++) {
        int64_t start_ns = now_ns();
        for (int r = 0; r < repetitions; r++)
            op(b);
        samples[i] = (double)(now_ns() - start_ns) / repetitions;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *kernel, const char *length, double *samples, int n)
{
    qsort(samples, (size_t)n, sizeof *samples, ascending);
    printf("%s,%s,%.3f,%.3f,%.3f\n", kernel, length, (samples[n / 2] + samples[(n - 1) / 2]) / 2, samples[n / 4],
           samples[0]);
}

static char *allocate(size_t length)
{
    void *memory = NULL;
    check(MPI_Alloc_mem((MPI_Aint)length + ALIGNMENT, MPI_INFO_NULL, &memory));
    memset(memory, 1, length + ALIGNMENT);
    return (char *)memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT) % ALIGNMENT;
}

static void run_case(const char *text, const char *length, int n_samples, int repetitions)
{
    size_t n_bytes = strtoul(length, NULL, 10);
    if (n_bytes == 0)
        fail("LENGTH is a positive number");
    struct buffers b = {.of = layout(text, n_bytes)};
    b.message = allocate(b.of.extent);
    b.place = allocate(b.of.extent);
    b.packed = allocate(n_bytes);
    double *samples = calloc((size_t)n_samples, sizeof *samples);
    if (!samples)
        fail("out of memory");
    check(MPI_Barrier(comm));
    if (rank == 0)
        repeat(bounce, &b, n_samples, repetitions, samples);
    else
        repeat(send_back, &b, n_samples, repetitions, samples);
    if (rank == 0) {
        print("pingpong_send_recv", length, samples, n_samples);
        repeat(pack_and_unpack, &b, n_samples, repetitions, samples);
        print("pack", length, samples, n_samples);
    }
    check(MPI_Barrier(comm));
    check(MPI_Type_free(&b.of.type));
    free(samples);
}

int main(int argc, char **argv)
{
    int n_ranks, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    check(MPI_Init(&argc, &argv));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &n_ranks));
    int n_samples = argc > 4 ? atoi(argv[1]) : 0, repetitions = argc > 4 ? atoi(argv[2]) : 0;
    if (n_ranks != 2 || n_samples < 1 || repetitions < 1)
        fail("usage: mpiexec -n 2 mpi-layouts SAMPLES REPETITIONS LAYOUT LENGTH ...");
    check(MPI_Get_library_version(version, &length));
    version[strcspn(version, "\n")] = 0;
    if (rank == 0)
        printf("# %s\nkernel,length,median_ns,p25_ns,min_ns\n", version);
    for (int i = 4; i < argc; i++)
        run_case(argv[3], argv[i], n_samples, repetitions);
    check(MPI_Comm_free(&comm));
    check(MPI_Finalize());
    return 0;
}
