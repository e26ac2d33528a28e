//! Rank 0: decides what all ranks do next, collects their reports, tells the listener.

use super::decision::Decision;
use super::pace::{self, Probe};
use super::report::Report;
use super::stage::Stage;
use super::{DriverError, Settings};
use crate::context::Pace;
use crate::definition::Definition;
use crate::event::{
    CaseFailure, ClockCalibration, Event, Failure, History, Listener, Measurement, RankSamples,
    RunEnd, SeriesResult, Stop,
};
use crate::kernel::{Case, Kernel, MAX_SERIES, Series};
use crate::sample::Sample;
use crate::stats::Summary;
use crate::transport::{Rank, Transport};

/// Samples of all ranks, by series.
type Gathered = Vec<Vec<RankSamples>>;

/// Why a case ends without numbers.
struct Refusal {
    failure: Failure,
    rank: Option<Rank>,
    message: String,
}

pub(super) struct Conductor<'a, T: Transport> {
    pub(super) stage: Stage<'a, T>,
    pub(super) settings: &'a Settings,
    pub(super) listener: &'a mut dyn Listener,
    pub(super) clock: ClockCalibration,
    pub(super) history: History,
    pub(super) start_ns: u64,
    pub(super) end: RunEnd,
}

impl<T: Transport> Conductor<'_, T> {
    /// Takes the plan through; `Ok` also when the run was stopped early.
    pub(super) fn run(&mut self, cases: &[Case]) -> Result<(), DriverError> {
        for case in cases {
            if self.is_stopped() {
                break;
            }
            self.listener.event(&Event::CaseStarted(case)).map_err(DriverError::Listener)?;
            match self.case(*case)? {
                Ok(measurement) => self.finished(measurement)?,
                Err((case, refusal)) => self.failed(case, refusal)?,
            }
        }
        Ok(())
    }

    /// The clock since the start of the run.
    pub(super) fn since_start_ns(&self) -> u64 {
        self.stage.t.now_ns() - self.start_ns
    }

    /// Verifies, measures, and verifies again.
    fn case(&mut self, planned: Case) -> Result<Result<Measurement, (Case, Refusal)>, DriverError> {
        let case = match self.resolve(planned) {
            Ok(case) => case,
            Err(refusal) => return Ok(Err((planned, refusal))),
        };
        let steps = |conductor: &mut Self| {
            conductor.verify(&case)?;
            let measurement = conductor.measure(&case)?;
            conductor.verify(&case)?;
            Ok(Measurement { since_start_ns: conductor.since_start_ns(), ..measurement })
        };
        match steps(self) {
            Ok(measurement) => Ok(Ok(measurement)),
            Err(Interruption::Refused(refusal)) => Ok(Err((case, refusal))),
            Err(Interruption::Fatal(error)) => Err(error),
        }
    }

    /// Whether the ranks admit the case, and what it lacks from earlier results.
    fn resolve(&self, case: Case) -> Result<Case, Refusal> {
        let skip = |message| Refusal { failure: Failure::Skipped, rank: None, message };
        (case.info.admits)(&case, self.stage.t.topology()).map_err(skip)?;
        self.kernel(&case).resolve(case, &self.history).map_err(skip)
    }

    fn verify(&mut self, case: &Case) -> Result<(), Interruption> {
        self.order(case, None).map(drop)
    }

    fn measure(&mut self, case: &Case) -> Result<Measurement, Interruption> {
        let first = self.probe(case, pace::FIRST_PROBE, 0)?;
        let pace = self.pace(case, first, pace::N_PROBE_SAMPLES);
        let probe = self.probe(case, pace, first.round_ns(pace))?;
        let mut n_warmup: [u32; MAX_SERIES] = std::array::from_fn(|series| {
            n_operations(pace::FIRST_PROBE, series) + n_operations(pace, series)
        });
        let (mut n_left, per_round) = pace::samples(self.settings, probe.sample_ns);
        let (mut gathered, mut n_rounds) = (Gathered::new(), 0);
        while n_left > 0 && (n_rounds == 0 || !self.is_stopped()) {
            let pace = self.pace(case, probe, n_left.min(per_round));
            append(&mut gathered, self.order(case, Some((pace, probe.round_ns(pace))))?);
            n_warmup = std::array::from_fn(|series| n_warmup[series] + pace.settle[series]);
            n_left -= pace.n_samples;
            n_rounds += 1;
        }
        let pace = self.pace(case, probe, per_round);
        self.measurement(case, pace, n_rounds, n_warmup, gathered)
    }

    /// The pace for `n_samples` samples, given what a probe found.
    fn pace(&self, case: &Case, probe: Probe, n_samples: u32) -> Pace {
        let timing = case.info.timing;
        let repetitions = pace::repetitions(self.settings, timing, self.clock, probe);
        let settle = if self.stage.t.clock().is_virtual {
            // Nothing there falls asleep or warms up, but ranks get into step.
            [pace::MIN_SETTLE; MAX_SERIES]
        } else {
            pace::settle(probe)
        };
        Pace { repetitions, n_samples, settle }
    }

    /// Takes a few samples to warm up and to see how long an operation takes.
    fn probe(&mut self, case: &Case, pace: Pace, expected_ns: u64) -> Result<Probe, Interruption> {
        let repetitions = pace.repetitions;
        let start_ns = self.stage.t.now_ns();
        let gathered = self.order(case, Some((pace, expected_ns)))?;
        let wall_ns = self.stage.t.now_ns() - start_ns;
        let elapsed_ns = |samples: &[Sample]| -> Vec<f64> {
            let definition = Definition::TestNode;
            samples.iter().map(|s| definition.value_ns(&[*s], repetitions, true)).collect()
        };
        let of_rank = |ranks: &RankSamples| Summary::of(&elapsed_ns(&ranks.samples));
        let mut series_ns = [None; MAX_SERIES];
        for (ns, ranks) in series_ns.iter_mut().zip(&gathered) {
            let of_ranks = ranks.iter().filter_map(of_rank).map(|summary| summary.median);
            *ns = of_ranks.max_by(f64::total_cmp);
        }
        let probe = Probe { series_ns, sample_ns: 0.0 };
        // The wall time holds what surrounds the intervals too: buffers and synchronisation.
        #[expect(clippy::cast_precision_loss, reason = "a probe lasts far below 2^53 ns")]
        let sampling_ns = wall_ns as f64 - probe.settle_ns(pace);
        let sample_ns = sampling_ns / f64::from(pace.n_samples);
        Ok(Probe { sample_ns: sample_ns.max(probe.batch_ns(repetitions)), ..probe })
    }

    fn measurement(
        &mut self,
        case: &Case,
        pace: Pace,
        n_rounds: u32,
        n_warmup: [u32; MAX_SERIES],
        gathered: Gathered,
    ) -> Result<Measurement, Interruption> {
        let clock_is_global = self.stage.t.clock().is_global;
        let of_series = case.info.series.iter().zip(gathered).zip(n_warmup);
        let series = of_series.map(|((series, ranks), n_warmup)| {
            require_samples(series, &ranks)?;
            let values_ns = values_ns(series.definition, &ranks, pace.repetitions, clock_is_global);
            let none = || format!("no rank took a sample of {}", series.name);
            let summary = Summary::of(&values_ns).ok_or_else(none)?;
            Ok(SeriesResult { series, n_warmup, ranks, values_ns, summary })
        });
        let series: Vec<SeriesResult> = series
            .collect::<Result<_, String>>()
            .map_err(|message| Interruption::refuse(Failure::Failed, None, message))?;
        let summaries: Vec<Summary> = series.iter().map(|s| s.summary).collect();
        let figures = self.kernel(case).figures(case, &summaries);
        let since_start_ns = self.since_start_ns();
        Ok(Measurement { case: *case, pace, n_rounds, series, figures, since_start_ns })
    }

    /// Has all ranks measure at a pace, which is expected to take so many nanoseconds (or verify,
    /// without one), and gathers what they report.
    fn order(&mut self, case: &Case, pace: Option<(Pace, u64)>) -> Result<Gathered, Interruption> {
        let t = self.stage.t;
        let target = self.stage.target(case).expect("plans name kernels of this run");
        let decision = match pace {
            Some((pace, expected_ns)) => Decision::Measure(target, pace, expected_ns),
            None => Decision::Verify(target),
        };
        decision.announce(t)?;
        let own = match pace {
            Some((pace, expected_ns)) => self.stage.measure(&target, pace, expected_ns)?,
            None => self.stage.verify(&target)?,
        };
        gather(own.gather(t)?, case.info.series.len())
    }

    /// Whether the run ends early. Once it does it stays so, and says so: the rounds that the last
    /// case lacks are missing from the plan too.
    fn is_stopped(&mut self) -> bool {
        if self.end.stop.is_none() {
            self.end.stop = self.stop();
        }
        self.end.stop.is_some()
    }

    fn stop(&self) -> Option<Stop> {
        if let Some(why) = self.listener.interrupted() {
            return Some(Stop::Interrupted(why));
        }
        let spent = |budget_ns| self.since_start_ns() >= budget_ns;
        self.settings.run_budget_ns.is_some_and(spent).then_some(Stop::BudgetSpent)
    }

    fn kernel(&self, case: &Case) -> &dyn Kernel<T> {
        let target = self.stage.target(case).expect("plans name kernels of this run");
        self.stage.kernels[target.kernel_idx]
    }

    /// Keeps a measurement whose data was right before and after it; kernels build on no other.
    fn finished(&mut self, measurement: Measurement) -> Result<(), DriverError> {
        self.end.n_ok += 1;
        let summaries = measurement.series.iter().map(|series| series.summary).collect();
        self.history.push(measurement.case, summaries);
        self.listener.event(&Event::CaseFinished(&measurement)).map_err(DriverError::Listener)
    }

    fn failed(&mut self, case: Case, refusal: Refusal) -> Result<(), DriverError> {
        let Refusal { failure, rank, message } = refusal;
        match failure {
            Failure::Skipped => self.end.n_skipped += 1,
            Failure::CheckFailed => self.end.n_check_failed += 1,
            Failure::Failed => self.end.n_failed += 1,
        }
        let since_start_ns = self.since_start_ns();
        let failure = CaseFailure { case, failure, rank, message, since_start_ns };
        self.listener.event(&Event::CaseFailed(&failure)).map_err(DriverError::Listener)
    }
}

/// Why the steps of a case do not go on.
enum Interruption {
    Refused(Refusal),
    Fatal(DriverError),
}

impl Interruption {
    fn refuse(failure: Failure, rank: Option<Rank>, message: String) -> Self {
        Self::Refused(Refusal { failure, rank, message })
    }
}

impl<E: Into<DriverError>> From<E> for Interruption {
    fn from(error: E) -> Self {
        Self::Fatal(error.into())
    }
}

/// Operations of a series at a pace.
fn n_operations(pace: Pace, series: usize) -> u32 {
    pace.settle[series] + pace.n_samples * pace.repetitions
}

/// The samples by series, or the worst trouble that a rank reported: wrong data before all else.
fn gather(reports: Vec<Report>, n_series: usize) -> Result<Gathered, Interruption> {
    let mut gathered: Gathered = vec![Vec::new(); n_series];
    let mut troubles = Vec::new();
    for (rank, report) in reports.into_iter().enumerate() {
        match report {
            Report::Mismatch(message) => troubles.push((0, Failure::CheckFailed, rank, message)),
            Report::Unsupported(message) => troubles.push((1, Failure::Skipped, rank, message)),
            Report::Done(series) => {
                for (ranks, samples) in gathered.iter_mut().zip(series) {
                    if !samples.is_empty() {
                        ranks.push(RankSamples { rank, samples });
                    }
                }
            }
        }
    }
    match troubles.into_iter().min_by_key(|(order, _, rank, _)| (*order, *rank)) {
        Some((_, failure, rank, message)) => {
            Err(Interruption::refuse(failure, Some(rank), message))
        }
        None => Ok(gathered),
    }
}

/// Refuses samples that would make no value: of another rank than the definition means, or of some
/// ranks only.
fn require_samples(series: &Series, ranks: &[RankSamples]) -> Result<(), String> {
    let n_samples = |of_rank: &RankSamples| of_rank.samples.len();
    if ranks.windows(2).any(|pair| n_samples(&pair[0]) != n_samples(&pair[1])) {
        return Err(format!("the ranks took different numbers of samples of {}", series.name));
    }
    if series.definition.is_of_one_rank() && ranks.len() > 1 {
        let (definition, n) = (series.definition.name(), ranks.len());
        return Err(format!("{n} ranks sampled {}, but {definition} is of one", series.name));
    }
    Ok(())
}

/// Adds the samples of one round to those of the rounds before.
fn append(gathered: &mut Gathered, round: Gathered) {
    if gathered.is_empty() {
        *gathered = round;
        return;
    }
    for (ranks, round) in gathered.iter_mut().zip(round) {
        for (of_rank, of_round) in ranks.iter_mut().zip(round) {
            of_rank.samples.extend(of_round.samples);
        }
    }
}

/// Value of each sample over the ranks that took it.
fn values_ns(
    definition: Definition,
    ranks: &[RankSamples],
    repetitions: u32,
    clock_is_global: bool,
) -> Vec<f64> {
    let n_samples = ranks.iter().map(|of_rank| of_rank.samples.len()).min().unwrap_or(0);
    let value_ns = |i| {
        let of_ranks: Vec<Sample> = ranks.iter().map(|of_rank| of_rank.samples[i]).collect();
        definition.value_ns(&of_ranks, repetitions, clock_is_global)
    };
    (0..n_samples).map(value_ns).collect()
}
