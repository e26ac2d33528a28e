//! Operations in flight over shared memory.

use std::slice;

use comet_core::error::Result;
use comet_core::transport::{Pending, Place, Source, Status, Tag};
use comet_core::waiting::Waiting;

use super::Shm;
use crate::inbox::RecvId;
use crate::outbox::SendId;

/// A send in flight, or one that was over at once.
#[derive(Debug)]
pub struct ShmSend(pub(super) Option<SendId>);

/// A receive in flight; it stands for the borrow of its buffer.
#[derive(Debug)]
pub struct ShmRecv<'env> {
    pub(super) id: RecvId,
    pub(super) source: Source,
    pub(super) tag: Tag,
    pub(super) start: *mut u8,
    pub(super) capacity_bytes: usize,
    /// Length of the buffer that is given back.
    pub(super) returned_bytes: usize,
    pub(super) borrow: std::marker::PhantomData<Place<'env>>,
}

impl Pending<Shm> for ShmSend {
    type Out = ();

    fn poll(&mut self, t: &Shm) -> bool {
        self.0.is_none_or(|id| t.poll(|endpoint| endpoint.outbox.send_is_done(id)))
    }

    fn finish(self, t: &Shm) -> Result<()> {
        let Some(id) = self.0 else { return Ok(()) };
        if t.own.engine.waiter.is_dead() {
            return t.own.engine.waiter.check_job();
        }
        let endpoint = &t.own.engine.endpoint;
        let waiting = || endpoint.borrow().outbox.send_waiting(id);
        t.own.engine.until_sent(waiting, || {
            let outbox = &mut endpoint.borrow_mut().outbox;
            outbox.help(id);
            outbox.send_is_done(id)
        })?;
        endpoint.borrow_mut().outbox.end_send(id);
        Ok(())
    }

    fn first(t: &Shm, ops: &mut [Option<Self>]) -> Option<usize> {
        let endpoint = &t.own.engine.endpoint;
        let some = |op: &Option<Self>| op.as_ref().map(|op| op.0);
        let is_done = |id: Option<SendId>| {
            let outbox = &mut endpoint.borrow_mut().outbox;
            id.is_none_or(|id| {
                outbox.help(id);
                outbox.send_is_done(id)
            })
        };
        let ended = || ops.iter().position(|op| some(op).is_some_and(is_done));
        let first = ops.iter().position(Option::is_some)?;
        let Some(id) = some(&ops[first]).flatten() else { return Some(first) };
        if t.own.engine.waiter.is_dead() {
            return Some(first);
        }
        let waiting = || endpoint.borrow().outbox.send_waiting(id);
        // A failed job has ended every operation, and `finish` returns its error.
        t.own.engine.until_sent(waiting, || ended().is_some()).ok();
        ended().or(Some(first))
    }
}

impl<'env> Pending<Shm> for ShmRecv<'env> {
    type Out = (Status, &'env mut [u8]);

    fn poll(&mut self, t: &Shm) -> bool {
        t.poll(|endpoint| endpoint.inbox.recv_is_done(self.id))
    }

    fn finish(self, t: &Shm) -> Result<Self::Out> {
        let status = t.await_recv(&self)?;
        // SAFETY: pointer and length are those of the slice that `start_recv` took for 'env, and
        // the operation, the only one to use them, is over; of a landing no byte is given back.
        let buffer = unsafe { slice::from_raw_parts_mut(self.start, self.returned_bytes) };
        Ok((status, buffer))
    }

    fn first(t: &Shm, ops: &mut [Option<Self>]) -> Option<usize> {
        let ended =
            || ops.iter().position(|op| op.as_ref().is_some_and(|op| t.recv_is_done(op.id)));
        let first = ops.iter().position(Option::is_some)?;
        let Some(op) = &ops[first] else { return None };
        if t.own.engine.waiter.is_dead() {
            return Some(first);
        }
        // Any rank may end the wait, since the receives may be from several.
        let waiting = || Waiting::Recv(Source::Any, op.tag, op.capacity_bytes);
        // A failed job has ended every operation, and `finish` returns its error.
        t.own.engine.until(waiting, || ended().is_some()).ok();
        ended().or(Some(first))
    }
}
