//! Operations that several kernels share: an echo, by which one message goes to a peer and one comes
//! back, and an exchange, in which all ranks of a ring send to the next one at the same time.

use std::ops::DerefMut;

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

/// One side of an echo.
///
/// In one buffer what arrived is sent next, so that every message is freshly written, as an
/// application's are. With a buffer for each direction the sent one is never rewritten and stays
/// in the caches of both ranks, which flatters transports that copy once; so do IMB and OSU.
pub(crate) struct Bounce<B> {
    rank: Rank,
    pub(crate) side: Side,
    /// The source from which the message of the peer is received.
    source: Source,
    /// Tags of the way out and of the way back.
    tags: [Tag; 2],
    /// The message that is sent.
    pub(crate) message: B,
    /// Room for what arrives; `None` where it arrives in `message`.
    reply: Option<B>,
    /// Length of the last message, if the peer sent it.
    pub(crate) arrived_bytes: Option<usize>,
}

impl<B: DerefMut<Target = [u8]>> Bounce<B> {
    /// The side of this rank in `pairing`, and the duty of rank 0 as the one that takes times.
    pub(crate) fn part<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        pairing: Pairing,
        length_bytes: usize,
    ) -> Result<Role<Self>> {
        let Some(side) = cx.side(pairing) else { return Ok(None) };
        Ok(Some((side.duty(), Self::new(cx, side, length_bytes)?)))
    }

    /// `side` of an echo of `length_bytes`.
    pub(crate) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        side: Side,
        length_bytes: usize,
    ) -> Result<Self> {
        let (rank, tags) = (cx.rank(), [cx.tag(0), cx.tag(1)]);
        let has_reply = side.peer == rank || !cx.resends();
        let reply = has_reply.then(|| cx.message(length_bytes)).transpose()?;
        let message = cx.message(length_bytes)?;
        let source = Source::Rank(side.peer);
        Ok(Self { rank, side, source, tags, message, reply, arrived_bytes: None })
    }

    /// The same with messages from any source.
    pub(crate) fn with_any_source(self) -> Self {
        Self { source: Source::Any, ..self }
    }

    fn is_alone(&self) -> bool {
        self.side.peer == self.rank
    }

    /// Number of the stream that this rank sends; the other one is that of its peer.
    fn own_stream(&self) -> u16 {
        u16::from(!self.side.leads)
    }

    /// Seed of what arrives: in one buffer, what the leading rank sent.
    pub(crate) fn arriving(&self, seeds: Seeds) -> u64 {
        match (self.side, &self.reply) {
            (Side { leads: true, .. }, None) => seeds.of(0, self.rank),
            _ if self.is_alone() => seeds.of(0, self.rank),
            (Side { peer, .. }, _) => seeds.of(1 - self.own_stream(), peer),
        }
    }

    /// The buffer into which a message is received.
    pub(crate) fn incoming(&mut self) -> &mut B {
        self.reply.as_mut().unwrap_or(&mut self.message)
    }

    /// Sends the message.
    #[inline]
    pub(crate) fn send<T: Transport>(&mut self, t: &T) -> Result<()> {
        self.send_from(t, &self.message)
    }

    /// Sends `message` in place of the own one.
    #[inline]
    pub(crate) fn send_from<T: Transport>(&self, t: &T, message: &[u8]) -> Result<()> {
        t.blocked_send(self.side.peer, self.tags[usize::from(!self.side.leads)], message)
    }

    /// Receives the message of the peer.
    #[inline]
    pub(crate) fn receive<T: Transport>(&mut self, t: &T) -> Result<()> {
        let (peer, tag) = (self.side.peer, self.tags[usize::from(self.side.leads)]);
        let buffer = self.reply.as_mut().unwrap_or(&mut self.message);
        self.arrived_bytes = t.blocked_recv(self.source, tag, buffer)?.length_from(peer);
        Ok(())
    }

    /// Two messages of a rank to itself, there and back.
    #[inline(never)]
    fn around_itself<T: Transport>(&mut self, t: &T) -> Result<()> {
        let (rank, [out, back]) = (self.rank, self.tags);
        let Self { message, reply: Some(reply), .. } = self else { return Ok(()) };
        t.blocked_exchange(rank, message, Source::Rank(rank), reply, out)?;
        let status = t.blocked_exchange(rank, reply, Source::Rank(rank), message, back)?;
        self.arrived_bytes = status.length_from(rank);
        Ok(())
    }
}

impl<B: DerefMut<Target = [u8]>> Bounce<B> {
    /// The same with packed messages.
    #[inline(never)]
    fn around_itself_packed<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
    ) -> Result<()> {
        let (rank, source, tags) = (self.rank, Source::Rank(self.rank), self.tags);
        let Self { message, reply: Some(reply), .. } = self else { return Ok(()) };
        let (mut from, mut into) = (message, reply);
        for tag in tags {
            let [out, back] = packing.both(t, from, into)?;
            let status = t.blocked_exchange(rank, out, source, back, tag)?;
            packing.unpack(t, into)?;
            self.arrived_bytes = packing.whole(status).length_from(rank);
            std::mem::swap(&mut from, &mut into);
        }
        Ok(())
    }
}

impl<T: Transport> Operation<T> for Bounce<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let arriving = self.arriving(seeds);
        pattern::spoil(self.incoming(), arriving);
        if self.side.leads || self.reply.is_some() {
            let own = seeds.of(self.own_stream(), self.rank);
            pattern::fill(&mut self.message, own);
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if !self.side.leads {
            self.receive(t)?;
            return self.send(t);
        }
        if self.side.peer == self.rank {
            return self.around_itself(t);
        }
        self.send(t)?;
        self.receive(t)
    }

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        if !self.side.leads {
            self.receive(t)?;
            touch.read(t, self.incoming());
            touch.write(t, &mut self.message);
            return self.send(t);
        }
        touch.write(t, &mut self.message);
        if self.is_alone() {
            self.around_itself(t)?;
        } else {
            self.send(t)?;
            self.receive(t)?;
        }
        touch.read(t, self.incoming());
        Ok(())
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        if self.is_alone() {
            return self.around_itself_packed(t, packing);
        }
        let (Side { peer, leads, .. }, own) = (self.side, usize::from(!self.side.leads));
        let (source, [sent, received]) = (self.source, [self.tags[own], self.tags[1 - own]]);
        if leads {
            t.blocked_send(peer, sent, packing.outgoing(t, &mut self.message)?)?;
        }
        let status = t.blocked_recv(source, received, packing.incoming(self.incoming()))?;
        self.arrived_bytes = packing.whole(status).length_from(peer);
        packing.unpack(t, self.incoming())?;
        if !leads {
            t.blocked_send(peer, sent, packing.outgoing(t, &mut self.message)?)?;
        }
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let (peer, length, seed) =
            (self.side.peer, self.arrived_bytes, self.arriving(check.seeds()));
        let what = match self.side.leads {
            _ if self.is_alone() => "the echo to itself".into(),
            true => format!("the echo from rank {peer}"),
            false => format!("the message from rank {peer}"),
        };
        check.arrival(length, (self.incoming(), seed), &what);
    }

    /// The two halves of [`run`](Operation::run), with the buffer spoiled between them where the
    /// message returns to the place that it left.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        if self.side.leads && !self.is_alone() {
            self.send(t)?;
            let arriving = self.arriving(check.seeds());
            pattern::spoil(self.incoming(), arriving);
            self.receive(t)?;
        } else {
            self.run(t)?;
        }
        Operation::<T>::check(self, check);
        Ok(())
    }
}

/// One rank of an exchange; all do the same.
pub(crate) struct Crossing<B> {
    rank: Rank,
    n_ranks: usize,
    /// The ranks from which messages come and to which they go, as [`Context::ring`] has them.
    peers: (Rank, Rank),
    tag: Tag,
    /// True if the message that came is sent next, so that every message is freshly written.
    resends: bool,
    pub(crate) message: B,
    pub(crate) buffer: B,
    arrived_bytes: Option<usize>,
}

impl<B: DerefMut<Target = [u8]>> Crossing<B> {
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

    /// The message that came back to its source, and the answer into the message, by blocked
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

    /// Checks what came back in the last crossing into the message, whose contents were those that `before` writes
    /// of its seed.
    pub(crate) fn check_returned(&mut self, check: &mut Checker, before: fn(&mut [u8], u64)) {
        let ([own, of_peer], (from, to)) = (self.seeds(check.seeds()), self.peers);
        check.message(&mut self.buffer, of_peer, format_args!("the message from rank {from}"));
        let what = format!("the message that rank {to} returned");
        let (length, before) = (self.arrived_bytes, |place: &mut [u8]| before(place, own));
        check.arrival_over(length, (&mut self.message, own), before, &what);
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

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        touch.write(t, &mut self.message);
        self.cross(t)?;
        touch.read(t, &self.buffer);
        self.turn();
        Ok(())
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        let ((from, to), tag) = (self.peers, self.tag);
        let [out, back] = packing.both(t, &mut self.message, &mut self.buffer)?;
        let status = t.blocked_exchange(to, out, Source::Rank(from), back, tag)?;
        self.arrived_bytes = packing.whole(status).length_from(from);
        packing.unpack(t, &mut self.buffer)?;
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
