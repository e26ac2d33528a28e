//! The robust straight line: points that lie far off count less, so that a few disturbed ones do
//! not turn it.
//!
//! Huber's estimator by repeated weighted least squares (Huber, Annals of Mathematical Statistics
//! 35, 1964; Robust Statistics, sections 7.6 and 7.8) on relative residuals.

use super::least_squares::{Nearest, nearest, sandwich, scaled};
use super::resampling::median;
use super::{FitError, FitQuality, Line, Weights};

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

impl Line {
    /// The robust line through `points`, pairs of a size and a time: the default for measurements.
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
        quality.chi2_red = weights.are_known().then_some(variance);
        let covariance = match weights {
            Weights::HalfWidths(_) => scaled(sandwich(&rows, &known, &limited, spread), factor),
            _ => scaled(spread, factor * variance),
        };
        let [t0, per_unit] = coefficients;
        Ok(Self { t0, per_unit, covariance: Some(covariance), quality })
    }
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
