//! Waiting with progress: whatever a rank waits for, it goes on moving messages.
//!
//! Every wait loop calls [`Engine::progress`], so a rank that waits for room in one ring still
//! empties its own: two ranks that send to each other never wait for each other.

use std::cell::RefCell;
use std::rc::Rc;

use comet_core::error::Result;
use comet_core::transport::Rank;
use comet_core::waiting::Waiting;

use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::remote_copy::RemoteCopy;
use crate::reply_slot::ReplyEnd;
use crate::segment::Segment;
use crate::wait::Waiter;

/// The waiting policy of a rank together with its messages in flight.
pub(crate) struct Engine {
    pub(crate) waiter: Waiter,
    pub(crate) endpoint: RefCell<Endpoint>,
}

impl Engine {
    pub(crate) fn new(waiter: Waiter, endpoint: Endpoint) -> Self {
        Self { waiter, endpoint: RefCell::new(endpoint) }
    }

    /// Takes messages in and sends waiting ones on; in a long wait, also makes room for senders
    /// whose messages nobody here asks for.
    pub(crate) fn progress(&self, is_long: bool) {
        // After a failure operations are forgotten with their buffers still named in the lists.
        if self.waiter.is_dead() {
            return;
        }
        let mut endpoint = self.endpoint.borrow_mut();
        endpoint.inbox.pull_all(is_long);
        endpoint.outbox.push_all();
        endpoint.wake(&self.waiter);
    }

    /// Waits until `condition` holds.
    #[inline]
    pub(crate) fn until(
        &self,
        waiting: impl FnOnce() -> Waiting,
        condition: impl Fn() -> bool,
    ) -> Result<()> {
        self.poll_until(waiting, condition, false)
    }

    /// Waits until a send is over; makes room for other senders at once, since two ranks that send
    /// to each other first would otherwise both wait for the other's patience to end.
    pub(crate) fn until_sent(
        &self,
        waiting: impl FnOnce() -> Waiting,
        condition: impl Fn() -> bool,
    ) -> Result<()> {
        self.poll_until(waiting, condition, true)
    }

    #[inline]
    fn poll_until(
        &self,
        waiting: impl FnOnce() -> Waiting,
        condition: impl Fn() -> bool,
        makes_room: bool,
    ) -> Result<()> {
        self.waiter.until(waiting, |is_long| {
            if condition() {
                return Some(());
            }
            self.progress(is_long || makes_room);
            condition().then_some(())
        })
    }
}

/// Messages in flight of one rank, in private memory; the segment holds rings and heaps.
pub(crate) struct Endpoint {
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
}

impl Endpoint {
    pub(crate) fn new(segment: &'static Segment, remote: RemoteCopy, rank: Rank) -> Self {
        let reply_slot = |peer| Rc::new(ReplyEnd::new(segment, rank, peer));
        let reply_slots: Vec<_> = (0..segment.n_ranks()).map(reply_slot).collect();
        let outbox = Outbox::new(segment, remote, rank, &reply_slots);
        Self { outbox, inbox: Inbox::new(segment, remote, rank, &reply_slots) }
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
