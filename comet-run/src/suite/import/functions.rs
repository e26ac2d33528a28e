//! Measurements of `SKaMPI`, and the kernels that stand for them.

/// A measurement: the function of a script, and the type of a parameter file.
#[derive(Debug)]
pub(super) struct Function {
    /// Its name in scripts; empty where it has none.
    pub(super) name: &'static str,
    /// Its number in parameter files; 0 where it has none.
    pub(super) number: u32,
    pub(super) kernel: &'static str,
    /// The algorithm that it is of a collective; empty for that of the transport.
    pub(super) algorithm: &'static str,
    /// True if it runs on two ranks.
    pub(super) is_of_pair: bool,
    /// True if its first two arguments are a count and a datatype.
    pub(super) has_length: bool,
}

const fn of_all(name: &'static str, number: u32, kernel: &'static str) -> Function {
    Function { name, number, kernel, algorithm: "", is_of_pair: false, has_length: true }
}

const fn pair(name: &'static str, number: u32, kernel: &'static str) -> Function {
    Function { is_of_pair: true, ..of_all(name, number, kernel) }
}

const fn by(algorithm: &'static str, function: Function) -> Function {
    Function { algorithm, ..function }
}

/// Measurements that have a kernel of the same operation.
pub(super) const FUNCTIONS: &[Function] = &[
    pair("Pingpong_Send_Recv", 1, "skampi/pingpong_send_recv"),
    pair("Pingpong_Send_Recv_AT", 2, "skampi/pingpong_send_recv_any_tag"),
    pair("Pingpong_Send_Irecv", 3, "skampi/pingpong_send_irecv"),
    pair("Pingpong_Send_Iprobe_Recv", 4, "skampi/pingpong_send_iprobe_recv"),
    pair("Pingpong_Ssend_Recv", 5, "skampi/pingpong_ssend_recv"),
    pair("Pingpong_Isend_Recv", 6, "skampi/pingpong_isend_recv"),
    pair("Pingpong_Bsend_Recv", 7, "skampi/pingpong_bsend_recv"),
    pair("Pingpong_Sendrecv", 8, "skampi/pingpong_sendrecv"),
    pair("Pingpong_Sendrecv_replace", 9, "skampi/pingpong_sendrecv_replace"),
    pair("Pingpong_Issend_Recv", 34, "skampi/pingpong_issend_recv"),
    of_all("Bcast", 17, "imb/bcast"),
    by("linear", of_all("Bcast_using_Send_Recv", 0, "imb/bcast")),
    Function { has_length: false, ..of_all("Barrier", 18, "comet/barrier") },
    of_all("Reduce", 19, "imb/reduce"),
    of_all("Alltoall", 20, "imb/alltoall"),
    by("linear", of_all("Alltoall_using_Isend_Irecv", 0, "imb/alltoall")),
    of_all("Scan", 21, "imb/scan"),
    of_all("", 23, "model/memcpy"),
    of_all("Gather", 33, "imb/gather"),
    by("linear", of_all("Gather_using_Isend_Irecv_Waitall", 0, "imb/gather")),
    of_all("Scatter", 35, "imb/scatter"),
    of_all("Allreduce", 36, "imb/allreduce"),
    by("reduce_bcast", of_all("Allreduce_using_Reduce_Bcast", 37, "imb/allreduce")),
    of_all("Reduce_scatter", 38, "osu/reduce_scatter"),
    of_all("Allgather", 39, "imb/allgather"),
    of_all("Scatterv", 40, "imb/scatterv"),
    of_all("Gatherv", 41, "imb/gatherv"),
    of_all("Allgatherv", 42, "imb/allgatherv"),
    of_all("Alltoallv", 43, "imb/alltoallv"),
    by("linear", of_all("Alltoallv_using_Isend_Irecv", 0, "imb/alltoallv")),
    by("reduce_scatterv", of_all("Reduce_Scatterv", 44, "osu/reduce_scatter")),
    by("linear", of_all("", 46, "imb/gatherv")),
];

/// Datatypes of MPI: their names there and as values of an axis, and their sizes in bytes.
pub(super) const DATATYPES: &[(&str, &str, u64)] = &[
    ("MPI_BYTE", "byte", 1),
    ("MPI_CHAR", "char", 1),
    ("MPI_INT", "int", 4),
    ("MPI_LONG", "long", 8),
    ("MPI_FLOAT", "float", 4),
    ("MPI_DOUBLE", "double", 8),
];

/// Operators of MPI, and their names as values of an axis.
pub(super) const OPERATORS: &[(&str, &str)] =
    &[("MPI_SUM", "sum"), ("MPI_PROD", "prod"), ("MPI_MIN", "min"), ("MPI_MAX", "max")];
