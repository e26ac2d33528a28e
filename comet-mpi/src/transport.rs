//! The transport of one rank: each call is one call of MPI.

mod collective;
mod construction;
mod file;
mod graph;
mod groups;
mod lane;
mod modes;
mod prepared;
mod probe;
mod request;
mod window;

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use comet_core::collective::{Collective, Element, Neighbours, Reducer, require_operands};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::file::Plan;
use comet_core::job::JobFailure;
use comet_core::layout::Blocks;
use comet_core::placement::line_time_ns;
use comet_core::topology::Topology;
use comet_core::transport::{
    ClockInfo, Group, Lane, Lease, Outgoing, Place, Promises, Rank, RawTransport, SendMode, Source,
    Status, Tag, Transport, Usage, require_destination, require_rank, require_source,
};
use comet_core::waiting::Waiting;
use comet_core::window::Memory;
use nix::sys::resource::{UsageWho, getrusage};

use self::graph::Graph;
use crate::clock::{self, CLOCK};
use crate::guard::OnFailure;
use crate::job::Job;
use crate::line::Pair;
use crate::native::{
    self, Comm, Failure, LINE_BYTES, Library, MpiBuffer, MpiCall, MpiFile, MpiPrepared, MpiRecv,
    MpiSend, MpiWindow, Set,
};
use crate::vitals::{Phase, Vitals};

pub use construction::MpiConstruction;

/// Waits may last this many times as long as what is expected, beyond the watchdog's time.
const ALLOWANCE: u64 = 4;

/// Longest pause of a rank that rests.
const NAP: Duration = Duration::from_millis(1);

/// One rank of the MPI transport, or of a part of it; made by [`Job::run`].
pub struct Mpi {
    comm: Rc<Comm>,
    library: Arc<Library>,
    group: Group,
    topology: Rc<Topology>,
    is_one_node: bool,
    n_ranks_of_job: usize,
    clock_domain: u64,
    startup_ns: Option<[u64; 2]>,
    vitals: &'static Vitals,
    /// Notes of the lanes of this rank; none in a lane.
    of_lanes: &'static [Vitals],
    /// Communicators of the lanes made so far.
    lanes: RefCell<Vec<Comm>>,
    /// The place of this transport among the lanes of its rank.
    lane: Option<Lane>,
    on_failure: OnFailure,
    /// The lines of ranks 0 and 1 of the whole job, where these two can share some.
    lines: Option<Pair>,
    /// The arrays of calls that wait for sets of operations; none while a call uses them. They are moved
    /// as one word: what is loaded as more waits for all stores before it, those to another core too.
    set: Cell<Option<Box<Set>>>,
    /// The neighbours in the graph of the communicator, if it has one.
    neighbours: Option<Arc<Neighbours>>,
    /// The last communicator with neighbours that was made of this one.
    graph: RefCell<Option<Graph>>,
    /// Communicators that keep windows apart from those of other parts, `None` where no window can be made; empty
    /// until that is known.
    windows: OnceCell<Option<Vec<Comm>>>,
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, n_ranks) = (self.group.rank(), self.group.n_ranks());
        f.debug_struct("Mpi").field("rank", &rank).field("n_ranks", &n_ranks).finish()
    }
}

impl Mpi {
    pub(crate) fn new(job: &Job, topology: Topology) -> Self {
        Self {
            comm: Rc::clone(job.comm()),
            library: Arc::clone(job.library()),
            group: Group::whole(job.rank(), job.n_ranks()),
            topology: Rc::new(topology),
            is_one_node: job.is_one_node(),
            n_ranks_of_job: job.n_ranks(),
            clock_domain: clock::domain(CLOCK, job.rank()),
            startup_ns: job.startup_ns(),
            vitals: job.vitals(),
            of_lanes: job.lanes(),
            lanes: RefCell::default(),
            lane: None,
            on_failure: job.on_failure(),
            lines: None,
            set: Cell::default(),
            neighbours: None,
            graph: RefCell::default(),
            windows: OnceCell::new(),
        }
    }

    /// Makes collectives of more than `max_count` elements as if an `int` held no more, here and in what
    /// is made of this transport from now on: for tests of calls with long counts.
    #[doc(hidden)]
    pub fn limit_counts(&self, max_count: usize) {
        self.comm.limit_counts(max_count);
    }

    /// Shares lines between ranks 0 and 1, if all ranks are on one machine; all of them call it.
    pub(crate) fn share_lines(&mut self) -> Result<()> {
        if self.is_one_node && self.n_ranks() > 1 {
            self.lines = self.call_of_all(Source::Any, |comm| Pair::share(comm, self.rank()))?;
        }
        Ok(())
    }

    /// The largest code of all ranks, or this rank's own if the others cannot be reached.
    pub(crate) fn largest(&self, code: u8) -> u8 {
        let all = self.call_of_all(Source::Any, |comm| comm.largest(code.into()));
        all.ok().and_then(|largest| u8::try_from(largest).ok()).unwrap_or(code)
    }

    /// Makes `call`, with a note for the guard. Mode and peer of a send are constants of its caller.
    #[inline(always)]
    fn waiting<R>(&self, waiting: Waiting, call: impl FnOnce() -> R) -> R {
        self.waiting_for(Waiting::pack(Some(waiting)), call)
    }

    /// The same for what is packed already.
    #[inline(always)]
    fn waiting_for<R>(&self, waiting: [u64; 2], call: impl FnOnce() -> R) -> R {
        self.vitals.enter_packed(waiting);
        let result = call();
        self.vitals.leave();
        result
    }

    #[cold]
    fn error(&self, failure: Failure) -> TransportError {
        failed(&self.group, failure)
    }
}

/// Error of a rank of `group` whose call has failed.
#[cold]
pub(crate) fn failed(group: &Group, failure: Failure) -> TransportError {
    let text = format!("{} failed: {}", failure.call, failure.text());
    group.located(TransportError::new(TransportErrorKind::Backend, text))
}

impl RawTransport for Mpi {
    type SendOp<'env> = MpiSend<'env>;
    type RecvOp<'env> = MpiRecv<'env>;
    type OwnCall<'env> = MpiCall<'env>;
    type PreparedOp = MpiPrepared;
    type Window = MpiWindow;
    type File = MpiFile;
    type Construction = MpiConstruction;

    #[inline(always)]
    fn start_send<'env>(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: &'env [u8],
    ) -> Result<MpiSend<'env>> {
        require_destination(self, destination, tag)?;
        let waiting = Waiting::Send(self.group.global(destination), tag, message.len());
        let (mode, to) = (SendMode::Standard, (destination, tag));
        let send = MpiSend::start_in(lease, &self.comm, mode, message, to, waiting);
        send.map_err(|failure| self.error(failure))
    }

    #[inline(always)]
    fn start_send_in<'env>(
        &self,
        lease: Lease<Self>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &'env [u8],
    ) -> Result<MpiSend<'env>> {
        self.started_in(lease, mode, (destination, tag), message)
    }

    fn start_send_from<'env>(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: Outgoing<'env>,
    ) -> Result<MpiSend<'env>> {
        require_destination(self, destination, tag)?;
        let waiting = Waiting::Send(self.group.global(destination), tag, message.length_bytes());
        let send = MpiSend::start_from(lease, &self.comm, message, (destination, tag), waiting);
        send.map_err(|failure| self.error(failure))
    }

    #[inline]
    fn group(&self) -> &Group {
        &self.group
    }

    #[inline]
    fn start_own<'env>(
        &self,
        lease: Lease<Self>,
        call: &'env Collective,
        input: &'env [u8],
        output: &'env mut [u8],
    ) -> Result<MpiCall<'env>> {
        self.started(lease, call, (input, output))
    }

    fn prepare_own(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<Option<MpiPrepared>> {
        self.prepared_call(call, (input, output))
    }

    fn prepare_sends(
        &self,
        destination: Rank,
        tag: Tag,
        message: &[u8],
        n: usize,
    ) -> Result<Option<MpiPrepared>> {
        self.prepared_sends((destination, tag), message, n).map(Some)
    }

    fn prepare_recvs(
        &self,
        source: Source,
        tag: Tag,
        buffer: &mut [u8],
        n: usize,
    ) -> Result<Option<MpiPrepared>> {
        self.prepared_recvs((source, tag), buffer, n).map(Some)
    }

    fn prepare_partitioned_send(
        &self,
        destination: Rank,
        tag: Tag,
        message: &[u8],
        n_parts: usize,
    ) -> Result<Option<MpiPrepared>> {
        self.prepared_parts_to((destination, tag), message, n_parts).map(Some)
    }

    fn prepare_partitioned_recv(
        &self,
        source: Rank,
        tag: Tag,
        buffer: &mut [u8],
        n_parts: usize,
    ) -> Result<Option<MpiPrepared>> {
        self.prepared_parts_from((source, tag), buffer, n_parts).map(Some)
    }

    #[inline(always)]
    fn start_recv<'env>(
        &self,
        lease: Lease<Self>,
        source: Source,
        tag: Tag,
        place: Place<'env>,
    ) -> Result<MpiRecv<'env>> {
        require_source(self, source, tag)?;
        let waiting = Waiting::Recv(self.group.source(source), tag, place.length_bytes());
        let recv = MpiRecv::start(lease, &self.comm, place, (source, tag), waiting);
        recv.map_err(|failure| self.error(failure))
    }

    fn make_window(
        &self,
        lease: Lease<Self>,
        part_bytes: usize,
        origin_bytes: usize,
        memory: Memory,
    ) -> Result<MpiWindow> {
        self.closed_window(lease, [part_bytes, origin_bytes], memory)
    }

    fn make_file(
        &self,
        lease: Lease<Self>,
        plan: &Plan,
        memory_bytes: usize,
        n_in_flight: usize,
    ) -> Result<MpiFile> {
        self.closed_file(lease, plan, memory_bytes, n_in_flight)
    }

    #[inline]
    fn wait_for_both<'r, 's>(
        &self,
        receives: &mut [Option<MpiRecv<'r>>],
        sends: &mut [Option<MpiSend<'s>>],
        received: impl FnMut(usize, Result<(Status, &'r mut [u8])>),
        sent: impl FnMut(usize, Result<()>),
    ) {
        request::wait_for_both(self, receives, sends, received, sent);
    }

    fn fail_job(&self, reason: &str) -> ! {
        let (rank, name) = (self.global_rank(self.rank()), self.vitals.name());
        let during = self.vitals.during();
        let message = format!("{name} gave up{during}: {reason}");
        let failure = JobFailure::of_rank(rank, "rank_gave_up", message);
        self.vitals.begin(Phase::GivingUp);
        // The first thread of the rank ends it; the guard does if that lasts.
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        // Relaxed: nothing follows from it but the wait.
        while IS_OVER.swap(true, Ordering::Relaxed) {
            thread::sleep(NAP);
        }
        native::abort((self.on_failure)(&failure, self.vitals.results().as_deref()))
    }
}

impl Transport for Mpi {
    type Buffer = MpiBuffer;

    #[inline]
    fn asked_rank(&self) -> Result<Rank> {
        self.comm.rank().map_err(|failure| self.error(failure))
    }

    #[inline]
    fn asked_n_ranks(&self) -> Result<usize> {
        self.comm.n_ranks().map_err(|failure| self.error(failure))
    }

    /// `MPI_Comm_split`, after the ranks have told each other which of them take part where.
    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>> {
        let group = self.group.split(self, colour, key)?;
        let topology = |group: &Group| Rc::new(group.topology(&self.topology));
        self.split_into(group.map(|group| (group.clone(), topology(&group))))
    }

    /// `MPI_Comm_split` alone.
    fn split_again(&self, _: Option<u32>, _: u64, part: Option<&Self>) -> Result<Option<Self>> {
        self.split_into(part.map(Self::ranks))
    }

    /// `MPI_Comm_dup`.
    fn duplicate(&self) -> Result<Self> {
        self.of_same_ranks(Comm::again)
    }

    /// `MPI_Dist_graph_create_adjacent`, unless the last graph was the same on all ranks.
    fn with_neighbours(&self, neighbours: &Arc<Neighbours>) -> Result<Option<Self>> {
        self.with_graph(neighbours).map(Some)
    }

    /// `MPI_Comm_dup`, and the datatype in all that follows.
    fn with_datatype(&self, datatype: Element) -> Result<Option<Self>> {
        self.of_same_ranks(|comm| comm.with_datatype(datatype)).map(Some)
    }

    /// The constructors of the datatypes, `MPI_Type_commit`, and `MPI_Comm_dup`.
    fn with_layout(&self, blocks: &Blocks) -> Result<Self> {
        self.of_same_ranks(|comm| comm.with_layout(blocks))
    }

    fn pack(&self, message: &[u8], packed: &mut [u8]) -> Result<()> {
        self.comm.pack(message, packed).map_err(|failure| self.error(failure))
    }

    fn unpack(&self, packed: &[u8], place: &mut [u8]) -> Result<()> {
        self.comm.unpack(packed, place).map_err(|failure| self.error(failure))
    }

    /// `MPI_Comm_dup` for each lane, at `MPI_THREAD_MULTIPLE`.
    fn on_lanes<R: Send>(&self, n: usize, body: impl Fn(&Self) -> R + Sync) -> Result<Vec<R>> {
        self.in_threads(n, body)
    }

    #[inline]
    fn lane(&self) -> Option<&Lane> {
        self.lane.as_ref()
    }

    fn graph_time_ns(&self) -> Option<f64> {
        self.graph.borrow().as_ref().map(|graph| graph.time_ns)
    }

    fn startup_ns(&self) -> Option<[u64; 2]> {
        self.startup_ns
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
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

    fn clock(&self) -> ClockInfo {
        let (is_global, domain) = (self.is_one_node, self.clock_domain);
        ClockInfo { is_global, domain, ..ClockInfo::of_machine(CLOCK) }
    }

    fn promises(&self) -> Promises {
        Promises {
            buffers_sends: false,
            survives_truncation: false,
            has_windows: self.has_windows(),
            has_files: true,
        }
    }

    /// The time of a line, if all ranks run on one machine, and ranks 0 and 1 have a core each.
    fn line_time_ns(&self) -> Result<Option<f64>> {
        let Some(pair) = self.lines else { return Ok(None) };
        let peer = Source::Rank(pair.peer());
        // What this rank has sent to others may need its calls to arrive.
        let pause = || {
            let found = self.comm.probe(peer, Tag::new(0));
            thread::yield_now();
            found.map(drop).map_err(|failure| self.error(failure))
        };
        let time_ns = || line_time_ns(self.rank(), &pair.lines(pause), || self.now_ns());
        self.waiting(Waiting::Collective(peer), time_ns).map(Some)
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<MpiBuffer> {
        self.memory(length_bytes, LINE_BYTES)
    }

    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        require_source(self, source, tag)?;
        self.comm.probe(source, tag).map_err(|failure| self.error(failure))
    }

    #[inline]
    fn probe_until(&self, source: Source, tag: Tag) -> Result<Status> {
        self.probed_until(source, tag)
    }

    fn rest_until(&self, source: Source, tag: Tag) -> Result<()> {
        self.rested_until(source, tag)
    }

    #[inline]
    fn blocked_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        self.sent_in(SendMode::Standard, (destination, tag), message)
    }

    #[inline]
    fn blocked_send_in(
        &self,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<()> {
        self.sent_in(mode, (destination, tag), message)
    }

    /// One memory for all communicators of this process, as MPI has it.
    fn attach_buffer(&self, n_messages: usize, length_bytes: usize) -> Result<()> {
        self.attach(n_messages, length_bytes)
    }

    fn detach_buffer(&self) -> Result<()> {
        self.detach()
    }

    #[inline]
    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        require_source(self, source, tag)?;
        self.receiving(source, tag, buffer.len(), || self.comm.recv(buffer, source, tag))
    }

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
        self.receiving(source, tag, buffer.len(), || {
            self.comm.exchange((message, destination), (buffer, source), tag)
        })
    }

    /// None: the library has room of its own.
    fn room_in_place(&self, _: usize) -> Result<MpiBuffer> {
        self.message_buffer(0)
    }

    /// `MPI_Sendrecv_replace`.
    #[inline]
    fn blocked_exchange_in_place(
        &self,
        destination: Rank,
        source: Source,
        tag: Tag,
        message: &mut [u8],
        _: &mut [u8],
    ) -> Result<Status> {
        require_destination(self, destination, tag)?;
        require_source(self, source, tag)?;
        self.receiving(source, tag, message.len(), || {
            self.comm.exchange_in_place(message, (destination, source), tag)
        })
    }

    #[inline]
    fn barrier(&self) -> Result<()> {
        self.call_of_all(Source::Any, Comm::barrier)
    }

    #[inline]
    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        require_rank(self, root)?;
        self.call_of_all(Source::Any, |comm| comm.broadcast(message, root, self.rank() == root))
    }

    #[inline]
    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.call_of_all(Source::Any, |comm| comm.sum(values))
    }

    fn has_own(&self, _call: &Collective) -> bool {
        true
    }

    /// All but those among neighbours.
    fn starts_own(&self, call: &Collective) -> bool {
        !call.kind().is_among_neighbours()
    }

    #[inline]
    fn collective(&self, call: &Collective, input: &[u8], output: &mut [u8]) -> Result<()> {
        self.carry_out(call, input, output)
    }

    #[inline]
    fn combine(&self, by: Reducer, other: &[u8], into: &mut [u8]) -> Result<()> {
        require_operands(self, other, into)?;
        Comm::combine(by, other, into).map_err(|failure| self.error(failure))
    }

    fn annotate(&self, activity: &str, expected_ns: u64) {
        self.vitals.annotate(activity, expected_ns.saturating_mul(ALLOWANCE));
    }
}
