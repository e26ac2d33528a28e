//! Functions that prepare collectives (MPI-4.1 section 6.13), which libraries before MPI-4 lack; Open MPI 4 has
//! them as extensions under names of their own.

use std::ffi::c_int;

use mpi::ffi;

use super::optional::{Comm, Counts, In, Kind, Kinds, Op, Out, Starts};

type Info = ffi::MPI_Info;
type Request = *mut ffi::MPI_Request;

optional_functions! {
    barrier: c"MPI_Barrier_init" | c"MPIX_Barrier_init" (Comm, Info, Request);
    bcast: c"MPI_Bcast_init" | c"MPIX_Bcast_init" (Out, c_int, Kind, c_int, Comm, Info, Request);
    reduce: c"MPI_Reduce_init" | c"MPIX_Reduce_init"
        (In, Out, c_int, Kind, Op, c_int, Comm, Info, Request);
    allreduce: c"MPI_Allreduce_init" | c"MPIX_Allreduce_init"
        (In, Out, c_int, Kind, Op, Comm, Info, Request);
    scan: c"MPI_Scan_init" | c"MPIX_Scan_init" (In, Out, c_int, Kind, Op, Comm, Info, Request);
    exscan: c"MPI_Exscan_init" | c"MPIX_Exscan_init" (In, Out, c_int, Kind, Op, Comm, Info, Request);
    reduce_scatter_block: c"MPI_Reduce_scatter_block_init" | c"MPIX_Reduce_scatter_block_init"
        (In, Out, c_int, Kind, Op, Comm, Info, Request);
    reduce_scatter: c"MPI_Reduce_scatter_init" | c"MPIX_Reduce_scatter_init"
        (In, Out, Counts, Kind, Op, Comm, Info, Request);
    gather: c"MPI_Gather_init" | c"MPIX_Gather_init"
        (In, c_int, Kind, Out, c_int, Kind, c_int, Comm, Info, Request);
    gatherv: c"MPI_Gatherv_init" | c"MPIX_Gatherv_init"
        (In, c_int, Kind, Out, Counts, Counts, Kind, c_int, Comm, Info, Request);
    scatter: c"MPI_Scatter_init" | c"MPIX_Scatter_init"
        (In, c_int, Kind, Out, c_int, Kind, c_int, Comm, Info, Request);
    scatterv: c"MPI_Scatterv_init" | c"MPIX_Scatterv_init"
        (In, Counts, Counts, Kind, Out, c_int, Kind, c_int, Comm, Info, Request);
    allgather: c"MPI_Allgather_init" | c"MPIX_Allgather_init"
        (In, c_int, Kind, Out, c_int, Kind, Comm, Info, Request);
    allgatherv: c"MPI_Allgatherv_init" | c"MPIX_Allgatherv_init"
        (In, c_int, Kind, Out, Counts, Counts, Kind, Comm, Info, Request);
    alltoall: c"MPI_Alltoall_init" | c"MPIX_Alltoall_init"
        (In, c_int, Kind, Out, c_int, Kind, Comm, Info, Request);
    alltoallv: c"MPI_Alltoallv_init" | c"MPIX_Alltoallv_init"
        (In, Counts, Counts, Kind, Out, Counts, Counts, Kind, Comm, Info, Request);
    alltoallw: c"MPI_Alltoallw_init" | c"MPIX_Alltoallw_init"
        (In, Counts, Counts, Kinds, Out, Counts, Counts, Kinds, Comm, Info, Request);
    neighbor_allgather: c"MPI_Neighbor_allgather_init" | c"MPIX_Neighbor_allgather_init"
        (In, c_int, Kind, Out, c_int, Kind, Comm, Info, Request);
    neighbor_allgatherv: c"MPI_Neighbor_allgatherv_init" | c"MPIX_Neighbor_allgatherv_init"
        (In, c_int, Kind, Out, Counts, Counts, Kind, Comm, Info, Request);
    neighbor_alltoall: c"MPI_Neighbor_alltoall_init" | c"MPIX_Neighbor_alltoall_init"
        (In, c_int, Kind, Out, c_int, Kind, Comm, Info, Request);
    neighbor_alltoallv: c"MPI_Neighbor_alltoallv_init" | c"MPIX_Neighbor_alltoallv_init"
        (In, Counts, Counts, Kind, Out, Counts, Counts, Kind, Comm, Info, Request);
    neighbor_alltoallw: c"MPI_Neighbor_alltoallw_init" | c"MPIX_Neighbor_alltoallw_init"
        (In, Counts, Starts, Kinds, Out, Counts, Starts, Kinds, Comm, Info, Request);
}
