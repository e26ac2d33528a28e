//! The atomics, cells and futexes that ranks share: those of the language and the system, or
//! modelled ones when the protocols are explored (`--cfg loom`, see `models`).

#[cfg(loom)]
pub(crate) use crate::models::sync::{
    AtomicU32, AtomicU64, Ordering, SharedCell, copy_word, fence, futex_wait, futex_wake,
};
#[cfg(not(loom))]
pub(crate) use real::{SharedCell, copy_word, futex_wait, futex_wake};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(not(loom))]
mod real {
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use nix::libc;

    /// Data guarded by an atomic beside it: the protocol gives it one owner at a time.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct SharedCell<T>(UnsafeCell<T>);

    impl<T> SharedCell<T> {
        /// Calls `read` with the place of the data.
        #[inline]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        /// Calls `write` with the place of the data.
        #[inline]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }

    /// Copies one word that other ranks may access meanwhile.
    ///
    /// # Safety
    /// Both are aligned, are mapped to be read and written, and are borrowed by nobody.
    #[inline]
    pub(crate) unsafe fn copy_word(from: *const u64, to: *mut u64) {
        // SAFETY: the caller's word.
        let from = unsafe { AtomicU64::from_ptr(from.cast_mut()) };
        // SAFETY: the caller's word.
        let to = unsafe { AtomicU64::from_ptr(to) };
        // Relaxed: epochs order copies; alone they order nothing.
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Sleeps while `word` is `value`, for `limit` at most; a signal ends the sleep too.
    pub(crate) fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) {
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(limit.subsec_nanos()),
        };
        // SAFETY: the word is aligned and mapped for the whole call, and the time lives as long.
        // Every outcome (woken, value differs, time over, signal) leads to another look at the data.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit)
        };
    }

    /// Wakes the one process that may sleep on `word`.
    pub(crate) fn futex_wake(word: &AtomicU32) {
        // SAFETY: the word is aligned and mapped; the call changes nothing in memory.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
}
