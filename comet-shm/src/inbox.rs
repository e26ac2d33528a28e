//! Messages on their way in: receives that wait for one, and messages that came before theirs.

use std::ptr;

use comet_core::matching::Matcher;
use comet_core::transport::{Rank, Source, Status, Tag};

use crate::layout::{INLINE_BYTES, N_LINES};
use crate::ring::{Body, Consumer, Head, Ticket};
use crate::segment::Segment;
use crate::slab::Slab;

/// Number of a receive in flight.
pub(crate) type RecvId = usize;
/// Number of a send in flight.
/// Most memory for unexpected messages that a rank takes as they come. Beyond it they wait in the
/// ring, and their senders with them, unless this rank finds nothing else to do for a while: then
/// what it waits for may be behind them.
const MAX_UNEXPECTED_BYTES: usize = 1 << 28;
/// What an unexpected message costs beside its data, in bytes.
const UNEXPECTED_BYTES: usize = 128;

/// How many vectors of unexpected messages are kept for the next ones, and up to which length.
const MAX_SPARE: usize = 4;
const MAX_SPARE_BYTES: usize = 16 << 20;
/// A receive that is not over.
struct PendingRecv {
    tag: Tag,
    buffer: *mut u8,
    capacity_bytes: usize,
    /// What arrived, once all of it has.
    arrived: Option<Status>,
}

/// A message that came before its receive.
struct Unexpected {
    length_bytes: usize,
    /// What was pulled out of the ring so far.
    data: Vec<u8>,
    /// Where the data still lies, if it was not pulled.
    heap: Option<(usize, Ticket)>,
}

/// A message that is arriving in pieces.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    length_bytes: usize,
    received_bytes: usize,
    body: Body,
    /// The receive that it is for, or none while it is unexpected.
    recv: Option<RecvId>,
}

/// The incoming side of one pair.
struct Inbound {
    ring: Consumer,
    incoming: Option<Incoming>,
}
/// The receives of one rank.
pub(crate) struct Inbox {
    segment: &'static Segment,
    matcher: Matcher<RecvId, Unexpected>,
    recvs: Slab<PendingRecv>,
    inbound: Vec<Inbound>,
    /// How many unexpected messages still lie in their senders' heaps.
    n_unpulled: usize,
    unexpected_bytes: usize,
    /// Memory of unexpected messages that were taken, for the next ones: two ranks that send to
    /// each other first need it for every message.
    spare: Vec<Vec<u8>>,
    /// Ranks for which something was published since they were last woken.
    pub(crate) wakes: Vec<Rank>,
}

impl Inbox {
    pub(crate) fn new(segment: &'static Segment, rank: Rank) -> Self {
        let inbound =
            |from| Inbound { ring: Consumer::new(segment.pair(from, rank)), incoming: None };
        Self {
            segment,
            matcher: Matcher::default(),
            recvs: Slab::default(),
            inbound: (0..segment.n_ranks()).map(inbound).collect(),
            n_unpulled: 0,
            unexpected_bytes: 0,
            spare: Vec::new(),
            wakes: Vec::new(),
        }
    }

    /// Receives a message that has arrived in one line, if no other receive or message is in its
    /// way.
    ///
    /// # Safety
    /// `capacity_bytes` bytes from `buffer` on can be written.
    #[inline]
    pub(crate) unsafe fn try_recv_line(
        &mut self,
        from: Rank,
        tag: Tag,
        buffer: *mut u8,
        capacity_bytes: usize,
    ) -> Option<Status> {
        let inbound = &mut self.inbound[from];
        if !self.matcher.is_empty() || inbound.incoming.is_some() || !inbound.ring.ready() {
            return None;
        }
        let head = inbound.ring.head();
        let fits = head.length_bytes <= capacity_bytes.min(INLINE_BYTES);
        if head.tag != tag || head.body != Body::Run || !fits {
            return None;
        }
        let data = inbound.ring.head_data(head.length_bytes);
        // SAFETY: the data fits, and comes from the ring, which no buffer overlaps.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), buffer, data.len()) };
        if inbound.ring.consume_line() {
            self.wakes.push(from);
        }
        Some(Status { source: from, tag, length_bytes: head.length_bytes })
    }

    /// Whether something has arrived, from `from` or before, that
    /// [`try_recv_line`](Self::try_recv_line) leaves alone.
    #[inline]
    pub(crate) fn has_arrivals(&self, from: Rank) -> bool {
        !self.matcher.is_empty()
            || self.inbound[from].incoming.is_some()
            || self.inbound[from].ring.ready()
    }

    /// Starts a receive.
    ///
    /// # Safety
    /// `capacity_bytes` bytes from `buffer` on can be written, by nobody else, until
    /// [`end_recv`](Self::end_recv), or until nothing of this endpoint is called any more.
    pub(crate) unsafe fn start_recv(
        &mut self,
        source: Source,
        tag: Tag,
        buffer: *mut u8,
        capacity_bytes: usize,
    ) -> RecvId {
        let id = self.recvs.insert(PendingRecv { tag, buffer, capacity_bytes, arrived: None });
        match self.matcher.take(source, tag) {
            Some((from, message)) => self.take_unexpected(id, from, message),
            None => self.matcher.post(source, tag, id),
        }
        id
    }

    /// Whether all of the message for `id` has arrived.
    pub(crate) fn recv_is_done(&self, id: RecvId) -> bool {
        self.recvs.get(id).arrived.is_some()
    }

    /// Forgets the receive `id`; says what arrived, if all of it has.
    pub(crate) fn end_recv(&mut self, id: RecvId) -> Option<Status> {
        self.recvs.remove(id).arrived
    }

    /// The message that a receive would take.
    pub(crate) fn peek(&self, source: Source, tag: Tag) -> Option<Status> {
        let (source, message) = self.matcher.peek(source, tag)?;
        Some(Status { source, tag, length_bytes: message.length_bytes })
    }

    /// A receive takes a message that came before it: what was pulled so far is copied now, the
    /// rest goes straight into its buffer.
    fn take_unexpected(&mut self, id: RecvId, from: Rank, message: Unexpected) {
        let recv = self.recvs.get_mut(id);
        if let Some((offset, ticket)) = message.heap {
            self.n_unpulled -= 1;
            copy_from_heap(self.segment, recv, offset, message.length_bytes);
            self.inbound[from].ring.finish_heap(ticket);
            self.wakes.push(from);
            recv.finish(from, message.length_bytes);
            return;
        }
        self.unexpected_bytes -= message.length_bytes + UNEXPECTED_BYTES;
        recv.write(0, &message.data);
        if message.data.len() == message.length_bytes {
            recv.finish(from, message.length_bytes);
        } else if let Some(incoming) = &mut self.inbound[from].incoming {
            incoming.recv = Some(id);
        }
        let is_worth_it = (1..=MAX_SPARE_BYTES).contains(&message.data.capacity());
        if is_worth_it && self.spare.len() < MAX_SPARE {
            self.spare.push(message.data);
        }
    }
    /// Takes in what has arrived from every rank; in a long wait, also makes room for senders whose
    /// messages nobody here asks for.
    pub(crate) fn pull_all(&mut self, is_long: bool) {
        for from in 0..self.inbound.len() {
            self.pull(from, is_long);
        }
        if is_long && self.n_unpulled > 0 {
            self.pull_heap_messages();
        }
    }

    /// Copies unexpected messages out of their senders' heaps, so that these can go on. A rank
    /// does so while it waits for something else, lest two ranks wait for each other for ever.
    fn pull_heap_messages(&mut self) {
        let (segment, inbound) = (self.segment, &mut self.inbound);
        let (n_unpulled, unexpected_bytes) = (&mut self.n_unpulled, &mut self.unexpected_bytes);
        let (wakes, spare) = (&mut self.wakes, &mut self.spare);
        self.matcher.for_each_unexpected(|from, message: &mut Unexpected| {
            let length_bytes = message.length_bytes;
            let Some((offset, ticket)) = message.heap.take() else { return };
            let data = segment.heap_pointer(offset, length_bytes);
            message.data = memory_for(spare, length_bytes);
            // SAFETY: the sender leaves the message alone until its ticket is finished (or the job
            // has failed: then what is copied is never handed out), and the vector has room.
            unsafe { ptr::copy_nonoverlapping(data, message.data.as_mut_ptr(), length_bytes) };
            // SAFETY: these bytes were just written.
            unsafe { message.data.set_len(length_bytes) };
            inbound[from].ring.finish_heap(ticket);
            wakes.push(from);
            *n_unpulled -= 1;
            *unexpected_bytes += length_bytes + UNEXPECTED_BYTES;
        });
    }

    /// Takes in what has arrived from `from`: a ring at most, so that a sender who keeps up does not
    /// keep this rank from what it waits for.
    fn pull(&mut self, from: Rank, is_long: bool) {
        for _ in 0..N_LINES {
            if !self.inbound[from].ring.ready() {
                break;
            }
            let told = match self.inbound[from].incoming {
                Some(incoming) => self.pull_piece(from, incoming),
                None => match self.pull_head(from, is_long) {
                    Some(told) => told,
                    None => break,
                },
            };
            if told {
                self.wakes.push(from);
            }
        }
    }

    /// Takes in the first line of a message; `None` if there is no memory for the message now.
    fn pull_head(&mut self, from: Rank, is_long: bool) -> Option<bool> {
        let head = self.inbound[from].ring.head();
        let recv = self.matcher.claim(from, head.tag);
        if let (None, Body::Run | Body::Chunks) = (recv, head.body) {
            let total_bytes = self.unexpected_bytes + head.length_bytes + UNEXPECTED_BYTES;
            if !is_long && total_bytes > MAX_UNEXPECTED_BYTES {
                return None;
            }
            self.unexpected_bytes = total_bytes;
        }
        if recv.is_none() {
            self.keep(from, head);
        }
        let Head { length_bytes, body, .. } = head;
        let mut incoming = Incoming { length_bytes, received_bytes: 0, body, recv };
        match (body, recv) {
            (Body::Run, _) => self.pull_data(from, &mut incoming, |ring, n| ring.head_data(n)),
            (Body::Heap { offset, ticket }, Some(id)) => {
                let recv = self.recvs.get_mut(id);
                copy_from_heap(self.segment, recv, offset, length_bytes);
                recv.finish(from, length_bytes);
                self.inbound[from].ring.finish_heap(ticket);
                self.wakes.push(from);
            }
            (Body::Heap { .. } | Body::Chunks, _) => (),
        }
        let inbound = &mut self.inbound[from];
        let is_partial =
            !matches!(body, Body::Heap { .. }) && incoming.received_bytes < length_bytes;
        inbound.incoming = is_partial.then_some(incoming);
        Some(inbound.ring.consume_line())
    }

    /// Takes in a later line of a message.
    fn pull_piece(&mut self, from: Rank, mut incoming: Incoming) -> bool {
        let told = if incoming.body == Body::Chunks {
            self.pull_data(from, &mut incoming, |ring, _| ring.chunk_data());
            self.inbound[from].ring.consume_chunk()
        } else {
            self.pull_data(from, &mut incoming, |ring, n| ring.run_data(n));
            self.inbound[from].ring.consume_line()
        };
        let is_partial = incoming.received_bytes < incoming.length_bytes;
        self.inbound[from].incoming = is_partial.then_some(incoming);
        told
    }

    /// Moves the data that `of_line` finds in the ring (given how many bytes are missing) to where
    /// the message goes.
    fn pull_data(
        &mut self,
        from: Rank,
        incoming: &mut Incoming,
        of_line: impl Fn(&Consumer, usize) -> &[u8],
    ) {
        let ring = &self.inbound[from].ring;
        let data = of_line(ring, incoming.length_bytes - incoming.received_bytes);
        let at = incoming.received_bytes;
        incoming.received_bytes += data.len();
        let is_complete = incoming.received_bytes == incoming.length_bytes;
        let Some(id) = incoming.recv else {
            let message = self.matcher.last_from(from).expect("a partial message is kept");
            message.data.extend_from_slice(data);
            return;
        };
        let recv = self.recvs.get_mut(id);
        recv.write(at, data);
        if is_complete {
            recv.finish(from, incoming.length_bytes);
        }
    }

    /// Keeps a message that no receive waits for.
    fn keep(&mut self, from: Rank, head: Head) {
        let heap = match head.body {
            Body::Heap { offset, ticket } => Some((offset, ticket)),
            Body::Run | Body::Chunks => None,
        };
        self.n_unpulled += usize::from(heap.is_some());
        let reserved = if heap.is_some() { 0 } else { head.length_bytes };
        let data = memory_for(&mut self.spare, reserved);
        let message = Unexpected { length_bytes: head.length_bytes, data, heap };
        self.matcher.keep(from, head.tag, message);
    }
}

/// An empty vector with room for `length_bytes`.
fn memory_for(spare: &mut Vec<Vec<u8>>, length_bytes: usize) -> Vec<u8> {
    if length_bytes == 0 {
        return Vec::new();
    }
    let mut memory = spare.pop().unwrap_or_default();
    memory.clear();
    memory.reserve_exact(length_bytes);
    memory
}
/// Copies as much of a heap message as fits into the buffer of `recv`.
fn copy_from_heap(segment: &Segment, recv: &mut PendingRecv, offset: usize, length_bytes: usize) {
    let data = segment.heap_pointer(offset, length_bytes);
    let n = length_bytes.min(recv.capacity_bytes);
    // SAFETY: the sender leaves the message alone until its ticket is finished (or the job has
    // failed, in which nobody relies on what arrives any more); the buffer has
    // room for `n` bytes, and does not overlap the message, which is borrowed by its sender.
    unsafe { ptr::copy_nonoverlapping(data, recv.buffer, n) };
}

impl PendingRecv {
    /// Writes `data` at `at`, as far as the buffer goes.
    fn write(&mut self, at: usize, data: &[u8]) {
        let n = data.len().min(self.capacity_bytes.saturating_sub(at));
        if n == 0 {
            return;
        }
        // SAFETY: `at` is inside the buffer, since there is room for at least one byte.
        let place = unsafe { self.buffer.add(at) };
        // SAFETY: `n` bytes fit from there on; whoever started the receive keeps the buffer
        // writable, for nobody else, until it is over, and `data` lies in the ring or in a vector.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), place, n) };
    }

    fn finish(&mut self, source: Rank, length_bytes: usize) {
        self.arrived = Some(Status { source, tag: self.tag, length_bytes });
    }
}
