//! Ranks as processes of this machine over shared memory.

use comet_shm::{Bind, LaunchConfig, LaunchError, Outcome};

use super::sweep::{sweep, sweep_ended};
use super::{Backend, Ended, Job, Launch};
use crate::cli::WorldArgs;
use crate::cli::values::Binding;
use crate::exit;
use crate::launcher::Launcher;
use crate::session::{self, Session};
use crate::world::Origin;

/// The shared-memory backend.
pub(super) struct SharedMemory;

impl Backend for SharedMemory {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn summary(&self) -> &'static str {
        "processes of this machine over shared memory"
    }

    fn origin(&self, _: &WorldArgs, _: Option<&Launcher>) -> anyhow::Result<Origin> {
        Ok(Origin::Here { n_cpus: comet_shm::usable_cpus(), n_cores: comet_shm::usable_cores() })
    }

    fn join(
        &self,
        _: &WorldArgs,
        _: &Origin,
        _: Option<&Launcher>,
    ) -> anyhow::Result<Box<dyn Job>> {
        Ok(Box::new(Forked))
    }
}

/// A job whose ranks are forked when it is launched.
struct Forked;

impl Job for Forked {
    fn n_ranks_on_cpu(&self, n_ranks: usize, bind: &Binding) -> usize {
        n_ranks.div_ceil(bind.n_cpus(comet_shm::usable_cpus()).max(1))
    }

    fn describe(&self, launch: &Launch) -> Vec<(&'static str, String)> {
        let n_cpus = launch.bind.n_cpus(comet_shm::usable_cpus());
        comet_shm::describe(launch.topology.n_ranks(), n_cpus)
    }

    fn launch(
        &self,
        launch: &Launch,
        session: &Session<'_>,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8> {
        let config = LaunchConfig::new(launch.topology.clone())
            .with_bind(bind(&launch.bind))
            .with_watchdog(launch.watchdog);
        session.folder().iter().for_each(|files| sweep_ended(files));
        let outcome = comet_shm::launch(&config, |t| session::rank_main(t, session));
        // Ranks that were ended leave their files; those of a run that went well are gone.
        session.folder().iter().for_each(|files| sweep(&files.beginning()));
        Ok(conclude(&match outcome.map_err(refuse)? {
            Outcome::Finished { code, signal } => {
                // Rank 0 may have been past its last look for one.
                session.signals.note(signal);
                Ok(code)
            }
            Outcome::Failed(failure) => Err(failure),
        }))
    }
}

fn bind(binding: &Binding) -> Bind {
    match binding {
        Binding::Core => Bind::Core,
        Binding::None | Binding::Launcher => Bind::None,
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
