//! An MPI job from inside: joining it, running a rank, agreeing on how it ends.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use comet_core::job::panic_text;
use comet_core::topology::Topology;
use comet_core::transport::{Rank, RawTransport as _, Source};
use comet_core::waiting::Waiting;
use mpi::environment;
use mpi::topology::SimpleCommunicator;

use crate::clock;
use crate::guard::{Guard, OnFailure, Sweep};
use crate::level::ThreadLevel;
use crate::native::{self, Comm, Failure, Library};
use crate::transport::Mpi;
use crate::vitals::{Pages, Phase, Vitals};

/// Longest wait for the keeper of files, and time between two looks.
const KEEPER_PATIENCE: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(5);

/// Error of a process that could not become a rank.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// MPI is initialised once in the life of a process.
    #[error("MPI was initialised before in this process (adopt a communicator of it instead)")]
    Again,
    /// There is no communicator before `MPI_Init`, and none after `MPI_Finalize`.
    #[error("MPI is not initialised in this process (call MPI_Init first, or join a job)")]
    NotInitialised,
    /// The system refuses the guard process or its signals.
    #[error("the guard process could not be started")]
    Guard(#[from] io::Error),
    /// The library grants less than what was asked for.
    #[error(
        "the MPI library grants the thread level {granted}, not {asked} (ask for \
         --thread-level {granted}, or take a library that was built for threads)"
    )]
    Level {
        /// The level that was asked for.
        asked: ThreadLevel,
        /// The level that there is.
        granted: ThreadLevel,
    },
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

/// The job of which this process is a rank. All ranks drop it, which finalises MPI if
/// [`join`] has initialised it.
pub struct Job {
    comm: Rc<Comm>,
    library: Arc<Library>,
    pages: &'static Pages,
    on_failure: OnFailure,
    rank: Rank,
    n_ranks: usize,
    n_ranks_here: usize,
    startup_ns: Option<[u64; 2]>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("rank", &self.rank).field("n_ranks", &self.n_ranks).finish()
    }
}

/// Configuration of a rank before it joins a job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JoinConfig {
    /// The thread level to ask for.
    pub level: ThreadLevel,
    /// Time limit of a rank in one call; `None` for no limit. `MPI_Init` may take four times as long,
    /// and 30 s at least.
    pub watchdog: Option<Duration>,
    /// Number of this rank and of all ranks, where the launcher gives them before MPI does.
    pub number: Option<(Rank, usize)>,
    /// Takes note of a failure that ends the job. A guard calls it in a copy of this process made
    /// by `join`, where nothing is known that happened since.
    pub on_failure: OnFailure,
    /// Removes what kernels have left in [`RunConfig::files`] once rank 0 has ended.
    pub sweep: Sweep,
}

impl JoinConfig {
    /// One thread, no time limit, `on_failure` for a failure that ends the job, and no sweep.
    pub fn new(on_failure: OnFailure) -> Self {
        let (watchdog, number) = (None, None);
        Self { level: ThreadLevel::Single, watchdog, number, on_failure, sweep: |_| () }
    }

    /// This configuration with a sweep of the files of kernels.
    #[must_use]
    pub fn with_sweep(self, sweep: Sweep) -> Self {
        Self { sweep, ..self }
    }

    /// This configuration with the thread level `level`.
    #[must_use]
    pub fn with_level(self, level: ThreadLevel) -> Self {
        Self { level, ..self }
    }

    /// This configuration with a time limit of a rank in one call.
    #[must_use]
    pub fn with_watchdog(self, watchdog: Option<Duration>) -> Self {
        Self { watchdog, ..self }
    }

    /// This configuration with the number of this rank and of all ranks.
    #[must_use]
    pub fn with_number(self, number: Option<(Rank, usize)>) -> Self {
        Self { number, ..self }
    }
}

/// Configuration of a rank.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunConfig<'a> {
    /// Mesh and distances of the ranks, the same on all.
    pub topology: Topology,
    /// Time limit of a rank in one call; `None` for no limit.
    pub watchdog: Option<Duration>,
    /// Path of the result file on a rank that keeps one, for [`JoinConfig::on_failure`].
    pub results: Option<&'a Path>,
    /// Beginning of the paths of files that kernels make, on rank 0, for [`JoinConfig::sweep`].
    pub files: Option<&'a Path>,
}

impl<'a> RunConfig<'a> {
    /// Ranks on `topology`, without a time limit and without files.
    pub fn new(topology: Topology) -> Self {
        Self { topology, watchdog: None, results: None, files: None }
    }

    /// This configuration with a time limit of a rank in one call.
    #[must_use]
    pub fn with_watchdog(self, watchdog: Option<Duration>) -> Self {
        Self { watchdog, ..self }
    }

    /// This configuration with the path of the result file.
    #[must_use]
    pub fn with_results(self, results: Option<&'a Path>) -> Self {
        Self { results, ..self }
    }

    /// This configuration with the beginning of the paths of files that kernels make.
    #[must_use]
    pub fn with_files(self, files: Option<&'a Path>) -> Self {
        Self { files, ..self }
    }
}

/// Makes this process a rank of the job that it was started in, or of a job of one.
///
/// All processes of the job call it, each from its main thread and before any other thread is
/// started. It forks a guard, which ends this process if that does not move: if it waits or is
/// stopped for longer than the watchdog allows, or waits on after SIGINT, SIGTERM or SIGHUP where
/// the program catches these.
///
/// # Errors
/// If MPI was initialised before in this process, if the library fails or grants less than the
/// thread level, or if the system refuses the guard.
pub fn join(config: &JoinConfig) -> Result<Job, JoinError> {
    let pages = native::shared_vitals().map_err(io::Error::from)?;
    let vitals = &pages.of_rank;
    if let Some((rank, n_ranks)) = config.number {
        vitals.number(rank, n_ranks);
    }
    vitals.limit(config.watchdog);
    native::obey(vitals)?;
    let guard = Guard {
        vitals,
        lanes: &pages.of_lanes,
        on_failure: config.on_failure,
        sweep: config.sweep,
    };
    let guard = native::fork(|rank| guard.watch(rank)).map_err(io::Error::from)?;
    let before_ns = clock::now_ns();
    let library = Library::initialise(config.level, vitals, guard).ok_or(JoinError::Again)?;
    let startup_ns = Some([before_ns, clock::now_ns()]);
    if library.level < config.level {
        return Err(JoinError::Level { asked: config.level, granted: library.level });
    }
    let job = Job::of(Comm::duplicate_world()?, library, pages, config.on_failure)?;
    Ok(Job { startup_ns, ..job })
}

/// Makes this process a rank of the job of `comm`, a communicator of the program, which initialises
/// and finalises MPI itself.
///
/// All ranks of `comm` call it, and drop the job before `MPI_Finalize`; CoMet's messages travel on a
/// duplicate of `comm`. There is no guard, and so no time limit: the guard of [`join`] is forked
/// before `MPI_Init`. `on_failure` runs in a rank that gives up, before the job is aborted.
///
/// # Errors
/// If MPI is not initialised, or if the library fails.
pub fn adopt(comm: &SimpleCommunicator, on_failure: OnFailure) -> Result<Job, JoinError> {
    let pages = native::shared_vitals().map_err(io::Error::from)?;
    let library = Library::of_program(&pages.of_rank).ok_or(JoinError::NotInitialised)?;
    Job::of(Comm::duplicate_of(comm)?, library, pages, on_failure)
}

impl Job {
    /// The rank of this process in the job of `comm`; all of its ranks call it.
    fn of(
        comm: Comm,
        library: Library,
        pages: &'static Pages,
        on_failure: OnFailure,
    ) -> Result<Self, JoinError> {
        let vitals = &pages.of_rank;
        let job = Self {
            rank: comm.rank()?,
            n_ranks: comm.n_ranks()?,
            n_ranks_here: comm.n_ranks_here()?,
            comm: Rc::new(comm),
            library: Arc::new(library),
            pages,
            on_failure,
            startup_ns: None,
        };
        vitals.number(job.rank, job.n_ranks);
        vitals.begin(Phase::Running);
        Ok(job)
    }

    /// Number of this rank, `0..n_ranks`.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Number of ranks of the job.
    pub fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    /// Number of ranks of the job on this host.
    pub fn n_ranks_here(&self) -> usize {
        self.n_ranks_here
    }

    /// Description of the library for the record, units in the names.
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let (version, subversion) = environment::version();
        vec![
            ("library", library_version()),
            ("standard", format!("MPI {version}.{subversion}")),
            ("thread_level", self.library.level.to_string()),
            ("is_one_node", (self.n_ranks_here == self.n_ranks).to_string()),
        ]
    }

    /// Rank 0's `code`, on all ranks; all ranks call it. If the others cannot be reached, this
    /// rank's own.
    pub fn agree(&self, code: u8) -> u8 {
        let mut of_rank_0 = [code];
        self.vitals().enter(Waiting::Collective(Source::Any));
        let outcome = self.comm.broadcast(&mut of_rank_0, 0, self.rank() == 0);
        self.vitals().leave();
        outcome.map_or(code, |()| of_rank_0[0])
    }

    /// Notes the beginning of the paths of files on rank 0, and waits a moment for their keeper.
    fn keep_files(&self, files: Option<&Path>) {
        let files = files.filter(|_| self.rank == 0 && !self.library.is_of_program());
        self.vitals().keep_files(files);
        let until = Instant::now() + KEEPER_PATIENCE;
        while files.is_some() && !self.vitals().has_keeper() && Instant::now() < until {
            thread::sleep(NAP);
        }
    }

    /// Runs `rank_main` on this rank; returns rank 0's code, or if that is 0 the largest of all
    /// ranks. All ranks call it.
    ///
    /// A panic in `rank_main` ends the job.
    ///
    /// # Panics
    /// If the topology is not one of the job's number of ranks.
    pub fn run(&self, config: &RunConfig<'_>, rank_main: impl FnOnce(&Mpi) -> u8) -> u8 {
        assert_eq!(config.topology.n_ranks(), self.n_ranks, "ranks of the topology");
        self.vitals().limit(config.watchdog);
        self.vitals().keep(config.results);
        self.keep_files(config.files);
        let mut mpi = Mpi::new(self, config.topology.clone());
        // Signals are the program's own where that has initialised MPI.
        if !self.library.is_of_program()
            && let Err(error) = native::listen(self.vitals())
        {
            mpi.fail_job(&format!("it cannot listen to signals: {error}"));
        }
        if let Err(error) = mpi.share_lines() {
            mpi.fail_job(&error.to_string());
        }
        let code = catch_unwind(AssertUnwindSafe(|| rank_main(&mpi)));
        let code = code.unwrap_or_else(|payload| {
            mpi.fail_job(&format!("it panicked: {}", panic_text(payload)))
        });
        match self.agree(code) {
            0 => mpi.largest(code),
            of_rank_0 => of_rank_0,
        }
    }

    /// Notes that this rank has done its work, and ends with `code`: so it does even if
    /// `MPI_Finalize` does not return.
    pub fn end_with(&self, code: u8) {
        self.vitals().end_with(code);
    }

    /// The clock before and after `MPI_Init_thread`, if this process called it.
    pub(crate) fn startup_ns(&self) -> Option<[u64; 2]> {
        self.startup_ns
    }

    pub(crate) fn comm(&self) -> &Rc<Comm> {
        &self.comm
    }

    pub(crate) fn library(&self) -> &Arc<Library> {
        &self.library
    }

    pub(crate) fn vitals(&self) -> &'static Vitals {
        &self.pages.of_rank
    }

    /// The notes of the lanes of this rank.
    pub(crate) fn lanes(&self) -> &'static [Vitals] {
        &self.pages.of_lanes
    }

    pub(crate) fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// True if all ranks share one machine, and so one clock.
    pub fn is_one_node(&self) -> bool {
        self.n_ranks_here == self.n_ranks
    }
}

/// Name and version of the MPI library, as it calls itself: `Open MPI v4.1.4`,
/// `MPICH Version: 4.0.2`. It need not be initialised.
pub fn library_version() -> String {
    let text = environment::library_version().unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let name = first.split(',').next().unwrap_or_default();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True for the libraries that call themselves Open MPI 4.
pub(crate) fn is_open_mpi_4() -> bool {
    library_version().starts_with("Open MPI v4.")
}
