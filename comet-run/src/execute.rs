//! From values to running ranks: joining them, launching a job on them, and agreeing on its code.

use std::time::Duration;

use comet_core::driver::Settings;
use comet_core::topology::Topology;

use crate::backend::{self, Backend, Ended, Job, Launch};
use crate::cli::WorldArgs;
use crate::cli::values::Binding;
use crate::exit;
use crate::launcher::Launcher;
use crate::prepare::Prepared;
use crate::terminal;
use crate::world::{self, Origin};

/// Joins the ranks that `world` asks for, with what `prepare` makes of the command line for them.
///
/// # Errors
/// If the command line contradicts itself or the ranks, or if they cannot be joined.
pub(crate) fn join(
    backend: &dyn Backend,
    world: &WorldArgs,
    launcher: Option<&Launcher>,
    prepare: impl Fn(&Origin) -> anyhow::Result<Vec<Prepared>>,
) -> anyhow::Result<Joined> {
    backend::admit(backend, launcher)?;
    let told = backend.origin(world, launcher)?;
    // What cannot be done is refused before anything is joined.
    let prepared = prepare(&told)?;
    let job = backend::join(backend, world, &told, launcher)?;
    let origin = told.joined(job.n_ranks());
    // Not every launcher tells how many processes it starts.
    let prepared = if origin == told { prepared } else { prepare(&origin)? };
    Ok(Joined { job, origin, prepared })
}

/// Ranks that have been joined.
pub(crate) struct Joined {
    pub(crate) job: Box<dyn Job>,
    pub(crate) origin: Origin,
    pub(crate) prepared: Vec<Prepared>,
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
    if let Ended::Failed { message, .. } | Ended::Interrupted { message, .. } = ended {
        terminal::note(&format!("error: {message}"));
    }
    ended.code()
}

/// The ranks for cases that take as long as `settings` says.
pub(crate) fn launch(
    world: &WorldArgs,
    topology: Topology,
    bind: Binding,
    settings: &Settings,
) -> Launch {
    let case = Duration::from_nanos(settings.case_budget_ns);
    let watchdog = world::watchdog(world, topology.n_ranks(), case);
    Launch { topology, bind, watchdog }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::prepare::prepare;
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

        fn join(
            &self,
            _: &WorldArgs,
            _: &Origin,
            _: Option<&Launcher>,
        ) -> anyhow::Result<Box<dyn Job>> {
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
