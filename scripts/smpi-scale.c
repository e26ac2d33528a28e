/* A barrier and a global sum with messages of 1 KiB, for SimGrid's SMPI.
 *
 * scripts/bench-sim.sh holds comet-sim/examples/scale.rs against this program, so both do the same:
 * a dissemination barrier (Hensgen, Finkel and Manber 1988), then a sum by recursive doubling
 * (Thakur, Rabenseifner and Gropp 2005, section 4.5), every message in an exchange.
 *
 * Usage: smpirun -no-privatize ... smpi-scale [echo BYTES]
 *   echo BYTES  send BYTES bytes there and back instead, on two ranks
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
enum { BARRIER = 1, SUM = 2, ECHO = 3 };

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
    if ((argc > 1 && !is_echo) || (is_echo && r.n_ranks != 2))
        fail("usage: smpi-scale [echo BYTES], an echo on two ranks");
    if (!is_echo && r.n_ranks & (r.n_ranks - 1))
        fail("the sum needs a power of two of ranks");
    if (is_echo)
        echo(r, atoi(argv[2]));
    else
        barrier_and_sum(r);
    end(r, is_echo ? 2 : 1);
    MPI_Finalize();
    return 0;
}
