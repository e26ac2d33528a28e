//! The stream of broadcasts: lines that the root of each message writes and all other ranks read.
//!
//! All ranks follow the stream, so they agree on where in it the next piece goes, whoever is its
//! root. A root runs ahead of the others until a line, or a place in the ring, would be used again
//! that not all have told to be done with. They tell it once every quarter of a ring, so that a
//! short broadcast costs one line from core to core, and one pass of the scheduler serves many.

use std::cell::Cell;

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::Rank;

use crate::engine::Engine;
use crate::layout::{BROADCAST_RING_BYTES, BroadcastCredit, BroadcastLine, N_BROADCASTS};
use crate::segment::Segment;
use crate::sync::Ordering;

use super::{length_disagreement, wait_for};

/// Lines of the ring, as the stream counts.
const RING_LINES: u64 = N_BROADCASTS as u64;
/// Bytes of the ring, as the stream counts.
const RING_BYTES: u64 = BROADCAST_RING_BYTES as u64;
/// Pieces begin at a cache line.
const ALIGN_BYTES: u64 = 64;

/// A place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Lines so far.
    pub(crate) lines: u64,
    /// Bytes of the ring so far, with those that were left out at its end.
    bytes: u64,
}

impl Position {
    const START: Self = Self { lines: 0, bytes: 0 };

    /// Start of a piece of `n` in the stream of bytes: it does not go over the ring's end.
    fn start_of(self, n: u64) -> u64 {
        let left = RING_BYTES - self.bytes % RING_BYTES;
        if n <= left { self.bytes } else { self.bytes + left }
    }

    /// The position after one more line, and a piece of `n` bytes in the ring.
    pub(crate) fn after(self, n: usize) -> Self {
        let n = n as u64;
        let end = self.start_of(n) + n.next_multiple_of(ALIGN_BYTES);
        Self { lines: self.lines + 1, bytes: end }
    }

    /// Position that all ranks must have reached before a piece that ends here may be written.
    fn needs(self) -> Self {
        let lines = self.lines.saturating_sub(RING_LINES);
        Self { lines, bytes: self.bytes.saturating_sub(RING_BYTES) }
    }

    fn covers(self, other: Self) -> bool {
        self.lines >= other.lines && self.bytes >= other.bytes
    }

    /// Quarters of the lines and of the ring at this position.
    fn quarters(self) -> (u64, u64) {
        (self.lines / RING_LINES.div_ceil(4), self.bytes / (RING_BYTES / 4))
    }
}

/// One rank's place in the stream.
pub(crate) struct Stream {
    segment: &'static Segment,
    rank: Rank,
    position: Cell<Position>,
    /// A position that all others were seen to be done with.
    all_done: Cell<Position>,
}

impl Stream {
    pub(crate) fn new(segment: &'static Segment, rank: Rank) -> Self {
        let (position, all_done) = (Cell::new(Position::START), Cell::new(Position::START));
        Self { segment, rank, position, all_done }
    }

    /// Position of this rank.
    #[inline]
    pub(crate) fn position(&self) -> Position {
        self.position.get()
    }

    /// The line that ends at `end`.
    #[inline]
    pub(crate) fn line(&self, end: Position) -> &'static BroadcastLine {
        let index = end.lines % RING_LINES;
        &self.segment.broadcasts().lines[usize::try_from(index).expect("there are few lines")]
    }

    /// Address in the ring of a piece of `n` bytes at `at`.
    pub(crate) fn place(&self, at: Position, n: usize) -> *mut u8 {
        let start = at.start_of(n as u64) % RING_BYTES;
        let start = usize::try_from(start).expect("the ring lies in memory");
        self.segment.broadcasts().bytes.with_mut(<*mut _>::cast::<u8>).wrapping_add(start)
    }

    /// The root's: waits until what ends at `end` may be written.
    #[inline]
    pub(crate) fn await_room(&self, end: Position, engine: &Engine) -> Result<()> {
        if self.all_done.get().covers(end.needs()) {
            return Ok(());
        }
        self.look_for_room(end.needs(), engine)
    }

    fn look_for_room(&self, needed: Position, engine: &Engine) -> Result<()> {
        let mut all_done = Position { lines: u64::MAX, bytes: u64::MAX };
        for rank in (0..self.segment.n_ranks()).filter(|rank| *rank != self.rank) {
            let credit = &self.segment.control(rank).broadcast;
            wait_for(rank, || credit.position().covers(needed), engine.waiter.n_spins(), engine)?;
            let Position { lines, bytes } = credit.position();
            all_done.lines = all_done.lines.min(lines);
            all_done.bytes = all_done.bytes.min(bytes);
        }
        self.all_done.set(all_done);
        Ok(())
    }

    /// The root's: publishes the line that ends at `end`; it goes on with `advance` when it is done
    /// with all that belongs to it.
    #[inline]
    pub(crate) fn publish(&self, end: Position, length_bytes: usize, place: u64, engine: &Engine) {
        let line = self.line(end);
        let root = u32::try_from(self.rank).expect("there are few ranks");
        // Relaxed: published by the Release store below.
        line.root.store(root, Ordering::Relaxed);
        line.length_bytes.store(length_bytes as u64, Ordering::Relaxed);
        line.place.store(place, Ordering::Relaxed);
        // Release: pairs with the Acquire load in `await_line`; publishes the line and its piece.
        line.seq.store(sequence(end), Ordering::Release);
        engine.waiter.wake_all();
    }

    /// Waits until `root` has published the line that ends at `end`.
    #[inline]
    pub(crate) fn await_line(
        &self,
        root: Rank,
        end: Position,
        length_bytes: usize,
        engine: &Engine,
    ) -> Result<&'static BroadcastLine> {
        let line = self.line(end);
        // Acquire: pairs with the Release store in `publish`.
        let is_there = || line.seq.load(Ordering::Acquire) == sequence(end);
        if !is_there() {
            wait_for(root, is_there, engine.waiter.n_spins(), engine)?;
        }
        let found_root = line.root.load(Ordering::Relaxed) as Rank;
        if found_root != root {
            return Err(self.disagree(found_root, root, engine));
        }
        let found_bytes = line.length_bytes.load(Ordering::Relaxed);
        let length_bytes = length_bytes as u64;
        if found_bytes != length_bytes {
            let own = (self.rank, length_bytes);
            return Err(length_disagreement((root, found_bytes), own, engine));
        }
        Ok(line)
    }

    #[cold]
    fn disagree(&self, found: Rank, root: Rank, engine: &Engine) -> TransportError {
        let text = format!(
            "the ranks of a broadcast disagree about its root: rank {found} says that it is, rank \
             {} that rank {root} is",
            self.rank
        );
        engine.waiter.give_up(TransportErrorKind::Disagreement, text)
    }

    /// Goes on to `end`, and tells the others in a new quarter.
    #[inline]
    pub(crate) fn advance(&self, end: Position, engine: &Engine) {
        let quarters = self.position.replace(end).quarters();
        if quarters != end.quarters() {
            self.tell(engine);
        }
    }

    /// Tells the others how far this rank is.
    pub(crate) fn tell(&self, engine: &Engine) {
        self.segment.control(self.rank).broadcast.set(self.position.get());
        // Whoever is the next root may wait for it.
        engine.waiter.wake_all();
    }

    /// Waits until `rank` has told that it is done with line number `line`.
    pub(crate) fn await_told(&self, rank: Rank, line: u64, engine: &Engine) -> Result<()> {
        let credit = &self.segment.control(rank).broadcast;
        wait_for(rank, || credit.position().lines >= line, engine.waiter.n_spins(), engine)
    }
}

impl BroadcastCredit {
    fn set(&self, position: Position) {
        // Release: both pair with the Acquire loads in `position`; all reading up to there is over.
        self.lines.store(position.lines, Ordering::Release);
        self.bytes.store(position.bytes, Ordering::Release);
    }

    /// Each count is true by itself; they may be of different moments.
    fn position(&self) -> Position {
        // Acquire: both pair with the Release stores in `set`; what was read there is written only
        // now.
        let lines = self.lines.load(Ordering::Acquire);
        Position { lines, bytes: self.bytes.load(Ordering::Acquire) }
    }
}

/// The sequence word of the line that ends at `end`.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32 is meant")]
fn sequence(end: Position) -> u32 {
    end.lines as u32
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_begins_at_a_line_and_never_goes_over_the_end_of_the_ring() {
        let mut position = Position::START;
        for n in (1..2000usize).map(|i| i * 7919 % 16_385) {
            let end = position.after(n);
            let n = n as u64;
            let start = position.start_of(n);
            assert_eq!(start % ALIGN_BYTES, 0);
            assert!(start % RING_BYTES + n <= RING_BYTES, "{position:?} {n}");
            assert!(start >= position.bytes && end.bytes >= start + n);
            position = end;
        }
    }

    #[test]
    fn a_root_may_be_a_ring_ahead_and_no_more() {
        let end = Position { lines: RING_LINES, bytes: RING_BYTES };
        assert!(Position::START.covers(end.needs()));
        assert!(!Position::START.covers(end.after(0).needs()));
        assert!(!Position::START.covers(Position { lines: 1, ..end }.after(1).needs()));
    }

    #[test]
    fn a_root_that_waits_for_room_waits_for_a_quarter_that_will_be_told() {
        // What a rank has not told is less than a quarter and one piece.
        let untold = Position { lines: RING_LINES / 4, bytes: RING_BYTES / 4 + 16 * 1024 };
        let end = Position { lines: 10 * RING_LINES, bytes: 10 * RING_BYTES };
        let told = Position { lines: end.lines - untold.lines, bytes: end.bytes - untold.bytes };
        assert!(told.covers(end.after(16 * 1024).needs()));
    }
}
