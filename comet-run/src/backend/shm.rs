//! Ranks as processes of this machine over shared memory.

use std::path::Path;

use comet_core::file::Folder;
use comet_shm::{Bind, LaunchConfig, LaunchError, Outcome};

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
        let outcome = comet_shm::launch(&config, |t| session::rank_main(t, session));
        // Ranks that were ended leave their files; those of a run that went well are gone.
        session.settings.files.iter().for_each(sweep);
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

/// Removes the files of a run that ended before it could.
fn sweep(folder: &Folder) {
    let prefix = folder.prefix();
    let is_of_run = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    // A folder that cannot be read is no reason to change how the run ended.
    let Ok(entries) = std::fs::read_dir(&folder.path) else { return };
    for entry in entries.flatten().filter(|entry| is_of_run(&entry.path())) {
        let _ = std::fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::file::Cache;

    #[test]
    fn a_sweep_removes_the_files_of_its_run_alone() {
        let path = std::env::temp_dir().join(format!("comet-sweep-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let (free_bytes, cache, hints) = (0, Cache::Keep, Vec::new());
        let folder = Folder { path: path.clone(), free_bytes, run: 7, cache, hints };
        for name in [format!("{}-0", folder.prefix()), "comet-io-8".into(), "other".into()] {
            std::fs::write(path.join(name), "").unwrap();
        }
        sweep(&folder);
        let mut left: Vec<_> =
            std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["comet-io-8", "other"]);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
