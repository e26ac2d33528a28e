//! A rank's view of the simulated machine.

mod request;
mod window;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use comet_core::collective::{self, NoCall};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::file::NoFile;
use comet_core::local::LocalBuffer;
use comet_core::topology::Topology;
use comet_core::transport::{
    ClockInfo, Group, Lease, NoPrepared, Outgoing, Place, Promises, Rank, RawTransport, SendMode,
    Source, Status, Tag, Transport, Work, require_destination, require_source,
};
use comet_core::window::Memory;

use crate::JobFailure;
use crate::clock;
use crate::engine::{
    Asked, Block, Engine, Poll, ReceiveId, Received, SendId, SplitName, Truncation,
};
use crate::fiber::Suspender;
use crate::machine::Node;
use crate::stuck;

pub use request::{SimRecv, SimSend};
pub use window::SimWindow;

/// One rank of a simulated job, or of a part of it; made by [`run`](crate::run).
pub struct Sim {
    engine: Rc<RefCell<Engine>>,
    topology: Rc<Topology>,
    rank: Rank,
    group: Group,
    /// Number of splits of this group so far.
    n_splits: Cell<u32>,
    /// Number of windows made so far.
    n_windows: Cell<u32>,
    suspender: Suspender,
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").field("rank", &self.rank).finish_non_exhaustive()
    }
}

impl Sim {
    pub(crate) fn new(
        engine: Rc<RefCell<Engine>>,
        topology: Rc<Topology>,
        rank: Rank,
        suspender: Suspender,
    ) -> Self {
        let group = Group::whole(rank, topology.n_ranks());
        let (n_splits, n_windows) = (Cell::new(0), Cell::new(0));
        Self { engine, topology, rank, group, n_splits, n_windows, suspender }
    }

    /// This rank's view once more, for a window.
    fn again(&self) -> Self {
        Self {
            engine: Rc::clone(&self.engine),
            topology: Rc::clone(&self.topology),
            rank: self.rank,
            group: self.group.clone(),
            n_splits: self.n_splits.clone(),
            n_windows: self.n_windows.clone(),
            suspender: self.suspender.clone(),
        }
    }

    /// The job ends because of this rank: `how` it ended, and `why`.
    pub(crate) fn end_job(&self, code: &'static str, how: &str, why: &str) {
        let mut engine = self.engine.borrow_mut();
        let message = stuck::ended(&engine, self.rank, how, why);
        engine.fail(JobFailure::of_rank(self.rank, code, message));
    }

    /// Notes where in the kernel this rank is; inside a collective that is where it was called.
    fn note_site(&self, site: &'static Location<'static>) {
        self.engine.borrow_mut().ranks[self.rank].note_site(site);
    }

    fn wait(&self, block: Block) -> Result<()> {
        self.require_job()?;
        let here = 0u8;
        let mut engine = self.engine.borrow_mut();
        engine.ranks[self.rank].stack_end = (&raw const here).addr();
        engine.ranks[self.rank].block = Some(block);
        drop(engine);
        self.suspender.suspend();
        self.require_job()
    }

    /// Refuses to go on after the job has failed.
    fn require_job(&self) -> Result<()> {
        if self.engine.borrow_mut().is_over_for(self.rank) {
            Err(self.job_failed())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn job_failed(&self) -> TransportError {
        if self.engine.borrow().ranks[self.rank].is_dead {
            self.stand_still();
        }
        TransportError::new(TransportErrorKind::PeerFailed, "the job has failed").on_rank(self.rank)
    }

    fn stand_still(&self) -> ! {
        loop {
            self.suspender.suspend();
        }
    }

    /// Waits until no other rank can do anything earlier.
    fn await_turn(&self) -> Result<()> {
        if self.engine.borrow_mut().takes_turn(self.rank) {
            return Ok(());
        }
        self.wait(Block::Turn)
    }

    /// Sends, from a call at `site`.
    #[inline]
    fn start(
        &self,
        site: &'static Location<'static>,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<Option<SendId>> {
        self.start_in(site, SendMode::Standard, destination, tag, message)
    }

    /// Sends in `mode`, from a call at `site`.
    #[inline]
    fn start_in(
        &self,
        site: &'static Location<'static>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<Option<SendId>> {
        require_destination(self, destination, tag)?;
        if mode == SendMode::Ready {
            self.require_receive(site, destination, tag)?;
        }
        let mut engine = self.engine.borrow_mut();
        if engine.is_over_for(self.rank) {
            drop(engine);
            return Err(self.job_failed());
        }
        engine.ranks[self.rank].note_site(site);
        let (destination, tag) = (self.group.global(destination), self.group.tag(tag));
        Ok(engine.send(self.rank, destination, tag, (mode, message)))
    }

    /// Refuses a ready send to which no receive is posted at this time. For that all ranks must have come to
    /// it.
    fn require_receive(
        &self,
        site: &'static Location<'static>,
        destination: Rank,
        tag: Tag,
    ) -> Result<()> {
        self.note_site(site);
        self.require_job()?;
        self.await_turn()?;
        let (to, label) = (self.group.global(destination), self.group.tag(tag));
        if self.engine.borrow().has_receive(self.rank, to, label) {
            return Ok(());
        }
        let text = "a ready send found no posted receive (post it before, or send in another mode)";
        let error = TransportError::new(TransportErrorKind::InvalidArgument, text);
        Err(self.group.located(error.with_peer(Source::Rank(destination), tag)))
    }

    #[inline]
    fn post(&self, source: Source, tag: Tag, capacity_bytes: usize) -> Result<ReceiveId> {
        require_source(self, source, tag)?;
        self.require_job()?;
        let (source, tag) = (self.group.source(source), self.group.tag(tag));
        if self.engine.borrow().depends_on_others(self.rank, source, tag) {
            self.await_turn()?;
        }
        Ok(self.engine.borrow_mut().post(self.rank, source, tag, capacity_bytes))
    }

    #[inline]
    fn finish(&self, send: Option<SendId>) -> Result<()> {
        let Some(id) = send else { return Ok(()) };
        if self.engine.borrow().sends[id as usize].done_ps.is_none() {
            self.wait(Block::Send(id))?;
        }
        self.engine.borrow_mut().finish_send(id);
        Ok(())
    }

    #[inline]
    fn take(&self, id: ReceiveId, source: Source, place: &mut Place<'_>) -> Result<Status> {
        self.require_job()?;
        if self.engine.borrow().arrival_ps(id).is_none() {
            self.wait(Block::Receive(id))?;
        }
        let received = self.engine.borrow_mut().finish_receive(id);
        self.deliver(&received, source, place)
    }

    /// Posts a receive and waits for it, from a call at `site`.
    #[inline]
    fn receive(
        &self,
        site: &'static Location<'static>,
        source: Source,
        tag: Tag,
        buffer: &mut [u8],
    ) -> Result<Status> {
        require_source(self, source, tag)?;
        let (from, label) = (self.group.source(source), self.group.tag(tag));
        let mut engine = self.engine.borrow_mut();
        engine.ranks[self.rank].note_site(site);
        if !engine.is_over_for(self.rank)
            && !engine.depends_on_others(self.rank, from, label)
            && let Some(received) = engine.receive_at_once(self.rank, from, label)
        {
            drop(engine);
            return self.deliver(&received, source, &mut Place::Own(buffer));
        }
        drop(engine);
        let id = self.post(source, tag, buffer.len())?;
        self.take(id, source, &mut Place::Own(buffer))
    }

    /// Copies the message that a receive from `source` has found to `place`.
    #[inline]
    fn deliver(
        &self,
        received: &Received,
        source: Source,
        place: &mut Place<'_>,
    ) -> Result<Status> {
        let (length_bytes, capacity_bytes) = (received.body.len(), place.length_bytes());
        place.put(&received.body);
        let status = self.group.status(source, received.status);
        if length_bytes <= capacity_bytes {
            return Ok(status);
        }
        self.note_truncation(received.status, capacity_bytes);
        let Status { source, tag, .. } = status;
        let error = TransportError::truncated(source, tag, length_bytes, capacity_bytes);
        Err(self.group.located(error))
    }

    /// Keeps what reports tell of a message that did not fit.
    #[cold]
    fn note_truncation(&self, status: Status, capacity_bytes: usize) {
        let state = &mut self.engine.borrow_mut().ranks[self.rank];
        let (at_ps, site) = (state.clock_ps, state.site);
        let truncation = Truncation { status, capacity_bytes, at_ps, site };
        state.truncation = Some(Box::new(truncation));
    }

    /// Has this rank busy with what an unblocked call takes beyond a blocked one.
    fn pay(&self, extra_ps: impl FnOnce(&Node) -> u64) {
        let mut engine = self.engine.borrow_mut();
        let busy_ps = extra_ps(&engine.machine.node);
        engine.spend(self.rank, busy_ps);
    }

    /// True if this rank may poll now: polls take time and a turn. False in a failed job.
    fn poll(&self, poll: Poll) -> bool {
        let mut engine = self.engine.borrow_mut();
        let poll_ps = engine.machine.node.poll_ps.max(1);
        engine.spend(self.rank, poll_ps);
        if engine.polls_in_vain(self.rank, poll) {
            let message = stuck::livelock(&engine, self.rank);
            engine.fail(JobFailure::of_rank(self.rank, "livelock", message));
        }
        drop(engine);
        self.require_job().is_ok() && self.await_turn().is_ok()
    }

    /// Runs a collective, which is known by name to reports.
    fn collectively<R>(
        &self,
        name: &'static str,
        site: &'static Location<'static>,
        act: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.note_site(site);
        let is_outermost = self.engine.borrow_mut().ranks[self.rank].enter(name);
        let result = act();
        if is_outermost {
            self.engine.borrow_mut().ranks[self.rank].is_in_collective = false;
        }
        result
    }
}

impl RawTransport for Sim {
    type SendOp<'env> = SimSend;
    type RecvOp<'env> = SimRecv<'env>;
    type OwnCall<'env> = NoCall;
    type PreparedOp = NoPrepared;
    type Window = SimWindow;
    type File = NoFile;
    type Construction = comet_core::layout::PieceSearch;

    fn start_send_in(
        &self,
        _lease: Lease<Self>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<SimSend> {
        self.pay(|node| node.isend_ps);
        Ok(SimSend { send: self.start_in(Location::caller(), mode, destination, tag, message)? })
    }

    fn start_send_from(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<SimSend> {
        self.start_send(lease, destination, tag, &message.to_vec())
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
        place: Place<'env>,
    ) -> Result<SimRecv<'env>> {
        self.note_site(Location::caller());
        self.pay(|node| node.irecv_ps);
        Ok(SimRecv { id: self.post(source, tag, place.length_bytes())?, source, place })
    }

    fn make_window(
        &self,
        _lease: Lease<Self>,
        part_bytes: usize,
        origin_bytes: usize,
        _: Memory,
    ) -> Result<SimWindow> {
        SimWindow::new(self, part_bytes, origin_bytes)
    }

    fn fail_job(&self, reason: &str) -> ! {
        self.end_job("rank_gave_up", "gave up", reason);
        self.stand_still();
    }
}

impl Transport for Sim {
    type Buffer = LocalBuffer;

    /// Without messages, but for those of a barrier.
    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>> {
        let number = self.n_splits.replace(self.n_splits.get() + 1);
        let name = SplitName { serial: self.group.serial(), first: self.group.global(0), number };
        let taken = self.group.taken();
        let asked = Asked { colour, key, order: self.group.rank(), rank: self.rank, taken };
        self.engine.borrow_mut().splits.ask(name, asked);
        self.barrier()?;
        let (free, members) =
            self.engine.borrow_mut().splits.part(name, colour, self.group.n_ranks());
        let free = free.ok_or_else(|| self.group.no_context())?;
        let Some(members) = members else { return Ok(None) };
        let rank = members.iter().position(|member| *member == self.rank).unwrap_or(0);
        let group = self.group.part(rank, members, free);
        let topology = Rc::new(group.topology(&self.topology));
        let (n_splits, n_windows) = (Cell::new(0), Cell::new(0));
        Ok(Some(Self { topology, group, n_splits, n_windows, ..self.again() }))
    }

    fn now_ns(&self) -> u64 {
        let mut engine = self.engine.borrow_mut();
        let clock = engine.machine.clock;
        let t_ps = engine.ranks[self.rank].clock_ps + clock.call_cost_ps;
        engine.ranks[self.rank].clock_ps = t_ps;
        clock::reading_ns(&clock, engine.machine.noise.seed, self.rank, t_ps)
    }

    fn clock(&self) -> ClockInfo {
        let clock = self.engine.borrow().machine.clock;
        let is_global = clock.offset_spread_ps == 0 && clock.drift_ppm == 0.0;
        ClockInfo {
            name: "virtual",
            is_global,
            domain: if is_global { 0 } else { self.rank as u64 },
            is_virtual: true,
            step_ns: Some(clock.resolution_ps / 1000),
        }
    }

    /// Goes on to the first look at the clock that shows `due_ns` or more. A look may take no time,
    /// so that looking alone would go on for ever.
    fn wait_until_ns(&self, due_ns: u64) {
        let mut engine = self.engine.borrow_mut();
        let (clock, seed) = (engine.machine.clock, engine.machine.noise.seed);
        let now_ps = engine.ranks[self.rank].clock_ps;
        if let Some(look_ps) = clock::look_ps(&clock, seed, self.rank, now_ps, due_ns) {
            engine.compute_until(self.rank, now_ps, look_ps);
            return;
        }
        drop(engine);
        self.fail_job(&format!("it waits until its clock shows {due_ns} ns, which it never does"));
    }

    fn promises(&self) -> Promises {
        let buffers_sends = self.engine.borrow().machine.buffers_sends();
        let (survives_truncation, has_windows, has_files) = (true, true, false);
        Promises { buffers_sends, survives_truncation, has_windows, has_files }
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<LocalBuffer> {
        LocalBuffer::new(length_bytes).ok_or_else(|| {
            let text = format!("there is no memory for a buffer of {length_bytes} bytes");
            TransportError::new(TransportErrorKind::OutOfResources, text).on_rank(self.rank)
        })
    }

    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        self.note_site(Location::caller());
        require_source(self, source, tag)?;
        let (wanted, label) = (self.group.source(source), self.group.tag(tag));
        if !self.poll(Poll::Probe(wanted, label)) {
            return Err(self.job_failed());
        }
        let mut engine = self.engine.borrow_mut();
        let Some((from, id)) = engine.earliest(self.rank, wanted, label) else { return Ok(None) };
        engine.note_found(self.rank);
        let message = engine.message(id);
        let (tag, length_bytes) = (message.way.tag, message.body.len());
        let found = Status { source: from, tag, length_bytes };
        Ok(Some(self.group.status(source, found)))
    }

    fn blocked_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        let send = self.start(Location::caller(), destination, tag, message)?;
        self.finish(send)
    }

    fn blocked_send_in(
        &self,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<()> {
        let send = self.start_in(Location::caller(), mode, destination, tag, message)?;
        self.finish(send)
    }

    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        self.receive(Location::caller(), source, tag, buffer)
    }

    fn blocked_exchange(
        &self,
        destination: Rank,
        message: &[u8],
        source: Source,
        buffer: &mut [u8],
        tag: Tag,
    ) -> Result<Status> {
        let site = Location::caller();
        // Before anything is sent or posted, which would have to be waited for.
        require_destination(self, destination, tag)?;
        require_source(self, source, tag)?;
        if self.promises().buffers_sends {
            // As in the thesis: both send, then both receive.
            let send = self.start(site, destination, tag, message)?;
            self.finish(send)?;
            return self.receive(site, source, tag, buffer);
        }
        self.note_site(site);
        let id = self.post(source, tag, buffer.len())?;
        let send = self.start(site, destination, tag, message)?;
        self.finish(send)?;
        self.take(id, source, &mut Place::Own(buffer))
    }

    fn barrier(&self) -> Result<()> {
        self.collectively("barrier", Location::caller(), || {
            if self.n_ranks().is_power_of_two() {
                collective::pairwise_barrier(self)
            } else {
                collective::barrier(self)
            }
        })
    }

    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        self.collectively("broadcast", Location::caller(), || {
            collective::broadcast(self, root, message)
        })
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.collectively("global sum", Location::caller(), || {
            collective::global_sum_vector(self, values)
        })
    }

    fn compute(&self, work: Work, body: impl FnOnce()) {
        let mut engine = self.engine.borrow_mut();
        let work_ps = engine.machine.node.work_ps(work);
        engine.compute(self.rank, work_ps);
        drop(engine);
        body();
    }

    fn annotate(&self, activity: &str, _expected_ns: u64) {
        self.engine.borrow_mut().annotate(self.rank, activity);
    }
}
