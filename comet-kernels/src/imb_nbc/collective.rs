//! Collectives in flight: time of an unblocked operation of all ranks, and its share that is hidden
//! behind work.
//!
//! **Source**: IMB 2021, IMB-NBC, `Ibcast` to `Ibarrier_pure`, MPI-4.1 section 6.12; prepared ones
//! IMB-MPI4, `Bcast_persist` to `Barrier_persist_pure`, section 6.13.
//!
//! **Pattern**, operations as in the suite imb
//! ```text
//!   pure          start, wait
//!   overlapped    start, work, wait     of those without _pure
//!   compute       work                  likewise
//! ```
//! **Timed** (all ranks): one line of the drawing. Buffers, plans and test data are made before, and
//! so is what a library prepares; a barrier is timed in a loop.
//!
//! **Reports**: the times t_pure, t_ovrl and t_CPU from the first start to the last finish over all
//! ranks. From their medians follow the hidden share of the shorter part, (t_pure + t_CPU - t_ovrl)
//! / min(t_pure, t_CPU), that of the longer, clipped to 0..1, which IMB prints for the rank
//! with the largest t_ovrl, and that of the operation, as OSU has it: 1 if all of it is hidden, 0 if
//! none is.
//!
//! **Rate**: `length_bytes` / time, of one message of the operation alone; as for the blocked ones.
//!
//! **Parameters**: `work_us`, the wanted time of the work; 0 is the time that the operation took
//! alone, on each rank. `length_bytes`, `root`, `first_root`, `element`, `operator` and `algorithm`
//! as for the blocked ones.
//!
//! **Verified by**: contents, roots and parts as for the blocked ones, through the same calls that are
//! timed; of a barrier, that none leaves before the last has entered; the value to which the rounds
//! of the work have come.
//!
//! **Caution**: MPI has calls of its own, of which a library before MPI-4 lacks those that prepare
//! collectives: these cases are skipped. Elsewhere, and by an algorithm of the library, an operation
//! is messages that go on only in the calls that start it and wait for it: of a tree the first
//! stage alone is hidden. Work as long as the operation makes both shares alike; where the
//! operation does not go on while a rank works, they are near 0, also below where starting costs.
//! `ireduce` has each rank in turn as the root of the overlapped series, whatever `root` is, since
//! IMB has; with `root=rotate` the operation alone has too.

use comet_core::collective::{Kind, Prepared};
use comet_core::kernel::prelude::*;

use crate::axes::DOUBLING;
use crate::calls::Form::{Even, Uneven};
use crate::calls::{
    self, BY_ALGORITHM, BY_ELEMENT, BY_FIRST_ROOT, BY_OPERATOR, BY_ROOT, Part, ROOT, ROTATING,
    Spec, VECTORS, moved_bytes, spec,
};
use crate::in_flight::{BY_WORK, Flight, Parts};
use crate::overlap;
use crate::rates;

/// Timed parts of the series.
const TIMED: [Parts; 3] = [Parts::Call, Parts::Both, Parts::Work];

/// The two kernels of a collective: beside work, and alone.
struct Row {
    overlap: Spec,
    pure: Spec,
}

/// Numbers of the forms in which a collective is started: by a call of its own, or prepared.
pub(super) const UNBLOCKED: usize = 0;
pub(super) const PREPARED: usize = 1;
/// Suites of the forms.
const SUITES: [&str; 2] = ["imb-nbc", "imb-mpi4"];

/// The kernels of a form: their names in CoMet and in IMB have these words before and behind.
macro_rules! rows {
    (
        ($before:literal $behind:literal $program:literal $alone:literal $beside:literal)
        $($name:literal $imb:literal $kind:ident $form:ident $summary:literal;)*
    ) => {
        [$(Row {
            overlap: spec(
                concat!($before, $name, $behind),
                Kind::$kind,
                $form,
                concat!($summary, $beside),
                &[concat!($program, $imb, $behind)],
            ),
            pure: spec(
                concat!($before, $name, $behind, "_pure"),
                Kind::$kind,
                $form,
                concat!($summary, $alone),
                &[concat!($program, $imb, $behind, "_pure")],
            ),
        }),*]
    };
}

/// The kernels of both forms.
macro_rules! forms {
    ($($name:literal $imb:literal $kind:ident $form:ident $summary:literal;)*) => {
        [
            rows! {
                ("i" "" "IMB-NBC:I" ", unblocked" ", beside busy work")
                $($name $name $kind $form $summary;)*
            },
            rows! {
                ("" "_persist" "IMB-MPI4:" ", prepared" ", prepared, beside work")
                $($name $imb $kind $form $summary;)*
            },
        ]
    };
}

#[rustfmt::skip] // One collective a line.
const ROWS: [[Row; 13]; 2] = forms! {
    "bcast" "Bcast" Broadcast Even "One message of the root to all ranks";
    "allgather" "Allgather" Allgather Even "A part of each rank to all ranks";
    "allgatherv" "Allgatherv" Allgather Uneven "A part of each rank to all, lengths given";
    "gather" "Gather" Gather Even "A part of each rank to the root";
    "gatherv" "Gatherv" Gather Uneven "A part of each rank to the root, lengths given";
    "scatter" "Scatter" Scatter Even "A part of the root's message to each rank";
    "scatterv" "Scatterv" Scatter Uneven "A part of the root's to each rank, lengths given";
    "alltoall" "Alltoall" Alltoall Even "A part of each rank to each rank";
    "alltoallv" "Alltoallv" Alltoall Uneven "A part of each rank to each, lengths given";
    "reduce" "Reduce" Reduce Even "Sum of the vectors of all ranks, on the root";
    "reduce_scatter" "Reduce_scatter" ReduceScatter Uneven "Sum of all vectors, a part on each rank";
    "allreduce" "Allreduce" Allreduce Even "Sum of the vectors of all ranks, on each";
    "barrier" "Barrier" Barrier Even "Global synchronisation";
};

/// Kernel number `INDEX` of those of `FORM` in [`ROWS`], beside work; see the [module](self).
pub(crate) struct Overlap<const FORM: usize, const INDEX: usize>;

/// The same alone.
pub(crate) struct Pure<const FORM: usize, const INDEX: usize>;

/// Calls of `spec`, in this form.
fn calls_of<T: Transport>(
    form: usize,
    spec: &Spec,
    cx: &Context<'_, T>,
    case: &Case,
) -> Result<Part<T>> {
    match form {
        PREPARED => Part::persistent(spec, cx, case),
        _ => Part::new(spec, cx, case, Prepared::unblocked),
    }
}

/// Axes of a kernel, those of one that works with the length of the work.
const fn axes(kind: Kind, works: bool) -> &'static [AxisUse] {
    match (kind, works) {
        (Kind::Barrier, false) => const { &[BY_ALGORITHM] },
        (Kind::Barrier, true) => const { &[BY_ALGORITHM, BY_WORK] },
        (Kind::Reduce, false) => {
            const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_ELEMENT, BY_OPERATOR, VECTORS] }
        }
        (Kind::Reduce, true) => {
            const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_ELEMENT, BY_OPERATOR, BY_WORK, VECTORS] }
        }
        (Kind::Allreduce | Kind::ReduceScatter, false) => {
            const { &[BY_ALGORITHM, BY_ELEMENT, BY_OPERATOR, VECTORS] }
        }
        (Kind::Allreduce | Kind::ReduceScatter, true) => {
            const { &[BY_ALGORITHM, BY_ELEMENT, BY_OPERATOR, BY_WORK, VECTORS] }
        }
        (Kind::Broadcast | Kind::Gather | Kind::Scatter, false) => {
            const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, DOUBLING] }
        }
        (Kind::Broadcast | Kind::Gather | Kind::Scatter, true) => {
            const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_WORK, DOUBLING] }
        }
        (_, false) => const { &[BY_ALGORITHM, DOUBLING] },
        (_, true) => const { &[BY_ALGORITHM, BY_WORK, DOUBLING] },
    }
}

/// A series of times of the operation of `kind`, or of work.
const fn series(kind: Kind, name: &'static str) -> Series {
    match kind {
        Kind::Barrier => Series::of(name, Quantity::OpTime, Definition::LoopMean),
        _ => Series::completion(name),
    }
}

impl<const FORM: usize, const INDEX: usize> Pure<FORM, INDEX> {
    /// The operation alone.
    const SERIES: Series = series(ROWS[FORM][INDEX].pure.kind, "pure")
        .moving(|case, world| {
            let spec = &ROWS[FORM][INDEX].pure;
            let moves = spec.kind != Kind::Barrier;
            moves.then(|| moved_bytes(spec, case, world.n_ranks))
        })
        .rated(rates::of_collective(ROWS[FORM][INDEX].pure.kind));

    /// Facts about both kernels.
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("collective.rs"),
        class: match ROWS[FORM][INDEX].pure.kind {
            Kind::Barrier => Class::Synchronisation,
            _ => Class::Collective,
        },
        timing: match ROWS[FORM][INDEX].pure.kind {
            Kind::Barrier => Timing::Pipelined,
            _ => Timing::Single,
        },
        admits: |case, world| calls::admit(&ROWS[FORM][INDEX].pure, case, world),
        bytes_per_rank: |case, world| calls::bytes_per_rank(&ROWS[FORM][INDEX].pure, case, world),
        messages_per_op: |case, world| calls::messages_per_op(&ROWS[FORM][INDEX].pure, case, world),
        is_movable: !matches!(ROWS[FORM][INDEX].pure.kind, Kind::Barrier),
        has_layouts: calls::moves(ROWS[FORM][INDEX].pure.kind),
        is_packed: calls::moves(ROWS[FORM][INDEX].pure.kind),
        ..KernelInfo::collective(SUITES[FORM])
    };
}

impl<T: Transport, const FORM: usize, const INDEX: usize> Pattern<T> for Pure<FORM, INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: ROWS[FORM][INDEX].pure.name,
        summary: ROWS[FORM][INDEX].pure.summary,
        aliases: ROWS[FORM][INDEX].pure.aliases,
        axes: axes(ROWS[FORM][INDEX].pure.kind, false),
        series: const { &[Self::SERIES] },
        ..Self::INFO
    };
    type Part = Flight<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let spec = const { &ROWS[FORM][INDEX].pure };
        let calls = calls_of(FORM, spec, cx, case)?;
        Ok(Some((Duty::Together, Flight::of(spec, cx, case, calls, Parts::Call)?)))
    }
}

impl<T: Transport, const FORM: usize, const INDEX: usize> Pattern<T> for Overlap<FORM, INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: ROWS[FORM][INDEX].overlap.name,
        summary: ROWS[FORM][INDEX].overlap.summary,
        aliases: ROWS[FORM][INDEX].overlap.aliases,
        axes: axes(ROWS[FORM][INDEX].pure.kind, true),
        series: const {
            let kind = ROWS[FORM][INDEX].pure.kind;
            &[Pure::<FORM, INDEX>::SERIES, series(kind, "overlapped"), series(kind, "compute")]
        },
        ..Pure::<FORM, INDEX>::INFO
    };
    type Part = Flight<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let spec = const { &ROWS[FORM][INDEX].overlap };
        let parts = TIMED[series];
        // As in IMB, where a prepared one keeps its root.
        let rotates = FORM == UNBLOCKED && spec.kind == Kind::Reduce && parts == Parts::Both;
        let rotating = rotates.then(|| case.with(&ROOT, ROTATING));
        let case = rotating.as_ref().unwrap_or(case);
        let calls = calls_of(FORM, spec, cx, case)?;
        Ok(Some((Duty::Together, Flight::of(spec, cx, case, calls, parts)?)))
    }

    fn derived(&self, _: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [pure, overlapped, compute] = summaries else { return Vec::new() };
        overlap::figures_of([overlapped, pure, compute]).into()
    }
}
