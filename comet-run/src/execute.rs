//! From values to running ranks: joining them, launching jobs on them, and agreeing on a code.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::file::Folder;
use comet_core::kernel::Case;
use comet_core::topology::Topology;
use comet_report::record::{Suite, Transport};
use comet_report::recorder::RunDescription;

use crate::backend::{self, BACKENDS, Backend, Ended, Job, Launch};
use crate::cli::values::Binding;
use crate::cli::{ProgressArg, WorldArgs};
use crate::exit;
use crate::launcher::Launcher;
use crate::prepare::Prepared;
use crate::results::ResultFile;
use crate::session::{Gate, Observe, Session};
use crate::signals::Signals;
use crate::terminal;
use crate::world::{self, Origin};

/// Joins the ranks that `world` asks for, with what `prepare` makes of the command line for them.
pub(crate) fn join<P>(
    backend: &dyn Backend,
    world: &WorldArgs,
    launcher: Option<&Launcher>,
    prepare: impl Fn(&Origin) -> anyhow::Result<Vec<P>>,
) -> anyhow::Result<Joined<P>> {
    backend::admit(BACKENDS, backend, launcher)?;
    let told = backend.origin(world, launcher)?;
    // What cannot be done is refused before anything is joined.
    let prepared = prepare(&told)?;
    let job = backend.join(world, &told, launcher)?;
    if let Some((n_ranks, launcher)) = job.n_ranks().zip(launcher) {
        backend::require_all(n_ranks, launcher, &job.library())?;
    }
    // From here on the ranks know better than the environment which of them is the first.
    terminal::set_output_rank(job.rank() == 0);
    let origin = told.joined(job.n_ranks());
    // Not every launcher tells how many processes it starts.
    let prepared = if origin == told { prepared } else { prepare(&origin)? };
    Ok(Joined { job, origin, prepared })
}

/// Ranks that have been joined, and what was prepared for them.
pub(crate) struct Joined<P> {
    pub(crate) job: Box<dyn Job>,
    pub(crate) origin: Origin,
    pub(crate) prepared: Vec<P>,
}

/// A job, and what all runs on it have in common.
pub(crate) struct Bench<'a> {
    pub(crate) world: &'a WorldArgs,
    pub(crate) launcher: Option<&'a Launcher>,
    pub(crate) backend: &'a dyn Backend,
    pub(crate) job: &'a dyn Job,
    pub(crate) settings: Settings,
    pub(crate) signals: Signals,
    /// The result file, on the process that writes it.
    pub(crate) file: Option<ResultFile>,
    /// True if the transport is tested before the kernels run.
    pub(crate) tests_transport: bool,
    /// The folder in which its files are tested.
    pub(crate) test_folder: Option<Folder>,
    /// CPUs in use before the ranks were joined, where they were counted.
    pub(crate) busy_cpus: Option<f64>,
    /// Failure that ended the ranks of the last job, if they did not end in order.
    pub(crate) failure: Mutex<Option<String>>,
}

impl<'a> Bench<'a> {
    /// The ranks of `job`, measured with `settings`, without a result file.
    pub(crate) fn new(
        world: &'a WorldArgs,
        launcher: Option<&'a Launcher>,
        backend: &'a dyn Backend,
        job: &'a dyn Job,
        settings: Settings,
        signals: Signals,
    ) -> Self {
        Self {
            world,
            launcher,
            backend,
            job,
            settings,
            signals,
            file: None,
            tests_transport: false,
            test_folder: None,
            busy_cpus: None,
            failure: Mutex::default(),
        }
    }

    /// The ranks of a run, whose cases take as long as the settings allow.
    pub(crate) fn ranks(&self, topology: Topology, bind: Binding) -> Launch {
        let case = Duration::from_nanos(self.settings.case_budget_ns + self.settings.pause_ns);
        let n_ranks = topology.n_ranks();
        let n_on_cpu = self.job.n_ranks_on_cpu(n_ranks, &bind);
        let watchdog = world::watchdog(self.world, n_ranks, case, n_on_cpu);
        Launch { topology, bind, watchdog }
    }

    /// Measures `cases` on ranks of `job`, this one or a variant; returns what `conclude` makes of
    /// its end.
    pub(crate) fn launch(
        &self,
        job: &dyn Job,
        launch: &Launch,
        (cases, settings): (Vec<Case>, &Settings),
        observe: &Observe<'_>,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8> {
        let gate = Gate::default();
        let session = Session {
            cases,
            settings: settings.clone(),
            map: self.world.map,
            tests_transport: self.tests_transport,
            test_folder: self.test_folder.clone(),
            #[cfg(feature = "mpi")]
            results: self.file.as_ref().map(ResultFile::path),
            observe,
            signals: &self.signals,
            gate: &gate,
        };
        // What is still in a buffer would be written once more by each rank.
        std::io::stdout().flush().context("cannot write to standard output")?;
        self.signals.leave_to_ranks();
        let failure_of = &self.failure;
        job.launch(launch, &session, &|ended| {
            gate.close();
            if let Err(failure) = ended {
                *failure_of.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(failure.message.clone());
            }
            conclude(ended)
        })
    }

    /// Description of a run for the record, without settings and labels; the hash of this program
    /// is left out where no record `is_kept`.
    pub(crate) fn describe(&self, launch: &Launch, is_kept: bool) -> RunDescription {
        let details = self.job.describe(launch);
        let transport = Transport::stated(self.backend.name(), details);
        let topology = launch.topology.clone();
        let mut description =
            RunDescription::of_this_process(SystemTime::now, this_build(), transport, topology);
        description.environment.busy_cpus = self.busy_cpus;
        if is_kept {
            description.environment.hash_program(Path::new("/"));
        }
        // The launcher has started the ranks only where they were joined.
        let launcher = self.job.n_ranks().and(self.launcher);
        RunDescription {
            launcher: launcher.map(|launcher| launcher.name.to_owned()),
            ..description
        }
    }

    /// Form of progress reports; none on terminals that a launcher makes for its processes.
    pub(crate) fn progress(&self, asked: ProgressArg) -> ProgressArg {
        let is_hidden = asked == ProgressArg::Auto && self.launcher.is_some();
        if is_hidden { ProgressArg::None } else { asked }
    }
}

/// Version, revision, compiler and flags; the hash of the executable file is left to the environment.
///
/// The flags are those of comet-run, in which the timed loops are instantiated.
fn this_build() -> Suite {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let target = option_env!("COMET_TARGET").unwrap_or(std::env::consts::ARCH);
    let level = option_env!("COMET_OPT_LEVEL").unwrap_or("?");
    let flags = option_env!("COMET_RUSTFLAGS").unwrap_or_default();
    Suite {
        name: "comet".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        git_rev: option_env!("COMET_GIT_REV").map(Into::into),
        rustc: option_env!("COMET_RUSTC").map(Into::into),
        target: target.into(),
        profile: profile.into(),
        opt_flags: format!("-C opt-level={level} {flags}").trim_end().into(),
        target_features: option_env!("COMET_TARGET_FEATURES").map(Into::into),
        kernels_sha256: option_env!("COMET_KERNELS_SHA256").map(Into::into),
        lock_sha256: option_env!("COMET_LOCK_SHA256").map(Into::into),
        binary_sha256: None,
    }
}

/// Does on the first process of `job` what only one can do; the others get the default, unless it
/// fails there.
///
/// # Errors
/// If it fails, on every process and with the same code; the first one says why.
pub(crate) fn on_first<R: Default>(
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

/// The number that the first process of `job` has, on every process.
pub(crate) fn agree_on(job: &dyn Job, number: Option<usize>) -> Option<usize> {
    let word = number.map_or(0, |number| number + 1).to_le_bytes();
    usize::from_le_bytes(word.map(|byte| job.agree(byte))).checked_sub(1)
}

/// Does `one` for each of the runs in turn, unless one of them ends so that the others are given
/// up; returns the code for all.
pub(crate) fn for_each(
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
pub(crate) fn say_how_it_ended(ended: &Ended) -> u8 {
    if let Err(failure) = ended {
        terminal::note(&format!("error: {}", failure.message));
    }
    backend::code_of(ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::fake::OneOfThree;
    use crate::cli::Cli;
    use crate::prepare::prepare;
    use clap::Parser as _;

    /// Numbers of ranks that are planned for `line` under a launcher that says it started `size`.
    fn n_ranks(line: &str, size: Option<usize>) -> anyhow::Result<Vec<usize>> {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("a valid command line");
        let launcher = Launcher { name: "mpirun", rank: 0, size };
        let backend = OneOfThree { rank: 0, first_code: exit::OK };
        let joined = join(&backend, &cli.run.plan.world, Some(&launcher), |origin| {
            prepare(&cli.run.plan, origin)
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
