//! The parts of version 3.2, IMB-MPI1, IMB-EXT and IMB-IO, by its user guide.

use comet_core::definition::Definition;

use super::super::Numbers::{Barrier, Collective, Exchange, Latency, Parallel, Reduction};
use super::super::{Benchmark, Suite};
use super::{OF_FENCES, OF_FILES, PART, Standard, row};

/// The part IMB-MPI1 of version 3.2.
pub static V3_2: Suite = Suite {
    id: "imb",
    name: "IMB",
    words: &["MPI-1 part"],
    n_messages: &[1, 2, 4],
    benchmarks: OF_3_2,
    ..PART_3_2
};

/// The part IMB-EXT of version 3.2.
pub static EXT_3_2: Suite = Suite {
    id: "imb-ext",
    name: "IMB-EXT",
    words: &["MPI-2 part"],
    unit_bytes: 4,
    benchmarks: OF_FENCES,
    ..PART_3_2
};

/// The part IMB-IO of version 3.2.
pub static IO_3_2: Suite = Suite {
    id: "imb-io",
    name: "IMB-IO",
    words: &["MPI-IO part"],
    portion: "io portion",
    benchmarks: OF_FILES,
    ..PART_3_2
};

/// What IMB-IO measures without options (`IMB_settings_io.h`).
pub(super) static IO_STANDARD: Standard =
    Standard { max_log: 24, operations: 50, completed: 10, volume_mib: 16 };

/// Facts that the parts of version 3.2 have in common.
const PART_3_2: Suite =
    Suite { prefix: Some("IMB-3.2"), family: "imb-3.2", rules: "imb-3.2", ..PART };

/// The benchmarks of IMB-MPI1 3.2, in its order: one loop of each, and a vector of `Reduce_scatter` that its ranks
/// share out.
#[rustfmt::skip] // One benchmark a line.
const OF_3_2: &[Benchmark] = &[
    row("PingPong", Latency, "comet/echo", Definition::HalfRoundTrip),
    row("PingPing", Exchange, "imb/pingping", Definition::TestNode),
    row("Sendrecv", Parallel(2), "imb/sendrecv", Definition::LoopMean),
    row("Exchange", Parallel(4), "imb/exchange", Definition::LoopMean),
    row("Allreduce", Reduction, "imb/allreduce", Definition::LoopMean),
    row("Reduce", Reduction, "imb/reduce", Definition::LoopMean),
    row("Reduce_scatter", Reduction, "osu/reduce_scatter", Definition::LoopMean),
    row("Allgather", Collective, "imb/allgather", Definition::LoopMean),
    row("Allgatherv", Collective, "imb/allgatherv", Definition::LoopMean),
    row("Gather", Collective, "imb/gather", Definition::LoopMean),
    row("Gatherv", Collective, "imb/gatherv", Definition::LoopMean),
    row("Scatter", Collective, "imb/scatter", Definition::LoopMean),
    row("Scatterv", Collective, "imb/scatterv", Definition::LoopMean),
    row("Alltoall", Collective, "imb/alltoall", Definition::LoopMean),
    row("Alltoallv", Collective, "imb/alltoallv", Definition::LoopMean),
    row("Bcast", Collective, "imb/bcast", Definition::LoopMean),
    row("Barrier", Barrier, "comet/barrier", Definition::LoopMean),
];
