//! The transport of one rank: rings for messages, lines for collectives, one clock for all.

mod modes;
mod request;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use comet_core::collective::{self, Collective, Kind, NoCall, Parts};
use comet_core::error::{Result, TransportError};
use comet_core::file::Plan;
use comet_core::topology::Topology;
use comet_core::transport::{
    ClockInfo, Group, Lease, NoPrepared, Outgoing, Place, Promises, Rank, RawTransport, SendMode,
    Source, Status, Tag, Transport, Usage, require_destination, require_rank, require_source,
};
use comet_core::waiting::Waiting;
use comet_core::window::Memory;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

use crate::collective::Collectives;
use crate::engine::{Endpoint, Engine};
use crate::failure::Cause;
use crate::file::ShmFile;
use crate::heap::{Heap, ShmBuffer};
use crate::inbox::{Arrival, RecvId};
use crate::layout::{CELL_BYTES, RUN_BYTES};
use crate::placement;
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;
use crate::wait::{Waiter, end_job};
use crate::window::ShmWindow;

pub use request::{ShmRecv, ShmSend};

/// Fruitless looks (probes, tests) after which a rank lets others run.
const N_LOOKS: u32 = 64;

/// One rank of the shared-memory transport, or of a part of it; made by [`launch`](crate::launch).
pub struct Shm {
    group: Group,
    topology: Topology,
    own: Rc<Own>,
}

/// The state of one rank in the whole job.
struct Own {
    segment: &'static Segment,
    rank: Rank,
    engine: Engine,
    collectives: Collectives,
    heap: Rc<Heap>,
    /// Memory for copies of buffered messages, of which none is in use.
    room: RefCell<Vec<ShmBuffer>>,
    n_fruitless: Cell<u32>,
    /// The clock before the process of the rank was made, and once it was ready; not read in models.
    startup_ns: Cell<Option<[u64; 2]>>,
}

/// `CLOCK_MONOTONIC`, which is one clock for all processes of a machine, in nanoseconds.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec().unsigned_abs() * 1_000_000_000 + now.tv_nsec().unsigned_abs()
}

impl fmt::Debug for Shm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, n_ranks) = (self.group.rank(), self.group.n_ranks());
        f.debug_struct("Shm").field("rank", &rank).field("n_ranks", &n_ranks).finish()
    }
}

impl Shm {
    /// Rank `rank` of `segment`; each rank is made once, in its own process.
    pub(crate) fn new(
        segment: &'static Segment,
        rank: Rank,
        topology: Topology,
        waiter: Waiter,
        remote: RemoteCopy,
    ) -> Self {
        // SAFETY: the segment is never unmapped, heaps are page-aligned, and this rank alone
        // writes its own, but for ranks that it has lent a buffer to for an operation.
        let heap = unsafe { Heap::new(segment.heap(rank), segment.layout().heap_bytes) };
        let own = Own {
            segment,
            rank,
            engine: Engine::new(waiter, Endpoint::new(segment, remote, rank)),
            collectives: Collectives::new(segment, remote, rank),
            heap: Rc::new(heap),
            room: RefCell::default(),
            n_fruitless: Cell::new(0),
            startup_ns: Cell::new(None),
        };
        Self { group: Group::whole(rank, segment.n_ranks()), topology, own: Rc::new(own) }
    }

    /// This rank, ready now, whose process was made at `forked_ns`.
    pub(crate) fn since(self, forked_ns: u64) -> Self {
        self.own.startup_ns.set(Some([forked_ns, now_ns()]));
        self
    }

    /// This rank once more, with the same state.
    fn twin(&self) -> Self {
        let (group, topology) = (self.group.clone(), self.topology.clone());
        Self { group, topology, own: Rc::clone(&self.own) }
    }

    /// Its waiting policy and its messages in flight.
    #[inline]
    pub(crate) fn engine(&self) -> &Engine {
        &self.own.engine
    }

    /// The segment of the job.
    pub(crate) fn segment(&self) -> &'static Segment {
        self.own.segment
    }

    /// Notes whether a look found something; many in a row that did not are a long wait, which
    /// makes room for senders and lets other ranks run.
    pub(crate) fn looked(&self, found: bool) {
        let n_fruitless = if found { 0 } else { self.own.n_fruitless.get() + 1 };
        self.own.n_fruitless.set(n_fruitless % N_LOOKS);
        if !found && self.own.n_fruitless.get() == 0 {
            self.own.engine.progress(true);
            // A refusal would only mean that this rank looks on.
            let _ = nix::sched::sched_yield();
        }
    }

    /// One look at an operation; a failed job ends every operation.
    fn poll(&self, is_done: impl Fn(&mut Endpoint) -> bool) -> bool {
        if self.own.engine.waiter.is_dead() || self.own.engine.waiter.check_job().is_err() {
            return true;
        }
        self.own.engine.progress(false);
        let found = is_done(&mut self.own.engine.endpoint.borrow_mut());
        self.looked(found);
        found
    }

    /// Sends a short message, if nothing is in its way.
    #[inline]
    fn try_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> bool {
        // SAFETY: `message` is borrowed for the whole call.
        unsafe { self.try_send_at(destination, tag, (message.as_ptr(), message.len())) }
    }

    /// Sends a short message of a start and a length, if nothing is in its way.
    ///
    /// # Safety
    /// Nobody writes to the message during the call.
    #[inline]
    unsafe fn try_send_at(&self, destination: Rank, tag: Tag, message: (*const u8, usize)) -> bool {
        let (destination, tag) = (self.group.global(destination), self.group.tag(tag));
        let outbox = &mut self.own.engine.endpoint.borrow_mut().outbox;
        // SAFETY: the caller holds to it.
        let sent = unsafe { outbox.try_send(destination, tag, message.0, message.1) };
        if sent {
            self.own.engine.waiter.wake(destination);
        }
        sent
    }

    /// Starts to send a message of a start and a length.
    ///
    /// # Safety
    /// Nobody writes to the message or frees it until the send is finished, unless the job fails.
    #[inline]
    unsafe fn start_send_at(
        &self,
        destination: Rank,
        tag: Tag,
        message: (*const u8, usize),
    ) -> Result<ShmSend> {
        require_destination(self, destination, tag)?;
        self.own.engine.waiter.check_job()?;
        // SAFETY: the caller holds to it, beyond the call.
        if unsafe { self.try_send_at(destination, tag, message) } {
            return Ok(ShmSend(None));
        }
        let (destination, tag) = (self.group.global(destination), self.group.tag(tag));
        let mut endpoint = self.own.engine.endpoint.borrow_mut();
        // SAFETY: the caller holds to it; after a failure of the job this endpoint does nothing more.
        let id = unsafe { endpoint.outbox.start_send(destination, tag, message.0, message.1) };
        endpoint.wake(&self.own.engine.waiter);
        if endpoint.outbox.send_is_done(id) {
            endpoint.outbox.end_send(id);
            return Ok(ShmSend(None));
        }
        Ok(ShmSend(Some(id)))
    }

    /// Looks for a short message for a while, as long as nothing is in its way.
    #[inline]
    fn try_recv(&self, from: Rank, tag: Tag, buffer: &mut [u8]) -> Arrival {
        let (from, tag) = (self.group.global(from), self.group.tag(tag));
        let patience = self.own.engine.waiter.n_spins();
        let room = (buffer.as_mut_ptr(), buffer.len());
        let mut endpoint = self.own.engine.endpoint.borrow_mut();
        for _ in 0..patience {
            // SAFETY: `buffer` is borrowed for the whole call, and by the caller until a receive
            // that has begun is over.
            let arrival = unsafe { endpoint.inbox.try_recv(from, tag, room, patience) };
            if arrival != Arrival::Nothing {
                endpoint.wake(&self.own.engine.waiter);
                return arrival;
            }
            self.own.engine.waiter.pause();
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
        let op = ShmRecv { id, source, tag, start, capacity_bytes, returned_bytes: 0, borrow };
        self.await_recv(&op)
    }

    fn recv_is_done(&self, id: RecvId) -> bool {
        self.own.engine.endpoint.borrow().inbox.recv_is_done(id)
    }

    /// Waits for a receive to end; says what arrived.
    fn await_recv(&self, op: &ShmRecv<'_>) -> Result<Status> {
        let (id, capacity_bytes) = (op.id, op.capacity_bytes);
        let waiting = || Waiting::Recv(self.group.source(op.source), op.tag, capacity_bytes);
        let waited = if self.own.engine.waiter.is_dead() {
            self.own.engine.waiter.check_job()
        } else {
            self.own.engine.until(waiting, || self.recv_is_done(id))
        };
        let arrived = self.own.engine.endpoint.borrow_mut().inbox.end_recv(id);
        let describe =
            |error: TransportError| self.group.located(error.with_peer(op.source, op.tag));
        waited.map_err(describe)?;
        let status = arrived.expect("a receive that is done has a status");
        let status = self.group.status(op.source, status);
        if status.length_bytes > capacity_bytes {
            let Status { source, tag, length_bytes } = status;
            let error = TransportError::truncated(source, tag, length_bytes, capacity_bytes);
            return Err(self.group.located(error));
        }
        Ok(status)
    }
}

impl RawTransport for Shm {
    type SendOp<'env> = ShmSend;
    type RecvOp<'env> = ShmRecv<'env>;
    type OwnCall<'env> = NoCall;
    type PreparedOp = NoPrepared;
    type Window = ShmWindow;
    type File = ShmFile;
    type Construction = comet_core::layout::PieceSearch;

    fn start_send(
        &self,
        _lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<ShmSend> {
        // SAFETY: by the lease the message stays borrowed until the send is finished, unless the job fails.
        unsafe { self.start_send_at(destination, tag, (message.as_ptr(), message.len())) }
    }

    fn start_send_in(
        &self,
        lease: Lease<Self>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<ShmSend> {
        match mode {
            SendMode::Standard | SendMode::Ready => {
                self.start_send(lease, destination, tag, message)
            }
            // SAFETY: by the lease the message stays borrowed until the send is finished, unless the job fails.
            SendMode::Synchronous => unsafe { self.start_synchronous(destination, tag, message) },
            SendMode::Buffered => self.start_buffered(destination, tag, message),
        }
    }

    fn start_send_from(
        &self,
        _lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<ShmSend> {
        // SAFETY: by the lease the memory stays borrowed until the send is finished, unless the job fails, and
        // the operation that has it writes nothing to the message until then.
        unsafe { self.start_send_at(destination, tag, (message.start(), message.length_bytes())) }
    }

    #[inline]
    fn group(&self) -> &Group {
        &self.group
    }

    fn start_recv<'env>(
        &self,
        _lease: Lease<Self>,
        source: Source,
        tag: Tag,
        mut place: Place<'env>,
    ) -> Result<ShmRecv<'env>> {
        require_source(self, source, tag)?;
        self.own.engine.waiter.check_job()?;
        // What lies in the rings is younger than what is unexpected, and finds this receive when it
        // is pulled: nothing has to be pulled now.
        let (capacity_bytes, returned_bytes) = (place.length_bytes(), place.returned_bytes());
        let start = place.start();
        let (from, label) = (self.group.source(source), self.group.tag(tag));
        let mut endpoint = self.own.engine.endpoint.borrow_mut();
        // SAFETY: by the lease the place stays borrowed until the receive is finished, unless the
        // job fails, after which this endpoint does nothing more.
        let id = unsafe { endpoint.inbox.start_recv(from, label, start, capacity_bytes) };
        endpoint.wake(&self.own.engine.waiter);
        let borrow = std::marker::PhantomData;
        Ok(ShmRecv { id, source, tag, start, capacity_bytes, returned_bytes, borrow })
    }

    /// Memory of every kind is that of the rank's heap.
    fn make_window(
        &self,
        _: Lease<Self>,
        part_bytes: usize,
        origin_bytes: usize,
        _: Memory,
    ) -> Result<ShmWindow> {
        ShmWindow::new(self.twin(), &self.own.heap, part_bytes, origin_bytes)
    }

    fn make_file(
        &self,
        _lease: Lease<Self>,
        plan: &Plan,
        memory_bytes: usize,
        n_in_flight: usize,
    ) -> Result<ShmFile> {
        ShmFile::new(self.twin(), plan, memory_bytes, n_in_flight)
    }

    fn fail_job(&self, reason: &str) -> ! {
        end_job(self.own.segment, self.own.rank, Cause::GaveUp, reason);
        // Without unwinding: no destructor may run on buffers that are still in use.
        std::process::abort()
    }
}

impl Transport for Shm {
    type Buffer = ShmBuffer;

    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>> {
        let part = self.group.split(self, colour, key)?;
        Ok(part.map(|group| {
            let topology = group.topology(&self.topology);
            Self { group, topology, own: Rc::clone(&self.own) }
        }))
    }

    fn startup_ns(&self) -> Option<[u64; 2]> {
        self.own.startup_ns.get()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        now_ns()
    }

    fn usage(&self) -> Option<Usage> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        let major_faults = count(usage.major_page_faults());
        Some(Usage {
            involuntary_switches: count(usage.involuntary_context_switches()),
            page_faults: count(usage.minor_page_faults()) + major_faults,
            major_faults,
        })
    }

    fn promises(&self) -> Promises {
        Promises {
            buffers_sends: true,
            survives_truncation: true,
            has_windows: true,
            has_files: true,
        }
    }

    fn clock(&self) -> ClockInfo {
        ClockInfo::of_machine("CLOCK_MONOTONIC")
    }

    /// Only in the whole job, and where each rank has a core; ranks that take turns on one would time the scheduler.
    fn line_time_ns(&self) -> Result<Option<f64>> {
        let is_pair = self.group.is_whole() && self.n_ranks() > 1 && self.rank() < 2;
        if !is_pair || !self.own.engine.waiter.has_core_each() {
            return Ok(None);
        }
        let now_ns = || self.now_ns();
        placement::line_time_ns(self.own.segment, &self.own.engine, self.own.rank, now_ns).map(Some)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<ShmBuffer> {
        ShmBuffer::new(&self.own.heap, length_bytes)
    }

    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        require_source(self, source, tag)?;
        self.own.engine.waiter.check_job()?;
        self.own.engine.progress(false);
        let (from, label) = (self.group.source(source), self.group.tag(tag));
        let found = self.own.engine.endpoint.borrow().inbox.peek(from, label);
        let found = found.map(|status| self.group.status(source, status));
        self.looked(found.is_some());
        Ok(found)
    }

    #[inline]
    fn probe_until(&self, source: Source, tag: Tag) -> Result<Status> {
        require_source(self, source, tag)?;
        let Self { group, own, .. } = self;
        let (from, label) = (group.source(source), group.tag(tag));
        let arrived = || own.engine.endpoint.borrow().inbox.peek(from, label);
        own.engine.until(|| Waiting::Probe(from, label), || arrived().is_some())?;
        let status = arrived().expect("nothing takes a message between two looks");
        Ok(group.status(source, status))
    }

    #[inline]
    fn blocked_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        require_destination(self, destination, tag)?;
        if self.try_send(destination, tag, message) {
            return Ok(());
        }
        self.scope(|s| s.unblocked_send(destination, tag, message)?.wait())
    }

    #[inline]
    fn blocked_send_in(
        &self,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<()> {
        match mode {
            SendMode::Standard | SendMode::Ready => self.blocked_send(destination, tag, message),
            _ => self.scope(|s| s.unblocked_send_in(mode, destination, tag, message)?.wait()),
        }
    }

    fn attach_buffer(&self, n_messages: usize, length_bytes: usize) -> Result<()> {
        self.make_room(n_messages, length_bytes)
    }

    fn detach_buffer(&self) -> Result<()> {
        self.give_room_back();
        Ok(())
    }

    #[inline]
    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        require_source(self, source, tag)?;
        if let Source::Rank(from) = source {
            match self.try_recv(from, tag, buffer) {
                Arrival::Whole(status) => return Ok(self.group.status(source, status)),
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
        require_destination(self, destination, tag)?;
        require_source(self, source, tag)?;
        if destination != self.rank() && message.len() <= RUN_BYTES {
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
        if !self.group.is_whole() {
            return collective::barrier(self);
        }
        self.own.collectives.meeting.barrier(&self.own.engine)
    }

    #[inline]
    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        require_rank(self, root)?;
        if !self.group.is_whole() {
            return collective::broadcast(self, root, message);
        }
        self.own.collectives.broadcasts.broadcast(root, message, &self.own.engine)
    }

    #[inline]
    fn global_sum(&self, value: f64) -> Result<f64> {
        if !self.group.is_whole() {
            let mut values = [value];
            collective::global_sum_vector(self, &mut values)?;
            return Ok(values[0]);
        }
        self.own.collectives.meeting.sum(value, &self.own.engine)
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        if !self.group.is_whole() {
            return collective::global_sum_vector(self, values);
        }
        let values = bytemuck::cast_slice_mut(values);
        let call = Collective::new(Kind::Allreduce, Parts::Equal(values.len())).in_place();
        self.collective(&call, &[], values)
    }

    fn collective(&self, call: &Collective, input: &[u8], output: &mut [u8]) -> Result<()> {
        // On all ranks alike, whatever the lengths of each.
        if self.group.is_whole() && !call.kind().is_among_neighbours() {
            let at = (self.rank(), self.n_ranks());
            call.admit(at, input, output).map_err(|error| self.group.located(error))?;
            if self.own.collectives.carry_out(call, input, output, &self.own.engine)? {
                return Ok(());
            }
        }
        collective::by_messages(self, call, input, output)
    }

    #[inline]
    fn has_own(&self, call: &Collective) -> bool {
        // What all write to is not read where it lies; and of parts of any lengths no rank knows whether
        // those of all others fit into their cells.
        let is_out_of_reach = call.kind() == Kind::Alltoall
            && call.is_in_place_on(self.rank())
            && !(call.parts().is_equal() && call.parts().total(self.n_ranks()) <= CELL_BYTES);
        self.group.is_whole() && !call.kind().is_among_neighbours() && !is_out_of_reach
    }

    fn annotate(&self, activity: &str, expected_ns: u64) {
        self.own.engine.waiter.expect(Duration::from_nanos(expected_ns));
        self.own.segment.control(self.own.rank).activity.set(activity);
    }
}
