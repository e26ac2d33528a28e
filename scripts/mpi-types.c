/* Prints the count and the datatype of calls of MPI, a line each on standard error: a library to preload,
 * for scripts/mpi-test.sh, which asks whether messages have the type that a table names.
 */
#include <mpi.h>
#include <stdio.h>

static void note(const char *call, int count, MPI_Datatype type)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Type_get_name(type, name, &length);
    fprintf(stderr, "%s %d %s\n", call, count, name);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    note("MPI_Send", count, type);
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Gatherv(const void *input, int count, MPI_Datatype type, void *output, const int counts[],
                const int starts[], MPI_Datatype other, int root, MPI_Comm comm)
{
    note("MPI_Gatherv", count, type);
    return PMPI_Gatherv(input, count, type, output, counts, starts, other, root, comm);
}

int MPI_Neighbor_alltoallw(const void *input, const int counts[], const MPI_Aint starts[],
                           const MPI_Datatype types[], void *output, const int other_counts[],
                           const MPI_Aint other_starts[], const MPI_Datatype other_types[],
                           MPI_Comm comm)
{
    note("MPI_Neighbor_alltoallw", counts[0], types[0]);
    return PMPI_Neighbor_alltoallw(input, counts, starts, types, output, other_counts, other_starts,
                                   other_types, comm);
}
