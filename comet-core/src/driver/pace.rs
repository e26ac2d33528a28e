//! How often to repeat: long enough intervals for the clock, as many as the budget allows.

use super::Settings;
use crate::context::Pace;
use crate::event::ClockCalibration;
use crate::kernel::{MAX_SERIES, Timing};

/// An interval holds at least this many clock costs and clock steps, so that both distort it by
/// one percent at most.
const CLOCK_SHARES: f64 = 100.0;
/// How long operations run before the first clock read of a round.
const SETTLE_NS: f64 = 500_000.0;
/// The fewest operations before the first clock read of a round.
pub(super) const MIN_SETTLE: u32 = 2;
/// The fewest operations in one interval where a rank may be one ahead of another.
const MIN_PIPELINED: f64 = 10.0;
/// The most operations in one interval.
const MAX_REPETITIONS: f64 = 10_000.0;
/// The fewest samples that make a summary.
const MIN_SAMPLES: f64 = 3.0;
/// Rounds over which the samples of a case are spread.
const N_ROUNDS: u32 = 5;
/// The longest round: a run can be interrupted between two of them.
const MAX_ROUND_NS: f64 = 1e9;

/// What a probe of a case found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Time of one operation of each series, in nanoseconds, where a rank sampled it.
    pub(super) series_ns: [Option<f64>; MAX_SERIES],
    /// Time of one sample of all series together, with all that surrounds it.
    pub(super) sample_ns: f64,
}

impl Probe {
    /// Time of one operation of the fastest series.
    fn fastest_ns(&self) -> f64 {
        self.series_ns.into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// Time of one operation of the slowest series.
    fn slowest_ns(&self) -> f64 {
        self.series_ns.into_iter().flatten().fold(0.0, f64::max)
    }

    /// Time of one interval of each series, together.
    pub(super) fn batch_ns(&self, repetitions: u32) -> f64 {
        self.series_ns.into_iter().flatten().sum::<f64>() * f64::from(repetitions)
    }

    /// Time of the operations before the first clock reads of a round at `pace`.
    pub(super) fn settle_ns(&self, pace: Pace) -> f64 {
        let of_series = |(n, ns): (u32, Option<f64>)| Some(f64::from(n) * ns?);
        pace.settle.into_iter().zip(self.series_ns).filter_map(of_series).sum()
    }

    /// How long a round at `pace` is expected to take.
    pub(super) fn round_ns(&self, pace: Pace) -> u64 {
        // The probe's own repetitions may have been fewer than those of the pace.
        let sample_ns = self.sample_ns.max(self.batch_ns(pace.repetitions));
        let round_ns = f64::from(pace.n_samples) * sample_ns + self.settle_ns(pace);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is positive, and a cast saturates"
        )]
        let round_ns = round_ns as u64;
        round_ns
    }
}

/// How many operations make an interval that suits the clock.
pub(super) fn repetitions(
    settings: &Settings,
    timing: Timing,
    clock: ClockCalibration,
    probe: Probe,
) -> u32 {
    if timing == Timing::Single {
        return 1;
    }
    if let Some(repetitions) = settings.repetitions {
        return repetitions.max(1);
    }
    #[expect(clippy::cast_precision_loss, reason = "steps and budgets are far below 2^53 ns")]
    let (step_ns, budget_ns) = (clock.step_ns.unwrap_or(0) as f64, settings.case_budget_ns as f64);
    let needed = (CLOCK_SHARES * clock.cost_ns.max(step_ns) / probe.fastest_ns().max(1.0)).ceil();
    // One interval of the slowest series takes a small part of the budget at most.
    let affordable = (budget_ns / 20.0 / probe.slowest_ns().max(1.0)).floor();
    let at_least = if timing == Timing::Pipelined { MIN_PIPELINED } else { 1.0 };
    to_u32(needed.min(affordable).clamp(at_least, MAX_REPETITIONS))
}

/// How many samples to take in all, and in one round at most.
pub(super) fn samples(settings: &Settings, sample_ns: f64) -> (u32, u32) {
    #[expect(clippy::cast_precision_loss, reason = "budgets are far below 2^53 ns")]
    let budget_ns = settings.case_budget_ns as f64;
    let most = f64::from(settings.max_samples.max(1));
    let total = match settings.samples {
        Some(n_samples) => n_samples.max(1),
        None => to_u32((budget_ns / sample_ns.max(1.0)).max(MIN_SAMPLES).min(most)),
    };
    let in_time = (MAX_ROUND_NS / sample_ns.max(1.0)).clamp(1.0, f64::from(u32::MAX));
    (total, total.div_ceil(N_ROUNDS).min(to_u32(in_time)))
}

/// Operations to run before the first clock read of a round: for as long as ranks that have no
/// part in the case need to fall asleep, and caches to warm up.
pub(super) fn settle(probe: Probe) -> [u32; MAX_SERIES] {
    let least = f64::from(MIN_SETTLE);
    let of_series = |ns: f64| to_u32((SETTLE_NS / ns.max(1.0)).clamp(least, 2000.0));
    probe.series_ns.map(|ns| of_series(ns.unwrap_or(0.0)))
}

/// The pace of a first probe, of which nothing is known.
pub(super) const FIRST_PROBE: Pace = Pace { repetitions: 1, n_samples: 3, settle: [2; MAX_SERIES] };
/// Samples of a second probe.
pub(super) const N_PROBE_SAMPLES: u32 = 3;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "callers clamp the value to the range of u32"
)]
fn to_u32(value: f64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Profile;

    const CLOCK: ClockCalibration =
        ClockCalibration { cost_ns: 20.0, step_ns: Some(16), pair_bias_ns: 20.0 };

    fn probe(ns: f64) -> Probe {
        Probe { series_ns: [Some(ns), None, None, None], sample_ns: ns }
    }

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
        let probe = Probe { series_ns: [Some(1.0), Some(100_000.0), None, None], sample_ns: 0.0 };
        assert_eq!(repetitions(&settings, Timing::Batched, CLOCK, probe), 10);
    }

    #[test]
    fn the_budget_decides_how_many_samples_are_taken() {
        let mut settings = Settings::of(Profile::Quick);
        assert_eq!(samples(&settings, 1_000_000.0), (20, 4));
        assert_eq!(samples(&settings, 1000.0), (100, 20));
        assert_eq!(samples(&settings, 1e12), (3, 1));
        for total in [1, 2, 5, 7, 1000] {
            settings.samples = Some(total);
            assert_eq!(samples(&settings, 1000.0).0, total);
        }
    }

    #[test]
    fn no_round_is_longer_than_a_second() {
        let mut settings = Settings::of(Profile::Quick);
        settings.samples = Some(1000);
        assert_eq!(samples(&settings, 1e8), (1000, 10));
    }
}
