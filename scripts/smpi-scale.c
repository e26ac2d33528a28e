/* A barrier and a global sum with messages of 1 KiB, for SimGrid's SMPI.
 *
 * scripts/bench-sim.sh holds comet-sim/examples/scale.rs against this program, so both do the same:
 * a dissemination barrier (Hensgen, Finkel and Manber 1988), then a sum by recursive doubling
 * (Thakur, Rabenseifner and Gropp 2005, section 4.5), every message in an exchange.
 *
 * Usage: smpirun -no-privatize ... smpi-scale [WHAT BYTES]
 *   echo BYTES  send BYTES bytes there and back instead, on two ranks
 *   allreduce=ring, allreduce=recursive_doubling, alltoall=pairwise, bcast=binomial and
 *   bcast=scatter_ring BYTES  carry that collective out once instead, message by message as the
 *               algorithms of comet-core do it, with parts of BYTES bytes, which are doubles
 * Prints the virtual time in nanoseconds (of an echo one way), the number of messages, and the
 * seconds that the simulation took, with the set-up of the ranks.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_VALUES = 128, LENGTH = N_VALUES * sizeof(double) };
enum { BARRIER = 1, SUM = 2, ECHO = 3, PLAN = 4 };

struct rank {
    int number, n_ranks;
};

/* With -no-privatize all ranks share these, so the last one speaks for all without a message. */
static int n_ended, n_messages;
static double start_wall_s;

static void fail(const char *what)
{
    fprintf(stderr, "smpi-scale: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The parentheses keep SMPI's macro away, which would give the virtual time. */
static double wall_s(void)
{
    struct timespec now;
    (clock_gettime)(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double *allocate(size_t length)
{
    double *memory = calloc(1, length);
    if (!memory)
        fail("out of memory");
    return memory;
}

/* ---- the operations, as in comet-sim/examples/scale.rs ---- */

static void exchange(int to, const double *message, int from, double *buffer, int tag)
{
    n_messages++;
    MPI_Sendrecv(message, LENGTH, MPI_BYTE, to, tag, buffer, LENGTH, MPI_BYTE, from, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void barrier(struct rank r, const double *message, double *buffer)
{
    for (int distance = 1; distance < r.n_ranks; distance *= 2) {
        int to = (r.number + distance) % r.n_ranks;
        int from = (r.number + r.n_ranks - distance) % r.n_ranks;
        exchange(to, message, from, buffer, BARRIER);
    }
}

static void global_sum(struct rank r, double *values, double *received)
{
    for (int distance = 1; distance < r.n_ranks; distance *= 2) {
        int partner = r.number ^ distance;
        exchange(partner, values, partner, received, SUM);
        for (int i = 0; i < N_VALUES; i++)
            values[i] += received[i];
    }
}

static void barrier_and_sum(struct rank r)
{
    double *values = allocate(LENGTH), *received = allocate(LENGTH);
    double expected = 0.5 * r.n_ranks * (r.n_ranks - 1);
    for (int i = 0; i < N_VALUES; i++)
        values[i] = r.number;
    barrier(r, values, received);
    global_sum(r, values, received);
    for (int i = 0; i < N_VALUES; i++)
        if (values[i] != expected)
            fail("the sum is wrong");
    free(values);
    free(received);
}

static void echo(struct rank r, int length)
{
    double *message = allocate((size_t)length);
    int peer = 1 - r.number;
    n_messages++;
    if (r.number == 0)
        MPI_Send(message, length, MPI_BYTE, peer, ECHO, MPI_COMM_WORLD);
    MPI_Recv(message, length, MPI_BYTE, peer, ECHO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (r.number == 1)
        MPI_Send(message, length, MPI_BYTE, peer, ECHO, MPI_COMM_WORLD);
    free(message);
}

/* ---- collectives, as in comet-core/src/collective/algorithm ---- */

/* Messages of n doubles to one rank and from another. */
static void exchange_part(int to, const double *message, int n_out, int from, double *buffer, int n_in)
{
    n_messages++;
    MPI_Sendrecv(message, n_out, MPI_DOUBLE, to, PLAN, buffer, n_in, MPI_DOUBLE, from, PLAN,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_part(int to, const double *message, int n)
{
    n_messages++;
    MPI_Send(message, n, MPI_DOUBLE, to, PLAN, MPI_COMM_WORLD);
}

static void recv_part(int from, double *buffer, int n)
{
    MPI_Recv(buffer, n, MPI_DOUBLE, from, PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void add(double *values, const double *received, int n)
{
    for (int i = 0; i < n; i++)
        values[i] += received[i];
}

/* Parts pass around the ring, of which this rank sends the one with the number first at first. */
static void around(struct rank r, double *values, double *received, int part, int first)
{
    int n = r.n_ranks, up = (r.number + 1) % n, down = (r.number + n - 1) % n;
    for (int step = 0; step < n - 1; step++) {
        double *out = values + (first + n - step) % n * part;
        double *kept = values + (first + 2 * n - step - 1) % n * part;
        exchange_part(up, out, part, down, received ? received : kept, part);
        if (received)
            add(kept, received, part);
    }
}

static void allreduce_ring(struct rank r, double *values, double *other, int n)
{
    around(r, values, other, n / r.n_ranks, r.number);
    around(r, values, NULL, n / r.n_ranks, r.number + 1);
}

static void allreduce_recursive_doubling(struct rank r, double *values, double *other, int n)
{
    for (int distance = 1; distance < r.n_ranks; distance *= 2) {
        exchange_part(r.number ^ distance, values, n, r.number ^ distance, other, n);
        add(values, other, n);
    }
}

static void alltoall_pairwise(struct rank r, double *values, double *other, int n)
{
    memcpy(other + r.number * n, values + r.number * n, (size_t)n * sizeof(double));
    for (int distance = 1; distance < r.n_ranks; distance++) {
        int peer = r.number ^ distance;
        exchange_part(peer, values + peer * n, n, peer, other + peer * n, n);
    }
}

/* Half of what is left to the half of the tree that is farthest, from rank 0; whole messages if the
 * parts are no shorter. */
static void down_the_tree(struct rank r, double *values, int part, int n)
{
    int bit = 1;
    while (bit < r.n_ranks && !(r.number & bit))
        bit *= 2;
    int length = part == n ? n : bit * part;
    if (r.number)
        recv_part(r.number - bit, values + (part == n ? 0 : r.number * part), length);
    for (bit /= 2; bit; bit /= 2)
        send_part(r.number + bit, values + (part == n ? 0 : (r.number + bit) * part),
                  part == n ? n : bit * part);
}

static void bcast_binomial(struct rank r, double *values, double *other, int n)
{
    (void)other;
    down_the_tree(r, values, n, n);
}

static void bcast_scatter_ring(struct rank r, double *values, double *other, int n)
{
    (void)other;
    down_the_tree(r, values, n / r.n_ranks, n);
    around(r, values, NULL, n / r.n_ranks, r.number);
}

/* The results that all ranks know: the sum of their numbers, the root's, or that of each sender. */
enum result { SUM_OF_ALL, OF_ROOT, OF_SENDER };

static const struct collective {
    const char *name;
    void (*run)(struct rank, double *values, double *other, int n);
    enum result result;
} collectives[] = {
    {"allreduce=ring", allreduce_ring, SUM_OF_ALL},
    {"allreduce=recursive_doubling", allreduce_recursive_doubling, SUM_OF_ALL},
    {"alltoall=pairwise", alltoall_pairwise, OF_SENDER},
    {"bcast=binomial", bcast_binomial, OF_ROOT},
    {"bcast=scatter_ring", bcast_scatter_ring, OF_ROOT},
};

static const struct collective *find(const char *name)
{
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (!strcmp(collectives[i].name, name))
            return collectives + i;
    return NULL;
}

static void carry_out(struct rank r, const struct collective *what, int length)
{
    int n = length / (int)sizeof(double);
    int n_values = what->result == OF_SENDER ? n * r.n_ranks : n;
    double *values = allocate((size_t)n_values * sizeof(double) + 1);
    double *other = allocate((size_t)n_values * sizeof(double) + 1);
    for (int i = 0; i < n_values; i++)
        values[i] = r.number;
    what->run(r, values, other, n);
    const double *result = what->result == OF_SENDER ? other : values;
    for (int i = 0; i < n_values; i++) {
        double expected = what->result == SUM_OF_ALL ? 0.5 * r.n_ranks * (r.n_ranks - 1)
                          : what->result == OF_ROOT  ? 0
                                                     : i / n;
        if (result[i] != expected)
            fail("the result is wrong");
    }
    free(values);
    free(other);
}

/* ---- the clocks and the command line ---- */

/* SMPI loads the program when it has read the platform, and before it makes the ranks. */
__attribute__((constructor)) static void start(void)
{
    start_wall_s = wall_s();
}

/* Virtual time starts at 0, and the last rank to come here is the last in virtual time too. */
static void end(struct rank r, int n_ways)
{
    if (++n_ended == r.n_ranks)
        printf("%.3f %d %.6f\n", MPI_Wtime() * 1e9 / n_ways, n_messages, wall_s() - start_wall_s);
}

int main(int argc, char **argv)
{
    struct rank r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.number);
    MPI_Comm_size(MPI_COMM_WORLD, &r.n_ranks);
    int is_echo = argc == 3 && !strcmp(argv[1], "echo");
    const struct collective *what = argc == 3 ? find(argv[1]) : NULL;
    if ((argc > 1 && !is_echo && !what) || (is_echo && r.n_ranks != 2))
        fail("usage: smpi-scale [echo|OPERATION=ALGORITHM BYTES], an echo on two ranks");
    if (!is_echo && r.n_ranks & (r.n_ranks - 1))
        fail("the sum needs a power of two of ranks");
    if (is_echo)
        echo(r, atoi(argv[2]));
    else if (what)
        carry_out(r, what, atoi(argv[2]));
    else
        barrier_and_sum(r);
    end(r, is_echo ? 2 : 1);
    MPI_Finalize();
    return 0;
}
