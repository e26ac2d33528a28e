//! The words of a window. Parts lie in the heaps, which loom does not see: a cell stands for one, so that
//! loom ends the model where two ranks use it that epochs keep apart.

use std::sync::Arc;

use comet_core::transport::Rank;
use comet_core::window::Lock;

use super::collective::engine;
use super::explore::{together, until};
use super::segment::Fresh;
use super::whole::ranks;
use crate::engine::Engine;
use crate::layout::{PartLock, Signals, Turn};
use crate::sync::{AtomicU32, Ordering, SharedCell};
use crate::window::words::flush;

/// A part, and the words in front of it.
struct Target {
    lock: PartLock,
    turn: Turn,
    part: SharedCell<u32>,
}

// SAFETY: ranks share it as processes share the heaps; loom watches over what they do with it.
unsafe impl Sync for Target {}

impl Target {
    fn new() -> Arc<Self> {
        Arc::new(Self { lock: Fresh::fresh(), turn: Fresh::fresh(), part: Fresh::fresh() })
    }

    /// The value of the part.
    fn read(&self) -> u32 {
        // SAFETY: loom ends the model if somebody writes it meanwhile.
        self.part.with(|value| unsafe { *value })
    }

    /// Adds one to what is there.
    fn add(&self) {
        // SAFETY: loom ends the model if somebody else uses it meanwhile.
        self.part.with_mut(|value| unsafe { *value += 1 });
    }

    fn locked<R>(&self, lock: Lock, act: impl FnOnce() -> R) -> R {
        let ticket = self.lock.draw();
        until(|| self.lock.admits(ticket, lock));
        self.lock.enter(lock, 0);
        let result = act();
        self.lock.leave(lock);
        result
    }
}

pub(super) fn exclusive_locks_exclude_each_other() {
    let target = Target::new();
    let other = Arc::clone(&target);
    together(
        move || target.locked(Lock::Exclusive, || target.add()),
        move || other.locked(Lock::Exclusive, || other.add()),
    );
}

pub(super) fn shared_locks_exclude_exclusive_ones() {
    let target = Target::new();
    let other = Arc::clone(&target);
    let write = move || target.locked(Lock::Exclusive, || target.add());
    together(write, move || {
        let found = [(); 2].map(|()| other.locked(Lock::Shared, || other.read()));
        assert!(found.is_sorted() && found[1] <= 1);
    });
}

/// The second of two shared locks sees what an exclusive one has published to the first.
pub(super) fn a_shared_lock_that_another_lets_in_sees_what_was_written_before() {
    let target = Target::new();
    let [first, second] = [Arc::clone(&target), Arc::clone(&target)];
    let write = move || target.locked(Lock::Exclusive, || target.add());
    let read =
        |target: Arc<Target>| move || assert!(target.locked(Lock::Shared, || target.read()) <= 1);
    together(write, move || together(read(first), read(second)));
}

pub(super) fn who_accumulates_is_alone() {
    let target = Target::new();
    let other = Arc::clone(&target);
    let act = |target: &Target, take: fn(&Turn) -> bool| {
        until(|| take(&target.turn));
        target.add();
        target.turn.give_back();
    };
    together(
        move || (0..2).for_each(|_| act(&target, Turn::take)),
        move || act(&other, Turn::take_or_ask),
    );
}

/// The owner of a part writes it, lets another write it, and reads it.
pub(super) fn a_part_is_its_origins_between_post_and_wait() {
    let (target, signals) = (Target::new(), Arc::new([Signals::fresh(), Signals::fresh()]));
    let (part, words) = (Arc::clone(&target), Arc::clone(&signals));
    // Each row lies with the rank that looks at it.
    let [to_origin, to_target] = [0, 1];
    let own = move || {
        for n in 0..2 {
            target.add();
            signals[to_origin].posted.give();
            until(|| signals[to_target].completed.is_given(n));
            assert_eq!(target.read(), 2 * (n + 1));
        }
    };
    together(own, move || {
        for n in 0..2 {
            until(|| words[to_origin].posted.is_given(n));
            assert_eq!(part.read(), 2 * n + 1);
            part.add();
            words[to_target].completed.give();
        }
    });
}

/// Both put to the other, flush, and get: it cannot be that neither sees the other's.
pub(super) fn what_is_flushed_is_at_its_target() {
    let parts = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let seen = Arc::new(AtomicU32::new(0));
    let (others, found) = (Arc::clone(&parts), Arc::clone(&seen));
    // Relaxed: as copies of words are.
    let act = |parts: &[AtomicU32; 2], seen: &AtomicU32, rank: Rank| {
        parts[1 - rank].store(1, Ordering::Relaxed);
        flush();
        seen.fetch_add(parts[rank].load(Ordering::Relaxed), Ordering::Relaxed);
    };
    let first = Arc::clone(&seen);
    together(move || act(&parts, &first, 0), move || act(&others, &found, 1));
    assert_ne!(seen.load(Ordering::Relaxed), 0);
}

/// Two ranks that share `target` and may fall asleep at every wait.
fn sleepers(main: fn(&Engine, &Target, Rank)) {
    let target = Arc::into_raw(Target::new());
    // SAFETY: it is freed below, when both ranks are gone.
    let shared: &'static Target = unsafe { &*target };
    ranks(2, move |segment, rank| main(&engine(segment, rank), shared, rank));
    // SAFETY: the pointer is that of `into_raw`.
    drop(unsafe { Arc::from_raw(target) });
}

pub(super) fn a_rank_that_waits_for_a_lock_gets_it() {
    sleepers(|engine, target, rank| {
        let lock = [Lock::Exclusive, Lock::Shared][rank];
        target.lock.acquire(lock, rank, engine).expect("the job goes on");
        match lock {
            Lock::Exclusive => target.add(),
            Lock::Shared => assert!(target.read() <= 1),
        }
        target.lock.release(lock, engine);
    });
}

pub(super) fn a_rank_that_waits_for_its_turn_gets_it() {
    sleepers(|engine, target, _| {
        target.turn.hold(engine, || target.add()).expect("the job goes on");
    });
}
