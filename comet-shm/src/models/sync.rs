//! Loom's atomics, each ordering of which can be weakened by the place where it is written.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;
use std::time::Duration;

use loom::sync::{Condvar, Mutex, atomic};

#[expect(clippy::unsafe_removed_from_name, reason = "as in `sync`")]
pub(crate) use loom::cell::UnsafeCell as SharedCell;
pub(crate) use std::sync::atomic::Ordering;

/// A place in the source.
pub(crate) type Site = &'static Location<'static>;

// All threads of a model are coroutines of one thread of the system.
thread_local! {
    /// The places where an ordering was used that is not relaxed.
    static USED: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    static WEAKENED: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Treats the ordering at `site` as relaxed from now on, or none.
#[cfg(test)]
pub(crate) fn weaken(site: Option<Site>) {
    WEAKENED.set(site);
}

/// The places where an ordering was used since the last call that is not relaxed.
#[cfg(test)]
pub(crate) fn take_used() -> BTreeSet<Site> {
    USED.take()
}

#[track_caller]
fn order(order: Ordering) -> Ordering {
    let site = Location::caller();
    if order != Ordering::Relaxed {
        USED.with_borrow_mut(|used| used.insert(site));
    }
    if WEAKENED.get() == Some(site) { Ordering::Relaxed } else { order }
}

/// A fence; none at all where it is weakened.
#[track_caller]
pub(crate) fn fence(ordering: Ordering) {
    match order(ordering) {
        Ordering::Relaxed => (),
        ordering => atomic::fence(ordering),
    }
}

macro_rules! modelled {
    ($name:ident, $value:ty) => {
        /// As in the standard library.
        #[derive(Debug)]
        pub(crate) struct $name(atomic::$name);

        #[expect(dead_code, reason = "neither type needs all of them")]
        impl $name {
            #[track_caller]
            pub(crate) fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            #[track_caller]
            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                self.0.load(order(ordering))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                self.0.store(value, order(ordering));
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                self.0.swap(value, order(ordering))
            }

            #[track_caller]
            pub(crate) fn fetch_add(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_add(value, order(ordering))
            }

            #[track_caller]
            pub(crate) fn fetch_sub(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_sub(value, order(ordering))
            }

            #[track_caller]
            pub(crate) fn fetch_or(&self, value: $value, ordering: Ordering) -> $value {
                self.0.fetch_or(value, order(ordering))
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(current, new, order(success), failure)
            }
        }
    };
}

modelled!(AtomicU32, u32);
modelled!(AtomicU64, u64);

/// Copies one word, which loom does not see.
///
/// # Safety
/// Both are aligned, are mapped to be read and written, and are borrowed by nobody.
pub(crate) unsafe fn copy_word(from: *const u64, to: *mut u64) {
    // SAFETY: the caller's word.
    unsafe { std::ptr::copy(from, to, 1) };
}

loom::lazy_static! {
    /// The kernel's queue of sleepers: one for all words, which only wakes too many.
    static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

/// The kernel's: looks at the word and falls asleep in one step. Without a limit, so that a lost
/// wake-up ends the model as a deadlock.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, _limit: Duration) {
    let (lock, sleepers) = &*QUEUE;
    let guard = lock.lock().expect("no model panics with the lock");
    if word.0.load(Ordering::Relaxed) == value {
        drop(sleepers.wait(guard));
    }
}

/// The kernel's: wakes whoever has fallen asleep.
pub(crate) fn futex_wake(_word: &AtomicU32) {
    let (lock, sleepers) = &*QUEUE;
    let _guard = lock.lock().expect("no model panics with the lock");
    sleepers.notify_all();
}
