//! The line over several links, `t = a + b n + c (h - 1)`: what one more hop costs, and whether
//! each hop costs its time for each unit of size too.

use super::least_squares::{Solution, solve};
use super::quality::MIN_BIC_DROP;
use super::{FitError, FitQuality, Range, Weights};
use crate::distinct;

/// Fewest distances that tell a cost for each hop from one for each hop and unit of size.
const MIN_HOP_CLASSES: usize = 3;

/// A fitted law of size and hops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopLine {
    /// Time at size 0 over one link.
    pub t0: f64,
    /// Time for each unit of size.
    pub per_unit: f64,
    /// Time for each link beyond the first.
    pub per_hop: f64,
    /// Standard errors of the three; `None` for three points.
    pub errors: Option<[f64; 3]>,
    /// Quality of the fit.
    pub quality: FitQuality,
}

impl HopLine {
    /// The law for `points`, each a size, a number of hops from 1, and a time.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than two sizes or numbers of hops, or if a number has no
    /// weight.
    pub fn fit(points: &[(f64, f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let rows: Vec<[f64; 3]> = points.iter().map(|(n, h, _)| [1.0, h - 1.0, *n]).collect();
        let pairs: Vec<(f64, f64)> = points.iter().map(|(n, _, t)| (*n, *t)).collect();
        let Solution { coefficients: [t0, per_hop, per_unit], covariance, quality } =
            solve(&rows, &pairs, weights)?;
        let errors = covariance.map(|c| [c[0][0].sqrt(), c[2][2].sqrt(), c[1][1].sqrt()]);
        Ok(Self { t0, per_unit, per_hop, errors, quality })
    }

    /// The range of the time at size 0; `None` if that is not positive, or for three points.
    pub fn t0_range(&self) -> Option<Range> {
        let is_startup = self.t0 > 0.0;
        is_startup.then_some(Range::around_positive(self.t0, self.errors?[0], self.quality.dof)?)
    }

    /// The range of the time for each unit of size; `None` for three points.
    pub fn per_unit_range(&self) -> Option<Range> {
        Range::around(self.per_unit, self.errors?[1], self.quality.dof)
    }

    /// The range of the time for each link beyond the first; `None` for three points.
    pub fn per_hop_range(&self) -> Option<Range> {
        Range::around(self.per_hop, self.errors?[2], self.quality.dof)
    }
}

/// Evidence for store and forward, by which each node on the way takes the whole message before it
/// sends it on: a further term `d n (h - 1)`, absent if messages are only routed through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoreAndForward {
    /// Time for each unit of size on each link beyond the first (`d`).
    pub per_unit_and_hop: f64,
    /// Its range; `None` for four points.
    pub range: Option<Range>,
    /// By how much the Bayesian criterion falls with this term.
    pub bic_drop: f64,
}

impl StoreAndForward {
    /// The test of `points`, each a size, a number of hops from 1, and a time.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than three numbers of hops or two sizes, or if a number has
    /// no weight.
    pub fn test(points: &[(f64, f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let found = distinct(points.iter().map(|(_, h, _)| *h)).len();
        if found < MIN_HOP_CLASSES {
            return Err(FitError::too_few(found, "distances in hops", MIN_HOP_CLASSES));
        }
        let row = |(n, h, _): &(f64, f64, f64)| [1.0, h - 1.0, *n, n * (h - 1.0)];
        let rows: Vec<[f64; 4]> = points.iter().map(row).collect();
        let pairs: Vec<(f64, f64)> = points.iter().map(|(n, _, t)| (*n, *t)).collect();
        let Solution { coefficients: [.., value], covariance, quality } =
            solve(&rows, &pairs, weights)?;
        let range = covariance.and_then(|c| Range::around(value, c[3][3].sqrt(), quality.dof));
        let bic_drop = HopLine::fit(points, weights)?.quality.bic - quality.bic;
        Ok(Self { per_unit_and_hop: value, range, bic_drop })
    }

    /// True if the points are clear evidence for it.
    pub fn is_likely(&self) -> bool {
        self.per_unit_and_hop > 0.0 && self.bic_drop >= MIN_BIC_DROP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a law with 25 us for a hop and this time for each byte of one.
    fn points(per_unit_and_hop: f64, noise: f64) -> Vec<(f64, f64, f64)> {
        let time = |n: f64, h: f64| 156.0 + 0.41 * n + (25.0 + per_unit_and_hop * n) * (h - 1.0);
        let wobble = |i: usize| 1.0 + noise * (i as f64 * 2.4).sin();
        let of_size = |n: f64| [1.0, 2.0, 3.0, 4.0].map(|h| (n, h, time(n, h)));
        let exact = [101.0, 300.0, 1024.0, 4096.0, 20_000.0].into_iter().flat_map(of_size);
        exact.enumerate().map(|(i, (n, h, t))| (n, h, t * wobble(i))).collect()
    }

    #[test]
    fn storing_and_forwarding_is_told_from_routing() {
        let check = |per_unit_and_hop: f64, noise: f64, expected: bool| {
            let points = points(per_unit_and_hop, noise);
            let test = StoreAndForward::test(&points, Weights::Relative).unwrap();
            assert_eq!(test.is_likely(), expected, "{test:?}");
            let error = (test.per_unit_and_hop - per_unit_and_hop).abs();
            assert!(error <= noise * 0.41 + 1e-9, "{test:?}");
            let is_held = test.range.unwrap().contains(per_unit_and_hop);
            assert!(is_held || noise == 0.0, "{test:?}");
        };
        check(0.0, 0.0, false);
        check(0.0, 0.02, false);
        check(0.41, 0.0, true);
        check(0.41, 0.02, true);
    }

    #[test]
    fn the_planted_law_comes_back_within_its_ranges() {
        // iPSC/860 above 100 bytes, in us (thesis section 5.1).
        for (noise, tolerance) in [(0.0, 1e-9), (0.02, 0.5)] {
            let law = HopLine::fit(&points(0.0, noise), Weights::Relative).unwrap();
            let found = [
                (law.t0, law.t0_range(), 156.0),
                (law.per_unit, law.per_unit_range(), 0.41),
                (law.per_hop, law.per_hop_range(), 25.0),
            ];
            for (value, range, planted) in found {
                assert!((value / planted - 1.0f64).abs() < tolerance, "{value} is not {planted}");
                assert!(noise == 0.0 || range.unwrap().contains(planted), "{range:?} {planted}");
            }
        }
    }

    #[test]
    fn two_distances_do_not_tell_storing_from_routing() {
        let near: Vec<_> = points(0.0, 0.0).into_iter().filter(|point| point.1 < 3.0).collect();
        let error = StoreAndForward::test(&near, Weights::Relative).unwrap_err().to_string();
        assert_eq!(error, "2 distances in hops are too few (measure at least 3)");
    }

    #[test]
    fn a_single_distance_says_nothing_about_hops() {
        let points = [(0.0, 1.0, 79.0), (8.0, 1.0, 84.0), (16.0, 1.0, 89.0)];
        let refused = HopLine::fit(&points, Weights::Relative);
        assert_eq!(refused, Err(FitError::undetermined(3, 3)));
    }
}
