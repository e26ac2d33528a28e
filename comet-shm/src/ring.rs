//! One direction between two ranks: lines and chunks from one producer to one consumer.
//!
//! A line at position p of the stream carries the sequence number p + 1, stored last. The consumer
//! waits for that number, so one cache line moves per short message, and nothing has to be cleared:
//! stale data never has the right number. The consumer publishes what it has consumed every quarter
//! of a ring, and the producer looks at that only when the ring seems full (lazy credit).

use std::ptr;
use std::sync::atomic::Ordering;

use comet_core::transport::Tag;

use crate::layout::{
    CHUNK_BYTES, INLINE_BYTES, Line, N_CHUNKS, N_LINES, N_RENDEZVOUS, Pair, RUN_BYTES,
    RUN_LINE_BYTES,
};

/// Bytes of a header after the sequence word: kind, flags, context, tag, length.
const HEADER_BYTES: usize = 12;

/// What the first line of a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) tag: Tag,
    pub(crate) length_bytes: usize,
    pub(crate) body: Body,
}

/// How the data of a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// In this line and those that follow it (up to 4 KiB).
    Run,
    /// In chunks of the payload ring, each announced by a line.
    Chunks,
    /// It lies in the sender's heap, to be copied from there.
    Heap {
        /// Offset from the start of the segment.
        offset: usize,
        /// Which rendezvous word to set, and to what, once the data is copied.
        ticket: Ticket,
    },
}

/// Names one heap message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) slot: usize,
    pub(crate) number: u64,
}

const KIND_RUN: u8 = 1;
const KIND_CHUNKS: u8 = 2;
const KIND_HEAP: u8 = 3;
const KIND_CHUNK: u8 = 4;

/// Lines that a message of `length_bytes` needs as a run.
pub(crate) fn run_lines(length_bytes: usize) -> u32 {
    debug_assert!(length_bytes <= RUN_BYTES);
    let more = length_bytes.saturating_sub(INLINE_BYTES).div_ceil(RUN_LINE_BYTES);
    1 + u32::try_from(more).expect("a run is short")
}

/// The sending end of a pair, in the memory of the producer.
pub(crate) struct Producer {
    pair: &'static Pair,
    /// Lines and chunks written so far, modulo 2^32.
    lines: u32,
    chunks: u32,
    /// What the consumer was last seen to have consumed.
    lines_consumed: u32,
    chunks_consumed: u32,
    /// Number of the latest heap message of each slot.
    tickets: [u64; N_RENDEZVOUS],
}

impl Producer {
    pub(crate) fn new(pair: &'static Pair) -> Self {
        let tickets = [0; N_RENDEZVOUS];
        Self { pair, lines: 0, chunks: 0, lines_consumed: 0, chunks_consumed: 0, tickets }
    }

    /// Whether `n_lines` lines can be written now.
    #[inline]
    pub(crate) fn has_lines(&mut self, n_lines: u32) -> bool {
        if self.lines.wrapping_sub(self.lines_consumed) + n_lines <= N_LINES {
            return true;
        }
        // Acquire: pairs with the Release store in Consumer::publish_lines; the consumer has read
        // the lines before they are overwritten.
        self.lines_consumed = self.pair.credit.lines.load(Ordering::Acquire);
        self.lines.wrapping_sub(self.lines_consumed) + n_lines <= N_LINES
    }

    /// Whether a chunk can be written now, with the line that announces it.
    pub(crate) fn has_chunk(&mut self) -> bool {
        if self.chunks.wrapping_sub(self.chunks_consumed) == N_CHUNKS {
            // Acquire: pairs with the Release store in Consumer::publish_chunks.
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
        unsafe { self.push_line(KIND_RUN, tag, length_bytes, message, first) };
        let mut sent = first;
        while sent < length_bytes {
            let n = (length_bytes - sent).min(RUN_LINE_BYTES);
            let (line, seq) = self.next_line();
            // SAFETY: `sent` is inside the message.
            let data = unsafe { message.add(sent) };
            // SAFETY: `n` bytes are left in the message and fit into the line, which is the
            // producer's until its sequence number is stored.
            unsafe { ptr::copy_nonoverlapping(data, line.bytes.get().cast(), n) };
            publish(line, seq);
            sent += n;
        }
    }

    /// Announces a message that follows in chunks; there is room for one line.
    pub(crate) fn push_chunked_head(&mut self, tag: Tag, length_bytes: usize) {
        let length = (length_bytes as u64).to_le_bytes();
        // SAFETY: `length` is readable for its own length.
        unsafe { self.push_line(KIND_CHUNKS, tag, 0, length.as_ptr(), length.len()) };
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
        unsafe { ptr::copy_nonoverlapping(data, chunk.bytes.get().cast(), n) };
        self.chunks = self.chunks.wrapping_add(1);
        // SAFETY: no bytes are read.
        unsafe { self.push_line(KIND_CHUNK, tag, n, ptr::null(), 0) };
    }

    /// Announces a message that lies at `offset` in this rank's heap; `None` if there is no room.
    pub(crate) fn push_heap(
        &mut self,
        tag: Tag,
        offset: usize,
        length_bytes: usize,
    ) -> Option<Ticket> {
        let is_free =
            |slot: &usize| self.is_copied(Ticket { slot: *slot, number: self.tickets[*slot] });
        let slot = (0..N_RENDEZVOUS).find(is_free)?;
        if !self.has_lines(1) {
            return None;
        }
        let number = self.tickets[slot] + 1;
        self.tickets[slot] = number;
        let words = [length_bytes as u64, offset as u64, slot as u64, number];
        let mut bytes = [0u8; 32];
        for (word, chunk) in words.iter().zip(bytes.as_chunks_mut().0) {
            *chunk = word.to_le_bytes();
        }
        // SAFETY: `bytes` is readable for its own length.
        unsafe { self.push_line(KIND_HEAP, tag, 0, bytes.as_ptr(), bytes.len()) };
        Some(Ticket { slot, number })
    }

    /// Whether the consumer has copied the heap message `ticket`, or a later one of its slot.
    pub(crate) fn is_copied(&self, ticket: Ticket) -> bool {
        // Acquire: pairs with the Release store in Consumer::finish_heap; the consumer has read
        // the message before the sender changes it.
        self.pair.rendezvous[ticket.slot].load(Ordering::Acquire) >= ticket.number
    }

    /// Writes a first line with `n` bytes of data.
    ///
    /// # Safety
    /// `n` is at most [`INLINE_BYTES`], and as many bytes from `data` on can be read.
    #[inline]
    unsafe fn push_line(&mut self, kind: u8, tag: Tag, length: usize, data: *const u8, n: usize) {
        debug_assert!(n <= INLINE_BYTES);
        let (line, seq) = self.next_line();
        let bytes = line.bytes.get().cast::<u8>();
        let length = u32::try_from(length).expect("longer messages say their length in the data");
        let mut header = [0u8; HEADER_BYTES];
        header[0] = kind;
        header[4..8].copy_from_slice(&u32::from(tag.value()).to_le_bytes());
        header[8..12].copy_from_slice(&length.to_le_bytes());
        // SAFETY: the header fits into the line, which is the producer's until it is published.
        unsafe { ptr::copy_nonoverlapping(header.as_ptr(), bytes, HEADER_BYTES) };
        if n > 0 {
            // SAFETY: the line is longer than its header.
            let place = unsafe { bytes.add(HEADER_BYTES) };
            // SAFETY: header and data fit into the line together.
            unsafe { ptr::copy_nonoverlapping(data, place, n) };
        }
        publish(line, seq);
    }

    #[inline]
    fn next_line(&mut self) -> (&'static Line, u32) {
        let line = &self.pair.lines[(self.lines % N_LINES) as usize];
        self.lines = self.lines.wrapping_add(1);
        (line, self.lines)
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
    /// Lines and chunks consumed so far, modulo 2^32.
    lines: u32,
    chunks: u32,
    /// What of it the producer was told.
    lines_published: u32,
    chunks_published: u32,
}

impl Consumer {
    pub(crate) fn new(pair: &'static Pair) -> Self {
        Self { pair, lines: 0, chunks: 0, lines_published: 0, chunks_published: 0 }
    }

    /// Whether a line has arrived.
    #[inline]
    pub(crate) fn ready(&self) -> bool {
        // Acquire: pairs with the Release store in `publish`; makes the line's data visible.
        self.line().seq.load(Ordering::Acquire) == self.lines.wrapping_add(1)
    }

    /// Reads the first line of a message, which has arrived ([`ready`](Self::ready)), without
    /// consuming it.
    #[inline]
    pub(crate) fn head(&self) -> Head {
        let bytes = self.bytes();
        let tag = Tag::from_wire(u16::from_le_bytes([bytes[4], bytes[5]]));
        let length = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize;
        let word = |index: usize| {
            let at = HEADER_BYTES + 8 * index;
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes make a word"))
        };
        let size = |index| usize::try_from(word(index)).expect("lengths and offsets fit");
        match bytes[0] {
            KIND_RUN => Head { tag, length_bytes: length, body: Body::Run },
            KIND_CHUNKS => Head { tag, length_bytes: size(0), body: Body::Chunks },
            KIND_HEAP => {
                let ticket = Ticket { slot: size(2), number: word(3) };
                Head { tag, length_bytes: size(0), body: Body::Heap { offset: size(1), ticket } }
            }
            kind => unreachable!("no message starts with a line of kind {kind}"),
        }
    }

    /// Data in the first line of a run of `length_bytes`.
    #[inline]
    pub(crate) fn head_data(&self, length_bytes: usize) -> &[u8] {
        &self.bytes()[HEADER_BYTES..HEADER_BYTES + length_bytes.min(INLINE_BYTES)]
    }

    /// Data in a line that continues a run of which `left_bytes` are missing.
    #[inline]
    pub(crate) fn run_data(&self, left_bytes: usize) -> &[u8] {
        &self.bytes()[..left_bytes.min(RUN_LINE_BYTES)]
    }

    /// Data of the chunk that the line which has arrived announces.
    pub(crate) fn chunk_data(&self) -> &[u8] {
        let bytes = self.bytes();
        debug_assert_eq!(bytes[0], KIND_CHUNK);
        let length = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize;
        let chunk = &self.pair.chunks[(self.chunks % N_CHUNKS) as usize];
        // SAFETY: the chunk was published with its line, and the producer leaves it alone until it
        // is told that it was consumed, for which it takes `&mut self`.
        let data = unsafe { &*chunk.bytes.get() };
        &data[..length]
    }

    /// Consumes a line; true if the producer was told (it may be waiting for that).
    #[inline]
    pub(crate) fn consume_line(&mut self) -> bool {
        self.lines = self.lines.wrapping_add(1);
        let due = self.lines.wrapping_sub(self.lines_published) >= N_LINES / 4;
        if due {
            self.lines_published = self.lines;
            // Release: pairs with the Acquire load in Producer::has_lines; the lines were read.
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

    /// Tells the producer that the heap message `ticket` was copied.
    pub(crate) fn finish_heap(&self, ticket: Ticket) {
        // Release: pairs with the Acquire load in Producer::is_copied; the message was read.
        self.pair.rendezvous[ticket.slot].store(ticket.number, Ordering::Release);
    }

    #[inline]
    fn line(&self) -> &'static Line {
        &self.pair.lines[(self.lines % N_LINES) as usize]
    }

    #[inline]
    fn bytes(&self) -> &[u8; RUN_LINE_BYTES] {
        // SAFETY: called after `ready`; the producer leaves the line alone until it is told that
        // it was consumed, for which it takes `&mut self`.
        unsafe { &*self.line().bytes.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const TAG: Tag = Tag::new(5);

    fn ring() -> (Producer, Consumer) {
        // SAFETY: a pair is valid when zeroed.
        let pair: Box<Pair> = unsafe { Box::<Pair>::new_zeroed().assume_init() };
        let pair: &'static Pair = Box::leak(pair);
        (Producer::new(pair), Consumer::new(pair))
    }

    /// Starts both ends just before the positions wrap around.
    fn near_wrap(start: u32) -> (Producer, Consumer) {
        let (mut producer, mut consumer) = ring();
        consumer.pair.credit.lines.store(start, Ordering::Relaxed);
        consumer.pair.credit.chunks.store(start, Ordering::Relaxed);
        (producer.lines, producer.lines_consumed) = (start, start);
        (producer.chunks, producer.chunks_consumed) = (start, start);
        (consumer.lines, consumer.lines_published) = (start, start);
        (consumer.chunks, consumer.chunks_published) = (start, start);
        (producer, consumer)
    }

    fn push_run(producer: &mut Producer, message: &[u8]) -> bool {
        let has_room = producer.has_lines(run_lines(message.len()));
        if has_room {
            // SAFETY: the slice is readable for its length.
            unsafe { producer.push_run(TAG, message.as_ptr(), message.len()) };
        }
        has_room
    }

    fn pop_run(consumer: &mut Consumer) -> Vec<u8> {
        assert!(consumer.ready());
        let head = consumer.head();
        assert_eq!((head.tag, head.body), (TAG, Body::Run));
        let mut message = consumer.head_data(head.length_bytes).to_vec();
        consumer.consume_line();
        while message.len() < head.length_bytes {
            assert!(consumer.ready());
            message.extend(consumer.run_data(head.length_bytes - message.len()));
            consumer.consume_line();
        }
        message
    }

    #[test]
    fn runs_of_every_length_arrive_in_order_also_across_the_wrap() {
        for start in [0, 1, u32::MAX - 300] {
            let (mut producer, mut consumer) = near_wrap(start);
            for length in 0..RUN_BYTES {
                let message: Vec<u8> =
                    (0..length).map(|i| (i * 7 + length).to_le_bytes()[0]).collect();
                assert!(push_run(&mut producer, &message), "{length} bytes");
                assert_eq!(pop_run(&mut consumer), message);
                assert!(!consumer.ready());
            }
        }
    }

    #[test]
    fn a_full_ring_takes_no_more_and_recovers() {
        let (mut producer, mut consumer) = near_wrap(u32::MAX - 100);
        let mut expected = VecDeque::new();
        for step in 0..2000u32 {
            let message = step.to_le_bytes();
            if step % 700 < 600 && push_run(&mut producer, &message) {
                expected.push_back(message);
            }
            assert!(expected.len() <= N_LINES as usize);
            if step % 3 == 0 && !expected.is_empty() {
                assert_eq!(pop_run(&mut consumer), expected.pop_front().unwrap());
            }
        }
        assert_eq!(consumer.ready(), !expected.is_empty());
    }

    #[test]
    fn chunks_carry_long_messages_and_are_reused() {
        let (mut producer, mut consumer) = near_wrap(u32::MAX - 20);
        for round in 0..100u8 {
            let data = vec![round; CHUNK_BYTES - usize::from(round)];
            assert!(producer.has_chunk());
            // SAFETY: the slice is readable for its length, which is that of a chunk at most.
            unsafe { producer.push_chunk(TAG, data.as_ptr(), data.len()) };
            assert!(consumer.ready());
            assert_eq!(consumer.chunk_data(), data);
            consumer.consume_chunk();
        }
        let n_free = (0..).take_while(|_| {
            let free = producer.has_chunk();
            if free {
                // SAFETY: one byte is readable.
                unsafe { producer.push_chunk(TAG, [1u8].as_ptr(), 1) };
            }
            free
        });
        // The consumer tells every quarter, so up to three consumed chunks are not yet known free.
        assert!((N_CHUNKS as usize - 3..=N_CHUNKS as usize).contains(&n_free.count()));
    }

    #[test]
    fn a_heap_message_is_done_when_its_ticket_is() {
        let (mut producer, mut consumer) = ring();
        let ticket = producer.push_heap(TAG, 4096, 1 << 33).unwrap();
        let head = consumer.head();
        assert_eq!(head.length_bytes, 1 << 33);
        assert_eq!(head.body, Body::Heap { offset: 4096, ticket });
        consumer.consume_line();
        assert!(!producer.is_copied(ticket));
        consumer.finish_heap(ticket);
        assert!(producer.is_copied(ticket));
        let tickets: Vec<_> = std::iter::from_fn(|| producer.push_heap(TAG, 0, 1)).collect();
        assert_eq!(tickets.len(), N_RENDEZVOUS);
        assert_ne!(tickets[0], ticket);
    }
}
