//! Forking the ranks, and what a rank does before and after its main function.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

use comet_core::job::panic_text;
use comet_core::transport::Rank;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid};

use super::facilities::{Facilities, admit_siblings, die_with};
use super::signals::Blocked;
use super::{LaunchConfig, LaunchError, system};
use crate::failure::Cause;
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;
use crate::transport::Shm;
use crate::wait::{Cores, Waiter, end_job};

/// Code of a rank that panicked, as Rust programs have it.
const PANICKED: u8 = 101;

/// True in a rank, which must not launch ranks: they would write to its rings and buffers.
static IS_RANK: AtomicBool = AtomicBool::new(false);

/// True if this process is a rank of a job.
pub(super) fn is_rank() -> bool {
    // Relaxed: set and read by one thread.
    IS_RANK.load(Ordering::Relaxed)
}

/// Role of this process after the fork.
pub(super) enum Forked {
    /// The launcher, with the processes of the ranks.
    Launcher(Vec<Pid>),
    /// This rank.
    Rank(Rank),
}

/// Forks the ranks; in a rank, binds it and restores its signals.
pub(super) fn fork_ranks(
    segment: &Segment,
    cpus: &[usize],
    signals: &Blocked,
) -> Result<Forked, LaunchError> {
    // Or each rank would print what is buffered once more. Errors show at the next write.
    let _ = std::io::stdout().flush();
    let launcher = getpid();
    let mut pids = Vec::new();
    for rank in 0..segment.n_ranks() {
        // SAFETY: this process has one thread (`require_one_thread`), so the child finds every
        // lock free and may go on as the parent would.
        match unsafe { fork() } {
            Ok(ForkResult::Parent { child }) => pids.push(child),
            Ok(ForkResult::Child) => {
                IS_RANK.store(true, Ordering::Relaxed);
                prepare(rank, segment, launcher, cpus.get(rank).copied(), signals);
                return Ok(Forked::Rank(rank));
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
pub(super) fn run(
    rank: Rank,
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
    let shm = Shm::new(segment, rank, config.topology.clone(), waiter, remote);
    let code = match catch_unwind(AssertUnwindSafe(|| rank_main(&shm))) {
        Ok(code) => code,
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
