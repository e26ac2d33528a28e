//! Descriptions of kernels, which need no running transport.

use std::fmt;
use std::ops::Range;

use super::axis::{AxisUse, HOPS, LENGTH_BYTES};
use super::case::Case;
use super::rate::Rate;
use super::world::World;
use crate::definition::{Definition, Quantity};
use crate::event::Quote;

/// The most series that one kernel may measure.
pub const MAX_SERIES: usize = 6;

/// Kind of communication of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Messages from one rank to another.
    PointToPoint,
    /// Messages in both directions at once.
    Exchange,
    /// Messages beside a load of other messages on the same links.
    Contention,
    /// Messages beside arithmetic.
    Overlap,
    /// Arithmetic alone: no rank sends anything, and no rate or latency of messages follows.
    Compute,
    /// One operation of all ranks that moves data.
    Collective,
    /// One operation of all ranks that moves none.
    Synchronisation,
    /// One operation of all ranks on a distributed matrix.
    Matrix,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 8] = [
        Self::PointToPoint,
        Self::Exchange,
        Self::Contention,
        Self::Overlap,
        Self::Compute,
        Self::Collective,
        Self::Synchronisation,
        Self::Matrix,
    ];

    /// Word in the record.
    pub const fn as_str(self) -> &'static str {
        ["p2p", "exchange", "contention", "overlap", "compute", "collective", "sync", "matrix"]
            [self as usize]
    }

    /// True if all ranks of the run take part in one operation.
    pub const fn takes_all_ranks(self) -> bool {
        matches!(self, Self::Collective | Self::Synchronisation | Self::Matrix)
    }

    /// True if messages travel between ranks.
    pub const fn moves_messages(self) -> bool {
        !matches!(self, Self::Compute)
    }

    /// True if `definition` makes sense for an operation of all ranks: all but D4, and for a
    /// barrier none that needs a second barrier. Other classes admit the kernel's own alone.
    pub fn admits(self, definition: Definition) -> bool {
        let needs_barrier =
            matches!(definition, Definition::ClosedByBarrier | Definition::BarrierSubtracted);
        self.takes_all_ranks()
            && definition != Definition::HalfRoundTrip
            && !(self == Self::Synchronisation && needs_barrier)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Order of operations in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// A repetition on the test node starts when the one before has ended on all ranks, so that
    /// any number of them may lie between two clock reads.
    Batched,
    /// Another rank may be one repetition ahead of the test node, or repetitions meet a load in turn:
    /// several lie between two clock reads, or their phase would be measured rather than their time.
    Pipelined,
    /// Repetitions would run into each other: one operation between two clock reads, before which
    /// all ranks start together.
    Single,
}

impl Timing {
    /// True if the ranks start each sample together.
    pub fn starts_together(self) -> bool {
        self == Self::Single
    }
}

/// One quantity that a kernel measures at each case.
#[derive(Debug)]
pub struct Series {
    /// Name, unique within its kernel (`echo`, `synchronous`).
    pub name: &'static str,
    /// Meaning of the number.
    pub quantity: Quantity,
    /// Rule by which samples of the ranks make one value, if the user asks for no other.
    pub definition: Definition,
    /// Reported statistic, unless the rules of another benchmark choose one.
    pub quote: Quote,
    /// Bytes that one operation moves, for the bandwidth; `None` where there is none.
    pub bytes_per_op: fn(&Case, &World<'_>) -> Option<u64>,
    /// Rates beside that bandwidth, each of its own kind.
    pub rates: &'static [Rate],
    /// Operations of one run, one after the other, of which the time of one is the mean.
    pub n_turns: fn(&Case) -> u32,
    /// True if it is a part of the intervals of the last series before it that is none, which [ends
    /// it](crate::context::Laps).
    pub is_lap: bool,
}

impl Series {
    /// A series whose median is reported, that moves no bytes and has no rates.
    pub const fn of(name: &'static str, quantity: Quantity, definition: Definition) -> Self {
        Self {
            name,
            quantity,
            definition,
            quote: Quote::Median,
            bytes_per_op: |_, _| None,
            rates: &[],
            n_turns: |_| 1,
            is_lap: false,
        }
    }

    /// A part of the intervals of the series before it: the mean of the ranks, whichever definition is asked
    /// for.
    pub const fn lap(name: &'static str) -> Self {
        Self { is_lap: true, ..Self::of(name, Quantity::OpTime, Definition::CallMean) }
    }

    /// One way of a message of [`LENGTH_BYTES`], half of a round trip.
    pub const fn one_way(name: &'static str) -> Self {
        Self::of(name, Quantity::OneWayTime, Definition::HalfRoundTrip)
            .moving(|case, _| Some(case.value(&LENGTH_BYTES)))
    }

    /// The time of an operation on rank 0.
    pub const fn on_test_node(name: &'static str) -> Self {
        Self::of(name, Quantity::OpTime, Definition::TestNode)
    }

    /// The time of an operation from the first start to the last end on any rank.
    pub const fn completion(name: &'static str) -> Self {
        Self::of(name, Quantity::OpTime, Definition::Completion)
    }

    /// This series with the bytes that one operation moves.
    pub const fn moving(self, bytes_per_op: fn(&Case, &World<'_>) -> Option<u64>) -> Self {
        Self { bytes_per_op, ..self }
    }

    /// This series with the mean of a slice reported.
    pub const fn by_mean(self) -> Self {
        Self { quote: Quote::SliceMean, ..self }
    }

    /// This series with rates beside the bandwidth.
    pub const fn rated(self, rates: &'static [Rate]) -> Self {
        Self { rates, ..self }
    }

    /// This series with so many operations of one run, in turns.
    pub const fn in_turns(self, n_turns: fn(&Case) -> u32) -> Self {
        Self { n_turns, ..self }
    }

    /// Divisor of the time of one run of `case` that gives the value.
    pub fn divisor(&self, case: &Case) -> u32 {
        self.quantity.divisor() * (self.n_turns)(case)
    }

    /// Amounts of one operation for its rates, in their order.
    pub fn amounts_per_op(&self, case: &Case, world: &World<'_>) -> Vec<f64> {
        self.rates.iter().map(|rate| (rate.per_op)(case, world)).collect()
    }
}

/// The ranks that take part in one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Participants {
    /// Rank 0 alone.
    One,
    /// Two ranks.
    Pair,
    /// More than two ranks, but not all.
    Group,
    /// All ranks of the run.
    #[default]
    All,
}

impl Participants {
    /// Number of those that take part, of `n_ranks`.
    pub fn of(self, n_ranks: usize) -> usize {
        match self {
            Self::One => n_ranks.min(1),
            Self::Pair => n_ranks.min(2),
            Self::Group | Self::All => n_ranks,
        }
    }
}

/// Evaluation of the points of a kernel, beyond that of its class and its axes.
///
/// In a kernel of the class [`Class::Overlap`] the series are, in this order, the messages alone,
/// the work alone, both one after the other, and both at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evaluation {
    /// None.
    #[default]
    Plain,
    /// `LogGP` from trains of messages. The series are, in this order, one message, a train from
    /// its sender, a train to its receiver, and the delays between its messages.
    Trains,
    /// Comparison of the ranks, each of which does the same work.
    RankWork,
    /// Bound for the rates of messages of the same lengths. The series are, in this order, copies of
    /// memory by all ranks at once, and by one rank; the bytes are those that one rank copies.
    MemoryCopy,
}

/// Everything about a kernel that needs no running transport.
///
/// A kernel takes the rest from the description of its family:
///
/// ```
/// use comet_core::kernel::{AxisUse, KernelInfo, LENGTH_BYTES, Series};
/// static INFO: KernelInfo = KernelInfo {
///     name: "echo",
///     summary: "One-way time of a message, half of the round trip to a partner",
///     axes: &[AxisUse::of(&LENGTH_BYTES, "8,1Mi")],
///     series: &[Series::one_way("echo")],
///     ..KernelInfo::pair("comet")
/// };
/// assert_eq!(INFO.id(), "comet/echo");
/// ```
#[derive(Debug)]
pub struct KernelInfo {
    /// Name of the suite (`comet`).
    pub suite: &'static str,
    /// Name within the suite (`echo`); no command of `comet-run` has it.
    pub name: &'static str,
    /// One line of at most 72 characters, without a full stop.
    pub summary: &'static str,
    /// Text of the kernel's file (`include_str!("echo.rs")`); the comment at its head is the kernel's
    /// page, in [`sections`](Self::sections).
    pub file: &'static str,
    /// Kind of communication. Kernels of classes in which all ranks take part use
    /// [`Context::time_collective`](crate::context::Context::time_collective), and so can be
    /// measured by other definitions than their own.
    pub class: Class,
    /// The ranks that take part in one operation.
    pub participants: Participants,
    /// The only number of ranks on which its cases run where there are as many, whatever is asked for:
    /// that of a pair in a window, which is one of all ranks of a case, or of one rank with a file. `None` for any number.
    pub n_ranks: Option<usize>,
    /// True if messages go between two halves of the ranks, so that an odd number is one too many.
    pub is_of_halves: bool,
    /// Evaluation of its points.
    pub evaluation: Evaluation,
    /// Id of the collective of which this kernel is the naive form (`comet/broadcast`).
    pub baseline_for: Option<&'static str>,
    /// Names in other suites (`IMB:PingPong`).
    pub aliases: &'static [&'static str],
    /// Axes, slowest first.
    pub axes: &'static [AxisUse],
    /// Quantities measured at each case.
    pub series: &'static [Series],
    /// Order of operations on different ranks.
    pub timing: Timing,
    /// True if each operation of a case is complete before the next one begins, as a transfer with a
    /// fence of its own is; IMB repeats it less often.
    pub completes_each: fn(&Case) -> bool,
    /// Refusal of a case that cannot run on these ranks, as one sentence.
    pub admits: fn(&Case, &World<'_>) -> Result<(), String>,
    /// Memory that one rank needs for a case, in bytes.
    pub bytes_per_rank: fn(&Case, &World<'_>) -> u64,
    /// Memory that one rank needs for the packed messages of a case beside one in each direction, in bytes; its
    /// messages have the length of packed ones.
    pub packed_bytes_per_rank: fn(&Case, &World<'_>) -> u64,
    /// About the number of messages of one operation, of all ranks, where messages carry it out; the
    /// time of a simulation follows from it.
    pub messages_per_op: fn(&Case, &World<'_>) -> u64,
    /// True if each operation needs work [before it](super::Operation::clear) that is not timed, so that no interval
    /// holds several.
    pub prepares_each: bool,
    /// True if it moves its data to or from a file, whose contents are there before.
    pub is_of_files: bool,
    /// True if its operation happens once in a launch: one sample, and nothing to warm up.
    pub is_once: bool,
    /// True if the buffers of an operation may be others than those of the one before.
    pub is_movable: bool,
    /// True if its operation may begin again in the middle of a slice, with other data in the same buffers.
    pub begins_again: bool,
    /// True if its checks look at what arrived; without, no record calls its points verified.
    pub is_checked: bool,
    /// True if its operations implement [`run_touched`](super::Operation::run_touched).
    pub is_touchable: bool,
    /// True if its messages may have [layouts](crate::layout): each is received into a place of
    /// its length that was spoiled before, or is checked as it was filled.
    pub has_layouts: bool,
    /// True if its operations implement [`run_packed`](super::Operation::run_packed); they have layouts.
    pub is_packed: bool,
    /// Ids of kernels whose results this one needs from the same run.
    pub requires: &'static [&'static str],
}

impl KernelInfo {
    /// Messages between rank 0 and one other rank, by [`HOPS`] if the kernel declares that axis and
    /// at one hop otherwise; two buffers of [`LENGTH_BYTES`].
    pub const fn pair(suite: &'static str) -> Self {
        Self {
            suite,
            name: "",
            summary: "",
            file: "",
            class: Class::PointToPoint,
            participants: Participants::Pair,
            n_ranks: None,
            is_of_halves: false,
            evaluation: Evaluation::Plain,
            baseline_for: None,
            aliases: &[],
            axes: &[],
            series: &[],
            timing: Timing::Batched,
            completes_each: |_| false,
            admits: |case, world| match case.find(&HOPS) {
                Some(_) => world.require_hops(case.length(&HOPS)),
                None => world.require_ranks(2).and_then(|()| world.require_hops(1)),
            },
            bytes_per_rank: |case, _| case.find(&LENGTH_BYTES).unwrap_or(0).saturating_mul(2),
            packed_bytes_per_rank: |case, world| (case.info.bytes_per_rank)(case, world),
            messages_per_op: |_, _| 2,
            prepares_each: false,
            is_of_files: false,
            is_once: false,
            is_movable: true,
            begins_again: true,
            is_checked: true,
            is_touchable: false,
            has_layouts: false,
            is_packed: false,
            requires: &[],
        }
    }

    /// One operation of all ranks, of which there are at least two; needs no memory.
    pub const fn collective(suite: &'static str) -> Self {
        Self {
            class: Class::Collective,
            participants: Participants::All,
            timing: Timing::Single,
            admits: |_, world| world.require_ranks(2),
            bytes_per_rank: |_, _| 0,
            messages_per_op: |_, world| 2 * world.n_ranks as u64,
            ..Self::pair(suite)
        }
    }

    /// Arithmetic on rank 0 alone.
    pub const fn compute(suite: &'static str) -> Self {
        Self {
            class: Class::Compute,
            participants: Participants::One,
            timing: Timing::Batched,
            admits: |_, _| Ok(()),
            messages_per_op: |_, _| 0,
            ..Self::collective(suite)
        }
    }

    /// `suite/name`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }

    /// True if both describe one kernel.
    pub(crate) fn is_of_kernel(&self, other: &Self) -> bool {
        (self.suite, self.name) == (other.suite, other.name)
    }

    /// True if its times may be formed by `definition` in place of its own.
    pub fn admits_definition(&self, definition: Definition) -> bool {
        self.class.admits(definition) && (!self.prepares_each || definition.starts_together())
    }

    /// The definition of a series if `wanted` is asked for.
    pub fn definition_under(&self, series: usize, wanted: Option<Definition>) -> Definition {
        let Series { definition: own, is_lap, .. } = self.series[series];
        let admits = |definition: &Definition| !is_lap && self.admits_definition(*definition);
        wanted.filter(admits).unwrap_or(own)
    }

    /// True if the ranks start each sample of a series together, if the definition `wanted` is asked for.
    pub fn starts_together(&self, series: usize, wanted: Option<Definition>) -> bool {
        self.timing_under(wanted).starts_together()
            && self.definition_under(series, wanted).starts_together()
    }

    /// The series with operations of their own: all but laps.
    pub fn timed_series(&self) -> impl Iterator<Item = usize> + use<> {
        let series = self.series;
        (0..series.len()).filter(|index| !series[*index].is_lap)
    }

    /// The laps of `series`.
    pub fn laps_of(&self, series: usize) -> Range<usize> {
        let is_lap = |series: &&Series| series.is_lap;
        let n_laps = self.series[series + 1..].iter().take_while(is_lap).count();
        series + 1..series + 1 + n_laps
    }

    /// The series whose operations are timed in `series`: itself, or that of a lap.
    pub fn timed_with(&self, series: usize) -> usize {
        self.timed_series().take_while(|index| *index <= series).last().unwrap_or(series)
    }

    /// Order of operations in time under the definition `wanted`.
    pub fn timing_under(&self, wanted: Option<Definition>) -> Timing {
        match wanted.filter(|definition| self.admits_definition(*definition)) {
            None => self.timing,
            Some(definition) if definition.starts_together() => Timing::Single,
            Some(Definition::ClosedByBarrier | Definition::BarrierSubtracted) => Timing::Batched,
            Some(_) => Timing::Pipelined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_are_prepared_one_by_one_are_timed_one_by_one() {
        static INFO: KernelInfo = KernelInfo {
            prepares_each: true,
            series: &[Series::completion("call")],
            ..KernelInfo::collective("test")
        };
        for wanted in Definition::all() {
            let definition = INFO.definition_under(0, Some(wanted));
            assert!(definition.starts_together(), "{wanted:?}");
            assert_eq!(INFO.timing_under(Some(wanted)), Timing::Single, "{wanted:?}");
        }
        assert_eq!(INFO.definition_under(0, Some(Definition::CallMean)), Definition::CallMean);
    }

    #[test]
    fn a_barrier_admits_no_definition_with_a_second_barrier() {
        let check = |class: Class, definition, expected| {
            assert_eq!(class.admits(definition), expected, "{class} {definition:?}");
        };
        check(Class::Collective, Definition::ClosedByBarrier, true);
        check(Class::Synchronisation, Definition::ClosedByBarrier, false);
        check(Class::Synchronisation, Definition::Completion, true);
        check(Class::Matrix, Definition::HalfRoundTrip, false);
        check(Class::PointToPoint, Definition::Completion, false);
    }
}
