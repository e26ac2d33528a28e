//! Ranks on which a pattern is measured: processes over shared memory, and simulated ones.

use std::fs::File;
use std::time::Duration;

use comet_core::driver::Settings;
use comet_core::error::Result;
use comet_core::job::JobFailure;
use comet_core::topology::{Mesh, Topology};
use comet_core::transport::Transport;
use comet_report::record;
use comet_shm::{LaunchConfig, Shm};
use comet_sim::machine::{self, MachineFile};
use comet_sim::{RunConfig, Sim, SimError};

use crate::error::Error;
use crate::experiment::Experiment;
use crate::own::Unchecked;

/// Time limit of a wait in one call.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Ranks on which patterns and kernels are measured.
pub trait Ranks: Sized {
    /// Transport of their messages.
    type Transport: Transport;

    /// Mesh and distances of the ranks.
    fn topology(&self) -> Topology;

    /// Description of the transport for the record.
    fn describe(&self) -> record::Transport;

    /// Adapts the settings to these ranks; the default changes nothing.
    fn prepare(&self, settings: &mut Settings) {
        let _ = settings;
    }

    /// Runs `rank_main` on all ranks, of which rank 0 writes `record`, and waits for them; this process
    /// can read the record then.
    ///
    /// # Errors
    /// If the ranks cannot be started, or if one of them fails.
    fn run(
        &self,
        record: &File,
        rank_main: &dyn Fn(&Self::Transport) -> u8,
    ) -> std::result::Result<(), Error>;

    /// The measurement of a pattern on these ranks: each makes its `buffers` once, and repeats
    /// `operation` on them, in which all ranks take part. Without
    /// [`checked`](Experiment::checked) its record says that nothing was verified.
    fn pattern<S, B, O>(self, buffers: B, operation: O) -> Experiment<Self, Unchecked<S, B, O>>
    where
        B: Fn(&Self::Transport) -> Result<S> + Send + Sync,
        O: Fn(&Self::Transport, &mut S) -> Result<()> + Send + Sync,
    {
        Experiment::new(self, Unchecked::new(buffers, operation))
    }

    /// The measurement of `kernel` on these ranks, such as `Timed(pattern)` of a
    /// [`Pattern`](crate::kernel::Pattern).
    fn kernel<K: crate::kernel::Kernel<Self::Transport>>(self, kernel: K) -> Experiment<Self, K> {
        Experiment::new(self, kernel)
    }
}

/// Ranks as processes of this machine over shared memory; they are forked, so that the process has one
/// thread until then.
#[derive(Clone, Debug)]
pub struct SharedMemory(LaunchConfig);

impl SharedMemory {
    /// `n_ranks` ranks, each bound to a CPU; one that waits for a minute in one call ends the job.
    pub fn new(n_ranks: usize) -> Self {
        let config = LaunchConfig::new(Topology::hypercube(n_ranks));
        Self::of(config.with_watchdog(Some(WATCHDOG)))
    }

    /// Ranks that start by `config`.
    pub fn of(config: LaunchConfig) -> Self {
        Self(config)
    }
}

impl Ranks for SharedMemory {
    type Transport = Shm;

    fn topology(&self) -> Topology {
        self.0.topology.clone()
    }

    fn describe(&self) -> record::Transport {
        let n_ranks = self.0.topology.n_ranks();
        record::Transport::stated("shm", comet_shm::describe(n_ranks, comet_shm::usable_cpus()))
    }

    fn run(&self, _: &File, rank_main: &dyn Fn(&Shm) -> u8) -> std::result::Result<(), Error> {
        match comet_shm::launch(&self.0, rank_main)? {
            comet_shm::Outcome::Finished { code, signal } => finished(code, signal),
            comet_shm::Outcome::Failed(failure) => Err(Error::Job(failure)),
        }
    }
}

/// Ranks in virtual time on a simulated machine, in this thread.
#[derive(Clone, Debug)]
pub struct Simulation {
    file: MachineFile,
    topology: Topology,
}

impl Simulation {
    /// `n_ranks` ranks of the machine `machine`, a name of those that `comet-run machines` lists or
    /// the path of a machine file.
    ///
    /// # Errors
    /// If there is no such machine, or if it has no place for so many ranks.
    pub fn new(machine: &str, n_ranks: usize) -> std::result::Result<Self, Error> {
        let file = machine::find(machine)?;
        let topology = file.machine.topology(Mesh::gray(n_ranks)).map_err(SimError::Ranks)?;
        Ok(Self { file, topology })
    }
}

impl Ranks for Simulation {
    type Transport = Sim;

    fn topology(&self) -> Topology {
        self.topology.clone()
    }

    fn describe(&self) -> record::Transport {
        record::Transport::stated("sim", comet_sim::describe(&self.file))
    }

    fn prepare(&self, settings: &mut Settings) {
        if self.file.machine.is_exact() {
            settings.sample_exactly(self.topology.n_ranks());
        }
    }

    fn run(&self, _: &File, rank_main: &dyn Fn(&Sim) -> u8) -> std::result::Result<(), Error> {
        let config = RunConfig::new(self.file.machine.clone(), self.topology.clone());
        match comet_sim::run(&config, rank_main)? {
            comet_sim::Outcome::Finished { code, .. } => finished(code, None),
            comet_sim::Outcome::Failed(failure) => Err(Error::Job(failure)),
        }
    }
}

/// The end of ranks that returned `code`, after `signal` if one came.
pub(crate) fn finished(code: u8, signal: Option<&'static str>) -> std::result::Result<(), Error> {
    let (code, message) = match (code, signal) {
        (0, None) => return Ok(()),
        (_, Some(name)) => ("interrupted", format!("the ranks were ended by {name}")),
        (code, None) => ("rank_gave_up", format!("a rank ended with code {code}")),
    };
    Err(Error::Job(JobFailure { rank: None, code, signal, message }))
}
