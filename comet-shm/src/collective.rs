//! Barrier, sums and broadcast through the collective lines: every rank publishes on its own line
//! and reads the lines of the others.
//!
//! All ranks call the collectives in the same order, so each step has a number that all ranks
//! count alike. A rank publishes step s by storing s on its line, and says with `done` that it has
//! finished s, reading included. Steps use the places for values and pieces in turn, and a place is
//! written only after every rank is done with the last step that could have used it.
//!
//! ```text
//!   barrier       publish; wait until all have published
//!   sum           value, publish; wait until all have published; add up in rank order; done
//!   broadcast     root: piece, publish; others: wait until the root has published, copy; done
//! ```

use std::cell::Cell;
use std::sync::atomic::Ordering;

use comet_core::error::{Result, TransportErrorKind};
use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;

use crate::engine::Engine;
use crate::layout::{CELL_BYTES, N_CELLS};
use crate::segment::Segment;

/// Value slots of a collective line, used by steps in turn.
const N_VALUES: u64 = 2;

/// Types whose memory is all data, without padding.
trait PlainNumber: Copy {}
impl PlainNumber for u8 {}
impl PlainNumber for f64 {}

/// One rank's part in the collectives.
pub(crate) struct Collectives {
    segment: &'static Segment,
    rank: Rank,
    /// Number of the latest step begun.
    step: Cell<u64>,
    /// A step that all ranks were seen to be done with.
    all_done: Cell<u64>,
}

impl Collectives {
    pub(crate) fn new(segment: &'static Segment, rank: Rank) -> Self {
        Self { segment, rank, step: Cell::new(0), all_done: Cell::new(0) }
    }

    /// Waits until every rank is here.
    pub(crate) fn barrier(&self, engine: &Engine) -> Result<()> {
        let step = self.begin();
        self.publish(step, engine);
        self.await_all(step, engine)?;
        self.finish(step);
        Ok(())
    }

    /// The sum of `value` over all ranks, added up in rank order on each.
    pub(crate) fn sum(&self, value: f64, engine: &Engine) -> Result<f64> {
        let step = self.begin();
        let slot = usize::from(step % 2 == 1);
        self.await_done(step.saturating_sub(N_VALUES), engine)?;
        let line = |rank| &self.segment.control(rank).collective;
        // Relaxed: published by the Release store in `publish`.
        line(self.rank).values[slot].store(value.to_bits(), Ordering::Relaxed);
        self.publish(step, engine);
        self.await_all(step, engine)?;
        let value_of = |rank| f64::from_bits(line(rank).values[slot].load(Ordering::Relaxed));
        let sum = (1..self.segment.n_ranks()).fold(value_of(0), |sum, rank| sum + value_of(rank));
        self.finish(step);
        Ok(sum)
    }

    /// Replaces each element by its sum over all ranks, added up in rank order on each.
    pub(crate) fn sum_vector(&self, values: &mut [f64], engine: &Engine) -> Result<()> {
        let total_bytes = size_of_val(values);
        if values.is_empty() {
            // One empty piece, or the ranks would lose count of the steps if they disagreed.
            return self.sum_piece(values, total_bytes, engine);
        }
        let mut pieces = values.chunks_mut(CELL_BYTES / size_of::<f64>());
        pieces.try_for_each(|piece| self.sum_piece(piece, total_bytes, engine))
    }

    fn sum_piece(&self, piece: &mut [f64], total_bytes: usize, engine: &Engine) -> Result<()> {
        let step = self.begin();
        self.write_cell(step, piece, total_bytes, engine)?;
        self.publish(step, engine);
        self.await_all(step, engine)?;
        for rank in 0..self.segment.n_ranks() {
            let bytes = self.read_cell(rank, step, size_of_val(piece), total_bytes, engine)?;
            let others = bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes));
            // Rank 0's values replace, the others' add: every rank forms the same sum.
            for (value, other) in piece.iter_mut().zip(others) {
                *value = if rank == 0 { other } else { *value + other };
            }
        }
        self.finish(step);
        Ok(())
    }

    /// Copies `message` of `root` to all other ranks.
    pub(crate) fn broadcast(&self, root: Rank, message: &mut [u8], engine: &Engine) -> Result<()> {
        let total_bytes = message.len();
        let mut at = 0;
        // An empty message is one empty piece.
        loop {
            let end = (at + CELL_BYTES).min(total_bytes);
            self.broadcast_piece(root, &mut message[at..end], total_bytes, engine)?;
            at = end;
            if at == total_bytes {
                return Ok(());
            }
        }
    }

    fn broadcast_piece(
        &self,
        root: Rank,
        piece: &mut [u8],
        total_bytes: usize,
        engine: &Engine,
    ) -> Result<()> {
        let step = self.begin();
        if self.rank == root {
            self.write_cell(step, piece, total_bytes, engine)?;
            self.publish(step, engine);
            self.finish(step);
            return Ok(());
        }
        self.await_published(root, step, engine)?;
        piece.copy_from_slice(self.read_cell(root, step, piece.len(), total_bytes, engine)?);
        self.finish(step);
        // Nothing is published here, but the root may wait for this to use the piece again.
        engine.waiter.wake(root);
        Ok(())
    }

    fn begin(&self) -> u64 {
        self.step.set(self.step.get() + 1);
        self.step.get()
    }

    /// Tells the others that this rank's part of `step` is there.
    fn publish(&self, step: u64, engine: &Engine) {
        let line = &self.segment.control(self.rank).collective;
        // Release: pairs with the Acquire loads of `published`; publishes values and pieces.
        line.published.store(step, Ordering::Release);
        engine.waiter.wake_all();
    }

    fn await_all(&self, step: u64, engine: &Engine) -> Result<()> {
        (0..self.segment.n_ranks()).try_for_each(|rank| self.await_published(rank, step, engine))
    }

    fn await_published(&self, rank: Rank, step: u64, engine: &Engine) -> Result<()> {
        let line = &self.segment.control(rank).collective;
        // Acquire: pairs with the Release store in `publish`.
        let is_there = || line.published.load(Ordering::Acquire) >= step;
        if is_there() {
            Ok(())
        } else {
            engine.until(|| Waiting::Collective(Source::Rank(rank)), is_there)
        }
    }

    /// Says that this rank is done with `step`.
    fn finish(&self, step: u64) {
        // Release: pairs with the Acquire load in `await_done`; all reading of the step is over.
        self.segment.control(self.rank).collective.done.store(step, Ordering::Release);
    }

    /// Waits until every other rank is done with `step`, so that a place it used is free.
    fn await_done(&self, step: u64, engine: &Engine) -> Result<()> {
        if self.all_done.get() >= step {
            return Ok(());
        }
        for rank in (0..self.segment.n_ranks()).filter(|rank| *rank != self.rank) {
            let line = &self.segment.control(rank).collective;
            // Acquire: pairs with the Release store in `finish`.
            let is_done = || line.done.load(Ordering::Acquire) >= step;
            if !is_done() {
                engine.until(|| Waiting::Collective(Source::Rank(rank)), is_done)?;
            }
        }
        self.all_done.set(step);
        Ok(())
    }

    /// Writes a piece of plain numbers into this rank's cell for `step`, once it is free.
    fn write_cell<V: PlainNumber>(
        &self,
        step: u64,
        piece: &[V],
        total_bytes: usize,
        engine: &Engine,
    ) -> Result<()> {
        self.await_done(step.saturating_sub(N_CELLS as u64), engine)?;
        let (cells, cell) = (self.segment.cells(self.rank), cell_of(step));
        // Relaxed: published with the piece by the Release store in `publish`.
        cells.length_bytes[cell].store(total_bytes as u64, Ordering::Relaxed);
        let place = cells.data.get().cast::<u8>().wrapping_add(cell * CELL_BYTES);
        let length_bytes = size_of_val(piece);
        debug_assert!(length_bytes <= CELL_BYTES);
        // SAFETY: a piece is at most CELL_BYTES long, and its numbers have no padding; all others
        // are done with every step that used this cell before.
        unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr().cast(), place, length_bytes) };
        Ok(())
    }

    /// The piece of `rank` for `step`, which it has published; its whole message must be as long
    /// as this rank's.
    fn read_cell(
        &self,
        rank: Rank,
        step: u64,
        length_bytes: usize,
        total_bytes: usize,
        engine: &Engine,
    ) -> Result<&[u8]> {
        let (cells, cell) = (self.segment.cells(rank), cell_of(step));
        let found_bytes = cells.length_bytes[cell].load(Ordering::Relaxed);
        if found_bytes != total_bytes as u64 {
            let text = format!(
                "the ranks of a collective disagree about its length: rank {rank} says \
                 {found_bytes} bytes, rank {} {total_bytes}",
                self.rank
            );
            return Err(engine.waiter.give_up(TransportErrorKind::Disagreement, text));
        }
        let place = cells.data.get().cast::<u8>().wrapping_add(cell * CELL_BYTES);
        // SAFETY: a piece is at most CELL_BYTES long, and its owner writes the cell again only when
        // this rank is done with the step.
        Ok(unsafe { std::slice::from_raw_parts(place, length_bytes) })
    }
}

/// The piece that `step` uses.
fn cell_of(step: u64) -> usize {
    usize::try_from(step % N_CELLS as u64).expect("there are few pieces")
}
