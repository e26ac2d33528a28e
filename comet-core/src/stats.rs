//! Summaries of values: order statistics first, the mean beside them.

/// What a list of values looks like. All are in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Least value.
    pub min: f64,
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
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "sample counts are far below 2^53")]
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let median = quantile(&sorted, 0.5);
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
        let distances: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
        Some(Self {
            n,
            min,
            p25: quantile(&sorted, 0.25),
            median,
            p75: quantile(&sorted, 0.75),
            p90: quantile(&sorted, 0.90),
            p95: quantile(&sorted, 0.95),
            p99: quantile(&sorted, 0.99),
            max,
            mean,
            stddev: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            mad: quantile(&self::sorted(&distances), 0.5),
        })
    }
}

/// `values` in ascending order.
#[must_use]
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
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the index is at least 0 and below the length"
)]
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, part) = (position.floor() as usize, position.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + part * (above - sorted[below])
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
        assert_eq!(summary.stddev, Some(7.5f64.sqrt()));
    }

    #[test]
    fn what_was_not_measured_has_no_summary_and_one_value_no_deviation() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!((one.median, one.p99, one.stddev), (3.0, 3.0, None));
    }
}
