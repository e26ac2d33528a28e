//! Sends in modes of their own: synchronous and buffered ones.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Rank, Source, Tag, require_destination};
use comet_core::waiting::Waiting;

use super::{Shm, ShmSend};
use crate::heap::ShmBuffer;
use crate::outbox::Storage;
use crate::receipt::Receipt;

impl Shm {
    /// Starts a send that ends when its receive has copied the message.
    ///
    /// # Safety
    /// Nobody writes to the message or frees it until the send is finished, unless the job fails.
    pub(super) unsafe fn start_synchronous(
        &self,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<ShmSend> {
        require_destination(self, destination, tag)?;
        self.own.engine.waiter.check_job()?;
        let receipt = Receipt::new(&self.own.heap).ok_or_else(|| self.no_room(message.len()))?;
        let copy = self.reachable_copy(message)?;
        let (destination, tag) = (self.group.global(destination), self.group.tag(tag));
        let place = (message.as_ptr(), message.len());
        let storage = Some(Storage::Receipt(receipt, copy));
        let mut endpoint = self.own.engine.endpoint.borrow_mut();
        // SAFETY: the caller holds to it; after a failure of the job this endpoint does nothing more.
        let id = unsafe { endpoint.outbox.start_with(destination, tag, place, storage) };
        endpoint.wake(&self.own.engine.waiter);
        Ok(ShmSend(Some(id)))
    }

    /// A copy of `message` in the heap, unless others reach it better where it lies.
    fn reachable_copy(&self, message: &[u8]) -> Result<Option<ShmBuffer>> {
        let remote = self.own.engine.endpoint.borrow().outbox.remote();
        if remote.lendable(message.as_ptr(), message.len()).is_some() {
            return Ok(None);
        }
        match ShmBuffer::shared(&self.own.heap, message.len()) {
            Some(mut copy) => {
                copy.copy_from_slice(message);
                Ok(Some(copy))
            }
            None if remote.place_of(message.as_ptr(), message.len()).is_some() => Ok(None),
            None => Err(self.no_room(message.len())),
        }
    }

    /// Starts a send of a message that is copied, unless it goes at once.
    pub(super) fn start_buffered(
        &self,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<ShmSend> {
        require_destination(self, destination, tag)?;
        self.own.engine.waiter.check_job()?;
        if self.try_send(destination, tag, message) {
            return Ok(ShmSend(None));
        }
        let mut copy = self.take_room(message.len())?;
        copy[..message.len()].copy_from_slice(message);
        let (destination, tag) = (self.group.global(destination), self.group.tag(tag));
        let mut endpoint = self.own.engine.endpoint.borrow_mut();
        endpoint.outbox.start_buffered(destination, tag, copy, message.len());
        endpoint.wake(&self.own.engine.waiter);
        Ok(ShmSend(None))
    }

    /// Room for a copy of `length_bytes`: what was attached, or as much memory anew.
    fn take_room(&self, length_bytes: usize) -> Result<ShmBuffer> {
        let mut room = self.own.room.borrow_mut();
        let outbox = &mut self.own.engine.endpoint.borrow_mut().outbox;
        loop {
            if let Some(index) = room.iter().position(|copy| copy.length_bytes() >= length_bytes) {
                return Ok(room.swap_remove(index));
            }
            match outbox.take_copy() {
                Some(copy) => room.push(copy),
                None => return ShmBuffer::new(&self.own.heap, length_bytes),
            }
        }
    }

    /// Keeps `n_messages` copies of `length_bytes` ready.
    pub(super) fn make_room(&self, n_messages: usize, length_bytes: usize) -> Result<()> {
        let is_long = |copy: &ShmBuffer| copy.length_bytes() >= length_bytes;
        let mut room = self.own.room.borrow_mut();
        // What is too short makes room for what is not.
        room.retain(is_long);
        while room.len() < n_messages {
            room.push(ShmBuffer::new(&self.own.heap, length_bytes)?);
        }
        Ok(())
    }

    /// Frees all copies that are not in use.
    pub(super) fn give_room_back(&self) {
        self.own.room.borrow_mut().clear();
        let outbox = &mut self.own.engine.endpoint.borrow_mut().outbox;
        while outbox.take_copy().is_some() {}
    }

    /// Waits until the buffered messages of this rank need it no more; at its end. A job that has failed waits
    /// for none.
    pub(crate) fn flush(&self) {
        let has_to_flush = || self.own.engine.endpoint.borrow_mut().outbox.has_to_flush();
        if !self.own.engine.waiter.is_dead() && has_to_flush() {
            let waiting = || Waiting::Rest(Source::Any);
            self.own.engine.until_sent(waiting, || !has_to_flush()).ok();
        }
    }

    #[cold]
    fn no_room(&self, length_bytes: usize) -> TransportError {
        let text = format!(
            "the shared memory of this rank has no room for a message of {length_bytes} bytes (use fewer \
             messages at once, or shorter ones)"
        );
        self.group.located(TransportError::new(TransportErrorKind::OutOfResources, text))
    }
}
