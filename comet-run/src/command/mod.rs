//! The commands, one file each, and what they have in common.

pub(crate) mod ab;
mod calibrate;
mod check;
pub(crate) mod compare;
mod completions;
pub(crate) mod export;
mod files;
mod fit;
pub(crate) mod health;
pub(crate) mod import;
mod list;
mod machines;
mod man;
mod plan;
pub(crate) mod plot;
pub(crate) mod report;
mod reproduce;
mod run;
mod schema;
mod show;
mod validate;

use std::process::ExitCode;
use std::time::Duration;

use comet_core::driver::Settings;
use comet_core::kernel::{HOPS, KernelInfo, LENGTH_BYTES, LOCAL_N, Profile, VECTOR_LENGTH};
use comet_core::topology::Topology;

use crate::backend::{self, Backend, Ended, Job, Launch};
use crate::catalogue;
use crate::cli::{self, CaseArgs, Cli, Command, EffortArgs, WorldArgs};
use crate::compat;
use crate::exit;
use crate::launcher::Launcher;
use crate::method::MethodArgs;
use crate::plan::{Override, Plan};
use crate::selection;
use crate::terminal;
use crate::values::Binding;
use crate::world::{self, Origin};

/// Reads the command line, does what it says, and reports an error in one sentence.
pub(crate) fn main() -> ExitCode {
    let launcher = Launcher::of_this_process();
    let launcher = launcher.as_ref();
    terminal::speak(launcher.is_none_or(|launcher| launcher.rank == 0));
    let is_launched = launcher.is_some();
    let parsed = compat::arguments(launcher).and_then(|args| cli::parse(args, is_launched));
    let code = match parsed {
        Ok(cli) => obey(&cli, launcher).unwrap_or_else(|error| {
            terminal::note(&format!("error: {error:#}"));
            exit::code_of(&error)
        }),
        Err(words) => {
            terminal::explain(&words);
            if words.use_stderr() { exit::USAGE } else { exit::OK }
        }
    };
    if code != exit::OK && !terminal::speaks() {
        std::thread::sleep(LAST_WORDS);
    }
    ExitCode::from(code)
}

/// How long a silent process stays that has failed. Launchers end a job as soon as one process
/// fails, and the first one may not have said yet what is wrong.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Does what the command line says, in a process that `launcher` started; returns the exit code.
fn obey(cli: &Cli, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    match &cli.command {
        None => run::run(&cli.run, launcher),
        Some(Command::Run(args)) => run::run(args, launcher),
        Some(Command::List(args)) => list::list(args),
        Some(Command::Machines(args)) => machines::machines(args),
        Some(Command::Plan(args)) => plan::plan(args, launcher),
        Some(Command::Check(args)) => check::check(args, launcher),
        Some(Command::Reproduce(args)) => reproduce::reproduce(args),
        Some(Command::Calibrate(args)) => calibrate::calibrate(args, launcher),
        Some(Command::Validate(args)) => validate::validate(args),
        Some(Command::Show(args)) => show::show(args),
        Some(Command::Fit(args)) => fit::fit(args),
        Some(Command::Report(args)) => report::report(args),
        Some(Command::Plot(args)) => plot::plot(args),
        Some(Command::Compare(args)) => compare::compare(args),
        Some(Command::Ab(args)) => ab::ab(args, launcher),
        Some(Command::Health(args)) => health::health(args, launcher),
        Some(Command::Export(args)) => export::export(args),
        Some(Command::Import(args)) => import::import(args),
        Some(Command::Schema) => schema::schema(),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Man) => man::man(),
    }
}

/// Selected kernels with their cases, and the ranks that they are for.
struct Prepared {
    topology: Topology,
    bind: Binding,
    /// How many CPUs the ranks have between them, where that is known.
    n_cpus: Option<usize>,
    plan: Plan,
    /// Sentences for standard error.
    notes: Vec<String>,
}

/// What `select`, `world` and `cases` ask for on ranks from `origin`: one run for each number of
/// ranks.
fn prepare(
    select: &[String],
    world: &WorldArgs,
    cases: &CaseArgs,
    origin: &Origin,
) -> anyhow::Result<Vec<Prepared>> {
    let (overrides, profile) = (overrides(cases), cases.profile.profile());
    let mut prepared = plan_each(select, world, &overrides, profile, origin)?;
    for Prepared { topology, n_cpus, notes, .. } in &mut prepared {
        notes.extend(world::oversubscription(topology.n_ranks(), *n_cpus));
        notes.extend(world::enlargement(topology.n_ranks(), origin));
    }
    Ok(prepared)
}

/// The cases of `select` for each number of ranks.
fn plan_each(
    select: &[String],
    world: &WorldArgs,
    overrides: &[Override],
    profile: Profile,
    origin: &Origin,
) -> anyhow::Result<Vec<Prepared>> {
    let selection = selection::select(select, &catalogue::infos())?;
    let bind = origin.binding(world.bind.as_ref())?;
    let prepared = world::rank_counts(world, origin)?.into_iter().map(|n_ranks| {
        let topology = world::topology(world, n_ranks, origin)?;
        let plan = crate::plan::plan(&selection.kernels, overrides, profile, &topology)?;
        let notes = selection.notes.iter().chain(&plan.notes).cloned().collect();
        Ok(Prepared { topology, bind: bind.clone(), n_cpus: origin.n_cpus(&bind), plan, notes })
    });
    prepared.collect()
}

/// Joins the ranks that `world` asks for, with what `prepare` makes of the command line for them.
///
/// # Errors
/// If the command line contradicts itself or the ranks, or if they cannot be joined.
fn join(
    backend: &dyn Backend,
    world: &WorldArgs,
    launcher: Option<&Launcher>,
    prepare: impl Fn(&Origin) -> anyhow::Result<Vec<Prepared>>,
) -> anyhow::Result<Joined> {
    backend::admit(backend, launcher)?;
    let told = backend.origin(world, launcher)?;
    // What cannot be done is refused before anything is joined.
    let prepared = prepare(&told)?;
    let job = backend::join(backend, &told, launcher)?;
    let origin = told.joined(job.n_ranks());
    // Not every launcher tells how many processes it starts.
    let prepared = if origin == told { prepared } else { prepare(&origin)? };
    Ok(Joined { job, origin, prepared })
}

/// Ranks that have been joined.
struct Joined {
    job: Box<dyn Job>,
    origin: Origin,
    prepared: Vec<Prepared>,
}

/// Does on the first process of `job` what only one can do; the others get the default, unless it
/// fails there.
///
/// # Errors
/// If it fails, on every process and with the same code; the first one says why.
fn on_first<R: Default>(
    job: &dyn Job,
    act: impl FnOnce() -> anyhow::Result<R>,
) -> anyhow::Result<R> {
    let result = if job.rank() == 0 { act() } else { Ok(R::default()) };
    let code = result.as_ref().err().map_or(exit::OK, exit::code_of);
    match job.agree(code) {
        exit::OK => result,
        code => result.and(Err(exit::refuse(code, "the first process gave up"))),
    }
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

/// Says how a job ended, if not in order; returns the exit code.
fn say_how_it_ended(ended: &Ended) -> u8 {
    if let Ended::Failed { message, .. } | Ended::Interrupted { message, .. } = ended {
        terminal::note(&format!("error: {message}"));
    }
    ended.code()
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

/// Samples of a case, and repetitions in each, where all of them are the same: a machine without
/// noise. An even number of repetitions, since ranks that exchange messages may lead in turn.
const EXACT: (u32, u32) = (3, 10);

/// The most slices of one case, however much time there is: all of them stay in memory, and an
/// interval from more is narrower than the machine is steady.
const MAX_SLICES: u32 = 1000;

/// How long, how often and by which method to measure on ranks from `origin`.
fn settings(
    cases: &CaseArgs,
    effort: &EffortArgs,
    method: &MethodArgs,
    origin: &Origin,
) -> Settings {
    let mut settings = Settings::of(cases.profile.profile());
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if let Some(time) = effort.time {
        settings.case_budget_ns = ns(time);
        // Who gives more time wants more slices.
        let in_time = settings.case_budget_ns / settings.slices.length_ns;
        let in_time = u32::try_from(in_time).unwrap_or(u32::MAX).min(MAX_SLICES);
        settings.slices.max = settings.slices.max.max(in_time);
    }
    settings.run_budget_ns = effort.budget.map(ns);
    settings.repetitions = effort.repetitions;
    settings.samples = effort.samples;
    if effort.time.is_none() {
        sample_exactly(&mut settings, origin);
    }
    method.apply(&mut settings, cases.profile.profile() == Profile::Full);
    settings
}

/// Takes the samples that tell all on a machine without noise, unless other numbers are set.
fn sample_exactly(settings: &mut Settings, origin: &Origin) {
    if origin.machine().is_some_and(|file| file.machine.is_exact()) {
        let (samples, repetitions) = EXACT;
        settings.samples.get_or_insert(samples);
        settings.repetitions.get_or_insert(repetitions);
    }
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

/// The ranks for cases that take as long as `settings` says.
fn launch(world: &WorldArgs, topology: Topology, bind: Binding, settings: &Settings) -> Launch {
    // Ranks without a part in a case wait until the others have measured it.
    let case = Duration::from_nanos(settings.case_budget_ns);
    // Many ranks take their time, on few CPUs above all.
    let ranks = Duration::from_millis(50) * u32::try_from(topology.n_ranks()).unwrap_or(u32::MAX);
    let watchdog = world.watchdog.unwrap_or(PATIENCE.saturating_add(case).saturating_add(ranks));
    let watchdog = Some(watchdog).filter(|time| !time.is_zero());
    Launch { topology, bind, watchdog }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use clap::Parser as _;
    use comet_core::transport::Rank;

    /// The part of one process in a job of three, whose first process found out `first_code`.
    #[derive(Clone, Copy)]
    struct OneOfThree {
        rank: Rank,
        first_code: u8,
    }

    impl Backend for OneOfThree {
        fn name(&self) -> &'static str {
            "three"
        }

        fn summary(&self) -> &'static str {
            "three ranks that were there before"
        }

        fn is_launched(&self) -> bool {
            true
        }

        fn origin(&self, _: &WorldArgs, launcher: Option<&Launcher>) -> anyhow::Result<Origin> {
            Ok(Origin::outside(launcher))
        }

        fn join(&self, _origin: &Origin) -> anyhow::Result<Box<dyn Job>> {
            Ok(Box::new(*self))
        }
    }

    impl Job for OneOfThree {
        fn rank(&self) -> Rank {
            self.rank
        }

        fn library(&self) -> String {
            "MPI".into()
        }

        fn n_ranks(&self) -> Option<usize> {
            Some(3)
        }

        fn agree(&self, code: u8) -> u8 {
            if self.rank == 0 { code } else { self.first_code }
        }

        fn describe(&self, _launch: &Launch) -> Vec<(&'static str, String)> {
            Vec::new()
        }

        fn launch(
            &self,
            _launch: &Launch,
            _session: &Session<'_>,
            conclude: &(dyn Fn(&Ended) -> u8 + Sync),
        ) -> anyhow::Result<u8> {
            Ok(conclude(&Ended::Finished(self.first_code)))
        }
    }

    /// Numbers of ranks that are planned for `line` under a launcher that says it started `size`.
    fn n_ranks(line: &str, size: Option<usize>) -> anyhow::Result<Vec<usize>> {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("a valid command line");
        let launcher = Launcher { name: "mpirun", rank: 0, size };
        let backend = OneOfThree { rank: 0, first_code: exit::OK };
        let joined = join(&backend, &cli.run.world, Some(&launcher), |origin| {
            prepare(&cli.run.select, &cli.run.world, &cli.run.cases, origin)
        })?;
        Ok(joined.prepared.iter().map(|prepared| prepared.topology.n_ranks()).collect())
    }

    #[test]
    fn ranks_are_planned_for_as_many_as_there_are() {
        for size in [None, Some(3), Some(2)] {
            assert_eq!(n_ranks("comet-run echo", size).unwrap(), [3], "{size:?}");
        }
        let error = n_ranks("comet-run echo -n 2", None).unwrap_err().to_string();
        assert!(error.starts_with("-n asks for 2 ranks, mpirun started 3 ("), "{error}");
    }

    #[test]
    fn processes_that_cannot_find_each_other_are_refused() {
        assert_eq!(
            exit::code_of(&n_ranks("comet-run echo", Some(4)).unwrap_err()),
            exit::TRANSPORT
        );
    }

    #[test]
    fn what_the_first_process_finds_out_ends_all_of_them() {
        let check = |rank, outcome: anyhow::Result<&'static str>, expected: Result<&str, u8>| {
            let first_code = outcome.as_ref().err().map_or(exit::OK, exit::code_of);
            let job = OneOfThree { rank, first_code };
            let found = on_first(&job, || outcome).map_err(|error| exit::code_of(&error));
            assert_eq!(found, expected, "on rank {rank}");
        };
        check(0, Ok("made"), Ok("made"));
        check(1, Ok("made"), Ok(""));
        check(0, Err(exit::usage("is there already")), Err(exit::USAGE));
        check(1, Err(exit::usage("is there already")), Err(exit::USAGE));
    }
}
