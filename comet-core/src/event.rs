//! What a run tells its listener, and what it remembers of itself.

use std::error::Error;

use crate::context::Pace;
use crate::kernel::{Case, Figure, KernelInfo, Series};
use crate::sample::Sample;
use crate::stats::Summary;
use crate::transport::{ClockInfo, Rank};

/// What the start-up calibration found out about a rank's clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockCalibration {
    /// Cost of one reading: least mean of 11 batches.
    pub cost_ns: f64,
    /// Smallest positive difference of two readings, or `None` if all were equal.
    pub step_ns: Option<u64>,
    /// Median difference of two readings back to back: what an empty interval reads.
    pub pair_bias_ns: f64,
}

/// Facts about a run that are known when it starts.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// How many ranks there are.
    pub n_ranks: usize,
    /// The clock.
    pub clock: ClockInfo,
    /// Its calibration on rank 0.
    pub calibration: ClockCalibration,
    /// How many cases are planned.
    pub n_cases: usize,
}

/// Samples that one rank took of one series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSamples {
    /// The rank.
    pub rank: Rank,
    /// Its samples, in time order.
    pub samples: Vec<Sample>,
}

/// One series of a measured case.
#[derive(Clone, Debug)]
pub struct SeriesResult {
    /// Description of the series.
    pub series: &'static Series,
    /// Operations that were run before the samples, and are not counted.
    pub n_warmup: u32,
    /// Raw samples of the ranks that sampled, in rank order.
    pub ranks: Vec<RankSamples>,
    /// Value of each sample by the series' definition, in nanoseconds for one operation.
    pub values_ns: Vec<f64>,
    /// Summary of the values.
    pub summary: Summary,
}

impl SeriesResult {
    /// The figure to quote, in nanoseconds: the median, or the least value where the series says so.
    #[must_use]
    pub fn quoted_ns(&self) -> f64 {
        if self.series.quote_minimum { self.summary.min } else { self.summary.median }
    }

    /// Bytes per second at the median time, where the series moves bytes.
    #[must_use]
    pub fn bytes_per_s(&self, case: &Case) -> Option<f64> {
        let bytes = (self.series.bytes_per_op)(case).filter(|bytes| *bytes > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53 bytes")]
        let bytes = bytes as f64;
        (self.summary.median > 0.0).then(|| bytes / self.summary.median * 1e9)
    }
}

/// One case, verified and measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The case.
    pub case: Case,
    /// Repetitions per sample; `n_samples` of a whole round.
    pub pace: Pace,
    /// How many rounds were taken; the last may be shorter than `pace.n_samples`.
    pub n_rounds: u32,
    /// The series, in the kernel's order.
    pub series: Vec<SeriesResult>,
    /// What follows from the series together.
    pub figures: Vec<Figure>,
    /// From the start of the run to the end of the case, in nanoseconds.
    pub since_start_ns: u64,
}

/// Why a case has no numbers.
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
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::CheckFailed => "check_failed",
            Self::Failed => "failed",
        }
    }
}

/// One case that has no numbers.
#[derive(Clone, Debug)]
pub struct CaseFailure {
    /// The case.
    pub case: Case,
    /// What happened.
    pub failure: Failure,
    /// Which rank reported it, if one did.
    pub rank: Option<Rank>,
    /// One sentence that says why.
    pub message: String,
    /// From the start of the run, in nanoseconds.
    pub since_start_ns: u64,
}

/// Why a run ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The listener asked for it; its words (`SIGINT`).
    Interrupted(String),
    /// The time budget of the run is spent.
    BudgetSpent,
}

/// How a run ended.
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
    /// Why the plan was not finished, if it was not.
    pub stop: Option<Stop>,
    /// Length of the run in nanoseconds.
    pub wall_ns: u64,
}

/// What happens during a run, in this order; rank 0 tells its listener.
#[derive(Debug)]
pub enum Event<'a> {
    /// The ranks are up and the clock is calibrated.
    RunStarted(&'a RunStart),
    /// A case is about to be verified and measured.
    CaseStarted(&'a Case),
    /// A case was verified and measured.
    CaseFinished(&'a Measurement),
    /// A case has no numbers.
    CaseFailed(&'a CaseFailure),
    /// The run is over.
    RunFinished(&'a RunEnd),
}

/// Who listens to a run; called on rank 0, never between two clock reads.
pub trait Listener {
    /// Takes note of `event`.
    ///
    /// # Errors
    /// If the event cannot be kept (a full disk, say); the run then ends on all ranks.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Whether the run should end early, and why; asked between the rounds of a case.
    fn interrupted(&self) -> Option<String> {
        None
    }
}

/// What a run has measured so far, for kernels that build on others' results.
#[derive(Debug, Default)]
pub struct History {
    points: Vec<(Case, Vec<Summary>)>,
}

impl History {
    /// Adds the summaries of all series of a measured case.
    pub fn push(&mut self, case: Case, summaries: Vec<Summary>) {
        self.points.push((case, summaries));
    }

    /// Cases and summaries of the kernel `id`, in the order in which they were measured.
    pub fn of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (&'a Case, &'a [Summary])> {
        let of_kernel = move |info: &KernelInfo| info.id() == id;
        self.points
            .iter()
            .filter(move |(case, _)| of_kernel(case.info))
            .map(|(case, summaries)| (case, summaries.as_slice()))
    }
}
