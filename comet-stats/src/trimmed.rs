//! The trimmed mean: SKaMPI's estimate, with the standard error that belongs to it.
//!
//! SKaMPI 5 reports the mean of the middle half. The standard error of the values that are left is
//! half of what it should be, since cutting narrows them: an interval from it holds the truth in
//! 71 % of cases instead of 95 % (32 normal values, simulated). Tukey and McLaughlin's (Sankhya A
//! 25, 1963), from the Winsorised values, gives 94 %.

use crate::{mean, place, sorted, variance};

/// Mean of the middle of some values, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trimmed {
    /// Mean of what is left.
    pub mean: f64,
    /// Its standard error; `None` for a single value.
    pub standard_error: Option<f64>,
}

impl Trimmed {
    /// The mean of `values` without a `share` of them at either end, rounded down to whole values;
    /// `None` if there are none. SKaMPI 5 reports the middle half, a share of 0.25.
    ///
    /// # Panics
    /// If `share` is not at least 0 and below 0.5: nothing would be left.
    pub fn of(values: &[f64], share: f64) -> Option<Self> {
        assert!(
            (0.0..0.5).contains(&share),
            "a share of {share} at either end leaves nothing (trim at least 0 and less than 0.5)"
        );
        Self::without(place(share * values.len() as f64), share, values)
    }

    /// The mean of `values` without `n_cut` of them, a `share`, at either end.
    pub(crate) fn without(n_cut: usize, share: f64, values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let left = &sorted[n_cut..sorted.len() - n_cut];
        let (least, largest) = (*left.first()?, *left.last()?);
        let winsorised: Vec<f64> = sorted.iter().map(|value| value.clamp(least, largest)).collect();
        let denominator = (1.0 - 2.0 * share) * (values.len() as f64).sqrt();
        let standard_error = (values.len() > 1).then(|| variance(&winsorised).sqrt() / denominator);
        Some(Self { mean: mean(left), standard_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SK-44: the fastest and the slowest quarter are cut; SK-42: the error of the mean of the rest.
    #[test]
    fn trimmed_means_agree_with_a_hand_computation() {
        let check = |values: &[f64], share: f64, mean: f64, error: f64| {
            let found = Trimmed::of(values, share).unwrap();
            assert!((found.mean - mean).abs() < 1e-12, "{found:?}");
            assert!((found.standard_error.unwrap() - error).abs() < 1e-12, "{found:?}");
        };
        // Left are 2 and 3; Winsorised 2, 2, 3, 3 have s² = 1/3.
        check(&[3.0, 100.0, 1.0, 2.0], 0.25, 2.5, (1.0f64 / 3.0).sqrt());
        // Nothing is cut: the plain mean and its standard error.
        check(&[1.0, 2.0, 3.0, 4.0], 0.0, 2.5, (5.0f64 / 3.0).sqrt() / 2.0);
    }

    #[test]
    fn one_value_is_its_mean_and_has_no_error() {
        let one = Some(Trimmed { mean: 3.0, standard_error: None });
        assert_eq!(Trimmed::of(&[3.0], 0.25), one);
        assert_eq!(Trimmed::of(&[], 0.25), None);
    }

    #[test]
    #[should_panic(expected = "a share of 0.5 at either end leaves nothing")]
    fn a_half_at_either_end_cannot_be_cut() {
        let _ = Trimmed::of(&[1.0, 2.0], 0.5);
    }
}
