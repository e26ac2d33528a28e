//! The fast lane between two ranks: one place that they write in turn.
//!
//! A core that reads a line which another has changed takes it over. In a ring the producer has to
//! fetch each line back before it writes to it again, so a message moves its line twice. Whoever has
//! received the last message of a slot still has its lines at hand, and writes its reply into them:
//! a message that answers another moves each line once, and takes half the time.
//!
//! The lower rank of a pair holds the slot at first. Sending a message in it passes it on, and only
//! its holder writes it. Messages in the slot and in the ring of a direction stay in order: each
//! says how many of the other kind were sent before it (see `ring`).

use std::cell::Cell;
use std::ptr;

use comet_core::transport::Rank;

use crate::layout::{Line, ReplySlot};
use crate::segment::Segment;
use crate::sync::Ordering;

/// Up to this length data is moved out of the writer's own cache at once.
const DEMOTED_BYTES: usize = 1024;

/// Hints that the lines will next be read by another core, so that it finds them in the cache which
/// both share. Processors that do not know the instruction take it for none.
#[inline]
fn demote(data: *const u8, length_bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..length_bytes).step_by(64) {
        let line = data.wrapping_add(at);
        // SAFETY: a hint; it changes neither memory nor registers, and cannot fault.
        unsafe {
            core::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags))
        };
    }
}

/// One rank's end of a reply slot.
pub(crate) struct ReplyEnd {
    reply_slot: &'static ReplySlot,
    /// True if this rank holds it at first; its messages have the odd numbers then.
    is_first: bool,
    /// Numbers of passes and receipts of this rank, modulo 2^32.
    n_sent: Cell<u32>,
    n_received: Cell<u32>,
}

impl ReplyEnd {
    /// The end of `rank` towards `peer`.
    pub(crate) fn new(segment: &'static Segment, rank: Rank, peer: Rank) -> Self {
        let reply_slot = &segment.pair(rank.min(peer), rank.max(peer)).reply_slot;
        Self::over(reply_slot, rank < peer)
    }

    pub(crate) fn over(reply_slot: &'static ReplySlot, is_first: bool) -> Self {
        Self { reply_slot, is_first, n_sent: Cell::new(0), n_received: Cell::new(0) }
    }

    /// An end as it is when each rank has passed the reply slot `n` times.
    #[cfg(not(loom))]
    #[cfg(test)]
    pub(crate) fn after(reply_slot: &'static ReplySlot, is_first: bool, n: u32) -> Self {
        reply_slot.head.seq.store(n.wrapping_mul(2), Ordering::Relaxed);
        Self { reply_slot, is_first, n_sent: Cell::new(n), n_received: Cell::new(n) }
    }

    /// True if this rank holds the reply slot. (A rank never holds one to itself.)
    #[inline]
    pub(crate) fn is_mine(&self) -> bool {
        let n_before = u32::from(!self.is_first);
        self.n_received.get() == self.n_sent.get().wrapping_add(n_before)
    }

    /// Number of passes of this rank, modulo 2^32.
    #[inline]
    pub(crate) fn n_sent(&self) -> u32 {
        self.n_sent.get()
    }

    /// Number of receipts of this rank, modulo 2^32.
    #[inline]
    pub(crate) fn n_received(&self) -> u32 {
        self.n_received.get()
    }

    /// The first line, for its holder or after its arrival.
    #[inline]
    pub(crate) fn head(&self) -> &'static Line {
        &self.reply_slot.head
    }

    /// Writes what does not fit into the first line.
    ///
    /// # Safety
    /// This rank holds the reply slot; `length_bytes` is at most
    /// [`SLOT_BYTES`](crate::layout::SLOT_BYTES), and as many bytes from `message` on can be read.
    #[inline]
    pub(crate) unsafe fn write(&self, message: *const u8, length_bytes: usize) {
        // SAFETY: the caller's word; nobody else touches the data until the reply slot is passed.
        let copy = |data: *mut u8| unsafe { ptr::copy_nonoverlapping(message, data, length_bytes) };
        self.reply_slot.data.with_mut(|data| {
            copy(data.cast());
            if length_bytes <= DEMOTED_BYTES {
                demote(data.cast(), length_bytes);
            }
        });
    }

    /// Passes the reply slot with what was written.
    #[inline]
    pub(crate) fn pass(&self) {
        debug_assert!(self.is_mine());
        let n_before = u32::from(!self.is_first);
        let number = self.n_sent.get().wrapping_mul(2).wrapping_add(1 + n_before);
        self.n_sent.set(self.n_sent.get().wrapping_add(1));
        // Release: pairs with the Acquire load in `has_arrived`; publishes what was written, and
        // that all of the message before was read.
        self.reply_slot.head.seq.store(number, Ordering::Release);
    }

    /// True if the peer has passed it to this rank.
    #[inline]
    pub(crate) fn has_arrived(&self) -> bool {
        let n_before = u32::from(self.is_first);
        let number = self.n_received.get().wrapping_mul(2).wrapping_add(1 + n_before);
        // Acquire: pairs with the Release store in `pass`.
        self.reply_slot.head.seq.load(Ordering::Acquire) == number
    }

    /// Data beyond the first line. It has arrived, and is not yet taken.
    #[inline]
    pub(crate) fn data(&self, length_bytes: usize) -> &[u8] {
        // SAFETY: the peer does not touch it until it is passed back, for which it must be taken.
        let data = self.reply_slot.data.with(|data| unsafe { &*data });
        &data[..length_bytes]
    }

    /// Takes the reply slot, whose message was read.
    #[inline]
    pub(crate) fn take(&self) {
        self.n_received.set(self.n_received.get().wrapping_add(1));
    }
}
