//! Crossing: all ranks of a ring send to the next one at the same time; a ring of two is a pair.

use comet_core::kernel::prelude::*;

/// One rank of an exchange; all do the same.
pub(crate) struct Crossing<B> {
    rank: Rank,
    n_ranks: usize,
    /// The ranks from which messages come and to which they go, as [`Context::ring`] has them.
    peers: (Rank, Rank),
    tag: Tag,
    /// Whether what came is sent next, so that every message is freshly written.
    resends: bool,
    pub(crate) message: B,
    pub(crate) buffer: B,
    arrived_bytes: Option<usize>,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Crossing<B> {
    /// The role of this rank in an exchange of two ranks.
    pub(crate) fn part<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        pairing: Pairing,
        length_bytes: usize,
    ) -> Result<Role<Self>> {
        let Some(side) = cx.side(pairing) else { return Ok(None) };
        Ok(Some((side.duty(), Self::new(cx, (side.peer, side.peer), length_bytes)?)))
    }

    /// This rank between its `peers`: one other rank, or those before and after it in the ring of
    /// all ranks. Each message has `length_bytes`.
    pub(crate) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        peers: (Rank, Rank),
        length_bytes: usize,
    ) -> Result<Self> {
        let (message, buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        let (tag, resends) = (cx.tag(0), cx.resends());
        Ok(Self { rank, n_ranks, peers, tag, resends, message, buffer, arrived_bytes: None })
    }

    /// The message out and that of the rank before in, by blocked calls; buffers stay as they are.
    #[inline]
    pub(crate) fn cross<T: Transport>(&mut self, t: &T) -> Result<()> {
        let ((from, to), tag) = (self.peers, self.tag);
        let status =
            t.blocked_exchange(to, &self.message, Source::Rank(from), &mut self.buffer, tag)?;
        self.arrived_bytes = status.length_from(from);
        Ok(())
    }

    /// What came back to where it came from, and what comes back into the message, by blocked
    /// calls.
    #[inline]
    pub(crate) fn cross_back<T: Transport>(&mut self, t: &T) -> Result<()> {
        let ((from, to), tag) = (self.peers, self.tag);
        let status =
            t.blocked_exchange(from, &self.buffer, Source::Rank(to), &mut self.message, tag)?;
        self.arrived_bytes = status.length_from(to);
        Ok(())
    }

    /// An exchange by unblocked calls around `work`: send and receive are posted before it, and
    /// waited for after it.
    #[inline]
    pub(crate) fn unblocked<T: Transport>(&mut self, t: &T, work: impl FnOnce()) -> Result<()> {
        let Self { peers: (from, to), tag, message, buffer, .. } = self;
        let status = t.scope(|s| {
            let send = s.unblocked_send(*to, *tag, message)?;
            let receive = s.unblocked_recv(Source::Rank(*from), *tag, buffer)?;
            work();
            send.wait()?;
            Ok(receive.wait()?.0)
        })?;
        self.arrived_bytes = status.length_from(self.peers.0);
        self.turn();
        Ok(())
    }

    #[inline]
    fn turn(&mut self) {
        if self.resends {
            std::mem::swap(&mut self.message, &mut self.buffer);
        }
    }

    /// The seeds of what this rank fills in and of what comes first.
    pub(crate) fn seeds(&self, seeds: Seeds) -> [u64; 2] {
        [seeds.of(0, self.rank), seeds.of(0, self.peers.0)]
    }

    /// The rank that filled in what has come after `n_runs` exchanges.
    fn origin(&self, n_runs: u64) -> Rank {
        match self.peers {
            (from, _) if !self.resends => from,
            (from, to) if from == to => [self.rank, from][usize::from(!n_runs.is_multiple_of(2))],
            _ => {
                let n_steps = usize::try_from(n_runs % self.n_ranks as u64).unwrap_or(0);
                (self.rank + self.n_ranks - n_steps) % self.n_ranks
            }
        }
    }

    /// Checks what came back in the last crossing.
    pub(crate) fn check_returned(&mut self, check: &mut Checker) {
        let ([own, of_peer], (from, to)) = (self.seeds(check.seeds()), self.peers);
        check.message(&mut self.buffer, of_peer, &format!("the message from rank {from}"));
        let what = format!("the message that rank {to} returned");
        check.arrival(self.arrived_bytes, (&mut self.message, own), &what);
    }
}

impl<T: Transport> Operation<T> for Crossing<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let [own, of_peer] = self.seeds(seeds);
        pattern::fill(&mut self.message, own);
        pattern::spoil(&mut self.buffer, of_peer);
    }

    /// An exchange by blocked calls.
    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.cross(t)?;
        self.turn();
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(0, self.origin(check.n_runs()));
        let buffer = if self.resends { &mut self.message } else { &mut self.buffer };
        let what = format!("the message from rank {}", self.peers.0);
        check.arrival(self.arrived_bytes, (buffer, seed), &what);
    }
}
