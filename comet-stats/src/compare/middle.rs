//! The mean of launches, few of which may be far off.

use crate::trimmed::Trimmed;
use crate::{mean, place, sorted};

/// The fewest launches of either side of which some are cut.
pub(super) const FEWEST: usize = 8;
/// Share of the launches that is cut at either end.
const SHARE: f64 = 0.2;

/// Mean of the logarithms of some launches, with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Middle {
    pub(super) mean: f64,
    /// Its standard error; 0 where nothing varies.
    pub(super) error: f64,
    /// Degrees of freedom of that.
    pub(super) dof: f64,
}

impl Middle {
    /// The [`middle_mean`] of `launches` and its error (Tukey and McLaughlin, Sankhya A 25, 1963);
    /// `None` below two.
    pub(super) fn of(launches: &[f64], cuts: bool) -> Option<Self> {
        let n_cut = n_cut(launches, cuts);
        let share = n_cut as f64 / launches.len() as f64;
        let Trimmed { mean, standard_error } = Trimmed::without(n_cut, share, launches)?;
        let n_left = launches.len() - 2 * n_cut;
        Some(Self { mean, error: standard_error?, dof: n_left as f64 - 1.0 })
    }
}

/// Mean of the logarithms of `launches`, without a fifth of them at either end if it `cuts`, since a
/// launch beside another program may be a few times slower than the others; `None` without any.
pub(super) fn middle_mean(launches: &[f64], cuts: bool) -> Option<f64> {
    match n_cut(launches, cuts) {
        0 => (!launches.is_empty()).then(|| mean(launches)),
        n_cut => Some(mean(&sorted(launches)[n_cut..launches.len() - n_cut])),
    }
}

/// Number of launches that are cut at either end.
fn n_cut(launches: &[f64], cuts: bool) -> usize {
    if cuts { place(SHARE * launches.len() as f64) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_far_off_are_cut() {
        let seven = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 700.0];
        assert_eq!(middle_mean(&seven, false), Some(103.0));
        assert_eq!(Middle::of(&seven, false).unwrap().dof, 6.0);
        // Left are 2 to 7; Winsorised 2, 2, 3, 4, 5, 6, 7, 7 have s² = 30 / 7.
        let eight = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 800.0];
        let Middle { mean, error, dof } = Middle::of(&eight, true).unwrap();
        assert_eq!((mean, dof, middle_mean(&eight, true)), (4.5, 5.0, Some(4.5)));
        assert!((error - (30.0f64 / 7.0 / 8.0).sqrt() / 0.75).abs() < 1e-12, "{error}");
        assert_eq!(Middle::of(&[1.0], false), None);
        assert_eq!((middle_mean(&[1.0], false), middle_mean(&[], false)), (Some(1.0), None));
    }
}
