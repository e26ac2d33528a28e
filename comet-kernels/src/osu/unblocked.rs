//! Unblocked collectives beside work of their own length: time of both, of the calls in between,
//! and the share of the operation that is hidden.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_iallgather` to `osu_iscatterv` and
//! `osu_ineighbor_*`; MPI-4.1 sections 6.12 and 8.7.
//!
//! **Pattern**, operations as in the suites imb and osu without the i
//! ```text
//!   pure          start, wait
//!   overlapped    start, work, wait               without tests
//!                 start, (work, test) x n, wait   with n tests, n pieces of the work
//!   init          |<-->|                          laps of overlapped
//!   compute             |<-->|   and so on        the work alone
//!   test                      |<-->|  and so on   the tests alone
//!   wait                            |<-->|
//! ```
//! **Timed** (all ranks): one operation; laps end by clock reads within it, and under the rules of
//! OSU the next begins by another, as there. Buffers, plans, graphs of neighbours and test data are
//! made before.
//!
//! **Reports**: the times t_pure and t_ovrl, and the parts of the latter, init, t_CPU (compute), test
//! and wait; each is the mean over all ranks. From their medians follow three hidden shares: of the
//! operation, 1 - (t_ovrl - t_CPU) / t_pure, which OSU prints in percent, of the shorter part, (t_pure
//! + t_CPU - t_ovrl) / min(t_pure, t_CPU), and of the longer, clipped to 0..1.
//!
//! **Rate**: `length_bytes` / time, of one message of the operation alone; as for the blocked ones.
//!
//! **Parameters**: `test_calls` during the work; none in OSU. `work_us`, the wanted time of the work;
//! 0 is the time that the operation took alone, on each rank. `length_bytes`, `root`, `first_root`,
//! `place`, `element`, `operator`, `algorithm`, `dimensions` and `radius` as for the blocked ones.
//!
//! **Verified by**: contents, roots and parts as for the blocked ones, through the same calls that are
//! timed; of a barrier, that none leaves before the last has entered; the value to which the rounds
//! of the work have come.
//!
//! **Caution**: the work is as long as a time that was measured, so that launches differ. Where an
//! operation goes on in its calls alone (see `imb-nbc/ibcast`), tests hide more of it, and take time
//! of their own, which is no part of t_CPU. The work is a counted loop; OSU reads a clock in it. Of
//! seven clock reads that t_ovrl of OSU has, t_pure and t_CPU have one each: at 25 ns a read the share
//! of an operation of 1 us is 15 points less.

use comet_core::collective::{Kind, Prepared};
use comet_core::kernel::prelude::*;

use crate::axes::DOUBLING;
use crate::calls::Form::{Even, Typed, Uneven};
use crate::calls::{
    BY_ALGORITHM, BY_ELEMENT, BY_FIRST_ROOT, BY_OPERATOR, BY_PLACE, BY_ROOT, Part, Spec, VECTORS,
    shared, spec,
};
use crate::in_flight::{BY_TEST_CALLS, BY_WORK, Flight, Parts, Started};
use crate::overlap;

use super::neighbours::{self, BY_DIMENSIONS, BY_RADIUS, Facts};

/// Timed parts of the series that are no laps.
const TIMED: [Parts; 2] = [Parts::Call, Parts::Laps];

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 15] = [
    spec("iallgather", Kind::Allgather, Even, "A part of each rank to all ranks, beside busy work", &["OSU:osu_iallgather"]),
    spec("iallgatherv", Kind::Allgather, Uneven, "A part of each rank to all, lengths given, beside busy work", &["OSU:osu_iallgatherv"]),
    spec("iallreduce", Kind::Allreduce, Even, "Sum of the vectors of all ranks, on each, beside busy work", &["OSU:osu_iallreduce"]),
    spec("ialltoall", Kind::Alltoall, Even, "A part of each rank to each rank, beside busy work", &["OSU:osu_ialltoall"]),
    spec("ialltoallv", Kind::Alltoall, Uneven, "A part of each rank to each, lengths given, beside busy work", &["OSU:osu_ialltoallv"]),
    spec("ialltoallw", Kind::Alltoall, Typed, "A part of each rank to each, types given, beside busy work", &["OSU:osu_ialltoallw"]),
    spec("ibarrier", Kind::Barrier, Even, "Global synchronisation, beside busy work", &["OSU:osu_ibarrier"]),
    spec("ibcast", Kind::Broadcast, Even, "One message of the root to all ranks, beside busy work", &["OSU:osu_ibcast"]),
    spec("igather", Kind::Gather, Even, "A part of each rank to the root, beside busy work", &["OSU:osu_igather"]),
    spec("igatherv", Kind::Gather, Uneven, "A part of each rank to the root, lengths given, beside busy work", &["OSU:osu_igatherv"]),
    spec("ireduce", Kind::Reduce, Even, "Sum of the vectors of all ranks, on the root, beside busy work", &["OSU:osu_ireduce"]),
    shared("ireduce_scatter", Uneven, "Sum of all vectors, shared out, lengths given, beside busy work", &["OSU:osu_ireduce_scatter"]),
    shared("ireduce_scatter_block", Even, "Sum of all vectors, shared out in equal parts, beside busy work", &["OSU:osu_ireduce_scatter_block"]),
    spec("iscatter", Kind::Scatter, Even, "A part of the root's message to each rank, beside busy work", &["OSU:osu_iscatter"]),
    spec("iscatterv", Kind::Scatter, Uneven, "A part of the root's to each rank, lengths given, beside busy work", &["OSU:osu_iscatterv"]),
];

#[rustfmt::skip] // One kernel a line.
const AMONG: [Spec; 5] = [
    spec("ineighbor_allgather", Kind::NeighbourAllgather, Even, "A message of each rank to its neighbours, beside busy work", &["OSU:osu_ineighbor_allgather"]),
    spec("ineighbor_allgatherv", Kind::NeighbourAllgather, Uneven, "A message to all neighbours, lengths given, beside busy work", &["OSU:osu_ineighbor_allgatherv"]),
    spec("ineighbor_alltoall", Kind::NeighbourAlltoall, Even, "A part of each rank to each neighbour, beside busy work", &["OSU:osu_ineighbor_alltoall"]),
    spec("ineighbor_alltoallv", Kind::NeighbourAlltoall, Uneven, "A part to each neighbour, lengths given, beside busy work", &["OSU:osu_ineighbor_alltoallv"]),
    spec("ineighbor_alltoallw", Kind::NeighbourAlltoall, Typed, "A part to each neighbour, types given, beside busy work", &["OSU:osu_ineighbor_alltoallw"]),
];

/// Kernel number `INDEX` of the collectives; see the [module](self).
pub(crate) struct Unblocked<const INDEX: usize>;

/// Kernel number `INDEX` of those among neighbours, likewise.
pub(crate) struct UnblockedAmong<const INDEX: usize>;

/// The series of a kernel, of which `pure` is the first.
const fn series(pure: Series) -> [Series; 6] {
    [
        pure,
        Series::of("overlapped", Quantity::OpTime, Definition::CallMean),
        Series::lap("init"),
        Series::lap("compute"),
        Series::lap("test"),
        Series::lap("wait"),
    ]
}

/// The operation alone.
const PURE: Series = Series::of("pure", Quantity::OpTime, Definition::CallMean);

/// The hidden shares.
fn derived(summaries: &[Summary]) -> Vec<Derived> {
    let [pure, overlapped, _, compute, ..] = summaries else { return Vec::new() };
    overlap::figures_of([overlapped, pure, compute]).into()
}

impl<const INDEX: usize> Started for Unblocked<INDEX> {
    const SPEC: Spec = SPECS[INDEX];
}

impl<T: Transport, const INDEX: usize> Pattern<T> for Unblocked<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("unblocked.rs"),
        axes: match SPECS[INDEX].kind {
            Kind::Barrier => &[BY_ALGORITHM, BY_WORK, BY_TEST_CALLS],
            Kind::Broadcast => {
                &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_WORK, BY_TEST_CALLS, DOUBLING]
            }
            Kind::Gather | Kind::Scatter => {
                &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_PLACE, BY_WORK, BY_TEST_CALLS, DOUBLING]
            }
            Kind::Reduce => &[
                BY_ALGORITHM,
                BY_ROOT,
                BY_FIRST_ROOT,
                BY_PLACE,
                BY_ELEMENT,
                BY_OPERATOR,
                BY_WORK,
                BY_TEST_CALLS,
                VECTORS,
            ],
            kind if kind.is_reduction() => {
                &[BY_ALGORITHM, BY_PLACE, BY_ELEMENT, BY_OPERATOR, BY_WORK, BY_TEST_CALLS, VECTORS]
            }
            _ => &[BY_ALGORITHM, BY_PLACE, BY_WORK, BY_TEST_CALLS, DOUBLING],
        },
        series: const { &series(Self::PURE) },
        ..<Self as Started>::INFO
    };
    type Part = Flight<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let spec = const { &SPECS[INDEX] };
        let calls = Part::new(spec, cx, case, Prepared::unblocked)?;
        Ok(Some((Duty::Together, Flight::of(spec, cx, case, calls, TIMED[series])?)))
    }

    fn derived(&self, _: &Case, summaries: &[Summary]) -> Vec<Derived> {
        derived(summaries)
    }
}

impl<const INDEX: usize> Facts for UnblockedAmong<INDEX> {
    const SPEC: Spec = AMONG[INDEX];
}

impl<T: Transport, const INDEX: usize> Pattern<T> for UnblockedAmong<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("unblocked.rs"),
        axes: &[BY_ALGORITHM, BY_DIMENSIONS, BY_RADIUS, BY_WORK, BY_TEST_CALLS, DOUBLING],
        series: const { &series(PURE.moving(|case, _| Some(case.value(&LENGTH_BYTES)))) },
        ..<Self as Facts>::INFO
    };
    type Part = Flight<neighbours::Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let part = neighbours::Part::new(&AMONG[INDEX], cx, case, Prepared::unblocked)?;
        Ok(Some((Duty::Together, Flight::new(cx, case, part, TIMED[series])?)))
    }

    fn derived(&self, _: &Case, summaries: &[Summary]) -> Vec<Derived> {
        derived(summaries)
    }

    fn noted(&self, case: &Case, t: &T) -> Vec<Derived> {
        <Self as Facts>::noted(case, t)
    }
}
