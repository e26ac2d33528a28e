//! The local transport with a twist, for tests that need one that misbehaves or tells a story.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::collective::{self, Collective};
use crate::error::Result;
use crate::local::{Local, LocalBuffer, LocalRecv, LocalSend};
use crate::topology::Topology;
use crate::transport::{
    ClockInfo, Lease, Pending, Place, Rank, RawTransport, Source, Status, Tag, Transport,
};

/// What differs from the local transport; the rest is that of `inner`.
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

    fn collected(&self, _call: &Collective, _output: &mut [u8]) {}
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

impl<W: Twist> RawTransport for Twisted<'_, W> {
    type SendOp<'env> = LocalSend;
    type RecvOp<'env> = TwistedRecv<'env>;

    fn start_send<'env>(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: &'env [u8],
    ) -> Result<Self::SendOp<'env>> {
        self.inner.start_send(lease.of_wrapped(), destination, tag, message)
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

    fn fail_job(&self, reason: &str) -> ! {
        self.inner.fail_job(reason)
    }
}

impl<W: Twist> Transport for Twisted<'_, W> {
    type Buffer = LocalBuffer;

    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn n_ranks(&self) -> usize {
        self.inner.n_ranks()
    }

    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>> {
        let part = self.inner.split(colour, key)?;
        Ok(part.map(|part| Self { inner: Cow::Owned(part), twist: self.twist.clone() }))
    }

    fn global_rank(&self, rank: Rank) -> Rank {
        self.inner.global_rank(rank)
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

    fn barrier(&self) -> Result<()> {
        self.twist.barrier(&self.inner)
    }

    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        self.twist.blocked_broadcast(&self.inner, root, message)
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.twist.global_sum_vector(&self.inner, values)
    }

    fn collective(&self, call: &Collective, input: &[u8], output: &mut [u8]) -> Result<()> {
        collective::by_messages(self, call, input, output)?;
        self.twist.collected(call, output);
        Ok(())
    }
}
