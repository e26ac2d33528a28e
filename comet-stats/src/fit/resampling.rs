//! Ranges by resampling whole slices, for quantities that are no parameter of a fit.
//!
//! Measurements of one slice stay together, so that a disturbance of the whole slice does not widen
//! a difference (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).

use oorandom::Rand64;

use super::Range;
use crate::{MIN_SLICES, drawn, quantile, sorted};

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
