//! Weighted linear least squares of a few columns: what all fits have in common.
//!
//! The columns are made orthogonal twice over (Gram-Schmidt), and the solution is corrected once by
//! its own residuals, so that parameters are found to rounding where the points follow the law.

use super::{FitError, Quality};

/// Part of a column that must not follow from the others.
const MIN_INDEPENDENT_SHARE: f64 = 1e-12;

/// A solved problem.
pub(super) struct Solution<const K: usize> {
    /// The factor of each column.
    pub(super) coefficients: [f64; K],
    /// Their covariances; `None` without a point more than there are columns.
    pub(super) covariance: Option<[[f64; K]; K]>,
    /// How well it describes the points.
    pub(super) quality: Quality,
}

/// The coefficients for which `y` is nearest to the sum of the columns, a row for each point.
///
/// # Errors
/// [`FitError`] if a number is not finite, or if the columns depend on each other.
pub(super) fn solve<const K: usize>(
    rows: &[[f64; K]],
    y: &[f64],
    weights: &[f64],
) -> Result<Solution<K>, FitError> {
    for (row, y) in rows.iter().zip(y) {
        if !(row.iter().all(|x| x.is_finite()) && y.is_finite()) {
            return Err(FitError::NotFinite { x: row[K - 1], y: *y });
        }
    }
    let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
    let basis = Basis::of(rows, &roots)
        .ok_or(FitError::Undetermined { n_points: rows.len(), n_parameters: K })?;
    let mut coefficients = basis.project(&weighted(y, &roots));
    let correction = basis.project(&weighted(&residuals(rows, y, &coefficients), &roots));
    coefficients.iter_mut().zip(correction).for_each(|(value, by)| *value += by);
    let residuals = residuals(rows, y, &coefficients);
    let squares = sum_of_squares(&weighted(&residuals, &roots));
    Ok(Solution {
        coefficients,
        covariance: basis.covariance(squares, rows.len()),
        quality: quality(y, weights, &residuals),
    })
}

/// How well a law with these `residuals` describes the values `y`.
pub(super) fn quality(y: &[f64], weights: &[f64], residuals: &[f64]) -> Quality {
    let total: f64 = weights.iter().sum();
    let mean = weights.iter().zip(y).map(|(w, y)| w * y).sum::<f64>() / total;
    let squares = |values: &mut dyn Iterator<Item = f64>| -> f64 {
        weights.iter().zip(values).map(|(w, value)| w * value * value).sum()
    };
    let spread = squares(&mut y.iter().map(|y| y - mean));
    let unexplained = squares(&mut residuals.iter().copied());
    let relative = |(r, y): (&f64, &f64)| if *r == 0.0 { 0.0 } else { (r / y).abs() };
    Quality {
        n_points: y.len(),
        r_squared: (spread > 0.0).then(|| 1.0 - unexplained / spread),
        max_relative_residual: residuals.iter().zip(y).map(relative).fold(0.0, f64::max),
    }
}

/// Orthonormal columns, and how the given ones are made of them.
struct Basis<const K: usize> {
    columns: Vec<Vec<f64>>,
    triangle: [[f64; K]; K],
}

impl<const K: usize> Basis<K> {
    /// The basis of the weighted columns of `rows`, or `None` if they depend on each other.
    fn of(rows: &[[f64; K]], roots: &[f64]) -> Option<Self> {
        let (mut columns, mut triangle) = (Vec::<Vec<f64>>::new(), [[0.0; K]; K]);
        for k in 0..K {
            let mut column: Vec<f64> =
                rows.iter().zip(roots).map(|(row, root)| row[k] * root).collect();
            let length = sum_of_squares(&column).sqrt();
            // Once is not enough where two columns are nearly parallel.
            for _ in 0..2 {
                for (j, other) in columns.iter().enumerate() {
                    let part = dot(other, &column);
                    triangle[j][k] += part;
                    column.iter_mut().zip(other).for_each(|(value, unit)| *value -= part * unit);
                }
            }
            let rest = sum_of_squares(&column).sqrt();
            if rest <= MIN_INDEPENDENT_SHARE * length {
                return None;
            }
            triangle[k][k] = rest;
            columns.push(column.iter().map(|value| value / rest).collect());
        }
        Some(Self { columns, triangle })
    }

    /// The coefficients of the given columns that come nearest to `y`.
    fn project(&self, y: &[f64]) -> [f64; K] {
        let mut along = [0.0; K];
        along.iter_mut().zip(&self.columns).for_each(|(part, column)| *part = dot(column, y));
        self.back_substitute(along)
    }

    /// The solution of `triangle · x = b`.
    fn back_substitute(&self, b: [f64; K]) -> [f64; K] {
        let mut x = b;
        for k in (0..K).rev() {
            let known: f64 = (k + 1..K).map(|j| self.triangle[k][j] * x[j]).sum();
            x[k] = (x[k] - known) / self.triangle[k][k];
        }
        x
    }

    /// The covariances of the coefficients, if the weighted residuals have this sum of squares.
    fn covariance(&self, squares: f64, n_points: usize) -> Option<[[f64; K]; K]> {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^53 points")]
        let variance = squares / n_points.checked_sub(K).filter(|free| *free > 0)? as f64;
        let mut inverse = [[0.0; K]; K];
        for (k, column) in inverse.iter_mut().enumerate() {
            let mut unit = [0.0; K];
            unit[k] = 1.0;
            *column = self.back_substitute(unit);
        }
        // The inverse stands in columns: its product with its transpose sums over them.
        let entry =
            |i: usize, j: usize| inverse.iter().map(|column| column[i] * column[j]).sum::<f64>();
        Some(std::array::from_fn(|i| std::array::from_fn(|j| variance * entry(i, j))))
    }
}

fn residuals<const K: usize>(rows: &[[f64; K]], y: &[f64], coefficients: &[f64; K]) -> Vec<f64> {
    rows.iter().zip(y).map(|(row, y)| y - dot(row, coefficients)).collect()
}

fn weighted(values: &[f64], roots: &[f64]) -> Vec<f64> {
    values.iter().zip(roots).map(|(value, root)| value * root).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sum_of_squares(values: &[f64]) -> f64 {
    dot(values, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covariances_agree_with_the_textbook_formula() {
        // y = x over x = 0, 1, 2 with residuals 1, -2, 1 (times 1/6 after the fit).
        let rows = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]];
        let solution = solve(&rows, &[0.5, 0.0, 2.5], &[1.0; 3]).unwrap();
        let [a, b] = solution.coefficients;
        assert!(a.abs() < 1e-14 && (b - 1.0).abs() < 1e-14, "{a} {b}");
        // s² = 1.5, Sxx = 2, mean 1: Var b = 0.75, Var a = s² (1/3 + 1/2), Cov = -0.75.
        let expected = [[1.25, -0.75], [-0.75, 0.75]];
        let found = solution.covariance.unwrap();
        for (found, expected) in found.as_flattened().iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn columns_that_depend_on_each_other_are_refused() {
        let check = |rows: &[[f64; 2]]| {
            let n_points = rows.len();
            let refused = solve(rows, &vec![1.0; n_points], &vec![1.0; n_points]).err();
            assert_eq!(refused, Some(FitError::Undetermined { n_points, n_parameters: 2 }));
        };
        check(&[]);
        check(&[[1.0, 3.0]]);
        check(&[[1.0, 3.0], [1.0, 3.0]]);
        check(&[[1.0, 0.0], [1.0, 0.0]]);
    }
}
