//! A job: its ranks from their start to their end.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use comet_core::job::{JobFailure, panic_text};
use comet_core::topology::Topology;

use crate::engine::{self, Engine};
use crate::fiber::Fibers;
use crate::machine::{Machine, MachineFile, SOURCES};
use crate::route::Routes;
use crate::stuck;
use crate::transport::Sim;

/// Time that a job may go on after a signal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Configuration of a run.
#[non_exhaustive]
pub struct RunConfig<'a> {
    /// The machine.
    pub machine: Machine,
    /// Mesh of the ranks; the distances are those of the machine.
    pub topology: Topology,
    /// Name of the signal that asks the job to end; five seconds later the job is ended.
    pub signal: &'a dyn Fn() -> Option<&'static str>,
}

impl fmt::Debug for RunConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunConfig").field("machine", &self.machine.name).finish_non_exhaustive()
    }
}

impl<'a> RunConfig<'a> {
    /// As many ranks as `topology` has on `machine`, which nobody interrupts.
    pub fn new(machine: Machine, topology: Topology) -> Self {
        Self { machine, topology, signal: &|| None }
    }

    /// This configuration with the source of signals `signal`.
    #[must_use]
    pub fn with_signal(self, signal: &'a dyn Fn() -> Option<&'static str>) -> Self {
        Self { signal, ..self }
    }
}

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All ranks returned.
    Finished {
        /// The largest of their codes.
        code: u8,
        /// Statistics of the job.
        statistics: Statistics,
    },
    /// The job could not go on.
    Failed(JobFailure),
}

/// Statistics of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Virtual time at which the last rank returned, in picoseconds.
    pub end_ps: u64,
    /// Messages sent.
    pub n_messages: u64,
}

/// Error of a job that could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The ranks do not fit onto the machine.
    #[error("{0}")]
    Ranks(String),
    /// There is no memory for the stacks of the ranks.
    #[error(
        "cannot make {n_ranks} stacks for the ranks (take fewer ranks, raise vm.max_map_count to \
         two for each rank, or use Linux 6.13, which needs no mapping for each)"
    )]
    Stacks {
        /// Number of ranks asked for.
        n_ranks: usize,
        /// Error of the system.
        source: io::Error,
    },
}

/// Runs `rank_main` on every rank.
///
/// # Errors
/// If the ranks do not fit onto the machine, or if there is no memory for their stacks.
pub fn run(config: &RunConfig<'_>, rank_main: impl Fn(&Sim) -> u8) -> Result<Outcome, SimError> {
    let n_ranks = config.topology.n_ranks();
    let routes = Routes::new(&config.machine.network.shape, n_ranks).map_err(SimError::Ranks)?;
    let topology = Rc::new(config.topology.clone());
    let engine = Engine::new(config.machine.clone(), routes, n_ranks);
    let engine = Rc::new(RefCell::new(engine));
    let main = |rank, suspender| {
        let sim = Sim::new(Rc::clone(&engine), Rc::clone(&topology), rank, suspender);
        code_of(&sim, &rank_main)
    };
    let watch = Watch::new(config.signal);
    let codes = Fibers::with(n_ranks, main, |fibers| engine::run(&engine, fibers, watch))
        .map_err(|source| SimError::Stacks { n_ranks, source })?;
    let engine = engine.borrow();
    Ok(match &engine.failure {
        Some(failure) => Outcome::Failed(failure.clone()),
        None => Outcome::Finished {
            code: codes.into_iter().flatten().max().unwrap_or(0),
            statistics: Statistics {
                end_ps: engine.ranks.iter().map(|rank| rank.clock_ps).max().unwrap_or(0),
                n_messages: engine.n_messages,
            },
        },
    })
}

/// Description of a simulation of `file` for the record, units in the names.
pub fn describe(file: &MachineFile) -> Vec<(&'static str, String)> {
    let facts = [
        ("engine", concat!("comet-sim ", env!("CARGO_PKG_VERSION")).into()),
        ("machine", file.name.clone()),
        ("machine_sha256", file.hash.clone()),
        ("seed", file.machine.noise.seed.to_string()),
    ];
    let counts = SOURCES.into_iter().zip(file.sources.map(|n| n.to_string()));
    facts.into_iter().chain(counts).collect()
}

fn code_of(sim: &Sim, rank_main: impl Fn(&Sim) -> u8) -> u8 {
    match catch_unwind(AssertUnwindSafe(|| rank_main(sim))) {
        Ok(code) => code,
        Err(panic) => {
            sim.end_job("rank_panicked", "panicked", &panic_text(panic));
            1
        }
    }
}

/// Looks now and then whether a signal has asked the job to end.
pub(crate) struct Watch<'a> {
    signal: &'a dyn Fn() -> Option<&'static str>,
    n_looks: u32,
    since: Option<Instant>,
}

impl<'a> Watch<'a> {
    /// Looks between two real ones.
    const INTERVAL: u32 = 1 << 6;

    fn new(signal: &'a dyn Fn() -> Option<&'static str>) -> Self {
        Self { signal, n_looks: 0, since: None }
    }

    /// The failure of a job that does not end after a signal.
    pub(crate) fn look(&mut self, engine: &Engine) -> Option<JobFailure> {
        self.n_looks = (self.n_looks + 1) % Self::INTERVAL;
        if self.n_looks != 0 {
            return None;
        }
        let signal = (self.signal)()?;
        let since = *self.since.get_or_insert_with(Instant::now);
        (since.elapsed() > PATIENCE).then(|| JobFailure {
            rank: None,
            code: "interrupted",
            signal: Some(signal),
            message: stuck::interruption(engine, signal),
        })
    }
}
