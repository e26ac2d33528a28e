//! Operations in flight of one rank.
//!
//! All of it is private memory of the rank; the segment holds only rings and heaps. Every wait
//! loop calls [`Endpoint::progress`], so a rank that waits for room in one ring still empties its
//! own: two ranks that send to each other never wait for each other.

use std::rc::Rc;

use comet_core::transport::Rank;

use crate::baton::BatonEnd;
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::reach::Reach;
use crate::segment::Segment;
use crate::wait::Waiter;

/// The private state of one rank.
pub(crate) struct Endpoint {
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
}

impl Endpoint {
    pub(crate) fn new(segment: &'static Segment, reach: Reach, rank: Rank) -> Self {
        let baton = |peer| Rc::new(BatonEnd::new(segment, rank, peer));
        let batons: Vec<_> = (0..segment.n_ranks()).map(baton).collect();
        let outbox = Outbox::new(segment, reach, rank, &batons);
        Self { outbox, inbox: Inbox::new(segment, reach, rank, &batons) }
    }

    /// Takes messages in and sends waiting ones on; in a long wait, also makes room for senders
    /// whose messages nobody here asks for.
    pub(crate) fn progress(&mut self, is_long: bool) {
        self.inbox.pull_all(is_long);
        self.outbox.push_all();
    }

    /// Wakes the ranks for which something was published; to be called after every other call.
    #[inline]
    pub(crate) fn wake(&mut self, waiter: &Waiter) {
        if !self.outbox.wakes.is_empty() || !self.inbox.wakes.is_empty() {
            self.wake_all(waiter);
        }
    }

    #[inline(never)]
    fn wake_all(&mut self, waiter: &Waiter) {
        self.outbox.wakes.drain(..).for_each(|rank| waiter.wake(rank));
        self.inbox.wakes.drain(..).for_each(|rank| waiter.wake(rank));
    }
}
