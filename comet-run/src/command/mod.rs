//! The commands, one file each, and what they have in common.

mod check;
mod completions;
mod list;
mod man;
mod plan;
mod run;
mod schema;
mod show;
mod validate;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use comet_core::driver::Settings;
use comet_core::kernel::{HOPS, KernelInfo, LENGTH_BYTES, LOCAL_N, Profile, VECTOR_LENGTH};
use comet_core::topology::Topology;

use crate::backend::{Backend, Launch};
use crate::catalogue;
use crate::cli::{CaseArgs, Cli, Command, EffortArgs, WorldArgs};
use crate::exit;
use crate::plan::{Override, Plan};
use crate::selection;
use crate::terminal;
use crate::world;

/// Reads the command line, does what it says, and reports an error in one sentence.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        None => run::run(&cli.run),
        Some(Command::Run(args)) => run::run(args),
        Some(Command::List(args)) => list::list(args),
        Some(Command::Plan(args)) => plan::plan(args),
        Some(Command::Check(args)) => check::check(args),
        Some(Command::Validate(args)) => validate::validate(args),
        Some(Command::Show(args)) => show::show(args),
        Some(Command::Schema) => schema::schema(),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Man) => man::man(),
    };
    ExitCode::from(result.unwrap_or_else(|error| {
        terminal::note(&format!("error: {error:#}"));
        exit::code_of(&error)
    }))
}

/// Selected kernels with their cases, and the ranks that they are for.
struct Prepared {
    /// What was asked for, with one number of ranks.
    world: WorldArgs,
    topology: Topology,
    plan: Plan,
    /// Sentences for standard error.
    notes: Vec<String>,
}

/// What `select`, `world` and `cases` ask for on `backend`: one run for each number of ranks.
fn prepare(
    select: &[String],
    world: &WorldArgs,
    cases: &CaseArgs,
    backend: &dyn Backend,
) -> anyhow::Result<Vec<Prepared>> {
    let (overrides, profile) = (overrides(cases), cases.profile.profile());
    let mut prepared = plan_each(select, world, &overrides, profile, backend)?;
    for Prepared { world, topology, notes, .. } in &mut prepared {
        let n_cpus = world.bind.n_cpus(backend.usable_cpus());
        notes.extend(world::oversubscription(topology.n_ranks(), n_cpus));
    }
    Ok(prepared)
}

/// The cases of `select` for each number of ranks.
fn plan_each(
    select: &[String],
    world: &WorldArgs,
    overrides: &[Override],
    profile: Profile,
    backend: &dyn Backend,
) -> anyhow::Result<Vec<Prepared>> {
    let selection = selection::select(select, &catalogue::infos())?;
    let prepared = world::each(world).into_iter().map(|world| {
        let topology = world::topology(&world, backend.usable_cpus())?;
        let plan = crate::plan::plan(&selection.kernels, overrides, profile, &topology)?;
        let notes = selection.notes.iter().chain(&plan.notes).cloned().collect();
        Ok(Prepared { world, topology, plan, notes })
    });
    prepared.collect()
}

/// Does `one` for each of the runs in turn, unless one of them ends so that the others are given
/// up; returns the code for all.
fn for_each(
    prepared: Vec<Prepared>,
    mut one: impl FnMut(Prepared) -> anyhow::Result<u8>,
) -> anyhow::Result<u8> {
    let mut code = exit::NOTHING;
    for prepared in prepared {
        code = exit::worse(code, one(prepared)?);
        if exit::gives_up(code) {
            break;
        }
    }
    Ok(code)
}

/// Axes that the user gives values for.
fn overrides(cases: &CaseArgs) -> Vec<Override> {
    let options = [
        ("--sizes", &LENGTH_BYTES, &cases.sizes),
        ("--vector-lengths", &VECTOR_LENGTH, &cases.vector_lengths),
        ("--local-n", &LOCAL_N, &cases.local_n),
        ("--hops", &HOPS, &cases.hops),
    ];
    let given = options.into_iter().filter_map(|(option, axis, values)| {
        Some(Override { option, axis, values: values.clone()? })
    });
    given.collect()
}

/// How long and how often to measure.
fn settings(cases: &CaseArgs, effort: &EffortArgs) -> Settings {
    let mut settings = Settings::of(cases.profile.profile());
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if let Some(time) = effort.time {
        settings.case_budget_ns = ns(time);
        // Who gives more time wants more samples.
        settings.max_samples = settings.max_samples.max(Settings::of(Profile::Full).max_samples);
    }
    settings.run_budget_ns = effort.budget.map(ns);
    settings.repetitions = effort.repetitions;
    settings.samples = effort.samples;
    settings
}

/// The id of the kernel whose check is to be spoiled.
///
/// # Errors
/// If there is no such kernel.
fn corrupt(inject: Option<&str>) -> anyhow::Result<Option<String>> {
    let infos = catalogue::infos();
    inject.map(|name| selection::select_one(name, &infos).map(KernelInfo::id)).transpose()
}

/// How long a rank may wait by default, beyond the time of a case.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ranks to start for cases that take as long as `settings` says.
fn launch(world: &WorldArgs, topology: Topology, settings: &Settings) -> Launch {
    // Ranks without a part in a case wait until the others have measured it.
    let case = Duration::from_nanos(settings.case_budget_ns);
    // Many ranks take their time, on few CPUs above all.
    let ranks = Duration::from_millis(50) * u32::try_from(topology.n_ranks()).unwrap_or(u32::MAX);
    let watchdog = world.watchdog.unwrap_or(PATIENCE.saturating_add(case).saturating_add(ranks));
    let watchdog = Some(watchdog).filter(|time| !time.is_zero());
    Launch { topology, bind: world.bind.clone(), watchdog }
}
