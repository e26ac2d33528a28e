//! Wire types of how good a point is: its slices, its interval, and what disturbed it.

use serde::{Deserialize, Serialize};

use super::Summary;

/// Quality of a point. All times are in nanoseconds for one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quality {
    /// Median of each slice, a visit of the case, in time order.
    pub slice_medians_ns: Vec<f64>,
    /// Number of samples of each slice.
    pub slice_lengths: Vec<usize>,
    /// Interval of the median within this launch; `null` below 5 slices.
    pub interval_ns: Option<Interval>,
    /// Interval of the 90th percentile, by resampling of slices; `null` below 5 slices.
    pub p90_interval_ns: Option<Interval>,
    /// Interval of the 99th percentile, likewise.
    pub p99_interval_ns: Option<Interval>,
    /// True if the interval met its target; `null` if there was no target.
    pub converged: Option<bool>,
    /// True if the warm-up ended in a steady state.
    pub is_steady: bool,
    /// Numbers of the samples that started too late in their window, and make no value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<usize>,
    /// From the first to the last start of the ranks in a sample; `null` where they do not start
    /// together, or where their clocks cannot be compared.
    pub start_skew_ns: Option<Summary>,
    /// Over how many samples values are correlated; `null` where slices are too short to tell.
    pub autocorrelation_samples: Option<f64>,
    /// Variance of the slice medians over that of independent samples; far above 1 where the
    /// machine changes between a few states.
    pub regime_ratio: Option<f64>,
    /// Correlation of each slice median with the next.
    pub lag1_correlation: Option<f64>,
    /// True if the machine changed between a few states, by that ratio.
    pub has_regimes: Option<bool>,
    /// True if the times drifted, by that correlation.
    pub drifts: Option<bool>,
    /// True if the slice medians fall into two groups.
    pub is_bimodal: bool,
    /// Values beyond 1.5 times the distance of the quartiles, but not beyond 3 times.
    pub n_mild_outliers: usize,
    /// Values beyond 3 times the distance of the quartiles.
    pub n_severe_outliers: usize,
    /// Number of times that the system took a processor from a rank during the slices; `null` if it
    /// does not report it.
    pub involuntary_switches: Option<u64>,
    /// In how many slices the system took a processor from a rank; `null` where it does not tell.
    pub disturbed_slices: Option<u32>,
    /// Number of page faults of the ranks during the slices, likewise.
    pub page_faults: Option<u64>,
    /// Times of a cache line from rank 0 to rank 1, in time order: the first before the slices, the
    /// last after them; `null` if the transport does not report them. Since minor version 3.
    #[serde(default)]
    pub line_ns: Option<Vec<f64>>,
    /// True if the cores of ranks 0 and 1 moved meanwhile, by these times. Since minor version 3.
    #[serde(default)]
    pub cores_moved: Option<bool>,
    /// Overhead of the two clock readings and the loop on one operation, if nothing waits. It is
    /// not subtracted.
    pub overhead_ns: Overhead,
    /// Summary over the intervals of all ranks, not over those of the slowest or of their mean.
    pub rank_samples_ns: Option<Summary>,
}

/// Overhead of measuring on one operation, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Overhead {
    /// Share of an empty interval.
    pub clock: f64,
    /// One turn of an empty loop.
    pub empty_loop: f64,
}

/// An interval of confidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of repeated measurements whose interval holds the true value (`0.95`).
    pub level: f64,
    /// Method (`order_statistics`, `student_t`, `bootstrap`).
    pub method: String,
}
