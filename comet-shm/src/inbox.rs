//! Messages on their way in: receives that wait for one, and messages that came before theirs.

mod lent;

use std::ptr;
use std::rc::Rc;

use comet_core::matching::Matcher;
use comet_core::transport::{Rank, Source, Status, Tag};
use slab::Slab;

use crate::failure::{is_out, outlast};
use crate::head::{Body, Head, Ticket, is_run, length};
use crate::layout::{INLINE_BYTES, N_LINES};
use crate::remote_copy::{Place, RemoteCopy};
use crate::reply_slot::ReplyEnd;
use crate::ring::Consumer;
use crate::segment::Segment;
use crate::sync::Ordering;

use lent::{Helped, PendingRecv};

/// Number of a receive in flight.
pub(crate) type RecvId = usize;

/// Most memory for unexpected messages that a rank takes as they come. Beyond it they wait in the
/// ring, and their senders with them, unless this rank finds nothing else to do for a while: then
/// what it waits for may be behind them.
const MAX_UNEXPECTED_BYTES: usize = 1 << 28;
/// Cost of an unexpected message beside its data, in bytes.
const UNEXPECTED_BYTES: usize = 128;

/// Number of kept vectors for unexpected messages, and their largest length.
const MAX_SPARE: usize = 4;
const MAX_SPARE_BYTES: usize = 16 << 20;

/// Result of a look for one message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It was there, and is received.
    Whole(Status),
    /// It is on its way into the buffer; the rest belongs to this receive.
    Begun(RecvId),
    /// Something that takes the long way, with a receive of its own.
    Other,
    /// Nothing.
    Nothing,
}

/// A message that came before its receive.
struct Unexpected {
    tag: Tag,
    length_bytes: usize,
    /// Data pulled out of the ring so far.
    data: Vec<u8>,
    /// Place of data that was not pulled.
    lent: Option<(Place, Ticket)>,
    /// Place of data that is not pulled before its receive, and of the receipt that is written then.
    held: Option<(Place, usize)>,
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
    rank: Rank,
    remote: RemoteCopy,
    matcher: Matcher<RecvId, Unexpected>,
    recvs: Slab<PendingRecv>,
    inbound: Vec<Inbound>,
    /// The ranks whose rings have to be looked at, as a list and as a set of bits: all that ever
    /// sent something, or in a crowd those that did lately.
    senders: Vec<Rank>,
    known: Vec<u64>,
    /// Messages that wait for their senders' pieces.
    helped: Vec<Helped>,
    /// Number of unexpected messages that still lie in their senders' memory.
    n_unpulled: usize,
    unexpected_bytes: usize,
    /// Memory of taken unexpected messages, for the next ones.
    spare: Vec<Vec<u8>>,
    /// Ranks for which something was published since they were last woken.
    pub(crate) wakes: Vec<Rank>,
}

impl Inbox {
    /// The receives of `rank`, with its end of a reply slot towards each rank.
    pub(crate) fn new(
        segment: &'static Segment,
        remote: RemoteCopy,
        rank: Rank,
        reply_slots: &[Rc<ReplyEnd>],
    ) -> Self {
        let inbound = |(from, reply_slot): (Rank, &Rc<ReplyEnd>)| Inbound {
            ring: Consumer::new(segment.pair(from, rank), Rc::clone(reply_slot)),
            incoming: None,
        };
        Self {
            segment,
            rank,
            remote,
            matcher: Matcher::default(),
            recvs: Slab::new(),
            inbound: reply_slots.iter().enumerate().map(inbound).collect(),
            senders: Vec::new(),
            known: vec![0; reply_slots.len().div_ceil(64)],
            helped: Vec::new(),
            n_unpulled: 0,
            unexpected_bytes: 0,
            spare: Vec::new(),
            wakes: Vec::new(),
        }
    }

    /// Receives a message of one line or a run of lines, if no other receive or message is in its
    /// way; looks up to `patience` times for each further line of a run.
    ///
    /// # Safety
    /// `capacity_bytes` bytes from `buffer` on can be written, by nobody else, until this returns,
    /// or until the receive that has [`Begun`](Arrival::Begun) is over.
    #[inline]
    pub(crate) unsafe fn try_recv(
        &mut self,
        from: Rank,
        tag: Tag,
        (buffer, capacity_bytes): (*mut u8, usize),
        patience: u32,
    ) -> Arrival {
        let inbound = &mut self.inbound[from];
        if !self.matcher.is_empty() || inbound.incoming.is_some() {
            return Arrival::Other;
        }
        let Some(lane) = inbound.ring.next_lane() else { return Arrival::Nothing };
        let line = inbound.ring.first_line(lane);
        let length_bytes = length(line);
        if !is_run(line, tag) || length_bytes > capacity_bytes {
            return Arrival::Other;
        }
        let data = inbound.ring.first_data(lane, length_bytes);
        let received_bytes = data.len();
        // SAFETY: the data fits, and comes from the segment's lanes, which no buffer overlaps.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), buffer, received_bytes) };
        if inbound.ring.consume_head(lane) {
            self.wakes.push(from);
        }
        if received_bytes < length_bytes {
            // SAFETY: the caller's word.
            return unsafe {
                self.recv_run(from, (tag, length_bytes), (buffer, capacity_bytes), patience)
            };
        }
        Arrival::Whole(Status { source: from, tag, length_bytes })
    }

    /// Receives the rest of a run, of which the first line was consumed.
    ///
    /// # Safety
    /// As for [`try_recv`](Self::try_recv); the message fits into the buffer.
    #[inline(never)]
    unsafe fn recv_run(
        &mut self,
        from: Rank,
        (tag, length_bytes): (Tag, usize),
        (buffer, capacity_bytes): (*mut u8, usize),
        patience: u32,
    ) -> Arrival {
        let Inbound { ring, incoming } = &mut self.inbound[from];
        let mut at = INLINE_BYTES;
        while at < length_bytes {
            if !arrives(ring, patience) {
                let recv = PendingRecv { tag, buffer, capacity_bytes, arrived: None };
                let id = self.recvs.insert(recv);
                let (body, recv) = (Body::Run, Some(id));
                *incoming = Some(Incoming { length_bytes, received_bytes: at, body, recv });
                return Arrival::Begun(id);
            }
            let (to, left_bytes) = (buffer.wrapping_add(at), length_bytes - at);
            // SAFETY: `to` is inside the buffer, and the rest of the message fits from there on.
            at += unsafe { ring.copy_run_line(to, left_bytes) };
            if ring.consume_line() {
                self.wakes.push(from);
            }
        }
        Arrival::Whole(Status { source: from, tag, length_bytes })
    }

    /// Starts a receive.
    ///
    /// # Safety
    /// `capacity_bytes` bytes from `buffer` on can be written, by nobody but receives into one
    /// landing, and are read by nobody, until [`end_recv`](Self::end_recv), or until nothing of this
    /// endpoint is called any more. Senders may still copy pieces for one receive of a landing while
    /// this rank writes those of another: in other processes, and nobody relies on the contents.
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

    /// True if all of the message for `id` has arrived.
    pub(crate) fn recv_is_done(&self, id: RecvId) -> bool {
        self.recvs[id].arrived.is_some()
    }

    /// Forgets the receive `id`; says what arrived, if all of it has. After a failure the sender may
    /// still be copying a piece into the buffer: then this waits until it has, or is gone.
    pub(crate) fn end_recv(&mut self, id: RecvId) -> Option<Status> {
        if let Some(Helped { from, ticket, .. }) = self.helped.iter().find(|h| h.recv == id) {
            let rendezvous = self.inbound[*from].ring.rendezvous(*ticket);
            outlast(|| rendezvous.is_helped(ticket.number) || is_out(self.segment, *from));
        }
        self.recvs.remove(id).arrived
    }

    /// The message that a receive would take.
    pub(crate) fn peek(&self, source: Source, tag: Tag) -> Option<Status> {
        let (source, message) = self.matcher.peek(source, tag)?;
        Some(Status { source, tag: message.tag, length_bytes: message.length_bytes })
    }

    /// Gives an unexpected message to its receive: the part so far now, the rest as it comes.
    fn take_unexpected(&mut self, id: RecvId, from: Rank, message: Unexpected) {
        self.recvs[id].tag = message.tag;
        if let Some(lent) = message.lent {
            self.n_unpulled -= 1;
            self.recv_lent(id, from, lent, message.length_bytes);
            return;
        }
        if let Some(held) = message.held {
            self.recv_held(id, from, held, message.length_bytes);
            return;
        }
        let recv = &mut self.recvs[id];
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

    /// Takes in what has arrived; in a long wait, also makes room for unwanted messages.
    pub(crate) fn pull_all(&mut self, is_long: bool) {
        self.meet_senders();
        let mut index = 0;
        while let Some(from) = self.senders.get(index).copied() {
            let is_empty = self.pull(from, is_long);
            if is_empty && self.segment.is_crowded() {
                self.known[from / 64] &= !(1 << (from % 64));
                self.senders.swap_remove(index);
            } else {
                index += 1;
            }
        }
        if !self.helped.is_empty() {
            self.finish_helped();
        }
        if is_long && self.n_unpulled > 0 {
            self.pull_lent_messages();
        }
    }

    /// Notices the ranks whose rings have to be looked at from now on.
    fn meet_senders(&mut self) {
        let words = &self.segment.control(self.rank).senders;
        for (index, (word, known)) in words.iter().zip(&mut self.known).enumerate() {
            // Relaxed: only says where to look; see `look_for_lines` in `ring`.
            let mut new = word.load(Ordering::Relaxed) & !*known;
            if self.segment.is_crowded() && word.load(Ordering::Relaxed) != 0 {
                // Acquire: pairs with the Release addition in `Waiter::enter`.
                new = word.swap(0, Ordering::Acquire) & !*known;
            }
            *known |= new;
            while new != 0 {
                self.senders.push(64 * index + new.trailing_zeros() as usize);
                new &= new - 1;
            }
        }
    }

    /// Takes in what has arrived from `from`: a ring at most, so that a sender who keeps up does not
    /// keep this rank from what it waits for. Says whether it has taken everything.
    fn pull(&mut self, from: Rank, is_long: bool) -> bool {
        for _ in 0..N_LINES {
            let Inbound { ring, incoming } = &self.inbound[from];
            let told = if let Some(incoming) = *incoming {
                ring.ready().then(|| self.pull_piece(from, incoming))
            } else if let Some(head) = ring.next_message() {
                let told = self.pull_head(from, head, is_long);
                if told.is_none() {
                    return false;
                }
                told
            } else {
                None
            };
            let Some(told) = told else { return true };
            if told {
                self.wakes.push(from);
            }
        }
        false
    }

    /// Takes in the first line of a message; `None` if there is no memory for the message now.
    fn pull_head(&mut self, from: Rank, head: Head, is_long: bool) -> Option<bool> {
        let recv = self.matcher.claim(from, head.tag);
        if let (None, Body::Run | Body::Chunks) = (recv, head.body) {
            let total_bytes = self.unexpected_bytes + head.length_bytes + UNEXPECTED_BYTES;
            if !is_long && total_bytes > MAX_UNEXPECTED_BYTES {
                return None;
            }
            self.unexpected_bytes = total_bytes;
        }
        match recv {
            Some(id) => self.recvs[id].tag = head.tag,
            None => self.keep(from, head),
        }
        let Head { length_bytes, body, lane, .. } = head;
        let mut incoming = Incoming { length_bytes, received_bytes: 0, body, recv };
        match (body, recv) {
            (Body::Run, _) => self
                .pull_data(from, &mut incoming, |ring, _| ring.first_data(lane, head.length_bytes)),
            (Body::Lent(place, ticket), Some(id)) => {
                self.recv_lent(id, from, (place, ticket), length_bytes);
            }
            (Body::Held(place, receipt), Some(id)) => {
                self.recv_held(id, from, (place, receipt), length_bytes);
            }
            (Body::Lent(..) | Body::Held(..) | Body::Chunks, _) => (),
        }
        let inbound = &mut self.inbound[from];
        let stays = matches!(body, Body::Lent(..) | Body::Held(..));
        let is_partial = !stays && incoming.received_bytes < length_bytes;
        inbound.incoming = is_partial.then_some(incoming);
        Some(inbound.ring.consume_head(lane))
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

    /// Moves the data that `of_line` finds in the ring to the destination of the message.
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
        let recv = &mut self.recvs[id];
        recv.write(at, data);
        if is_complete {
            recv.finish(from, incoming.length_bytes);
        }
    }

    /// Keeps a message that no receive waits for.
    fn keep(&mut self, from: Rank, head: Head) {
        let length_bytes = head.length_bytes;
        let (lent, held, reserved) = match head.body {
            Body::Lent(place, ticket) => (Some((place, ticket)), None, 0),
            Body::Held(place, receipt) => (None, Some((place, receipt)), 0),
            Body::Run | Body::Chunks => (None, None, length_bytes),
        };
        self.n_unpulled += usize::from(lent.is_some());
        let data = memory_for(&mut self.spare, reserved);
        let message = Unexpected { tag: head.tag, length_bytes, data, lent, held };
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

/// True if the next line comes within `patience` looks.
#[inline]
fn arrives(ring: &Consumer, patience: u32) -> bool {
    for _ in 0..patience {
        if ring.ready() {
            return true;
        }
        std::hint::spin_loop();
    }
    ring.ready()
}
