//! Prepared collectives: time of one start of an operation that all ranks prepared before, with the wait
//! for it.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_allgather_persistent` to `osu_scatterv_persistent`;
//! MPI-4.1 section 6.13.
//!
//! **Pattern**, operations as in the suites imb and osu without _persistent
//! ```text
//!   prepare ... start, wait ... start, wait ...
//!               |<------->|     |<------->|        timed
//! ```
//! **Timed** (all ranks): one start and the wait for it. Buffers, plans and test data are made before,
//! and so is what the library prepares (MPI_Allgather_init and its like).
//!
//! **Reports**: the mean over all ranks.
//!
//! **Rate**: `length_bytes` / time, of one message; as for the blocked ones.
//!
//! **Parameters**: `length_bytes`, `root`, `first_root`, `place`, `element`, `operator` and `algorithm` as
//! for the blocked ones. OSU has root 0 alone.
//!
//! **Verified by**: contents, roots and parts as for the blocked ones, through the same calls that are
//! timed; of a barrier, that none leaves before the last has entered.
//!
//! **Caution**: a library before MPI-4 lacks these calls, and MPICH 4.0 ends them before their data has
//! moved: these cases are skipped. On a transport without them, and by an algorithm of the library, an
//! operation is messages by a plan that is made before. A barrier of all ranks is before each start,
//! before those of barrier_persistent too, where OSU has none.

use comet_core::collective::Kind;
use comet_core::kernel::prelude::*;

use crate::calls::Form::{Even, Typed, Uneven};
use crate::calls::{Part, Spec, shared, spec};
use crate::imb::collective::axes;
use crate::in_flight::{Flight, Parts, Started};

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 14] = [
    spec("allgather_persistent", Kind::Allgather, Even, "A part of each rank to all ranks, prepared", &["OSU:osu_allgather_persistent"]),
    spec("allgatherv_persistent", Kind::Allgather, Uneven, "A part of each rank to all, lengths given, prepared", &["OSU:osu_allgatherv_persistent"]),
    spec("allreduce_persistent", Kind::Allreduce, Even, "Sum of the vectors of all ranks, on each, prepared", &["OSU:osu_allreduce_persistent"]),
    spec("alltoall_persistent", Kind::Alltoall, Even, "A part of each rank to each rank, prepared", &["OSU:osu_alltoall_persistent"]),
    spec("alltoallv_persistent", Kind::Alltoall, Uneven, "A part of each rank to each, lengths given, prepared", &["OSU:osu_alltoallv_persistent"]),
    spec("alltoallw_persistent", Kind::Alltoall, Typed, "A part of each rank to each, types given, prepared", &["OSU:osu_alltoallw_persistent"]),
    spec("barrier_persistent", Kind::Barrier, Even, "Global synchronisation, prepared", &["OSU:osu_barrier_persistent"]),
    spec("bcast_persistent", Kind::Broadcast, Even, "One message of the root to all ranks, prepared", &["OSU:osu_bcast_persistent"]),
    spec("gather_persistent", Kind::Gather, Even, "A part of each rank to the root, prepared", &["OSU:osu_gather_persistent"]),
    spec("gatherv_persistent", Kind::Gather, Uneven, "A part of each rank to the root, lengths given, prepared", &["OSU:osu_gatherv_persistent"]),
    spec("reduce_persistent", Kind::Reduce, Even, "Sum of the vectors of all ranks, on the root, prepared", &["OSU:osu_reduce_persistent"]),
    shared("reduce_scatter_persistent", Uneven, "Sum of all vectors, shared out, lengths given, prepared", &["OSU:osu_reduce_scatter_persistent"]),
    spec("scatter_persistent", Kind::Scatter, Even, "A part of the root's message to each rank, prepared", &["OSU:osu_scatter_persistent"]),
    spec("scatterv_persistent", Kind::Scatter, Uneven, "A part of the root's to each rank, lengths given, prepared", &["OSU:osu_scatterv_persistent"]),
];

/// Kernel number `INDEX` of the family; see the [module](self).
pub(crate) struct Persistent<const INDEX: usize>;

impl<const INDEX: usize> Started for Persistent<INDEX> {
    const SPEC: Spec = SPECS[INDEX];
}

impl<T: Transport, const INDEX: usize> Pattern<T> for Persistent<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("persistent.rs"),
        axes: axes(SPECS[INDEX].kind),
        series: const { &[Self::PURE] },
        ..<Self as Started>::INFO
    };
    type Part = Flight<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let spec = const { &SPECS[INDEX] };
        let calls = Part::persistent(spec, cx, case)?;
        Ok(Some((Duty::Together, Flight::of(spec, cx, case, calls, Parts::Call)?)))
    }
}
