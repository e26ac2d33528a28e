//! Operations in flight on the simulated machine.

use std::panic::Location;

use comet_core::error::Result;
use comet_core::transport::{Pending, Place, Source, Status};

use super::Sim;
use crate::engine::{Poll, ReceiveId, SendId};

/// A send in flight.
#[derive(Debug)]
pub struct SimSend {
    /// The send to wait for, unless it has ended.
    pub(super) send: Option<SendId>,
}

/// A receive in flight.
#[derive(Debug)]
pub struct SimRecv<'env> {
    pub(super) id: ReceiveId,
    pub(super) source: Source,
    pub(super) place: Place<'env>,
}

impl Pending<Sim> for SimSend {
    type Out = ();

    fn poll(&mut self, t: &Sim) -> bool {
        t.note_site(Location::caller());
        let Some(id) = self.send else { return true };
        if !t.poll(Poll::Send(id)) {
            return true;
        }
        let engine = t.engine.borrow();
        engine.sends[id as usize].done_ps.is_some_and(|ps| ps <= engine.ranks[t.rank].clock_ps)
    }

    fn finish(self, t: &Sim) -> Result<()> {
        t.note_site(Location::caller());
        t.pay(|node| node.wait_ps);
        t.finish(self.send)
    }
}

impl<'env> Pending<Sim> for SimRecv<'env> {
    type Out = (Status, &'env mut [u8]);

    fn poll(&mut self, t: &Sim) -> bool {
        t.note_site(Location::caller());
        if !t.poll(Poll::Receive(self.id)) {
            return true;
        }
        let engine = t.engine.borrow();
        engine.arrival_ps(self.id).is_some_and(|ps| ps <= engine.ranks[t.rank].clock_ps)
    }

    fn finish(mut self, t: &Sim) -> Result<Self::Out> {
        t.note_site(Location::caller());
        t.pay(|node| node.wait_ps);
        let status = t.take(self.id, self.source, &mut self.place)?;
        Ok((status, self.place.into_buffer()))
    }
}
