//! The range of a parameter: what else it may be, at 95 %.

/// Beyond this relative standard error of a divisor, a ratio is no longer nearly normal.
const MAX_LINEAR_ERROR: f64 = 0.1;

/// The range that holds the true value of a parameter in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Range {
    /// Range of `value` with the standard error `error`; `None` without a degree of freedom.
    pub(super) fn around(value: f64, error: f64, dof: usize) -> Option<Self> {
        let half = student_quantile(dof)? * error;
        Some(Self { low: value - half, high: value + half })
    }

    /// Likewise for a quantity that is positive: equal factors to both sides.
    pub(super) fn around_positive(value: f64, error: f64, dof: usize) -> Option<Self> {
        let factor = (student_quantile(dof)? * error / value).exp();
        Some(Self { low: value / factor, high: value * factor })
    }

    /// The range of `1 / value`, where that is positive.
    pub(super) fn inverted(self) -> Self {
        let high = if self.low > 0.0 { 1.0 / self.low } else { f64::INFINITY };
        Self { low: 1.0 / self.high, high }
    }

    /// True if `value` is in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// A ratio of two values with a common covariance, both positive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    /// Numerator and denominator.
    pub(super) values: [f64; 2],
    /// Their covariances.
    pub(super) covariance: [[f64; 2]; 2],
}

impl Ratio {
    /// Its standard error to first order.
    pub(super) fn error(&self) -> f64 {
        let ([a, b], [[var_a, cov], [_, var_b]]) = (self.values, self.covariance);
        let q = a / b;
        // Rounding may leave less than nothing where the points follow the law exactly.
        (var_a - 2.0 * q * cov + q * q * var_b).max(0.0).sqrt() / b
    }

    /// Its range: to first order, or by Fieller's theorem if the divisor is uncertain (Journal of
    /// the Royal Statistical Society B 16, 1954); `None` if the divisor may be 0.
    pub(super) fn range(&self, dof: usize) -> Option<Range> {
        let ([a, b], [[_, _], [_, var_b]]) = (self.values, self.covariance);
        if var_b.sqrt() <= MAX_LINEAR_ERROR * b {
            return Range::around_positive(a / b, self.error(), dof);
        }
        self.fieller(student_quantile(dof)?)
    }

    /// All ratios `q` for which `a - q b` is 0 within `quantile` standard errors.
    fn fieller(&self, quantile: f64) -> Option<Range> {
        let ([a, b], [[var_a, cov], [_, var_b]]) = (self.values, self.covariance);
        let z2 = quantile * quantile;
        let (square, middle, rest) = (b * b - z2 * var_b, a * b - z2 * cov, a * a - z2 * var_a);
        let root = (middle * middle - square * rest).max(0.0).sqrt();
        let range = Range { low: (middle - root) / square, high: (middle + root) / square };
        (square > 0.0).then_some(range)
    }
}

/// The 97.5 % quantile of Student's t; `None` without a degree of freedom.
fn student_quantile(dof: usize) -> Option<f64> {
    (dof > 0).then(|| crate::student_quantile(0.975, dof as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Option<Range>, low: f64, high: f64) {
        let found = found.expect("there is a range");
        let is_near = |a: f64, b: f64| (a - b).abs() < 5e-4 * b.abs();
        assert!(is_near(found.low, low) && is_near(found.high, high), "{found:?}");
    }

    #[test]
    fn ranges_are_those_of_students_t() {
        check(Range::around(10.0, 1.0, 1), 10.0 - 12.706, 10.0 + 12.706);
        check(Range::around(10.0, 1.0, 10), 10.0 - 2.228, 10.0 + 2.228);
        assert_eq!(Range::around(10.0, 1.0, 0), None);
    }

    #[test]
    fn a_positive_quantity_has_no_range_below_zero() {
        let factor = 2.228f64.exp();
        check(Range::around_positive(10.0, 10.0, 10), 10.0 / factor, 10.0 * factor);
    }

    #[test]
    fn an_uncertain_divisor_makes_an_uneven_range() {
        let ratio = |var_b| Ratio { values: [10.0, 2.0], covariance: [[0.0, 0.0], [0.0, var_b]] };
        check(ratio(1e-4).range(10), 5.0 * (-0.01114f64).exp(), 5.0 * 0.01114f64.exp());
        // With an exact dividend the range is that of the divisor, turned over.
        check(ratio(0.25).range(10), 10.0 / (2.0 + 1.114), 10.0 / (2.0 - 1.114));
        assert_eq!(ratio(1.0).range(10), None);
    }
}
