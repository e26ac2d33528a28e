//! Waiting with progress: whatever a rank waits for, it goes on moving messages.

use std::cell::RefCell;

use comet_core::error::Result;
use comet_core::waiting::Waiting;

use crate::endpoint::Endpoint;
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
        endpoint.progress(is_long);
        endpoint.wake(&self.waiter);
    }

    /// Waits until `condition` holds.
    ///
    /// # Errors
    /// If the job fails meanwhile.
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
    ///
    /// # Errors
    /// If the job fails meanwhile.
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
