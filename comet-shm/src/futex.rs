//! Sleeping until somebody has published something, without a lost wake-up.
//!
//! The sleeper raises its flag and looks once more; the waker publishes and then looks at the flag;
//! a fence between the two steps on both sides makes it impossible that both look too
//! early:
//!
//! ```text
//!   sleeper: sleeping = 1; fence; look for data; none: futex_wait(futex as read before)
//!   waker:   publish data; fence; look at sleeping; set: futex += 1, futex_wake
//! ```
//!
//! One side of the fence costs nothing. Publishing is what every message does, falling asleep is rare:
//! so where the system has `membarrier`, the sleeper alone pays. Its call makes every cpu that runs a
//! rank pass a full fence, wherever that rank is in its code; a rank that does not run passed one
//! when it was switched out.

use std::time::Duration;

use nix::libc;

use crate::sync::{AtomicU32, Ordering, fence, futex_wait, futex_wake};

/// Words in the segment on which one rank sleeps.
pub(crate) struct Futex<'a> {
    /// Others add 1 to wake the rank.
    pub(crate) word: &'a AtomicU32,
    /// True if the rank sleeps, or is about to.
    pub(crate) sleeping: &'a AtomicU32,
    /// Number of sleeping ranks.
    pub(crate) n_sleepers: &'a AtomicU32,
}

impl Futex<'_> {
    /// Sleeps until the futex is woken or `limit` is over, unless `look` gives something now.
    pub(crate) fn sleep<R>(
        &self,
        fences: AsymmetricFence,
        limit: Duration,
        look: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        // Acquire: pairs with the Release addition in `ring`. Whoever has woken a futex that is
        // counted here took the flag before it is raised now, not after, when nobody would ring any
        // more; and what was published before is found below, also if there was no look at the flag
        // and no fence. A futex that is woken after this load makes the futex return at once.
        let rung = self.word.load(Ordering::Acquire);
        // Relaxed: the fence orders both before the look for data.
        self.sleeping.store(1, Ordering::Relaxed);
        self.n_sleepers.fetch_add(1, Ordering::Relaxed);
        fences.sleeper();
        let found = look();
        if found.is_none() {
            futex_wait(self.word, rung, limit);
        }
        // Relaxed: hints to wakers; one that comes late rings in vain.
        self.n_sleepers.fetch_sub(1, Ordering::Relaxed);
        self.sleeping.store(0, Ordering::Relaxed);
        found
    }

    /// True if the caller has to wake the rank: it seems to sleep, and no other rank is about to
    /// wake it. To be asked after the publisher's fence.
    #[inline]
    pub(crate) fn is_needed(&self) -> bool {
        // Relaxed: the fence orders them after what was published. One waker is enough: whoever
        // takes the flag rings, and the sleeper looks again after that; before its next sleep it
        // raises the flag once more, ahead of its fence.
        let sleeping = &self.sleeping;
        sleeping.load(Ordering::Relaxed) != 0 && sleeping.swap(0, Ordering::Relaxed) != 0
    }

    /// Wakes the rank.
    pub(crate) fn ring(&self) {
        // Release: pairs with the Acquire load in `sleep`; the flag was taken before.
        self.word.fetch_add(1, Ordering::Release);
        futex_wake(self.word);
    }
}

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
