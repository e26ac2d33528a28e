//! The transport of one rank: rings for messages, lines for collectives, one clock for all.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::slice;
use std::time::Duration;

use comet_core::error::{Result, TransportError};
use comet_core::topology::Topology;
use comet_core::transport::{
    ClockInfo, Lease, Pending, Rank, RawTransport, Source, Status, Tag, Transport, Usage,
    require_rank, require_source,
};
use comet_core::waiting::Waiting;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

use crate::collective::Collectives;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::failure::Cause;
use crate::heap::{Heap, ShmBuffer};
use crate::inbox::{Arrival, RecvId};
use crate::layout::RUN_BYTES;
use crate::outbox::SendId;
use crate::placement;
use crate::reach::Reach;
use crate::segment::Segment;
use crate::wait::{Waiter, end_job};

/// Pauses between two looks for a message: each look at a line that the sender is about to write
/// takes the line from it once more.
const LOOK_PAUSES: u32 = 8;
/// Fruitless looks (probes, tests) after which a rank lets others run.
const N_LOOKS: u32 = 64;

/// One rank of the shared-memory transport; made by [`launch`](crate::launch).
pub struct Shm {
    segment: &'static Segment,
    rank: Rank,
    topology: Topology,
    engine: Engine,
    collectives: Collectives,
    heap: Rc<Heap>,
    n_fruitless: Cell<u32>,
}

/// A send in flight, or one that was over at once.
#[derive(Debug)]
pub struct ShmSend(Option<SendId>);

/// A receive in flight; it stands for the borrow of its buffer.
#[derive(Debug)]
pub struct ShmRecv<'env> {
    id: RecvId,
    source: Source,
    tag: Tag,
    buffer: *mut u8,
    capacity_bytes: usize,
    borrow: std::marker::PhantomData<&'env mut [u8]>,
}

impl fmt::Debug for Shm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_ranks = self.segment.n_ranks();
        f.debug_struct("Shm").field("rank", &self.rank).field("n_ranks", &n_ranks).finish()
    }
}

impl Shm {
    /// Rank `rank` of `segment`; each rank is made once, in its own process.
    pub(crate) fn new(
        segment: &'static Segment,
        rank: Rank,
        topology: Topology,
        waiter: Waiter,
        reach: Reach,
    ) -> Self {
        // SAFETY: the segment is never unmapped, heaps are page-aligned, and this rank alone
        // writes its own, but for ranks that it receives from or adds up vectors with.
        let heap = unsafe { Heap::new(segment.heap(rank), segment.layout().heap_bytes) };
        Self {
            segment,
            rank,
            topology,
            engine: Engine::new(waiter, Endpoint::new(segment, reach, rank)),
            collectives: Collectives::new(segment, reach, rank),
            heap: Rc::new(heap),
            n_fruitless: Cell::new(0),
        }
    }

    /// Notes whether a look found something; many in a row that did not are a long wait, which
    /// makes room for senders and lets other ranks run.
    fn looked(&self, found: bool) {
        let n_fruitless = if found { 0 } else { self.n_fruitless.get() + 1 };
        self.n_fruitless.set(n_fruitless % N_LOOKS);
        if !found && self.n_fruitless.get() == 0 {
            self.engine.progress(true);
            // A refusal would only mean that this rank looks on.
            let _ = nix::sched::sched_yield();
        }
    }

    /// One look at an operation; a failed job ends every operation.
    fn poll(&self, is_done: impl Fn(&mut Endpoint) -> bool) -> bool {
        if self.engine.waiter.is_dead() || self.engine.waiter.check_job().is_err() {
            return true;
        }
        self.engine.progress(false);
        let found = is_done(&mut self.engine.endpoint.borrow_mut());
        self.looked(found);
        found
    }

    /// Sends a short message, if nothing is in its way.
    #[inline]
    fn try_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> bool {
        let outbox = &mut self.engine.endpoint.borrow_mut().outbox;
        // SAFETY: `message` is borrowed for the whole call.
        let sent = unsafe { outbox.try_send(destination, tag, message.as_ptr(), message.len()) };
        if sent {
            self.engine.waiter.wake(destination);
        }
        sent
    }

    /// Looks for a short message for a while, as long as nothing is in its way.
    #[inline]
    fn try_recv(&self, from: Rank, tag: Tag, buffer: &mut [u8]) -> Arrival {
        let patience = self.engine.waiter.n_spins();
        let room = (buffer.as_mut_ptr(), buffer.len());
        let mut endpoint = self.engine.endpoint.borrow_mut();
        for _ in 0..patience {
            // SAFETY: `buffer` is borrowed for the whole call, and by the caller until a receive
            // that has begun is over.
            let arrival = unsafe { endpoint.inbox.try_recv(from, tag, room, patience) };
            if arrival != Arrival::Nothing {
                endpoint.wake(&self.engine.waiter);
                return arrival;
            }
            (0..LOOK_PAUSES).for_each(|_| std::hint::spin_loop());
        }
        Arrival::Nothing
    }

    /// Waits for the rest of a message.
    #[cold]
    fn finish_begun(
        &self,
        id: RecvId,
        source: Source,
        tag: Tag,
        buffer: &mut [u8],
    ) -> Result<Status> {
        let (start, capacity_bytes) = (buffer.as_mut_ptr(), buffer.len());
        let borrow = std::marker::PhantomData;
        self.await_recv(&ShmRecv { id, source, tag, buffer: start, capacity_bytes, borrow })
    }

    fn recv_is_done(&self, id: RecvId) -> bool {
        self.engine.endpoint.borrow().inbox.recv_is_done(id)
    }

    /// Waits for a receive to end; says what arrived.
    fn await_recv(&self, op: &ShmRecv<'_>) -> Result<Status> {
        let (id, capacity_bytes) = (op.id, op.capacity_bytes);
        let waiting = || Waiting::Recv(op.source, op.tag, capacity_bytes);
        let waited = if self.engine.waiter.is_dead() {
            self.engine.waiter.check_job()
        } else {
            self.engine.until(waiting, || self.recv_is_done(id))
        };
        let arrived = self.engine.endpoint.borrow_mut().inbox.end_recv(id);
        let describe =
            |error: TransportError| error.with_peer(op.source, op.tag).on_rank(self.rank);
        waited.map_err(describe)?;
        let status = arrived.expect("a receive that is done has a status");
        if status.length_bytes > capacity_bytes {
            let Status { source, tag, length_bytes } = status;
            let error = TransportError::truncated(source, tag, length_bytes, capacity_bytes);
            return Err(error.on_rank(self.rank));
        }
        Ok(status)
    }
}

impl Pending<Shm> for ShmSend {
    type Out = ();

    fn poll(&mut self, t: &Shm) -> bool {
        self.0.is_none_or(|id| t.poll(|endpoint| endpoint.outbox.send_is_done(id)))
    }

    fn finish(self, t: &Shm) -> Result<()> {
        let Some(id) = self.0 else { return Ok(()) };
        if t.engine.waiter.is_dead() {
            return t.engine.waiter.check_job();
        }
        let endpoint = &t.engine.endpoint;
        let waiting = || endpoint.borrow().outbox.send_waiting(id);
        t.engine.until_sent(waiting, || {
            let outbox = &mut endpoint.borrow_mut().outbox;
            outbox.help(id);
            outbox.send_is_done(id)
        })?;
        endpoint.borrow_mut().outbox.end_send(id);
        Ok(())
    }

    fn wait_any(t: &Shm, ops: &mut [Option<Self>]) -> Option<usize> {
        let endpoint = &t.engine.endpoint;
        let some = |op: &Option<Self>| op.as_ref().map(|op| op.0);
        let is_done = |id: Option<SendId>| {
            let outbox = &mut endpoint.borrow_mut().outbox;
            id.is_none_or(|id| {
                outbox.help(id);
                outbox.send_is_done(id)
            })
        };
        let ended = || ops.iter().position(|op| some(op).is_some_and(is_done));
        let first = ops.iter().position(Option::is_some)?;
        let Some(id) = some(&ops[first]).flatten() else { return Some(first) };
        if t.engine.waiter.is_dead() {
            return Some(first);
        }
        let waiting = || endpoint.borrow().outbox.send_waiting(id);
        // A failed job has ended every operation, and `finish` returns its error.
        t.engine.until_sent(waiting, || ended().is_some()).ok();
        ended().or(Some(first))
    }
}

impl<'env> Pending<Shm> for ShmRecv<'env> {
    type Out = (Status, &'env mut [u8]);

    fn poll(&mut self, t: &Shm) -> bool {
        t.poll(|endpoint| endpoint.inbox.recv_is_done(self.id))
    }

    fn finish(self, t: &Shm) -> Result<Self::Out> {
        let status = t.await_recv(&self)?;
        // SAFETY: pointer and length are those of the slice that `start_recv` took for 'env, and
        // the operation, the only one to use them, is over.
        let buffer = unsafe { slice::from_raw_parts_mut(self.buffer, self.capacity_bytes) };
        Ok((status, buffer))
    }

    fn wait_any(t: &Shm, ops: &mut [Option<Self>]) -> Option<usize> {
        let ended =
            || ops.iter().position(|op| op.as_ref().is_some_and(|op| t.recv_is_done(op.id)));
        let first = ops.iter().position(Option::is_some)?;
        let Some(op) = &ops[first] else { return None };
        if t.engine.waiter.is_dead() {
            return Some(first);
        }
        // Any rank may end the wait, since the receives may be from several.
        let waiting = || Waiting::Recv(Source::Any, op.tag, op.capacity_bytes);
        // A failed job has ended every operation, and `finish` returns its error.
        t.engine.until(waiting, || ended().is_some()).ok();
        ended().or(Some(first))
    }
}

impl RawTransport for Shm {
    type SendOp<'env> = ShmSend;
    type RecvOp<'env> = ShmRecv<'env>;

    fn start_send(
        &self,
        _lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<ShmSend> {
        require_rank(self, destination)?;
        self.engine.waiter.check_job()?;
        if self.try_send(destination, tag, message) {
            return Ok(ShmSend(None));
        }
        let mut endpoint = self.engine.endpoint.borrow_mut();
        // SAFETY: by the lease the message stays borrowed until the send is finished, unless the
        // job fails, after which this endpoint does nothing more.
        let id = unsafe {
            endpoint.outbox.start_send(destination, tag, message.as_ptr(), message.len())
        };
        endpoint.wake(&self.engine.waiter);
        if endpoint.outbox.send_is_done(id) {
            endpoint.outbox.end_send(id);
            return Ok(ShmSend(None));
        }
        Ok(ShmSend(Some(id)))
    }

    fn start_recv<'env>(
        &self,
        _lease: Lease<Self>,
        source: Source,
        tag: Tag,
        buffer: &'env mut [u8],
    ) -> Result<ShmRecv<'env>> {
        require_source(self, source)?;
        self.engine.waiter.check_job()?;
        // What lies in the rings is younger than what is unexpected, and finds this receive when it
        // is pulled: nothing has to be pulled now.
        let (start, capacity_bytes) = (buffer.as_mut_ptr(), buffer.len());
        let mut endpoint = self.engine.endpoint.borrow_mut();
        // SAFETY: by the lease the buffer stays borrowed until the receive is finished, unless the
        // job fails, after which this endpoint does nothing more.
        let id = unsafe { endpoint.inbox.start_recv(source, tag, start, capacity_bytes) };
        endpoint.wake(&self.engine.waiter);
        let borrow = std::marker::PhantomData;
        Ok(ShmRecv { id, source, tag, buffer: start, capacity_bytes, borrow })
    }

    fn fail_job(&self, reason: &str) -> ! {
        end_job(self.segment, self.rank, Cause::GaveUp, reason);
        // Without unwinding: no destructor may run on buffers that are still in use.
        std::process::abort()
    }
}

impl Transport for Shm {
    type Buffer = ShmBuffer;

    #[inline]
    fn rank(&self) -> Rank {
        self.rank
    }

    #[inline]
    fn n_ranks(&self) -> usize {
        self.segment.n_ranks()
    }

    /// `CLOCK_MONOTONIC`, which is one clock for all processes of a machine.
    #[inline]
    fn now_ns(&self) -> u64 {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
        Duration::from(now).as_nanos().try_into().unwrap_or(u64::MAX)
    }

    fn usage(&self) -> Option<Usage> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Some(Usage {
            involuntary_switches: count(usage.involuntary_context_switches()),
            page_faults: count(usage.minor_page_faults()) + count(usage.major_page_faults()),
        })
    }

    fn clock(&self) -> ClockInfo {
        ClockInfo {
            name: "CLOCK_MONOTONIC",
            is_global: true,
            domain: 0,
            is_virtual: false,
            step_ns: None,
        }
    }

    /// Only where each rank has a core; ranks that take turns on one would time the scheduler.
    fn line_time_ns(&self) -> Result<Option<f64>> {
        if self.n_ranks() < 2 || self.rank > 1 || !self.engine.waiter.has_core_each() {
            return Ok(None);
        }
        let now_ns = || self.now_ns();
        placement::line_time_ns(self.segment, &self.engine, self.rank, now_ns).map(Some)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<ShmBuffer> {
        ShmBuffer::new(&self.heap, length_bytes)
    }

    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        require_source(self, source)?;
        self.engine.waiter.check_job()?;
        self.engine.progress(false);
        let found = self.engine.endpoint.borrow().inbox.peek(source, tag);
        self.looked(found.is_some());
        Ok(found)
    }

    #[inline]
    fn blocked_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        require_rank(self, destination)?;
        if self.try_send(destination, tag, message) {
            return Ok(());
        }
        self.scope(|s| s.unblocked_send(destination, tag, message)?.wait())
    }

    #[inline]
    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        require_source(self, source)?;
        if let Source::Rank(from) = source {
            match self.try_recv(from, tag, buffer) {
                Arrival::Whole(status) => return Ok(status),
                Arrival::Begun(id) => return self.finish_begun(id, source, tag, buffer),
                Arrival::Other | Arrival::Nothing => (),
            }
        }
        self.scope(|s| Ok(s.unblocked_recv(source, tag, buffer)?.wait()?.0))
    }

    /// Short messages are sent first and received then, since a send takes in messages while it
    /// waits. Long ones find their receive, and are copied straight into its buffer; and so does a
    /// rank's message to itself, which nobody else could take in.
    #[inline]
    fn blocked_exchange(
        &self,
        destination: Rank,
        message: &[u8],
        source: Source,
        buffer: &mut [u8],
        tag: Tag,
    ) -> Result<Status> {
        require_rank(self, destination)?;
        require_source(self, source)?;
        if destination != self.rank && message.len() <= RUN_BYTES {
            self.blocked_send(destination, tag, message)?;
            return self.blocked_recv(source, tag, buffer);
        }
        self.scope(|s| {
            let receive = s.unblocked_recv(source, tag, buffer)?;
            s.unblocked_send(destination, tag, message)?.wait()?;
            Ok(receive.wait()?.0)
        })
    }

    #[inline]
    fn barrier(&self) -> Result<()> {
        self.collectives.barrier(&self.engine)
    }

    #[inline]
    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        require_rank(self, root)?;
        self.collectives.broadcast(root, message, &self.engine)
    }

    #[inline]
    fn global_sum(&self, value: f64) -> Result<f64> {
        self.collectives.sum(value, &self.engine)
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.collectives.sum_vector(values, &self.engine)
    }

    fn annotate(&self, activity: &str, expected_ns: u64) {
        self.engine.waiter.expect(Duration::from_nanos(expected_ns));
        self.segment.control(self.rank).activity.set(activity);
    }
}
