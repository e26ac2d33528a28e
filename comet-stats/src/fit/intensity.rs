//! The computational intensity: how many operations on a word pay for moving it to the processor
//! and back (POLY3 of the PARKBENCH report).
//!
//! `r(f) = r_hat / (1 + f_half / f)`, where `f` is the number of operations for each word that is
//! moved, to or from the processor. Its inverse is a straight line in `1/f`, with the intercept
//! `1 / r_hat` and the slope `f_half / r_hat`.

use super::range::Ratio;
use super::{FitError, FitQuality, Line, Range, Weights};

/// From this multiple of `f_half` on, communication does not dominate (PARKBENCH report, POLY3).
const REQUIRED: f64 = 4.0;

/// The law of a processor and its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intensity {
    /// The rate of operations on words that need not be moved, in the unit of the rates.
    pub r_hat: f64,
    /// Its range.
    pub r_hat_range: Option<Range>,
    /// Operations per word at half of that rate; without overlap, operations over words per time.
    pub f_half: f64,
    /// Its range; `None` if `r_hat` may be infinite.
    pub f_half_range: Option<Range>,
    /// Quality of the line through the inverse rates, over `1/f`.
    pub quality: FitQuality,
}

impl Intensity {
    /// The law of `points`, pairs of an intensity and a rate; `weights` are those of the rates.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than four points, if they span less than an octave, if a
    /// number is not positive, or if the rates do not level off.
    pub fn fit(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let inverse = points.iter().map(inverted).collect::<Result<Vec<_>, _>>()?;
        // A rate and its inverse have the same relative error.
        let inverse_widths = |widths: &[f64]| -> Vec<f64> {
            widths.iter().zip(points).map(|(width, (_, rate))| width / rate.powi(2)).collect()
        };
        let line = match weights {
            Weights::HalfWidths(given) if given.len() == points.len() => {
                Line::fit_robust(&inverse, Weights::HalfWidths(&inverse_widths(given)))?
            }
            others => Line::fit_robust(&inverse, others)?,
        };
        Self::of(&line)
    }

    /// Parameters from a line of inverse rates.
    fn of(line: &Line) -> Result<Self, FitError> {
        let intercept = super::positive("time for one operation", line.t0)?;
        let ratio = line.covariance.map(|[[var_a, cov], [_, var_b]]| Ratio {
            values: [line.per_unit, intercept],
            covariance: [[var_b, cov], [cov, var_a]],
        });
        Ok(Self {
            r_hat: 1.0 / intercept,
            r_hat_range: line.pi_0_range(),
            f_half: super::positive(
                "computational intensity at half rate",
                line.per_unit / intercept,
            )?,
            f_half_range: ratio.and_then(|ratio| ratio.range(line.quality.dof)),
            quality: line.quality,
        })
    }

    /// The intensity that a computation must have so that communication does not dominate.
    pub fn required(&self) -> f64 {
        REQUIRED * self.f_half
    }
}

/// The edge, in points, of the smallest sub-domain with this `intensity`: a cube of so many
/// dimensions that computes `operations` for each of its points, and sends and receives a word for
/// each point of its surface.
///
/// Of `m` points along an edge, `m^d` are computed and `2 d m^(d-1)` are sent, and as many
/// received: `f = operations · m / (4 d)`.
///
/// ```
/// use comet_stats::fit::subdomain_edge;
/// assert_eq!(subdomain_edge(100.0, 2, 5.0), 160.0);
/// assert_eq!(subdomain_edge(100.0, 3, 5.0), 240.0);
/// ```
pub fn subdomain_edge(intensity: f64, n_dimensions: u32, operations: f64) -> f64 {
    4.0 * f64::from(n_dimensions) * intensity / operations
}

/// The point of the line.
fn inverted((f, rate): &(f64, f64)) -> Result<(f64, f64), FitError> {
    Ok((
        1.0 / super::positive("computational intensity", *f)?,
        1.0 / super::positive("rate", *rate)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polynomials of order 1 to 10: 60 million operations and 0.35 million words a second.
    fn poly3(noise: f64) -> Vec<(f64, f64)> {
        let rate = |f: f64| 60.0 / (1.0 + 60.0 / 0.35 / f);
        (1..=10).map(f64::from).map(|f| (f, rate(f) * (1.0 + noise * (f * 2.4).sin()))).collect()
    }

    #[test]
    fn rate_and_half_intensity_come_back() {
        let points = poly3(0.0);
        let half_widths: Vec<f64> = points.iter().map(|(_, rate)| 0.01 * rate).collect();
        for weights in [Weights::Relative, Weights::HalfWidths(&half_widths)] {
            let law = Intensity::fit(&points, weights).unwrap();
            assert!((law.r_hat / 60.0 - 1.0).abs() < 1e-9, "{law:?}");
            assert!((law.f_half * 0.35 / 60.0 - 1.0).abs() < 1e-9, "{law:?}");
            assert!((law.required() / law.f_half - 4.0).abs() < 1e-12);
        }
    }

    #[test]
    fn ranges_hold_the_planted_law() {
        let law = Intensity::fit(&poly3(0.001), Weights::Relative).unwrap();
        let (r_hat, f_half) = (law.r_hat_range.unwrap(), law.f_half_range.unwrap());
        assert!(r_hat.contains(60.0) && f_half.contains(60.0 / 0.35), "{law:?}");
        assert!(f_half.contains(law.f_half), "{law:?}");
    }

    #[test]
    fn rates_that_make_no_law_are_refused() {
        let check = |points: &[(f64, f64)], expected: &str| {
            let error = Intensity::fit(points, Weights::Relative).unwrap_err().to_string();
            assert_eq!(error.split(" (").next(), Some(expected));
        };
        check(&[(1.0, 0.0); 4], "a rate of 0 is no positive number");
        check(&[(0.0, 1.0); 4], "a computational intensity of 0 is no positive number");
        check(&poly3(0.0)[..3], "3 points are too few");
    }
}
