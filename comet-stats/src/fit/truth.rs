//! Laws come back from noisy sweeps, as often and as exactly as their ranges say.
//!
//! Each test counts over many sweeps with planted laws and other noise.

use oorandom::Rand64;

use super::range::median;
use super::{Bounds, Line, Weights, breaks, segments};
use crate::{normal, quantile, sorted};

/// Relative standard deviation of a slice median.
const NOISE: f64 = 0.02;

/// Sweeps of a test; 95 % of them are 0.7 % of it uncertain.
const N_SWEEPS: u64 = 1000;

/// Slices of a point.
const N_SLICES: usize = 10;

/// Startup time in us and time for a byte.
const LINE: (f64, f64) = (156.0, 0.41);

/// The iPSC/860 in us, to a neighbour (thesis section 5.1).
pub(super) fn ipsc860(n: f64) -> f64 {
    if n <= 100.0 { 79.0 + 0.63 * n } else { 156.0 + 0.41 * n }
}

/// Sizes 0, 1 and two for each octave up to 4 MiB.
fn sizes() -> Vec<f64> {
    let mut sizes: Vec<f64> = (0..=44).map(|i| (f64::from(i) / 2.0).exp2().round()).collect();
    sizes.insert(0, 0.0);
    sizes.dedup();
    sizes
}

/// The slice medians of a point with this time.
fn slices(time: f64, random: &mut Rand64) -> Vec<f64> {
    (0..N_SLICES).map(|_| time * (NOISE * normal(random)).exp()).collect()
}

/// A sweep with a time for each size, and half the width of its interval if its slices are known.
struct Sweep {
    points: Vec<(f64, f64)>,
    half_widths: Option<Vec<f64>>,
}

impl Sweep {
    /// Each time is one value with the noise of a slice.
    fn plain(law: impl Fn(f64) -> f64, seed: u64) -> Self {
        let mut random = Rand64::new(seed.into());
        let time = |n: f64| (n, law(n) * (NOISE * normal(&mut random)).exp());
        Self { points: sizes().into_iter().map(time).collect(), half_widths: None }
    }

    /// Each time is the median of ten slices, with the interval of its order statistics.
    fn sliced(law: impl Fn(f64) -> f64, seed: u64) -> Self {
        let mut random = Rand64::new(seed.into());
        let (mut points, mut half_widths) = (Vec::new(), Vec::new());
        for n in sizes() {
            let slices = sorted(&slices(law(n), &mut random));
            points.push((n, median(&slices)));
            half_widths.push((slices[8] - slices[1]) / 2.0);
        }
        Self { points, half_widths: Some(half_widths) }
    }

    fn weights(&self) -> Weights<'_> {
        self.half_widths.as_deref().map_or(Weights::Relative, Weights::HalfWidths)
    }
}

/// Checks that ranges hold the planted line in 95 % of the sweeps, and that values are near it.
#[track_caller]
fn check_line(name: &str, sweep: fn(fn(f64) -> f64, u64) -> Sweep) {
    let planted = [LINE.0, 1.0 / LINE.1, LINE.0 / LINE.1];
    let (mut held, mut errors) = ([0u64; 3], [const { Vec::new() }; 3]);
    for seed in 0..N_SWEEPS {
        let sweep = sweep(|n| LINE.0 + LINE.1 * n, seed);
        let line = Line::fit_robust(&sweep.points, sweep.weights()).unwrap();
        let values = [line.startup(), line.r_inf(), line.n_half()].map(Option::unwrap);
        let ranges = [line.t0_range(), line.r_inf_range(), line.n_half_range()].map(Option::unwrap);
        for i in 0..3 {
            held[i] += u64::from(ranges[i].contains(planted[i]));
            errors[i].push((values[i] / planted[i] - 1.0).abs());
        }
    }
    for (held, errors) in held.into_iter().zip(errors) {
        let coverage = held as f64 / N_SWEEPS as f64;
        let p95 = quantile(&sorted(&errors), 0.95);
        assert!((coverage - 0.95).abs() <= 0.02, "{name}: {coverage} of the ranges");
        assert!(p95 <= 0.025, "{name}: 5 % of the values are off by more than {p95}");
    }
}

#[test]
fn ranges_of_a_line_hold_the_truth_in_95_of_100_sweeps() {
    check_line("plain", Sweep::plain);
    check_line("sliced", Sweep::sliced);
}

#[test]
fn disturbed_points_do_not_turn_a_robust_line() {
    let error_of_startup = |seed: u64| {
        let mut sweep = Sweep::plain(|n| LINE.0 + LINE.1 * n, seed);
        let mut random = Rand64::new((N_SWEEPS + seed).into());
        for point in &mut sweep.points {
            point.1 *= if random.rand_float() < 0.08 { 1.5 } else { 1.0 };
        }
        (Line::fit_robust(&sweep.points, Weights::Relative).unwrap().t0 / LINE.0 - 1.0).abs()
    };
    let p95 = quantile(&sorted(&(0..N_SWEEPS).map(error_of_startup).collect::<Vec<_>>()), 0.95);
    assert!(p95 <= 0.025, "5 % of the startup times are off by more than {p95}");
}

/// The share of sweeps whose segments end at these sizes, of which a law with breaks has a few.
fn share_with_breaks(law: impl Fn(f64) -> f64, limits: &[f64]) -> f64 {
    let last_below = |limit: &f64| *sizes().iter().rfind(|n| *n <= limit).unwrap();
    let expected: Vec<f64> = limits.iter().map(last_below).collect();
    let is_exact = |seed: &u64| {
        let found = segments(&Sweep::plain(&law, *seed).points, &Bounds::default()).unwrap();
        let ends: Vec<f64> = found[..found.len() - 1].iter().map(|segment| segment.to).collect();
        ends == expected
    };
    (0..N_SWEEPS).filter(is_exact).count() as f64 / N_SWEEPS as f64
}

/// A law of 10 us and 10 ns for a byte, and of others above a size.
fn from(limit: f64, above: (f64, f64)) -> impl Fn(f64) -> f64 {
    move |n| if n <= limit { 10.0 + 0.01 * n } else { above.0 + above.1 * n }
}

#[test]
fn breaks_are_found_where_they_are() {
    let check = |name: &str, law: &dyn Fn(f64) -> f64, ends: &[f64]| {
        let share = share_with_breaks(law, ends);
        assert!(share >= 0.9, "{name}: found in {share} of the sweeps");
    };
    check("the protocols of the iPSC/860", &ipsc860, &[100.0]);
    check("13 % more", &from(8192.0, (11.3, 0.0113)), &[8192.0]);
    check("31 % less", &from(8192.0, (6.9, 0.0069)), &[8192.0]);
    check("a slope twice as steep", &from(7000.0, (-60.0, 0.02)), &[7000.0]);
    check("a slope half as steep", &from(7000.0, (45.0, 0.005)), &[7000.0]);
    let three = |n| if n <= 65_536.0 { from(256.0, (15.0, 0.01))(n) } else { 200.0 + 0.005 * n };
    check("three protocols", &three, &[256.0, 65_536.0]);
}

#[test]
fn one_line_has_no_breaks() {
    let share = share_with_breaks(|n| LINE.0 + LINE.1 * n, &[]);
    assert!(share >= 0.93, "{share} of the sweeps");
}

#[test]
fn ranges_of_a_break_hold_it() {
    let law = from(8192.0, (11.3, 0.0113));
    let holds = |seed: &u64| {
        let points = Sweep::plain(&law, *seed).points;
        let segments = segments(&points, &Bounds::default()).unwrap();
        let found = breaks(&points, &segments, &Bounds::default(), *seed).unwrap();
        found.len() == 1 && found[0].range.contains(8192.0)
    };
    let n_holding = (0..50).filter(holds).count();
    assert!(n_holding >= 45, "{n_holding} of 50 ranges");
}
