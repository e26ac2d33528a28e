//! Crossing: two ranks send to each other at the same time.

use comet_core::context::Context;
use comet_core::error::Result;
use comet_core::kernel::{Checker, Operation, Seeds, Side};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Tag, Transport};

/// One side of an exchange; both sides do the same.
#[derive(Debug)]
pub struct Crossing<B> {
    rank: Rank,
    peer: Rank,
    tag: Tag,
    /// Whether what came is sent next, so that every message is freshly written.
    resends: bool,
    pub(crate) message: B,
    pub(crate) buffer: B,
    arrived_bytes: Option<usize>,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Crossing<B> {
    /// `side` of an exchange of `length_bytes` each way.
    pub(crate) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        side: Side,
        length_bytes: usize,
    ) -> Result<Self> {
        let (message, buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
        let (rank, peer, tag, resends) = (cx.rank(), side.peer, cx.tag(0), cx.resends());
        Ok(Self { rank, peer, tag, resends, message, buffer, arrived_bytes: None })
    }

    /// The message out and the one of the peer in, by blocked calls; buffers stay as they are.
    #[inline]
    pub(crate) fn cross<T: Transport>(&mut self, t: &T) -> Result<()> {
        let from = Source::Rank(self.peer);
        let status =
            t.blocked_exchange(self.peer, &self.message, from, &mut self.buffer, self.tag)?;
        self.arrived_bytes = status.length_from(self.peer);
        Ok(())
    }

    /// What came back to the peer, and what it returns into the message, by blocked calls.
    #[inline]
    pub(crate) fn cross_back<T: Transport>(&mut self, t: &T) -> Result<()> {
        let from = Source::Rank(self.peer);
        let status =
            t.blocked_exchange(self.peer, &self.buffer, from, &mut self.message, self.tag)?;
        self.arrived_bytes = status.length_from(self.peer);
        Ok(())
    }

    /// An exchange by blocked calls.
    #[inline]
    pub(crate) fn blocked<T: Transport>(&mut self, t: &T) -> Result<()> {
        self.cross(t)?;
        self.turn();
        Ok(())
    }

    /// An exchange by unblocked calls around `work`: send and receive are posted before it, and
    /// waited for after it.
    #[inline]
    pub(crate) fn unblocked<T: Transport>(&mut self, t: &T, work: impl FnOnce()) -> Result<()> {
        let Self { peer, tag, message, buffer, .. } = self;
        let status = t.scope(|s| {
            let send = s.unblocked_send(*peer, *tag, message)?;
            let receive = s.unblocked_recv(Source::Rank(*peer), *tag, buffer)?;
            work();
            send.wait()?;
            Ok(receive.wait()?.0)
        })?;
        self.arrived_bytes = status.length_from(self.peer);
        self.turn();
        Ok(())
    }

    #[inline]
    fn turn(&mut self) {
        if self.resends {
            std::mem::swap(&mut self.message, &mut self.buffer);
        }
    }

    /// The seeds of what this rank fills in and of what its peer does.
    pub(crate) fn seeds(&self, seeds: Seeds) -> [u64; 2] {
        [seeds.of(0, self.rank), seeds.of(0, self.peer)]
    }

    /// Checks what came back in the last crossing.
    pub(crate) fn check_returned(&mut self, check: &mut Checker) {
        let ([own, of_peer], peer) = (self.seeds(check.seeds()), self.peer);
        let what = format!("the message from rank {peer}");
        check.message(&mut self.buffer, of_peer, &what);
        let what = format!("the message that rank {peer} returned");
        check.arrival(self.arrived_bytes, (&mut self.message, own), &what);
    }
}

impl<T: Transport> Operation<T> for Crossing<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let [own, of_peer] = self.seeds(seeds);
        pattern::fill(&mut self.message, own);
        pattern::spoil(&mut self.buffer, of_peer);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.blocked(t)
    }

    fn check(&mut self, check: &mut Checker) {
        let [own, of_peer] = self.seeds(check.seeds());
        // A message that is sent on every time is back after two exchanges.
        let is_own = self.resends && check.n_runs().is_multiple_of(2);
        let seed = if is_own { own } else { of_peer };
        let buffer = if self.resends { &mut self.message } else { &mut self.buffer };
        let what = format!("the message from rank {}", self.peer);
        check.arrival(self.arrived_bytes, (buffer, seed), &what);
    }
}
