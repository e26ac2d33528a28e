//! Ranks of an MPI job, started by mpirun, mpiexec or srun.

use comet_core::transport::Rank;
use comet_mpi::{JobFailure, RunConfig};

use super::{Backend, Ended, Job, Launch};
use crate::cli::WorldArgs;
use crate::exit;
use crate::launcher::Launcher;
use crate::session::{self, Session};
use crate::terminal;
use crate::world::Origin;

/// Of so many ranks, each says what it did when the job had to end; the first tell the story.
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

    fn origin(&self, _: &WorldArgs, launcher: Option<&Launcher>) -> anyhow::Result<Origin> {
        Ok(Origin::outside(launcher))
    }

    fn join(&self, _origin: &Origin) -> anyhow::Result<Box<dyn Job>> {
        let job = comet_mpi::join().map_err(|error| {
            exit::refuse(exit::TRANSPORT, format!("cannot join an MPI job: {error}"))
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

    fn agree(&self, code: u8) -> u8 {
        self.agree(code)
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
        let signals = session.signals;
        let config = RunConfig {
            topology: launch.topology.clone(),
            watchdog: launch.watchdog,
            signal: &|| signals.arrived(),
            on_failure: &|failure| conclude_failure(failure, conclude),
        };
        let code = self.run(&config, |t| session::rank_main(t, session));
        Ok(conclude(&Ended::Finished(code)))
    }
}

/// Tells of a failure that this rank noticed. A rank that gives up is the only one to know why; that
/// it waits for too long, many say.
fn conclude_failure(failure: &JobFailure, conclude: &dyn Fn(&Ended) -> u8) -> u8 {
    let JobFailure { rank, code, signal, message } = failure.clone();
    terminal::speak(code == "rank_gave_up" || rank.is_none_or(|rank| rank < N_TOLD));
    conclude(&match signal {
        Some(signal) => Ended::Interrupted { signal, message },
        None => Ended::Failed { rank, code, message },
    })
}
