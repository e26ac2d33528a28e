//! Two sets of launches held against each other: the mathematics of a comparison.
//!
//! ```text
//!   Launches       what each launch says of one point, on both sides
//!   middle_mean    what the launches of one side say together
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
pub use middle::middle_mean;

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
        let differences = self.differences();
        if differences.is_empty() {
            Difference::welch(&self.base, &self.new)
        } else {
            Difference::paired(&differences)
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

    /// [`middle_mean`] of the new launches less that of the base; `None` if one side has no launch.
    pub fn log_ratio(&self) -> Option<f64> {
        Some(middle_mean(&self.new)? - middle_mean(&self.base)?)
    }

    /// New less base of each pair; nothing if the launches are no pairs.
    fn differences(&self) -> Vec<f64> {
        if !self.is_paired || self.base.len() != self.new.len() {
            return Vec::new();
        }
        self.base.iter().zip(&self.new).map(|(base, new)| new - base).collect()
    }
}

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
