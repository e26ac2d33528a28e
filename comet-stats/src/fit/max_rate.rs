//! The line for several pairs at once, `t = a + k n / min(R_N, k R_C)`: what each pair can move,
//! and what the node can.
//!
//! Three parameters, as in Gropp, Olson and Samfass (EuroMPI 2016). Up to some number of pairs,
//! `k R_C` is the lesser, and the time does not depend on their number; beyond, they share `R_N`.
//! The time is that of one pair: the slowest of many pairs takes longer by noise alone, the more of
//! them there are, and its time would show a shared rate on any machine.

use statrs::distribution::ContinuousCDF;

use super::least_squares::{Solution, solve};
use super::quality::MIN_BIC_DROP;
use super::{FitError, FitQuality, Line, Range, Weights, positive};
use crate::{distinct, student};

/// Fewest numbers of pairs: one without sharing, and one with it.
const MIN_NUMBERS: usize = 2;
/// The largest probability that scatter alone looks like a shared rate.
const MAX_CHANCE: f64 = 0.001;

/// The fitted law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxRate {
    /// Time at size 0 (`a`), for any number of pairs.
    pub t0: f64,
    /// Its range; `None` if it is not positive.
    pub t0_range: Option<Range>,
    /// The rate of one pair alone (`R_C`), in units of size over units of time.
    pub per_pair: f64,
    /// Its range.
    pub per_pair_range: Option<Range>,
    /// The rate of all pairs of a node together (`R_N`).
    pub per_node: f64,
    /// Its range.
    pub per_node_range: Option<Range>,
    /// The least measured number of pairs that share it.
    pub shared_from: f64,
    /// Quality of the fit.
    pub quality: FitQuality,
    /// By how much the Bayesian criterion falls from the line `a + n / R_C` for all numbers, with the
    /// intervals of the points or their scatter, whichever is wider.
    pub bic_drop: f64,
    /// Probability of such a fall by scatter alone, over all numbers from which a rate may be shared.
    pub chance: f64,
}

impl MaxRate {
    /// The law of `points`, each a number of pairs, a size of the message of each, and a time.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than two numbers of pairs or two sizes, if a number has no
    /// weight, or if the times do not grow with the size.
    pub fn fit(points: &[(f64, f64, f64)], weights: Weights<'_>) -> Result<Self, FitError> {
        let pairs: Vec<(f64, f64)> = points.iter().map(|(_, n, t)| (*n, *t)).collect();
        let numbers = distinct(points.iter().map(|(k, ..)| *k));
        // With one number of pairs at least, each pair has its own rate.
        let laws = numbers.iter().skip(1).map(|k| Self::shared_from(*k, points, &pairs, weights));
        let laws = laws.collect::<Result<Vec<_>, _>>()?;
        let best = laws.into_iter().min_by(|a, b| a.quality.bic.total_cmp(&b.quality.bic));
        let too_few = || FitError::too_few(numbers.len(), "numbers of pairs", MIN_NUMBERS);
        let best = best.ok_or_else(too_few)?;
        let line = Line::fit(&pairs, weights)?;
        let squares = [
            weights.squares(&pairs, points.iter().map(|(_, n, _)| line.at(*n)))?,
            weights.squares(&pairs, points.iter().map(|(k, n, _)| best.at(*k, *n)))?,
        ];
        let dof = best.quality.dof.max(1) as f64;
        // A drop in squares counts against the scatter that is left, and against the intervals.
        let drop = (squares[0] - squares[1]).max(0.0) / (squares[1] / dof).max(weights.floor());
        let n_laws = (numbers.len() - 1) as f64;
        let chance = (n_laws * student(dof).sf(drop.sqrt())).min(1.0);
        Ok(Self { bic_drop: drop - (points.len() as f64).ln(), chance, ..best })
    }

    /// The time for `n` units of size of each of `k` pairs.
    fn at(&self, k: f64, n: f64) -> f64 {
        let share = if k < self.shared_from { n / self.per_pair } else { k * n / self.per_node };
        self.t0 + share
    }

    /// The law if so many pairs, and more, share the rate of the node.
    fn shared_from(
        shared_from: f64,
        points: &[(f64, f64, f64)],
        pairs: &[(f64, f64)],
        weights: Weights<'_>,
    ) -> Result<Self, FitError> {
        let row = |(k, n, _): &(f64, f64, f64)| {
            if *k < shared_from { [1.0, *n, 0.0] } else { [1.0, 0.0, k * n] }
        };
        let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
        let Solution { coefficients, covariance, quality } = solve(&rows, pairs, weights)?;
        let range = |k: usize| {
            let (value, error) = (coefficients[k], covariance?[k][k].sqrt());
            Range::around_positive((value > 0.0).then_some(value)?, error, quality.dof)
        };
        Ok(Self {
            t0: coefficients[0],
            t0_range: range(0),
            per_pair: 1.0 / positive("time of a pair for each unit of size", coefficients[1])?,
            per_pair_range: range(1).map(Range::inverted),
            per_node: 1.0 / positive("time of a node for each unit of size", coefficients[2])?,
            per_node_range: range(2).map(Range::inverted),
            shared_from,
            quality,
            bic_drop: 0.0,
            chance: 1.0,
        })
    }

    /// True if the points are clear evidence for a rate that the pairs share: less for each pair
    /// than it has alone, and not by chance.
    pub fn is_shared(&self) -> bool {
        let is_less = self.per_node < self.shared_from * self.per_pair;
        is_less && self.bic_drop >= MIN_BIC_DROP && self.chance <= MAX_CHANCE
    }
}

#[cfg(test)]
mod tests {
    use oorandom::Rand64;

    use super::*;
    use crate::normal;

    const SIZES: [f64; 7] = [0.0, 64.0, 1024.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0];

    /// 2 us, 3000 bytes/us for a pair and this rate for the node.
    fn points(per_node: f64, numbers: &[f64], noise: f64) -> Vec<(f64, f64, f64)> {
        let time = |k: f64, n: f64| 2.0 + k * n / per_node.min(k * 3000.0);
        let of_number = |k: &f64| SIZES.map(|n| (*k, n, time(*k, n)));
        let wobble = |i: usize| 1.0 + noise * (i as f64 * 2.4).sin();
        let exact = numbers.iter().flat_map(of_number);
        exact.enumerate().map(|(i, (k, n, t))| (k, n, t * wobble(i))).collect()
    }

    #[test]
    fn the_rates_of_a_pair_and_of_its_node_come_back() {
        let check = |per_node: f64, shared_from: f64| {
            let points = points(per_node, &[1.0, 2.0, 4.0, 8.0, 16.0], 0.0);
            let law = MaxRate::fit(&points, Weights::Relative).unwrap();
            let found = [law.t0, law.per_pair, law.per_node];
            for (found, planted) in found.into_iter().zip([2.0, 3000.0, per_node]) {
                assert!((found / planted - 1.0).abs() < 1e-9, "{law:?}");
            }
            assert!(law.is_shared() && law.shared_from == shared_from, "{law:?}");
        };
        check(5000.0, 2.0);
        check(10_000.0, 4.0);
        check(40_000.0, 16.0);
    }

    #[test]
    fn ranges_hold_the_planted_law() {
        let points = points(10_000.0, &[1.0, 2.0, 4.0, 8.0], 0.02);
        let law = MaxRate::fit(&points, Weights::Relative).unwrap();
        let ranges = [law.t0_range, law.per_pair_range, law.per_node_range];
        for (range, planted) in ranges.into_iter().zip([2.0, 3000.0, 10_000.0]) {
            assert!(range.unwrap().contains(planted), "{range:?} does not hold {planted}");
        }
    }

    #[test]
    fn pairs_that_do_not_meet_share_nothing() {
        let free = points(1e9, &[1.0, 2.0, 4.0, 8.0], 0.02);
        let law = MaxRate::fit(&free, Weights::Relative).unwrap();
        assert!(!law.is_shared(), "{law:?}");
    }

    /// Points with this scatter and intervals, from a rate of 3000 for a pair.
    fn noisy(per_node: f64, sizes: &[f64], seed: u128, noise: f64) -> Vec<(f64, f64, f64)> {
        let mut random = Rand64::new(seed);
        let numbers = [1.0, 2.0, 4.0];
        let of = numbers.iter().flat_map(|k| sizes.iter().map(move |n| (*k, *n)));
        let time = |k: f64, n: f64| 2.0 + k * n / per_node.min(k * 3000.0);
        of.map(|(k, n)| (k, n, time(k, n) * (noise * normal(&mut random)).exp())).collect()
    }

    /// The laws of 300 sweeps, of few lengths and of many, with intervals and without.
    fn laws(per_node: f64, noise: f64) -> Vec<MaxRate> {
        let quick = [8.0, 4096.0, 65_536.0];
        let of = |seed: u32| {
            let sizes = if seed.is_multiple_of(2) { &quick[..] } else { &SIZES };
            let points = noisy(per_node, sizes, u128::from(seed), noise);
            let widths: Vec<f64> = points.iter().map(|(_, _, t)| 1.96 * noise * t).collect();
            let weights = if seed.is_multiple_of(3) {
                Weights::HalfWidths(&widths)
            } else {
                Weights::Relative
            };
            MaxRate::fit(&points, weights).unwrap()
        };
        (1..=300).map(of).collect()
    }

    #[test]
    fn scatter_is_no_shared_rate() {
        for noise in [0.002, 0.02, 0.1] {
            let n_shared = laws(1e9, noise).iter().filter(|law| law.is_shared()).count();
            assert!(n_shared <= 1, "{n_shared} of 300 at a scatter of {noise}");
        }
    }

    #[test]
    fn a_shared_rate_is_found_in_scatter() {
        let errors = laws(5000.0, 0.01).into_iter().map(|law| {
            assert!(law.is_shared() && law.shared_from == 2.0, "{law:?}");
            (law.per_node / 5000.0 - 1.0).abs()
        });
        let worst = errors.fold(0.0, f64::max);
        assert!(worst < 0.03, "{worst}");
    }

    #[test]
    fn one_number_of_pairs_says_nothing_of_sharing() {
        let error = MaxRate::fit(&points(1e4, &[1.0], 0.0), Weights::Relative).unwrap_err();
        assert_eq!(error.to_string(), "1 numbers of pairs are too few (measure at least 2)");
    }
}
