//! Messages of a window that are prepared once, and started together again and again: those that go out, and
//! those that come in.

use comet_core::kernel::prelude::*;
use comet_core::transport::{
    PreparedRecvs, PreparedSends, Request, Scope, StartedRecvs, StartedSends,
};

use super::messages::{Flow, Messages, Shape};

/// Messages to a peer.
pub(crate) struct Outgoing<T: Transport> {
    messages: Messages<T::Buffer>,
    sends: PreparedSends<T>,
}

/// Places of messages from a peer.
pub(crate) struct Incoming<T: Transport> {
    places: Messages<T::Buffer>,
    receives: PreparedRecvs<T>,
}

impl<T: Transport> Outgoing<T> {
    /// The messages of windows of `shape` from `cx` to `peer`.
    pub(crate) fn new(cx: &Context<'_, T>, peer: Rank, tag: Tag, shape: Shape) -> Result<Self> {
        let messages = Messages::new(cx, shape)?;
        let Messages { buffers, n_of_each } = &messages;
        let all = buffers.iter().map(|buffer| &**buffer);
        let sends = PreparedSends::of_each(cx.transport(), peer, tag, all, *n_of_each)?;
        Ok(Self { messages, sends })
    }

    /// Fills the messages, which `rank` sends.
    pub(crate) fn fill(&mut self, seeds: Seeds, rank: Rank) {
        self.messages.fill(seeds, rank);
    }

    /// Starts all sends.
    #[inline]
    pub(crate) fn start<'scope, 'env>(
        &'scope mut self,
        s: &'scope Scope<'scope, 'env, T>,
    ) -> Result<Request<'scope, 'env, T, StartedSends<'scope, T>>> {
        s.start_each_send(&mut self.sends, self.messages.buffers.iter().map(|buffer| &**buffer))
    }

    /// Starts all sends, and waits until the messages may be changed again.
    #[inline]
    pub(crate) fn run(&mut self, t: &T) -> Result<()> {
        t.scope(|s| self.start(s)?.wait())
    }
}

impl<T: Transport> Incoming<T> {
    /// The places of windows of `shape` from `peer` to `cx`.
    pub(crate) fn new(cx: &Context<'_, T>, peer: Rank, tag: Tag, shape: Shape) -> Result<Self> {
        let mut places = Messages::new(cx, shape)?;
        let Messages { buffers, n_of_each } = &mut places;
        let all = buffers.iter_mut().map(|buffer| &mut **buffer);
        let from = Source::Rank(peer);
        let receives = PreparedRecvs::of_each(cx.transport(), from, tag, all, *n_of_each)?;
        Ok(Self { places, receives })
    }

    /// Fills the places with anything else than what `peer` sends.
    pub(crate) fn spoil(&mut self, seeds: Seeds, peer: Rank) {
        self.places.spoil(seeds, peer);
    }

    /// Starts all receives.
    #[inline]
    pub(crate) fn start<'scope, 'env>(
        &'scope mut self,
        s: &'scope Scope<'scope, 'env, T>,
    ) -> Result<Request<'scope, 'env, T, StartedRecvs<'scope, T>>> {
        let all = self.places.buffers.iter_mut().map(|buffer| &mut **buffer);
        s.start_each_recv(&mut self.receives, all)
    }

    /// Starts all receives, and waits until all messages have arrived.
    #[inline]
    pub(crate) fn run(&mut self, t: &T) -> Result<()> {
        t.scope(|s| self.start(s)?.wait())
    }

    /// Checks the messages of `peer`.
    pub(crate) fn check(&mut self, check: &mut Checker, peer: Rank) {
        self.places.check(check, peer);
    }
}

/// Prepared messages in one direction.
pub(crate) enum PreparedFlow<T: Transport> {
    /// On the side that sends them.
    Out(Outgoing<T>),
    /// On the side that receives them.
    In(Incoming<T>),
}

impl<T: Transport> Flow<T> for PreparedFlow<T> {
    fn new(
        cx: &Context<'_, T>,
        peer: Rank,
        tag: Tag,
        is_sender: bool,
        shape: Shape,
    ) -> Result<Self> {
        if is_sender {
            return Outgoing::new(cx, peer, tag, shape).map(Self::Out);
        }
        Incoming::new(cx, peer, tag, shape).map(Self::In)
    }

    fn messages(&mut self) -> &mut Messages<T::Buffer> {
        match self {
            Self::Out(flow) => &mut flow.messages,
            Self::In(flow) => &mut flow.places,
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        match self {
            Self::Out(flow) => flow.run(t),
            Self::In(flow) => flow.run(t),
        }
    }

    /// The ends of prepared receives give no lengths: contents show them.
    fn check_lengths(&self, _: &mut Checker, _: Rank) {}
}

/// One side of prepared messages in both directions.
pub(crate) struct Both<T: Transport> {
    rank: Rank,
    peer: Rank,
    pub(crate) out: Outgoing<T>,
    pub(crate) back: Incoming<T>,
}

impl<T: Transport> Both<T> {
    /// The side of `cx` towards `peer`, with windows of `shape` each way.
    pub(crate) fn new(cx: &Context<'_, T>, peer: Rank, shape: Shape) -> Result<Self> {
        let (rank, tag) = (cx.rank(), cx.tag(0));
        let out = Outgoing::new(cx, peer, tag, shape)?;
        Ok(Self { rank, peer, out, back: Incoming::new(cx, peer, tag, shape)? })
    }

    /// Fills the messages, and spoils the places.
    pub(crate) fn fill(&mut self, seeds: Seeds) {
        self.out.fill(seeds, self.rank);
        self.back.spoil(seeds, self.peer);
    }

    /// Checks what came.
    pub(crate) fn check(&mut self, check: &mut Checker) {
        self.back.check(check, self.peer);
    }
}
