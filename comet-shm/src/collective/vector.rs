//! Sums of vectors: each rank adds up one slice of all vectors and writes it into all of them.
//!
//! Vectors in the heaps are added up where they lie. Others go through their ranks' cells, piece by
//! piece: two cells, so that one piece is copied in while the sum of another is made.
//!
//! ```text
//!   short   copy in; meet; each adds up all cells
//!   long    copy in piece 0; meet
//!           for each piece: add up own slice into all vectors; copy in the next piece; meet;
//!                           copy out
//! ```
//!
//! Between the two meetings around a piece every element has one rank that reads and writes it, in
//! all vectors. One rank adds it up, in rank order: all find the same bits, on every run.
//!
//! A cell is written again after a meeting that its last readers have come to: two pieces later.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;

use comet_core::error::Result;
use comet_core::transport::Rank;

use crate::engine::Engine;
use crate::failure::{is_out, outlast};
use crate::layout::{CELL_VALUES, N_CELLS};
use crate::segment::Segment;

use super::meeting::Meeting;
use super::require_same_length;

/// Up to this length each rank adds up all: one meeting costs more than reading what is there.
const SHORT_VALUES: usize = 128;
/// Values that are added up at once, to stay in the first cache.
const BLOCK_VALUES: usize = 512;
/// Values in a cache line: no two ranks write to one.
const LINE_VALUES: usize = 8;

/// One rank's part in the sums of vectors.
pub(crate) struct Vectors {
    segment: &'static Segment,
    rank: Rank,
    /// Number of pieces so far; they use the cells in turn.
    n_pieces: Cell<usize>,
}

/// This rank's vector, in a sum that is being made.
struct Own {
    start: *mut f64,
    length: usize,
    /// Offset in the heaps, if it lies there.
    offset: Option<usize>,
}

/// The piece of at most `n` values that begins at `start`, of a vector that ends at `end`.
fn piece_from(start: usize, n: usize, end: usize) -> Range<usize> {
    start..(start + n).min(end)
}

impl Vectors {
    pub(crate) fn new(segment: &'static Segment, rank: Rank) -> Self {
        Self { segment, rank, n_pieces: Cell::new(0) }
    }

    /// Replaces each element by its sum over all ranks, added up in rank order.
    pub(crate) fn sum(&self, values: &mut [f64], meeting: &Meeting, engine: &Engine) -> Result<()> {
        if values.len() <= SHORT_VALUES {
            self.sum_short(values, meeting, engine)
        } else {
            self.sum_long(values, meeting, engine)
        }
    }

    fn sum_short(&self, values: &mut [f64], meeting: &Meeting, engine: &Engine) -> Result<()> {
        let cell = self.begin_pieces(1);
        let (from, length) = (values.as_ptr(), values.len());
        // SAFETY: short values fit; the cell's last readers have come to a later meeting, which is
        // over.
        unsafe { ptr::copy_nonoverlapping(from, self.cell(self.rank, cell), length) };
        self.meet(0, length * size_of::<f64>(), meeting, engine)?;
        for rank in 0..self.segment.n_ranks() {
            self.segment.cells(rank).values[cell].with(|others| {
                // SAFETY: as many values lie in each cell, which is written again only after the
                // next meeting.
                let others = unsafe { std::slice::from_raw_parts(others.cast(), length) };
                // Rank 0's values replace, the others' add: every rank forms the same sum.
                for (value, other) in values.iter_mut().zip(others) {
                    *value = if rank == 0 { *other } else { *value + other };
                }
            });
        }
        Ok(())
    }

    fn sum_long(&self, values: &mut [f64], meeting: &Meeting, engine: &Engine) -> Result<()> {
        let own = self.own(values);
        let mut cell = self.begin_pieces(own.length.div_ceil(CELL_VALUES));
        self.copy_in(&own, piece_from(0, CELL_VALUES, own.length), cell);
        let first = meeting.number() + 1;
        let length_bytes = own.length * size_of::<f64>();
        let met = self.meet(own.offset.unwrap_or(0), length_bytes, meeting, engine);
        let number = met.inspect_err(|_| self.outlast_slices(&own, first + 1, meeting))?;
        let offset = |rank| meeting.line(rank, number).brought();
        let n_ranks = self.segment.n_ranks();
        // Nothing needs pieces if no vector needs cells.
        let needs_cells = (0..n_ranks).any(|rank| offset(rank) == 0);
        let step = if needs_cells { CELL_VALUES } else { own.length };
        for start in (0..own.length).step_by(step) {
            let piece = piece_from(start, step, own.length);
            let vector = |rank| self.vector(rank, offset(rank), &piece, cell);
            // SAFETY: between two meetings, this slice is this rank's in the pieces of all.
            unsafe { add_up(vector, n_ranks, self.slice(piece.len())) };
            let next_cell = (cell + 1) % N_CELLS;
            self.copy_in(&own, piece_from(piece.end, CELL_VALUES, own.length), next_cell);
            let next = meeting.begin();
            let met = meeting.hold(next, engine);
            met.inspect_err(|_| self.outlast_slices(&own, next, meeting))?;
            self.copy_out(&own, piece, cell);
            cell = next_cell;
        }
        Ok(())
    }

    /// After a failure: waits until no rank adds its slice to this rank's vector any more, that is
    /// until each has come to meeting `next`, or is out.
    fn outlast_slices(&self, own: &Own, next: u64, meeting: &Meeting) {
        let is_done = |rank: Rank| {
            rank == self.rank
                || meeting.line(rank, next).has_reached(next)
                || is_out(self.segment, rank)
        };
        if own.offset.is_some() {
            outlast(|| (0..self.segment.n_ranks()).all(is_done));
        }
    }

    /// This rank's vector as other ranks will find it.
    fn own(&self, values: &mut [f64]) -> Own {
        let (length, length_bytes) = (values.len(), size_of_val(values));
        let start = values.as_mut_ptr();
        // Other ranks may write to it, which the compiler has to expect from here on.
        let _ = start.expose_provenance();
        Own { start, length, offset: self.segment.heap_offset(start.cast(), length_bytes) }
    }

    pub(super) fn segment(&self) -> &'static Segment {
        self.segment
    }

    pub(super) fn rank(&self) -> Rank {
        self.rank
    }

    pub(super) fn n_ranks(&self) -> usize {
        self.segment.n_ranks()
    }

    /// Counts `n` more pieces; the cell of the first of them.
    pub(super) fn begin_pieces(&self, n: usize) -> usize {
        let first = self.n_pieces.get();
        self.n_pieces.set(first.wrapping_add(n));
        first % N_CELLS
    }

    /// The first meeting of an operation, after which all vectors are known; its number.
    pub(super) fn meet(
        &self,
        offset: usize,
        length_bytes: usize,
        meeting: &Meeting,
        engine: &Engine,
    ) -> Result<u64> {
        let number = meeting.begin();
        let own = meeting.line(self.rank, number);
        own.bring(offset as u64);
        own.bring_length(length_bytes);
        meeting.hold(number, engine)?;
        for rank in 0..self.segment.n_ranks() {
            let found_bytes = meeting.line(rank, number).brought_length();
            require_same_length((rank, found_bytes), (self.rank, length_bytes), engine)?;
        }
        Ok(number)
    }

    /// Copies values into this rank's cell, unless they lie in the heaps.
    fn copy_in(&self, own: &Own, piece: Range<usize>, cell: usize) {
        if own.offset.is_none() {
            let (from, to) = (own.start.wrapping_add(piece.start), self.cell(self.rank, cell));
            // SAFETY: a piece of the vector, which fits; nobody reads the cell until the next
            // meeting.
            unsafe { ptr::copy_nonoverlapping(from, to, piece.len()) };
        }
    }

    /// Copies sums out of this rank's cell, unless they are where they belong.
    fn copy_out(&self, own: &Own, piece: Range<usize>, cell: usize) {
        if own.offset.is_none() {
            let (from, to) = (self.cell(self.rank, cell), own.start.wrapping_add(piece.start));
            // SAFETY: a piece of the vector, which is this rank's alone; after the meeting nobody
            // writes to the cell.
            unsafe { ptr::copy_nonoverlapping(from, to, piece.len()) };
        }
    }

    /// A piece of the vector of `rank`, which lies at `offset` in the heaps or in a cell.
    fn vector(&self, rank: Rank, offset: u64, piece: &Range<usize>, cell: usize) -> *mut f64 {
        if offset == 0 {
            return self.cell(rank, cell);
        }
        let at = usize::try_from(offset).expect("offsets are of this machine")
            + piece.start * size_of::<f64>();
        self.segment.heap_pointer(at, piece.len() * size_of::<f64>()).cast_mut().cast()
    }

    pub(super) fn cell(&self, rank: Rank, cell: usize) -> *mut f64 {
        self.segment.cells(rank).values[cell].with_mut(<*mut _>::cast)
    }

    /// The slice of a piece of `length` values that this rank adds up.
    fn slice(&self, length: usize) -> Range<usize> {
        let share = length.div_ceil(self.segment.n_ranks()).next_multiple_of(LINE_VALUES);
        let start = (self.rank * share).min(length);
        start..(start + share).min(length)
    }
}

/// Adds up `slice` of the vectors of all ranks in rank order, and writes the sums into all of them.
///
/// # Safety
/// The slice lies in every vector, which are separate, and nobody else touches it meanwhile.
unsafe fn add_up(vector: impl Fn(Rank) -> *mut f64, n_ranks: usize, slice: Range<usize>) {
    let mut sums = [0.0f64; BLOCK_VALUES];
    for start in slice.clone().step_by(BLOCK_VALUES) {
        let sums = &mut sums[..BLOCK_VALUES.min(slice.end - start)];
        let (place, length) = (sums.as_mut_ptr(), sums.len());
        let block = |rank| vector(rank).wrapping_add(start);
        // SAFETY: the block lies in the slice, and `sums` is as long.
        unsafe { ptr::copy_nonoverlapping(block(0), place, length) };
        for rank in 1..n_ranks {
            // SAFETY: the block lies in the slice, which nobody else touches.
            let values = unsafe { std::slice::from_raw_parts(block(rank), length) };
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        for rank in 0..n_ranks {
            // SAFETY: the block lies in the slice, and `sums` is as long.
            unsafe { ptr::copy_nonoverlapping(sums.as_ptr(), block(rank), length) };
        }
    }
}
