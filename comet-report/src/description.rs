//! The description of a run by the process that starts it.

use std::path::Path;
use std::time::SystemTime;

use comet_core::topology::Topology;

use crate::environment::{Environment, noise};
use crate::record::{Suite, Transport};
use crate::recorder::{RunDescription, new_run_id};

impl RunDescription {
    /// A run of this process by the program `suite` on ranks of `topology`, without settings, labels
    /// and placements; `date` reads the wall clock.
    pub fn of_this_process(
        date: fn() -> SystemTime,
        suite: Suite,
        transport: Transport,
        topology: Topology,
    ) -> Self {
        let started_at = date();
        Self {
            run_id: new_run_id(started_at),
            started_at,
            date,
            noise: || noise(Path::new("/")),
            suite,
            argv: argv(),
            config: [].into(),
            seed: None,
            labels: [].into(),
            transport,
            launcher: None,
            placements: Vec::new(),
            topology,
            environment: Environment::capture(Path::new("/"), variables()),
            launch: None,
        }
    }
}

/// The command line of this process.
pub fn argv() -> Vec<String> {
    std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect()
}

/// The environment, without names or values that are no text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_run_of_this_process_has_its_date_and_its_command_line() {
        let date = || UNIX_EPOCH + Duration::from_secs(7);
        let transport = Transport::stated("shm", [("ring_lines", "64".to_owned())]);
        let topology = Topology::hypercube(2);
        let run = RunDescription::of_this_process(date, Suite::default(), transport, topology);
        assert_eq!((run.started_at, run.topology.n_ranks()), (date(), 2));
        // An id begins with the date, and ends with random bits.
        assert_eq!((&run.run_id[..8], run.argv), (&new_run_id(date())[..8], argv()));
        assert_eq!(run.transport.facts["shm"]["ring_lines"], 64);
        assert!(run.placements.is_empty() && run.labels.is_empty() && run.launch.is_none());
    }
}
