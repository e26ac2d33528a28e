//! Several launches of one run: the ranks are started anew for each, and the slices of every case are
//! spread over them.
//!
//! ```text
//!   launch 1   ranks start ── all cases, some slices each ── ranks end ┐
//!   launch 2   ranks start ── the same cases, likewise    ── ranks end ├─► points, models, end
//!   …          until there are enough, or intervals are narrow         ┘
//! ```
//!
//! Measurements of a launch are in the file at once; this process, which outlives the ranks, gets it
//! through a file without a name, and makes the points when the last launch is over.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use comet_core::collective::Element;
use comet_core::driver::{Rules, Settings};
use comet_core::kernel::{Arrangement, Case, DATATYPE, GROUPS, KernelInfo, PROCS, Profile};
use comet_core::topology::Topology;
use comet_report::format::{Look, table_for_terminal};
use comet_report::launches::Concluded;
use comet_report::read::whole_file;
use comet_report::record::{Param, Point, Record};
use comet_report::recorder;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::backend::{Ended, Launch};
use crate::catalogue;
use crate::cli::{PlanArgs, ProgressArg};
use crate::execute::Bench;
use crate::exit;
use crate::prepare::{self, KernelPlan};
use crate::results::{self, Results};
use crate::signals::Signals;
use crate::terminal::{Block, look};
use crate::world::Origin;

/// Launches of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Launches {
    /// Number of launches.
    pub(crate) n: u32,
    /// The most, where intervals are not as narrow as the user wants them.
    most: u32,
    /// Time from the start of the first to that of the last.
    pub(crate) over: Duration,
    /// Half width of an interval that the user wants, relative to its figure.
    pub(crate) target: Option<f64>,
    /// Time after which no further one is started.
    budget: Option<Duration>,
    /// True if a case takes slices for as long as its time lasts, which the user has set.
    fills_time: bool,
}

/// The most launches for an interval that is wanted, in multiples of those without.
const MOST: u32 = 4;
/// Time from the start of a launch to that of the next, unless the user wants another: 12 launches
/// lie in 24 s, whose intervals hold what the machine does, and not only what it does at a moment.
const PACE: Duration = Duration::from_millis(2182);
/// Time from the start of the ranks to their first case, and from their last to their end.
const START: Duration = Duration::from_millis(100);
/// Time from one look for a signal to the next, between two launches.
const STEP: Duration = Duration::from_millis(20);

impl Launches {
    /// The launches that `args` ask for, of ranks from `origin` with these `settings`.
    ///
    /// # Errors
    /// If several are asked for of ranks that a launcher has started.
    pub(crate) fn of(
        args: &PlanArgs,
        settings: &Settings,
        origin: &Origin,
    ) -> anyhow::Result<Self> {
        let is_joined = matches!(origin, Origin::Outside { .. });
        let asked = args.effort.launches;
        let several = asked.filter(|n| *n > 1).map(|n| (format!("--launches {n}"), n));
        let several = several.or(args.effort.over.map(|_| ("--over".into(), 5)));
        if let Some((option, n)) = several.filter(|_| is_joined) {
            return Err(exit::usage(format!(
                "{option} is for ranks that comet-run starts, these were started once (start the \
                 whole job {n} times: comet-run launches -n {n} -- COMMAND)"
            )));
        }
        let is_counted = settings.samples.is_some() || settings.repetitions.is_some();
        let is_single = is_joined || is_counted || settings.rules != Rules::Comet;
        let by_default = match args.cases.profile {
            _ if is_single => 1,
            Profile::Quick => 5,
            Profile::Standard => 12,
            Profile::Full => 20,
        };
        let n = asked.unwrap_or(by_default);
        let budget = settings.run_budget_ns.map(Duration::from_nanos);
        let fills_time = args.effort.time.is_some();
        // A moment of a simulated machine is as good as another.
        let is_quick = args.cases.profile == Profile::Quick || fills_time;
        let is_spread = matches!(origin, Origin::Here { .. }) && !is_quick;
        let pace = if is_spread { PACE } else { Duration::ZERO };
        let pace = budget.map_or(pace, |budget| pace.min(budget / (2 * n)));
        let over = args.effort.over.unwrap_or(pace * (n - 1));
        Ok(Self { budget, fills_time, ..Self::new(n, over, args.method.target) })
    }

    /// `n` launches of whole jobs, spread `over` a time, or at the default pace.
    pub(crate) fn of_jobs(n: u32, over: Option<Duration>, target_percent: Option<f64>) -> Self {
        Self::new(n, over.unwrap_or(PACE * (n - 1)), target_percent)
    }

    /// `n` launches, spread `over` a time, and up to four times as many for intervals of
    /// `target_percent`.
    fn new(n: u32, over: Duration, target_percent: Option<f64>) -> Self {
        let target = target_percent.map(|percent| percent / 100.0);
        let most = if target.is_some() { MOST * n } else { n };
        Self { n, most, over, target, budget: None, fills_time: false }
    }

    /// Starts one launch after the other by `launch`, until it returns false, or the budget is spent,
    /// or a signal arrives in between, whose name is returned; up to `n` more than the most, where
    /// some do not count.
    pub(crate) fn take(
        &self,
        signals: &Signals,
        mut launch: impl FnMut(recorder::Launch) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<&'static str>> {
        let start = Instant::now();
        let is_spent = || self.budget.is_some_and(|budget| start.elapsed() >= budget);
        let is_over = || is_spent() || signals.arrived().is_some();
        for number in 1..=self.most + self.n {
            if !launch(recorder::Launch { number, since_start: start.elapsed() })? {
                return Ok(None);
            }
            while start.elapsed() < self.start_after(number) && !is_over() {
                thread::sleep(STEP);
            }
            if is_over() {
                break;
            }
        }
        Ok(signals.arrived())
    }

    /// True if `point` of `concluded`, of `number` launches, needs another.
    pub(crate) fn is_open(&self, concluded: &Concluded, point: &Point, number: u32) -> bool {
        let is_wide = number < self.most && !self.suffices(point);
        number < self.n || is_wide || concluded.lacks_launches(point, self.n)
    }

    /// About the time of a run, the cases of which take the time that `of_launch` returns in one
    /// launch with its settings; `None` if that is not known.
    pub(crate) fn time(
        &self,
        settings: &Settings,
        of_launch: impl Fn(&Settings) -> Option<Duration>,
    ) -> Option<Duration> {
        let cases = self.time_of_cases(settings, &of_launch)?;
        if self.n == 1 {
            return Some(cases);
        }
        let last = START + of_launch(&self.share(settings, self.n, Duration::ZERO))?;
        Some((cases + START * self.n).max(self.over + last))
    }

    /// About the time of a run of `plan`; `None` if that is not known.
    pub(crate) fn time_of_plan(
        &self,
        plan: &[KernelPlan],
        topology: &Topology,
        settings: &Settings,
        origin: &Origin,
    ) -> Option<Duration> {
        self.time(settings, |of_launch| {
            let running = plan.iter().flat_map(|kernel| kernel.running(topology, settings));
            prepare::time(running, topology, of_launch, origin)
        })
    }

    /// About the time of cases in all launches, as [`time`](Self::time) without what is between.
    pub(crate) fn time_of_cases(
        &self,
        settings: &Settings,
        of_launch: impl Fn(&Settings) -> Option<Duration>,
    ) -> Option<Duration> {
        if self.n == 1 {
            return of_launch(settings);
        }
        (1..=self.n).map(|n| of_launch(&self.share(settings, n, Duration::ZERO))).sum()
    }

    /// Number of launches, in words: `5 launches`.
    pub(crate) fn words(&self) -> String {
        let n = comet_report::launches::count(self.n as usize);
        if self.most > self.n { format!("{n} (up to {} to meet --target)", self.most) } else { n }
    }

    /// Settings of the launch `number`, which starts so long after the first: its share of the
    /// slices and of the time, and an order of its own.
    fn share(&self, all: &Settings, number: u32, since_start: Duration) -> Settings {
        let mut settings = all.clone();
        settings.seed = comet_report::launches::seed(all.seed, number);
        settings.shuffles_first = number > 1;
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
        // Without a target the fewest slices are enough, and nothing is as narrow as 0.
        let most = all.slices.max.div_ceil(self.n).max(settings.slices.min);
        settings.slices.max = if self.fills_time { most } else { settings.slices.min };
        settings.slices.target = self.fills_time.then_some(0.0);
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
        self.over / n_gaps * number.min(n_gaps)
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
    let mut so_far = Block::default();
    let taken = launches.take(&bench.signals, |launch| {
        let recorder::Launch { number, since_start } = launch;
        let part = Part { launch, n: launches.n, carry: &carry };
        let mut settings = launches.share(&bench.settings, number, since_start);
        settings.after_barrier.clone_from(&concluded.after_barrier);
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
        concluded = Concluded::so_far(&whole_file(&carry)?, launches.target)?;
        if own != exit::OK {
            // What the launch has printed stands below the block, which stays where it is.
            so_far = Block::default();
        }
        if results.progress == ProgressArg::Auto && io::stderr().is_terminal() {
            so_far.show(&provisional(&concluded, number)?);
        }
        let is_open = |point: &&Point| launches.is_open(&concluded, point, number);
        let open = concluded.points().filter(is_open);
        let layouts = bench.settings.layouts.iter().map(ToString::to_string);
        cases = cases_of(open, ranks.topology.n_ranks(), &layouts.collect::<Vec<_>>());
        Ok(!exit::gives_up(own) && !cases.is_empty())
    });
    so_far.show(&[]);
    // A launch that could not be started leaves those before it.
    let reason = taken.as_ref().map_or(Some("error"), |signal| *signal);
    let concluded = Concluded::of(&whole_file(&carry)?, launches.target, reason)?;
    results::merge(results.file, &results.format, &concluded, has_died.into_inner())?;
    Ok(taken?.map_or(code, exit::code_of_signal))
}

/// The run after so many launches, in lines: at a glance, and the rows of its points so far.
fn provisional(concluded: &Concluded, n_launches: u32) -> io::Result<Vec<String>> {
    let Concluded { head, tail, .. } = concluded;
    let glance = tail.iter().flat_map(|record| match record {
        Record::End(end) => &end.glance[..],
        _ => &[],
    });
    let title = format!("so far, of {}", comet_report::launches::count(n_launches as usize));
    let lines = std::iter::once(title).chain(glance.map(|answer| format!("  {answer}")));
    let mut table = Vec::new();
    let look = Look { has_color: false, ..look() };
    let mut writer = table_for_terminal(Box::new(&mut table), true, look);
    let runs = head.iter().filter(|record| matches!(record, Record::Run(_)));
    let points = tail.iter().filter(|record| matches!(record, Record::Point(_)));
    runs.chain(points).try_for_each(|record| writer.record(record))?;
    writer.flush()?;
    drop(writer);
    let table = String::from_utf8_lossy(&table);
    let rows = table.lines().filter(|line| !line.is_empty()).map(str::to_owned);
    Ok(lines.chain(rows).collect())
}

/// The cases of `points` that have numbers, each once.
fn cases_of<'a>(
    points: impl Iterator<Item = &'a Point>,
    n_ranks: usize,
    layouts: &[String],
) -> Vec<Case> {
    let infos = catalogue::infos();
    let measured = points.filter(|point| point.measured().is_some());
    let mut cases: Vec<Case> =
        measured.filter_map(|point| case_of(point, &infos, n_ranks, layouts)).collect();
    cases.dedup_by_key(|case| case.label());
    cases
}

/// The case of one of the kernels `infos` that `point` is a series of, with the values that it took
/// from earlier results.
fn case_of(
    point: &Point,
    infos: &[&'static KernelInfo],
    n_ranks: usize,
    layouts: &[String],
) -> Option<Case> {
    let id = point.id();
    let info = infos.iter().find(|info| info.id() == id)?;
    let number = |name: &str| usize::try_from(point.params.number(name)?).ok();
    let arrangement = Arrangement {
        procs: number(PROCS.name).filter(|procs| *procs != n_ranks),
        n_groups: number(GROUPS.name).unwrap_or(1),
        datatype: point.params.get(DATATYPE.name).and_then(|name| Element::find(&name.to_string())),
        layout: point
            .params
            .get("layout")
            .and_then(|name| layouts.iter().position(|other| *other == name.to_string())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;

    /// The launches of `line` over shared memory, and the settings of all of them.
    fn launches(line: &str) -> (Launches, Settings) {
        let line = format!("comet-run echo {line}");
        let args = Cli::try_parse_from(line.split_whitespace()).expect("a valid line").run.plan;
        let origin = Origin::Here { n_cpus: 2, n_cores: 2 };
        let settings = crate::prepare::settings(&args, &origin);
        (Launches::of(&args, &settings, &origin).unwrap(), settings)
    }

    #[test]
    fn ranks_of_a_launcher_are_not_started_several_times() {
        let line = ["comet-run", "echo", "--over", "24s"];
        let args = Cli::try_parse_from(line).expect("a valid line").run.plan;
        let origin = Origin::Outside { launcher: Some("mpirun"), n_ranks: Some(2) };
        let settings = crate::prepare::settings(&args, &origin);
        let found = Launches::of(&args, &settings, &origin).unwrap_err().to_string();
        let expected = "--over is for ranks that comet-run starts, these were started once (start the \
                        whole job 5 times: comet-run launches -n 5 -- COMMAND)";
        assert_eq!(found, expected);
    }

    #[test]
    fn each_launch_has_its_share_of_slices_and_time() {
        let check = |line: &str, expected: (u32, u32, u32), budget_ms: u64| {
            let (launches, all) = launches(line);
            let of = launches.share(&all, 2, Duration::ZERO);
            assert_eq!((launches.n, of.slices.min, of.slices.max), expected, "{line}");
            assert_eq!(of.case_budget_ns.div_ceil(1_000_000), budget_ms, "{line}");
            assert!(of.shuffles_first && of.case_budget_ns > 0 && of.slices.max_samples > 0);
        };
        check("--profile quick", (5, 1, 1), 4);
        check("", (12, 1, 1), 17);
        check("--profile full", (20, 1, 1), 100);
        check("--profile quick --launches 1000", (1000, 1, 1), 1);
        // Slices of 5 ms for as long as there is time.
        check("--time 1s", (12, 1, 17), 84);
        check("--time 1ms", (12, 1, 2), 1);
        check("--launches 3 --samples 4", (3, 4, 4), 67);
    }

    #[test]
    fn counted_samples_are_shared_and_the_first_launch_alone_refines() {
        let (launches, all) = launches("--launches 3 --samples 4 --refine verified");
        let of = |number| launches.share(&all, number, Duration::ZERO);
        assert_eq!((of(2).samples, of(2).refine), (Some(2), None));
        assert!(of(1).refine.is_some() && !of(1).shuffles_first);
        assert_ne!(of(2).seed, of(3).seed);
    }

    #[test]
    fn what_is_left_of_a_budget_is_shared_by_the_launches_to_come() {
        let (launches, all) = launches("--launches 4 --budget 8s");
        let share_s = |number, spent_s| {
            let since_start = Duration::from_secs(spent_s);
            launches.share(&all, number, since_start).run_budget_ns.unwrap() / 1_000_000_000
        };
        let found = [(1, 0), (2, 2), (4, 7), (5, 7), (4, 9)].map(|(n, s)| share_s(n, s));
        assert_eq!(found, [2, 2, 1, 1, 0]);
    }

    #[test]
    fn the_time_of_a_run_is_that_of_all_its_launches() {
        let check = |line: &str, expected_ms: u128, words: &str| {
            let (launches, all) = launches(line);
            let of_launch = |of: &Settings| Some(Duration::from_nanos(of.case_budget_ns));
            let time = launches.time(&all, of_launch).unwrap();
            assert_eq!((time.as_millis(), &*launches.words()), (expected_ms, words), "{line}");
            assert_eq!(launches.time(&all, |_| None), None);
        };
        check("--launches 1", 200, "1 launch");
        check("", 24_118, "12 launches");
        check("--profile quick", 520, "5 launches");
        check("--budget 8s", 3783, "12 launches");
        check("--over 10s", 10_116, "12 launches");
        check("--over 10ms", 1400, "12 launches");
        check("--target 2", 24_118, "12 launches (up to 48 to meet --target)");
    }
}
