//! Fits: the laws that measured times follow, and how well they do.
//!
//! ```text
//!   Line       t = a + b n                    startup time, asymptotic rate (Hockney and Jesshope)
//!   HopLine    t = a + b n + c (h - 1)        the same over several links
//!   Parabola   y = c0 + c1 x + c2 x²          operations on matrices
//!   segments   a Line for each range of n     protocols of a library, found by their breaks
//!   rates      peak, and where 50 % of it is reached; no law, only the measured points
//! ```
//!
//! All are weighted least squares over points `(n, t)`, in whatever units the caller has; a rate is
//! in units of `n` over units of `t`. The weights are those of [`Weights`], by default such that
//! relative errors count: over the lengths of a sweep, times differ by a factor of a thousand and
//! more, and an unweighted fit sees nothing but the longest.

mod hop_line;
mod least_squares;
mod line;
mod parabola;
mod rates;
mod segments;

pub use hop_line::HopLine;
pub use line::Line;
pub use parabola::Parabola;
pub use rates::{Marks, size_at_rate};
pub use segments::{Rules, Segment, segments};

/// What each point counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Weights<'a> {
    /// `1 / t²`: relative errors count.
    #[default]
    Relative,
    /// The same for all: absolute errors count. It is the fit of PARKBENCH (`parkbench_ols`).
    Equal,
    /// These, one for each point.
    Given(&'a [f64]),
}

impl Weights<'_> {
    /// One weight for each of `points`.
    ///
    /// # Errors
    /// [`FitError::NotPositive`] where a weight would not be a positive number.
    fn of(self, points: &[(f64, f64)]) -> Result<Vec<f64>, FitError> {
        match self {
            Self::Relative => {
                points.iter().map(|(_, t)| Ok(1.0 / positive("time", *t)?.powi(2))).collect()
            }
            Self::Equal => Ok(vec![1.0; points.len()]),
            Self::Given(weights) if weights.len() == points.len() => {
                weights.iter().map(|weight| positive("weight", *weight)).collect()
            }
            Self::Given(weights) => {
                Err(FitError::Unpaired { n_weights: weights.len(), n_points: points.len() })
            }
        }
    }
}

/// How well a law describes the points that it was fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Number of points.
    pub n_points: usize,
    /// Share of the weighted variance that the law explains (R²); `None` if all times are equal.
    pub r_squared: Option<f64>,
    /// Largest `|residual| / time`.
    pub max_relative_residual: f64,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The points do not determine the law.
    #[error(
        "{n_points} points do not determine a law of {n_parameters} parameters \
         (measure at least {n_parameters} different sizes)"
    )]
    Undetermined {
        /// Number of points.
        n_points: usize,
        /// Number of parameters.
        n_parameters: usize,
    },
    /// A number that must be positive is not.
    #[error(
        "a {what} of {value} is no positive number (leave that point out, or weight all points equally)"
    )]
    NotPositive {
        /// What it is.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// A point is no number.
    #[error("the point ({x}, {y}) is not finite (leave it out)")]
    NotFinite {
        /// Its size.
        x: f64,
        /// Its time.
        y: f64,
    },
    /// There is not one weight for each point.
    #[error("{n_weights} weights are given for {n_points} points (give one for each)")]
    Unpaired {
        /// Number of weights.
        n_weights: usize,
        /// Number of points.
        n_points: usize,
    },
}

fn positive(what: &'static str, value: f64) -> Result<f64, FitError> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(FitError::NotPositive { what, value })
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
        check(Weights::Given(&[3.0, 5.0]), Ok(vec![3.0, 5.0]));
        check(Weights::Given(&[3.0]), Err(FitError::Unpaired { n_weights: 1, n_points: 2 }));
        let refused = FitError::NotPositive { what: "weight", value: 0.0 };
        check(Weights::Given(&[3.0, 0.0]), Err(refused));
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
