//! Wire types of a `point` line: one series of one case, and how good its numbers are.

use std::sync::Arc;

use comet_core::definition::Definition;
use serde::{Deserialize, Serialize};

use super::{CONTIGUOUS, KernelFacts, LAYOUT, Launches, Outcome, Over, Param, Params, Text};

/// One series of one case; or a case without numbers, which stands for all series.
// Its wire form is in the module of its outcome.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Point {
    /// Id of the run, so that single lines can be traced.
    pub run_id: String,
    /// Number of the point within its run, from 0.
    pub seq: u64,
    /// Seconds from the start of the run to the end of the case.
    pub t_rel_s: f64,
    /// Name of the suite.
    pub suite: Text,
    /// Name of the kernel within the suite.
    pub kernel: Text,
    /// Name of the series.
    pub variant: Option<Text>,
    /// Kind of communication (`p2p`, `exchange`, `collective`, `sync` …).
    pub class: Text,
    /// Names of the kernel in other suites.
    #[cfg_attr(test, serde(default))]
    pub aliases: Vec<Text>,
    /// The kernel's axes, slowest first, then `procs` and, for matrices, the mesh.
    pub params: Params,
    /// The identity of the number: the first 16 hex digits of the SHA-256 of the canonical JSON of
    /// suite, kernel, variant, class, params and value, of the thread level over MPI, and, since
    /// minor version 8, of `plan.sync` where ranks start together.
    pub key: String,
    /// Number of the launch that measured it, from 1; `null` where all launches of the run did.
    /// Since minor version 8.
    #[cfg_attr(test, serde(default))]
    pub launch: Option<u32>,
    /// The launches of which the numbers are; `null` where there was one. Since minor version 8.
    #[cfg_attr(test, serde(default))]
    pub launches: Option<Launches>,
    /// Result of the check.
    pub check: Check,
    /// Figures derived from all series of the case together; on the last series alone.
    #[cfg_attr(test, serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub figures: Vec<Derived>,
    /// The numbers, or the reason why there are none.
    #[cfg_attr(test, serde(flatten))]
    #[cfg_attr(test, schemars(with = "super::outcome::Line"))]
    pub outcome: Outcome,
    /// Description of the kernel: of the run, or made from the point where that has none.
    #[cfg_attr(test, serde(skip))]
    pub facts: Arc<KernelFacts>,
}

impl Point {
    /// Suite and name of the kernel (`comet/echo`).
    pub fn id(&self) -> String {
        format!("{}/{}", self.suite, self.kernel)
    }

    /// True if it is of the kernel `id`.
    pub(crate) fn is_of(&self, id: &str) -> bool {
        let name = id.strip_prefix(&*self.suite).and_then(|rest| rest.strip_prefix('/'));
        name == Some(&*self.kernel)
    }

    /// Its operation: the kernel, and behind a blank the layout of its messages where those have gaps or are
    /// packed (`skampi/pingpong_send_recv vector:8:16`).
    pub(crate) fn operation(&self) -> String {
        match self.params.get(LAYOUT) {
            Some(Param::Label(layout)) if layout != CONTIGUOUS => format!("{} {layout}", self.id()),
            _ => self.id(),
        }
    }

    /// The way in which the ranks start each of its samples together, which its key has; `None` where they do
    /// not, or where none was measured.
    pub fn sync(&self) -> Option<SampleSync> {
        let measured = self.measured()?;
        let definition = Definition::find(&measured.numbers.value.definition)?;
        definition.starts_together().then_some(measured.plan.sync)
    }

    /// The number that the point has for the parameter `name`.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.params.number(name)
    }

    /// The number that the point has on the axis `over` of its kernel.
    pub(crate) fn on(&self, over: Over) -> Option<u64> {
        self.number(&self.facts.over(over)?.name)
    }

    /// Number of its series among those of its kernel, from 0.
    pub(crate) fn series(&self) -> Option<usize> {
        let name = self.variant.as_ref()?;
        self.facts.series.iter().position(|series| series.name == *name)
    }
}

/// Meaning of a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Value {
    /// Quantity that it is the time of (`one_way_time`, `op_time`).
    pub quantity: Text,
    /// Combination of the ranks' samples into one value (`D4 half_round_trip`).
    pub definition: Text,
    /// Divisor of the measured interval, beside the operations in it.
    pub divisor: u32,
    /// Ranks that it stands for.
    pub rank_stat: RankStat,
    /// Bytes that one operation moves; `null` where there are none.
    pub bytes_per_op: Option<u64>,
    /// `lower` or `higher`.
    pub better: Text,
    /// Reported statistic.
    pub quote: Quote,
}

/// Ranks that a value stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RankStat {
    /// The test node.
    Root,
    /// The slowest rank.
    Max,
    /// The mean of all ranks. Since minor version 2.
    Mean,
    /// The middle rank. Since minor version 2.
    Median,
}

/// Reported statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quote {
    /// The median.
    Median,
    /// The least value.
    Min,
    /// The least of 20 values, the median over the slices. Since minor version 8.
    #[serde(rename = "least_of_20")]
    LeastOf20,
    /// The mean of a slice, the median over the slices. Since minor version 13.
    SliceMean,
    /// The mean. Since minor version 2.
    Mean,
    /// The mean of the middle half. Since minor version 2.
    MiddleMean,
    /// The mean, less an empty loop. Since minor version 2.
    Corrected,
}

impl Quote {
    /// True if it is the median over the slices of the figure of each, of which intervals within a
    /// launch are.
    pub fn is_of_slices(self) -> bool {
        matches!(self, Self::Median | Self::SliceMean)
    }
}

/// Plan of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// Samples per slice.
    pub samples_per_round: u32,
    /// Operations between two clock reads.
    pub inner: u32,
    /// Operations before the first clock read of a slice.
    pub warmup: u32,
    /// Batches at the start of each slice that make no sample. Since minor version 8.
    #[serde(default)]
    pub discarded: u32,
    /// Synchronisation before each sample.
    pub sync: SampleSync,
    /// From the announcement of a window to its opening. Since minor version 2.
    pub window_ns: Option<u64>,
    /// Scale of the skew injected between the starts of the ranks. Since minor version 2.
    pub skew_ns: Option<u64>,
    /// True if refinement asked for the case, and not the plan. Since minor version 4.
    #[serde(default)]
    pub is_refined: bool,
    /// Treatment of outliers; `none`: every sample counts.
    pub outliers: Text,
    /// Corrections subtracted from the samples; none if empty.
    pub correct: Vec<String>,
}

/// Synchronisation before each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SampleSync {
    /// Nothing.
    None,
    /// A barrier.
    Barrier,
    /// Two barriers. Since minor version 2.
    DoubleBarrier,
    /// A dissemination barrier of messages. Since minor version 2.
    Dissemination,
    /// A window that opens at a common time. Since minor version 2.
    Window,
}

impl SampleSync {
    /// Meaning for the ranks, in table heads.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::None => "ranks start when they are ready",
            Self::Barrier => "ranks start after a barrier",
            Self::DoubleBarrier => "ranks start after two barriers",
            Self::Dissemination => "ranks start after a dissemination barrier",
            Self::Window => "ranks start in a window",
        }
    }
}

/// Numbers of samples and operations of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reps {
    /// Samples.
    pub n: usize,
    /// Operations per sample.
    pub inner: u32,
    /// Operations that were run and not counted.
    pub warmup: u32,
    /// Slices in which the samples were taken.
    pub rounds: u32,
}

/// A summary, in the unit that the name of its field says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Least value.
    pub min: f64,
    /// 10th percentile. Since minor version 2.
    pub p10: Option<f64>,
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
    /// 99.9th percentile; `null` below 10 000 values. Since minor version 2.
    pub p999: Option<f64>,
    /// Largest value.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n - 1; `null` for a single value.
    pub stddev: Option<f64>,
    /// Median of the distances from the median.
    pub mad: f64,
    /// 95 % confidence interval of the median, or of the mean of a slice where that is
    /// reported, where it was computed.
    pub ci95: Option<[f64; 2]>,
}

/// Medians of the ranks that sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RanksNs {
    /// That of the fastest rank.
    pub min: f64,
    /// That of the slowest rank.
    pub max: f64,
    /// Their arithmetic mean.
    pub avg: f64,
    /// The slowest rank.
    pub argmax: usize,
    /// All of them, in the order of `samples.ranks`.
    pub per_rank: Vec<f64>,
}

/// Rates that follow from a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rate {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// The time that they follow from.
    pub basis: Quote,
}

/// A rate beside bytes per second, which is compared across programs or machines. Since minor version
/// 11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamedRate {
    /// Name with unit (`algorithm_bytes_per_s`, `bus_bytes_per_s`, `messages_per_s`,
    /// `bisection_bytes_per_s`).
    pub name: Text,
    /// Formula, of parameters, the number of ranks P and the `time` of one operation.
    pub formula: Text,
    /// Amount of one operation: the formula without the time, in bytes or messages.
    pub per_op: f64,
    /// The rate, at the time that `rate` follows from; `null` where the amount or the time is 0.
    pub value: Option<f64>,
}

/// Every interval that was measured: whole samples, not divided by anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Samples {
    /// `ns`.
    pub unit: Text,
    /// `rank`, then `rep`: the last one varies fastest in `data`.
    pub axis: [Text; 2],
    /// The ranks that sampled.
    pub ranks: Vec<usize>,
    /// Number of ranks, and of samples of each.
    pub shape: [usize; 2],
    /// `time`: as they were taken.
    pub order: Text,
    /// `list`: plain numbers.
    pub enc: Text,
    /// The intervals.
    pub data: Vec<u64>,
}

impl Samples {
    /// True if a list of `n` numbers holds one for each sample of each rank.
    pub(crate) fn is_length(&self, n: usize) -> bool {
        let [n_ranks, n_samples] = self.shape;
        self.ranks.len() == n_ranks && n_ranks.checked_mul(n_samples) == Some(n)
    }
}

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// Outcome of the verification.
    pub status: CheckStatus,
}

/// Outcome of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// All data was right.
    Pass,
    /// Data was wrong.
    Fail,
    /// Nothing was verified: nothing was measured, or the kernel has no check.
    #[default]
    Skipped,
}

/// A number that follows from the series of one case together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Figure"))]
pub struct Derived {
    /// Name with unit.
    pub name: String,
    /// Formula.
    pub formula: String,
    /// The number; `null` where it cannot be formed.
    pub value: Option<f64>,
}

/// Status of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PointStatus {
    /// Verified and measured.
    Ok,
    /// These ranks, the results so far or the transport do not admit it.
    #[default]
    Skipped,
    /// The data that arrived was wrong.
    CheckFailed,
    /// It could not be run.
    Failed,
    /// It was cut short.
    Interrupted,
}

/// Quality of a point. All times are in nanoseconds for one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quality {
    /// Median of each slice, a visit of the case, in time order, or its mean where that is reported.
    pub slice_medians_ns: Vec<f64>,
    /// Number of samples of each slice.
    pub slice_lengths: Vec<usize>,
    /// Interval of the median of these: from launch to launch where there are several, else within this
    /// one; `null` below 5 slices of it. Its lower end is less `overhead_ns.clock` since minor
    /// version 8, and less the median of `start_skew_ns` where D1 and D9 hold that.
    pub interval_ns: Option<Interval>,
    /// Interval of the 90th percentile, by resampling of slices; `null` below 5 slices.
    pub p90_interval_ns: Option<Interval>,
    /// Interval of the 99th percentile, likewise.
    pub p99_interval_ns: Option<Interval>,
    /// True if the interval met its target; `null` if there was no target.
    pub converged: Option<bool>,
    /// True if the warm-up ended in a steady state.
    pub is_steady: bool,
    /// Times of the warm-up, whose samples are not kept. Since minor version 8.
    pub warm_up_ns: Option<WarmUpNs>,
    /// Numbers of the samples that started too late in their window, and make no value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<usize>,
    /// From the first to the last start of the ranks in a sample, which D1 and D9 hold; `null` where
    /// they do not start together, or where their clocks cannot be compared.
    pub start_skew_ns: Option<Summary>,
    /// Over how many samples values are correlated; `null` where slices are too short to tell.
    pub autocorrelation_samples: Option<f64>,
    /// Variance of the slice medians over that of independent samples; high between regimes.
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
    /// Number of times that the system took a processor from a rank, where it reports it.
    pub involuntary_switches: Option<u64>,
    /// Number of slices with more preemptions than a tenth of their samples, or with any where the
    /// figure is a mean of all samples; `null` where the system does not tell. Up to minor version
    /// 10 all slices with a preemption.
    pub disturbed_slices: Option<u32>,
    /// Number of page faults of the ranks during the slices, minor and major, likewise.
    pub page_faults: Option<u64>,
    /// Number of them that read from a disk. Since minor version 9.
    #[serde(default)]
    pub major_faults: Option<u64>,
    /// Times of a cache line from rank 0 to rank 1, in time order: the first before the slices, the
    /// last after them; `null` if the transport does not report them. Since minor version 3.
    pub line_ns: Option<Vec<f64>>,
    /// True if the cores of ranks 0 and 1 moved meanwhile, by these times. Since minor version 3.
    pub cores_moved: Option<bool>,
    /// Overhead of two clock readings and the loop on one operation; it is not subtracted.
    pub overhead_ns: Overhead,
    /// Summary over the intervals of all ranks, not over those of the slowest or of their mean.
    pub rank_samples_ns: Option<Summary>,
}

/// Times of a warm-up on the rank that was slowest in it, for one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WarmUpNs {
    /// Medians of its blocks of 20 samples, in time order, by which it ends; empty if it had fewer.
    pub blocks: Vec<f64>,
    /// Median of its samples from the steady state on, by which repetitions are chosen.
    pub operation: Option<f64>,
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
    /// Method (`interpolated_order_statistics`, `student_t`, `student_t_of_logarithms`, `bootstrap`;
    /// `order_statistics` in older files).
    pub method: String,
}
