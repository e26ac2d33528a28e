//! The words of a window that ranks share: locks, turns, signals, and the order of a flush.
//!
//! ```text
//!   PartLock   ticket = drawn++
//!              shared      until passed == ticket; passed++           …   returned++
//!              exclusive   until returned == ticket                   …   passed++; returned++
//!   Turn       0 → 1 (or 2 by who waits)                              …   0
//!   Signal     the sender counts; the receiver compares with what it has seen
//! ```
//!
//! Tickets make locks fair: shared ones follow each other at once, and none overtakes an exclusive one.
//! So ranks that lock several parts one by one in different orders may wait for each other, even for
//! shared locks, where another rank waits for an exclusive one in between; the watchdog ends that.
//! Each rank waits for at most one ticket of a lock, so the counts may wrap.

use comet_core::error::Result;
use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;
use comet_core::window::Lock;

use crate::engine::Engine;
use crate::layout::{PartLock, Signal, Turn};
use crate::sync::{Ordering, fence};

impl PartLock {
    /// Waits for the lock, for `rank` of the job.
    #[inline]
    pub(crate) fn acquire(&self, lock: Lock, rank: Rank, engine: &Engine) -> Result<()> {
        let ticket = self.draw();
        if !self.admits(ticket, lock) {
            // Only the holder of an exclusive lock is known.
            let waiting = || Waiting::Window(self.holder().map_or(Source::Any, Source::Rank));
            until(waiting, || self.admits(ticket, lock), || self.admits(ticket, lock), engine)?;
        }
        self.enter(lock, rank);
        if lock == Lock::Shared {
            self.wake_next(engine);
        }
        Ok(())
    }

    /// Gives the lock back, and wakes those that wait for it.
    #[inline]
    pub(crate) fn release(&self, lock: Lock, engine: &Engine) {
        self.leave(lock);
        self.wake_next(engine);
    }

    #[inline]
    fn wake_next(&self, engine: &Engine) {
        engine.waiter.wake_all_if(|| self.is_awaited());
    }

    /// The next ticket.
    #[inline]
    pub(crate) fn draw(&self) -> u32 {
        // Relaxed: the ticket is all; what the lock guards is acquired in `admits`.
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    /// True if `ticket` has its turn.
    #[inline]
    pub(crate) fn admits(&self, ticket: u32, lock: Lock) -> bool {
        // Acquire: pairs with the Release additions in `leave` of all that had the lock before and do not
        // go with this one. Every change of a count is an addition, and so each load of it sees all of
        // them that went before.
        let served = match lock {
            Lock::Shared => self.passed.load(Ordering::Acquire),
            Lock::Exclusive => self.returned.load(Ordering::Acquire),
        };
        served == ticket
    }

    /// Takes the lock with the ticket that was admitted, for `rank` of the job.
    #[inline]
    pub(crate) fn enter(&self, lock: Lock, rank: Rank) {
        match lock {
            // Relaxed: lets the next ticket in, for which the additions before this one in `leave` count.
            Lock::Shared => _ = self.passed.fetch_add(1, Ordering::Relaxed),
            // Relaxed: only quoted, and read by who cannot go on.
            Lock::Exclusive => self.holder.store(number(rank), Ordering::Relaxed),
        }
    }

    /// Gives the lock back.
    #[inline]
    pub(crate) fn leave(&self, lock: Lock) {
        if lock == Lock::Exclusive {
            // Relaxed: see `enter`.
            self.holder.store(0, Ordering::Relaxed);
            // Release: pairs with the Acquire load for shared locks in `admits`.
            self.passed.fetch_add(1, Ordering::Release);
        }
        // Release: pairs with the Acquire load for exclusive locks in `admits`.
        self.returned.fetch_add(1, Ordering::Release);
    }

    /// True if a rank waits for the lock; to be asked after the fence of who publishes.
    pub(crate) fn is_awaited(&self) -> bool {
        // Relaxed: the fence orders them after what was published. Who draws too late to be seen here
        // finds it.
        self.drawn.load(Ordering::Relaxed) != self.passed.load(Ordering::Relaxed)
    }

    /// The rank of the job that has the exclusive lock, if any.
    pub(crate) fn holder(&self) -> Option<Rank> {
        // Relaxed: see `enter`.
        self.holder.load(Ordering::Relaxed).checked_sub(1).map(|rank| rank as Rank)
    }
}

/// `rank` plus one, as a word.
fn number(rank: Rank) -> u32 {
    u32::try_from(rank + 1).expect("jobs have few ranks")
}

impl Turn {
    const FREE: u32 = 0;
    const TAKEN: u32 = 1;
    const AWAITED: u32 = 2;

    /// Calls `act` while no other rank has the turn.
    #[inline]
    pub(crate) fn hold(&self, engine: &Engine, act: impl FnOnce()) -> Result<()> {
        if !self.take() {
            // Any rank may have it.
            let waiting = || Waiting::Window(Source::Any);
            until(waiting, || self.take(), || self.take_or_ask(), engine)?;
        }
        act();
        if self.give_back() {
            engine.waiter.wake_all();
        }
        Ok(())
    }

    /// Takes the turn, if it is free.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        // Acquire: pairs with the Release swap in `give_back`.
        let took =
            self.0.compare_exchange(Self::FREE, Self::TAKEN, Ordering::Acquire, Ordering::Relaxed);
        took.is_ok()
    }

    /// Takes the turn, if it is free; else lets its owner know that a rank waits, which it wakes.
    #[inline]
    pub(crate) fn take_or_ask(&self) -> bool {
        // Relaxed: a look that costs others nothing. Acquire: pairs with the Release swap in `give_back`.
        self.0.load(Ordering::Relaxed) != Self::AWAITED
            && self.0.swap(Self::AWAITED, Ordering::Acquire) == Self::FREE
    }

    /// Gives the turn back; returns true if a rank may wait for it.
    #[inline]
    pub(crate) fn give_back(&self) -> bool {
        // Release: pairs with the Acquire operations in `take` and `take_or_ask`.
        self.0.swap(Self::FREE, Ordering::Release) == Self::AWAITED
    }
}

impl Signal {
    /// Waits until `rank` of the job has given more than the `n_seen` that this one has seen.
    #[inline]
    pub(crate) fn wait(&self, n_seen: u32, rank: Rank, engine: &Engine) -> Result<()> {
        let waiting = || Waiting::Window(Source::Rank(rank));
        until(waiting, || self.is_given(n_seen), || self.is_given(n_seen), engine)
    }

    /// Gives one more signal; one rank alone does.
    #[inline]
    pub(crate) fn give(&self) {
        // Relaxed: this rank's own.
        let n = self.0.load(Ordering::Relaxed);
        // Release: pairs with the Acquire load in `is_given`; publishes what the rank wrote before to
        // memory of either, and that it has read what it wanted.
        self.0.store(n.wrapping_add(1), Ordering::Release);
    }

    /// True if there are more than the `n_seen` that the receiver has seen.
    #[inline]
    pub(crate) fn is_given(&self, n_seen: u32) -> bool {
        // Acquire: pairs with the Release store in `give`.
        self.0.load(Ordering::Acquire) != n_seen
    }
}

/// Waits until `condition` holds, at first without a look at anything else, and then until `long` does,
/// while messages are moved on.
#[inline]
fn until(
    waiting: impl FnOnce() -> Waiting,
    condition: impl Fn() -> bool,
    long: impl Fn() -> bool,
    engine: &Engine,
) -> Result<()> {
    for _ in 0..engine.waiter.n_spins() {
        if condition() {
            return Ok(());
        }
        std::hint::spin_loop();
    }
    engine.until(waiting, long)
}

/// The order of a flush: transfers before it are at their targets before anything after it begins.
#[inline]
pub(crate) fn flush() {
    // SeqCst: pairs with the same fence of other ranks. Of two ranks that put to each other, flush, and
    // get, one sees what the other has put; and who has seen a later put, and flushed, sees those before
    // this flush.
    fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeroed<V>() -> Box<V> {
        // SAFETY: the words are valid when zeroed.
        unsafe { Box::<V>::new_zeroed().assume_init() }
    }

    #[test]
    fn locks_are_given_in_the_order_in_which_they_were_asked_for() {
        let lock = zeroed::<PartLock>();
        // Also where the counts wrap.
        for word in [&lock.drawn, &lock.passed, &lock.returned] {
            word.store(u32::MAX - 1, Ordering::Relaxed);
        }
        let kinds = [Lock::Shared, Lock::Shared, Lock::Exclusive, Lock::Shared, Lock::Exclusive];
        let tickets = kinds.map(|kind| (lock.draw(), kind));
        let admitted = || tickets.map(|(ticket, kind)| lock.admits(ticket, kind));
        assert_eq!(admitted(), [true, false, false, false, false]);
        lock.enter(Lock::Shared, 0);
        assert_eq!(admitted(), [false, true, false, false, false]);
        lock.enter(Lock::Shared, 1);
        lock.leave(Lock::Shared);
        assert_eq!(admitted(), [false; 5]);
        lock.leave(Lock::Shared);
        assert_eq!((admitted(), lock.holder()), ([false, false, true, false, false], None));
        lock.enter(Lock::Exclusive, 7);
        assert_eq!((lock.holder(), lock.is_awaited()), (Some(7), true));
        lock.leave(Lock::Exclusive);
        assert_eq!((admitted(), lock.holder()), ([false, false, false, true, false], None));
        lock.enter(Lock::Shared, 2);
        lock.leave(Lock::Shared);
        assert_eq!(admitted(), [false, false, false, false, true]);
        lock.enter(Lock::Exclusive, 3);
        lock.leave(Lock::Exclusive);
        assert!(!lock.is_awaited());
    }

    #[test]
    fn a_turn_has_one_owner_who_knows_if_another_waits() {
        let turn = zeroed::<Turn>();
        assert!(turn.take() && !turn.take());
        assert!(!turn.give_back());
        assert!(turn.take() && !turn.take_or_ask() && !turn.take_or_ask());
        assert!(turn.give_back());
        // Who has waited does not know whether others do.
        assert!(turn.take_or_ask() && turn.give_back());
    }

    #[test]
    fn each_signal_is_seen_once() {
        let signal = zeroed::<Signal>();
        assert!(!signal.is_given(0));
        signal.give();
        assert!(signal.is_given(0) && !signal.is_given(1));
        signal.give();
        assert!(signal.is_given(1));
    }
}
