//! The launcher's signals: blocked, so that it reads them in its loop, while a job runs.

use nix::errno::Errno;
use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask,
};

/// Signals by which people and batch systems end a job.
const ENDING: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGXCPU,
];

/// Signals that the launcher reads; dropped, it restores what was before.
pub(super) struct Blocked {
    set: SigSet,
    old_mask: SigSet,
    old_child: SigAction,
}

impl Blocked {
    /// Blocks the signals that end a job, but for those that this process ignores (as under
    /// `nohup`), and the one that tells of an ended rank.
    pub(super) fn new() -> Result<Self, Errno> {
        let mut set: SigSet =
            ENDING.into_iter().filter(|signal| !is_ignored(*signal as i32)).collect();
        set.add(Signal::SIGCHLD);
        // A process that ignores it would never learn that a rank has ended.
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default action runs no code of this process.
        let old_child = unsafe { sigaction(Signal::SIGCHLD, &default) }?;
        let mut old_mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), Some(&mut old_mask))?;
        Ok(Self { set, old_mask, old_child })
    }

    /// The signals.
    pub(super) fn set(&self) -> &SigSet {
        &self.set
    }

    /// Lets a rank receive its signals as they were meant before.
    pub(super) fn restore(&self) -> Result<(), Errno> {
        // SAFETY: this is the action that the process had.
        unsafe { sigaction(Signal::SIGCHLD, &self.old_child) }?;
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.old_mask), None)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let result = self.restore();
        debug_assert_eq!(result, Ok(()));
    }
}

/// True if this process ignores the signal of this number; false if the system does not report it.
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
