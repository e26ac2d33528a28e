/* A ping-pong for scripts/replay-simgrid.sh: one-way times of messages of the given lengths.
 *
 * Usage: simgrid-pingpong LENGTH_BYTES...        prints a line "LENGTH_BYTES ONE_WAY_NS" for each
 *
 * In SMPI time is virtual and every round trip takes the same, so one after a first one is enough.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1 };

static double one_way_ns(int rank, char *message, int length_bytes)
{
    double start_s = MPI_Wtime();
    if (rank == 0) {
        MPI_Send(message, length_bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(message, length_bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(message, length_bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(message, length_bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start_s) / 2 * 1e9;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        int length_bytes = atoi(argv[i]);
        char *message = calloc((size_t)length_bytes + 1, 1);
        if (message == NULL) {
            fprintf(stderr, "simgrid-pingpong: no memory for %d bytes\n", length_bytes);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        /* Both are there before the one that counts. */
        one_way_ns(rank, message, length_bytes);
        double ns = one_way_ns(rank, message, length_bytes);
        if (rank == 0)
            printf("%d %.3f\n", length_bytes, ns);
        free(message);
    }
    MPI_Finalize();
    return 0;
}
