//! Statistics, fits, refinement and comparison of measured values: numbers in, numbers out.
//!
//! ```text
//!   Summary       order statistics of a list of values, and the mean beside them
//!   Interval      confidence interval of a median or quantile, from the slices of a run
//!   least_of_20   least value of a fixed number of samples
//!   steady_from   length of the warm-up at the head of a series
//!   Diagnosis     autocorrelation, regimes, drift and outliers of samples
//!   Trimmed       mean of the middle half, for the rules of SKaMPI
//!   fit           laws of measured times: Hockney lines, segments, LogGP, max-rate, scaling in P
//!   refine        choice of the next length of a sweep
//!   compare       differences between groups of launches
//!   steps         changes of level in a history
//! ```
//!
//! A slice is a series of consecutive samples; the slices of a point are spread over the run.
//! Samples of one slice are correlated, slices hardly are.
//!
//! This crate names no other crate of the workspace and does no input or output.
#![forbid(unsafe_code)]

pub mod compare;
mod diagnosis;
pub mod fit;
mod interval;
mod least;
pub mod refine;
pub mod steps;
mod trimmed;
#[cfg(test)]
pub(crate) mod truth;
mod warm_up;

pub use diagnosis::Diagnosis;
pub use interval::{Interval, Method};
pub use least::least_of_20;
pub use trimmed::Trimmed;
pub use warm_up::{WarmUp, block_medians, steady_from};

use oorandom::Rand64;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// Fewest slices that say how slices differ.
pub const MIN_SLICES: usize = 5;
/// Fewest values that have a 99.9th percentile: ten of them are beyond it.
const MIN_FOR_P999: usize = 10_000;

/// Summary of a list of values, all in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Least value.
    pub min: f64,
    /// 10th percentile.
    pub p10: f64,
    /// 25th percentile.
    pub p25: f64,
    /// Median.
    pub median: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile; `None` below 10 000 values, where fewer than ten are beyond it.
    pub p999: Option<f64>,
    /// Largest value.
    pub max: f64,
    /// Arithmetic mean; one preempted sample may dominate it.
    pub mean: f64,
    /// Standard deviation with n - 1; `None` for a single value.
    pub stddev: Option<f64>,
    /// Median of the distances from the median.
    pub mad: f64,
}

impl Summary {
    /// The summary of `values`, or `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let median = quantile(&sorted, 0.5);
        let distances: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
        Some(Self {
            n,
            min,
            p10: quantile(&sorted, 0.10),
            p25: quantile(&sorted, 0.25),
            median,
            p75: quantile(&sorted, 0.75),
            p90: quantile(&sorted, 0.90),
            p95: quantile(&sorted, 0.95),
            p99: quantile(&sorted, 0.99),
            p999: (n >= MIN_FOR_P999).then(|| quantile(&sorted, 0.999)),
            max,
            mean: mean(&sorted),
            stddev: (n > 1).then(|| variance(&sorted).sqrt()),
            mad: quantile(&self::sorted(&distances), 0.5),
        })
    }
}

/// Probability of at least `n_hits` of `n` independent trials, each of which hits with probability `p`
/// (0 to 1).
pub fn at_least(n_hits: u64, n: u64, p: f64) -> f64 {
    let hits = Binomial::new(p.clamp(0.0, 1.0), n).ok();
    hits.zip(n_hits.checked_sub(1)).map_or(1.0, |(hits, fewer)| hits.sf(fewer))
}

/// `values` in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The `q`-quantile (0 to 1) of ascending values, by linear interpolation between neighbours
/// (Hyndman and Fan's type 7, the default of R and NumPy).
///
/// # Panics
/// If `sorted` is empty.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, part) = (place(position), position.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + part * (above - sorted[below])
}

/// The median of `values`, or `None` if there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| quantile(&sorted(values), 0.5))
}

/// `number` as a real number; exact below 2^53, as times, sizes and counts are.
pub fn real(number: u64) -> f64 {
    number as f64
}

/// `number` without its fraction; the nearest one that there is, where it is negative or too large.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
pub fn whole(number: f64) -> u64 {
    number as u64
}

/// [`whole`], as a count or an index of things in memory.
pub(crate) fn place(number: f64) -> usize {
    usize::try_from(whole(number)).unwrap_or(usize::MAX)
}

/// The slices that have samples: all of one may be invalid.
fn not_empty<S: AsRef<[f64]>>(slices: &[S]) -> Vec<&[f64]> {
    slices.iter().map(AsRef::as_ref).filter(|slice| !slice.is_empty()).collect()
}

/// Arithmetic mean of at least one value.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Variance with n - 1, of at least two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}

/// The quantile `share` of Student's t; that of the normal distribution for infinite `dof`.
///
/// # Panics
/// If there is no degree of freedom.
pub(crate) fn student_quantile(share: f64, dof: f64) -> f64 {
    if dof.is_infinite() {
        Normal::standard().inverse_cdf(share)
    } else {
        student(dof).inverse_cdf(share)
    }
}

/// Student's t distribution.
pub(crate) fn student(dof: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, dof).expect("there is a degree of freedom")
}

/// A value with a normal distribution of mean 0 and standard deviation 1.
pub(crate) fn normal(random: &mut Rand64) -> f64 {
    // The generator may give 0, where the normal distribution has no quantile.
    Normal::standard().inverse_cdf(random.rand_float().max(f64::MIN_POSITIVE))
}

/// Index of one of `n` things, all of which are equally likely.
pub(crate) fn drawn(n: usize, random: &mut Rand64) -> usize {
    usize::try_from(random.rand_range(0..n as u64)).expect("it is below a usize")
}

/// The different numbers among `values`, in ascending order.
pub(crate) fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut distinct = sorted(&values.collect::<Vec<_>>());
    distinct.dedup();
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_a_hand_computation() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (q, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.75, 5.0), (1.0, 8.0)] {
            assert_eq!(quantile(&values, q), expected, "quantile {q}");
        }
    }

    #[test]
    fn a_summary_has_the_textbook_values() {
        let summary = Summary::of(&[4.0, 1.0, 2.0, 8.0, 5.0]).unwrap();
        assert_eq!((summary.n, summary.min, summary.max), (5, 1.0, 8.0));
        assert_eq!((summary.median, summary.mean, summary.mad), (4.0, 4.0, 2.0));
        assert_eq!((summary.p10, summary.stddev), (1.4, Some(7.5f64.sqrt())));
    }

    #[test]
    fn what_was_not_measured_has_no_summary_and_one_value_no_deviation() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!((one.median, one.p99, one.stddev), (3.0, 3.0, None));
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let check = |n_values: u32, expected| {
            let values: Vec<f64> = (0..n_values).map(f64::from).collect();
            assert_eq!(Summary::of(&values).unwrap().p999, expected, "of {n_values} values");
        };
        check(9_999, None);
        check(10_001, Some(9_990.0));
    }
}
