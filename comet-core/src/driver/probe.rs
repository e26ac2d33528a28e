//! Numbers of repetitions and samples: long enough intervals for the clock, as many as the budget allows.

use super::settings::{Pace, Settings, Slices};
use crate::event::ClockCalibration;
use crate::kernel::{Class, KernelInfo, MAX_SERIES, Timing};
use comet_stats::{real, whole};

/// An interval holds at least this many clock costs and clock steps, so that both distort it by
/// one percent at most.
const CLOCK_SHARES: f64 = 100.0;
/// Time for which operations run before the first clock read of a round.
const SETTLE_NS: f64 = 500_000.0;
/// The fewest operations before the first clock read of a round.
pub(super) const MIN_SETTLE: u32 = 2;
/// The fewest operations in one interval where a rank may be one ahead of another.
const MIN_PIPELINED: f64 = 10.0;
/// The most operations in one interval.
const MAX_REPETITIONS: f64 = 10_000.0;
/// The fewest samples of a slice, where the budget allows them.
const MIN_SLICE_SAMPLES: f64 = 5.0;
/// The fewest operations of a slice beside a load, likewise: they meet many messages of the load, or
/// the first few would decide, which each slice meets alike.
const MIN_LOADED: u32 = 200;
/// Operations and nanoseconds that a warm-up lasts at least, if the budget allows it.
const MIN_WARM_UP: f64 = 100.0;
const MIN_WARM_UP_NS: f64 = 2e6;
/// Nanoseconds that a warm-up lasts at most.
const MAX_WARM_UP_NS: f64 = 200e6;
/// The most samples of a warm-up.
const MAX_WARM_UP_SAMPLES: f64 = 2000.0;

/// Nanoseconds from which a sample is long, and a round: a signal must not wait for the whole.
const LONG_NS: f64 = 100e6;
const LONG_ROUND_NS: f64 = 1e9;

/// Times that a probe of a case found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// Time of one operation of each series, in nanoseconds, where a rank sampled it.
    pub(super) series_ns: [Option<f64>; MAX_SERIES],
    /// Time of one sample of all series together, with all that surrounds it.
    pub(super) sample_ns: f64,
    /// Time that a common start adds to each operation, where there is one before each.
    pub(super) start_ns: f64,
}

impl Probe {
    /// True if a run may have to be stopped between two samples.
    pub(super) fn is_long(&self) -> bool {
        self.sample_ns > LONG_NS
    }

    /// True if one sample lasts as long as a warm-up.
    pub(super) fn lasts(&self) -> bool {
        self.sample_ns >= MIN_WARM_UP_NS
    }

    /// Time of one operation of the fastest series.
    pub(super) fn fastest_ns(&self) -> f64 {
        self.series_ns.into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// Time of one operation of the slowest series.
    pub(super) fn slowest_ns(&self) -> f64 {
        self.series_ns.into_iter().flatten().fold(0.0, f64::max)
    }

    /// Time of one interval of each series, together.
    pub(super) fn batch_ns(&self, repetitions: u32) -> f64 {
        self.series_ns.into_iter().flatten().sum::<f64>() * f64::from(repetitions)
    }

    /// Time of the operations before the first clock reads of a round at `pace`.
    pub(super) fn settle_ns(&self, pace: Pace) -> f64 {
        let of_series = |(n, ns): (u32, Option<f64>)| Some(f64::from(n) * (ns? + self.start_ns));
        pace.settle.into_iter().zip(self.series_ns).filter_map(of_series).sum()
    }

    /// Expected time of a round at `pace`.
    pub(super) fn round_ns(&self, pace: Pace) -> u64 {
        // The probe's own repetitions may have been fewer than those of the pace.
        let sample_ns = self.sample_ns.max(self.batch_ns(pace.repetitions));
        let n_more = if pace.looks_after > 0 { 1 + pace.n_discarded } else { 0 };
        whole(f64::from(pace.n_batches() + n_more) * sample_ns + self.settle_ns(pace))
    }
}

/// Number of operations of an interval that suits the clock.
pub(super) fn repetitions(
    settings: &Settings,
    timing: Timing,
    clock: ClockCalibration,
    probe: Probe,
) -> u32 {
    match settings.repetitions.filter(|_| timing != Timing::Single) {
        Some(repetitions) => repetitions.max(1),
        None => repetitions_by_clock(settings, timing, clock, probe),
    }
}

/// The same whatever the user asks for.
pub(super) fn repetitions_by_clock(
    settings: &Settings,
    timing: Timing,
    clock: ClockCalibration,
    probe: Probe,
) -> u32 {
    if timing == Timing::Single {
        return 1;
    }
    let step_ns = clock.step_ns.map_or(0.0, real);
    let budget_ns = real(settings.case_budget_ns);
    let needed = (CLOCK_SHARES * clock.cost_ns.max(step_ns) / probe.fastest_ns().max(1.0)).ceil();
    // One interval of the slowest series takes a small part of the budget at most.
    let affordable = (budget_ns / 20.0 / probe.slowest_ns().max(1.0)).floor();
    let at_least = if timing == Timing::Pipelined { MIN_PIPELINED } else { 1.0 };
    to_u32(needed.min(affordable).clamp(at_least, MAX_REPETITIONS))
}

/// Number of samples of a warm-up: at least 100 operations and 2 ms, as far as a part of the
/// budget goes; a few, where the user counts samples.
pub(super) fn warm_up_samples(settings: &Settings, probe: Probe, repetitions: u32) -> u32 {
    if settings.samples.is_some() {
        return N_PROBE_SAMPLES;
    }
    let sample_ns = probe.sample_ns.max(probe.batch_ns(repetitions)).max(1.0);
    let wanted = (MIN_WARM_UP_NS / sample_ns).max(MIN_WARM_UP / f64::from(repetitions));
    let affordable_ns = MAX_WARM_UP_NS.min(real(settings.case_budget_ns) / 10.0);
    let affordable = affordable_ns / sample_ns;
    to_u32(wanted.min(affordable).ceil().clamp(f64::from(N_PROBE_SAMPLES), MAX_WARM_UP_SAMPLES))
}

/// Number of samples in a slice of `slices` of `info`, so that the fewest of them fit into the budget.
pub(super) fn slice_samples(
    settings: &Settings,
    (slices, info): (Slices, &KernelInfo),
    probe: Probe,
    repetitions: u32,
) -> u32 {
    if settings.samples.is_some() {
        return slices.max_samples;
    }
    let sample_ns = probe.sample_ns.max(probe.batch_ns(repetitions)).max(1.0);
    let affordable_ns = real(settings.case_budget_ns) / f64::from(slices.min);
    let in_time = real(slices.length_ns) / sample_ns;
    let n_loaded = least_samples(info, repetitions);
    let least = MIN_SLICE_SAMPLES.max(f64::from(n_loaded));
    let wanted = in_time.max(least).min(affordable_ns / sample_ns);
    to_u32(wanted.clamp(1.0, f64::from(slices.max_samples.max(n_loaded))))
}

/// The fewest samples of a slice of `info`, of so many repetitions, where time is no matter.
pub(super) fn least_samples(info: &KernelInfo, repetitions: u32) -> u32 {
    if is_loaded(info) { MIN_LOADED.div_ceil(repetitions) } else { 1 }
}

/// True if the operations of `info` run beside a load, which takes time to build up.
pub(super) fn is_loaded(info: &KernelInfo) -> bool {
    info.class == Class::Contention
}

/// Number of samples of one step of a round of `n_samples`, `sample_ns` each: all of them, unless
/// they take long.
pub(super) fn step_samples(n_samples: u32, sample_ns: f64) -> u32 {
    match f64::from(n_samples) * sample_ns > LONG_ROUND_NS {
        true => to_u32((LONG_NS / sample_ns).clamp(1.0, f64::from(n_samples))),
        false => n_samples,
    }
}

/// Operations to run before the first clock read of a round: for as long as ranks that have no
/// part in the case need to fall asleep, and caches to warm up.
pub(super) fn settle(probe: Probe) -> [u32; MAX_SERIES] {
    let least = f64::from(MIN_SETTLE);
    let of_series = |ns: f64| to_u32((SETTLE_NS / ns.max(1.0)).clamp(least, 2000.0));
    probe.series_ns.map(|ns| of_series(ns.unwrap_or(0.0) + probe.start_ns))
}

/// Batches at the start of a slice that make no sample: the first is slower than the others, by 7 to
/// 19 % of some microseconds. None is discarded where the user says what precedes a sample, or where
/// a batch alone takes as long as operations run before the first.
pub(super) fn n_discarded(settings: &Settings, probe: Probe, repetitions: u32) -> u32 {
    let is_short = probe.sample_ns.max(probe.batch_ns(repetitions)) < SETTLE_NS;
    u32::from(is_short && settings.warm_up.is_none())
}

/// The pace of a first probe, of which nothing is known.
pub(super) const FIRST_PROBE: Pace = Pace::new(1, N_PROBE_SAMPLES, MIN_SETTLE);

/// The same where nothing goes before a loop.
pub(super) const COLD_PROBE: Pace = Pace::new(1, 1, 0);

/// Samples of a probe.
const N_PROBE_SAMPLES: u32 = 3;

pub(super) fn to_u32(value: f64) -> u32 {
    u32::try_from(whole(value)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::rules::of_samples;
    use crate::kernel::Profile;

    const CLOCK: ClockCalibration = ClockCalibration {
        cost_ns: 20.0,
        step_ns: Some(16),
        pair_bias_ns: 20.0,
        loop_ns: 0.3,
        median_cost_ns: 21.0,
        gaps: None,
    };

    fn probe(ns: f64) -> Probe {
        of([Some(ns), None], ns)
    }

    fn of([first, second]: [Option<f64>; 2], sample_ns: f64) -> Probe {
        let mut series_ns = [None; MAX_SERIES];
        series_ns[..2].copy_from_slice(&[first, second]);
        Probe { series_ns, sample_ns, start_ns: 0.0 }
    }

    static FREE: KernelInfo = KernelInfo::pair("test");
    static LOADED: KernelInfo = KernelInfo { class: Class::Contention, ..FREE };

    #[test]
    fn an_interval_is_a_hundred_clock_costs_long() {
        let settings = Settings::of(Profile::Quick);
        let check = |op_ns, expected| {
            assert_eq!(repetitions(&settings, Timing::Batched, CLOCK, probe(op_ns)), expected);
        };
        check(100.0, 20);
        check(2000.0, 1);
        check(0.0, 2000);
        check(1e9, 1);
        assert_eq!(repetitions(&settings, Timing::Single, CLOCK, probe(100.0)), 1);
        assert_eq!(repetitions(&settings, Timing::Pipelined, CLOCK, probe(1e9)), 10);
    }

    #[test]
    fn a_slow_series_limits_the_interval_of_a_fast_one() {
        let settings = Settings::of(Profile::Quick);
        let probe = of([Some(1.0), Some(100_000.0)], 0.0);
        assert_eq!(repetitions(&settings, Timing::Batched, CLOCK, probe), 10);
    }

    #[test]
    fn a_warm_up_is_long_enough_and_no_large_part_of_the_budget() {
        let mut settings = Settings::of(Profile::Standard);
        let check = |settings: &Settings, ns, repetitions, expected| {
            assert_eq!(warm_up_samples(settings, probe(ns), repetitions), expected, "{ns} ns");
        };
        // 2 ms, 100 operations, a tenth of 200 ms, and the least.
        check(&settings, 10_000.0, 1, 200);
        check(&settings, 100_000.0, 1, 100);
        check(&settings, 1e6, 1, 20);
        check(&settings, 1e9, 1, 3);
        settings.samples = Some(50);
        check(&settings, 1000.0, 1, 3);
    }

    #[test]
    fn the_first_of_short_batches_is_discarded() {
        let mut settings = Settings::of(Profile::Standard);
        let n = |settings: &Settings, ns| n_discarded(settings, probe(ns), 10);
        assert_eq!([n(&settings, 100.0), n(&settings, 49e3), n(&settings, 51e3)], [1, 1, 0]);
        settings.warm_up = Some(5);
        assert_eq!(n(&settings, 100.0), 0);
    }

    #[test]
    fn a_round_that_takes_long_is_taken_in_steps() {
        let check = |n_samples, sample_ns, expected| {
            assert_eq!(step_samples(n_samples, sample_ns), expected, "{n_samples} of {sample_ns}");
        };
        check(100, 1e6, 100);
        check(100_000, 1e6, 100);
        check(3, 0.0, 3);
        check(3, 2e9, 1);
        check(1, 2e9, 1);
    }

    #[test]
    fn a_launch_takes_samples_however_small_its_share() {
        for profile in [Profile::Quick, Profile::Standard, Profile::Full] {
            for n_launches in [3, 5, 10, 1000] {
                let mut settings = Settings::of(profile);
                settings.case_budget_ns = settings.case_budget_ns.div_ceil(n_launches);
                settings.slices.min = 1;
                for ns in [0.0, 100.0, 1e6, 1e9] {
                    let n_samples =
                        slice_samples(&settings, (settings.slices, &FREE), probe(ns), 1);
                    let n_repetitions = repetitions(&settings, Timing::Batched, CLOCK, probe(ns));
                    assert!(n_samples > 0 && n_repetitions > 0, "{ns} ns in {n_launches} launches");
                    let n_discarded = n_discarded(&settings, probe(ns), n_repetitions);
                    let pace = Pace { n_discarded, ..Pace::new(n_repetitions, n_samples, 0) };
                    assert_eq!(pace.n_batches(), n_samples + n_discarded, "those count, these not");
                }
                let slices = of_samples(&settings, 1);
                assert_eq!((slices.min, slices.max, slices.max_samples), (1, 1, 1));
            }
        }
    }

    #[test]
    fn a_slice_is_as_long_as_the_settings_say_and_the_fewest_fit_into_the_budget() {
        let settings = Settings::of(Profile::Standard);
        let check = |info, repetitions, ns, expected| {
            let found = slice_samples(&settings, (settings.slices, info), probe(ns), repetitions);
            assert_eq!(found, expected, "{repetitions} of {ns}");
        };
        check(&FREE, 1, 1000.0, 100);
        check(&FREE, 1, 100_000.0, 50);
        check(&FREE, 1, 2e6, 5);
        check(&FREE, 1, 10e6, 2);
        check(&FREE, 1, 1e9, 1);
        // As many operations whatever the repetitions, within the budget.
        check(&LOADED, 1, 10_000.0, 200);
        check(&LOADED, 3, 50_000.0, 67);
        check(&LOADED, 1, 1e9, 1);
    }
}
