//! Messages on their way out: sends that wait for room in a ring, or for their receiver's copy.

use std::collections::VecDeque;
use std::rc::Rc;

use comet_core::transport::{Rank, Tag};
use comet_core::waiting::Waiting;
use slab::Slab;

use crate::head::Ticket;
use crate::heap::ShmBuffer;
use crate::layout::{CHUNK_BYTES, INLINE_BYTES, RUN_BYTES, SLOT_BYTES};
use crate::receipt::Receipt;
use crate::remote_copy::RemoteCopy;
use crate::rendezvous::Pieces;
use crate::reply_slot::ReplyEnd;
use crate::ring::{Producer, run_lines};
use crate::segment::Segment;

/// Number of a send in flight.
pub(crate) type SendId = usize;

/// Longest run of a rank to itself; a longer message is copied straight into its receive.
const RUN_TO_ITSELF_BYTES: usize = 256;

/// A send that is not over.
struct PendingSend {
    destination: Rank,
    tag: Tag,
    message: *const u8,
    length_bytes: usize,
    state: SendState,
    /// Memory that the send keeps until it is over.
    storage: Option<Storage>,
}

/// Memory that a send in a mode of its own keeps.
pub(crate) enum Storage {
    /// The copy that a buffered send made of its message; nobody waits for it.
    Copy(ShmBuffer),
    /// The receipt of a synchronous send, and a copy of the message where other ranks cannot reach it.
    Receipt(Receipt, Option<ShmBuffer>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendState {
    /// Nothing was written to the ring.
    Queued,
    /// The head and this many bytes were written as chunks.
    Chunks(usize),
    /// The receiver has to copy it, and this rank may help.
    Lent(Ticket),
    /// The receiver has to copy it, without further help.
    Helped(Ticket),
    /// It has to find its receive, which copies it and writes the receipt.
    Held,
    /// The message may be changed again.
    Done,
}

/// The outgoing side of one pair.
struct Outbound {
    ring: Producer,
    /// Longest message that is sent as a run, at most [`RUN_BYTES`].
    run_bytes: usize,
    /// Sends that have to wait, in order.
    queue: VecDeque<SendId>,
}

/// The sends of one rank.
pub(crate) struct Outbox {
    remote: RemoteCopy,
    sends: Slab<PendingSend>,
    outbound: Vec<Outbound>,
    /// Number of sends in queues.
    n_queued: usize,
    /// Buffered sends that nobody waits for.
    buffered: Vec<SendId>,
    /// Ranks for which something was published since they were last woken.
    pub(crate) wakes: Vec<Rank>,
}

impl Outbox {
    /// The sends of `rank`, with its end of a reply slot towards each rank.
    pub(crate) fn new(
        segment: &'static Segment,
        remote: RemoteCopy,
        rank: Rank,
        reply_slots: &[Rc<ReplyEnd>],
    ) -> Self {
        let outbound = |(to, reply_slot): (Rank, &Rc<ReplyEnd>)| Outbound {
            ring: Producer::new(segment, (rank, to), Rc::clone(reply_slot)),
            run_bytes: if to == rank { RUN_TO_ITSELF_BYTES } else { RUN_BYTES },
            queue: VecDeque::new(),
        };
        Self {
            remote,
            sends: Slab::new(),
            outbound: reply_slots.iter().enumerate().map(outbound).collect(),
            n_queued: 0,
            buffered: Vec::new(),
            wakes: Vec::new(),
        }
    }

    /// The way of this rank to the memory of others.
    pub(crate) fn remote(&self) -> RemoteCopy {
        self.remote
    }

    /// Sends a message in the reply slot, or as a run of lines, if nothing is in its way.
    ///
    /// # Safety
    /// `length_bytes` bytes from `message` on can be read.
    #[inline]
    pub(crate) unsafe fn try_send(
        &mut self,
        to: Rank,
        tag: Tag,
        message: *const u8,
        length_bytes: usize,
    ) -> bool {
        let outbound = &mut self.outbound[to];
        if length_bytes > SLOT_BYTES || !outbound.queue.is_empty() {
            return false;
        }
        if outbound.ring.has_reply_slot() {
            // SAFETY: the caller's word; the reply slot is there.
            unsafe { outbound.ring.pass_reply_slot(tag, message, length_bytes) };
            return true;
        }
        if length_bytes > outbound.run_bytes {
            return false;
        }
        let n_lines = if length_bytes <= INLINE_BYTES { 1 } else { run_lines(length_bytes) };
        let has_room = outbound.ring.has_lines(n_lines);
        if has_room {
            // SAFETY: the caller's word; the ring has room.
            unsafe { outbound.ring.push_run(tag, message, length_bytes) };
        }
        has_room
    }

    /// Starts a send.
    ///
    /// # Safety
    /// `length_bytes` bytes from `message` on can be read until [`end_send`](Self::end_send), or
    /// until nothing of this endpoint is called any more.
    pub(crate) unsafe fn start_send(
        &mut self,
        destination: Rank,
        tag: Tag,
        message: *const u8,
        length_bytes: usize,
    ) -> SendId {
        // SAFETY: the caller's word.
        unsafe { self.start_with(destination, tag, (message, length_bytes), None) }
    }

    /// The same with memory that the send keeps.
    ///
    /// # Safety
    /// As for [`start_send`](Self::start_send), if the message does not lie in that memory.
    pub(crate) unsafe fn start_with(
        &mut self,
        destination: Rank,
        tag: Tag,
        (message, length_bytes): (*const u8, usize),
        storage: Option<Storage>,
    ) -> SendId {
        let state = SendState::Queued;
        let send = PendingSend { destination, tag, message, length_bytes, state, storage };
        let id = self.sends.insert(send);
        self.outbound[destination].queue.push_back(id);
        self.n_queued += 1;
        self.push(destination);
        id
    }

    /// Starts to send the first `length_bytes` of `copy`, for which nobody waits.
    pub(crate) fn start_buffered(
        &mut self,
        destination: Rank,
        tag: Tag,
        copy: ShmBuffer,
        length_bytes: usize,
    ) {
        let message = (copy.start().cast_const(), length_bytes);
        let storage = Some(Storage::Copy(copy));
        // SAFETY: the send keeps the copy until it is over, and nobody writes to it.
        let id = unsafe { self.start_with(destination, tag, message, storage) };
        self.buffered.push(id);
    }

    /// Takes the copy of a buffered send that is over.
    pub(crate) fn take_copy(&mut self) -> Option<ShmBuffer> {
        let all = 0..self.buffered.len();
        let index = all.into_iter().find(|index| self.send_is_done(self.buffered[*index]))?;
        let id = self.buffered.swap_remove(index);
        let Some(Storage::Copy(copy)) = self.sends.remove(id).storage else { return None };
        Some(copy)
    }

    /// True if a buffered send needs this rank to go on. One whose copy lies in the heap does not, once it was
    /// announced: its receiver reads it there.
    pub(crate) fn has_to_flush(&mut self) -> bool {
        (0..self.buffered.len()).any(|index| {
            let id = self.buffered[index];
            let PendingSend { state, message, length_bytes, .. } = self.sends[id];
            let is_announced = matches!(state, SendState::Lent(_) | SendState::Helped(_));
            let stays = self.remote.heap_offset(message, length_bytes).is_some();
            !(is_announced && stays || self.send_is_done(id))
        })
    }

    /// True if the message of `id` may be changed again.
    pub(crate) fn send_is_done(&mut self, id: SendId) -> bool {
        let send = &mut self.sends[id];
        if let SendState::Lent(ticket) | SendState::Helped(ticket) = send.state
            && self.outbound[send.destination].ring.rendezvous(ticket).is_copied(ticket.number)
        {
            send.state = SendState::Done;
        }
        if let (SendState::Held, Some(Storage::Receipt(receipt, _))) = (send.state, &send.storage)
            && receipt.is_written()
        {
            send.state = SendState::Done;
        }
        send.state == SendState::Done
    }

    /// Copies pieces of the message `id` that its receiver has opened, for an idle rank.
    pub(crate) fn help(&mut self, id: SendId) {
        // Its place at the rendezvous may serve another message by now.
        if self.send_is_done(id) {
            return;
        }
        let send = &mut self.sends[id];
        let SendState::Lent(ticket) = send.state else { return };
        let rendezvous = self.outbound[send.destination].ring.rendezvous(ticket);
        let Some(place) = rendezvous.opened(ticket.number) else { return };
        let target = (send.destination, place);
        let Some(source) = self.remote.place_of(send.message, send.length_bytes) else { return };
        let pieces = Pieces::of(send.length_bytes, [source, place]);
        send.state = SendState::Helped(ticket);
        while let Some((at, n)) = rendezvous.take_back(pieces) {
            let piece = send.message.wrapping_add(at);
            // SAFETY: the piece lies in the message, which can be read until the send is over; the
            // receiver has lent its buffer, and waits for the pieces that were taken here.
            if unsafe { self.remote.write(target, at, piece, n) }.is_err() {
                return;
            }
        }
        rendezvous.helped(ticket.number);
        self.wakes.push(send.destination);
    }

    /// Wait of a rank that waits for the send `id`.
    pub(crate) fn send_waiting(&self, id: SendId) -> Waiting {
        let PendingSend { destination, tag, length_bytes, .. } = self.sends[id];
        Waiting::Send(destination, tag, length_bytes)
    }

    /// Forgets the send `id`, which is done, or never will be.
    pub(crate) fn end_send(&mut self, id: SendId) {
        self.sends.remove(id);
    }

    /// Writes as much of the queue for `to` as there is room for.
    fn push(&mut self, to: Rank) {
        let outbound = &mut self.outbound[to];
        let mut wrote = false;
        while let Some(id) = outbound.queue.front().copied() {
            let send = &mut self.sends[id];
            let before = send.state;
            let left_queue = push_send(outbound, send, self.remote);
            wrote |= send.state != before;
            if !left_queue {
                break;
            }
            outbound.queue.pop_front();
            self.n_queued -= 1;
        }
        if wrote {
            self.wakes.push(to);
        }
    }

    /// Sends on what has to wait, as far as there is room.
    pub(crate) fn push_all(&mut self) {
        if self.n_queued > 0 {
            (0..self.outbound.len()).for_each(|to| self.push(to));
        }
    }
}

/// Writes as much of `send` as there is room for; true once it needs no place in the queue.
fn push_send(outbound: &mut Outbound, send: &mut PendingSend, remote: RemoteCopy) -> bool {
    let ring = &mut outbound.ring;
    if send.state == SendState::Queued {
        if let Some(Storage::Receipt(receipt, copy)) = &send.storage {
            let start = copy.as_ref().map_or(send.message, |copy| copy.start().cast_const());
            // What no other rank reaches was copied to where they do.
            let Some(place) = remote.place_of(start, send.length_bytes) else { return false };
            let is_sent =
                ring.push_held(send.tag, (place, send.length_bytes), receipt.offset(remote));
            send.state = if is_sent { SendState::Held } else { SendState::Queued };
            return is_sent;
        }
        if send.length_bytes <= outbound.run_bytes {
            return push_run(ring, send);
        }
        if let Some(place) = remote.lendable(send.message, send.length_bytes) {
            let Some(ticket) = ring.push_lent(send.tag, place, send.length_bytes) else {
                return false;
            };
            send.state = SendState::Lent(ticket);
            return true;
        }
        if !ring.has_lines(1) {
            return false;
        }
        ring.push_chunked_head(send.tag, send.length_bytes);
        send.state = SendState::Chunks(0);
    }
    let SendState::Chunks(mut sent) = send.state else { return true };
    while sent < send.length_bytes && ring.has_chunk() {
        let n = (send.length_bytes - sent).min(CHUNK_BYTES);
        // SAFETY: `sent` is inside the message.
        let data = unsafe { send.message.add(sent) };
        // SAFETY: `n` bytes are left in the message, and no more than a chunk.
        unsafe { ring.push_chunk(send.tag, data, n) };
        sent += n;
    }
    let is_done = sent == send.length_bytes;
    send.state = if is_done { SendState::Done } else { SendState::Chunks(sent) };
    is_done
}

fn push_run(ring: &mut Producer, send: &mut PendingSend) -> bool {
    let has_room = ring.has_lines(run_lines(send.length_bytes));
    if has_room {
        // SAFETY: whoever started the send keeps the message readable until it is done.
        unsafe { ring.push_run(send.tag, send.message, send.length_bytes) };
        send.state = SendState::Done;
    }
    has_room
}
