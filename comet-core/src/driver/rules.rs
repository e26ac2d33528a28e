//! Rules of repetition, warm-up and reporting: CoMet's own, or those of a benchmark whose numbers
//! are to be met.
//!
//! The rules are those that its documents and sources state; see `METHODOLOGY.md`.

use super::probe::{Probe, to_u32};
use super::settings::{Pace, Settings, Slices};
use crate::definition::Definition;
use crate::event::{ClockCalibration, Quote};
use crate::kernel::{Case, KernelInfo, LENGTH_BYTES, ROOT, Series, Timing, WINDOW};
use crate::sync::StartSync;
use comet_stats::{real, whole};

/// Origin of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Slices spread over the run, until the interval of the median is narrow.
    Comet,
    /// Intel MPI Benchmarks 2021: one loop whose length follows from the message's, or as many
    /// single calls of a collective, each with a barrier behind it.
    Imb,
    /// IMB 3.2: the same, but for collectives, whose calls follow each other in one loop as well, and
    /// without a time of all lengths.
    Imb32,
    /// IMB-P2P of the same version: one loop whose length follows from the message's alone.
    ImbP2p,
    /// OSU micro-benchmarks: fixed counts, after a warm-up.
    Osu,
    /// `SKaMPI` 5: single operations until the standard error of the mean is small.
    Skampi,
    /// Ganapati's thesis: one loop of 1000, less an empty one.
    Thesis,
}

/// Numbers of operations and samples of one case under rules: one loop, or slices of single
/// operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    /// Operations between two clock reads.
    pub(super) repetitions: u32,
    /// Samples of one slice.
    pub(super) n_samples: u32,
    /// Operations before.
    pub(super) settle: u32,
    /// The fewest and the most slices.
    pub(super) slices: (u32, u32),
}

/// Operations of IMB for a short message.
const IMB_OPERATIONS: u32 = 1000;
/// The same of IMB-P2P.
const P2P_OPERATIONS: u32 = 100_000;
/// Operations of IMB where each is complete before the next one begins (`MSGS_NONAGGR`).
const IMB_COMPLETED: u32 = 100;

/// All ranks are ready for the next operation within this part of a window, which has room for a broadcast.
const READY_PARTS: u64 = 8;

/// Data and time of a loop of IMB at most, whatever the number of its operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopLimits {
    /// Data in bytes.
    pub bytes: u64,
    /// Time in nanoseconds.
    pub ns: f64,
    /// Time of all lengths of a benchmark on the same ranks, in nanoseconds: longer ones are skipped
    /// once it is over.
    pub sweep_ns: f64,
    /// Numbers of operations that follow from that of the ranks, in place of data and time.
    pub multiples: Option<Multiples>,
    /// Operations at most where [each is complete](KernelInfo::completes_each) before the next one begins;
    /// `None` for as many as the user asks for, or else 100.
    pub completed: Option<u32>,
}

/// Loops whose operations are a multiple of the number of ranks that take part, fewer of long messages on
/// many ranks, so that each rank is the root as often as any other (`-iter_policy multiple_np` and `auto` of
/// IMB).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiples {
    /// Length in bytes of the longest message of the sweep.
    pub longest_bytes: u64,
    /// True if only operations with a root have such loops.
    pub of_rooted: bool,
}

impl Multiples {
    /// Operations of `case` on its part of `n_ranks` ranks, about `most` of a short message; `None` if it has no
    /// such loop.
    fn operations(self, case: &Case, n_ranks: usize, most: u32) -> Option<u32> {
        let is_rooted = case.info.axes.iter().any(|used| used.axis.name == ROOT);
        if self.of_rooted && !is_rooted {
            return None;
        }
        let longest = real(self.longest_bytes);
        let length = real(case.find(&LENGTH_BYTES).unwrap_or(self.longest_bytes));
        // IMB counts a message as a float at least.
        let n_ranks = case.info.participants.of(n_ranks);
        let n_ranks = u32::try_from(n_ranks).unwrap_or(u32::MAX);
        let share = longest / (f64::from(n_ranks) * length.max(4.0) + longest);
        let n = to_u32(f64::from(most) * share + 0.5);
        Some((n - n % n_ranks).max(n_ranks))
    }
}

impl LoopLimits {
    /// The limits of IMB: 40 MiB in 10 s, and 21 times as long for its lengths from 1 B to 4 MiB.
    pub const IMB: Self =
        Self { bytes: 40 << 20, ns: 10e9, sweep_ns: 210e9, multiples: None, completed: None };
    /// The limits of IMB-P2P: 800 MiB.
    pub const IMB_P2P: Self = Self { bytes: 800 << 20, ..Self::NONE };
    /// None: a loop has the operations that were asked for.
    pub const NONE: Self =
        Self { bytes: u64::MAX, ns: f64::INFINITY, sweep_ns: f64::INFINITY, ..Self::IMB };
}

/// Length from which OSU repeats less often, in bytes.
const OSU_LARGE_BYTES: u64 = 8 << 10;

/// Rule of `SKaMPI` by which a case is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// The fewest and the most samples.
    pub samples: [u32; 2],
    /// Standard error of the mean, relative to it, that is small enough.
    pub error: f64,
}

impl StopRule {
    /// The rule of `SKaMPI` 5, unless a script sets another.
    pub const SKAMPI: Self = Self { samples: [8, 32], error: 0.10 };
}

/// The most operations of `SKaMPI` from one look at the error to the next.
const SKAMPI_BATCH: u32 = 4;

impl Counts {
    /// The same where each operation is started together: those of a loop are taken one by one, or they would not
    /// be by their definition. A sample of `SKaMPI` is one call, whatever the steps of the clock.
    pub(super) fn one_by_one(self, rules: Rules) -> Self {
        let n_of_sample = if rules == Rules::Skampi { 1 } else { self.repetitions };
        Self { repetitions: 1, n_samples: self.n_samples * n_of_sample, ..self }
    }

    /// Slices of a result under these counts.
    pub(super) fn slices_of(self, of_settings: Slices) -> Slices {
        let (min, max) = self.slices;
        Slices { min, max, max_samples: self.n_samples, target: None, ..of_settings }
    }
}

impl Rules {
    /// True if messages are sent from buffers into which nothing is received.
    pub fn are_untouched(self) -> bool {
        matches!(self, Self::Imb | Self::Imb32 | Self::ImbP2p | Self::Osu)
    }

    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Comet, Self::Imb, Self::Imb32, Self::ImbP2p, Self::Osu, Self::Skampi, Self::Thesis];

    /// Name on the command line and in the record.
    pub fn name(self) -> &'static str {
        ["comet", "imb", "imb-3.2", "imb-p2p", "osu", "skampi", "thesis"][self as usize]
    }

    /// The definition of the collective operation `info` under these rules, if it is not the
    /// kernel's own.
    pub fn definition(self, info: &KernelInfo) -> Option<Definition> {
        match self {
            Self::Comet => None,
            // The thesis times one loop on the test node, unless a kernel has a way of its own.
            Self::Thesis => is_completion(info).then_some(Definition::TestNode),
            Self::Imb32 => Some(Definition::LoopMean),
            // IMB 2021 times a loop of barriers or of transfers to neighbours or in windows, and each call
            // of a collective.
            Self::Imb | Self::ImbP2p if is_loop(info) => Some(Definition::LoopMean),
            Self::Imb | Self::ImbP2p | Self::Osu => Some(Definition::CallMean),
            Self::Skampi => Some(Definition::MaxLocal),
        }
    }

    /// Synchronisation under these rules, if they fix it.
    pub fn sync(self) -> Option<StartSync> {
        matches!(self, Self::Imb | Self::Imb32 | Self::ImbP2p | Self::Osu)
            .then_some(StartSync::Barrier)
    }

    /// Barriers of all ranks between the operations that go before a loop and its first clock read
    /// (`N_BARR` of IMB).
    pub(super) fn n_barriers(self) -> u32 {
        match self {
            Self::Imb | Self::Imb32 => 2,
            Self::ImbP2p => 1,
            _ => 0,
        }
    }

    /// True if operations of `info` go before those that are timed. IMB-IO has none: its files have their
    /// contents before.
    pub(super) fn has_warm_up(self, info: &KernelInfo) -> bool {
        !matches!(self, Self::Imb | Self::Imb32) || !info.is_of_files
    }

    /// From the opening of a window to that of the next one, in nanoseconds, where windows are `window_ns` long
    /// and `probe` has the time of an operation of `info`; 0 where each is announced by messages. `SKaMPI`
    /// announces the first of a batch, and the others follow as soon as all ranks can be ready: what messages or
    /// 20 us of waiting leave in the caches adds up to a tenth of a microsecond to a short operation. No rank
    /// knows when all others are ready where something goes before each operation, or where ranks are late.
    pub(super) fn period_ns(self, pace: &Pace, info: &KernelInfo, probe: &Probe) -> u64 {
        if self != Self::Skampi || info.prepares_each || pace.skew_ns > 0 {
            return 0;
        }
        pace.window_ns / READY_PARTS + whole(2.0 * probe.slowest_ns())
    }

    /// True if each lap of an operation begins by a clock read of its own.
    pub(super) fn laps_are_apart(self) -> bool {
        self == Self::Osu
    }

    /// Limits of a loop, unless the user chooses some; `None` for rules that know none.
    pub fn loop_limits(self) -> Option<LoopLimits> {
        match self {
            Self::Imb => Some(LoopLimits::IMB),
            Self::Imb32 => Some(LoopLimits { sweep_ns: f64::INFINITY, ..LoopLimits::IMB }),
            Self::ImbP2p => Some(LoopLimits::IMB_P2P),
            _ => None,
        }
    }

    /// The figure of `series` that these rules quote.
    pub fn quote(self, series: &Series) -> Quote {
        match self {
            Self::Comet => series.quote,
            Self::Thesis if series.quote.is_least() => Quote::Min,
            Self::Imb | Self::Imb32 | Self::ImbP2p | Self::Osu => Quote::Mean,
            Self::Skampi => Quote::MiddleMean,
            Self::Thesis => Quote::Corrected,
        }
    }

    /// The counts of `case`, an operation of which takes as long as `probe` found; `None` for
    /// CoMet's own rules. The repetitions of `settings` are the most of IMB's on `n_ranks` ranks.
    pub(super) fn counts(
        self,
        case: &Case,
        clock: ClockCalibration,
        probe: Probe,
        settings: &Settings,
        n_ranks: usize,
    ) -> Option<Counts> {
        let Settings { repetitions, loop_limits: limits, stop, .. } = *settings;
        let length_bytes = case.find(&LENGTH_BYTES).unwrap_or(0);
        let one_loop =
            |repetitions, settle| Counts { repetitions, n_samples: 1, settle, slices: (1, 1) };
        match self {
            Self::Comet => None,
            Self::Imb | Self::Imb32 => {
                let most = repetitions.unwrap_or(IMB_OPERATIONS).max(1);
                let of_short = match (case.info.completes_each)(case) {
                    // Without a length, what the user asks for limits both kinds.
                    true if case.find(&LENGTH_BYTES).is_none() => {
                        limits.completed.unwrap_or(IMB_COMPLETED).clamp(1, most)
                    }
                    true => limits.completed.or(repetitions).unwrap_or(IMB_COMPLETED).max(1),
                    false => most,
                };
                let by_length = u32::try_from(limits.bytes / length_bytes.max(1));
                let by_length = by_length.unwrap_or(of_short).clamp(1, of_short);
                let by_time = to_u32((limits.ns / probe.slowest_ns().max(1.0)).max(1.0));
                let of_ranks = limits.multiples.and_then(|of| of.operations(case, n_ranks, most));
                let n = of_ranks.unwrap_or(by_length.min(by_time));
                let settle = if self.has_warm_up(case.info) { (n / 10).max(10).min(n) } else { 0 };
                Some(one_loop(n, settle))
            }
            Self::ImbP2p => {
                let most = repetitions.unwrap_or(P2P_OPERATIONS).max(1);
                let by_length = match length_bytes {
                    0 => most,
                    n => to_u32((real(limits.bytes) / real(n)).round()).clamp(1, most),
                };
                let by_time = to_u32((limits.ns / probe.slowest_ns().max(1.0)).max(1.0));
                let n = by_length.min(by_time);
                Some(one_loop(n, (n / 10).max(1).min(n - 1)))
            }
            Self::Osu => Some(osu(case.info, length_bytes > OSU_LARGE_BYTES)),
            Self::Skampi => {
                let step_ns = clock.step_ns.map_or(0.0, real);
                let needed = step_ns / stop.error / probe.fastest_ns().max(1.0);
                let [least, most] = stop.samples;
                // The fewest and the most are met exactly where the fewest are whole slices.
                let of_least = (1..=SKAMPI_BATCH).rev().find(|n| least % n == 0);
                let n_samples = of_least.unwrap_or(1);
                let fewest = least / n_samples;
                Some(Counts {
                    repetitions: to_u32(needed.ceil().clamp(1.0, 10_000.0)),
                    n_samples,
                    settle: 1,
                    slices: (fewest, (most / n_samples).max(fewest)),
                })
            }
            // The least of several loops is what its barrier quotes.
            Self::Thesis if case.info.series.iter().any(|series| series.quote.is_least()) => {
                Some(Counts { repetitions: 10, n_samples: 100, settle: 1, slices: (1, 1) })
            }
            Self::Thesis => Some(one_loop(1000, 1)),
        }
    }
}

/// True if all ranks have a part in each number of `info`.
fn is_completion(info: &KernelInfo) -> bool {
    info.series.iter().all(|series| series.definition == Definition::Completion)
}

/// True if a loop of the operations of `info` is one sample, also where they may be timed one by one.
fn is_loop(info: &KernelInfo) -> bool {
    let is_own = |series: &Series| series.definition == Definition::LoopMean;
    info.timing == Timing::Pipelined || info.series.iter().all(is_own)
}

/// Counts of OSU: one loop between two ranks, single operations where several pairs or all ranks
/// start together; fewer where one operation is a whole window of messages. Windows of several pairs
/// are as many at every length (`osu_mbw_mr`).
fn osu(info: &KernelInfo, is_large: bool) -> Counts {
    let is_collective = info.class.admits(Definition::CallMean);
    let is_single = is_collective || info.timing == Timing::Single;
    let has_windows = info.axes.iter().any(|used| *used.axis == WINDOW);
    let (n, settle) = match (has_windows, is_collective, is_large) {
        (true, _, true) if !is_single => (20, 2),
        (true, ..) => (100, 10),
        (_, false, false) => (10_000, 100),
        (_, false, true) => (1000, 10),
        (_, true, false) => (1000, 100),
        (_, true, true) => (100, 10),
    };
    let (repetitions, n_samples) = if is_single { (1, n) } else { (n, 1) };
    Counts { repetitions, n_samples, settle, slices: (1, 1) }
}

/// The fewest and the most slices, and the most samples of each, if the user wants so many samples
/// in all.
pub(super) fn of_samples(settings: &Settings, n_samples: u32) -> Slices {
    let n_slices = settings.slices.min.min(n_samples).max(1);
    Slices {
        min: n_slices,
        max: n_slices,
        max_samples: n_samples.div_ceil(n_slices),
        target: None,
        ..settings.slices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Quantity;
    use crate::kernel::{AxisUse, Class, MAX_SERIES, Participants, Profile};

    static PUT: KernelInfo = KernelInfo {
        name: "put",
        axes: &[AxisUse::of(&LENGTH_BYTES, "8")],
        completes_each: |_| true,
        ..KernelInfo::pair("test")
    };
    static SEND: KernelInfo = KernelInfo { completes_each: |_| false, ..PUT };
    static WHOLE: KernelInfo = KernelInfo { class: Class::Synchronisation, ..PUT };
    static OPEN: KernelInfo = KernelInfo { axes: &[], ..WHOLE };

    fn of(repetitions: Option<u32>, loop_limits: LoopLimits) -> Settings {
        Settings { repetitions, loop_limits, ..Settings::of(Profile::Quick) }
    }

    #[test]
    fn operations_that_are_complete_one_by_one_are_fewer_by_the_rules_of_imb() {
        let check = |info: &'static KernelInfo, length, repetitions, limits, expected| {
            let case = Case::new(info, &[length][..info.axes.len()]);
            let (cost_ns, median_cost_ns, pair_bias_ns, loop_ns) = (0.0, 0.0, 0.0, 0.0);
            let (step_ns, gaps) = (None, None);
            let clock =
                ClockCalibration { cost_ns, median_cost_ns, step_ns, pair_bias_ns, loop_ns, gaps };
            let settings = of(repetitions, limits);
            let counts = Rules::Imb.counts(&case, clock, Probe::default(), &settings, 2);
            let n = counts.unwrap().repetitions;
            assert_eq!(n, expected, "{} {length} {repetitions:?} {limits:?}", info.name);
        };
        let imb = LoopLimits::IMB;
        let given = LoopLimits { completed: Some(150), ..imb };
        let multiples = Some(Multiples { longest_bytes: 4 << 20, of_rooted: false });
        check(&SEND, 8, None, imb, 1000);
        check(&PUT, 8, None, imb, 100);
        check(&PUT, 8, Some(20), imb, 20);
        check(&PUT, 8, Some(20), given, 150);
        check(&SEND, 8, Some(20), given, 20);
        check(&WHOLE, 8, Some(20), given, 150);
        check(&OPEN, 0, Some(20), given, 20);
        check(&PUT, 4 << 20, None, given, 10);
        check(&PUT, 8, None, LoopLimits { multiples, ..given }, 1000);
    }

    /// Numbers of operations that `IMB-MPI1 -iter 20 -msglog 2:6 -iter_policy multiple_np` printed.
    #[test]
    fn a_loop_of_a_pair_is_a_multiple_of_two_on_any_number_of_ranks() {
        static ALL: KernelInfo = KernelInfo { participants: Participants::All, ..SEND };
        let multiples = Multiples { longest_bytes: 64, of_rooted: false };
        let counts = |info: &'static KernelInfo, n_ranks| {
            let of = |length| multiples.operations(&Case::new(info, &[length]), n_ranks, 20);
            [0, 4, 8, 16, 32, 64].map(|length| of(length).unwrap())
        };
        for n_ranks in [2, 3, 4] {
            assert_eq!(counts(&SEND, n_ranks), [18, 18, 16, 12, 10, 6], "{n_ranks} ranks");
        }
        assert_eq!(counts(&ALL, 4), [16, 16, 12, 8, 4, 4]);
    }

    #[test]
    fn loops_of_imb_p2p_follow_from_the_length_alone_rounded_to_the_nearest() {
        let check = |length, repetitions, limits, expected| {
            let (cost_ns, median_cost_ns, pair_bias_ns, loop_ns) = (0.0, 0.0, 0.0, 0.0);
            let (step_ns, gaps) = (None, None);
            let clock =
                ClockCalibration { cost_ns, median_cost_ns, step_ns, pair_bias_ns, loop_ns, gaps };
            let case = Case::new(&SEND, &[length]);
            let slow = Probe { series_ns: [Some(1e12); MAX_SERIES], ..Probe::default() };
            let counts =
                Rules::ImbP2p.counts(&case, clock, slow, &of(repetitions, limits), 2).unwrap();
            assert_eq!((counts.repetitions, counts.settle), expected, "{length} {repetitions:?}");
        };
        let p2p = LoopLimits::IMB_P2P;
        check(0, None, p2p, (100_000, 10_000));
        check(8192, None, p2p, (100_000, 10_000));
        check(16_384, None, p2p, (51_200, 5120));
        // 279.62, 0.8 and 0.4.
        check(3_000_000, None, p2p, (280, 28));
        check(1 << 30, None, p2p, (1, 0));
        check(1 << 31, None, p2p, (1, 0));
        check(8, Some(20), p2p, (20, 2));
        check(8, Some(5), p2p, (5, 1));
        check(8, Some(1), p2p, (1, 0));
        check(1 << 20, Some(20), LoopLimits { bytes: 1 << 20, ..p2p }, (1, 0));
    }

    /// SK-41 and SK-43
    #[test]
    fn samples_of_skampi_are_within_their_bounds_and_cover_the_steps_of_the_clock() {
        let check = |samples, error, expected: (u32, u32, (u32, u32))| {
            let (cost_ns, median_cost_ns, pair_bias_ns, loop_ns) = (0.0, 0.0, 0.0, 0.0);
            let (step_ns, gaps) = (Some(100), None);
            let clock =
                ClockCalibration { cost_ns, median_cost_ns, step_ns, pair_bias_ns, loop_ns, gaps };
            let stop = StopRule { samples, error };
            let settings = Settings { stop, ..Settings::of(Profile::Quick) };
            let probe = Probe { series_ns: [Some(500.0); MAX_SERIES], ..Probe::default() };
            let case = Case::new(&SEND, &[8]);
            let counts = Rules::Skampi.counts(&case, clock, probe, &settings, 2).unwrap();
            assert_eq!((counts.repetitions, counts.n_samples, counts.slices), expected);
            let single = counts.one_by_one(Rules::Skampi);
            assert_eq!(
                (single.repetitions, single.n_samples, single.slices),
                (1, expected.1, expected.2)
            );
            let (n, (fewest, most)) = (single.n_samples, single.slices);
            assert!(n * fewest == samples[0] && n * most <= samples[1], "{samples:?}");
        };
        let StopRule { samples, error } = StopRule::SKAMPI;
        check(samples, error, (2, 4, (2, 8)));
        check([8, 16], 0.03, (7, 4, (2, 4)));
        check([1, 1], 0.5, (1, 1, (1, 1)));
        check([2, 5], 0.2, (1, 2, (1, 2)));
        check([5, 5], 0.2, (1, 1, (5, 5)));
        check([9, 9], 0.2, (1, 3, (3, 3)));
    }

    #[test]
    fn loops_are_timed_as_such_by_the_rules_of_imb() {
        static CALLS: KernelInfo =
            KernelInfo { series: &[Series::completion("call")], ..KernelInfo::collective("test") };
        static BARRIERS: KernelInfo = KernelInfo { timing: Timing::Pipelined, ..CALLS };
        static ROUNDS: KernelInfo = KernelInfo {
            series: &[Series::of("round", Quantity::OpTime, Definition::LoopMean)],
            timing: Timing::Batched,
            ..CALLS
        };
        let of = |info: &KernelInfo| Rules::Imb.definition(info);
        assert_eq!(of(&CALLS), Some(Definition::CallMean));
        assert_eq!(of(&BARRIERS), Some(Definition::LoopMean));
        assert_eq!(of(&ROUNDS), Some(Definition::LoopMean));
        assert_eq!(Rules::ImbP2p.definition(&ROUNDS), Some(Definition::LoopMean));
        assert_eq!(Rules::Imb32.definition(&CALLS), Some(Definition::LoopMean));
    }

    /// CM-03 and CM-04: the thesis times one loop of 1000 operations on its test node.
    #[test]
    fn reductions_and_matrix_operations_are_one_loop_by_the_rules_of_the_thesis() {
        static SUM: KernelInfo =
            KernelInfo { series: &[Series::completion("sum")], ..KernelInfo::collective("test") };
        static CLOSED: KernelInfo = KernelInfo {
            series: &[Series::of("cast", Quantity::OpTime, Definition::ClosedByBarrier)],
            ..SUM
        };
        assert_eq!(Rules::Thesis.definition(&SUM), Some(Definition::TestNode));
        assert_eq!(Rules::Thesis.definition(&CLOSED), None);
    }

    #[test]
    fn a_tenth_of_spoiled_samples_changes_no_median_but_one_changes_a_mean() {
        for (quote, n_switches, n_samples, expected) in [
            (Quote::Median, 10, 100, false),
            (Quote::Median, 11, 100, true),
            (Quote::LeastOf20, 1, 9, true),
            (Quote::Median, 0, 0, false),
            (Quote::MiddleMean, 1, 10, false),
            (Quote::Mean, 1, 1000, true),
            (Quote::SliceMean, 1, 1000, true),
            (Quote::Corrected, 0, 1, false),
        ] {
            let found = quote.is_spoiled_by(n_switches, n_samples);
            assert_eq!(found, expected, "{quote:?} {n_switches} {n_samples}");
        }
    }
}
