//! The local transport with a twist, for tests that need one that misbehaves or tells a story.

use std::fmt::Debug;

use crate::capability::Never;
use crate::error::Result;
use crate::local::{Local, LocalBuffer};
use crate::topology::Topology;
use crate::transport::{ClockInfo, Lease, Rank, RawTransport, Source, Status, Tag, Transport};

/// What differs from the local transport; the rest is that of `inner`.
pub(crate) trait Twist: Debug {
    fn poll_recv(&self, is_complete: bool) -> bool {
        is_complete
    }

    fn received(&self, result: Result<Status>, _buffer: &[u8]) -> Result<Status> {
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
}

/// One rank of the local transport with a twist.
#[derive(Debug)]
pub(crate) struct Twisted<'a, W> {
    pub(crate) inner: &'a Local,
    pub(crate) twist: W,
}

impl<W: Twist> RawTransport for Twisted<'_, W> {
    type SendOp<'env> = <Local as RawTransport>::SendOp<'env>;
    type RecvOp<'env> = <Local as RawTransport>::RecvOp<'env>;

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
        buffer: &'env mut [u8],
    ) -> Result<Self::RecvOp<'env>> {
        self.inner.start_recv(lease.of_wrapped(), source, tag, buffer)
    }

    fn poll_send(&self, op: &mut Self::SendOp<'_>) -> bool {
        self.inner.poll_send(op)
    }

    fn poll_recv(&self, op: &mut Self::RecvOp<'_>) -> bool {
        self.twist.poll_recv(self.inner.poll_recv(op))
    }

    fn finish_send(&self, op: Self::SendOp<'_>) -> Result<()> {
        self.inner.finish_send(op)
    }

    fn finish_recv<'env>(&self, op: Self::RecvOp<'env>) -> (Result<Status>, &'env mut [u8]) {
        let (result, buffer) = self.inner.finish_recv(op);
        (self.twist.received(result, buffer), buffer)
    }

    fn fail_job(&self, reason: &str) -> ! {
        self.inner.fail_job(reason)
    }
}

impl<W: Twist> Transport for Twisted<'_, W> {
    type Buffer = LocalBuffer;
    type OneSided = Never;
    type ParallelFile = Never;
    type Layouts = Never;
    type Groups = Never;

    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn n_ranks(&self) -> usize {
        self.inner.n_ranks()
    }

    fn now_ns(&self) -> u64 {
        self.twist.now_ns(self.inner)
    }

    fn clock(&self) -> ClockInfo {
        self.inner.clock()
    }

    fn line_time_ns(&self) -> Result<Option<f64>> {
        self.twist.line_time_ns(self.inner)
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
        self.twist.blocked_send(self.inner, destination, tag, message)
    }

    fn barrier(&self) -> Result<()> {
        self.twist.barrier(self.inner)
    }

    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        self.twist.blocked_broadcast(self.inner, root, message)
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.twist.global_sum_vector(self.inner, values)
    }
}
