//! A fence of which one side costs nothing.
//!
//! A rank that publishes something and a rank that goes to sleep must not both look too early (see
//! `wait`), so each needs a fence between its store and its look. Publishing is what every message
//! does, falling asleep is rare: so where the system has `membarrier`, the sleeper alone pays. Its
//! call makes every cpu that runs a rank pass a full fence, wherever that rank is in its code;
//! a rank that does not run passed one when it was switched out.

use nix::libc;

use crate::sync::{Ordering, fence};

/// Kind of fence; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsymmetricFence {
    /// The sleeper makes all cpus fence.
    Asymmetric,
    /// Both sides fence, as the system has no such call.
    Symmetric,
}

impl AsymmetricFence {
    /// The fences that the system supports.
    pub(crate) fn available() -> Self {
        let supported = membarrier(libc::MEMBARRIER_CMD_QUERY);
        let wanted =
            libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED | libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
        let has_all = supported >= 0 && supported & i64::from(wanted) == i64::from(wanted);
        if has_all { Self::Asymmetric } else { Self::Symmetric }
    }

    /// Name of the fences, in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Asymmetric => "membarrier by the sleeper",
            Self::Symmetric => "both sides",
        }
    }

    /// Says that this process takes part; to be called by each rank before it publishes anything.
    /// False if the system refuses what it has offered.
    pub(crate) fn join(self) -> bool {
        self == Self::Symmetric || membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0
    }

    /// The side of who publishes: between its store and its look for sleepers.
    #[inline]
    pub(crate) fn publisher(self) {
        match self {
            // SeqCst, for the compiler alone: keeps the order in the program, on which the
            // sleeper's `membarrier` relies.
            #[cfg(not(loom))]
            Self::Asymmetric => std::sync::atomic::compiler_fence(Ordering::SeqCst),
            // SeqCst: pairs with the fence in `sleeper`.
            _ => fence(Ordering::SeqCst),
        }
    }

    /// The side of who falls asleep: between its flag and its last look for data.
    pub(crate) fn sleeper(self) {
        // SeqCst: pairs with the fence in `publisher`.
        fence(Ordering::SeqCst);
        if self == Self::Asymmetric {
            // It cannot fail for a process that has joined.
            membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED);
        }
    }
}

/// Calls `membarrier`; the answer is negative where it is refused.
fn membarrier(command: libc::c_int) -> i64 {
    // SAFETY: the call takes two numbers and touches no memory of this process.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}
