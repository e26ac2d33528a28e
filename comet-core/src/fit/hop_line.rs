//! The line over several links, `t = a + b n + c (h - 1)`: what one more hop costs.

use super::least_squares::{Solution, solve};
use super::{FitError, Quality, Weights};

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
    /// How well it describes the points.
    pub quality: Quality,
}

impl HopLine {
    /// The law for `points`, each a size, a number of hops from 1, and a time.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than two sizes or numbers of hops, or if a number has no
    /// weight.
    pub fn fit(points: &[(f64, f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let rows: Vec<[f64; 3]> = points.iter().map(|(n, h, _)| [1.0, h - 1.0, *n]).collect();
        let times: Vec<f64> = points.iter().map(|(_, _, t)| *t).collect();
        let pairs: Vec<(f64, f64)> = points.iter().map(|(n, _, t)| (*n, *t)).collect();
        let Solution { coefficients: [t0, per_hop, per_unit], covariance, quality } =
            solve(&rows, &times, &weights.of(&pairs)?)?;
        let errors = covariance.map(|c| [c[0][0].sqrt(), c[2][2].sqrt(), c[1][1].sqrt()]);
        Ok(Self { t0, per_unit, per_hop, errors, quality })
    }

    /// The time for size `n` over `hops` links.
    #[must_use]
    pub fn at(&self, n: f64, hops: f64) -> f64 {
        self.t0 + self.per_unit * n + self.per_hop * (hops - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_recovers_what_a_hop_costs() {
        // iPSC/860 above 100 bytes, in us (thesis section 5.1).
        let sizes = [101.0, 1024.0, 4096.0, 85_000.0];
        let of_size =
            |n: f64| [1.0, 2.0, 3.0, 4.0].map(|h| (n, h, 156.0 + 0.41 * n + 25.0 * (h - 1.0)));
        let points: Vec<_> = sizes.into_iter().flat_map(of_size).collect();
        let law = HopLine::fit(&points, Weights::Relative).unwrap();
        for (found, planted) in [(law.t0, 156.0), (law.per_unit, 0.41), (law.per_hop, 25.0)] {
            assert!((found / planted - 1.0f64).abs() < 1e-9, "{found} is not {planted}");
        }
        assert!((law.at(1024.0, 4.0) - 650.84).abs() < 1e-9);
        assert!(law.errors.unwrap().iter().all(|error| *error < 1e-6));
    }

    #[test]
    fn a_single_distance_says_nothing_about_hops() {
        let points = [(0.0, 1.0, 79.0), (8.0, 1.0, 84.0), (16.0, 1.0, 89.0)];
        let refused = HopLine::fit(&points, Weights::Relative);
        assert_eq!(refused, Err(FitError::Undetermined { n_points: 3, n_parameters: 3 }));
    }
}
