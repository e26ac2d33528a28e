//! Bounce: one message from the rank that leads to its peer, and one back.

use comet_core::kernel::prelude::*;

/// One side of an echo.
///
/// In one buffer what arrived is sent next, so that every message is freshly written, as an
/// application's are. With a buffer for each direction the sent one is never rewritten and stays
/// in the caches of both ranks, which flatters transports that copy once; so do IMB and OSU.
pub(crate) struct Bounce<B> {
    rank: Rank,
    side: Side,
    /// Tags of the way out and of the way back.
    tags: [Tag; 2],
    message: B,
    /// Room for what arrives; `None` where it arrives in `message`.
    reply: Option<B>,
    /// Length of the last message, if the peer sent it.
    arrived_bytes: Option<usize>,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Bounce<B> {
    /// The side of this rank in `pairing`, and the duty of rank 0 as the one that takes times.
    pub(crate) fn part<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        pairing: Pairing,
        length_bytes: usize,
    ) -> Result<Role<Self>> {
        let Some(side) = cx.side(pairing) else { return Ok(None) };
        Ok(Some((side.duty(), Self::new(cx, side, length_bytes)?)))
    }

    /// [`part`](Self::part), with both ranks of each pair as those that take times.
    pub(crate) fn timed_by_both<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        pairing: Pairing,
        length_bytes: usize,
    ) -> Result<Role<Self>> {
        let role = Self::part(cx, pairing, length_bytes)?;
        Ok(role.map(|(_, part)| (Duty::Times, part)))
    }

    /// `side` of an echo of `length_bytes`.
    pub(crate) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        side: Side,
        length_bytes: usize,
    ) -> Result<Self> {
        let is_alone = side.peer == cx.rank();
        let has_reply = is_alone || !cx.resends();
        let reply = has_reply.then(|| cx.message(length_bytes)).transpose()?;
        let (rank, tags) = (cx.rank(), [cx.tag(0), cx.tag(1)]);
        Ok(Self {
            rank,
            side,
            tags,
            message: cx.message(length_bytes)?,
            reply,
            arrived_bytes: None,
        })
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

    /// The buffer from which messages are sent.
    pub(crate) fn outgoing(&mut self) -> &mut B {
        &mut self.message
    }

    /// Length of the last message, if the peer sent it.
    pub(crate) fn arrived_bytes(&self) -> Option<usize> {
        self.arrived_bytes
    }

    /// Whether this rank begins, and the other rank.
    pub(crate) fn side(&self) -> Side {
        self.side
    }

    /// Sends the message.
    #[inline]
    pub(crate) fn send<T: Transport>(&mut self, t: &T) -> Result<()> {
        t.blocked_send(self.side.peer, self.tags[usize::from(!self.side.leads)], &self.message)
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
        self.arrived_bytes = t.blocked_recv(Source::Rank(peer), tag, buffer)?.length_from(peer);
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
