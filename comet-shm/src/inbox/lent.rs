//! Receives that wait for their message, and messages that stay in their sender's memory until their receive copies them.

use std::ptr;

use comet_core::transport::{Rank, Status, Tag};

use super::{Inbox, RecvId, UNEXPECTED_BYTES, Unexpected, memory_for};
use crate::failure::poisoned;
use crate::head::Ticket;
use crate::receipt;
use crate::remote_copy::{Gone, Place, RemoteCopy};
use crate::rendezvous::{Pieces, TOGETHER_BYTES};
use crate::sync::{Ordering, fence};

/// A receive that is not over.
pub(super) struct PendingRecv {
    /// Tag of the receive, or of its message once that is known.
    pub(super) tag: Tag,
    pub(super) buffer: *mut u8,
    pub(super) capacity_bytes: usize,
    /// Status of the arrived message, once all of it has arrived.
    pub(super) arrived: Option<Status>,
}

impl PendingRecv {
    /// Writes `data` at `at`, as far as the buffer goes.
    pub(super) fn write(&mut self, at: usize, data: &[u8]) {
        let n = data.len().min(self.capacity_bytes.saturating_sub(at));
        if n == 0 {
            return;
        }
        // SAFETY: `at` is inside the buffer, since there is room for at least one byte.
        let place = unsafe { self.buffer.add(at) };
        // SAFETY: `n` bytes fit from there on; whoever started the receive keeps the buffer
        // writable, for nobody but receives into the same landing, until it is over, and `data` lies
        // in the ring or in a vector.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), place, n) };
    }

    /// Copies `n` bytes that lie `at` bytes after the start of a lent message to where they belong.
    pub(super) fn copy(
        &mut self,
        remote: RemoteCopy,
        lent: (Rank, Place),
        at: usize,
        n: usize,
    ) -> Result<(), Gone> {
        debug_assert!(at + n <= self.capacity_bytes);
        // SAFETY: `n` bytes fit from there on; whoever started the receive keeps the buffer
        // writable, for nobody but receives into the same landing, until it is over; the sender
        // leaves the message alone until its ticket is finished (or the job has failed: nobody
        // relies on what arrives any more).
        unsafe { remote.read(lent, at, self.buffer.wrapping_add(at), n) }
    }

    /// Notes that all of it has arrived.
    pub(super) fn finish(&mut self, source: Rank, length_bytes: usize) {
        self.arrived = Some(Status { source, tag: self.tag, length_bytes });
    }
}

/// A message of which its sender still copies pieces.
pub(super) struct Helped {
    pub(super) recv: RecvId,
    pub(super) from: Rank,
    pub(super) ticket: Ticket,
    pub(super) length_bytes: usize,
}

impl Inbox {
    /// Copies a lent message into the buffer of its receive, a long one with its sender's help.
    pub(super) fn recv_lent(
        &mut self,
        id: RecvId,
        from: Rank,
        lent: (Place, Ticket),
        length_bytes: usize,
    ) {
        let (place, ticket) = lent;
        let recv = &mut self.recvs[id];
        let rendezvous = self.inbound[from].ring.rendezvous(ticket);
        let is_worth_it = (TOGETHER_BYTES..=recv.capacity_bytes).contains(&length_bytes);
        let destination = self.remote.place_of(recv.buffer, length_bytes);
        let Some(destination) = destination.filter(|_| is_worth_it) else {
            let n = length_bytes.min(recv.capacity_bytes);
            if recv.copy(self.remote, (from, place), 0, n).is_ok() {
                self.finish_lent(id, from, ticket, length_bytes);
            }
            return;
        };
        rendezvous.open(ticket.number, destination);
        let pieces = Pieces::of(length_bytes, [place, destination]);
        let mut n_copied = 0;
        while let Some((at, n)) = rendezvous.take_front(pieces) {
            if recv.copy(self.remote, (from, place), at, n).is_err() {
                return;
            }
            n_copied += 1;
        }
        if n_copied == pieces.count() {
            self.finish_lent(id, from, ticket, length_bytes);
        } else {
            self.helped.push(Helped { recv: id, from, ticket, length_bytes });
        }
    }

    /// All of a lent message is in the buffer of its receive.
    fn finish_lent(&mut self, id: RecvId, from: Rank, ticket: Ticket, length_bytes: usize) {
        if self.is_torn() {
            return;
        }
        self.inbound[from].ring.rendezvous(ticket).finish(ticket.number);
        self.wakes.push(from);
        self.recvs[id].finish(from, length_bytes);
    }

    /// Copies a message that a synchronous send holds into the buffer of its receive, and writes the receipt.
    pub(super) fn recv_held(
        &mut self,
        id: RecvId,
        from: Rank,
        (place, receipt): (Place, usize),
        length_bytes: usize,
    ) {
        let recv = &mut self.recvs[id];
        let n = length_bytes.min(recv.capacity_bytes);
        if recv.copy(self.remote, (from, place), 0, n).is_err() || self.is_torn() {
            return;
        }
        receipt::write(self.segment, receipt);
        self.wakes.push(from);
        self.recvs[id].finish(from, length_bytes);
    }

    /// True if the job has failed, so that senders may have taken back the data that was just read.
    fn is_torn(&self) -> bool {
        // Acquire: keeps the look after the reading.
        fence(Ordering::Acquire);
        poisoned(self.segment).is_some()
    }

    /// Finishes the messages whose senders have copied their pieces.
    pub(super) fn finish_helped(&mut self) {
        let mut index = 0;
        while index < self.helped.len() {
            let Helped { recv, from, ticket, length_bytes } = self.helped[index];
            if self.inbound[from].ring.rendezvous(ticket).is_helped(ticket.number) {
                self.helped.swap_remove(index);
                self.finish_lent(recv, from, ticket, length_bytes);
            } else {
                index += 1;
            }
        }
    }

    /// Copies unexpected messages out of their senders' memory, so that these can go on. A rank
    /// does so while it waits for something else, lest two ranks wait for each other for ever.
    pub(super) fn pull_lent_messages(&mut self) {
        let (segment, remote, inbound) = (self.segment, self.remote, &mut self.inbound);
        let (n_unpulled, unexpected_bytes) = (&mut self.n_unpulled, &mut self.unexpected_bytes);
        let (wakes, spare) = (&mut self.wakes, &mut self.spare);
        self.matcher.for_each_unexpected(|from, message: &mut Unexpected| {
            let length_bytes = message.length_bytes;
            let Some((place, ticket)) = message.lent else { return };
            let mut data = memory_for(spare, length_bytes);
            // SAFETY: the vector has room; the sender leaves the message alone until its ticket is
            // finished (or the job has failed: then what was copied is not handed out).
            let copied = unsafe { remote.read((from, place), 0, data.as_mut_ptr(), length_bytes) };
            // Acquire: keeps the look after the reading; see `is_torn`.
            fence(Ordering::Acquire);
            if copied.is_err() || poisoned(segment).is_some() {
                return;
            }
            // SAFETY: these bytes were just written.
            unsafe { data.set_len(length_bytes) };
            (message.data, message.lent) = (data, None);
            inbound[from].ring.rendezvous(ticket).finish(ticket.number);
            wakes.push(from);
            *n_unpulled -= 1;
            *unexpected_bytes += length_bytes + UNEXPECTED_BYTES;
        });
    }
}
