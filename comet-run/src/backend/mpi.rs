//! Ranks of an MPI job, started by mpirun, mpiexec or srun.

use std::path::Path;
use std::time::Duration;

use comet_core::file::Folder;
use comet_core::job::JobFailure;
use comet_core::transport::Rank;
use comet_mpi::{FINALIZE_STALLED, JoinConfig, JoinError, RunConfig, ThreadLevel};

use super::sweep::{sweep, sweep_ended};
use super::{Backend, Ended, Job, Launch};
use crate::cli::WorldArgs;
use crate::cli::values::Binding;
use crate::exit;
use crate::launcher::Launcher;
use crate::results;
use crate::results::ResultFile;
use crate::session::{self, Session};
use crate::terminal;
use crate::world::{self, Origin};

/// Number of ranks whose reports are printed when a job has to end; one line each is enough.
const N_TOLD: Rank = 16;

/// The MPI backend.
pub(super) struct Mpi;

impl Backend for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn summary(&self) -> &'static str {
        "processes that mpirun, mpiexec or srun starts, over MPI"
    }

    fn is_launched(&self) -> bool {
        true
    }

    fn join(
        &self,
        world: &WorldArgs,
        _: &Origin,
        launcher: Option<&Launcher>,
    ) -> anyhow::Result<Box<dyn Job>> {
        let level = world.thread_level.as_deref().and_then(ThreadLevel::find).unwrap_or_default();
        let number = launcher.and_then(|launcher| Some((launcher.rank, launcher.size?)));
        let n_ranks = number.map_or(1, |(_, n_ranks)| n_ranks);
        let config = JoinConfig::new(conclude_failure)
            .with_level(level)
            .with_watchdog(world::watchdog(world, n_ranks, Duration::ZERO, 1))
            .with_number(number)
            .with_sweep(sweep);
        let job = comet_mpi::join(&config).map_err(|error| {
            let code = match error {
                JoinError::Level { .. } => exit::USAGE,
                _ => exit::TRANSPORT,
            };
            let error = anyhow::Error::new(error);
            exit::refuse(code, format!("cannot join an MPI job: {error:#}"))
        })?;
        Ok(Box::new(job))
    }
}

impl Job for comet_mpi::Job {
    fn rank(&self) -> Rank {
        self.rank()
    }

    fn library(&self) -> String {
        comet_mpi::library_version()
    }

    fn n_ranks(&self) -> Option<usize> {
        Some(self.n_ranks())
    }

    fn is_on_one_host(&self) -> bool {
        self.is_one_node()
    }

    /// The CPUs on which this process may run can be its own alone.
    fn n_ranks_on_cpu(&self, _: usize, _: &Binding) -> usize {
        self.n_ranks_here().div_ceil(n_online_cpus().max(1))
    }

    fn agree(&self, code: u8) -> u8 {
        self.agree(code)
    }

    fn end_with(&self, code: u8) {
        self.end_with(code);
    }

    fn describe(&self, _launch: &Launch) -> Vec<(&'static str, String)> {
        self.describe()
    }

    fn launch(
        &self,
        launch: &Launch,
        session: &Session<'_>,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8> {
        let files = session.folder().map(Folder::beginning);
        let config = RunConfig::new(launch.topology.clone())
            .with_watchdog(launch.watchdog)
            .with_results(session.results)
            .with_files(files.as_deref());
        if self.rank() == 0 {
            session.folder().iter().for_each(|files| sweep_ended(files));
        }
        let code = self.run(&config, |t| session::rank_main(t, session));
        // Those of a run that went well are gone; all ranks have come to its end.
        if self.rank() == 0 {
            files.iter().for_each(|files| sweep(files));
        }
        Ok(conclude(&Ok(code)))
    }
}

/// Number of CPUs of this host; 0 where the system does not tell.
fn n_online_cpus() -> usize {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1)
}

/// Reports a failure that this rank noticed, and puts an end under the results. A rank that gives up
/// is the only one with the cause; a wait that is too long is reported by many. A rank whose work is
/// done has put its end under them before, and keeps its code.
fn conclude_failure(failure: &JobFailure, results: Option<&Path>) -> u8 {
    let is_told = failure.rank.is_none_or(|rank| rank < N_TOLD);
    terminal::set_output_rank(failure.code == "rank_gave_up" || is_told);
    if failure.code == FINALIZE_STALLED {
        terminal::note(&format!("note: {}", failure.message));
        return exit::OK;
    }
    let results = results.and_then(ResultFile::of_rank);
    results::conclude(&Err(failure.clone()), results.as_ref())
}
