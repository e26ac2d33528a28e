//! The parabola `y = c0 + c1 x + c2 x²`: operations that move blocks of a matrix.

use super::least_squares::solve;
use super::{FitError, Quality, Weights};

/// A fitted parabola.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parabola {
    /// `c0`, `c1` and `c2`.
    pub coefficients: [f64; 3],
    /// Their standard errors; `None` for three points.
    pub errors: Option<[f64; 3]>,
    /// Quality of the fit.
    pub quality: Quality,
}

impl Parabola {
    /// The parabola for `points`, pairs of a size and a time.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than three different sizes, or if a number has no weight.
    pub fn fit(points: &[(f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let rows: Vec<[f64; 3]> = points.iter().map(|(x, _)| [1.0, *x, x * x]).collect();
        let solution = solve(&rows, points, weights)?;
        let errors = solution.covariance.map(|c| std::array::from_fn(|k| c[k][k].sqrt()));
        let (coefficients, quality) = (solution.coefficients, solution.quality);
        Ok(Self { coefficients, errors, quality })
    }

    /// The value at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        let [c0, c1, c2] = self.coefficients;
        c0 + x * (c1 + x * c2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Line;

    fn points(planted: [f64; 3]) -> Vec<(f64, f64)> {
        let law = |x: f64| (x, planted[0] + x * (planted[1] + x * planted[2]));
        [16.0, 32.0, 64.0, 128.0, 256.0].map(law).to_vec()
    }

    #[test]
    fn fit_recovers_planted_coefficients() {
        let check = |planted: [f64; 3], weights| {
            let parabola = Parabola::fit(&points(planted), weights).unwrap();
            for (found, planted) in parabola.coefficients.iter().zip(planted) {
                assert!((found / planted - 1.0).abs() < 1e-9, "{found} is not {planted}");
            }
            assert!(
                (parabola.at(100.0) - planted[0] - 100.0 * planted[1] - 1e4 * planted[2]).abs()
                    < 1e-6
            );
        };
        check([312.0, 1.5, 0.23], Weights::Relative);
        check([312.0, 1.5, 0.28], Weights::Equal);
    }

    #[test]
    fn a_parabola_explains_more_of_a_parabola_than_a_line() {
        let points = points([312.0, 0.0, 0.23]);
        let curved = Parabola::fit(&points, Weights::Equal).unwrap().quality.r_squared.unwrap();
        let straight = Line::fit(&points, Weights::Equal).unwrap().quality.r_squared.unwrap();
        assert!(curved > 1.0 - 1e-12 && straight < 0.99, "{curved} {straight}");
    }

    #[test]
    fn two_sizes_make_no_parabola() {
        let refused = Parabola::fit(&[(0.0, 1.0), (1.0, 2.0), (1.0, 2.0)], Weights::Relative);
        assert_eq!(refused, Err(FitError::Undetermined { n_points: 3, n_parameters: 3 }));
    }
}
