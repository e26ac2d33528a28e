//! Two sets of launches held against each other: the mathematics of a comparison.
//!
//! ```text
//!   Launches       what each launch says of one point, on both sides, and all of a side together
//!   Difference     how the sides differ: ratio, interval, p
//!   margin         how small a change is of no interest
//!   Verdict        what difference and margin say together
//!   adjusted       p of many points at once
//!   Combined       one number for many points of the same launches
//! ```
//!
//! The unit of evidence is the launch: what changes from launch to launch (where memory lies, which
//! cores ranks get, what else the machine does) is in no interval of a single one. A launch gives
//! one value for each point, and values are compared by their logarithms, because times vary by
//! factors.

mod combined;
mod difference;
mod middle;
#[cfg(test)]
mod truth;

pub use combined::Combined;
pub use difference::{Difference, MARGIN, Method, Scale, Verdict, margin};
use middle::{FEWEST, middle_mean};

use crate::variance;

/// Values of one point by launch: natural logarithms, in the order of the launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    /// Values of the base.
    pub base: Vec<f64>,
    /// Values to be judged.
    pub new: Vec<f64>,
    /// True if launches of the same index ran one after the other: slow drift affects both alike.
    pub is_paired: bool,
}

impl Launches {
    /// Difference of the sides, by pairs if it can be; `None` below two launches a side.
    pub fn difference(&self) -> Option<Difference> {
        match self.differences() {
            Some(differences) => Difference::paired(&differences, self.cuts()),
            None => Difference::welch(&self.base, &self.new, self.cuts()),
        }
    }

    /// Standard deviation of launches, pooled over both sides; `None` below two launches a side.
    pub fn deviation(&self) -> Option<f64> {
        if self.base.len().min(self.new.len()) < 2 {
            return None;
        }
        let weight = |side: &[f64]| side.len() as f64 - 1.0;
        let (base, new) = (weight(&self.base), weight(&self.new));
        let squares = base * variance(&self.base) + new * variance(&self.new);
        Some((squares / (base + new)).sqrt())
    }

    /// Mean of each side, from eight launches of both on without a fifth of them at either end; that
    /// of the new launches is the base with the [`log_ratio`](Self::log_ratio). `None` if one side
    /// has no launch.
    pub fn means(&self) -> Option<[f64; 2]> {
        let base = middle_mean(&self.base, self.cuts())?;
        Some([base, base + self.log_ratio()?])
    }

    /// Such a mean of the differences of pairs, or the difference of the means of both sides; `None`
    /// if one side has no launch.
    pub fn log_ratio(&self) -> Option<f64> {
        self.log_ratio_if(self.cuts())
    }

    fn log_ratio_if(&self, cuts: bool) -> Option<f64> {
        match self.differences() {
            Some(differences) => middle_mean(&differences, cuts),
            None => Some(middle_mean(&self.new, cuts)? - middle_mean(&self.base, cuts)?),
        }
    }

    /// True if both sides have so many launches that some of each are cut: a mean of all is not held
    /// against one without those far off.
    fn cuts(&self) -> bool {
        self.base.len().min(self.new.len()) >= FEWEST
    }

    /// New less base of each pair; `None` if the launches are no pairs.
    fn differences(&self) -> Option<Vec<f64>> {
        let are_pairs = self.is_paired && self.base.len() == self.new.len();
        are_pairs.then(|| self.base.iter().zip(&self.new).map(|(base, new)| new - base).collect())
    }
}

/// Share of chance among what is called a change.
pub const FALSE_SHARE: f64 = 0.05;

/// The p values adjusted so that of the points below 5 % no more than 5 % are there by chance, on
/// average (Benjamini and Hochberg, Journal of the Royal Statistical Society B 57, 1995).
///
/// The k-th least of n is multiplied by n / k, and none is above a later one.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut descending: Vec<usize> = (0..p.len()).collect();
    descending.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let (mut adjusted, mut least) = (vec![1.0; p.len()], 1.0f64);
    for (n_above, index) in descending.into_iter().enumerate() {
        let place = p.len() - n_above;
        least = least.min(p[index] * p.len() as f64 / place as f64);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_cut_or_none_and_times_have_the_ratio() {
        // One launch of each side is twice as slow: it counts, or it does not, on both.
        let check = |n_base: usize, n_new: usize, is_paired, expected: [f64; 2]| {
            let side = |n: usize, rest: f64| [vec![rest; n - 1], vec![rest + 0.7]].concat();
            let launches = Launches { base: side(n_base, 0.0), new: side(n_new, 0.1), is_paired };
            let found = launches.means().unwrap();
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            assert!(found.iter().zip(&expected).all(is_near), "{found:?} is not {expected:?}");
            let log_ratio = launches.difference().unwrap().log_ratio;
            assert!((found[1] - found[0] - log_ratio).abs() < 1e-12, "{log_ratio}");
        };
        check(7, 8, false, [0.1, 0.1 + 0.7 / 8.0]);
        check(8, 8, false, [0.0, 0.1]);
        check(10, 8, false, [0.0, 0.1]);
        check(7, 7, true, [0.1, 0.2]);
        // Of pairs the differences are cut.
        let base: Vec<f64> = (0..8).map(|i| f64::from(i) / 10.0).collect();
        let mut new = base.clone();
        new[1] += 0.4;
        let [of_base, of_new] = Launches { base, new, is_paired: true }.means().unwrap();
        assert!((of_new - of_base).abs() < 1e-12, "{of_base} {of_new}");
    }

    #[test]
    fn adjusted_values_agree_with_a_hand_computation() {
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005, 0.9]);
        let expected = [0.025, 0.05, 0.05, 0.025, 0.9];
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(found.iter().zip(&expected).all(is_near), "{found:?}");
    }

    #[test]
    fn one_point_alone_keeps_its_p_and_none_have_none() {
        assert_eq!(adjusted(&[0.04]), [0.04]);
        assert_eq!(adjusted(&[]), []);
    }
}
