//! The straight line `t = a + b n`: startup time and asymptotic rate.
//!
//! Hockney and Jesshope's parameters (Parallel Computers 2, section 1.3.3; PARKBENCH report,
//! COMMS1): r∞ = 1/b, n½ = a/b, π₀ = 1/a, so that n½ = a r∞ and π₀ = r∞ / n½.

use super::least_squares::{Nearest, Solution, nearest, sandwich, scaled, solve};

use super::range::{Range, Ratio, median};
use super::{FitError, FitQuality, Weights};

/// Beyond so many standard deviations a point counts less; 95 % efficient where none is disturbed.
const TUNING: f64 = 1.345;

/// Factor from a median of distances to a standard deviation, for normal values.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Most repetitions; a few are enough where the points follow a line.
const MAX_ITERATIONS: usize = 50;

/// Relative change of both parameters below which the line stands still.
const TOLERANCE: f64 = 1e-12;

/// Relative scatter below which the points lie on the line but for rounding.
const ROUNDING: f64 = 1e-12;

/// Fewest points of a line that is fitted to measurements.
const MIN_POINTS: usize = 4;

/// A fitted line; times in the unit of the points' times, sizes in the unit of their sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Time at size 0 (`t_0`, startup time); of a segment of larger sizes, only an intercept.
    pub t0: f64,
    /// Time for each unit of size.
    pub per_unit: f64,
    /// Covariances of `t0` and `per_unit`; `None` for two points, and where a sign was forced.
    pub covariance: Option<[[f64; 2]; 2]>,
    /// Quality of the fit.
    pub quality: FitQuality,
}

impl Line {
    /// The line through `points`, pairs of a size and a time.
    ///
    /// ```
    /// use comet_stats::fit::{Line, Weights};
    /// let echo_us = [(8.0, 84.04), (50.0, 110.5), (100.0, 142.0)];
    /// let line = Line::fit(&echo_us, Weights::Relative)?;
    /// assert!((line.t0 - 79.0).abs() < 1e-9 && (line.per_unit - 0.63).abs() < 1e-9);
    /// # Ok::<(), comet_stats::fit::FitError>(())
    /// ```
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than two different sizes, or if a number has no weight.
    pub fn fit(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let rows: Vec<[f64; 2]> = points.iter().map(|(n, _)| [1.0, *n]).collect();
        let Solution { coefficients: [t0, per_unit], covariance, quality } =
            solve(&rows, points, weights)?;
        Ok(Self { t0, per_unit, covariance, quality })
    }

    /// The robust line through `points`, pairs of a size and a time: the default for measurements, in
    /// which points that lie far off count less, so that a few disturbed ones do not turn it.
    ///
    /// Huber's estimator by repeated weighted least squares (Huber, Annals of Mathematical
    /// Statistics 35, 1964; Robust Statistics, sections 7.6 and 7.8) on relative residuals.
    ///
    /// ```
    /// use comet_stats::fit::{Line, Weights};
    /// let times = [79.0, 84.0, 89.0, 99.0, 119.0, 239.0, 239.0, 399.0];
    /// let sizes = [0.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
    /// let points: Vec<_> = sizes.into_iter().zip(times).collect();
    /// let line = Line::fit_robust(&points, Weights::Relative)?;
    /// assert!((line.t0 - 79.0).abs() < 0.1, "the time for 128 bytes was disturbed");
    /// # Ok::<(), comet_stats::fit::FitError>(())
    /// ```
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than four points, if their sizes span less than an octave,
    /// or if a number has no weight.
    pub fn fit_robust(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        check_extent(points)?;
        let rows: Vec<[f64; 2]> = points.iter().map(|(n, _)| [1.0, *n]).collect();
        let known = weights.of(points)?;
        let spread = nearest(&rows, points, &known)?.spread;
        let (Nearest { coefficients, residuals, .. }, deviations) = settled(&rows, points, &known)?;
        let limited: Vec<f64> =
            residuals.iter().zip(&deviations).map(|(r, u)| share(*u) * r).collect();
        let mut quality = FitQuality::of(points, &known, &residuals, 2);
        let squares: f64 = known.iter().zip(&limited).map(|(w, r)| w * r * r).sum();
        let (variance, factor) = (squares / quality.dof as f64, correction(&deviations).powi(2));
        quality.chi2_red = weights.chi2_red(&residuals, quality.dof);
        let covariance = match weights {
            Weights::HalfWidths(_) => {
                let of_limited = scaled(sandwich(&rows, &known, &limited, spread), factor);
                let of_all = sandwich(&rows, &known, &residuals, spread);
                at_least(of_limited, of_all)
            }
            _ => scaled(spread, factor * variance),
        };
        let [t0, per_unit] = coefficients;
        Ok(Self { t0, per_unit, covariance: Some(covariance), quality })
    }

    /// The best line of which neither `t0` nor `per_unit` is negative.
    ///
    /// # Errors
    /// The errors of [`fit`](Self::fit).
    pub fn fit_not_negative(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let free = Self::fit(points, weights)?;
        if free.t0 >= 0.0 && free.per_unit >= 0.0 {
            return Ok(free);
        }
        let weights = weights.of(points)?;
        // The error is a bowl, so the best point at the edge is on the side that was left.
        let (t0, per_unit) = if free.t0 < 0.0 {
            (0.0, slope_through_origin(points, &weights).max(0.0))
        } else {
            (mean(points, &weights).max(0.0), 0.0)
        };
        let residuals: Vec<f64> = points.iter().map(|(n, t)| t - t0 - per_unit * n).collect();
        let quality = FitQuality::of(points, &weights, &residuals, 2);
        Ok(Self { t0, per_unit, covariance: None, quality })
    }

    /// The time that does not depend on the size: `per_unit` is 0.
    ///
    /// # Errors
    /// [`FitError`] if there are no points, or if a number has no weight.
    pub fn fit_constant(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let rows = vec![[1.0]; points.len()];
        let Solution { coefficients: [t0], covariance, quality } = solve(&rows, points, weights)?;
        let covariance = covariance.map(|[[variance]]| [[variance, 0.0], [0.0, 0.0]]);
        Ok(Self { t0, per_unit: 0.0, covariance, quality })
    }

    /// The time for size `n`.
    pub fn at(&self, n: f64) -> f64 {
        self.t0 + self.per_unit * n
    }

    /// The startup time; `None` if `t0` is not positive (`t0_nonpositive`): then the points say
    /// nothing about it, and none of the four parameters may be published as those of the points.
    pub fn startup(&self) -> Option<f64> {
        (self.t0 > 0.0).then_some(self.t0)
    }

    /// The rate for infinite sizes, r∞ = 1/b; `None` if the time does not grow.
    pub fn r_inf(&self) -> Option<f64> {
        (self.per_unit > 0.0).then(|| 1.0 / self.per_unit)
    }

    /// The size at half of that rate, n½ = a/b; `None` without a positive startup time or rate.
    pub fn n_half(&self) -> Option<f64> {
        (self.t0 > 0.0 && self.per_unit > 0.0).then(|| self.t0 / self.per_unit)
    }

    /// The specific performance, π₀ = 1/a; `None` without a positive startup time.
    pub fn pi_0(&self) -> Option<f64> {
        (self.t0 > 0.0).then(|| 1.0 / self.t0)
    }

    /// Standard error of `t0`.
    pub fn t0_error(&self) -> Option<f64> {
        Some(self.covariance?[0][0].sqrt())
    }

    /// Standard error of `per_unit`.
    pub fn per_unit_error(&self) -> Option<f64> {
        Some(self.covariance?[1][1].sqrt())
    }

    /// The range of the startup time; `None` if that is not positive, when it is no startup time.
    pub fn t0_range(&self) -> Option<Range> {
        Range::around_positive(self.startup()?, self.t0_error()?, self.quality.dof)
    }

    /// The range of `t0` as an intercept, which may be negative.
    pub fn intercept_range(&self) -> Option<Range> {
        Range::around(self.t0, self.t0_error()?, self.quality.dof)
    }

    /// The range of `per_unit`, which may hold 0.
    pub fn per_unit_range(&self) -> Option<Range> {
        Range::around(self.per_unit, self.per_unit_error()?, self.quality.dof)
    }

    /// The range of r∞; `None` if the time does not grow.
    pub fn r_inf_range(&self) -> Option<Range> {
        let error = self.per_unit_error()? * self.r_inf()?.powi(2);
        Range::around_positive(self.r_inf()?, error, self.quality.dof)
    }

    /// The range of n½; `None` without n½, or if r∞ may be infinite.
    pub fn n_half_range(&self) -> Option<Range> {
        self.n_half()?;
        let ratio = Ratio { values: [self.t0, self.per_unit], covariance: self.covariance? };
        ratio.range(self.quality.dof)
    }

    /// The range of π₀; `None` without π₀.
    pub fn pi_0_range(&self) -> Option<Range> {
        Some(self.t0_range()?.inverted())
    }
}

fn slope_through_origin(points: &[(f64, f64)], weights: &[f64]) -> f64 {
    let sum = |f: fn(f64, f64) -> f64| -> f64 {
        points.iter().zip(weights).map(|((n, t), w)| w * f(*n, *t)).sum()
    };
    sum(|n, t| n * t) / sum(|n, _| n * n)
}

fn mean(points: &[(f64, f64)], weights: &[f64]) -> f64 {
    let sum: f64 = points.iter().zip(weights).map(|((_, t), w)| w * t).sum();
    sum / weights.iter().sum::<f64>()
}

/// Line whose weights no longer change, and the deviations that these follow from.
fn settled(
    rows: &[[f64; 2]],
    points: &[(f64, f64)],
    known: &[f64],
) -> Result<(Nearest<2>, Vec<f64>), FitError> {
    let mut line = nearest(rows, points, known)?;
    let mut deviations = vec![0.0; points.len()];
    for _ in 0..MAX_ITERATIONS {
        let Some(found) = in_sigmas(points, &line.residuals) else { break };
        deviations = found;
        let shares = deviations.iter().zip(known).map(|(u, weight)| share(*u) * weight);
        let next = nearest(rows, points, &shares.collect::<Vec<_>>())?;
        let stands = stands(&line, &next);
        line = next;
        if stands {
            break;
        }
    }
    Ok((line, deviations))
}

/// By how much limiting the `deviations` makes standard errors too small (Robust Statistics,
/// equations 7.6.10 and 7.6.11, for two parameters).
fn correction(deviations: &[f64]) -> f64 {
    let n = deviations.len() as f64;
    let inside = deviations.iter().filter(|u| u.abs() <= TUNING).count() as f64 / n;
    (1.0 + 2.0 / n * (1.0 - inside) / inside) / inside
}

/// `covariance`, grown until its variances are those of `least` or more: where a few of the points
/// decide about the slope, the limits of their residuals hide half of their scatter, and in simulation
/// 92 % of intervals of 14 such points held the rate in place of 94 %.
fn at_least(covariance: [[f64; 2]; 2], least: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let ratio = |k: usize| least[k][k] / covariance[k][k];
    let growth = [0, 1].map(ratio).into_iter().filter(|ratio| ratio.is_finite());
    scaled(covariance, growth.fold(1.0, f64::max))
}

/// Relative residuals in robust standard deviations; `None` if all points lie on the line.
fn in_sigmas(points: &[(f64, f64)], residuals: &[f64]) -> Option<Vec<f64>> {
    let relative: Vec<f64> = points.iter().zip(residuals).map(|((_, t), r)| r / t).collect();
    let distances: Vec<f64> = relative.iter().map(|r| r.abs()).collect();
    // Two parameters draw the line to the points, which shows where these are few.
    let shrunk = (points.len() as f64 / (points.len() - 2) as f64).sqrt();
    let sigma = MAD_TO_SIGMA * shrunk * median(&distances);
    (sigma > ROUNDING).then(|| relative.iter().map(|r| r / sigma).collect())
}

/// The part of its weight that a point keeps at so many standard deviations.
fn share(deviation: f64) -> f64 {
    (TUNING / deviation.abs()).min(1.0)
}

/// True if a step has left the line unchanged.
fn stands(line: &Nearest<2>, next: &Nearest<2>) -> bool {
    let mut pairs = line.coefficients.iter().zip(&next.coefficients);
    pairs.all(|(old, new)| (new - old).abs() <= TOLERANCE * old.abs())
}

/// A line of few points, or of sizes that are nearly the same, says nothing.
fn check_extent(points: &[(f64, f64)]) -> Result<(), FitError> {
    if points.len() < MIN_POINTS {
        return Err(FitError::too_few(points.len(), "points", MIN_POINTS));
    }
    let sizes = || points.iter().map(|(n, _)| *n);
    let (from, to) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    if to >= 2.0 * from {
        return Ok(());
    }
    Err(FitError(format!(
        "sizes from {from} to {to} span less than an octave (measure sizes of which the largest is \
         at least twice the smallest)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Startup time and time per byte of the iPSC/860 above 100 bytes, in us (thesis section 5.1).
    const LONG: (f64, f64) = (156.0, 0.41);

    fn points((t0, per_unit): (f64, f64), sizes: &[f64]) -> Vec<(f64, f64)> {
        sizes.iter().map(|n| (*n, t0 + per_unit * n)).collect()
    }

    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn fit_recovers_planted_startup_time_and_slope() {
        let check = |law: (f64, f64), sizes: &[f64], weights| {
            let line = Line::fit(&points(law, sizes), weights).unwrap();
            assert_near(line.t0, law.0, 1e-12);
            assert_near(line.per_unit, law.1, 1e-12);
            assert!(line.quality.max_relative_residual < 1e-12, "{:?}", line.quality);
            assert_near(line.quality.r_squared.unwrap(), 1.0, 1e-12);
        };
        let doubled: Vec<f64> = (0..22).map(|exponent| 101.0 * 2f64.powi(exponent)).collect();
        check(LONG, &doubled, Weights::Relative);
        check(LONG, &doubled[..12], Weights::HalfWidths(&[2.0; 12]));
        check((79.0, 0.63), &[0.0, 8.0, 16.0, 50.0, 100.0], Weights::Equal);
        // The unit does not matter: these are seconds.
        check((79e-6, 0.63e-6), &[0.0, 100.0], Weights::Relative);
    }

    #[test]
    fn hockneys_identities_hold() {
        let line = Line::fit(&points(LONG, &[200.0, 400.0, 1000.0]), Weights::Relative).unwrap();
        let (r_inf, n_half) = (line.r_inf().unwrap(), line.n_half().unwrap());
        assert_near(n_half, 156.0 / 0.41, 1e-12);
        assert_near(n_half, line.t0 * r_inf, 1e-15);
        assert_near(line.pi_0().unwrap(), r_inf / n_half, 1e-15);
        // At n½, half of the asymptotic rate is reached.
        assert_near(n_half / line.at(n_half), r_inf / 2.0, 1e-12);
    }

    #[test]
    fn standard_errors_follow_from_the_scatter() {
        let noisy = [(0.0, 0.5), (1.0, 0.0), (2.0, 2.5), (3.0, 3.2)];
        let line = Line::fit(&noisy, Weights::Equal).unwrap();
        // By R: lm(c(0.5, 0, 2.5, 3.2) ~ c(0, 1, 2, 3)).
        assert_near(line.t0, -0.04, 1e-12);
        assert_near(line.per_unit, 1.06, 1e-12);
        let squares = (0.54f64.powi(2) + 1.02f64.powi(2) + 0.42f64.powi(2) + 0.06f64.powi(2)) / 2.0;
        assert_near(line.per_unit_error().unwrap(), (squares / 5.0).sqrt(), 1e-12);
        assert_near(line.t0_error().unwrap(), (squares * (0.25 + 2.25 / 5.0)).sqrt(), 1e-12);
    }

    #[test]
    fn ranges_hold_what_was_found_and_agree_with_each_other() {
        let noisy = [(1.0, 163.0), (200.0, 235.0), (400.0, 325.0), (800.0, 480.0), (1600.0, 815.0)];
        let line = Line::fit(&noisy, Weights::Relative).unwrap();
        let ranges = [line.t0_range(), line.r_inf_range(), line.n_half_range(), line.pi_0_range()];
        let values = [line.startup(), line.r_inf(), line.n_half(), line.pi_0()];
        for (range, value) in ranges.into_iter().zip(values) {
            let (range, value) = (range.unwrap(), value.unwrap());
            assert!(range.contains(value) && range.high / range.low < 1.5, "{range:?} of {value}");
            // On a scale of factors, the value is in the middle.
            assert_near((range.low * range.high).sqrt(), value, 1e-9);
        }
        assert_near(line.pi_0_range().unwrap().low, 1.0 / line.t0_range().unwrap().high, 1e-12);
    }

    #[test]
    fn a_startup_time_that_is_not_positive_is_none_and_the_rate_stays() {
        let steep = [(1.0, 1.0), (2.0, 3.1), (3.0, 4.9), (4.0, 7.0)];
        let line = Line::fit(&steep, Weights::Equal).unwrap();
        assert!(line.t0 < 0.0);
        assert_eq!((line.startup(), line.t0_range(), line.n_half_range()), (None, None, None));
        assert!(line.r_inf_range().unwrap().contains(0.5));
    }

    #[test]
    fn a_line_without_scatter_is_known_exactly() {
        let line = Line::fit(&points(LONG, &[200.0, 400.0, 1000.0]), Weights::Relative).unwrap();
        let errors = [line.t0_error(), line.per_unit_error()];
        assert!(errors.iter().all(|error| error.is_some_and(|error| error < 1e-9)), "{errors:?}");
    }

    #[test]
    fn what_does_not_follow_from_the_points_is_none() {
        let flat = Line::fit(&[(0.0, 5.0), (10.0, 5.0)], Weights::Relative).unwrap();
        assert_eq!((flat.quality.r_squared, flat.covariance), (None, None));
        let falling = Line::fit(&[(0.0, 9.0), (1.0, 8.0), (2.0, 7.0)], Weights::Equal).unwrap();
        assert_eq!((falling.r_inf(), falling.n_half()), (None, None));
        let steep = Line::fit(&[(1.0, 1.0), (2.0, 3.0), (3.0, 5.0)], Weights::Equal).unwrap();
        assert_eq!((steep.n_half(), steep.pi_0(), steep.pi_0_range()), (None, None, None));
        assert_near(steep.r_inf().unwrap(), 0.5, 1e-12);
    }

    #[test]
    fn points_that_make_no_line_are_refused() {
        let check = |points: &[(f64, f64)], expected: &str| {
            let error = Line::fit(points, Weights::Relative).unwrap_err().to_string();
            assert_eq!(error.split(" (").next(), Some(expected));
        };
        check(&[], "0 points do not determine a law of 2 parameters");
        check(&[(8.0, 1.0), (8.0, 2.0)], "2 points do not determine a law of 2 parameters");
        check(&[(0.0, -1.0), (8.0, 2.0)], "a time of -1 is no positive number");
        check(&[(0.0, f64::NAN), (8.0, 2.0)], "a time of NaN is no positive number");
        let infinite = Line::fit(&[(f64::INFINITY, 1.0), (8.0, 2.0)], Weights::Relative);
        assert_eq!(
            infinite.unwrap_err().to_string(),
            "the point (inf, 1) is not finite (leave it out)"
        );
    }

    #[test]
    fn a_sign_can_be_forced() {
        let check = |points: &[(f64, f64)], t0: f64, per_unit: f64| {
            let line = Line::fit_not_negative(points, Weights::Equal).unwrap();
            assert!((line.t0 - t0).abs() < 1e-12, "{line:?}");
            assert!((line.per_unit - per_unit).abs() < 1e-12, "{line:?}");
        };
        check(&[(0.0, 1.0), (1.0, 3.0)], 1.0, 2.0);
        check(&[(1.0, 1.0), (2.0, 4.0)], 0.0, 9.0 / 5.0);
        check(&[(1.0, 4.0), (2.0, 2.0)], 3.0, 0.0);
    }

    fn law(n: f64) -> f64 {
        156.0 + 0.41 * n
    }

    fn doubled(n_sizes: i32) -> Vec<f64> {
        (0..n_sizes).map(|exponent| 2f64.powi(exponent)).collect()
    }

    #[track_caller]
    fn check_law(line: &Line, tolerance: f64) {
        for (found, planted) in [(line.t0, 156.0), (line.per_unit, 0.41)] {
            assert!((found / planted - 1.0).abs() <= tolerance, "{found} is not {planted}");
        }
    }

    #[test]
    fn points_on_a_line_give_that_line() {
        let points: Vec<_> = doubled(20).into_iter().map(|n| (n, law(n))).collect();
        let line = Line::fit_robust(&points, Weights::Relative).unwrap();
        check_law(&line, 1e-12);
        assert!(line.t0_error().unwrap() < 1e-9, "{line:?}");
        let half_widths: Vec<f64> = points.iter().map(|(_, t)| 0.01 * t).collect();
        check_law(&Line::fit_robust(&points, Weights::HalfWidths(&half_widths)).unwrap(), 1e-12);
    }

    #[test]
    fn where_no_point_is_far_off_the_line_is_the_plain_one() {
        let points: Vec<_> = [1.01, 0.99, 0.99, 1.01, 1.01, 0.99]
            .into_iter()
            .zip(doubled(6))
            .map(|(factor, n)| (n, law(n) * factor))
            .collect();
        let robust = Line::fit_robust(&points, Weights::Relative).unwrap();
        let plain = Line::fit(&points, Weights::Relative).unwrap();
        assert!((robust.t0 / plain.t0 - 1.0).abs() < 1e-12, "{robust:?} {plain:?}");
        let errors = robust.t0_error().unwrap() / plain.t0_error().unwrap();
        assert!((errors - 1.0).abs() < 1e-9, "{errors}");
    }

    #[test]
    fn points_that_say_nothing_of_a_line_are_refused() {
        let check = |sizes: &[f64], expected: &str| {
            let points: Vec<_> = sizes.iter().map(|n| (*n, law(*n))).collect();
            let error = Line::fit_robust(&points, Weights::Relative).unwrap_err().to_string();
            assert_eq!(error.split(" (").next(), Some(expected));
        };
        check(&[1.0, 2.0, 4.0], "3 points are too few");
        check(&[5.0, 6.0, 7.0, 8.0], "sizes from 5 to 8 span less than an octave");
    }
}
