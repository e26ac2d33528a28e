//! The range of a parameter: what else it may be, at 95 %; and, for quantities that are no parameter
//! of a fit, by resampling whole slices.
//!
//! Measurements of one slice stay together, so that a disturbance of the whole slice does not widen
//! a difference (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).

use oorandom::Rand64;

use crate::{Interval, MIN_SLICES, drawn, quantile, sorted};

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

/// Number of times that slices are resampled.
const N_RESAMPLES: usize = 1000;

/// The generator of this module starts here, so that equal slices have equal ranges.
const SEED: u128 = 0x5EED;

/// A value and the range of its true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its range; `None` below five slices, or if some draws of slices give no value.
    pub range: Option<Range>,
}

impl Estimate {
    /// Estimate of `statistic` from `slices`, and from slices drawn from them with replacement.
    pub(super) fn of<S: Copy>(slices: &[S], statistic: impl Fn(&[S]) -> f64) -> Self {
        let mut random = Rand64::new(SEED);
        let mut one = |_| slices[drawn(slices.len(), &mut random)];
        let mut again = |_| statistic(&(0..slices.len()).map(&mut one).collect::<Vec<S>>());
        let range = (slices.len() >= MIN_SLICES)
            .then(|| middle(&(0..N_RESAMPLES).map(&mut again).collect::<Vec<_>>()))
            .filter(|range| range.low.is_finite() && range.high.is_finite());
        Self { value: statistic(slices), range }
    }

    /// The median of `values`, one of a fit of each launch, and its range from launch to launch, as
    /// that of a point has it; `None` below two launches, or below five where a value may be negative.
    ///
    /// # Panics
    /// Without a value.
    pub fn of_launches(values: &[f64]) -> Self {
        let interval = Interval::of_launches(values).or_else(|| Interval::of_medians(values));
        let range = interval.map(|interval| Range { low: interval.low, high: interval.high });
        Self { value: median(values), range }
    }

    /// The median of `values`, one for each slice.
    pub(super) fn of_median(values: &[f64]) -> Self {
        Self::of(values, median)
    }
}

/// The range in which 95 % of `values` are.
pub(super) fn middle(values: &[f64]) -> Range {
    let sorted = sorted(values);
    Range { low: quantile(&sorted, 0.025), high: quantile(&sorted, 0.975) }
}

/// The median of values, of which there must be one.
pub(super) fn median(values: &[f64]) -> f64 {
    crate::median(values).expect("fits are of values that there are")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;

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

    #[test]
    fn a_range_holds_the_median_of_its_slices_and_nearly_all_medians_of_others() {
        let mut random = Rand64::new(7);
        let mut slices = || -> Vec<f64> { (0..20).map(|_| normal(&mut random)).collect() };
        let holding = (0..200).filter(|_| {
            let found = Estimate::of_median(&slices());
            let range = found.range.expect("there are slices enough");
            assert!(range.contains(found.value));
            range.contains(0.0)
        });
        let n_holding = holding.count();
        assert!((180..=200).contains(&n_holding), "{n_holding} of 200");
    }

    #[test]
    fn equal_slices_have_a_range_without_width_and_few_have_none() {
        let check = |n_slices, expected| {
            let found = Estimate::of_median(&vec![3.0; n_slices]);
            assert_eq!(found, Estimate { value: 3.0, range: expected });
        };
        check(5, Some(Range { low: 3.0, high: 3.0 }));
        check(4, None);
    }

    #[test]
    fn what_is_drawn_is_the_same_at_each_run() {
        let slices = [1.0, 2.0, 5.0, 7.0, 11.0];
        assert_eq!(Estimate::of_median(&slices), Estimate::of_median(&slices));
    }
}
