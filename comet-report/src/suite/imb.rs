//! The Intel MPI Benchmarks 2021, parts IMB-MPI1, IMB-NBC, IMB-MPI4, IMB-EXT, IMB-RMA, IMB-IO, IMB-P2P, IMB-HALO and IMB-MT.

mod flags;
mod of_3_2;

use comet_core::definition::Definition;

use self::flags::{COUNTED_FLAGS, FLAGS, P2P_FLAGS};
use self::of_3_2::IO_STANDARD;
pub use self::of_3_2::{EXT_3_2, IO_3_2, V3_2};
use super::Numbers::{
    self, Bands, Barrier, Collective, Exchange, Halo, Latency, Messages, Neighbours, Overlapped,
    Parallel, ParallelTrips, Passive, Reduction, Remote, RemoteAll, RemoteElement, RoundTrips,
    Single, Windows,
};
use super::{Benchmark, Suite};
use crate::record::RankStat;

/// Name of the parameter with the ends of transfers: of each by itself, or of all of a loop.
pub(crate) const AGGREGATE: &str = "aggregate";

/// Width of every column.
pub(crate) const WIDTH: usize = 13;

/// Titles of the columns of a benchmark, also of one beside work.
pub(crate) fn titles(numbers: Numbers, is_beside_work: bool) -> &'static [&'static str] {
    const BESIDE_WORK: [&str; 6] =
        ["#bytes", "#repetitions", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]"];
    const ALL: [&str; 6] =
        ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"];
    match numbers {
        Barrier if is_beside_work => &BESIDE_WORK[1..],
        _ if is_beside_work => &BESIDE_WORK,
        Parallel(_) | ParallelTrips => &ALL,
        Collective | Reduction | Neighbours => &ALL[..5],
        Barrier => &ALL[1..5],
        Overlapped => &BESIDE_WORK,
        Passive => &["#bytes", "#repetitions", "t_pure[usec]", "t_ovrl[usec]"],
        Bands(_) => &["#bytes", "#repetitions", "t_avg[usec]", "Mbytes/sec", "Msg/sec"],
        RoundTrips | Messages(_) => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec", "Msg/sec"],
        Windows(_) => &["#bytes", "#repetitions", "Mbytes/sec", "Msg/sec"],
        _ => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"],
    }
}

/// The part IMB-MPI1.
pub static SUITE: Suite = Suite { id: "imb", name: "IMB", n_messages: &[1, 2, 4], ..PART };

/// The part IMB-NBC.
pub static NBC: Suite = Suite {
    id: "imb-nbc",
    name: "IMB-NBC",
    words: &["MPI-NBC part", "in the layout of IMB-NBC "],
    benchmarks: OF_CALLS,
    ..PART
};

/// The part IMB-MPI4.
pub static MPI4: Suite = Suite {
    id: "imb-mpi4",
    name: "IMB-MPI4",
    words: &["MPI-4 part", "in the layout of IMB-MPI4 "],
    benchmarks: OF_PREPARED_CALLS,
    ..PART
};

/// The part IMB-EXT.
pub static EXT: Suite = Suite {
    id: "imb-ext",
    name: "IMB-EXT",
    words: &["MPI-2 part", "in the layout of IMB-EXT "],
    unit_bytes: 4,
    benchmarks: OF_FENCES,
    ..PART
};

/// The part IMB-RMA.
pub static RMA: Suite = Suite {
    id: "imb-rma",
    name: "IMB-RMA",
    words: &["MPI-RMA part", ", RMA part (GPU)", "in the layout of IMB-RMA "],
    benchmarks: OF_LOCKS,
    ..PART
};

/// The part IMB-IO.
pub static IO: Suite = Suite {
    id: "imb-io",
    name: "IMB-IO",
    words: &["MPI-IO part", "in the layout of IMB-IO "],
    portion: "io portion",
    benchmarks: OF_FILES,
    ..PART
};

/// The part IMB-P2P.
pub static P2P: Suite = Suite {
    id: "imb-p2p",
    name: "IMB-P2P",
    rules: "imb-p2p",
    words: &["IMB-P2P part", "in the layout of IMB-P2P "],
    benchmarks: OF_MESSAGES,
    flags: P2P_FLAGS,
    rank_stat: RankStat::Mean,
    megabytes: &[1e6],
    ..PART
};

/// The part IMB-HALO, whose rates count the messages in up to 4 dimensions.
pub static HALO: Suite = Suite {
    id: "imb-halo",
    name: "IMB-HALO",
    rules: "imb-p2p",
    words: &["# Benchmarking simple_halo "],
    benchmarks: OF_GRIDS,
    flags: COUNTED_FLAGS,
    rank_stat: RankStat::Mean,
    megabytes: &[1e6],
    n_messages: &[4, 8, 12, 16],
    ..PART
};

/// The part IMB-MT, whose lengths count the messages of all threads of a rank.
pub static MT: Suite = Suite {
    id: "imb-mt",
    name: "IMB-MT",
    words: &[", MT part", "in the layout of IMB-MT "],
    benchmarks: OF_THREADS,
    flags: COUNTED_FLAGS,
    megabytes: &[1e6],
    ..PART
};

/// Name of the setting of runs that were imported from a build for GPUs, and the word of the parameter.
pub(crate) const GPU: &str = "gpu";

/// Facts that all parts have in common.
const PART: Suite = Suite {
    id: "",
    name: "",
    prefix: None,
    family: "imb",
    rules: "imb",
    words: &[],
    portion: "message length",
    unit_bytes: 1,
    title: "# Benchmarking ",
    benchmarks: BENCHMARKS,
    flags: FLAGS,
    of_all: Definition::LoopMean,
    rank_stat: RankStat::Max,
    megabytes: &[1e6, 1_048_576.0],
    n_messages: &[1],
};

/// What a program measures without options.
#[derive(Debug)]
pub struct Standard {
    /// The longest message, as a power of two.
    pub max_log: u32,
    /// Operations of each length at most.
    pub operations: u64,
    /// The same where each is complete before the next one begins.
    pub completed: u64,
    /// Data that a loop moves at most, in MiB.
    pub volume_mib: u64,
}

/// What most programs measure.
static STANDARD: Standard =
    Standard { max_log: 22, operations: 1000, completed: 100, volume_mib: 40 };

/// What the program of `suite` measures without options: the program IMB-IO of version 2021.11 takes the counts
/// of the others, and not those of `IMB_settings_io.h`.
pub fn standard(suite: &Suite) -> &'static Standard {
    let is_of_files = (suite.family, suite.id) == (IO_3_2.family, IO_3_2.id);
    if is_of_files { &IO_STANDARD } else { &STANDARD }
}

/// Lines below the name of a benchmark where benchmarks are listed.
pub fn remarks(benchmark: &Benchmark) -> &'static [&'static str] {
    match benchmark.kernel {
        "imb-rma/compare_and_swap" => &["Uses MPI_INT data type"],
        "imb-rma/truly_passive_put" => &[
            "The benchmark measures execution time of MPI_Put for 2 cases:",
            "1) The target is waiting in MPI_Barrier call (t_pure value)",
            "2) The target performs computation and then enters MPI_Barrier routine (t_ovrl value)",
        ],
        _ => &[],
    }
}

/// True if the transfers of a benchmark end in either mode, with a table of each.
pub fn has_modes(benchmark: &Benchmark) -> bool {
    match benchmark.kernel.split_once('/') {
        Some(("imb-io", kernel)) => kernel.contains("_write_"),
        _ => matches!(benchmark.numbers, Remote | RemoteElement | Reduction),
    }
}

/// The mode over the tables of a benchmark that has one alone, if the original names it.
pub(crate) fn only_mode(benchmark: &Benchmark) -> Option<&'static str> {
    let is_of_files = benchmark.kernel.starts_with("imb-io/") && benchmark.numbers.has_lengths();
    (is_of_files && !has_modes(benchmark)).then_some("aggregate")
}

const fn row(
    name: &'static str,
    numbers: Numbers,
    kernel: &'static str,
    definition: Definition,
) -> Benchmark {
    Benchmark {
        name,
        title: name,
        numbers,
        is_beside_work: false,
        is_default: true,
        kernel,
        definition,
    }
}

/// A benchmark that runs only when it is named.
const fn optional(
    name: &'static str,
    numbers: Numbers,
    kernel: &'static str,
    definition: Definition,
) -> Benchmark {
    Benchmark { is_default: false, ..row(name, numbers, kernel, definition) }
}

/// A benchmark of an operation beside work.
const fn beside_work(
    name: &'static str,
    numbers: Numbers,
    kernel: &'static str,
    definition: Definition,
) -> Benchmark {
    Benchmark { is_beside_work: true, ..row(name, numbers, kernel, definition) }
}

const BENCHMARKS: &[Benchmark] = &[
    row("PingPong", Latency, "comet/echo", Definition::HalfRoundTrip),
    optional(
        "PingPongSpecificSource",
        Latency,
        "imb/pingpong_specific_source",
        Definition::HalfRoundTrip,
    ),
    optional("PingPongAnySource", Latency, "imb/pingpong_any_source", Definition::HalfRoundTrip),
    row("PingPing", Exchange, "imb/pingping", Definition::TestNode),
    optional(
        "PingPingSpecificSource",
        Exchange,
        "imb/pingping_specific_source",
        Definition::TestNode,
    ),
    optional("PingPingAnySource", Exchange, "imb/pingping_any_source", Definition::TestNode),
    row("Sendrecv", Parallel(2), "imb/sendrecv", Definition::LoopMean),
    row("Exchange", Parallel(4), "imb/exchange", Definition::LoopMean),
    row("Allreduce", Reduction, "imb/allreduce", Definition::CallMean),
    row("Reduce", Reduction, "imb/reduce", Definition::CallMean),
    row("Reduce_local", Reduction, "imb/reduce_local", Definition::CallMean),
    row("Reduce_scatter", Reduction, "imb/reduce_scatter", Definition::CallMean),
    row("Reduce_scatter_block", Reduction, "imb/reduce_scatter_block", Definition::CallMean),
    row("Allgather", Collective, "imb/allgather", Definition::CallMean),
    row("Allgatherv", Collective, "imb/allgatherv", Definition::CallMean),
    row("Gather", Collective, "imb/gather", Definition::CallMean),
    row("Gatherv", Collective, "imb/gatherv", Definition::CallMean),
    row("Scatter", Collective, "imb/scatter", Definition::CallMean),
    row("Scatterv", Collective, "imb/scatterv", Definition::CallMean),
    row("Alltoall", Collective, "imb/alltoall", Definition::CallMean),
    row("Alltoallv", Collective, "imb/alltoallv", Definition::CallMean),
    row("Bcast", Collective, "imb/bcast", Definition::CallMean),
    row("Barrier", Barrier, "comet/barrier", Definition::LoopMean),
    optional("Uniband", Windows(1), "imb/uniband", Definition::LoopMean),
    optional("Biband", Windows(2), "imb/biband", Definition::LoopMean),
];

/// The benchmarks of IMB-NBC, in its order.
const OF_CALLS: &[Benchmark] = &[
    beside_work("Ibcast", Collective, "imb-nbc/ibcast", Definition::CallMean),
    optional("Ibcast_pure", Collective, "imb-nbc/ibcast_pure", Definition::CallMean),
    beside_work("Iallgather", Collective, "imb-nbc/iallgather", Definition::CallMean),
    optional("Iallgather_pure", Collective, "imb-nbc/iallgather_pure", Definition::CallMean),
    beside_work("Iallgatherv", Collective, "imb-nbc/iallgatherv", Definition::CallMean),
    optional("Iallgatherv_pure", Collective, "imb-nbc/iallgatherv_pure", Definition::CallMean),
    beside_work("Igather", Collective, "imb-nbc/igather", Definition::CallMean),
    optional("Igather_pure", Collective, "imb-nbc/igather_pure", Definition::CallMean),
    beside_work("Igatherv", Collective, "imb-nbc/igatherv", Definition::CallMean),
    optional("Igatherv_pure", Collective, "imb-nbc/igatherv_pure", Definition::CallMean),
    beside_work("Iscatter", Collective, "imb-nbc/iscatter", Definition::CallMean),
    optional("Iscatter_pure", Collective, "imb-nbc/iscatter_pure", Definition::CallMean),
    beside_work("Iscatterv", Collective, "imb-nbc/iscatterv", Definition::CallMean),
    optional("Iscatterv_pure", Collective, "imb-nbc/iscatterv_pure", Definition::CallMean),
    beside_work("Ialltoall", Collective, "imb-nbc/ialltoall", Definition::CallMean),
    optional("Ialltoall_pure", Collective, "imb-nbc/ialltoall_pure", Definition::CallMean),
    beside_work("Ialltoallv", Collective, "imb-nbc/ialltoallv", Definition::CallMean),
    optional("Ialltoallv_pure", Collective, "imb-nbc/ialltoallv_pure", Definition::CallMean),
    beside_work("Ireduce", Reduction, "imb-nbc/ireduce", Definition::CallMean),
    optional("Ireduce_pure", Reduction, "imb-nbc/ireduce_pure", Definition::CallMean),
    beside_work("Ireduce_scatter", Reduction, "imb-nbc/ireduce_scatter", Definition::CallMean),
    optional(
        "Ireduce_scatter_pure",
        Reduction,
        "imb-nbc/ireduce_scatter_pure",
        Definition::CallMean,
    ),
    beside_work("Iallreduce", Reduction, "imb-nbc/iallreduce", Definition::CallMean),
    optional("Iallreduce_pure", Reduction, "imb-nbc/iallreduce_pure", Definition::CallMean),
    beside_work("Ibarrier", Barrier, "imb-nbc/ibarrier", Definition::LoopMean),
    optional("Ibarrier_pure", Barrier, "imb-nbc/ibarrier_pure", Definition::LoopMean),
];

/// The benchmarks of IMB-MPI4, in its order.
#[rustfmt::skip] // One benchmark a line.
const OF_PREPARED_CALLS: &[Benchmark] = &[
    beside_work("Bcast_persist", Collective, "imb-mpi4/bcast_persist", Definition::CallMean),
    optional("Bcast_persist_pure", Collective, "imb-mpi4/bcast_persist_pure", Definition::CallMean),
    Benchmark { is_default: false, ..beside_work("Allgather_persist", Collective, "imb-mpi4/allgather_persist", Definition::CallMean) },
    optional("Allgather_persist_pure", Collective, "imb-mpi4/allgather_persist_pure", Definition::CallMean),
    beside_work("Allgatherv_persist", Collective, "imb-mpi4/allgatherv_persist", Definition::CallMean),
    optional("Allgatherv_persist_pure", Collective, "imb-mpi4/allgatherv_persist_pure", Definition::CallMean),
    beside_work("Gather_persist", Collective, "imb-mpi4/gather_persist", Definition::CallMean),
    optional("Gather_persist_pure", Collective, "imb-mpi4/gather_persist_pure", Definition::CallMean),
    beside_work("Gatherv_persist", Collective, "imb-mpi4/gatherv_persist", Definition::CallMean),
    optional("Gatherv_persist_pure", Collective, "imb-mpi4/gatherv_persist_pure", Definition::CallMean),
    beside_work("Scatter_persist", Collective, "imb-mpi4/scatter_persist", Definition::CallMean),
    optional("Scatter_persist_pure", Collective, "imb-mpi4/scatter_persist_pure", Definition::CallMean),
    beside_work("Scatterv_persist", Collective, "imb-mpi4/scatterv_persist", Definition::CallMean),
    optional("Scatterv_persist_pure", Collective, "imb-mpi4/scatterv_persist_pure", Definition::CallMean),
    beside_work("Alltoall_persist", Collective, "imb-mpi4/alltoall_persist", Definition::CallMean),
    optional("Alltoall_persist_pure", Collective, "imb-mpi4/alltoall_persist_pure", Definition::CallMean),
    beside_work("Alltoallv_persist", Collective, "imb-mpi4/alltoallv_persist", Definition::CallMean),
    optional("Alltoallv_persist_pure", Collective, "imb-mpi4/alltoallv_persist_pure", Definition::CallMean),
    beside_work("Reduce_persist", Reduction, "imb-mpi4/reduce_persist", Definition::CallMean),
    optional("Reduce_persist_pure", Reduction, "imb-mpi4/reduce_persist_pure", Definition::CallMean),
    beside_work("Reduce_scatter_persist", Reduction, "imb-mpi4/reduce_scatter_persist", Definition::CallMean),
    optional("Reduce_scatter_persist_pure", Reduction, "imb-mpi4/reduce_scatter_persist_pure", Definition::CallMean),
    beside_work("Allreduce_persist", Reduction, "imb-mpi4/allreduce_persist", Definition::CallMean),
    optional("Allreduce_persist_pure", Reduction, "imb-mpi4/allreduce_persist_pure", Definition::CallMean),
    beside_work("Barrier_persist", Barrier, "imb-mpi4/barrier_persist", Definition::LoopMean),
    optional("Barrier_persist_pure", Barrier, "imb-mpi4/barrier_persist_pure", Definition::LoopMean),
];

/// The benchmarks of IMB-EXT, in its order.
const OF_FENCES: &[Benchmark] = &[
    row("Window", Collective, "imb-ext/window", Definition::LoopMean),
    row("Unidir_Get", Remote, "imb-ext/unidir_get", Definition::LoopMean),
    row("Unidir_Put", Remote, "imb-ext/unidir_put", Definition::LoopMean),
    row("Bidir_Get", Remote, "imb-ext/bidir_get", Definition::LoopMean),
    row("Bidir_Put", Remote, "imb-ext/bidir_put", Definition::LoopMean),
    row("Accumulate", Reduction, "imb-ext/accumulate", Definition::LoopMean),
];

/// The benchmarks of IMB-RMA, in its order.
const OF_LOCKS: &[Benchmark] = &[
    row("Unidir_put", Remote, "imb-rma/unidir_put", Definition::TestNode),
    row("Bidir_put", Remote, "imb-rma/bidir_put", Definition::LoopMean),
    row("Unidir_get", Remote, "imb-rma/unidir_get", Definition::TestNode),
    row("Bidir_get", Remote, "imb-rma/bidir_get", Definition::LoopMean),
    row("Put_local", Remote, "imb-rma/put_local", Definition::TestNode),
    optional("Get_local", Remote, "imb-rma/get_local", Definition::TestNode),
    row("Put_all_local", RemoteAll, "imb-rma/put_all_local", Definition::TestNode),
    optional("Get_all_local", RemoteAll, "imb-rma/get_all_local", Definition::TestNode),
    row("One_put_all", RemoteAll, "imb-rma/one_put_all", Definition::TestNode),
    row("All_put_all", Collective, "imb-rma/all_put_all", Definition::LoopMean),
    row("One_get_all", RemoteAll, "imb-rma/one_get_all", Definition::TestNode),
    row("All_get_all", Collective, "imb-rma/all_get_all", Definition::LoopMean),
    row("Exchange_put", Collective, "imb-rma/exchange_put", Definition::LoopMean),
    row("Exchange_get", Collective, "imb-rma/exchange_get", Definition::LoopMean),
    row("Accumulate", Remote, "imb-rma/accumulate", Definition::TestNode),
    row("Get_accumulate", Remote, "imb-rma/get_accumulate", Definition::TestNode),
    row("Fetch_and_op", RemoteElement, "imb-rma/fetch_and_op", Definition::TestNode),
    row("Compare_and_swap", RemoteElement, "imb-rma/compare_and_swap", Definition::TestNode),
    row("Truly_passive_put", Passive, "imb-rma/truly_passive_put", Definition::TestNode),
];

/// The benchmarks of IMB-IO, in its order.
const OF_FILES: &[Benchmark] = &[
    row("S_Write_Indv", Single, "imb-io/s_write_indv", Definition::TestNode),
    row("S_IWrite_Indv", Overlapped, "imb-io/s_iwrite_indv", Definition::TestNode),
    row("S_Write_Expl", Single, "imb-io/s_write_expl", Definition::TestNode),
    row("S_IWrite_Expl", Overlapped, "imb-io/s_iwrite_expl", Definition::TestNode),
    row("P_Write_Indv", Parallel(1), "imb-io/p_write_indv", Definition::LoopMean),
    row("P_IWrite_Indv", Overlapped, "imb-io/p_iwrite_indv", Definition::LoopMean),
    row("P_Write_Shared", Parallel(1), "imb-io/p_write_shared", Definition::LoopMean),
    row("P_IWrite_Shared", Overlapped, "imb-io/p_iwrite_shared", Definition::LoopMean),
    row("P_Write_Priv", Parallel(1), "imb-io/p_write_priv", Definition::LoopMean),
    row("P_IWrite_Priv", Overlapped, "imb-io/p_iwrite_priv", Definition::LoopMean),
    row("P_Write_Expl", Parallel(1), "imb-io/p_write_expl", Definition::LoopMean),
    row("P_IWrite_Expl", Overlapped, "imb-io/p_iwrite_expl", Definition::LoopMean),
    row("C_Write_Indv", Parallel(1), "imb-io/c_write_indv", Definition::LoopMean),
    row("C_IWrite_Indv", Overlapped, "imb-io/c_iwrite_indv", Definition::LoopMean),
    row("C_Write_Shared", Parallel(1), "imb-io/c_write_shared", Definition::LoopMean),
    row("C_IWrite_Shared", Overlapped, "imb-io/c_iwrite_shared", Definition::LoopMean),
    row("C_Write_Expl", Parallel(1), "imb-io/c_write_expl", Definition::LoopMean),
    row("C_IWrite_Expl", Overlapped, "imb-io/c_iwrite_expl", Definition::LoopMean),
    row("S_Read_Indv", Single, "imb-io/s_read_indv", Definition::TestNode),
    row("S_IRead_Indv", Overlapped, "imb-io/s_iread_indv", Definition::TestNode),
    row("S_Read_Expl", Single, "imb-io/s_read_expl", Definition::TestNode),
    row("S_IRead_Expl", Overlapped, "imb-io/s_iread_expl", Definition::TestNode),
    row("P_Read_Indv", Parallel(1), "imb-io/p_read_indv", Definition::LoopMean),
    row("P_IRead_Indv", Overlapped, "imb-io/p_iread_indv", Definition::LoopMean),
    row("P_Read_Shared", Parallel(1), "imb-io/p_read_shared", Definition::LoopMean),
    row("P_IRead_Shared", Overlapped, "imb-io/p_iread_shared", Definition::LoopMean),
    row("P_Read_Priv", Parallel(1), "imb-io/p_read_priv", Definition::LoopMean),
    row("P_IRead_Priv", Overlapped, "imb-io/p_iread_priv", Definition::LoopMean),
    row("P_Read_Expl", Parallel(1), "imb-io/p_read_expl", Definition::LoopMean),
    row("P_IRead_Expl", Overlapped, "imb-io/p_iread_expl", Definition::LoopMean),
    row("C_Read_Indv", Parallel(1), "imb-io/c_read_indv", Definition::LoopMean),
    row("C_IRead_Indv", Overlapped, "imb-io/c_iread_indv", Definition::LoopMean),
    row("C_Read_Shared", Parallel(1), "imb-io/c_read_shared", Definition::LoopMean),
    row("C_IRead_Shared", Overlapped, "imb-io/c_iread_shared", Definition::LoopMean),
    row("C_Read_Expl", Parallel(1), "imb-io/c_read_expl", Definition::LoopMean),
    row("C_IRead_Expl", Overlapped, "imb-io/c_iread_expl", Definition::LoopMean),
    row("Open_Close", Barrier, "imb-io/open_close", Definition::LoopMean),
];

/// The benchmarks of IMB-P2P, in its order.
const OF_MESSAGES: &[Benchmark] = &[
    row("PingPong", RoundTrips, "imb-p2p/pingpong", Definition::LoopMean),
    row("PingPing", Messages(1), "imb-p2p/pingping", Definition::LoopMean),
    row("Unirandom", Messages(1), "imb-p2p/unirandom", Definition::LoopMean),
    row("Birandom", Messages(2), "imb-p2p/birandom", Definition::LoopMean),
    row("Corandom", Messages(1), "imb-p2p/corandom", Definition::LoopMean),
    row("Stencil2D", Messages(4), "imb-p2p/stencil2d", Definition::LoopMean),
    row("Stencil3D", Messages(6), "imb-p2p/stencil3d", Definition::LoopMean),
    row("SendRecv_Replace", Messages(1), "imb-p2p/sendrecv_replace", Definition::LoopMean),
];

/// The benchmark of IMB-HALO.
const OF_GRIDS: &[Benchmark] = &[row("simple_halo", Halo, "imb-p2p/halo", Definition::LoopMean)];

/// The benchmarks of IMB-MT, in its order.
const OF_THREADS: &[Benchmark] = &[
    row("PingPongMT", ParallelTrips, "imb-mt/pingpong", Definition::LoopMean),
    row("PingPingMT", Parallel(1), "imb-mt/pingping", Definition::LoopMean),
    row("SendRecvMT", Parallel(2), "imb-mt/sendrecv", Definition::LoopMean),
    row("ExchangeMT", Parallel(4), "imb-mt/exchange", Definition::LoopMean),
    row("UniBandMT", Bands(1), "imb-mt/uniband", Definition::LoopMean),
    row("BiBandMT", Bands(2), "imb-mt/biband", Definition::LoopMean),
    row("BarrierMT", Barrier, "imb-mt/barrier", Definition::LoopMean),
    row("BcastMT", Collective, "imb-mt/bcast", Definition::CallMean),
    row("ReduceMT", Reduction, "imb-mt/reduce", Definition::CallMean),
    row("AllReduceMT", Reduction, "imb-mt/allreduce", Definition::CallMean),
];

/// Values that switch an option on.
pub const ON: &[&str] = &["on", "1", "enable", "yes"];
/// Values that switch an option off.
pub const OFF: &[&str] = &["off", "0", "disable", "no"];

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds the head of a table against one in the output of version 2021.11.
    fn check_of(suite: &Suite, name: &str, head: &str) {
        let benchmark = suite.find(name).unwrap();
        let titles = titles(benchmark.numbers, benchmark.is_beside_work);
        let line: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
        assert_eq!(line, head, "{name}");
    }

    #[test]
    fn columns_of_threads_are_those_of_the_real_program() {
        let of_all = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";
        let of_sync = " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";
        let with_rate =
            "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec";
        let of_bands = "       #bytes #repetitions  t_avg[usec]   Mbytes/sec      Msg/sec";
        for (name, head) in [
            ("PingPongMT", with_rate),
            ("ExchangeMT", with_rate),
            ("BiBandMT", of_bands),
            ("BarrierMT", of_sync),
            ("AllReduceMT", of_all),
        ] {
            check_of(&MT, name, head);
        }
    }

    #[test]
    fn columns_are_those_of_the_real_program() {
        let check = |name: &str, head: &str| check_of(&SUITE, name, head);
        check("PingPong", "       #bytes #repetitions      t[usec]   Mbytes/sec");
        check(
            "Sendrecv",
            "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
        );
        check("Bcast", "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
        check("Uniband", "       #bytes #repetitions   Mbytes/sec      Msg/sec");
        check("Barrier", " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
        let of_all = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";
        let of_one = "       #bytes #repetitions      t[usec]   Mbytes/sec";
        for (name, head) in [("Window", of_all), ("Bidir_Put", of_one), ("Accumulate", of_all)] {
            check_of(&EXT, name, head);
        }
        for (name, head) in [
            ("Truly_passive_put", "       #bytes #repetitions t_pure[usec] t_ovrl[usec]"),
            ("Put_local", of_one),
            ("One_get_all", of_one),
            ("All_get_all", of_all),
            ("Exchange_put", of_all),
            ("Accumulate", of_one),
            ("Compare_and_swap", of_one),
        ] {
            check_of(&RMA, name, head);
        }
        let of_messages = "       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec";
        for name in ["PingPong", "Corandom", "SendRecv_Replace"] {
            check_of(&P2P, name, of_messages);
        }
        let of_sync = " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";
        let beside_work = " #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]";
        for (name, head) in [
            ("Ibcast", &*format!("       #bytes{beside_work}")),
            ("Ireduce_scatter_pure", of_all),
            ("Ibarrier", beside_work),
            ("Ibarrier_pure", of_sync),
        ] {
            check_of(&NBC, name, head);
        }
        check_of(&MPI4, "Bcast_persist", &format!("       #bytes{beside_work}"));
        check_of(&MPI4, "Barrier_persist_pure", of_sync);
        let overlapped =
            "       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]";
        let parallel =
            "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec";
        for (name, head) in [
            ("S_Write_Indv", of_one),
            ("P_Read_Priv", parallel),
            ("C_Write_Shared", parallel),
            ("S_IRead_Expl", overlapped),
            ("C_IWrite_Indv", overlapped),
            ("Open_Close", " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"),
        ] {
            check_of(&IO, name, head);
        }
    }
}
