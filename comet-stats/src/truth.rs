//! Statistics against planted truth: what intervals and diagnoses promise, over many seeded runs.
//!
//! The true median of every series is 1. Coverages and rates are shares of [`n_trials`] runs; a
//! longer look is `COMET_TRUTH_SEEDS=5000 cargo test -p comet-stats truth`.

use std::env;
use std::ops::RangeInclusive;

use oorandom::Rand64;

use super::*;
use crate::fit::{Line, Weights};

/// Runs of each test, unless the environment says otherwise.
const N_TRIALS: u32 = 300;
/// Slices of a point, and samples of each, in the default profile.
const SLICES: (usize, usize) = (10, 100);
/// Standard deviation of the logarithms of times.
const NOISE: f64 = 0.02;

#[test]
fn outliers_are_counted_and_hardly_move_the_median() {
    let (mut n_planted, mut n_found) = (0, 0);
    let share = share_of_runs(|noise| {
        let clean = noise.log_normal(1000, NOISE);
        let is_outlier: Vec<bool> = clean.iter().map(|_| noise.uniform() < 0.01).collect();
        let spoil =
            |(value, is_outlier): (&f64, &bool)| value * if *is_outlier { 50.0 } else { 1.0 };
        let spoiled: Vec<f64> = clean.iter().zip(&is_outlier).map(spoil).collect();
        n_planted += is_outlier.iter().filter(|is_outlier| **is_outlier).count();
        n_found += Diagnosis::of(&[&spoiled]).n_severe;
        (median(&spoiled).unwrap() / median(&clean).unwrap() - 1.0).abs() < 0.003
    });
    assert_eq!(share, 1.0);
    assert!(n_planted.abs_diff(n_found) * 5 <= n_planted, "{n_found} of {n_planted}");
}

#[test]
fn an_interval_of_slice_medians_survives_memory_and_one_of_pooled_samples_does_not() {
    let coverage = |interval: fn(&[Vec<f64>]) -> Option<Interval>| {
        share_of_runs(|noise| {
            let slices = slices(SLICES, |n| noise.auto_regressive(n, 0.8));
            interval(&slices).unwrap().contains(1.0)
        })
    };
    let of_slices = coverage(|slices| Interval::of_medians(&medians(slices)));
    let of_few = coverage(|slices| Interval::of_medians(&medians(&slices[..6])));
    let of_pooled = coverage(|slices| Interval::of_medians(&slices.concat()));
    assert!(of_slices >= 0.90 && of_few >= 0.90, "{of_slices} {of_few}");
    // This tests the test: such series are beyond the textbook.
    assert!(of_pooled <= 0.75, "{of_pooled}");
}

#[test]
fn intervals_of_few_slices_belong_to_their_median() {
    for n_slices in 5..10 {
        let mut is_around = true;
        let share = share_of_runs(|noise| {
            let medians = noise.log_normal(n_slices, NOISE);
            let interval = Interval::of_medians(&medians).unwrap();
            is_around &= interval.contains(median(&medians).unwrap());
            interval.contains(1.0)
        });
        assert!(is_around && share >= 0.92, "{share} of {n_slices} slices, {is_around}");
    }
    // Around the mean it would hold neither the median nor the truth.
    let one_late = [1.0, 1.0, 1.001, 1.001, 1.001, 2.0];
    assert!(Interval::of_medians(&one_late).unwrap().low >= 1.0);
}

#[test]
fn more_launches_make_an_interval_narrower_and_it_keeps_its_promise() {
    let (mut noise, n_trials) = (Noise(Rand64::new(1986)), n_trials(2000));
    // Each has a median of 1.
    let normal = |noise: &mut Noise| 1.0 + NOISE * noise.normal();
    let heavy_tailed = |noise: &mut Noise| {
        let spread = (0..4).map(|_| noise.normal().powi(2)).sum::<f64>() / 4.0;
        1.0 + NOISE * noise.normal() / spread.sqrt().max(0.05)
    };
    let skewed = |noise: &mut Noise| noise.log_normal(1, 0.5)[0];
    let draws: [fn(&mut Noise) -> f64; 3] = [normal, heavy_tailed, skewed];
    for draw in draws {
        let mut before = [f64::INFINITY; 2];
        for n_launches in 3..=24 {
            let (mut n_held, mut half_width) = (0, 0.0);
            for _ in 0..n_trials {
                let figures: Vec<f64> = (0..n_launches).map(|_| draw(&mut noise)).collect();
                let interval = Interval::of_launches(&figures).unwrap();
                n_held += u32::from(interval.contains(1.0));
                half_width += interval.half_width();
            }
            let coverage = f64::from(n_held) / f64::from(n_trials);
            assert!((0.93..=0.97).contains(&coverage), "{coverage} of {n_launches} launches");
            // A median of an even number is that of two values, which leaves a ripple of 2 %.
            let is_narrower = half_width < before[0] && half_width < 1.03 * before[1];
            assert!(is_narrower, "{n_launches} launches: {half_width} after {before:?}");
            before = [before[1], half_width];
        }
    }
}

#[test]
fn looking_after_each_slice_keeps_the_coverage() {
    let check = |target: f64| {
        let share = share_of_runs(|noise| {
            let medians = noise.log_normal(20, NOISE);
            let so_far = |n_slices| Interval::of_medians(&medians[..n_slices]).unwrap();
            let stopped = (10..=20).map(so_far).find(|found| found.half_width() <= target);
            stopped.unwrap_or_else(|| so_far(20)).contains(1.0)
        });
        assert!(share >= 0.92, "{share} for a target of {target}");
    };
    // The first is seldom reached, the last one at once.
    [0.3, 0.5, 0.7, 1.0, 2.0].into_iter().for_each(|deviations| check(deviations * NOISE));
}

#[test]
fn the_bootstrap_covers_an_upper_quantile() {
    // The 90 % quantile of the standard normal distribution.
    let truth = (1.281_551_565_5 * NOISE).exp();
    let share = share_of_runs(|noise| {
        let slices = slices((20, 10), |n| noise.log_normal(n, NOISE));
        let seed = noise.0.rand_u64();
        Interval::of_quantile(&slices, 0.9, seed).unwrap().contains(truth)
    });
    assert!(share >= 0.88, "{share}");
}

#[test]
fn regimes_are_flagged_and_shorter_memory_is_not() {
    let flagged = |series: fn(&mut Noise, usize) -> Vec<f64>| {
        share_of_runs(|noise| Diagnosis::of(&slices(SLICES, |n| series(noise, n))).has_regimes())
    };
    check(flagged(|noise, n| noise.regimes(n, 150.0, 1.05)), 0.90..=1.0);
    check(flagged(|noise, n| noise.regimes(n, 150.0, 1.2)), 0.90..=1.0);
    check(flagged(|noise, n| noise.regimes(n, 150.0, 2.0)), 0.90..=1.0);
    check(flagged(|noise, n| noise.log_normal(n, NOISE)), 0.0..=0.01);
    check(flagged(|noise, n| noise.log_normal(n, 0.8)), 0.0..=0.01);
    check(flagged(|noise, n| noise.auto_regressive(n, 0.8)), 0.0..=0.04);
}

#[test]
fn drift_is_flagged_and_noise_is_not() {
    let flagged = |series: fn(&mut Noise, usize) -> Vec<f64>, drift: f64| {
        share_of_runs(|noise| {
            let mut slices = slices(SLICES, |n| series(noise, n));
            for (pass, slice) in slices.iter_mut().enumerate() {
                let slower = 1.0 + drift * pass as f64 / (SLICES.0 - 1) as f64;
                slice.iter_mut().for_each(|value| *value *= slower);
            }
            Diagnosis::of(&slices).drifts()
        })
    };
    check(flagged(|noise, n| noise.log_normal(n, NOISE), 0.0), 0.0..=0.05);
    check(flagged(|noise, n| noise.auto_regressive(n, 0.8), 0.0), 0.0..=0.05);
    check(flagged(|noise, n| noise.log_normal(n, NOISE), 0.05), 0.90..=1.0);
}

#[test]
fn memory_is_measured_in_samples() {
    // Sides of a Gaussian median correlate by 2 / π asin(φ^k), which sums to 6.4 for 0.8.
    let mut noise = Noise(Rand64::new(1));
    let tau = |slices: &[Vec<f64>]| Diagnosis::of(slices).tau_samples.unwrap();
    let with_memory = tau(&slices((200, 100), |n| noise.auto_regressive(n, 0.8)));
    let without = tau(&slices((200, 100), |n| noise.log_normal(n, NOISE)));
    assert!((5.4..=7.0).contains(&with_memory), "{with_memory}");
    assert!((0.9..=1.1).contains(&without), "{without}");
}

#[test]
fn the_error_of_a_trimmed_mean_needs_the_winsorised_values() {
    let (n, share) = (32, 0.25);
    let coverage = |error: fn(&[f64]) -> f64| {
        share_of_runs(|noise| {
            let values: Vec<f64> = (0..n).map(|_| 1.0 + NOISE * noise.normal()).collect();
            let mean = Trimmed::of(&values, share).unwrap().mean;
            // Student's t for 15 degrees of freedom.
            (mean - 1.0).abs() <= 2.131 * error(&values)
        })
    };
    let winsorised = coverage(|values| Trimmed::of(values, 0.25).unwrap().standard_error.unwrap());
    let naive = coverage(|values| (variance(&sorted(values)[8..24]) / 16.0).sqrt());
    assert!((0.90..=0.99).contains(&winsorised), "{winsorised}");
    assert!(naive <= 0.80, "{naive}");
}

#[test]
fn the_range_of_a_rate_holds_it_where_a_few_lengths_decide() {
    // As a refined switch point leaves them, with the deviations that medians had in simulation.
    let close = [91_000, 91_004, 91_066, 91_190, 91_684, 92_682, 110_218, 131_072];
    let far = [185_364, 262_144, 370_728, 524_288, 741_455, 1_048_576];
    let lengths = close.map(|n| (n, 0.0009)).into_iter().chain(far.map(|n| (n, 0.0016)));
    let lengths: Vec<(f64, f64)> = lengths.map(|(n, sigma)| (f64::from(n), sigma)).collect();
    let share = share_of_runs(|noise| {
        let time =
            |(n, sigma): &(f64, f64)| (*n, (15_000.0 + 0.1 * n) * (1.0 + sigma * noise.normal()));
        let points: Vec<(f64, f64)> = lengths.iter().map(time).collect();
        let half_widths: Vec<f64> = points.iter().map(|(_, time)| 0.005 * time).collect();
        let line = Line::fit_robust(&points, Weights::HalfWidths(&half_widths)).unwrap();
        let range = line.r_inf_range().unwrap();
        (range.low..=range.high).contains(&10.0)
    });
    // Of 4000 runs 94 % hold it, and 92 % held it before.
    check(share, 0.92..=1.0);
}

#[test]
fn a_start_up_transient_is_dropped() {
    let share = share_of_runs(|noise| {
        let transient = |(i, value): (usize, f64)| value * (1.0 + 5.0 * (-(i as f64) / 30.0).exp());
        let values: Vec<f64> =
            noise.log_normal(2000, NOISE).into_iter().enumerate().map(transient).collect();
        let warm_up = steady_from(&values);
        let bias = median(&values[warm_up.n_dropped..]).unwrap() - 1.0;
        warm_up.is_steady && warm_up.n_dropped >= 120 && bias.abs() < 0.005
    });
    assert!(share >= 0.97, "{share}");
}

#[test]
fn a_steady_series_is_seldom_called_unsteady() {
    let check = |n_values, most: f64| {
        let is_unsteady =
            |noise: &mut Noise| !steady_from(&noise.log_normal(n_values, NOISE)).is_steady;
        let share = share_of_runs(is_unsteady);
        assert!(share <= most, "{share} of {n_values} values");
    };
    check(100, 0.0);
    check(200, 0.25);
    check(400, 0.18);
    check(1000, 0.03);
}

#[track_caller]
fn check(rate: f64, expected: RangeInclusive<f64>) {
    assert!(expected.contains(&rate), "{rate} is not in {expected:?}");
}

/// Share of the runs in which something is so.
fn share_of_runs(mut is_so: impl FnMut(&mut Noise) -> bool) -> f64 {
    let mut noise = Noise(Rand64::new(1993));
    let n_trials = n_trials(N_TRIALS);
    let n_so = (0..n_trials).filter(|_| is_so(&mut noise)).count();
    n_so as f64 / f64::from(n_trials)
}

/// Number of trials of a test: `usual`, unless the environment gives another.
pub(crate) fn n_trials(usual: u32) -> u32 {
    let asked = env::var("COMET_TRUTH_SEEDS").ok();
    asked.map_or(usual, |n| n.parse().expect("COMET_TRUTH_SEEDS is a number of trials"))
}

/// So many slices of so many samples, each of a series of its own: they are far apart in time.
fn slices(
    (n_slices, n_samples): (usize, usize),
    mut series: impl FnMut(usize) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    (0..n_slices).map(|_| series(n_samples)).collect()
}

fn medians(slices: &[Vec<f64>]) -> Vec<f64> {
    slices.iter().map(|slice| median(slice).unwrap()).collect()
}

/// Noise models, those of comet-sim, over a time of 1.
pub(crate) struct Noise(pub(crate) Rand64);

impl Noise {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.rand_float()
    }

    /// A standard normal value, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn log_normal(&mut self, n: usize, deviation: f64) -> Vec<f64> {
        (0..n).map(|_| (deviation * self.normal()).exp()).collect()
    }

    /// Log-normal values of which each remembers a part `phi` of the last one's deviation.
    fn auto_regressive(&mut self, n: usize, phi: f64) -> Vec<f64> {
        let mut state = self.normal();
        let mut next = || {
            state = phi * state + (1.0 - phi * phi).sqrt() * self.normal();
            (NOISE * state).exp()
        };
        (0..n).map(|_| next()).collect()
    }

    /// Two speeds, each kept for `sojourn` samples on average.
    fn regimes(&mut self, n: usize, sojourn: f64, ratio: f64) -> Vec<f64> {
        let mut is_slow = self.uniform() < 0.5;
        let mut next = || {
            is_slow ^= self.uniform() < 1.0 / sojourn;
            (NOISE * self.normal()).exp() * if is_slow { ratio } else { 1.0 }
        };
        (0..n).map(|_| next()).collect()
    }
}
