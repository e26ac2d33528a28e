//! One rank that sleeps until others have published something: a wake-up that is lost would leave
//! it asleep for ever, which loom reports as a deadlock.

use std::sync::Arc;
use std::time::Duration;

use super::explore::together;
use crate::futex::{AsymmetricFence, Futex};
use crate::sync::{AtomicU32, Ordering};

/// The words of one sleeper, and what it waits for.
struct Words {
    futex: AtomicU32,
    sleeping: AtomicU32,
    n_sleepers: AtomicU32,
    published: AtomicU32,
}

impl Words {
    fn new() -> Arc<Self> {
        let word = || AtomicU32::new(0);
        let (futex, sleeping, n_sleepers, published) = (word(), word(), word(), word());
        Arc::new(Self { futex, sleeping, n_sleepers, published })
    }

    fn futex(&self) -> Futex<'_> {
        Futex { word: &self.futex, sleeping: &self.sleeping, n_sleepers: &self.n_sleepers }
    }

    /// Publishes one more number as everything is published, and wakes the sleeper.
    fn publish(&self) {
        // Relaxed: this model is about being noticed, not about data.
        self.published.fetch_add(1, Ordering::Relaxed);
        AsymmetricFence::Symmetric.publisher();
        if self.n_sleepers.load(Ordering::Relaxed) != 0 && self.futex().is_needed() {
            self.futex().ring();
        }
    }

    /// Sleeps until the numbers up to `number` are published.
    fn await_number(&self, number: u32) {
        let is_there = || self.published.load(Ordering::Relaxed) >= number;
        while !is_there() {
            let look = || is_there().then_some(());
            self.futex().sleep(AsymmetricFence::Symmetric, Duration::MAX, look);
        }
    }
}

pub(super) fn a_rank_that_falls_asleep_is_woken() {
    let words = Words::new();
    let sleeper = Arc::clone(&words);
    together(move || words.publish(), move || sleeper.await_number(1));
}

pub(super) fn a_rank_that_falls_asleep_twice_is_woken_twice() {
    let words = Words::new();
    let sleeper = Arc::clone(&words);
    let publish = move || (1..=2).for_each(|_| words.publish());
    together(publish, move || (1..=2).for_each(|number| sleeper.await_number(number)));
}

/// One of them wakes the futex for both.
pub(super) fn a_rank_that_two_find_asleep_sees_what_both_have_published() {
    let words = Words::new();
    let (first, second) = (Arc::clone(&words), Arc::clone(&words));
    let publish = move || together(move || first.publish(), move || second.publish());
    together(move || words.await_number(2), publish);
}

pub(super) fn a_bell_that_is_rung_without_a_look_is_heard() {
    let words = Words::new();
    let sleeper = Arc::clone(&words);
    let end_job = move || {
        words.published.store(1, Ordering::Relaxed);
        words.futex().ring();
    };
    together(end_job, move || sleeper.await_number(1));
}
