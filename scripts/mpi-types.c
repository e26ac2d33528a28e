/* Prints the count and the datatype of calls of MPI, a line each on standard error: a library to preload,
 * for scripts/mpi-test.sh, which asks whether messages have the type that a table names. Of several counts
 * or types it prints the first.
 */
#include <mpi.h>
#include <stdio.h>

/* A type that was made has no name, but numbers from which it was made. */
static void note(const char *call, int count, MPI_Datatype type)
{
    char text[MPI_MAX_OBJECT_NAME + 256] = "";
    int length = 0, n[4] = {0}, numbers[16] = {0};
    MPI_Aint addresses[4];
    MPI_Datatype types[4];
    PMPI_Type_get_name(type, text, &length);
    PMPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]);
    if (n[3] != MPI_COMBINER_NAMED && n[0] <= 16 && n[1] <= 4 && n[2] <= 4) {
        const char *how = n[3] == MPI_COMBINER_VECTOR       ? "vector"
                          : n[3] == MPI_COMBINER_CONTIGUOUS ? "contiguous"
                          : n[3] == MPI_COMBINER_INDEXED    ? "indexed"
                                                            : "other";
        PMPI_Type_get_contents(type, n[0], n[1], n[2], numbers, addresses, types);
        length = snprintf(text, sizeof text, "%s", how);
        for (int i = 0; i < n[0]; i++) {
            length += snprintf(text + length, sizeof text - length, " %d", numbers[i]);
        }
    }
    fprintf(stderr, "%s %d %s\n", call, count, text);
}

#define NOTED(call, count, type, arguments, ...) \
    int call(__VA_ARGS__)                        \
    {                                            \
        note(#call, count, type);                \
        return P##call arguments;                \
    }

NOTED(MPI_Send, n, t, (b, n, t, to, tag, c),
      const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
NOTED(MPI_Recv, n, t, (b, n, t, from, tag, c, s),
      void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
NOTED(MPI_Isend, n, t, (b, n, t, to, tag, c, r),
      const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
NOTED(MPI_Irecv, n, t, (b, n, t, from, tag, c, r),
      void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r)
NOTED(MPI_Sendrecv, n, t, (b, n, t, to, tag, o, m, u, from, other, c, s),
      const void *b, int n, MPI_Datatype t, int to, int tag, void *o, int m, MPI_Datatype u, int from,
      int other, MPI_Comm c, MPI_Status *s)

/* Constructors, with the first of their types. */
NOTED(MPI_Type_contiguous, n, t, (n, t, m), int n, MPI_Datatype t, MPI_Datatype *m)
NOTED(MPI_Type_vector, n, t, (n, b, s, t, m), int n, int b, int s, MPI_Datatype t, MPI_Datatype *m)
NOTED(MPI_Type_indexed, n, t, (n, b, s, t, m),
      int n, const int b[], const int s[], MPI_Datatype t, MPI_Datatype *m)
NOTED(MPI_Type_create_struct, n, t[0], (n, b, s, t, m),
      int n, const int b[], const MPI_Aint s[], const MPI_Datatype t[], MPI_Datatype *m)
NOTED(MPI_Type_create_resized, 1, t, (t, l, e, m), MPI_Datatype t, MPI_Aint l, MPI_Aint e, MPI_Datatype *m)
NOTED(MPI_Type_get_extent, 1, t, (t, l, e), MPI_Datatype t, MPI_Aint *l, MPI_Aint *e)

NOTED(MPI_Bcast, n, t, (b, n, t, root, c), void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
NOTED(MPI_Reduce, n, t, (b, o, n, t, op, root, c),
      const void *b, void *o, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c)
NOTED(MPI_Gather, n, t, (b, n, t, o, m, u, root, c),
      const void *b, int n, MPI_Datatype t, void *o, int m, MPI_Datatype u, int root, MPI_Comm c)
NOTED(MPI_Gatherv, n, t, (b, n, t, o, m, at, u, root, c),
      const void *b, int n, MPI_Datatype t, void *o, const int m[], const int at[], MPI_Datatype u,
      int root, MPI_Comm c)
NOTED(MPI_Scatter, n, t, (b, n, t, o, m, u, root, c),
      const void *b, int n, MPI_Datatype t, void *o, int m, MPI_Datatype u, int root, MPI_Comm c)
NOTED(MPI_Scatterv, m, u, (b, n, at, t, o, m, u, root, c),
      const void *b, const int n[], const int at[], MPI_Datatype t, void *o, int m, MPI_Datatype u,
      int root, MPI_Comm c)
NOTED(MPI_Allgather, n, t, (b, n, t, o, m, u, c),
      const void *b, int n, MPI_Datatype t, void *o, int m, MPI_Datatype u, MPI_Comm c)
NOTED(MPI_Allgatherv, n, t, (b, n, t, o, m, at, u, c),
      const void *b, int n, MPI_Datatype t, void *o, const int m[], const int at[], MPI_Datatype u,
      MPI_Comm c)
NOTED(MPI_Alltoall, n, t, (b, n, t, o, m, u, c),
      const void *b, int n, MPI_Datatype t, void *o, int m, MPI_Datatype u, MPI_Comm c)
NOTED(MPI_Alltoallv, n[0], t, (b, n, at, t, o, m, to, u, c),
      const void *b, const int n[], const int at[], MPI_Datatype t, void *o, const int m[],
      const int to[], MPI_Datatype u, MPI_Comm c)
NOTED(MPI_Neighbor_alltoallw, n[0], t[0], (b, n, at, t, o, m, to, u, c),
      const void *b, const int n[], const MPI_Aint at[], const MPI_Datatype t[], void *o,
      const int m[], const MPI_Aint to[], const MPI_Datatype u[], MPI_Comm c)
