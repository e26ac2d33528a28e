//! Growth of the time of an operation with the number of ranks: five candidates, each with its
//! weight, or none of them where the time does not depend on that number.
//!
//! Akaike's weights (Burnham and Anderson, Model Selection and Multimodel Inference, 2002, section
//! 2.9) are the probabilities that a candidate predicts best; two that are as good are both shown.
//! Times that cross the size of a node are better fitted in two parts.

use super::{FitError, Line, Weights};
use crate::distinct;

/// Fewest numbers of ranks for a choice.
const MIN_NUMBERS: usize = 4;

/// Growth over all numbers of ranks that is rounding, relative to the time.
const ROUNDING: f64 = 1e-9;

/// Parameters of each candidate.
const N_PARAMETERS: usize = 2;

/// A law of growth with the number of ranks `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Nothing: the time is the same on all numbers of ranks.
    None,
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
    /// The candidates, the simplest of equals first.
    pub const ALL: [Self; 5] =
        [Self::Log2, Self::CeilLog2, Self::Linear, Self::LinearLog2, Self::Sqrt];

    /// The formula.
    pub fn formula(self) -> &'static str {
        match self {
            Self::None => "a",
            Self::Log2 => "a + b log2 P",
            Self::CeilLog2 => "a + b ceil(log2 P)",
            Self::Linear => "a + b P",
            Self::LinearLog2 => "a + b P log2 P",
            Self::Sqrt => "a + b sqrt P",
        }
    }

    /// The name of the fit: the formula, or that there is no growth.
    pub fn name(self) -> &'static str {
        if self == Self::None { "no growth with P" } else { self.formula() }
    }

    /// The `a` (`t0`) and `b` (`per_unit`) of this law through `points`, pairs of a number of ranks and
    /// a time, under relative weights; the largest error stands at its number of ranks.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than two different numbers of ranks, or if a time is not positive.
    pub fn fit(self, points: &[(f64, f64)]) -> Result<Line, FitError> {
        if self == Self::None {
            return Line::fit_constant(points, Weights::Relative);
        }
        let pairs: Vec<_> = points.iter().map(|(p, t)| (self.of(*p), *t)).collect();
        let mut line = Line::fit(&pairs, Weights::Relative)?;
        let worst = points.iter().find(|(p, _)| self.of(*p) == line.quality.max_at);
        line.quality.max_at = worst.map_or(line.quality.max_at, |(p, _)| *p);
        Ok(line)
    }

    /// The factor of `b` on `n_ranks` ranks.
    pub fn of(self, n_ranks: f64) -> f64 {
        match self {
            Self::None => 0.0,
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
    /// The probability that it predicts best among the candidates; their sum is 1.
    pub weight: f64,
}

/// The laws of growth of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The candidates, the best one first; [`Growth::None`] alone if the best one does not grow.
    pub candidates: Vec<Candidate>,
}

impl Scaling {
    /// The candidates for `points`, pairs of a number of ranks and a time, under relative weights.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than four different numbers of ranks, or if a number is not
    /// positive.
    pub fn fit(points: &[(f64, f64)]) -> Result<Self, FitError> {
        require_numbers(points)?;
        let fits = Growth::ALL.map(|growth| Ok((growth, growth.fit(points)?)));
        let candidates = weighted(fits.into_iter().collect::<Result<Vec<_>, FitError>>()?);
        if grows(&candidates[0], points) {
            return Ok(Self { candidates });
        }
        let (growth, line) = (Growth::None, Growth::None.fit(points)?);
        Ok(Self { candidates: vec![Candidate { growth, line, weight: 1.0 }] })
    }
}

/// True if the growth is more than rounding, and its interval excludes 0.
fn grows(best: &Candidate, points: &[(f64, f64)]) -> bool {
    let of = |(p, _): &(f64, f64)| best.growth.of(*p);
    let (low, high) = (points.iter().map(of).fold(f64::INFINITY, f64::min), points.iter().map(of));
    let growth = best.line.per_unit * (high.fold(0.0, f64::max) - low);
    let may_be_zero = best.line.per_unit_range().is_some_and(|range| range.contains(0.0));
    growth.abs() > ROUNDING * best.line.at(low).abs() && !may_be_zero
}

/// Refuses points on too few different numbers of ranks.
fn require_numbers(points: &[(f64, f64)]) -> Result<(), FitError> {
    for (n_ranks, _) in points {
        super::positive("number of ranks", *n_ranks)?;
    }
    match distinct(points.iter().map(|(n_ranks, _)| *n_ranks)).len() {
        found if found < MIN_NUMBERS => {
            Err(FitError::too_few(found, "numbers of ranks", MIN_NUMBERS))
        }
        _ => Ok(()),
    }
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
    fn times_that_do_not_depend_on_the_number_of_ranks_have_no_growth() {
        let check = |times: [f64; 5]| {
            let points: Vec<_> = NUMBERS.into_iter().zip(times).collect();
            let found = Scaling::fit(&points).unwrap().candidates;
            assert_eq!((found.len(), found[0].growth), (1, Growth::None), "{times:?}");
            assert!((found[0].line.t0 / 84.0 - 1.0).abs() < 0.02, "{found:?}");
            assert_eq!(found[0].line.per_unit, 0.0);
        };
        check([84.0; 5]);
        check([84.0, 84.000_000_000_001, 84.0, 83.999_999_999_999, 84.0]);
        check([83.0, 85.0, 84.0, 85.0, 83.0]);
    }

    #[test]
    fn the_largest_error_stands_at_its_number_of_ranks() {
        let mut points = planted(Growth::Log2, &NUMBERS);
        points[4].1 *= 1.05;
        let found = Scaling::fit(&points).unwrap();
        assert_eq!(found.candidates[0].line.quality.max_at, NUMBERS[4]);
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
