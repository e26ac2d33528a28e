//! Queue of events: earliest first, and first come first served at equal times.
//!
//! ```text
//!   bucket 0        events at the time of the last one taken
//!   bucket b        events whose times differ from that first in bit b - 1
//! ```
//!
//! A monotone radix queue (Ahuja, Mehlhorn, Orlin and Tarjan, Faster algorithms for the shortest
//! path problem, J. ACM 37, 1990): nothing is added before what was taken last, so an event moves
//! only to lower buckets, at most 64 times, and mostly once or twice.

use std::collections::VecDeque;

/// Events of type `E` in the order of their times.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    buckets: Vec<Bucket<E>>,
    last_ps: u64,
}

#[derive(Debug)]
struct Bucket<E> {
    first_ps: u64,
    /// In the order in which they were added.
    events: VecDeque<(u64, E)>,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        let bucket = || Bucket { first_ps: u64::MAX, events: VecDeque::new() };
        Self { buckets: (0..=64).map(|_| bucket()).collect(), last_ps: 0 }
    }
}

impl<E> Queue<E> {
    /// Room for events that an empty bucket keeps.
    const KEPT: usize = 1024;

    /// Adds what happens at `at_ps`, after all that was added for the same time; `at_ps` is not
    /// before the time of the event that was taken last.
    pub(crate) fn push(&mut self, at_ps: u64, event: E) {
        debug_assert!(at_ps >= self.last_ps, "{at_ps} ps is over since {} ps", self.last_ps);
        self.file(at_ps, event);
    }

    /// Takes what happens next, and when.
    pub(crate) fn pop(&mut self) -> Option<(u64, E)> {
        if self.buckets[0].events.is_empty() {
            self.refill()?;
        }
        self.buckets[0].events.pop_front()
    }

    /// Time before which nothing happens any more.
    pub(crate) fn now_ps(&self) -> u64 {
        self.last_ps
    }

    pub(crate) fn next_ps(&self) -> Option<u64> {
        Some(self.buckets[self.lowest()?].first_ps)
    }

    /// The event that will be taken `n_before` others later, if that is known already.
    pub(crate) fn ahead(&self, n_before: usize) -> Option<&E> {
        self.buckets[0].events.get(n_before).map(|(_, event)| event)
    }

    /// All events that are to happen, in no order.
    pub(crate) fn events(&self) -> impl Iterator<Item = &E> {
        self.buckets.iter().flat_map(|bucket| &bucket.events).map(|(_, event)| event)
    }

    /// The lowest bucket that holds anything; the earliest event is there.
    fn lowest(&self) -> Option<usize> {
        self.buckets.iter().position(|bucket| !bucket.events.is_empty())
    }

    /// Brings the earliest events into bucket 0.
    fn refill(&mut self) -> Option<()> {
        let lowest = self.lowest()?;
        let bucket = &mut self.buckets[lowest];
        self.last_ps = std::mem::replace(&mut bucket.first_ps, u64::MAX);
        let mut events = std::mem::take(&mut bucket.events);
        for (at_ps, event) in events.drain(..) {
            self.file(at_ps, event);
        }
        // A little memory is used again; much is needed by another bucket next.
        if events.capacity() <= Self::KEPT {
            self.buckets[lowest].events = events;
        }
        Some(())
    }

    fn file(&mut self, at_ps: u64, event: E) {
        let differs = 64 - (at_ps ^ self.last_ps).leading_zeros();
        let bucket = &mut self.buckets[differs as usize];
        bucket.first_ps = if bucket.events.is_empty() { at_ps } else { bucket.first_ps.min(at_ps) };
        bucket.events.push_back((at_ps, event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_of_insertion(
            steps in prop::collection::vec((0u64..1 << 40, 0usize..4), 1..200),
        ) {
            let (mut queue, mut naive) = (Queue::default(), Vec::new());
            let (mut now_ps, mut number) = (0, 0);
            for (delay_ps, n_pops) in steps {
                // Short delays, long ones, and none.
                let at_ps = now_ps + if delay_ps % 3 == 0 { 0 } else { delay_ps >> (delay_ps % 40) };
                queue.push(at_ps, number);
                naive.push((at_ps, number));
                number += 1;
                for _ in 0..n_pops {
                    let expected = naive.iter().copied().min();
                    prop_assert_eq!(queue.next_ps(), expected.map(|(at_ps, _)| at_ps));
                    prop_assert_eq!(queue.pop(), expected);
                    naive.retain(|entry| Some(*entry) != expected);
                    now_ps = expected.map_or(now_ps, |(at_ps, _)| at_ps);
                }
            }
        }
    }
}
