//! Weighted linear least squares of a few columns: what all fits have in common.
//!
//! The columns are made orthogonal twice over (Gram-Schmidt), and the solution is corrected once by
//! its own residuals, so that parameters are found to rounding where the points follow the law.

use super::{FitError, FitQuality, Weights};

/// Part of a column that must not follow from the others.
const MIN_INDEPENDENT_SHARE: f64 = 1e-12;

/// Least part of its own residual that a point keeps; a law that follows it wholly leaves none.
const MIN_FREEDOM: f64 = 1e-6;

/// A solved problem.
pub(super) struct Solution<const K: usize> {
    /// The factor of each column.
    pub(super) coefficients: [f64; K],
    /// Their covariances; `None` without a point more than there are columns.
    pub(super) covariance: Option<[[f64; K]; K]>,
    /// Quality of the fit.
    pub(super) quality: FitQuality,
}

/// The law of `points`, pairs of a size and a time, that is nearest to them as a sum of columns,
/// with a row for each point.
///
/// # Errors
/// [`FitError`] if a number is not finite or has no weight, or if the columns depend on each other.
pub(super) fn solve<const K: usize>(
    rows: &[[f64; K]],
    points: &[(f64, f64)],
    weights: Weights<'_>,
) -> Result<Solution<K>, FitError> {
    let known = weights.of(points)?;
    let Nearest { coefficients, spread, residuals } = nearest(rows, points, &known)?;
    let mut quality = FitQuality::of(points, &known, &residuals, K);
    let squares: f64 = known.iter().zip(&residuals).map(|(w, r)| w * r * r).sum();
    let variance = (quality.dof > 0).then(|| squares / quality.dof as f64);
    quality.chi2_red = weights.chi2_red(&residuals, quality.dof);
    let covariance = variance.map(|variance| match weights {
        Weights::HalfWidths(_) => sandwich(rows, &known, &residuals, spread),
        _ => scaled(spread, variance),
    });
    Ok(Solution { coefficients, covariance, quality })
}

/// The covariances where each point has its own variance, which its weight need not tell: weights
/// from measured intervals are as uncertain as those.
///
/// It is the estimator HC3 (MacKinnon and White, Journal of Econometrics 29, 1985), whose residuals
/// are those from the fit without their point. Where the scatter is beyond the standard errors, it
/// grows with the scatter.
pub(super) fn sandwich<const K: usize>(
    rows: &[[f64; K]],
    weights: &[f64],
    residuals: &[f64],
    spread: [[f64; K]; K],
) -> [[f64; K]; K] {
    let mut covariance = [[0.0; K]; K];
    for ((row, weight), residual) in rows.iter().zip(weights).zip(residuals) {
        // By how much the parameters follow this point, and by how much its residual shrinks.
        let pull: [f64; K] = std::array::from_fn(|k| weight * dot(&spread[k], row));
        let part = residual / (1.0 - dot(&pull, row)).max(MIN_FREEDOM);
        for (line, a) in covariance.iter_mut().zip(pull) {
            line.iter_mut().zip(pull).for_each(|(entry, b)| *entry += a * b * part * part);
        }
    }
    covariance
}

/// The nearest sum of columns.
pub(super) struct Nearest<const K: usize> {
    /// The factor of each column.
    pub(super) coefficients: [f64; K],
    /// Their covariances if a point of weight 1 has the variance 1.
    pub(super) spread: [[f64; K]; K],
    /// Residual of each time.
    pub(super) residuals: Vec<f64>,
}

/// The same for given weights, without what follows from the residuals.
///
/// # Errors
/// [`FitError`] if a number is not finite, or if the columns depend on each other.
pub(super) fn nearest<const K: usize>(
    rows: &[[f64; K]],
    points: &[(f64, f64)],
    weights: &[f64],
) -> Result<Nearest<K>, FitError> {
    for (row, (x, y)) in rows.iter().zip(points) {
        if !(row.iter().all(|value| value.is_finite()) && y.is_finite()) {
            return Err(FitError(format!("the point ({x}, {y}) is not finite (leave it out)")));
        }
    }
    let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
    let basis = Basis::of(rows, &roots).ok_or_else(|| FitError::undetermined(rows.len(), K))?;
    let times: Vec<f64> = points.iter().map(|(_, t)| *t).collect();
    let mut coefficients = basis.project(&weighted(&times, &roots));
    let correction = basis.project(&weighted(&residuals(rows, &times, &coefficients), &roots));
    coefficients.iter_mut().zip(correction).for_each(|(value, by)| *value += by);
    let residuals = residuals(rows, &times, &coefficients);
    Ok(Nearest { coefficients, spread: basis.spread(), residuals })
}

/// A matrix of covariances times `variance`.
pub(super) fn scaled<const K: usize>(spread: [[f64; K]; K], variance: f64) -> [[f64; K]; K] {
    spread.map(|row| row.map(|value| variance * value))
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

    /// The covariances of the coefficients if a point of weight 1 has the variance 1.
    fn spread(&self) -> [[f64; K]; K] {
        let mut inverse = [[0.0; K]; K];
        for (k, column) in inverse.iter_mut().enumerate() {
            let mut unit = [0.0; K];
            unit[k] = 1.0;
            *column = self.back_substitute(unit);
        }
        // The inverse stands in columns: its product with its transpose sums over them.
        let entry =
            |i: usize, j: usize| inverse.iter().map(|column| column[i] * column[j]).sum::<f64>();
        std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
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
        let points = [(0.0, 0.5), (1.0, 0.0), (2.0, 2.5)];
        let solution = solve(&rows, &points, Weights::Equal).unwrap();
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
    fn without_knowledge_of_the_variances_each_residual_counts_where_it_is() {
        // The leverages are 5/6, 1/3, 5/6, so that 0.5, -1, 0.5 are 3, -1.5, 3 without their point.
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 4.0)];
        let rows = points.map(|(x, _)| [1.0, x]);
        let solution = solve(&rows, &points, Weights::HalfWidths(&[1.0; 3])).unwrap();
        let expected = [[6.75, -4.5], [-4.5, 4.5]];
        let found = solution.covariance.unwrap();
        for (found, expected) in found.as_flattened().iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn columns_that_depend_on_each_other_are_refused() {
        let check = |rows: &[[f64; 2]]| {
            let n_points = rows.len();
            let refused = solve(rows, &vec![(1.0, 1.0); n_points], Weights::Equal).err();
            assert_eq!(refused, Some(FitError::undetermined(n_points, 2)));
        };
        check(&[]);
        check(&[[1.0, 3.0]]);
        check(&[[1.0, 3.0], [1.0, 3.0]]);
        check(&[[1.0, 0.0], [1.0, 0.0]]);
    }
}
