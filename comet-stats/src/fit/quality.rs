//! Quality of a fit, and the use that it permits.

use statrs::function::factorial::ln_binomial;

use super::least_squares::solve;
use super::{FitError, Weights};

/// Relative deviations below this are the rounding of floating-point numbers, and have no sign.
const ROUNDING: f64 = 1e-9;

/// The standard deviation below which a closer fit counts for nothing, relative to the time.
pub(super) const NOISE_FLOOR: f64 = 0.002;

/// By how much the Bayesian criterion must fall before a richer law is believed: odds of about 20
/// to 1 (Kass and Raftery, Journal of the American Statistical Association 90, 1995).
pub(super) const MIN_BIC_DROP: f64 = 6.0;

/// Quality of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitQuality {
    /// Number of points.
    pub n_points: usize,
    /// Number of points beyond those that the parameters need.
    pub dof: usize,
    /// Share of the weighted variance that the law explains (R²); `None` if all times are equal.
    /// Over sizes that differ by a thousand it is always nearly 1.
    pub r_squared: Option<f64>,
    /// Squares of the residuals in standard errors of the points, for each degree of freedom: 1 if
    /// the points scatter as their intervals say. The floor of the weights is not in it. `None`
    /// without [`HalfWidths`](super::Weights::HalfWidths), where one of them is 0, or without a
    /// degree of freedom.
    pub chi2_red: Option<f64>,
    /// Root of the mean square of `residual / time`.
    pub relative_rmse: f64,
    /// Largest `|residual| / time`.
    pub max_relative_residual: f64,
    /// The size at which it is.
    pub max_at: f64,
    /// Probability of so few changes of sign along the sizes, if the law is right (runs test of
    /// Wald and Wolfowitz, one-sided): small where the points bend away from it. `None` if all
    /// lie on one side, or on the law.
    pub runs_p: Option<f64>,
    /// Bayesian information criterion of the relative residuals; only differences between laws
    /// for the same points have a meaning, and less is better.
    pub bic: f64,
}

/// Use that a fit permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// No point is more than 10 % off, they are 5 % off in the mean, and they do not bend.
    Good,
    /// It is not good, but several lines are.
    Segment,
    /// Neither this law nor several lines describe the points.
    Poor,
}

impl FitQuality {
    /// Quality of a law of `n_parameters` that leaves `residuals` at `points` (size, time).
    pub(super) fn of(
        points: &[(f64, f64)],
        weights: &[f64],
        residuals: &[f64],
        n_parameters: usize,
    ) -> Self {
        let relative: Vec<f64> =
            points.iter().zip(residuals).map(|((_, t), r)| share(*r, *t)).collect();
        let (max_at, max_relative_residual) = largest(points, &relative);
        let n_points = points.len();
        Self {
            n_points,
            dof: n_points.saturating_sub(n_parameters),
            r_squared: r_squared(points, weights, residuals),
            chi2_red: None,
            relative_rmse: mean_square(&relative).sqrt(),
            max_relative_residual,
            max_at,
            runs_p: runs_p(points, &relative),
            bic: criterion(&relative) + n_parameters as f64 * (n_points as f64).ln(),
        }
    }

    /// The quality of the parabola `y = c0 + c1 x + c2 x²` that is nearest to `points`, pairs of a
    /// size and a time.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than three different sizes, or if a number has no weight.
    pub fn of_parabola(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let rows: Vec<[f64; 3]> = points.iter().map(|(x, _)| [1.0, *x, x * x]).collect();
        Ok(solve(&rows, points, weights)?.quality)
    }

    /// The verdict on one line, if the points fall into so many segments.
    pub fn verdict(&self, n_segments: usize) -> Grade {
        let is_straight = self.runs_p.is_none_or(|p| p > 0.01);
        if self.max_relative_residual <= 0.1 && self.relative_rmse <= 0.05 && is_straight {
            Grade::Good
        } else if n_segments >= 2 {
            Grade::Segment
        } else {
            Grade::Poor
        }
    }

    /// Akaike's criterion with its correction for few points, of a law with so many parameters;
    /// `None` without a point more than there are parameters and one.
    pub(super) fn aicc(&self, n_parameters: usize) -> Option<f64> {
        let rest = self.n_points.checked_sub(n_parameters + 1).filter(|rest| *rest > 0)?;
        let (n, k) = (self.n_points as f64, n_parameters as f64);
        Some(self.bic - k * n.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / rest as f64)
    }
}

/// A residual relative to its time.
fn share(residual: f64, time: f64) -> f64 {
    if residual == 0.0 { 0.0 } else { residual / time }
}

/// Twice the negative logarithm of the likelihood of the residuals, less a constant.
fn criterion(relative: &[f64]) -> f64 {
    relative.len() as f64 * mean_square(relative).max(NOISE_FLOOR.powi(2)).ln()
}

fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64
}

/// The size of the largest relative residual, and that.
fn largest(points: &[(f64, f64)], relative: &[f64]) -> (f64, f64) {
    let with_sizes = points.iter().zip(relative).map(|((n, _), r)| (*n, r.abs()));
    with_sizes.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((f64::NAN, 0.0))
}

fn r_squared(points: &[(f64, f64)], weights: &[f64], residuals: &[f64]) -> Option<f64> {
    let total: f64 = weights.iter().sum();
    let mean = weights.iter().zip(points).map(|(w, (_, t))| w * t).sum::<f64>() / total;
    let squares = |values: &mut dyn Iterator<Item = f64>| -> f64 {
        weights.iter().zip(values).map(|(w, value)| w * value * value).sum()
    };
    let spread = squares(&mut points.iter().map(|(_, t)| t - mean));
    let unexplained = squares(&mut residuals.iter().copied());
    (spread > 0.0).then(|| 1.0 - unexplained / spread)
}

/// The probability of so few runs of equal signs, by counting all orders of the signs.
fn runs_p(points: &[(f64, f64)], relative: &[f64]) -> Option<f64> {
    let mut signed: Vec<(f64, bool)> = points
        .iter()
        .zip(relative)
        .filter(|(_, r)| r.abs() > ROUNDING)
        .map(|((n, _), r)| (*n, *r > 0.0))
        .collect();
    signed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n_above = signed.iter().filter(|(_, is_above)| *is_above).count() as u64;
    let n_below = signed.len() as u64 - n_above;
    let n_runs = 1 + signed.windows(2).filter(|pair| pair[0].1 != pair[1].1).count() as u64;
    let fewer = (2..=n_runs).map(|runs| probability_of_runs(runs, n_above, n_below));
    (n_above > 0 && n_below > 0).then(|| fewer.sum::<f64>().min(1.0))
}

/// The probability of exactly so many runs among `a` signs of one kind and `b` of the other.
fn probability_of_runs(runs: u64, a: u64, b: u64) -> f64 {
    let ways = |above: u64, below: u64| {
        if above > a || below > b {
            return 0.0;
        }
        let ln_orders = ln_binomial(a - 1, above - 1) + ln_binomial(b - 1, below - 1);
        (ln_orders - ln_binomial(a + b, a)).exp()
    };
    let half = runs / 2;
    if runs.is_multiple_of(2) {
        2.0 * ways(half, half)
    } else {
        ways(half + 1, half) + ways(half, half + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Line;

    /// The quality of the law t = 100 where the points are off by these shares of their time.
    fn flat(relative: &[f64]) -> FitQuality {
        let points: Vec<_> = (0..relative.len()).map(|i| (i as f64, 100.0)).collect();
        let residuals: Vec<f64> = relative.iter().map(|r| 100.0 * r).collect();
        FitQuality::of(&points, &vec![1e-4; points.len()], &residuals, 2)
    }

    #[test]
    fn residuals_are_counted_relative_to_the_time() {
        let quality = flat(&[0.03, -0.04, 0.0, 0.0]);
        assert_eq!((quality.n_points, quality.dof, quality.max_at), (4, 2, 1.0));
        assert!((quality.max_relative_residual - 0.04).abs() < 1e-15);
        assert!((quality.relative_rmse - 0.025).abs() < 1e-15);
        let bic = 4.0 * 0.025f64.powi(2).ln() + 2.0 * 4f64.ln();
        assert!((quality.bic - bic).abs() < 1e-9, "{quality:?}");
    }

    #[test]
    fn runs_are_as_likely_as_the_orders_that_have_so_few() {
        let check = |signs: &str, expected: Option<f64>| {
            let value = |sign| if sign == '+' { 0.01 } else { -0.01 };
            let p = flat(&signs.chars().map(value).collect::<Vec<f64>>()).runs_p;
            assert_eq!(p.map(|p| (p * 1e4).round() / 1e4), expected, "{signs}");
        };
        // So few runs are in 2 of 252 orders, in 11 of 462 and in 10 of 210.
        check("+++++-----", Some(0.0079));
        check("+++++-----+", Some(0.0238));
        check("++++----++", Some(0.0476));
        check("+-+-", Some(1.0));
        check("++++", None);
    }

    #[test]
    fn a_parabola_explains_more_of_a_parabola_than_a_line() {
        let points = [16.0, 32.0, 64.0, 128.0, 256.0].map(|x| (x, 312.0 + 0.23 * x * x));
        let curved = FitQuality::of_parabola(&points, Weights::Equal).unwrap();
        let straight = Line::fit(&points, Weights::Equal).unwrap().quality.r_squared.unwrap();
        assert!(curved.r_squared.unwrap() > 1.0 - 1e-12 && straight < 0.99, "{straight}");
        assert!(curved.max_relative_residual < 1e-12, "{curved:?}");
        let refused =
            FitQuality::of_parabola(&[(0.0, 1.0), (1.0, 2.0), (1.0, 2.0)], Weights::Equal);
        assert_eq!(refused, Err(FitError::undetermined(3, 3)));
    }

    #[test]
    fn rounding_has_no_sign() {
        assert_eq!(flat(&[1e-16, 1e-16, -1e-16, -1e-16]).runs_p, None);
    }

    #[test]
    fn a_verdict_follows_from_the_worst_point_the_mean_and_the_bend() {
        let check = |relative: &[f64], n_segments, expected| {
            assert_eq!(flat(relative).verdict(n_segments), expected, "{relative:?}");
        };
        check(&[0.02, -0.02, 0.02, -0.02], 1, Grade::Good);
        check(&[0.0, 0.0, 0.0, 0.0, 0.11], 1, Grade::Poor);
        check(&[0.06, -0.06, 0.06, -0.06], 2, Grade::Segment);
        let bent: Vec<f64> =
            (0..20).map(|i| if (5..15).contains(&i) { 0.01 } else { -0.01 }).collect();
        check(&bent, 1, Grade::Poor);
    }

    #[test]
    fn intervals_tell_whether_the_scatter_is_as_expected() {
        let points = [(0.0, 100.0), (1.0, 112.0), (2.0, 118.0), (3.0, 130.0)];
        let check = |weights, expected: Option<f64>| {
            let found = Line::fit(&points, weights).unwrap().quality.chi2_red;
            assert_eq!(found.map(|x| (x * 1e4).round() / 1e4), expected, "{weights:?}");
        };
        // Residuals of -0.6, 1.8, -1.8, 0.6 leave 7.2 for two degrees of freedom.
        check(Weights::HalfWidths(&[2.0 * 1.96; 4]), Some(0.9));
        check(Weights::HalfWidths(&[1.96; 4]), Some(3.6));
        // Below the floor of the weights, too, and nothing where there is no interval.
        check(Weights::HalfWidths(&[0.196; 4]), Some(360.2239));
        check(Weights::HalfWidths(&[0.0, 1.0, 1.0, 1.0]), None);
        check(Weights::Equal, None);
    }
}
