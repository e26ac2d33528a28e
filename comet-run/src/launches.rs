//! Several launches of one run: the ranks are started anew for each, and the slices of every case are
//! spread over them.
//!
//! ```text
//!   launch 1   ranks start ── all cases, some slices each ── ranks end ┐
//!   launch 2   ranks start ── the same cases, likewise    ── ranks end ├─► points, models, end
//!   …          until there are enough, or intervals are narrow         ┘
//! ```
//!
//! What a launch measures is in the file at once; this process, which outlives the ranks, gets it
//! through a file without a name, and makes the points when the last launch is over.

use std::fs::File;
use std::io;
use std::mem::take;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use comet_core::driver::{Rules, Settings};
use comet_core::kernel::{Arrangement, Case, GROUPS, PROCS, Profile};
use comet_report::launches::Concluded;
use comet_report::record::{Param, Point};
use comet_report::recorder;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::backend::{Ended, Job, Launch};
use crate::catalogue;
use crate::cli::PlanArgs;
use crate::execute::Bench;
use crate::exit;
use crate::results::{self, Results};
use crate::signals::Signals;

/// Launches of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Launches {
    /// Number of launches.
    pub(crate) n: u32,
    /// The most, where intervals are not as narrow as the user wants them.
    most: u32,
    /// Time from the start of the first to that of the last.
    over: Option<Duration>,
    /// Half width of an interval that the user wants, relative to its figure.
    pub(crate) target: Option<f64>,
    /// Time after which no further one is started.
    budget: Option<Duration>,
}

/// The most launches for an interval that is wanted, in multiples of those without.
const MOST: u32 = 4;
/// Time from one look for a signal to the next, between two launches.
const STEP: Duration = Duration::from_millis(20);

impl Launches {
    /// The launches that `args` ask for, of ranks of `job` with these `settings`.
    ///
    /// # Errors
    /// If several are asked for of ranks that a launcher has started.
    pub(crate) fn of(args: &PlanArgs, settings: &Settings, job: &dyn Job) -> anyhow::Result<Self> {
        let is_joined = job.n_ranks().is_some();
        let asked = args.effort.launches;
        if let Some(n) = asked.filter(|n| *n > 1 && is_joined) {
            return Err(exit::usage(format!(
                "--launches {n} is for ranks that comet-run starts, these were started once \
                 (start the whole job {n} times: comet-run launches -n {n} -- COMMAND)"
            )));
        }
        let is_counted = settings.samples.is_some() || settings.repetitions.is_some();
        let is_single = is_joined || is_counted || settings.rules != Rules::Comet;
        let by_default = match args.cases.profile {
            _ if is_single => 1,
            Profile::Quick => 3,
            Profile::Standard => 5,
            Profile::Full => 10,
        };
        let n = asked.unwrap_or(by_default);
        let budget = settings.run_budget_ns.map(Duration::from_nanos);
        Ok(Self { budget, ..Self::new(n, args.effort.over, args.method.target) })
    }

    /// `n` launches, spread `over` a time, and up to four times as many for intervals of
    /// `target_percent`.
    pub(crate) fn new(n: u32, over: Option<Duration>, target_percent: Option<f64>) -> Self {
        let target = target_percent.map(|percent| percent / 100.0);
        let most = if target.is_some() { MOST * n } else { n };
        Self { n, most, over, target, budget: None }
    }

    /// Starts one launch after the other by `launch`, until there are enough, or it returns false, or
    /// the budget is spent, or a signal arrives in between, whose name is returned.
    pub(crate) fn take(
        &self,
        signals: &Signals,
        mut launch: impl FnMut(recorder::Launch) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<&'static str>> {
        let start = Instant::now();
        for number in 1..=self.most {
            let goes_on = launch(recorder::Launch { number, since_start: start.elapsed() })?;
            let is_spent = self.budget.is_some_and(|budget| start.elapsed() >= budget);
            if !goes_on || is_spent || number == self.most {
                break;
            }
            while start.elapsed() < self.start_after(number) && signals.arrived().is_none() {
                thread::sleep(STEP);
            }
            if signals.arrived().is_some() {
                return Ok(signals.arrived());
            }
        }
        Ok(None)
    }

    /// True if `point`, of `number` launches, needs another.
    pub(crate) fn is_open(&self, point: &Point, number: u32) -> bool {
        number < self.n || !self.suffices(point)
    }

    /// Settings of the launch `number`, which starts so long after the first: its share of the
    /// slices and of the time, and an order of its own.
    fn share(&self, all: &Settings, number: u32, since_start: Duration) -> Settings {
        let mut settings = all.clone();
        settings.seed = comet_report::launches::seed(all.seed, number);
        settings.run_budget_ns = all.run_budget_ns.map(|budget_ns| {
            let spent_ns = u64::try_from(since_start.as_nanos()).unwrap_or(u64::MAX);
            budget_ns.saturating_sub(spent_ns) / u64::from(self.n.saturating_sub(number) + 1)
        });
        // Refinement decides by intervals of the first launch, and the others follow it.
        if settings.refine.is_some() && number == 1 {
            return settings;
        }
        settings.refine = None;
        settings.case_budget_ns = all.case_budget_ns.div_ceil(u64::from(self.n));
        settings.samples = all.samples.map(|samples| samples.div_ceil(self.n));
        settings.slices.min = all.slices.min.div_ceil(self.n);
        settings.slices.max = settings.slices.min;
        settings.slices.target = None;
        settings
    }

    /// True if the interval of `point` is as narrow as the user wants it.
    fn suffices(&self, point: &Point) -> bool {
        let converged = point.measured().and_then(|of| of.quality.as_ref()?.converged);
        self.target.is_none() || converged == Some(true)
    }

    /// Time from the start of the first launch to that of the launch after `number`.
    fn start_after(&self, number: u32) -> Duration {
        let n_gaps = self.n.saturating_sub(1).max(1);
        self.over.map_or(Duration::ZERO, |over| over / n_gaps * number.min(n_gaps))
    }
}

/// One launch of several, as its outputs see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) launch: recorder::Launch,
    /// Number of launches that are planned.
    pub(crate) n: u32,
    carry: &'a File,
}

impl Part<'_> {
    /// Writer of records for the process that makes the points.
    pub(crate) fn carry(&self) -> io::Result<File> {
        self.carry.try_clone()
    }
}

/// Measures `cases` in several launches of `ranks`; returns the exit code.
pub(crate) fn measure(
    launches: &Launches,
    bench: &Bench<'_>,
    ranks: &Launch,
    mut cases: Vec<Case>,
    results: &Results<'_>,
) -> anyhow::Result<u8> {
    let carry = File::from(memfd_create("comet-launches", MFdFlags::MFD_CLOEXEC)?);
    let has_died = AtomicBool::new(false);
    let mut code = exit::NOTHING;
    let mut concluded = Concluded::default();
    let reason = launches.take(&bench.signals, |launch| {
        let recorder::Launch { number, since_start } = launch;
        let part = Part { launch, n: launches.n, carry: &carry };
        let settings = launches.share(&bench.settings, number, since_start);
        let again = bench.job.again(number).filter(|_| number > 1);
        let job = again.as_deref().unwrap_or(bench.job);
        let file = bench.file.as_ref();
        let conclude = |ended: &Ended| {
            // Relaxed: it is read once the job is over.
            has_died.store(results::death(ended).is_some(), Ordering::Relaxed);
            results::conclude(ended, file)
        };
        let observe = |placements| results.observer(placements, Some(&part));
        let own = bench.launch(job, ranks, (take(&mut cases), &settings), &observe, &conclude)?;
        code = exit::worse(code, own);
        concluded = Concluded::of(&text(&carry)?, launches.target, None)?;
        let open = concluded.points().filter(|point| launches.is_open(point, number));
        cases = cases_of(open, ranks.topology.n_ranks());
        Ok(!exit::gives_up(own) && !cases.is_empty())
    })?;
    if let Some(signal) = reason {
        code = exit::code_of_signal(signal);
        concluded = Concluded::of(&text(&carry)?, launches.target, reason)?;
    }
    results::merge(results.file, &results.format, &concluded, has_died.into_inner())?;
    Ok(code)
}

/// All that was written to `carry`, whose position writers share.
fn text(carry: &File) -> io::Result<Vec<u8>> {
    let n_bytes = usize::try_from(carry.metadata()?.len()).map_err(io::Error::other)?;
    let mut text = vec![0; n_bytes];
    carry.read_exact_at(&mut text, 0)?;
    Ok(text)
}

/// The cases of `points` that have numbers, each once.
fn cases_of<'a>(points: impl Iterator<Item = &'a Point>, n_ranks: usize) -> Vec<Case> {
    let measured = points.filter(|point| point.measured().is_some());
    let mut cases: Vec<Case> = measured.filter_map(|point| case_of(point, n_ranks)).collect();
    cases.dedup_by_key(|case| case.label());
    cases
}

/// The case that `point` is a series of, with the values that it took from earlier results.
fn case_of(point: &Point, n_ranks: usize) -> Option<Case> {
    let id = format!("{}/{}", point.suite, point.kernel);
    let info = catalogue::infos().into_iter().find(|info| info.id() == id)?;
    let number = |name: &str| usize::try_from(point.params.number(name)?).ok();
    let arrangement = Arrangement {
        procs: number(PROCS.name).filter(|procs| *procs != n_ranks),
        n_groups: number(GROUPS.name).unwrap_or(1),
    };
    let case = Case::new(info, &[]).on(arrangement);
    info.axes.iter().try_fold(case, |case, used| {
        let value = match point.params.get(used.axis.name) {
            Some(Param::Number(value)) => *value,
            Some(Param::Label(label)) => {
                used.axis.labels.iter().position(|other| other == label)? as u64
            }
            // A value that was to be found, and was not.
            None => 0,
        };
        Some(case.with(used.axis, value))
    })
}
