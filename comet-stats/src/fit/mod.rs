//! Fits: the laws that measured times follow, and how well they do.
//!
//! ```text
//!   Line       t = a + b n                    startup time, asymptotic rate (Hockney and Jesshope)
//!   segments   a Line for each range of n     protocols of a library, found by their breaks
//!   HopLine    t = a + b n + c (h - 1)        the same over several links
//!   MaxRate    t = a + k n / min(R_N, k R_C)  the same for k pairs at once, which share a node
//!   LogGp      L, o_s, o_r, g, G              what a message costs sender, receiver and net
//!   Scaling    t = a + b f(P)                 how the time grows with the number of ranks
//!   Intensity  r = r_hat / (1 + f_half / f)   how much work pays for moving a word
//!   Overlap    four shares                    how much of a transfer is hidden behind work; no law
//!   rates      peak, and where 50 % of it is reached; no law, only the measured points
//! ```
//!
//! [`Line::fit_robust`] is the default where points are measured; each law has a [`FitQuality`], and
//! each of its parameters a [`Range`].
//!
//! All are weighted least squares over points `(n, t)`, in whatever units the caller has; a rate is
//! in units of `n` over units of `t`. The weights are those of [`Weights`], by default such that
//! relative errors count: over the lengths of a sweep, times differ by a factor of a thousand and
//! more, and an unweighted fit sees nothing but the longest.

mod breaks;
mod hop_line;
mod intensity;
mod least_squares;
mod line;
mod loggp;
mod max_rate;
mod overlap;
mod quality;
mod range;
mod rates;
mod scaling;
mod segments;
#[cfg(test)]
mod truth;

pub use breaks::{Break, breaks, segments_at};
pub use hop_line::{HopLine, StoreAndForward};
pub use intensity::{Intensity, subdomain_edge};
pub use line::Line;
pub use loggp::{LogGp, Overheads, Train, TrainTimes};
pub use max_rate::MaxRate;
pub use overlap::{Overlap, OverlapTimes};
pub use quality::{FitQuality, Grade};
pub use range::{Estimate, Range};
pub use rates::{Marks, size_at_rate};
pub use scaling::{Candidate, Growth, Scaling};
pub use segments::{Bounds, Segment, segments};

/// Weight of each point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Weights<'a> {
    /// `1 / t²`: relative errors count.
    #[default]
    Relative,
    /// The same for all: absolute errors count. It is the fit of PARKBENCH (`parkbench_ols`).
    Equal,
    /// `1 / max(σ², (0.005 t)²)`, where σ is one of these over 1.96: half the width of the 95 %
    /// interval of each time. The floor keeps a lucky point from ruling.
    HalfWidths(&'a [f64]),
}

/// Half width of a 95 % interval of a normal value, in standard errors.
const NORMAL_QUANTILE: f64 = 1.96;

/// The standard error that no time falls below, relative to it.
const MIN_SIGMA: f64 = 0.005;

impl Weights<'_> {
    /// One weight for each of `points`.
    ///
    /// # Errors
    /// [`FitError`] where a weight would not be a positive number.
    fn of(self, points: &[(f64, f64)]) -> Result<Vec<f64>, FitError> {
        match self {
            Self::Relative => {
                points.iter().map(|(_, t)| Ok(1.0 / positive("time", *t)?.powi(2))).collect()
            }
            Self::Equal => Ok(vec![1.0; points.len()]),
            Self::HalfWidths(given) if given.len() != points.len() => {
                Err(FitError::unpaired(given.len(), points.len()))
            }
            Self::HalfWidths(widths) => {
                widths.iter().zip(points).map(|(width, (_, t))| of_width(*width, *t)).collect()
            }
        }
    }

    /// Weights of the points with these indices.
    fn part(self, indices: std::ops::Range<usize>) -> Self {
        match self {
            Self::HalfWidths(widths) => Self::HalfWidths(&widths[indices]),
            uniform => uniform,
        }
    }

    /// Weighted sum of squares between the times of `points` and those of a law.
    ///
    /// # Errors
    /// [`FitError`] where a weight would not be a positive number.
    fn squares(
        self,
        points: &[(f64, f64)],
        law: impl Iterator<Item = f64>,
    ) -> Result<f64, FitError> {
        let times = points.iter().zip(law);
        Ok(self.of(points)?.iter().zip(times).map(|(w, ((_, t), at))| w * (t - at).powi(2)).sum())
    }

    /// The least mean of these squares that is more than rounding: that of intervals, or of the
    /// relative scatter below which a closer fit counts for nothing.
    fn floor(self) -> f64 {
        match self {
            Self::HalfWidths(_) => 1.0,
            Self::Relative => quality::NOISE_FLOOR.powi(2),
            Self::Equal => f64::MIN_POSITIVE,
        }
    }

    /// Squares of `residuals` in standard errors, for each of so many degrees of freedom, without the
    /// floor of the weights; `None` where an interval has no width, or without intervals.
    fn chi2_red(self, residuals: &[f64], dof: usize) -> Option<f64> {
        let Self::HalfWidths(widths) = self else { return None };
        let square = |(r, width): (&f64, &f64)| (NORMAL_QUANTILE * r / width).powi(2);
        let squares: f64 = residuals.iter().zip(widths).map(square).sum();
        (dof > 0 && widths.iter().all(|width| *width > 0.0)).then(|| squares / dof as f64)
    }
}

/// Reason that there is no fit: one sentence with the values, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FitError(String);

impl FitError {
    /// The points do not determine the law.
    fn undetermined(n_points: usize, n_parameters: usize) -> Self {
        Self(format!(
            "{n_points} points do not determine a law of {n_parameters} parameters (measure at \
             least {n_parameters} different sizes)"
        ))
    }

    /// A number that must be positive is not.
    fn not_positive(what: &str, value: f64) -> Self {
        Self(format!(
            "a {what} of {value} is no positive number (leave that point out, or weight all points \
             equally)"
        ))
    }

    /// There is not one weight for each point.
    fn unpaired(n_weights: usize, n_points: usize) -> Self {
        Self(format!("{n_weights} weights are given for {n_points} points (give one for each)"))
    }

    /// There are not as many values as there should be.
    fn too_few(found: usize, what: &str, expected: usize) -> Self {
        Self(format!("{found} {what} are too few (measure at least {expected})"))
    }
}

/// The weight of a time whose interval has this half width.
fn of_width(half_width: f64, time: f64) -> Result<f64, FitError> {
    let floor = MIN_SIGMA * positive("time", time)?;
    if half_width >= 0.0 && half_width.is_finite() {
        return Ok(1.0 / (half_width / NORMAL_QUANTILE).max(floor).powi(2));
    }
    Err(FitError::not_positive("half width of an interval", half_width))
}

fn positive(what: &'static str, value: f64) -> Result<f64, FitError> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(FitError::not_positive(what, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_times_or_are_given() {
        let points = [(0.0, 2.0), (1.0, 4.0)];
        let check = |weights: Weights<'_>, expected| assert_eq!(weights.of(&points), expected);
        check(Weights::Relative, Ok(vec![0.25, 0.0625]));
        check(Weights::Equal, Ok(vec![1.0, 1.0]));
        check(Weights::HalfWidths(&[0.98, 0.0]), Ok(vec![4.0, 1.0 / 0.02f64.powi(2)]));
        check(Weights::HalfWidths(&[]), Err(FitError::unpaired(0, 2)));
        let refused = FitError::not_positive("half width of an interval", -1.0);
        check(Weights::HalfWidths(&[-1.0, 1.0]), Err(refused));
    }

    #[test]
    fn a_time_that_is_not_positive_has_no_relative_weight() {
        let error = Weights::Relative.of(&[(0.0, 0.0)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a time of 0 is no positive number (leave that point out, or weight all points equally)"
        );
    }
}
