//! Starting the ranks, watching over them, and saying what happened if one of them fails.
//!
//! The launcher forks the ranks while it has a single thread, and then sleeps until a child ends
//! or a signal comes; it takes no time from the ranks. When a rank ends abnormally it poisons the
//! segment and rings all bells, so that the others notice within a millisecond, gives them a
//! moment to end by themselves, and kills what is left. A rank whose launcher dies is killed by
//! the kernel.

mod facilities;
mod pin;
mod rank;
mod signals;
mod watch;

use std::time::Duration;

use comet_core::job::JobFailure;
use comet_core::topology::Topology;
use nix::errno::Errno;

use crate::layout::{CHUNK_BYTES, Layout, N_CHUNKS, N_LINES, Pair};
use crate::segment::Segment;
use crate::transport::Shm;
use crate::wait::{Cores, look_pauses};

pub(crate) use facilities::Facilities;

pub use facilities::bind_to_this_process;
pub use pin::usable_cpus;
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
    },
    /// A rank died, gave up or waited too long, or a second signal came while the ranks were
    /// finishing after the first; all others were ended.
    Failed(JobFailure),
}

/// Runs `rank_main` on all ranks of `config.topology`, each a process of its own, and waits for them.
///
/// Returns in the launcher only: a rank ends with the code that `rank_main` returns. Signal
/// handlers that are installed before serve in the ranks; the launcher passes the first SIGINT,
/// SIGTERM or SIGHUP on to rank 0, and ends the job at the second.
///
/// ```no_run
/// use comet_core::{topology::Topology, transport::Transport};
/// use comet_shm::{Bind, LaunchConfig, Outcome, launch};
/// let topology = Topology::hypercube(2);
/// let config = LaunchConfig { topology, bind: Bind::Core, watchdog: None, single_copy: true };
/// let outcome = launch(&config, |t| u8::from(t.barrier().is_err())).unwrap();
/// assert_eq!(outcome, Outcome::Finished { code: 0 });
/// ```
///
/// # Errors
/// If no rank could be started. Nothing is left behind then.
pub fn launch(
    config: &LaunchConfig,
    rank_main: impl FnOnce(&Shm) -> u8,
) -> Result<Outcome, LaunchError> {
    let n_ranks = config.topology.n_ranks();
    if rank::is_rank() {
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
    let signals = signals::Blocked::new().map_err(system("block signals"))?;
    let facilities = Facilities::find(config.single_copy && n_ranks > 1);
    match rank::fork_ranks(&segment, &cpus, &signals)? {
        rank::Forked::Launcher(pids) => watch::watch(&segment, pids, &signals),
        rank::Forked::Rank(rank) => {
            let cores = Cores { n_usable, mates: pin::mates_of(rank, &cpus), look_pauses };
            rank::run(rank, config, segment, cores, facilities, rank_main)
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
