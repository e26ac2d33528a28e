//! The local transport with a twist, for tests that need one that misbehaves or tells a story.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;

use crate::collective::{self, Collective, Element, Reducer};
use crate::error::Result;
use crate::file::NoFile;
use crate::local::{Local, LocalBuffer, LocalRecv, LocalSend, LocalWindow};
use crate::topology::Topology;
use crate::transport::{
    ClockInfo, Group, Lease, Outgoing, Pending, Place, Rank, RawPrepared, RawTransport, SendMode,
    Source, Status, Tag, Transport,
};
use crate::window::{Fence, Lock, Memory, RawWindow, Remote, window_calls};

/// Differences from the local transport; the rest is that of `inner`.
pub(crate) trait Twist: Clone + Debug {
    fn poll_recv(&self, is_complete: bool) -> bool {
        is_complete
    }

    fn received(&self, result: Result<Status>, _capacity_bytes: usize) -> Result<Status> {
        result
    }

    fn now_ns(&self, inner: &Local) -> u64 {
        inner.now_ns()
    }

    fn line_time_ns(&self, inner: &Local) -> Result<Option<f64>> {
        inner.line_time_ns()
    }

    fn probed(&self, status: Status) -> Status {
        status
    }

    fn blocked_send(&self, inner: &Local, to: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        inner.blocked_send(to, tag, message)
    }

    fn barrier(&self, inner: &Local) -> Result<()> {
        inner.barrier()
    }

    fn blocked_broadcast(&self, inner: &Local, root: Rank, message: &mut [u8]) -> Result<()> {
        inner.blocked_broadcast(root, message)
    }

    fn global_sum_vector(&self, inner: &Local, values: &mut [f64]) -> Result<()> {
        inner.global_sum_vector(values)
    }

    /// Changes `message`, which has come to the place of `sent`.
    fn exchanged_in_place(&self, _sent: &[u8], _message: &mut [u8]) {}

    /// The mode in which a message is sent whose sender asks for `mode`.
    fn mode(&self, mode: SendMode) -> SendMode {
        mode
    }

    fn collected(&self, _call: &Collective, _output: &mut [u8]) {}

    /// True if unblocked collectives are calls of the transport's own, which do nothing.
    fn starts_nothing(&self) -> bool {
        false
    }

    /// True if the transport prepares operations by calls of its own, which do nothing.
    fn prepares_nothing(&self) -> bool {
        false
    }

    /// True if the call of this name on a window is left out.
    fn forgets(&self, _call: &'static str) -> bool {
        false
    }
}

/// One rank of the local transport with a twist.
#[derive(Debug)]
pub(crate) struct Twisted<'a, W> {
    pub(crate) inner: Cow<'a, Local>,
    pub(crate) twist: W,
}

/// A receive in flight on the transport with a twist.
#[derive(Debug)]
pub(crate) struct TwistedRecv<'env> {
    inner: LocalRecv<'env>,
    capacity_bytes: usize,
}

impl<W: Twist> Pending<Twisted<'_, W>> for LocalSend {
    type Out = ();

    fn poll(&mut self, t: &Twisted<'_, W>) -> bool {
        Pending::<Local>::poll(self, &t.inner)
    }

    fn finish(self, t: &Twisted<'_, W>) -> Result<()> {
        Pending::<Local>::finish(self, &t.inner)
    }
}

impl<'env, W: Twist> Pending<Twisted<'_, W>> for TwistedRecv<'env> {
    type Out = (Status, &'env mut [u8]);

    fn poll(&mut self, t: &Twisted<'_, W>) -> bool {
        t.twist.poll_recv(self.inner.poll(&t.inner))
    }

    fn finish(self, t: &Twisted<'_, W>) -> Result<Self::Out> {
        let result = self.inner.finish(&t.inner);
        let (result, buffer) = match result {
            Ok((status, buffer)) => (Ok(status), buffer),
            Err(error) => (Err(error), &mut [] as &mut [u8]),
        };
        let status = t.twist.received(result, self.capacity_bytes)?;
        Ok((status, buffer))
    }
}

/// A collective that ends at once, and does nothing.
#[derive(Debug)]
pub(crate) struct Nothing;

impl<W: Twist> Pending<Twisted<'_, W>> for Nothing {
    type Out = ();

    fn poll(&mut self, _: &Twisted<'_, W>) -> bool {
        true
    }

    fn finish(self, _: &Twisted<'_, W>) -> Result<()> {
        Ok(())
    }
}

impl<W: Twist> RawPrepared<Twisted<'_, W>> for Nothing {
    fn start(&mut self, _: &Twisted<'_, W>, _: Lease<Twisted<'_, W>>) -> Result<()> {
        Ok(())
    }

    fn poll(&mut self, _: &Twisted<'_, W>) -> bool {
        true
    }

    fn finish(&mut self, _: &Twisted<'_, W>) -> Result<()> {
        Ok(())
    }

    fn joined(self, _: Self) -> Self {
        self
    }

    fn ready(&mut self, _: &Twisted<'_, W>, _: usize) -> Result<()> {
        Ok(())
    }

    fn has_arrived(&mut self, _: &Twisted<'_, W>, _: usize) -> Result<bool> {
        Ok(true)
    }
}

impl<W: Twist> RawTransport for Twisted<'_, W> {
    type SendOp<'env> = LocalSend;
    type RecvOp<'env> = TwistedRecv<'env>;
    type OwnCall<'env> = Nothing;
    type PreparedOp = Nothing;
    type Window = TwistedWindow<W>;
    type File = NoFile;
    type Construction = crate::layout::PieceSearch;

    fn start_send_in(
        &self,
        lease: Lease<Self>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<LocalSend> {
        let mode = self.twist.mode(mode);
        self.inner.start_send_in(lease.of_wrapped(), mode, destination, tag, message)
    }

    fn start_send_from(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<LocalSend> {
        self.inner.start_send_from(lease.of_wrapped(), destination, tag, message)
    }

    fn group(&self) -> &Group {
        self.inner.group()
    }

    fn start_own<'env>(
        &self,
        _: Lease<Self>,
        _: &'env Collective,
        _: &'env [u8],
        _: &'env mut [u8],
    ) -> Result<Nothing> {
        Ok(Nothing)
    }

    fn prepare_own(&self, _: &Collective, _: &[u8], _: &mut [u8]) -> Result<Option<Nothing>> {
        Ok(self.twist.prepares_nothing().then_some(Nothing))
    }

    fn start_recv<'env>(
        &self,
        lease: Lease<Self>,
        source: Source,
        tag: Tag,
        place: Place<'env>,
    ) -> Result<Self::RecvOp<'env>> {
        let capacity_bytes = place.length_bytes();
        let inner = self.inner.start_recv(lease.of_wrapped(), source, tag, place)?;
        Ok(TwistedRecv { inner, capacity_bytes })
    }

    fn make_window(
        &self,
        lease: Lease<Self>,
        part_bytes: usize,
        origin_bytes: usize,
        memory: Memory,
    ) -> Result<TwistedWindow<W>> {
        let inner = self.inner.make_window(lease.of_wrapped(), part_bytes, origin_bytes, memory)?;
        Ok(TwistedWindow { inner, twist: self.twist.clone() })
    }

    fn fail_job(&self, reason: &str) -> ! {
        self.inner.fail_job(reason)
    }
}

/// A window on the transport with a twist.
#[derive(Debug)]
pub(crate) struct TwistedWindow<W> {
    inner: LocalWindow,
    twist: W,
}

/// Calls that the twist may leave out.
macro_rules! forgetful {
    ($($call:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $call(&self, $($argument: $type),*) -> Result<()> {
            if self.twist.forgets(stringify!($call)) {
                return Ok(());
            }
            self.inner.$call($($argument),*)
        })*
    };
}

impl<W: Twist> RawWindow for TwistedWindow<W> {
    type Peers = Vec<Rank>;

    fn origin_bytes(&self) -> usize {
        self.inner.origin_bytes()
    }

    fn part_bytes(&self) -> usize {
        self.inner.part_bytes()
    }

    fn origin(&mut self) -> &mut [u8] {
        self.inner.origin()
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.inner.read(at, into);
    }

    fn write(&mut self, at: usize, from: &[u8]) {
        self.inner.write(at, from);
    }

    fn open(&mut self) -> Result<()> {
        self.inner.open()
    }

    fn close(&mut self) -> Result<()> {
        self.inner.close()
    }

    fn abandon(&self) {
        self.inner.abandon();
    }

    fn peers(&self, ranks: &[Rank]) -> Result<Vec<Rank>> {
        self.inner.peers(ranks)
    }

    window_calls!(forgetful);

    fn test(&self) -> Result<bool> {
        Ok(self.twist.forgets("test") || self.inner.test()?)
    }
}

impl<W: Twist> Transport for Twisted<'_, W> {
    type Buffer = LocalBuffer;

    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>> {
        let part = self.inner.split(colour, key)?;
        Ok(part.map(|part| Self { inner: Cow::Owned(part), twist: self.twist.clone() }))
    }

    fn now_ns(&self) -> u64 {
        self.twist.now_ns(&self.inner)
    }

    fn clock(&self) -> ClockInfo {
        self.inner.clock()
    }

    fn line_time_ns(&self) -> Result<Option<f64>> {
        self.twist.line_time_ns(&self.inner)
    }

    fn topology(&self) -> &Topology {
        self.inner.topology()
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<LocalBuffer> {
        self.inner.message_buffer(length_bytes)
    }

    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        Ok(self.inner.probe(source, tag)?.map(|status| self.twist.probed(status)))
    }

    fn blocked_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        self.twist.blocked_send(&self.inner, destination, tag, message)
    }

    fn blocked_exchange_in_place(
        &self,
        destination: Rank,
        source: Source,
        tag: Tag,
        message: &mut [u8],
        _: &mut [u8],
    ) -> Result<Status> {
        let sent = message.to_vec();
        let status = self.blocked_exchange(destination, &sent, source, message, tag)?;
        self.twist.exchanged_in_place(&sent, message);
        Ok(status)
    }

    fn barrier(&self) -> Result<()> {
        self.twist.barrier(&self.inner)
    }

    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        self.twist.blocked_broadcast(&self.inner, root, message)
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.twist.global_sum_vector(&self.inner, values)
    }

    fn starts_own(&self, _: &Collective) -> bool {
        self.twist.starts_nothing()
    }

    fn collective(&self, call: &Collective, input: &[u8], output: &mut [u8]) -> Result<()> {
        collective::by_messages(self, call, input, output)?;
        self.twist.collected(call, output);
        Ok(())
    }
}
