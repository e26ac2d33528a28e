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
mod resampling;
mod robust;
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
pub use range::Range;
pub use rates::{Marks, size_at_rate};
pub use resampling::Estimate;
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
    /// [`FitError::NotPositive`] where a weight would not be a positive number.
    fn of(self, points: &[(f64, f64)]) -> Result<Vec<f64>, FitError> {
        match self {
            Self::Relative => {
                points.iter().map(|(_, t)| Ok(1.0 / positive("time", *t)?.powi(2))).collect()
            }
            Self::Equal => Ok(vec![1.0; points.len()]),
            Self::HalfWidths(given) if given.len() != points.len() => {
                Err(FitError::Unpaired { n_weights: given.len(), n_points: points.len() })
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

    /// True if they come from intervals, so that the scatter can be compared with them.
    fn are_known(self) -> bool {
        matches!(self, Self::HalfWidths(_))
    }
}

/// Reason that there is no fit.
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
        /// The quantity.
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
    /// The sizes are too close together for a law of them.
    #[error(
        "sizes from {from} to {to} span less than an octave \
         (measure sizes of which the largest is at least twice the smallest)"
    )]
    Narrow {
        /// The smallest size.
        from: f64,
        /// The largest size.
        to: f64,
    },
    /// The delay of a train of messages is too short to see the overhead of one.
    #[error(
        "a delay of {delay} between messages of size {size} is below their gap of {gap} \
         (wait for the time of a round trip)"
    )]
    ShortDelay {
        /// The delay.
        delay: f64,
        /// The size of a message.
        size: f64,
        /// The time between two messages without a delay.
        gap: f64,
    },
    /// There are not as many values as there should be.
    #[error("{found} {what} are too few (measure at least {expected})")]
    TooFew {
        /// The quantity that is too small in number.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number needed.
        expected: usize,
    },
}

/// The weight of a time whose interval has this half width.
fn of_width(half_width: f64, time: f64) -> Result<f64, FitError> {
    let floor = MIN_SIGMA * positive("time", time)?;
    if half_width >= 0.0 && half_width.is_finite() {
        return Ok(1.0 / (half_width / NORMAL_QUANTILE).max(floor).powi(2));
    }
    Err(FitError::NotPositive { what: "half width of an interval", value: half_width })
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
        check(Weights::HalfWidths(&[0.98, 0.0]), Ok(vec![4.0, 1.0 / 0.02f64.powi(2)]));
        check(Weights::HalfWidths(&[]), Err(FitError::Unpaired { n_weights: 0, n_points: 2 }));
        let refused = FitError::NotPositive { what: "half width of an interval", value: -1.0 };
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
