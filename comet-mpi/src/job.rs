//! An MPI job from inside: joining it, running a rank, agreeing on how it ends.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use comet_core::topology::Topology;
use comet_core::transport::{Rank, RawTransport as _};
use mpi::environment;

use crate::guard::{Guard, JobFailure, Vitals};
use crate::native::{Comm, Failure, Library};
use crate::transport::Mpi;

/// Error of a process that could not become a rank.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// MPI is initialised once in the life of a process.
    #[error("MPI was initialised before in this process")]
    Again,
    /// A call failed.
    #[error("{call} failed: {text}")]
    Call {
        /// Name of the function.
        call: &'static str,
        /// Message of the library.
        text: String,
    },
}

impl From<Failure> for JoinError {
    fn from(failure: Failure) -> Self {
        Self::Call { call: failure.call, text: failure.text() }
    }
}

/// The job of which this process is a rank; MPI is finalised when it is dropped, which all ranks
/// have to do.
pub struct Job {
    comm: Rc<Comm>,
    library: Rc<Library>,
    rank: Rank,
    n_ranks: usize,
    n_ranks_here: usize,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("rank", &self.rank).field("n_ranks", &self.n_ranks).finish()
    }
}

/// Configuration of a rank.
pub struct RunConfig<'a> {
    /// Mesh and distances of the ranks, the same on all.
    pub topology: Topology,
    /// Time limit of a rank in one call; `None` for no limit.
    pub watchdog: Option<Duration>,
    /// Name of the signal that asks the job to end, once one has come. A rank that waits on after
    /// that is ended.
    pub signal: &'a (dyn Fn() -> Option<&'static str> + Sync),
    /// Takes note of a failure that ends the job, from another thread; the process ends with the
    /// code that it returns.
    pub on_failure: &'a (dyn Fn(&JobFailure) -> u8 + Sync),
}

impl std::fmt::Debug for RunConfig<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunConfig").field("watchdog", &self.watchdog).finish_non_exhaustive()
    }
}

/// Makes this process a rank of the job that it was started in, or of a job of one.
///
/// All processes of the job call it, each from its main thread.
///
/// # Errors
/// If MPI was initialised before in this process, or if the library fails.
pub fn join() -> Result<Job, JoinError> {
    let library = Library::initialise().ok_or(JoinError::Again)?;
    let comm = Comm::duplicate_world()?;
    Ok(Job {
        rank: comm.rank()?,
        n_ranks: comm.n_ranks()?,
        n_ranks_here: comm.n_ranks_here()?,
        comm: Rc::new(comm),
        library: Rc::new(library),
    })
}

impl Job {
    /// Number of this rank, `0..n_ranks`.
    #[must_use]
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Number of ranks of the job.
    #[must_use]
    pub fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    /// Description of the library for the record, units in the names.
    #[must_use]
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let (version, subversion) = environment::version();
        vec![
            ("library", library_version()),
            ("standard", format!("MPI {version}.{subversion}")),
            ("thread_level", format!("{:?}", environment::threading_support()).to_lowercase()),
            ("is_one_node", (self.n_ranks_here == self.n_ranks).to_string()),
        ]
    }

    /// Rank 0's `code`, on all ranks; all ranks call it. If the others cannot be reached, this
    /// rank's own.
    #[must_use]
    pub fn agree(&self, code: u8) -> u8 {
        let mut of_rank_0 = [code];
        let outcome = self.comm.broadcast(&mut of_rank_0, 0);
        outcome.map_or(code, |()| of_rank_0[0])
    }

    /// Runs `rank_main` on this rank, under a guard; returns rank 0's code, or if that is 0 the
    /// largest of all ranks. All ranks call it.
    ///
    /// A panic in `rank_main` ends the job.
    ///
    /// # Panics
    /// If the topology is not one of the job's number of ranks.
    pub fn run(&self, config: &RunConfig<'_>, rank_main: impl FnOnce(&Mpi) -> u8) -> u8 {
        assert_eq!(config.topology.n_ranks(), self.n_ranks, "ranks of the topology");
        let vitals = Arc::new(Vitals::default());
        let guard = Guard { vitals: &vitals, config, rank: self.rank };
        thread::scope(|threads| {
            let guard = threads.spawn(move || guard.watch());
            let mpi = Mpi::new(self, config.topology.clone(), &vitals, guard.thread());
            let code = catch_unwind(AssertUnwindSafe(|| rank_main(&mpi)));
            let code = code.unwrap_or_else(|payload| mpi.fail_job(&panic_text(payload)));
            let code = match mpi.agree(code) {
                0 => mpi.largest(code),
                of_rank_0 => of_rank_0,
            };
            vitals.end();
            guard.thread().unpark();
            code
        })
    }

    pub(crate) fn comm(&self) -> &Rc<Comm> {
        &self.comm
    }

    pub(crate) fn library(&self) -> &Rc<Library> {
        &self.library
    }

    /// True if all ranks share one machine, and so one clock.
    pub(crate) fn is_one_node(&self) -> bool {
        self.n_ranks_here == self.n_ranks
    }
}

/// Name and version of the MPI library, as it calls itself: `Open MPI v4.1.4`,
/// `MPICH Version: 4.0.2`. It need not be initialised.
#[must_use]
pub fn library_version() -> String {
    let text = environment::library_version().unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let name = first.split(',').next().unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    // Its destructor is the rank's code too, and might panic once more.
    std::mem::forget(payload);
    format!("it panicked: {}", text.as_deref().unwrap_or("without a message"))
}
