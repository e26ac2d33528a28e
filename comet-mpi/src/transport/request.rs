//! Operations in flight, alone and in sets.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Pending, Rank, Source, Status, Tag};
use comet_core::waiting::Waiting;

use super::Mpi;
use crate::native::{Arrived, End, Failure, MpiCall, MpiRecv, MpiSend, Request, empty_status};

/// The methods of [`Pending`] for sets, each one call of the library.
macro_rules! native_sets {
    () => {
        fn wait_all(
            t: &Mpi,
            ops: &mut [Option<Self>],
            mut each: impl FnMut(usize, Result<Self::Out>),
        ) {
            let Some(waiting) = waiting_of(ops) else { return };
            let mut set = t.set.take().unwrap_or_default();
            let ended = t.waiting_for(waiting, || set.wait_all(ops));
            for (index, slot) in ops.iter_mut().enumerate() {
                if let Some(op) = slot.take() {
                    each(index, op.finish_in(t, set.end(index, index, ended)));
                }
            }
            t.set.set(Some(set));
        }

        fn wait_any(t: &Mpi, ops: &mut [Option<Self>]) -> Option<(usize, Result<Self::Out>)> {
            let waiting = waiting_of(ops)?;
            let mut set = t.set.take().unwrap_or_default();
            let (index, ended) = t.waiting_for(waiting, || set.wait_any(ops));
            let op = ops[index].take()?;
            let result = op.finish_in(t, set.end(index, 0, ended));
            t.set.set(Some(set));
            Some((index, result))
        }

        fn wait_some(
            t: &Mpi,
            ops: &mut [Option<Self>],
            mut each: impl FnMut(usize, Result<Self::Out>),
        ) {
            let Some(waiting) = waiting_of(ops) else { return };
            let mut set = t.set.take().unwrap_or_default();
            let ended = t.waiting_for(waiting, || set.wait_some(ops));
            for place in 0..ended.n {
                let index = set.index(place);
                if let Some(op) = ops.get_mut(index).and_then(Option::take) {
                    each(index, op.finish_in(t, set.end(index, place, ended)));
                }
            }
            t.set.set(Some(set));
        }
    };
}

/// Waits for all of two sets by one call of the library.
#[inline]
pub(super) fn wait_for_both<'r>(
    t: &Mpi,
    receives: &mut [Option<MpiRecv<'r>>],
    sends: &mut [Option<MpiSend<'_>>],
    mut received: impl FnMut(usize, Result<(Status, &'r mut [u8])>),
    mut sent: impl FnMut(usize, Result<()>),
) {
    let Some(waiting) = waiting_of(receives).or_else(|| waiting_of(sends)) else { return };
    let mut set = t.set.take().unwrap_or_default();
    let ended = t.waiting_for(waiting, || set.wait_both(receives, sends));
    for (index, slot) in receives.iter_mut().enumerate() {
        if let Some(op) = slot.take() {
            received(index, op.finish_in(t, set.end(index, index, ended)));
        }
    }
    for (place, (index, slot)) in (receives.len()..).zip(sends.iter_mut().enumerate()) {
        if let Some(op) = slot.take() {
            sent(index, op.finish_in(t, set.end(place, place, ended)));
        }
    }
    t.set.set(Some(set));
}

/// Wait of the first of `ops` that is there, packed.
#[inline]
fn waiting_of<P: AsRef<Request>>(ops: &[Option<P>]) -> Option<[u64; 2]> {
    ops.iter().flatten().map(|op| op.as_ref().waiting).next()
}

impl Mpi {
    /// Waits for the end of an operation that tells nothing but its outcome.
    #[inline(always)]
    fn wait_for(&self, request: &mut Request) -> Result<()> {
        self.waiting_for(request.waiting, || request.wait(None))
            .map_err(|failure| self.error(failure))
    }

    /// Makes `call`, which receives from `source` into `capacity_bytes` bytes.
    #[inline(always)]
    pub(super) fn receiving(
        &self,
        source: Source,
        tag: Tag,
        capacity_bytes: usize,
        call: impl FnOnce() -> Arrived,
    ) -> Result<Status> {
        let waiting = Waiting::Recv(self.group.source(source), tag, capacity_bytes);
        let waiting = Waiting::pack(Some(waiting));
        self.waiting_for(waiting, call).map_err(|failed| self.failed_at(waiting, failed))
    }

    /// The error of an operation that was `waiting`, packed, and the envelope of what had arrived.
    #[cold]
    pub(super) fn failed_at(
        &self,
        waiting: [u64; 2],
        (failure, (found, tag)): (Failure, (Rank, Tag)),
    ) -> TransportError {
        let Some(Waiting::Recv(source, _, capacity_bytes)) = Waiting::unpack(waiting) else {
            return self.error(failure);
        };
        if !failure.is_truncation() {
            return self.error(failure).with_peer(source, tag);
        }
        // How long it was, and what of it arrived, the standard leaves open, and so do libraries.
        let peer =
            if source == Source::Any { self.group.source(Source::Rank(found)) } else { source };
        let error = TransportError::new(TransportErrorKind::Truncated, "the message is too long");
        self.group.located(error).with_capacity(capacity_bytes).with_peer(peer, tag)
    }
}

impl Pending<Mpi> for MpiCall<'_> {
    type Out = ();

    #[inline]
    fn poll(&mut self, _t: &Mpi) -> bool {
        self.as_ref().has_ended()
    }

    #[inline(always)]
    fn finish(mut self, t: &Mpi) -> Result<()> {
        t.wait_for(self.as_mut())
    }
}

impl MpiSend<'_> {
    /// The result of a send whose end a call for a set has told, if it has.
    #[inline]
    fn finish_in(self, t: &Mpi, end: Option<End<'_>>) -> Result<()> {
        match end {
            Some(end) => end.outcome.map_err(|failure| t.error(failure)),
            None => self.finish(t),
        }
    }
}

impl Pending<Mpi> for MpiSend<'_> {
    type Out = ();

    #[inline]
    fn poll(&mut self, _t: &Mpi) -> bool {
        self.as_ref().has_ended()
    }

    #[inline(always)]
    fn finish(mut self, t: &Mpi) -> Result<()> {
        t.wait_for(self.as_mut())
    }

    native_sets!();
}

impl<'env> MpiRecv<'env> {
    /// The result of a receive whose end a call for a set has told, if it has.
    #[inline(always)]
    fn finish_in(self, t: &Mpi, end: Option<End<'_>>) -> Result<<Self as Pending<Mpi>>::Out> {
        match end {
            Some(end) => self.result(t, end),
            None => self.finish(t),
        }
    }

    /// The result of a receive that has ended.
    #[inline(always)]
    fn result(self, t: &Mpi, end: End<'_>) -> Result<<Self as Pending<Mpi>>::Out> {
        let waiting = self.as_ref().waiting;
        let (arrived, buffer) = self.ended(&t.comm, end);
        Ok((arrived.map_err(|failed| t.failed_at(waiting, failed))?, buffer))
    }
}

impl<'env> Pending<Mpi> for MpiRecv<'env> {
    type Out = (Status, &'env mut [u8]);

    #[inline]
    fn poll(&mut self, _t: &Mpi) -> bool {
        self.as_ref().has_ended()
    }

    #[inline(always)]
    fn finish(mut self, t: &Mpi) -> Result<Self::Out> {
        let mut status = empty_status();
        let request = self.as_mut();
        let outcome = t.waiting_for(request.waiting, || request.wait(Some(&mut status)));
        self.result(t, End { outcome, status: &status })
    }

    native_sets!();
}
