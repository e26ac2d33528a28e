//! `run`: plans, starts the ranks, and reports the end of the run.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use comet_core::collective::Graph;
use comet_core::definition::Definition;
use comet_core::driver::{LoopLimits, Multiples, Rules, Settings, StopRule};
use comet_core::kernel::{KernelInfo, Profile, refusal};
use comet_core::layout::Layouts;
use comet_core::sync::StartSync;
use comet_report::environment;
use comet_report::format::{self, JSONL};
use comet_report::record::OfSuite;
use comet_report::recorder::{RunDescription, new_run_id};
use comet_sim::machine::{Faults, Machine};
use comet_stats::refine;
use serde_json::{Value, json};

use crate::backend::{self, Ended, Job, Launch};
use crate::cli::{ProgressArg, RunArgs, profile_name};
use crate::execute::{self, Bench, Joined};
use crate::exit;
use crate::launcher::Launcher;
use crate::launches::{self, Launches};
use crate::prepare::{self, Prepared};
use crate::results::ResultFile;
use crate::results::{self, Results};
use crate::signals::Signals;
use crate::suite::Entry;
use crate::terminal;
use crate::world::Origin;

/// Measures what is selected; returns the exit code.
pub(crate) fn run(args: &RunArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    measure(std::slice::from_ref(args), launcher, |_, _, code| Ok(code))
}

/// Measures what each of `args` selects, in turn and into the file of the first; returns what `conclude` makes
/// of the exit code, on each process of the job, with the result file that is kept.
pub(super) fn measure(
    args: &[RunArgs],
    launcher: Option<&Launcher>,
    conclude: impl FnOnce(&dyn Job, Option<&Path>, u8) -> anyhow::Result<u8>,
) -> anyhow::Result<u8> {
    let tasks: Vec<Task<'_>> = args.iter().map(|args| Task { args, entry: None }).collect();
    let open = |run_id: &str, started_at| {
        let out = args.first().and_then(|args| args.output.out.as_deref());
        Ok((ResultFile::create(out, run_id, started_at)?, ()))
    };
    let in_turn = |turns: &mut Turns<'_, '_>, planned: Vec<Planned>, ()| {
        let mut code = exit::NOTHING;
        for (index, planned) in planned.into_iter().enumerate() {
            code = exit::worse(code, turns.measure(index, planned, None)?);
            if exit::gives_up(code) {
                break;
            }
        }
        Ok(code)
    };
    measure_each(&tasks, launcher, open, in_turn, conclude)
}

/// One of the selections that a job measures in turn, into one file.
pub(super) struct Task<'a> {
    pub(super) args: &'a RunArgs,
    /// The entry of a suite file that it is, and the name of that for people.
    pub(super) entry: Option<(&'a Entry, String)>,
}

/// The runs of a task, and the settings of all of them.
#[derive(Clone)]
pub(super) struct Planned {
    pub(super) prepared: Vec<Prepared>,
    pub(super) settings: Settings,
}

impl Task<'_> {
    /// The plan, or its refusal with the line of the suite file.
    fn plan(&self, origin: &Origin) -> anyhow::Result<Planned> {
        self.planned(origin).map_err(|error| match &self.entry {
            Some((entry, _)) => entry.explain(&error),
            None => error,
        })
    }

    fn planned(&self, origin: &Origin) -> anyhow::Result<Planned> {
        let Self { args, .. } = self;
        let fault = prepare::fault(args.inject.as_ref())?;
        let prepared = prepare::prepare(&args.plan, origin)?;
        let settings = prepare::settings(&args.plan, origin);
        let seed = args.plan.world.seed.unwrap_or(settings.seed);
        let settings = Settings { fault, seed, ..settings };
        Launches::of(&args.plan, &settings, origin)?;
        Ok(Planned { prepared, settings })
    }

    /// Start of a sentence about it.
    pub(super) fn of(&self) -> String {
        self.entry.as_ref().map_or(String::new(), |(_, name)| format!("{name}: "))
    }
}

/// Measures `tasks` as [`measure`] does, by `in_turn`, which gets what was planned for each of them, and
/// what the first process has found in the result file that `open` opens there. The first task has the
/// outputs of all, and ranks that are the same for all.
pub(super) fn measure_each<'a, F: Default>(
    tasks: &'a [Task<'a>],
    launcher: Option<&Launcher>,
    open: impl FnOnce(&str, SystemTime) -> anyhow::Result<(Option<ResultFile>, F)>,
    in_turn: impl FnOnce(&mut Turns<'_, '_>, Vec<Planned>, F) -> anyhow::Result<u8>,
    conclude: impl FnOnce(&dyn Job, Option<&Path>, u8) -> anyhow::Result<u8>,
) -> anyhow::Result<u8> {
    let Some(Task { args: first, .. }) = tasks.first() else { return Ok(exit::NOTHING) };
    let (world, output) = (&first.plan.world, &first.output);
    refuse_document(&output.format)?;
    let backend = backend::find(world, launcher)?;
    let before = OnceCell::new();
    let Joined { job, origin, prepared } = execute::join(backend, world, launcher, |origin| {
        let planned = tasks.iter().map(|task| task.plan(origin));
        let planned: Vec<Planned> = planned.collect::<anyhow::Result<_>>()?;
        before.get_or_init(|| busy_cpus(first, origin));
        Ok(planned)
    })?;
    let busy_cpus = before.into_inner().flatten();
    let started_at = SystemTime::now();
    let run_id = new_run_id(started_at);
    let (file, found) = execute::on_first(&*job, || open(&run_id, started_at))?;
    // Not before: a process that waits for others to join, or for the reader of a FIFO, has nothing
    // to lose by a signal.
    let signals = Signals::catch_before_ranks().context("cannot catch signals")?;
    let job = &*job;
    let settings = prepare::settings(&first.plan, &origin);
    let bench = Bench::new(world, launcher, backend, job, settings, signals);
    let mut bench = Bench { file, busy_cpus, ..bench };
    let mut turns = Turns {
        tasks,
        bench: &mut bench,
        origin: &origin,
        run_id: Cell::new(Some(run_id)),
        told: RefCell::default(),
        is_alone: tasks.len() == 1,
    };
    let code = in_turn(&mut turns, prepared, found);
    // Of a file without a run nothing is left.
    let path = bench.file.as_ref().and_then(ResultFile::kept);
    let code = code?;
    if !output.quiet || code != exit::OK {
        name_results(path);
    }
    let code = conclude(job, path, code)?;
    job.end_with(code);
    Ok(code)
}

/// The job on which tasks are measured in turn.
pub(super) struct Turns<'t, 'a> {
    tasks: &'a [Task<'a>],
    pub(super) bench: &'t mut Bench<'a>,
    origin: &'t Origin,
    /// Id of the next run, if it is known already; the first one names the file too.
    pub(super) run_id: Cell<Option<String>>,
    /// Notes that were printed.
    told: RefCell<BTreeSet<String>>,
    is_alone: bool,
}

impl Turns<'_, '_> {
    /// Measures what was `planned` for the task at `index`; returns the exit code.
    pub(super) fn measure(
        &mut self,
        index: usize,
        planned: Planned,
        of_suite: Option<OfSuite>,
    ) -> anyhow::Result<u8> {
        let task = &self.tasks[index];
        let Planned { prepared, settings } = planned;
        let launches = Launches::of(&task.args.plan, &settings, self.origin)?;
        (self.bench.world, self.bench.settings) = (&task.args.plan.world, settings);
        let runs = Runs {
            args: task.args,
            bench: self.bench,
            origin: self.origin,
            first_id: &self.run_id,
            told: &self.told,
            machine: self.origin.machine().map(|file| &file.machine),
            launches,
            of_suite,
            hindrance: Cell::default(),
        };
        let own = execute::for_each(prepared, |prepared| runs.measure(prepared))?;
        Ok(if own == exit::NOTHING { runs.explain_nothing(task, self.is_alone) } else { own })
    }
}

/// Names the result file at `path`, unless it is a device.
fn name_results(path: Option<&Path>) {
    let is_device =
        |path: &Path| path.metadata().is_ok_and(|data| data.file_type().is_char_device());
    if let Some(path) = path.filter(|path| !is_device(path)) {
        terminal::note(&format!("results: {}", path.display()));
    }
}

/// Time in which the load of other programs is counted.
const LOAD_TIME: Duration = Duration::from_millis(200);

/// CPUs that other programs use, before ranks from `origin` start; `None` with `--profile quick`, for
/// simulated ranks, and under a launcher, which starts other ranks meanwhile.
fn busy_cpus(args: &RunArgs, origin: &Origin) -> Option<f64> {
    let counts = args.plan.cases.profile != Profile::Quick && matches!(origin, Origin::Here { .. });
    counts.then(|| environment::busy_cpus(Path::new("/"), LOAD_TIME)).flatten()
}

/// Refuses a format that is one document, which nobody can print before the run is over.
pub(super) fn refuse_document(name: &str) -> anyhow::Result<()> {
    match format::find(name).filter(|format| format.is_document()) {
        None => Ok(()),
        Some(_) => Err(exit::usage(format!(
            "--format {name} is made of whole runs, and is not printed while one goes on (keep the \
             run with --out FILE, then comet-run export {name} FILE)"
        ))),
    }
}

/// A note for ranks that were to start in windows, and share cores.
const NO_WINDOW: &str = "note: ranks that share cores cannot spin until a window opens: samples \
                         start at a barrier (use fewer ranks with -n)";

/// Runs of one command line, with different numbers of ranks.
struct Runs<'a> {
    args: &'a RunArgs,
    bench: &'a Bench<'a>,
    origin: &'a Origin,
    /// Id of the first run, which names the file too; taken by that run.
    first_id: &'a Cell<Option<String>>,
    /// Notes that were printed.
    told: &'a RefCell<BTreeSet<String>>,
    /// The machine of a simulation.
    machine: Option<&'a Machine>,
    launches: Launches,
    /// The suite whose unit it measures.
    of_suite: Option<OfSuite>,
    /// The reason why the last run measured nothing that was asked for.
    hindrance: Cell<Option<String>>,
}

impl Runs<'_> {
    /// Measures with one number of ranks.
    fn measure(&self, mut prepared: Prepared) -> anyhow::Result<u8> {
        let Self { bench, args: RunArgs { output, .. }, .. } = self;
        let hindrance = prepared.hindrance(&bench.settings);
        if hindrance.is_some() {
            prepared.leave_bases_out();
        }
        let cases = prepared.cases();
        let Prepared { topology, bind, n_cpus, plan, mut notes, .. } = prepared;
        notes.extend(self.args.plan.method.storage.note(bench.backend.name()));
        notes.extend(plan.iter().filter_map(|kernel| self.keeps_its_own(kernel.info)));
        if bench.settings.sync == Some(StartSync::Window)
            && n_cpus.is_some_and(|n| topology.n_ranks() > n)
        {
            notes.push(NO_WINDOW.into());
        }
        if !output.quiet {
            let mut told = self.told.borrow_mut();
            notes.retain(|note| told.insert(note.clone()));
            notes.iter().for_each(|note| terminal::note(note));
        }
        let planned = self.launches.time_of_plan(&plan, &topology, &bench.settings, self.origin);
        let launch = bench.ranks(topology, bind);
        let progress = if output.quiet { ProgressArg::None } else { output.progress };
        let results = Results {
            description: self.describe(&launch, n_cpus),
            file: bench.file.as_ref(),
            format: output.format.clone(),
            progress: bench.progress(progress),
            planned,
            notes_sharing: n_cpus.is_none(),
            is_quiet: output.quiet,
            gathers: self.machine.is_some_and(|machine| machine.faults == Faults::default()),
        };
        let code = if self.launches.n > 1 {
            launches::measure(&self.launches, bench, &launch, cases, &results)?
        } else {
            // Not all of `self` may be used by whichever thread notices that the job has failed.
            let file = bench.file.as_ref();
            let observe = |placements| results.observer(placements, None);
            let conclude = |ended: &Ended| results::conclude(ended, file);
            bench.launch(bench.job, &launch, (cases, &bench.settings), &observe, &conclude)?
        };
        // A base that was measured is not what was asked for.
        let code = if code == exit::OK && hindrance.is_some() { exit::NOTHING } else { code };
        self.hindrance.set(hindrance);
        Ok(code)
    }

    /// Reports that nothing was measured of `task`, which may be alone; returns the exit code.
    fn explain_nothing(&self, task: &Task<'_>, is_alone: bool) -> u8 {
        let hindrance = self.hindrance.take();
        let is_of_lengths = hindrance.as_deref().is_none_or(refusal::is_of_length);
        let is_in_order = self.args.accept_limits && is_of_lengths;
        let word = if is_in_order || !is_alone { "note" } else { "error" };
        let reason = hindrance.unwrap_or_else(|| "every case was skipped".into());
        let of = task.of();
        terminal::note(&format!("{word}: {of}nothing that was asked for was measured: {reason}"));
        if is_in_order { exit::OK } else { exit::NOTHING }
    }

    /// A note for a kernel that cannot be measured by the definition that the user asks for.
    fn keeps_its_own(&self, info: &KernelInfo) -> Option<String> {
        let wanted =
            self.args.plan.method.definition.filter(|_| !self.args.plan.method.is_for_some)?;
        let own = info.series.first()?.definition;
        let is_strange = wanted != own && !info.admits_definition(wanted);
        is_strange.then(|| {
            format!(
                "note: {} is not measured by {}, but by {}",
                info.id(),
                wanted.name(),
                own.name()
            )
        })
    }

    /// Description of the run for the record.
    fn describe(&self, launch: &Launch, n_cpus: Option<usize>) -> RunDescription {
        let is_kept = self.bench.file.is_some() || self.args.output.format == JSONL.name();
        let description = self.bench.describe(launch, is_kept);
        RunDescription {
            run_id: self.first_id.take().unwrap_or(description.run_id),
            config: self.config(launch, n_cpus),
            seed: self.machine.map(|machine| machine.noise.seed),
            labels: self.args.output.label.iter().cloned().collect(),
            of_suite: self.of_suite.clone(),
            ..description
        }
    }

    /// Every setting in effect, whether given or by default.
    fn config(&self, launch: &Launch, n_cpus: Option<usize>) -> BTreeMap<String, Value> {
        let Self { args, bench: Bench { backend, settings, .. }, .. } = self;
        let n_ranks = launch.topology.n_ranks();
        let of_launches = self.launches.target;
        let target = if self.launches.n > 1 { of_launches } else { settings.slices.target };
        let entries = [
            ("select", json!(args.plan.select)),
            ("ranks", json!(n_ranks)),
            ("usable_cpus", json!(n_cpus)),
            ("oversubscribed", json!(n_cpus.map(|n_cpus| n_ranks > n_cpus))),
            ("transport", json!(backend.name())),
            ("machine", json!(args.plan.world.machine)),
            ("mesh", json!(args.plan.world.mesh.map(|shape| shape.to_string()))),
            ("topology", json!(args.plan.world.topology)),
            ("map", json!(args.plan.world.map.map(|map| map.to_string()))),
            ("bind", json!(launch.bind.to_string())),
            ("watchdog_s", json!(launch.watchdog.map(|time| time.as_secs_f64()))),
            ("profile", json!(profile_name(args.plan.cases.profile))),
            ("sizes", json!(args.plan.cases.sizes)),
            ("unit_bytes", json!(args.plan.cases.unit)),
            ("vector_lengths", json!(args.plan.cases.vector_lengths)),
            ("local_n", json!(args.plan.cases.local_n)),
            ("hops", json!(args.plan.cases.hops)),
            ("axis", json!(args.plan.cases.axis.iter().cloned().collect::<BTreeMap<_, _>>())),
            ("mem_bytes", json!(args.plan.cases.mem)),
            ("case_budget_ns", json!(settings.case_budget_ns)),
            ("run_budget_ns", json!(settings.run_budget_ns)),
            ("repetitions", json!(settings.repetitions)),
            ("loop_limits", loop_limits(settings.loop_limits)),
            ("warm_up", json!(settings.warm_up)),
            ("samples", json!(settings.samples)),
            ("stop", stop_rule(settings)),
            ("launches", json!(self.launches.n)),
            ("over_s", json!(self.launches.over.as_secs_f64())),
            ("slices", json!([settings.slices.min, settings.slices.max])),
            ("samples_per_slice", json!(settings.slices.max_samples)),
            ("slice_ns", json!(settings.slices.length_ns)),
            ("gap_ns", json!(settings.slices.gap_ns)),
            ("target", json!(target)),
            ("rules", json!(settings.rules.name())),
            ("definition", json!(settings.definition.map(Definition::name))),
            ("sync", json!(settings.sync.map(StartSync::name))),
            ("order", json!(args.plan.method.order)),
            ("order_seed", json!(settings.seed)),
            (
                "skew",
                json!(args.plan.method.skew.map(|(skew, scale)| (format!("{skew:?}"), scale))),
            ),
            ("cast", json!(settings.cast.map(|cast| cast.ranks()))),
            ("io_dir", json!(settings.files.as_ref().map(|files| &files.path))),
            ("io_cache", json!(settings.files.as_ref().map(|files| files.cache.name()))),
            ("io_hints", json!(settings.files.as_ref().map(|files| &files.hints))),
            ("graph", json!(settings.graph.as_ref().map(Graph::edges))),
            ("layout", json!(settings.layouts.iter().map(|of| of.to_string()).collect::<Vec<_>>())),
            ("layout_definitions", definitions(&settings.layouts)),
            ("buffers", json!(if settings.are_untouched() { "untouched" } else { "resent" })),
            ("buffer_mode", json!(settings.buffers.name())),
            ("off_cache_bytes", json!(settings.buffers.cache_bytes())),
            ("pause_ns", json!(Some(settings.pause_ns).filter(|ns| *ns > 0))),
            ("refine", json!(settings.refine.map(refine::Rule::name))),
            (
                "fault",
                json!(settings.fault.as_ref().map(|(fault, id)| format!("{}:{id}", fault.name))),
            ),
        ];
        entries.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// The texts of layouts with a name of the user's, by these; `null` where there are none.
fn definitions(layouts: &[Arc<Layouts>]) -> Value {
    let all: BTreeMap<&str, &str> = layouts.iter().flat_map(|of| of.definitions()).collect();
    if all.is_empty() { Value::Null } else { json!(all) }
}

/// Rule of `SKaMPI` by which a case is done; `null` under other rules.
fn stop_rule(settings: &Settings) -> Value {
    let StopRule { samples, error } = settings.stop;
    let is_used = settings.rules == Rules::Skampi && settings.samples.is_none();
    if is_used { json!({"samples": samples, "error": error}) } else { Value::Null }
}

/// The limits of a loop by the rules of IMB; `null` for none.
fn loop_limits(limits: LoopLimits) -> Value {
    if limits == LoopLimits::NONE {
        return Value::Null;
    }
    let s = |ns: f64| Some(ns / 1e9).filter(|s| s.is_finite());
    let bytes = Some(limits.bytes).filter(|bytes| *bytes < u64::MAX);
    let mut found = json!({
        "bytes": bytes,
        "s": s(limits.ns),
        "all_lengths_s": s(limits.sweep_ns),
    });
    if let Some(n) = limits.completed {
        found["completed"] = json!(n);
    }
    if let Some(Multiples { longest_bytes, of_rooted }) = limits.multiples {
        found["multiples"] = json!({"longest_bytes": longest_bytes, "of_rooted": of_rooted});
    }
    found
}
