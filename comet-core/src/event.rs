//! Events of a run, and its memory of earlier results.

use std::error::Error;

use crate::definition::Definition;
use crate::driver::Pace;
use crate::kernel::{Arrangement, Case, Derived, KernelInfo, Rate, Series};
use crate::sample::{Sample, start_skew_ns};
use crate::sync::ClockOffset;
use crate::transport::{ClockInfo, Rank, Usage};
use comet_stats::{Diagnosis, Interval, Summary, median, real};

pub use crate::calibration::{ClockCalibration, ClockGaps};
pub use crate::placement::LineTimes;

/// Facts about a run that are known when it starts.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// Number of ranks.
    pub n_ranks: usize,
    /// The clock.
    pub clock: ClockInfo,
    /// Its calibration on rank 0.
    pub calibration: ClockCalibration,
    /// The calibrations of all ranks, in rank order; of rank 0 alone where the clock is simulated,
    /// and so the same for all.
    pub calibrations: Vec<ClockCalibration>,
    /// Number of unshared clocks that the ranks read.
    pub n_clock_domains: usize,
    /// Error bound of a reading on the clock that all ranks share, in nanoseconds: guaranteed;
    /// `None` if there is no such clock.
    pub clock_bound_ns: Option<u64>,
    /// Offsets of the unshared clocks from that of rank 0; empty if they were not compared.
    pub clock_offsets: Vec<ClockOffset>,
    /// Time of a cache line from rank 0 to rank 1, in nanoseconds; `None` if the transport does not
    /// report it.
    pub line_ns: Option<f64>,
    /// Number of planned cases.
    pub n_cases: usize,
    /// Kernels of the planned cases, each once.
    pub kernels: Vec<&'static KernelInfo>,
}

/// Samples that one rank took of one series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSamples {
    /// The rank.
    pub rank: Rank,
    /// Its samples, in time order.
    pub samples: Vec<Sample>,
}

impl RankSamples {
    /// The `ranks` that sampled, in their order, by the groups of `arrangement`.
    pub fn by_group(ranks: &[Self], arrangement: Arrangement) -> impl Iterator<Item = &[Self]> {
        let group = move |of_rank: &Self| arrangement.group_of(of_rank.rank);
        ranks.chunk_by(move |a, b| group(a) == group(b))
    }
}

/// One series of a measured case.
#[derive(Clone, Debug)]
pub struct SeriesResult {
    /// Description of the series.
    pub series: &'static Series,
    /// The definition by which the values were made of the samples.
    pub definition: Definition,
    /// Bytes that one operation moved; `None` where the series moves none.
    pub bytes_per_op: Option<u64>,
    /// Amounts of one operation for the rates of the series, in their order.
    pub amounts_per_op: Vec<f64>,
    /// Operations that were run before the samples, and are not counted.
    pub n_warmup: u32,
    /// Times of the warm-up, from which its end and the repetitions follow.
    pub warm_up: WarmUpTimes,
    /// Raw samples of the ranks that sampled, in rank order.
    pub ranks: Vec<RankSamples>,
    /// Number of samples in each slice, of which each is one visit of the case.
    pub slice_lengths: Vec<usize>,
    /// Indices of samples that started late in their window; they have no value.
    pub invalid: Vec<usize>,
    /// Value of each valid sample by the definition, in nanoseconds for one operation.
    pub values_ns: Vec<f64>,
    /// Median of the values of each slice that has any, or their mean where that is reported.
    pub slice_medians_ns: Vec<f64>,
    /// Summary of the values.
    pub summary: Summary,
    /// Interval of the median of those within this launch; `None` below 5 slices.
    pub interval: Option<Interval>,
    /// Intervals of the 90th and the 99th percentile, likewise.
    pub p90_interval: Option<Interval>,
    /// See [`p90_interval`](Self::p90_interval).
    pub p99_interval: Option<Interval>,
    /// Diagnosis of the values beyond their summary.
    pub diagnosis: Diagnosis,
    /// Reported statistic.
    pub quote: Quote,
    /// The figure to quote, in nanoseconds; `None` where a correction leaves nothing.
    pub quoted_ns: Option<f64>,
}

impl SeriesResult {
    /// The summary by which other figures are formed: its median is that of the slices.
    pub fn told(&self) -> Summary {
        let of_slices = median(&self.slice_medians_ns);
        Summary { median: of_slices.unwrap_or(self.summary.median), ..self.summary }
    }

    /// The samples that all ranks took of each batch that makes a value: in rank order, and in time
    /// order.
    pub fn valid_batches(&self) -> impl Iterator<Item = Vec<Sample>> {
        let n_batches = self.slice_lengths.iter().sum();
        let is_valid = |index: &usize| self.invalid.binary_search(index).is_err();
        let batch = |index| self.ranks.iter().map(|of_rank| of_rank.samples[index]).collect();
        (0..n_batches).filter(is_valid).map(batch)
    }

    /// From the first to the last start of the ranks in each sample, in nanoseconds; of groups that
    /// run at once the largest.
    pub fn start_skews_ns(&self, arrangement: Arrangement) -> Vec<f64> {
        let of_group = |group: &[RankSamples], index: usize| {
            let of_ranks: Vec<Sample> = group.iter().map(|of| of.samples[index]).collect();
            start_skew_ns(&of_ranks)
        };
        let groups = || RankSamples::by_group(&self.ranks, arrangement);
        let of_sample = |index| groups().map(|group| of_group(group, index)).max().unwrap_or(0);
        (0..self.slice_lengths.iter().sum()).map(|index| real(of_sample(index))).collect()
    }

    /// Bytes per second at the quoted time, where the series moves bytes.
    pub fn bytes_per_s(&self) -> Option<f64> {
        self.per_s(self.bytes_per_op? as f64)
    }

    /// The rates of the series beside that, each with its amount of one operation and its value at the
    /// quoted time.
    pub fn rates(&self) -> impl Iterator<Item = (&'static Rate, f64, Option<f64>)> {
        let rates = self.series.rates.iter().zip(&self.amounts_per_op);
        rates.map(|(rate, amount)| (rate, *amount, self.per_s(*amount)))
    }

    /// `amount` of each operation per second, at the quoted time or, where that is a least one, at the
    /// median; `None` for an amount of 0.
    fn per_s(&self, amount: f64) -> Option<f64> {
        let basis_ns =
            if self.quote.is_least() { Some(self.summary.median) } else { self.quoted_ns };
        let ns = basis_ns.filter(|ns| *ns > 0.0 && amount > 0.0)?;
        Some(amount / ns * 1e9)
    }
}

/// Times of a warm-up, by the rank that was slowest in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmUpTimes {
    /// Medians of its blocks of 20 samples, in nanoseconds for one operation and in time order: those
    /// that decide about its end. Empty where it had fewer samples.
    pub block_medians_ns: Vec<f64>,
    /// Median of its samples from the steady state on, in nanoseconds for one operation: that by
    /// which repetitions are chosen. `None` if no rank sampled.
    pub operation_ns: Option<f64>,
}

/// Reported statistic of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// The median.
    Median,
    /// The least value.
    Min,
    /// The least of 20 values, the median over the slices.
    LeastOf20,
    /// The arithmetic mean of a slice, the median over the slices.
    SliceMean,
    /// The arithmetic mean (IMB, OSU).
    Mean,
    /// The mean of the middle half (SKaMPI).
    MiddleMean,
    /// The mean, less the cost of an empty loop (thesis section 3.1.3).
    Corrected,
}

impl Quote {
    /// True for a least value, of which no rate is formed.
    pub fn is_least(self) -> bool {
        matches!(self, Self::Min | Self::LeastOf20)
    }

    /// True if a slice of `n_samples` counts as preempted after the system took processors from its
    /// ranks `n_switches` times, each of which spoils one sample: medians, least values and means of
    /// the middle half bear a tenth of spoiled samples, other means none.
    pub(crate) fn is_spoiled_by(self, n_switches: u64, n_samples: usize) -> bool {
        match self {
            Self::Median | Self::LeastOf20 | Self::MiddleMean => 10 * n_switches > n_samples as u64,
            Self::Min | Self::SliceMean | Self::Mean | Self::Corrected => n_switches > 0,
        }
    }
}

/// One case, verified and measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The case.
    pub case: Case,
    /// True if refinement asked for the case, and not the plan.
    pub is_refined: bool,
    /// Repetitions per sample, and how samples started; `n_samples` of a whole slice.
    pub pace: Pace,
    /// Number of slices; the last may be shorter than `pace.n_samples`.
    pub n_slices: u32,
    /// True if the interval of every series met its target; `None` without a target, or with too
    /// few slices for an interval.
    pub converged: Option<bool>,
    /// True if the warm-up ended in a steady state.
    pub is_steady: bool,
    /// Resources used by the ranks while samples were taken, if the system reports them.
    pub usage: Option<Usage>,
    /// Number of slices with so many preemptions that they may change the figure; 0 if the system
    /// does not report them.
    pub n_disturbed: u32,
    /// Times of a cache line from rank 0 to rank 1 before, during and after the measurement; `None`
    /// if the transport does not report them.
    pub line_times: Option<LineTimes>,
    /// The series, in the kernel's order.
    pub series: Vec<SeriesResult>,
    /// Figures derived from the series together.
    pub derived: Vec<Derived>,
    /// From the start of the run to the end of the case, in nanoseconds.
    pub since_start_ns: u64,
}

/// Reason that a case has no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The ranks, the results so far or the transport do not admit the case.
    Skipped,
    /// The data that arrived was wrong.
    CheckFailed,
    /// The ranks did not take the samples that the kernel's definitions ask for.
    Failed,
}

impl Failure {
    /// Name as in the record.
    pub fn name(self) -> &'static str {
        ["skipped", "check_failed", "failed"][self as usize]
    }
}

/// One case that has no numbers.
#[derive(Clone, Debug)]
pub struct CaseFailure {
    /// The case.
    pub case: Case,
    /// Kind of failure.
    pub failure: Failure,
    /// The rank that reported it, if one did.
    pub rank: Option<Rank>,
    /// One sentence that says why.
    pub message: String,
    /// From the start of the run, in nanoseconds.
    pub since_start_ns: u64,
}

/// Reason that a run ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The listener asked for it; its words (`SIGINT`).
    Interrupted(String),
    /// The time budget of the run is spent.
    BudgetSpent,
}

/// End of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunEnd {
    /// Cases measured.
    pub n_ok: usize,
    /// Cases whose check failed.
    pub n_check_failed: usize,
    /// Cases that could not be run.
    pub n_failed: usize,
    /// Cases skipped with a reason.
    pub n_skipped: usize,
    /// Reason that the plan was not finished, if it was not.
    pub stop: Option<Stop>,
    /// Length of the run in nanoseconds.
    pub wall_ns: u64,
}

/// One turn of slices.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The kernel.
    pub info: &'static KernelInfo,
    /// Number of the pass, from 2: the first is that in which the cases are started.
    pub number: u32,
    /// Number of cases that get a slice.
    pub n_open: usize,
}

/// Cases of one kernel that were measured while the cores of ranks 0 and 1 moved.
#[derive(Clone, Debug)]
pub struct CoresMoved {
    /// The kernel.
    pub info: &'static KernelInfo,
    /// Evidence.
    pub line_times: LineTimes,
    /// From the start of the run to the end of the cases, in nanoseconds.
    pub since_start_ns: u64,
}

/// Windows of a kernel that were given up: most starts of a case lay too far apart, and all cases that
/// are still to be written start after a barrier.
#[derive(Clone, Debug)]
pub struct WindowGivenUp {
    /// The kernel.
    pub info: &'static KernelInfo,
    /// The case.
    pub case: String,
    /// From the start of the run, in nanoseconds.
    pub since_start_ns: u64,
}

/// Events of a run, in this order; rank 0 passes them to its listener.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ranks are up and the clock is calibrated.
    RunStarted(&'a RunStart),
    /// A case is about to be verified and measured.
    CaseStarted(&'a Case),
    /// Cases of one kernel, all of which have a slice, are about to get another.
    PassStarted(&'a Pass),
    /// A case was verified and measured.
    CaseFinished(&'a Measurement),
    /// A case has no numbers.
    CaseFailed(&'a CaseFailure),
    /// Windows of a kernel were given up.
    WindowGivenUp(&'a WindowGivenUp),
    /// Cores moved while the latest cases were measured.
    CoresMoved(&'a CoresMoved),
    /// The run is over.
    RunFinished(&'a RunEnd),
}

/// Listener of a run; called on rank 0, never between two clock reads.
pub trait Listener {
    /// Takes note of `event`.
    ///
    /// # Errors
    /// If the event cannot be kept (a full disk, say); the run then ends on all ranks.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Reason to end the run early, if any; asked between the rounds of a case.
    fn interrupted(&self) -> Option<String> {
        None
    }

    /// True if more than `max_bytes` of results are not written yet. Before it returns true, the
    /// listener gives its outputs a moment; the driver asks again while all ranks idle.
    fn is_behind(&mut self, max_bytes: usize) -> bool {
        let _ = max_bytes;
        false
    }
}

impl<F> Listener for F
where
    F: FnMut(&Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>>,
{
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self(event)
    }
}
