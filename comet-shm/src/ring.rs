//! One direction between two ranks: lines and chunks from one producer to one consumer.
//!
//! A line at position p of the stream carries the sequence number p + 1, stored last. The consumer
//! waits for that number, so one cache line moves per short message, and nothing has to be cleared:
//! stale data never has the right number. The consumer publishes what it has consumed every quarter
//! of a ring, and the producer looks at that only when the ring seems full (lazy credit).
//!
//! A message that answers another goes in the reply slot instead (see `reply_slot`).

use std::ptr;
use std::rc::Rc;

use comet_core::transport::{Rank, Tag};

use crate::head::{
    Head, Kind, Lane, Ticket, inline_data, kind, length, order, read_head, write_head,
};
use crate::layout::{
    CHUNK_BYTES, INLINE_BYTES, Line, N_CHUNKS, N_LINES, N_RENDEZVOUS, Pair, RUN_BYTES,
    RUN_LINE_BYTES, Rendezvous,
};
use crate::remote_copy::Place;
use crate::reply_slot::ReplyEnd;
use crate::segment::Segment;
use crate::sync::{AtomicU64, Ordering};

/// Lines that a message of `length_bytes` needs as a run.
pub(crate) fn run_lines(length_bytes: usize) -> u32 {
    debug_assert!(length_bytes <= RUN_BYTES);
    let more = length_bytes.saturating_sub(INLINE_BYTES).div_ceil(RUN_LINE_BYTES);
    1 + u32::try_from(more).expect("a run is short")
}

/// The sending end of a pair, in the memory of the producer.
pub(crate) struct Producer {
    pair: &'static Pair,
    /// The other lane, which both directions share.
    reply_slot: Rc<ReplyEnd>,
    /// Place where the producer enters itself as a sender, until it has.
    entry: Option<Entry>,
    /// Lines and chunks written so far, modulo 2^32.
    lines: u32,
    chunks: u32,
    /// Last seen position of the consumer.
    lines_consumed: u32,
    chunks_consumed: u32,
    /// Number of the latest lent message of each rendezvous.
    tickets: [u64; N_RENDEZVOUS],
}

/// One bit of a consumer's set of senders.
pub(crate) struct Entry {
    word: &'static AtomicU64,
    bit: u64,
}

impl Producer {
    /// The end of `source` towards `destination`.
    pub(crate) fn new(
        segment: &'static Segment,
        (source, destination): (Rank, Rank),
        reply_slot: Rc<ReplyEnd>,
    ) -> Self {
        let word = &segment.control(destination).senders[source / 64];
        let entry = Entry { word, bit: 1 << (source % 64) };
        Self::over(segment.pair(source, destination), reply_slot, Some(entry))
    }

    pub(crate) fn over(
        pair: &'static Pair,
        reply_slot: Rc<ReplyEnd>,
        entry: Option<Entry>,
    ) -> Self {
        // The ring seems full until the first look for room, which makes the entry.
        let lines_consumed = 0u32.wrapping_sub(N_LINES);
        let tickets = [0; N_RENDEZVOUS];
        Self {
            pair,
            reply_slot,
            entry,
            lines: 0,
            chunks: 0,
            lines_consumed,
            chunks_consumed: 0,
            tickets,
        }
    }

    /// True if a message can go in the reply slot: this end holds it, and is known to the consumer.
    #[inline]
    pub(crate) fn has_reply_slot(&self) -> bool {
        self.reply_slot.is_mine() && self.entry.is_none()
    }

    /// Sends `message` in the slot, which this end has ([`has_reply_slot`](Self::has_reply_slot)).
    ///
    /// # Safety
    /// `length_bytes` is at most [`SLOT_BYTES`](crate::layout::SLOT_BYTES), and as many bytes from `message` on can be read.
    #[inline]
    pub(crate) unsafe fn pass_reply_slot(
        &mut self,
        tag: Tag,
        message: *const u8,
        length_bytes: usize,
    ) {
        let is_inline = length_bytes <= INLINE_BYTES;
        let n = if is_inline { length_bytes } else { 0 };
        let says = (Kind::Run, tag, self.lines);
        // SAFETY: who holds the reply slot writes it; `n` bytes can be read.
        unsafe { write_head(self.reply_slot.head(), says, length_bytes, message, n) };
        if !is_inline {
            // SAFETY: the caller's word, and this end holds the reply slot.
            unsafe { self.reply_slot.write(message, length_bytes) };
        }
        self.reply_slot.pass();
    }

    /// True if `n_lines` lines can be written now; to be asked before each message in the ring.
    #[inline]
    pub(crate) fn has_lines(&mut self, n_lines: u32) -> bool {
        self.n_used() + n_lines <= N_LINES || self.look_for_lines(n_lines)
    }

    #[inline(never)]
    fn look_for_lines(&mut self, n_lines: u32) -> bool {
        if let Some(Entry { word, bit }) = self.entry.take() {
            // Relaxed: the consumer only learns where to look; data is published by its line.
            word.fetch_or(bit, Ordering::Relaxed);
        }
        // Acquire: pairs with the Release store in Consumer::consume_line; the consumer has read
        // the lines before they are overwritten.
        self.lines_consumed = self.pair.credit.lines.load(Ordering::Acquire);
        self.n_used() + n_lines <= N_LINES
    }

    /// Lines that the consumer was not seen to have consumed.
    #[inline]
    fn n_used(&self) -> u32 {
        self.lines.wrapping_sub(self.lines_consumed)
    }

    /// True if a chunk can be written now, with the line that announces it.
    pub(crate) fn has_chunk(&mut self) -> bool {
        if self.chunks.wrapping_sub(self.chunks_consumed) == N_CHUNKS {
            // Acquire: pairs with the Release store in Consumer::consume_chunk; the consumer has
            // read the chunks before they are overwritten.
            self.chunks_consumed = self.pair.credit.chunks.load(Ordering::Acquire);
        }
        self.chunks.wrapping_sub(self.chunks_consumed) < N_CHUNKS && self.has_lines(1)
    }

    /// Writes `message` as a run; there is room for it ([`run_lines`], [`has_lines`](Self::has_lines)).
    ///
    /// # Safety
    /// `length_bytes` bytes from `message` on can be read.
    #[inline]
    pub(crate) unsafe fn push_run(&mut self, tag: Tag, message: *const u8, length_bytes: usize) {
        let first = length_bytes.min(INLINE_BYTES);
        // SAFETY: `first` is at most `length_bytes`.
        unsafe { self.push_line(Kind::Run, tag, length_bytes, message, first) };
        if first < length_bytes {
            // SAFETY: the rest of the message begins there.
            unsafe { self.continue_run(message.wrapping_add(first), length_bytes - first) };
        }
    }

    /// Writes the rest of a run.
    ///
    /// # Safety
    /// `left_bytes` bytes from `message` on can be read.
    unsafe fn continue_run(&mut self, message: *const u8, left_bytes: usize) {
        let n_whole = left_bytes / RUN_LINE_BYTES;
        for index in 0..n_whole {
            let data = message.wrapping_add(index * RUN_LINE_BYTES);
            // SAFETY: a whole line is left in the message.
            unsafe { self.push_run_line(data, RUN_LINE_BYTES) };
        }
        let rest = left_bytes % RUN_LINE_BYTES;
        if rest > 0 {
            // SAFETY: the rest is what whole lines have left of the message.
            unsafe { self.push_run_line(message.wrapping_add(n_whole * RUN_LINE_BYTES), rest) };
        }
    }

    /// Writes a line that continues a run; inlined, so that whole lines are copied by a few moves.
    ///
    /// # Safety
    /// `n` is at most [`RUN_LINE_BYTES`], and as many bytes from `data` on can be read.
    #[inline(always)]
    unsafe fn push_run_line(&mut self, data: *const u8, n: usize) {
        let (line, seq) = self.next_line();
        // SAFETY: `n` bytes can be read, and fit into the line, which is the producer's until its
        // sequence number is stored.
        line.bytes.with_mut(|bytes| unsafe { ptr::copy_nonoverlapping(data, bytes.cast(), n) });
        publish(line, seq);
    }

    /// Announces a message that follows in chunks; there is room for one line.
    pub(crate) fn push_chunked_head(&mut self, tag: Tag, length_bytes: usize) {
        let length = (length_bytes as u64).to_le_bytes();
        // SAFETY: `length` is readable for its own length.
        unsafe { self.push_line(Kind::Chunks, tag, 0, length.as_ptr(), length.len()) };
    }

    /// Writes one chunk of `n` bytes; there is room for it ([`has_chunk`](Self::has_chunk)).
    ///
    /// # Safety
    /// `n` is at most [`CHUNK_BYTES`], and as many bytes from `data` on can be read.
    pub(crate) unsafe fn push_chunk(&mut self, tag: Tag, data: *const u8, n: usize) {
        debug_assert!(n <= CHUNK_BYTES);
        let chunk = &self.pair.chunks[(self.chunks % N_CHUNKS) as usize];
        // SAFETY: `n` bytes can be read and fit into the chunk, which is the producer's until the
        // line that announces it is published.
        chunk.bytes.with_mut(|bytes| unsafe { ptr::copy_nonoverlapping(data, bytes.cast(), n) });
        self.chunks = self.chunks.wrapping_add(1);
        // SAFETY: no bytes are read.
        unsafe { self.push_line(Kind::Chunk, tag, n, ptr::null(), 0) };
    }

    /// Announces a message that lies at `place`; `None` if there is no room.
    pub(crate) fn push_lent(
        &mut self,
        tag: Tag,
        place: Place,
        length_bytes: usize,
    ) -> Option<Ticket> {
        let is_free = |slot: &usize| self.pair.rendezvous[*slot].is_copied(self.tickets[*slot]);
        let slot = (0..N_RENDEZVOUS).find(is_free)?;
        if !self.has_reply_slot() && !self.has_lines(1) {
            return None;
        }
        let number = self.tickets[slot] + 1;
        self.tickets[slot] = number;
        self.announce(Kind::Lent, tag, [length_bytes as u64, place.pack(), slot as u64, number]);
        Some(Ticket { slot, number })
    }

    /// Announces a message that stays at `place` until it has found its receive, with its receipt at `receipt`;
    /// false if there is no room.
    pub(crate) fn push_held(
        &mut self,
        tag: Tag,
        (place, length_bytes): (Place, usize),
        receipt: usize,
    ) -> bool {
        let has_room = self.has_reply_slot() || self.has_lines(1);
        if has_room {
            self.announce(Kind::Held, tag, [length_bytes as u64, place.pack(), receipt as u64, 0]);
        }
        has_room
    }

    /// Writes a first line with these words, for which there is room.
    fn announce(&mut self, kind: Kind, tag: Tag, words: [u64; 4]) {
        let mut bytes = [0u8; 32];
        for (word, chunk) in words.iter().zip(bytes.as_chunks_mut().0) {
            *chunk = word.to_le_bytes();
        }
        if self.has_reply_slot() {
            let says = (kind, tag, self.lines);
            // SAFETY: who holds the reply slot writes it; `bytes` is readable for its own length.
            unsafe { write_head(self.reply_slot.head(), says, 0, bytes.as_ptr(), bytes.len()) };
            self.reply_slot.pass();
        } else {
            // SAFETY: `bytes` is readable for its own length.
            unsafe { self.push_line(kind, tag, 0, bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Rendezvous of this end with the consumer over `ticket`.
    pub(crate) fn rendezvous(&self, ticket: Ticket) -> &'static Rendezvous {
        &self.pair.rendezvous[ticket.slot]
    }

    /// Writes a first line with `n` bytes of data.
    ///
    /// # Safety
    /// `n` is at most [`INLINE_BYTES`], and as many bytes from `data` on can be read.
    #[inline]
    unsafe fn push_line(&mut self, kind: Kind, tag: Tag, length: usize, data: *const u8, n: usize) {
        let (line, seq) = self.next_line();
        let says = (kind, tag, self.reply_slot.n_sent());
        // SAFETY: the caller's word; the line is the producer's until it is published.
        unsafe { write_head(line, says, length, data, n) };
        publish(line, seq);
    }

    #[inline]
    fn next_line(&mut self) -> (&'static Line, u32) {
        let line = &self.pair.lines[(self.lines % N_LINES) as usize];
        self.lines = self.lines.wrapping_add(1);
        (line, self.lines)
    }
}

/// Lines that a consumer prefetches: one takes as long as several messages.
const AHEAD: u32 = 8;

#[inline]
fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which every such processor has; it changes nothing and cannot fault.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(
            ptr::from_ref(line).cast(),
        );
    }
}

/// Release: pairs with the Acquire load in `Consumer::ready`; publishes the line's data.
#[inline]
fn publish(line: &Line, seq: u32) {
    line.seq.store(seq, Ordering::Release);
}

/// The receiving end of a pair, in the memory of the consumer.
pub(crate) struct Consumer {
    pair: &'static Pair,
    /// The other lane, which both directions share.
    reply_slot: Rc<ReplyEnd>,
    /// Lines and chunks consumed so far, modulo 2^32.
    lines: u32,
    chunks: u32,
    /// Position that was published to the producer.
    lines_published: u32,
    chunks_published: u32,
}

impl Consumer {
    pub(crate) fn new(pair: &'static Pair, reply_slot: Rc<ReplyEnd>) -> Self {
        Self { pair, reply_slot, lines: 0, chunks: 0, lines_published: 0, chunks_published: 0 }
    }

    /// Lane of the next message, if its first line has arrived.
    #[inline]
    pub(crate) fn next_lane(&self) -> Option<Lane> {
        // A message on the ring may have been sent after one in the reply slot, and the reverse.
        if self.ready() && order(self.bytes()) == self.reply_slot.n_received() {
            return Some(Lane::Ring);
        }
        let is_next = self.reply_slot.has_arrived() && order(self.reply_bytes()) == self.lines;
        is_next.then_some(Lane::ReplySlot)
    }

    /// Contents of the first line of the next message, if that has arrived on either lane.
    pub(crate) fn next_message(&self) -> Option<Head> {
        let lane = self.next_lane()?;
        Some(read_head(self.first_line(lane), lane))
    }

    /// The first line of a message, which has arrived on `lane`.
    #[inline]
    pub(crate) fn first_line(&self, lane: Lane) -> &[u8; RUN_LINE_BYTES] {
        match lane {
            Lane::Ring => self.bytes(),
            Lane::ReplySlot => self.reply_bytes(),
        }
    }

    /// The data that has come with the first line of a run of `length_bytes`: all of it on the
    /// reply slot.
    #[inline]
    pub(crate) fn first_data(&self, lane: Lane, length_bytes: usize) -> &[u8] {
        match lane {
            Lane::ReplySlot if length_bytes > INLINE_BYTES => self.reply_slot.data(length_bytes),
            lane => inline_data(self.first_line(lane), length_bytes.min(INLINE_BYTES)),
        }
    }

    /// Consumes the first line of a message; true if the producer was told.
    #[inline]
    pub(crate) fn consume_head(&mut self, lane: Lane) -> bool {
        match lane {
            Lane::Ring => self.consume_line(),
            Lane::ReplySlot => {
                self.reply_slot.take();
                false
            }
        }
    }

    /// True if a line has arrived.
    #[inline]
    pub(crate) fn ready(&self) -> bool {
        // Acquire: pairs with the Release store in `publish`; makes the line's data visible.
        self.line().seq.load(Ordering::Acquire) == self.lines.wrapping_add(1)
    }

    /// Data in a line that continues a run of which `left_bytes` are missing.
    #[inline]
    pub(crate) fn run_data(&self, left_bytes: usize) -> &[u8] {
        &self.bytes()[..left_bytes.min(RUN_LINE_BYTES)]
    }

    /// Copies the data of a line that continues a run, which has arrived, to `to`; says how many
    /// bytes that were. Whole lines are copied by a few moves of a fixed length.
    ///
    /// # Safety
    /// `left_bytes` bytes from `to` on can be written.
    #[inline]
    pub(crate) unsafe fn copy_run_line(&self, to: *mut u8, left_bytes: usize) -> usize {
        let data = self.bytes();
        if left_bytes >= RUN_LINE_BYTES {
            // SAFETY: a whole line fits, and no buffer overlaps the ring.
            unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to, RUN_LINE_BYTES) };
            return RUN_LINE_BYTES;
        }
        // SAFETY: as above, for the rest.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to, left_bytes) };
        left_bytes
    }

    /// Data of the chunk that the line which has arrived announces.
    pub(crate) fn chunk_data(&self) -> &[u8] {
        let bytes = self.bytes();
        debug_assert_eq!(kind(bytes), Kind::Chunk as u32);
        let chunk = &self.pair.chunks[(self.chunks % N_CHUNKS) as usize];
        // SAFETY: the chunk was published with its line, and the producer leaves it alone until it
        // is told that it was consumed, for which it takes `&mut self`.
        let data = chunk.bytes.with(|bytes| unsafe { &*bytes });
        &data[..length(bytes)]
    }

    /// Consumes a line; true if the producer was told (it may be waiting for that).
    #[inline]
    pub(crate) fn consume_line(&mut self) -> bool {
        self.lines = self.lines.wrapping_add(1);
        prefetch(&self.pair.lines[(self.lines.wrapping_add(AHEAD) % N_LINES) as usize]);
        let due = self.lines.wrapping_sub(self.lines_published) >= N_LINES / 4;
        if due {
            self.lines_published = self.lines;
            // Release: pairs with the Acquire load in Producer::look_for_lines; the lines were read.
            self.pair.credit.lines.store(self.lines, Ordering::Release);
        }
        due
    }

    /// Consumes a chunk and its line; true if the producer was told.
    pub(crate) fn consume_chunk(&mut self) -> bool {
        self.chunks = self.chunks.wrapping_add(1);
        let due = self.chunks.wrapping_sub(self.chunks_published) >= N_CHUNKS / 4;
        if due {
            self.chunks_published = self.chunks;
            // Release: pairs with the Acquire load in Producer::has_chunk; the chunks were read.
            self.pair.credit.chunks.store(self.chunks, Ordering::Release);
        }
        self.consume_line() || due
    }

    /// Rendezvous of this end with the producer over `ticket`.
    pub(crate) fn rendezvous(&self, ticket: Ticket) -> &'static Rendezvous {
        &self.pair.rendezvous[ticket.slot]
    }

    #[inline]
    fn line(&self) -> &'static Line {
        &self.pair.lines[(self.lines % N_LINES) as usize]
    }

    #[inline]
    fn reply_bytes(&self) -> &[u8; RUN_LINE_BYTES] {
        // SAFETY: called after its arrival; the peer leaves it alone until it is passed back.
        self.reply_slot.head().bytes.with(|bytes| unsafe { &*bytes })
    }

    #[inline]
    fn bytes(&self) -> &[u8; RUN_LINE_BYTES] {
        // SAFETY: called after `ready`; the producer leaves the line alone until it is told that
        // it was consumed, for which it takes `&mut self`.
        self.line().bytes.with(|bytes| unsafe { &*bytes })
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod lanes;

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
