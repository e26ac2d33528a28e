//! Ranks as processes of this machine over shared memory.

use comet_shm::{Bind, JobFailure, LaunchConfig, LaunchError, Outcome};

use super::{Backend, Ended, Launch};
use crate::exit;
use crate::session::{self, Session};
use crate::values::Binding;

/// The shared-memory backend.
pub(super) struct SharedMemory;

impl Backend for SharedMemory {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn summary(&self) -> &'static str {
        "processes of this machine over shared memory"
    }

    fn usable_cpus(&self) -> usize {
        comet_shm::usable_cpus()
    }

    fn buffers_sends(&self) -> bool {
        true
    }

    fn describe(&self, launch: &Launch) -> Vec<(&'static str, String)> {
        let n_cpus = launch.bind.n_cpus(self.usable_cpus());
        comet_shm::describe(launch.topology.n_ranks(), n_cpus)
    }

    fn launch(&self, launch: &Launch, session: &Session<'_>) -> anyhow::Result<Ended> {
        let config = LaunchConfig {
            n_ranks: launch.topology.n_ranks(),
            topology: launch.topology.clone(),
            bind: bind(&launch.bind),
            watchdog: launch.watchdog,
        };
        let outcome = comet_shm::launch(&config, |t| session::rank_main(t, session));
        Ok(match outcome.map_err(refuse)? {
            Outcome::Finished { code } => Ended::Finished(code),
            Outcome::Failed(JobFailure { rank, code, message }) => {
                Ended::Failed { rank, code, message }
            }
            Outcome::Interrupted { signal } => Ended::Interrupted(signal),
        })
    }
}

fn bind(binding: &Binding) -> Bind {
    match binding {
        Binding::Core => Bind::Core,
        Binding::None => Bind::None,
        Binding::List(cpus) => Bind::List(cpus.clone()),
    }
}

fn refuse(error: LaunchError) -> anyhow::Error {
    let code = match error {
        LaunchError::Cpu { .. } | LaunchError::Ranks(_) => exit::USAGE,
        _ => exit::TRANSPORT,
    };
    exit::refuse(code, format!("{:#}", anyhow::Error::new(error)))
}
