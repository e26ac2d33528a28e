//! Rank 0: decides what all ranks do next, collects their reports, tells the listener.

use super::decision::{Decision, Target, Trail};
use super::elapsed::Elapsed;
use super::kernel_starts::KernelStarts;
use super::passes::{self, Wish};
use super::placement::Placement;
use super::point::{CaseState, Gathered, join};
use super::probe;
use super::stage::{self, Report, Stage};
use super::{DriverError, Pace, Rules, Settings, clock};
use crate::event::{
    CaseFailure, ClockCalibration, Event, Failure, Listener, Measurement, Pass, RunEnd, RunStart,
    SeriesResult, Stop,
};
use crate::kernel::{Case, Derived, History, Kernel, MAX_SERIES};
use crate::layout::{DATA_BYTES, EXTENT_BYTES, N_PIECES};
use crate::transport::{Rank, Transport};
use comet_stats::Summary;
use comet_stats::refine::Rule;
use oorandom::Rand32;

/// Bytes of results that may wait for their outputs while the run goes on.
const MAX_BACKLOG_BYTES: usize = 4 << 20;
/// The fewest samples between two of which the ranks look at what has arrived.
const MIN_LOOKED_INTO: u32 = 4;
/// Formula of the bytes of data of a message with a layout.
const OF_BLOCKS: &str = "sum of the blocks of one message";
/// Formula of the bytes that such a message spans.
const OF_EXTENT: &str = "from the start of one message to the end of its last block";
/// Formula of the number of pieces of such a message.
const OF_PIECES: &str = "blocks of one message, as loops copy them";
/// Clocks are compared again after so many nanoseconds.
const MAX_CLOCK_AGE_NS: u64 = 500_000_000;

/// Reason for which a case ends without numbers.
pub(super) struct Refusal {
    failure: Failure,
    rank: Option<Rank>,
    message: String,
}

/// A case of the group at hand.
pub(super) struct Entry {
    pub(super) case: Case,
    pub(super) is_refined: bool,
    pub(super) state: Result<Box<CaseState>, Refusal>,
}

pub(super) struct Conductor<'a, T: Transport> {
    pub(super) stage: Stage<'a, T>,
    pub(super) trail: Trail,
    pub(super) settings: &'a Settings,
    pub(super) listener: &'a mut dyn Listener,
    pub(super) clock: ClockCalibration,
    pub(super) starts: KernelStarts,
    pub(super) clocks_compared_ns: u64,
    pub(super) placement: Placement,
    pub(super) history: History,
    pub(super) elapsed: Elapsed,
    pub(super) start_ns: u64,
    pub(super) end: RunEnd,
}

/// Runs `cases` on all ranks and tells `listener`; rank 0 calls it while the others call
/// [`follow`](super::follow) with the same `kernels` and `settings`.
///
/// # Errors
/// If the transport or the listener fails. After a transport error the other ranks may wait for
/// this one: the caller has to end the job.
///
/// # Panics
/// If called on another rank than 0, or if a case names a kernel that is not in `kernels`.
pub fn conduct<T: Transport>(
    t: &T,
    kernels: &[&dyn Kernel<T>],
    cases: &[Case],
    settings: &Settings,
    listener: &mut dyn Listener,
) -> Result<RunEnd, DriverError> {
    assert_eq!(t.rank(), 0, "rank 0 conducts");
    let mut stage = Stage::new(t, kernels, settings);
    let is_known = |case: &Case| stage.kernel_idx(case).is_some();
    assert!(cases.iter().all(is_known), "a case names a kernel that is not in the list");
    let calibrations = clock::calibrate_all(t)?;
    let clock = calibrations[0];
    let starts = stage.set_up()?;
    let (n_clock_domains, clock_bound_ns) = stage.clock_domains();
    let line_ns = t.line_time_ns()?;
    let mut conductor = Conductor {
        stage,
        trail: Trail::default(),
        settings,
        listener,
        clock,
        starts: KernelStarts::new(starts),
        clocks_compared_ns: t.now_ns(),
        placement: Placement::new(line_ns, t.now_ns()),
        history: History::default(),
        elapsed: Elapsed::default(),
        start_ns: t.now_ns(),
        end: RunEnd::default(),
    };
    let start = RunStart {
        n_ranks: t.n_ranks(),
        clock: t.clock(),
        calibration: clock,
        calibrations,
        n_clock_domains,
        clock_bound_ns,
        clock_offsets: conductor.stage.clock_offsets(),
        line_ns,
        n_cases: cases.len(),
        kernels: passes::kernels(cases),
    };
    let started = conductor.listener.event(&Event::RunStarted(&start));
    let result = started.map_err(DriverError::Listener).and_then(|()| conductor.run(cases));
    conductor.end.wall_ns = conductor.since_start_ns();
    // The other ranks may not wait for an output behind their last decision.
    let result = result.and_then(|()| conductor.await_outputs(0));
    if let Err(DriverError::Transport(error)) = result {
        return Err(DriverError::Transport(error));
    }
    // What follows is no case: the launcher leaves it the time that it takes.
    t.annotate("", 0);
    Decision::Finish(conductor.end.clone()).announce(t, &conductor.trail)?;
    result?;
    let Conductor { listener, end, .. } = conductor;
    listener.event(&Event::RunFinished(&end)).map_err(DriverError::Listener)?;
    Ok(end)
}

impl<T: Transport> Conductor<'_, T> {
    /// Takes the plan through; `Ok` also when the run was stopped early.
    pub(super) fn run(&mut self, cases: &[Case]) -> Result<(), DriverError> {
        for group in passes::groups(cases, self.settings, self.stage.t.n_ranks()) {
            self.look_at_placement()?;
            self.begin_starts(group[0].info);
            let mut entries = self.open(group)?;
            self.take_slices(&mut entries)?;
            if let Some(rule) = self.settings.refine {
                entries = self.refine(entries, rule)?;
            }
            self.time_line()?;
            self.close(entries)?;
            self.end_placement(group[0].info)?;
        }
        Ok(())
    }

    /// The clock since the start of the run.
    pub(super) fn since_start_ns(&self) -> u64 {
        self.stage.t.now_ns() - self.start_ns
    }

    /// The first pass: checks each case, warms it up, and takes its first slice.
    fn open(&mut self, cases: &[Case]) -> Result<Vec<Entry>, DriverError> {
        let mut entries = Vec::new();
        for index in passes::order(1, (0..cases.len()).collect(), self.settings) {
            if self.is_stopped() {
                break;
            }
            let begun = self.begin(cases[index])?;
            entries.extend(begun.map(|entry| (index, entry)));
        }
        entries.sort_by_key(|(index, _)| *index);
        Ok(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Checks a case, warms it up, and takes its first slice; `None` if the run is stopped in a long
    /// warm-up.
    fn begin(&mut self, planned: Case) -> Result<Option<Entry>, DriverError> {
        self.listener.event(&Event::CaseStarted(&planned)).map_err(DriverError::Listener)?;
        let case = match self.resolve(planned) {
            Ok(case) => case,
            Err(refusal) => {
                let state = Err(refusal);
                return Ok(Some(Entry { case: planned, is_refined: false, state }));
            }
        };
        let begun_ns = self.stage.t.now_ns();
        self.pause();
        let steps = |conductor: &mut Self| {
            conductor.require_time(&case, begun_ns)?;
            let start_ns = conductor.stage.t.now_ns();
            conductor.order(&case, None)?;
            let check_ns = conductor.stage.t.now_ns() - start_ns;
            let Some(mut point) = conductor.warm_up(&case, check_ns)? else { return Ok(None) };
            conductor.require_time(&case, begun_ns)?;
            conductor.take_slice(&mut point)?;
            Ok(Some(Box::new(point)))
        };
        let state = unless_fatal(steps(self))?.transpose();
        self.spend(case, begun_ns, state.as_ref());
        Ok(state.map(|state| Entry { case, is_refined: false, state }))
    }

    /// The later passes, until every case has what it needs.
    fn take_slices(&mut self, entries: &mut [Entry]) -> Result<(), DriverError> {
        let is_open = |entry: &Entry| entry.state.as_ref().is_ok_and(|point| !point.is_done);
        for pass in 2.. {
            let open: Vec<usize> = (0..entries.len()).filter(|i| is_open(&entries[*i])).collect();
            let Some(first) = open.first() else { return Ok(()) };
            let info = entries[*first].case.info;
            let started = Pass { info, number: pass, n_open: open.len() };
            self.listener.event(&Event::PassStarted(&started)).map_err(DriverError::Listener)?;
            for index in passes::order(pass, open, self.settings) {
                if self.is_stopped() {
                    return Ok(());
                }
                let Ok(point) = &mut entries[index].state else { continue };
                self.wait_for_the_gap(point);
                let taken = self.take_slice(point);
                if let Err(refusal) = unless_fatal(taken)? {
                    entries[index].state = Err(refusal);
                }
                self.align_starts(entries)?;
            }
        }
        Ok(())
    }

    /// Further cases between those of the plan, a step of each sweep at a time.
    fn refine(&mut self, mut entries: Vec<Entry>, rule: Rule) -> Result<Vec<Entry>, DriverError> {
        let mut sweeps = passes::sweeps(&entries, rule, self.settings);
        while !sweeps.is_empty() && !self.is_stopped() {
            let mut wishes = Vec::new();
            sweeps.retain_mut(|sweep| {
                let wanted = sweep.next(&entries);
                let goes_on = !wanted.is_empty();
                wishes.extend(wanted);
                goes_on
            });
            for wish in wishes {
                match wish {
                    Wish::Case(_) if self.is_stopped() => (),
                    Wish::Case(case) => {
                        let begun = self.begin(case)?;
                        entries.extend(begun.map(|entry| Entry { is_refined: true, ..entry }));
                    }
                    Wish::Slice(index) => {
                        entries[index].state.iter_mut().for_each(|p| p.reopen(self.settings));
                    }
                }
            }
            self.take_slices(&mut entries)?;
        }
        Ok(passes::in_order(entries))
    }

    /// The last pass: checks each case again, and tells the listener.
    fn close(&mut self, entries: Vec<Entry>) -> Result<(), DriverError> {
        for Entry { case, is_refined, state } in entries {
            let checked = match state {
                // The run was stopped before it could be measured again, as those that it lacks.
                Ok(point) if self.end.stop.is_some() && point.is_empty() => continue,
                Ok(point) => unless_fatal(self.order(&case, None))?.map(|_| point),
                Err(refusal) => Err(refusal),
            };
            match checked.and_then(|point| self.measurement(*point, is_refined)) {
                Ok(measurement) => self.finished(measurement)?,
                Err(refusal) => self.failed(case, refusal)?,
            }
        }
        Ok(())
    }

    /// The case with the values that it takes from earlier results, if its ranks admit it.
    fn resolve(&mut self, case: Case) -> Result<Case, Refusal> {
        let skip = |message| Refusal { failure: Failure::Skipped, rank: None, message };
        self.history.show_ranks_of(&case);
        let topology = case.topology(self.stage.t.topology()).map_err(skip)?;
        let world = self.settings.world(&topology);
        world.admit(&case).map_err(skip)?;
        let case = self.kernel(&case).resolve(case, &world, &self.history).map_err(skip)?;
        world.fits(&case).map(|()| case).map_err(skip)
    }

    /// Takes one slice of a case.
    fn take_slice(&mut self, point: &mut CaseState) -> Result<(), Interruption> {
        self.compare_clocks()?;
        self.look_at_placement()?;
        let (case, pace) = (point.case, point.next_pace());
        let period_ns = self.settings.rules.period_ns(&pace, case.info, &point.probe);
        // Foreign rules say what goes before an operation, and how often each rank is a root.
        let may_look = self.settings.rules == Rules::Comet
            && case.info.begins_again
            && case.n_threads() == 1
            && self.settings.buffers.cache_bytes().is_none();
        let pace = Pace {
            period_ns,
            looks_after: u32::from(may_look),
            // Values of other starts, which no longer count, were of another barrier. The late ranks of a proof
            // would change the order in which simulated ranks ask for a link at one moment.
            proves_barrier: point.n_counted == 0
                && (!self.stage.t.clock().is_virtual || self.settings.fault.is_some()),
            ..pace
        };
        let start_ns = self.stage.t.now_ns();
        let sample_ns = point.probe.sample_ns;
        let expected_ns = |step| point.probe.round_ns(step);
        let (gathered, [n_steps, n_looks]) = self.round(&case, pace, expected_ns, sample_ns)?;
        let end_ns = self.stage.t.now_ns();
        let is_virtual = self.stage.t.clock().is_virtual;
        for (stretch, n) in pace.stretches(is_virtual).zip([n_steps, n_looks]) {
            point.n_warmup = added(point.n_warmup, Pace { n_samples: 0, ..stretch }, n);
        }
        point
            .add(gathered, end_ns, end_ns - start_ns, self.settings)
            .map_err(|message| Interruption::refuse(Failure::Failed, None, message))
    }

    /// Takes the samples of a round, `sample_ns` for each: all at once or, if that takes long, in
    /// steps, because a run may be stopped between two. A step is expected to take the `expected_ns`
    /// of its pace, which the watchdog allows for. Where the ranks may look at what arrives, they do so within
    /// each step of several samples. Returns the samples with the numbers of steps and of looks, each of which
    /// comes with the operations before the first clock read.
    pub(super) fn round(
        &mut self,
        case: &Case,
        pace: Pace,
        expected_ns: impl Fn(Pace) -> u64,
        sample_ns: f64,
    ) -> Result<(Gathered, [u32; 2]), Interruption> {
        // Simulated ranks take their time in no time.
        let is_virtual = self.stage.t.clock().is_virtual;
        let most =
            if is_virtual { u32::MAX } else { probe::step_samples(pace.n_samples, sample_ns) };
        let (mut all, mut n_steps, mut n_looks) = (Gathered::new(), 0, 0);
        let mut n_left = pace.n_samples;
        while n_left > 0 && (n_steps == 0 || !self.is_interrupted()) {
            // The step is part of the number, since the skew is drawn from it.
            let slice = pace.slice | n_steps << 16;
            let proves_barrier = pace.proves_barrier && n_steps == 0;
            let n_samples = n_left.min(most);
            let looks_after = if pace.looks_after > 0 { self.drawn_look(n_samples) } else { 0 };
            n_looks += u32::from(looks_after > 0);
            let step = Pace { n_samples, slice, looks_after, proves_barrier, ..pace };
            join(&mut all, self.order(case, Some((step, expected_ns(step))))?);
            n_left -= step.n_samples;
            n_steps += 1;
        }
        Ok((all, [n_steps, n_looks]))
    }

    /// The number of samples, of so many, after which the ranks look at what has arrived: any of them but the
    /// last, which they look behind in any case. None of a few samples, which may take long.
    fn drawn_look(&self, n_samples: u32) -> u32 {
        if n_samples < MIN_LOOKED_INTO {
            return 0;
        }
        Rand32::new(self.settings.seed ^ self.trail.hash()).rand_range(1..n_samples)
    }

    /// Compares clocks that drift apart, from time to time.
    fn compare_clocks(&mut self) -> Result<(), Interruption> {
        let now_ns = self.stage.t.now_ns();
        let drifts = self.stage.clock.as_ref().is_some_and(|clock| clock.n_domains() > 1);
        if drifts && now_ns - self.clocks_compared_ns > MAX_CLOCK_AGE_NS {
            Decision::CompareClocks.announce(self.stage.t, &self.trail)?;
            // Cases that are over keep their numbers; this one has samples on no common clock.
            if let Some(trouble) = self.stage.compare_clocks()? {
                return Err(Interruption::refuse(Failure::Failed, None, trouble));
            }
            self.clocks_compared_ns = now_ns;
        }
        Ok(())
    }

    /// Lets time pass between two slices of a case: rank 0 waits, and the others for it. Simulated
    /// noise is of operations, not of the time between them.
    fn wait_for_the_gap(&self, point: &CaseState) {
        let t = self.stage.t;
        let is_alone = self.settings.samples.is_some() || t.clock().is_virtual;
        if !is_alone {
            t.wait_until_ns(point.last_end_ns + point.slices.gap_ns);
        }
    }

    fn measurement(&mut self, point: CaseState, is_refined: bool) -> Result<Measurement, Refusal> {
        let (settings, case) = (self.settings, point.case);
        let (n_slices, usage, is_steady) = (point.n_slices, point.usage, point.is_steady);
        let n_disturbed = point.n_disturbed;
        let converged = point.converged(settings);
        let pace = Pace { slice: 0, n_samples: point.pace.n_samples, ..point.next_pace() };
        let world = self.stage.world(case.arrangement());
        let of_layout = world.blocks(&case).map(|blocks| {
            [
                Derived::of(DATA_BYTES, OF_BLOCKS, Some(blocks.data_bytes() as f64)),
                Derived::of(EXTENT_BYTES, OF_EXTENT, Some(blocks.extent_bytes() as f64)),
                Derived::of(N_PIECES, OF_PIECES, Some(blocks.n_pieces() as f64)),
            ]
        });
        let series = point.results(self.clock, &world).map_err(|message| Refusal {
            failure: Failure::Failed,
            rank: None,
            message,
        })?;
        let summaries: Vec<Summary> = series.iter().map(SeriesResult::told).collect();
        let mut derived = self.kernel(&case).derived(&case, &summaries);
        if let Some(part) = self.stage.latest(case.arrangement()) {
            derived.extend(self.kernel(&case).noted(&case, part));
        }
        derived.extend(of_layout.into_iter().flatten());
        let since_start_ns = self.since_start_ns();
        Ok(Measurement {
            case,
            is_refined,
            pace,
            n_slices,
            converged,
            is_steady,
            usage,
            n_disturbed,
            line_times: self.placement.line_times(),
            series,
            derived,
            since_start_ns,
        })
    }

    /// Has all ranks measure at a pace, which is expected to take so many nanoseconds (or verify,
    /// without one), and gathers what they report.
    pub(super) fn order(
        &mut self,
        case: &Case,
        pace: Option<(Pace, u64)>,
    ) -> Result<Gathered, Interruption> {
        let t = self.stage.t;
        let target = Target::of(self.kernel_idx(case), case);
        Decision::Run(target.clone(), pace).announce(t, &self.trail)?;
        let own = self.stage.run(&target, pace)?;
        gather(stage::gather(t, &own)?)
    }

    /// True if the run ends early. Once it does it stays so, and says so: the rounds that the last
    /// case lacks are missing from the plan too.
    fn is_stopped(&mut self) -> bool {
        if !self.is_interrupted() && self.end.stop.is_none() && self.is_budget_spent() {
            self.end.stop = Some(Stop::BudgetSpent);
        }
        self.end.stop.is_some()
    }

    /// True if the run ends early and in the middle of a case, which a spent budget is no reason for.
    pub(super) fn is_interrupted(&mut self) -> bool {
        if self.end.stop.is_none() {
            self.end.stop = self.listener.interrupted().map(Stop::Interrupted);
        }
        matches!(self.end.stop, Some(Stop::Interrupted(_)))
    }

    fn is_budget_spent(&self) -> bool {
        let spent = |budget_ns| self.since_start_ns() >= budget_ns;
        self.settings.run_budget_ns.is_some_and(spent)
    }

    fn kernel_idx(&self, case: &Case) -> usize {
        self.stage.kernel_idx(case).expect("plans name kernels of this run")
    }

    fn kernel(&self, case: &Case) -> &dyn Kernel<T> {
        self.stage.kernels[self.kernel_idx(case)]
    }

    /// Keeps a measurement whose data was right before and after it; kernels build on no other.
    fn finished(&mut self, measurement: Measurement) -> Result<(), DriverError> {
        self.end.n_ok += 1;
        let summaries = measurement.series.iter().map(SeriesResult::told).collect();
        self.history.push(measurement.case, summaries);
        self.tell(&Event::CaseFinished(&measurement))
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
        self.tell(&Event::CaseFailed(&failure))
    }

    /// Passes results to the listener, and waits if too many bytes of them are not written yet.
    fn tell(&mut self, event: &Event<'_>) -> Result<(), DriverError> {
        self.listener.event(event).map_err(DriverError::Listener)?;
        self.await_outputs(MAX_BACKLOG_BYTES)
    }

    /// Idles on all ranks while more than `max_bytes` of results are not written yet, so that a slow
    /// reader or disk stops the run and no watchdog ends it.
    pub(super) fn await_outputs(&mut self, max_bytes: usize) -> Result<(), DriverError> {
        while self.listener.is_behind(max_bytes) && self.listener.interrupted().is_none() {
            // Simulated ranks wait for nobody in the time of this machine.
            if !self.stage.t.clock().is_virtual {
                Decision::Pause.announce(self.stage.t, &self.trail)?;
            }
        }
        Ok(())
    }
}

/// Reason for which the steps of a case do not go on.
pub(super) enum Interruption {
    Refused(Refusal),
    Fatal(DriverError),
}

impl Interruption {
    pub(super) fn refuse(failure: Failure, rank: Option<Rank>, message: String) -> Self {
        Self::Refused(Refusal { failure, rank, message })
    }
}

impl<E: Into<DriverError>> From<E> for Interruption {
    fn from(error: E) -> Self {
        Self::Fatal(error.into())
    }
}

/// The result of the steps of a case, or the error that ends the run.
fn unless_fatal<R>(result: Result<R, Interruption>) -> Result<Result<R, Refusal>, DriverError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Interruption::Refused(refusal)) => Ok(Err(refusal)),
        Err(Interruption::Fatal(error)) => Err(error),
    }
}

/// Operations of each series, with those of a round at `pace` in so many steps.
pub(super) fn added(
    n_operations: [u32; MAX_SERIES],
    pace: Pace,
    n_steps: u32,
) -> [u32; MAX_SERIES] {
    let of = |n_intervals: u32| n_intervals.saturating_mul(pace.repetitions);
    let n_untimed = |series: usize| pace.settle[series].saturating_add(of(pace.n_discarded));
    let of_round = |series: usize| {
        n_steps.saturating_mul(n_untimed(series)).saturating_add(of(pace.n_samples))
    };
    std::array::from_fn(|series| n_operations[series].saturating_add(of_round(series)))
}

/// Samples of all ranks, or the worst trouble that one reported: wrong data before all else.
fn gather(reports: Vec<Report>) -> Result<Gathered, Interruption> {
    let (mut gathered, mut troubles) = (Gathered::new(), Vec::new());
    for (rank, report) in reports.into_iter().enumerate() {
        match report {
            Err((failure, message)) => troubles.push((failure, rank, message)),
            Ok(taken) => gathered.push((rank, taken)),
        }
    }
    let worst = |(failure, rank, _): &(Failure, _, _)| (*failure != Failure::CheckFailed, *rank);
    match troubles.into_iter().min_by_key(worst) {
        Some((failure, rank, message)) => Err(Interruption::refuse(failure, Some(rank), message)),
        None => Ok(gathered),
    }
}
