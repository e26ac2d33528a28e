//! How the time of an operation grows with the number of ranks: five candidates, each with its
//! weight.
//!
//! Akaike's weights (Burnham and Anderson, Model Selection and Multimodel Inference, 2002, section
//! 2.9) say how likely each is to predict best, and two that are as good are both shown. What
//! crosses the size of a node is better fitted in two parts.

use super::{FitError, Line, Weights};

/// Fewest numbers of ranks for a choice.
const MIN_NUMBERS: usize = 4;

/// How far beyond the largest and below the smallest number of ranks a law still speaks.
const MAX_EXTRAPOLATION: f64 = 2.0;

/// Parameters of each candidate.
const N_PARAMETERS: usize = 2;

/// A law of growth with the number of ranks `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// `log2 P`: a tree, or dissemination, cut off between powers of two.
    Log2,
    /// `⌈log2 P⌉`: whole rounds.
    CeilLog2,
    /// `P`: one after another.
    Linear,
    /// `P log2 P`: a tree for each rank.
    LinearLog2,
    /// `√P`: along the side of a square.
    Sqrt,
}

impl Growth {
    /// All of them, the simplest of equals first.
    pub const ALL: [Self; 5] =
        [Self::Log2, Self::CeilLog2, Self::Linear, Self::LinearLog2, Self::Sqrt];

    /// Its formula.
    #[must_use]
    pub fn formula(self) -> &'static str {
        match self {
            Self::Log2 => "a + b log2 P",
            Self::CeilLog2 => "a + b ceil(log2 P)",
            Self::Linear => "a + b P",
            Self::LinearLog2 => "a + b P log2 P",
            Self::Sqrt => "a + b sqrt P",
        }
    }

    /// What `b` is multiplied with.
    fn of(self, n_ranks: f64) -> f64 {
        match self {
            Self::Log2 => n_ranks.log2(),
            Self::CeilLog2 => n_ranks.log2().ceil(),
            Self::Linear => n_ranks,
            Self::LinearLog2 => n_ranks * n_ranks.log2(),
            Self::Sqrt => n_ranks.sqrt(),
        }
    }
}

/// A law, fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The law.
    pub growth: Growth,
    /// Its `a` (`t0`) and `b` (`per_unit`).
    pub line: Line,
    /// How likely it is to predict best among the five; their sum is 1.
    pub weight: f64,
}

/// All candidates for one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// They, the best one first.
    pub candidates: Vec<Candidate>,
    smallest: f64,
    largest: f64,
}

impl Scaling {
    /// The candidates for `points`, pairs of a number of ranks and a time, under relative weights.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than four different numbers of ranks, or if a number is not
    /// positive.
    pub fn fit(points: &[(f64, f64)]) -> Result<Self, FitError> {
        let numbers = numbers_of_ranks(points)?;
        let fits = Growth::ALL.map(|growth| {
            let pairs: Vec<_> = points.iter().map(|(p, t)| (growth.of(*p), *t)).collect();
            Ok((growth, Line::fit(&pairs, Weights::Relative)?))
        });
        let fits = fits.into_iter().collect::<Result<Vec<_>, FitError>>()?;
        let (smallest, largest) = (numbers[0], numbers[numbers.len() - 1]);
        Ok(Self { candidates: weighted(fits), smallest, largest })
    }

    /// The time on `n_ranks` ranks by the best candidate; `None` beyond twice the largest number
    /// and below half of the smallest that was measured.
    #[must_use]
    pub fn at(&self, n_ranks: f64) -> Option<f64> {
        let reach = self.smallest / MAX_EXTRAPOLATION..=self.largest * MAX_EXTRAPOLATION;
        let best = self.candidates.first()?;
        reach.contains(&n_ranks).then(|| best.line.at(best.growth.of(n_ranks)))
    }
}

/// The different numbers of ranks, in ascending order.
fn numbers_of_ranks(points: &[(f64, f64)]) -> Result<Vec<f64>, FitError> {
    let mut numbers = points
        .iter()
        .map(|(p, _)| super::positive("number of ranks", *p))
        .collect::<Result<Vec<_>, _>>()?;
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    if numbers.len() >= MIN_NUMBERS {
        return Ok(numbers);
    }
    let what = "numbers of ranks";
    Err(FitError::TooFew { what, found: numbers.len(), expected: MIN_NUMBERS })
}

/// The fits with their weights, the best one first.
fn weighted(fits: Vec<(Growth, Line)>) -> Vec<Candidate> {
    // All have the same number of parameters, so that the correction only matters beside others.
    let score = |line: &Line| line.quality.aicc(N_PARAMETERS).unwrap_or(line.quality.bic);
    let least = fits.iter().map(|(_, line)| score(line)).fold(f64::INFINITY, f64::min);
    let odds = |line: &Line| ((least - score(line)) / 2.0).exp();
    let sum: f64 = fits.iter().map(|(_, line)| odds(line)).sum();
    let candidate =
        |(growth, line): (Growth, Line)| Candidate { growth, line, weight: odds(&line) / sum };
    let mut candidates: Vec<Candidate> = fits.iter().copied().map(candidate).collect();
    candidates.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 7] = [2.0, 3.0, 5.0, 8.0, 13.0, 24.0, 32.0];

    fn planted(growth: Growth, numbers: &[f64]) -> Vec<(f64, f64)> {
        numbers.iter().map(|p| (*p, 5.0 + 79.0 * growth.of(*p))).collect()
    }

    #[test]
    fn the_planted_growth_is_found() {
        for growth in Growth::ALL {
            let found = Scaling::fit(&planted(growth, &NUMBERS)).unwrap();
            let best = found.candidates[0];
            assert_eq!(best.growth, growth);
            assert!((best.line.per_unit / 79.0 - 1.0).abs() < 1e-9, "{best:?}");
            assert!(best.weight > 0.99, "{best:?}");
            let sum: f64 = found.candidates.iter().map(|candidate| candidate.weight).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    #[test]
    fn on_powers_of_two_whole_rounds_are_as_likely_as_the_logarithm() {
        let found = Scaling::fit(&planted(Growth::Log2, &[2.0, 4.0, 8.0, 16.0])).unwrap();
        let best: Vec<_> = found.candidates[..2].iter().map(|c| (c.growth, c.weight)).collect();
        assert_eq!(best.iter().map(|(growth, _)| *growth).collect::<Vec<_>>(), Growth::ALL[..2]);
        assert!((best[0].1 - best[1].1).abs() < 1e-12, "{best:?}");
    }

    #[test]
    fn nothing_is_said_beyond_twice_what_was_measured() {
        let found = Scaling::fit(&planted(Growth::Linear, &NUMBERS)).unwrap();
        let check = |n_ranks: f64, expected: Option<f64>| {
            assert_eq!(found.at(n_ranks).map(f64::round), expected, "{n_ranks} ranks");
        };
        check(64.0, Some(5.0 + 79.0 * 64.0));
        check(1.0, Some(84.0));
        check(65.0, None);
        check(0.5, None);
    }

    #[test]
    fn three_numbers_of_ranks_make_no_choice() {
        let check = |numbers: &[f64], expected: &str| {
            let error = Scaling::fit(&planted(Growth::Linear, numbers)).unwrap_err();
            assert_eq!(error.to_string().split(" (").next(), Some(expected));
        };
        check(&[2.0, 4.0, 8.0, 8.0], "3 numbers of ranks are too few");
        check(&[0.0, 4.0, 8.0, 16.0], "a number of ranks of 0 is no positive number");
    }
}
