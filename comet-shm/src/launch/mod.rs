//! Starting the ranks, watching over them, and saying what happened if one of them fails.
//!
//! The launcher forks the ranks while it has a single thread, and then sleeps until a child ends
//! or a signal comes; it takes no time from the ranks. When a rank ends abnormally it poisons the
//! segment and rings all bells, so that the others notice within a millisecond, gives them a
//! moment to end by themselves, and kills what is left. A rank whose launcher dies is killed by
//! the kernel.

mod facilities;
mod pin;
mod signals;
mod watch;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use comet_core::job::{JobFailure, panic_text};
use comet_core::topology::Topology;
use comet_core::transport::Rank;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid};

use crate::failure::Cause;
use crate::layout::{CHUNK_BYTES, Layout, N_CHUNKS, N_LINES, Pair};
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;
use crate::transport::{Shm, now_ns};
use crate::wait::{Cores, Waiter, end_job, look_pauses};

use facilities::{admit_siblings, die_with};
use signals::Blocked;

pub(crate) use facilities::Facilities;

pub use facilities::bind_to_this_process;
pub use pin::{usable_cores, usable_cpus};
pub use signals::is_ignored;

/// Heap of each rank; virtual until a buffer is used.
const HEAP_BYTES: usize = 256 << 20;

/// CPUs of the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Rank r on the r-th cpu that this process may use, physical cores first, round robin.
    Core,
    /// Wherever the system puts them.
    None,
    /// Rank r on the r-th of these cpus, round robin.
    List(Vec<usize>),
}

/// Configuration of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// Mesh and hops of the ranks, and so their number.
    pub topology: Topology,
    /// CPUs of the ranks.
    pub bind: Bind,
    /// Time limit of a wait in one call; `None` for no limit.
    pub watchdog: Option<Duration>,
    /// True if long messages in private memory are copied once, by the kernel, if the system lets
    /// one rank reach the memory of another (`process_vm_readv`); otherwise they are copied twice,
    /// through the rings.
    pub single_copy: bool,
}

impl LaunchConfig {
    /// Ranks on `topology`, each bound to a CPU, without a time limit.
    pub fn new(topology: Topology) -> Self {
        Self { topology, bind: Bind::Core, watchdog: None, single_copy: true }
    }

    /// This configuration on the CPUs of `bind`.
    #[must_use]
    pub fn with_bind(self, bind: Bind) -> Self {
        Self { bind, ..self }
    }

    /// This configuration with a time limit of a wait in one call.
    #[must_use]
    pub fn with_watchdog(self, watchdog: Option<Duration>) -> Self {
        Self { watchdog, ..self }
    }

    /// This configuration with or without [`single_copy`](Self::single_copy).
    #[must_use]
    pub fn with_single_copy(self, single_copy: bool) -> Self {
        Self { single_copy, ..self }
    }
}

/// Error of a launch that started no ranks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The number of ranks is not possible.
    #[error("cannot start {0} ranks: expected 1 to {max} (take fewer)", max = MAX_RANKS)]
    Ranks(usize),
    /// A rank cannot start ranks of its own.
    #[error("cannot start ranks from a rank: launch from the process that started it")]
    Nested,
    /// Ranks cannot be forked once there are threads.
    #[error("cannot fork ranks from a process with {0} threads: launch before any is started")]
    Threads(usize),
    /// A cpu of the list cannot be used.
    #[error("cannot run on cpu {cpu}: this process may use {usable}")]
    Cpu {
        /// The cpu.
        cpu: usize,
        /// List of the usable CPUs.
        usable: String,
    },
    /// Ranks cannot be bound to cpus.
    #[error("cannot bind ranks to cpus: {0} (leave them unbound: --bind none)")]
    Bind(Errno),
    /// The system refused.
    #[error("cannot {what}: {errno} ({remedy})", remedy = remedy(*.errno))]
    System {
        /// The attempt.
        what: &'static str,
        /// The answer.
        errno: Errno,
    },
}

/// The most ranks of one job.
pub const MAX_RANKS: usize = 1024;

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every rank ended by itself; the largest code that one returned.
    Finished {
        /// The code.
        code: u8,
        /// Name of the signal that the launcher passed on to rank 0, if one came.
        signal: Option<&'static str>,
    },
    /// A rank died, gave up or waited too long, a second signal came while the ranks were finishing
    /// after the first, or one computed on for 1.2 s after it; all others were ended.
    Failed(JobFailure),
}

/// Runs `rank_main` on all ranks of `config.topology`, each a process of its own, and waits for them.
///
/// Returns in the launcher only: a rank ends with the code that `rank_main` returns. Signal
/// handlers that are installed before serve in the ranks; the launcher passes the first SIGINT,
/// SIGTERM or SIGHUP on to rank 0, and ends the job at the second, or where a rank computes on for
/// 1.2 s.
///
/// ```no_run
/// use comet_core::{topology::Topology, transport::Transport};
/// use comet_shm::{LaunchConfig, Outcome, launch};
/// let config = LaunchConfig::new(Topology::hypercube(2));
/// let outcome = launch(&config, |t| u8::from(t.barrier().is_err())).unwrap();
/// assert_eq!(outcome, Outcome::Finished { code: 0, signal: None });
/// ```
///
/// # Errors
/// If no rank could be started. Nothing is left behind then.
pub fn launch(
    config: &LaunchConfig,
    rank_main: impl FnOnce(&Shm) -> u8,
) -> Result<Outcome, LaunchError> {
    let n_ranks = config.topology.n_ranks();
    if is_rank() {
        return Err(LaunchError::Nested);
    }
    if !(1..=MAX_RANKS).contains(&n_ranks) {
        return Err(LaunchError::Ranks(n_ranks));
    }
    let cpus = pin::cpus_of_ranks(&config.bind, n_ranks)?;
    pin::require_binding(&cpus)?;
    // Asked before a rank is bound, which would then see one cpu only, and once for all ranks.
    let (n_usable, look_pauses) = (pin::cores_for(&cpus, usable_cpus()), look_pauses());
    require_one_thread()?;
    let segment = create_segment(n_ranks)?;
    let signals = Blocked::new().map_err(system("block signals"))?;
    let facilities = Facilities::find(config.single_copy && n_ranks > 1);
    match fork_ranks(&segment, &cpus, &signals)? {
        Forked::Launcher(pids) => watch::watch(&segment, pids, &signals),
        Forked::Rank(rank, forked_ns) => {
            let cores = Cores { n_usable, mates: pin::mates_of(rank, &cpus), look_pauses };
            run((rank, forked_ns), config, segment, cores, facilities, rank_main)
        }
    }
}

/// Facts about a job of `n_ranks` ranks on `n_cpus` cpus for its record: name and value.
pub fn describe(n_ranks: usize, n_cpus: usize) -> Vec<(&'static str, String)> {
    let segment_bytes = Layout::new(n_ranks, HEAP_BYTES).map_or(0, |layout| layout.total_bytes);
    let oversubscribed = n_ranks > n_cpus;
    let wait = if oversubscribed {
        "spin while few are awake, yield, futex after 200 us"
    } else {
        "spin, yield, futex after 1 ms"
    };
    let facilities = Facilities::find(n_ranks > 1);
    vec![
        ("segment_bytes", segment_bytes.to_string()),
        ("pair_bytes", size_of::<Pair>().to_string()),
        ("ring_lines", N_LINES.to_string()),
        ("payload_ring_bytes", (N_CHUNKS as usize * CHUNK_BYTES).to_string()),
        ("heap_bytes_per_rank", HEAP_BYTES.to_string()),
        ("private_memory", facilities.private_memory().into()),
        ("fences", facilities.fences.name().into()),
        ("wait", wait.into()),
        ("oversubscribed", oversubscribed.to_string()),
    ]
}

/// Code of a rank that panicked, as Rust programs have it.
const PANICKED: u8 = 101;

/// True in a rank, which must not launch ranks: they would write to its rings and buffers.
static IS_RANK: AtomicBool = AtomicBool::new(false);

/// True if this process is a rank of a job.
fn is_rank() -> bool {
    // Relaxed: set and read by one thread.
    IS_RANK.load(Ordering::Relaxed)
}

/// Role of this process after the fork.
enum Forked {
    /// The launcher, with the processes of the ranks.
    Launcher(Vec<Pid>),
    /// This rank, and the clock before its process was made.
    Rank(Rank, u64),
}

/// Forks the ranks; in a rank, binds it and restores its signals.
fn fork_ranks(segment: &Segment, cpus: &[usize], signals: &Blocked) -> Result<Forked, LaunchError> {
    // Or each rank would print what is buffered once more. Errors show at the next write.
    let _ = std::io::stdout().flush();
    let launcher = getpid();
    let mut pids = Vec::new();
    for rank in 0..segment.n_ranks() {
        let forked_ns = now_ns();
        // SAFETY: this process has one thread (`require_one_thread`), so the child finds every
        // lock free and may go on as the parent would.
        match unsafe { fork() } {
            Ok(ForkResult::Parent { child }) => pids.push(child),
            Ok(ForkResult::Child) => {
                IS_RANK.store(true, Ordering::Relaxed);
                prepare(rank, segment, launcher, cpus.get(rank).copied(), signals);
                return Ok(Forked::Rank(rank, forked_ns));
            }
            Err(errno) => {
                abandon(&pids);
                return Err(system("fork a rank")(errno));
            }
        }
    }
    Ok(Forked::Launcher(pids))
}

/// Ends the ranks that were forked before one could not be.
fn abandon(pids: &[Pid]) {
    for pid in pids {
        // Errors would mean that it has ended, which is what is wanted.
        let _ = kill(*pid, Signal::SIGKILL);
        let _ = waitpid(*pid, None);
    }
}

/// First steps of a rank.
fn prepare(rank: Rank, segment: &Segment, launcher: Pid, cpu: Option<usize>, signals: &Blocked) {
    let gave_up = |what: &str| -> ! {
        end_job(segment, rank, Cause::GaveUp, &format!("rank {rank} could not {what}"));
        exit(1)
    };
    if die_with(launcher).is_err() {
        gave_up("bind its life to the launcher's");
    }
    if let Some(cpu) = cpu {
        let mut set = CpuSet::new();
        if set.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set)).is_err() {
            gave_up(&format!("be bound to cpu {cpu}"));
        }
    }
    admit_siblings(launcher);
    // Relaxed: read by ranks that have acquired a place in the memory of this one.
    segment.control(rank).pid.store(getpid().as_raw().cast_unsigned(), Ordering::Relaxed);
    if signals.restore().is_err() {
        gave_up("restore its signals");
    }
}

/// The life of a rank: runs `rank_main`, and ends the process with its code.
fn run(
    (rank, forked_ns): (Rank, u64),
    config: &LaunchConfig,
    segment: Segment,
    cores: Cores,
    facilities: Facilities,
    rank_main: impl FnOnce(&Shm) -> u8,
) -> ! {
    if !facilities.fences.join() {
        end_job(&segment, rank, Cause::GaveUp, &format!("rank {rank} could not join membarrier"));
        exit(1);
    }
    // Leaked on purpose: buffers and rings keep pointers into it for the rest of the process.
    let segment: &'static Segment = Box::leak(Box::new(segment));
    let waiter = Waiter::new(segment, rank, cores, facilities.fences, config.watchdog);
    let remote = RemoteCopy::new(segment, rank, facilities.has_private);
    let shm = Shm::new(segment, rank, config.topology.clone(), waiter, remote).since(forked_ns);
    let code = match catch_unwind(AssertUnwindSafe(|| rank_main(&shm))) {
        Ok(code) => {
            shm.flush();
            code
        }
        Err(payload) => {
            let text = panic_text(payload);
            end_job(segment, rank, Cause::GaveUp, &format!("rank {rank} panicked: {text}"));
            PANICKED
        }
    };
    // Flushes standard output; nothing else of the launcher's state is left in this process.
    let _ = std::io::stdout().flush();
    exit(i32::from(code))
}

fn create_segment(n_ranks: usize) -> Result<Segment, LaunchError> {
    let what = "map the shared segment";
    let layout = Layout::new(n_ranks, HEAP_BYTES);
    let layout = layout.ok_or(LaunchError::System { what, errno: Errno::ENOMEM })?;
    Segment::create(layout).map_err(system(what))
}

fn require_one_thread() -> Result<(), LaunchError> {
    // Without /proc the count is unknown; nothing that CoMet does before a launch starts a thread.
    match std::fs::read_dir("/proc/self/task").map(Iterator::count) {
        Ok(n_threads) if n_threads > 1 => Err(LaunchError::Threads(n_threads)),
        _ => Ok(()),
    }
}

/// Remedy for `errno`.
fn remedy(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM | Errno::EACCES | Errno::ENOSYS => {
            "this system or its container denies the call: allow it, or start elsewhere"
        }
        Errno::EFBIG => "raise the limit of file sizes: ulimit -f unlimited",
        Errno::EMFILE => "raise the limit of open files: ulimit -n 1024",
        _ => "try fewer ranks",
    }
}

fn system(what: &'static str) -> impl Fn(Errno) -> LaunchError {
    move |errno| LaunchError::System { what, errno }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_system_comes_with_a_remedy_that_fits() {
        let check = |errno, expected: &str| {
            let text = system("map the shared segment")(errno).to_string();
            assert!(text.starts_with("cannot map the shared segment: E"), "{text}");
            assert!(text.ends_with(expected), "{text}");
        };
        check(
            Errno::EPERM,
            "(this system or its container denies the call: allow it, or start elsewhere)",
        );
        check(Errno::EFBIG, "(raise the limit of file sizes: ulimit -f unlimited)");
        check(Errno::EMFILE, "(raise the limit of open files: ulimit -n 1024)");
        check(Errno::ENOMEM, "(try fewer ranks)");
        let text = LaunchError::Bind(Errno::EPERM).to_string();
        assert!(text.ends_with("(leave them unbound: --bind none)"), "{text}");
    }
}
