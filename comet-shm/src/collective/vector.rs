//! Reductions: vectors of all ranks, combined element by element in rank order, so that all find the
//! same bits, on every run.
//!
//! ```text
//!   short   copy the vector into the cell; meet; each that gets a result combines all cells
//!   long    bring where vector and result lie; meet
//!           for each piece: combine own slice of all vectors, into the results of all; meet
//! ```
//!
//! Vectors in the heaps are one piece, and are combined where they lie. Where one is out of reach, all
//! go piece by piece: it is copied into its rank's cell before the meeting, and the result out of
//! the cell after the next one.
//!
//! Between the two meetings around a piece every element has one rank that reads and writes it, in
//! all vectors and results. So a result may take the place of its vector.

use std::ops::Range;
use std::ptr;

use comet_core::collective::Kind;
use comet_core::error::Result;
use comet_core::transport::Rank;

use crate::layout::CELL_BYTES;

use super::{Act, Part, Spot};

/// Up to this length each rank combines all, where it has a core: one meeting costs more than reading
/// what is there.
const SHORT_BYTES: usize = if cfg!(loom) { 16 } else { 1024 };
/// Bytes of cells that each rank reads in place of a meeting, where ranks share cores.
const SHORT_SHARED_BYTES: usize = 2 * CELL_BYTES;
/// Bytes that are combined at once, to stay in the first cache.
const BLOCK_BYTES: usize = 4096;
/// Bytes of a cache line: no two ranks write to one.
const LINE_BYTES: usize = 64;

/// Memory for what is combined at once, and for what it was before.
pub(super) type Blocks = [[u8; BLOCK_BYTES]; 2];

/// This rank's vector and result, in a reduction that is being made.
struct Own {
    from: *const u8,
    into: *mut u8,
    /// Their places for the others; the result is none of the others' where only its owner writes it.
    spots: [Spot; 2],
}

impl Own {
    fn is_lent(&self) -> bool {
        self.spots.into_iter().any(Spot::is_in_heap)
    }
}

/// The piece of at most `n` bytes that begins at `start`, of a vector that ends at `end`.
fn piece_from(start: usize, n: usize, end: usize) -> Range<usize> {
    start..(start + n).min(end)
}

/// Intersection of `a` and `b`.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl Part<'_> {
    /// Carries a reduction out.
    pub(super) fn reduce(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        if self.length_bytes() <= self.short_bytes() {
            self.reduce_short(input, output)
        } else {
            self.reduce_long(input, output)
        }
    }

    /// Length up to which each rank that gets a result combines it by itself; the same on all ranks.
    fn short_bytes(&self) -> usize {
        let has_core_each = self.engine.waiter.has_core_each();
        match self.call.kind() {
            Kind::Allreduce if has_core_each => SHORT_BYTES,
            // Each reads a part only.
            Kind::ReduceScatter if has_core_each => 2 * SHORT_BYTES,
            // Some wait for nobody.
            _ if has_core_each => 4 * SHORT_BYTES,
            Kind::Reduce | Kind::ReduceScatter => CELL_BYTES,
            _ => (SHORT_SHARED_BYTES / self.n_ranks()).min(CELL_BYTES),
        }
    }

    fn reduce_short(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let length = self.length_bytes();
        let number = self.meeting.begin(self.engine)?;
        let is_in_place = self.call.is_in_place_on(self.rank);
        self.put(number, 0, if is_in_place { &output[..length] } else { &input[..length] });
        let sources = self.sources();
        self.meet(number, sources.clone(), Act::of(self.call, length))?;
        let part = if sources.is_empty() { 0..0 } else { self.own_part() };
        let sums = &mut self.blocks.borrow_mut()[0];
        for start in part.clone().step_by(BLOCK_BYTES) {
            let block = piece_from(start, BLOCK_BYTES, part.end);
            let sums = &mut sums[..block.len()];
            for rank in sources.clone() {
                let is_first = rank == sources.start;
                if rank == self.rank {
                    let own =
                        if is_in_place { &output[block.clone()] } else { &input[block.clone()] };
                    self.add(own, sums, is_first);
                    continue;
                }
                self.look(number, (rank, Spot::Cell), block.clone(), |vector| {
                    // SAFETY: as many bytes lie in each cell, since all have the same length, and are
                    // written again only after this rank has come to the next meeting.
                    let vector = unsafe { std::slice::from_raw_parts(vector, block.len()) };
                    self.add(vector, sums, is_first);
                });
            }
            // In place, the part of this rank moves to the front, block by block.
            output[start - part.start..][..block.len()].copy_from_slice(sums);
        }
        Ok(())
    }

    /// Combines `sums` with `vector`, or replaces them by the first: every rank forms the same.
    fn add(&self, vector: &[u8], sums: &mut [u8], is_first: bool) {
        match is_first {
            true => sums.copy_from_slice(vector),
            false => self.call.by().combine(sums, vector),
        }
    }

    fn reduce_long(&self, input: &[u8], output: &mut [u8]) -> Result<()> {
        let (length, all) = (self.length_bytes(), self.meeting.all());
        let own = self.own_vector(input, output);
        let first = self.meeting.begin(self.engine)?;
        self.copy_in(&own, piece_from(0, CELL_BYTES, length), first);
        let [from, into] = own.spots.map(Spot::pack);
        self.own_board(first).bring_from(from);
        self.own_board(first).bring_into(into);
        let met = self.meet(first, all.clone(), Act::of(self.call, length));
        self.outlasting(own.is_lent(), first + 1, met)?;
        // They stay as they are until all have come to the last meeting.
        let spots = |rank| {
            if rank == self.rank {
                return own.spots;
            }
            let board = self.meeting.board(rank, first);
            [board.brought_from(), board.brought_into()].map(Spot::unpack)
        };
        // Nothing needs pieces if nothing goes through cells.
        let needs_cells = all.clone().any(|rank| spots(rank).contains(&Spot::Cell));
        let step = if needs_cells { CELL_BYTES } else { length };
        let last = first + length.div_ceil(step) as u64;
        let mut number = first;
        for start in (0..length).step_by(step) {
            let piece = piece_from(start, step, length);
            let places = |rank| self.places(&own, (rank, spots(rank)), &piece, number);
            // SAFETY: between two meetings, this slice is this rank's in the pieces of all.
            unsafe { self.combine(self.slice(&piece), piece.start, places) };
            let next = number + 1;
            let met = self.meeting.begin(self.engine).and_then(|_| {
                self.copy_in(&own, piece_from(piece.end, CELL_BYTES, length), next);
                self.own_board(next).bring(Act::END);
                self.meeting.hold(next, all.clone(), self.engine)
            });
            // The others may go on with the next piece, but no further.
            self.outlasting(own.is_lent(), last.min(next + 1), met)?;
            self.copy_out(&own, piece, number);
            number = next;
        }
        if self.call.kind() == Kind::ReduceScatter && self.call.is_in_place_on(self.rank) {
            output.copy_within(self.own_part(), 0);
        }
        Ok(())
    }

    /// The bytes of the result that are this rank's.
    fn own_part(&self) -> Range<usize> {
        match self.call.kind() {
            Kind::ReduceScatter => self.call.parts().of(self.rank),
            _ => 0..self.length_bytes(),
        }
    }

    /// This rank's vector and result as other ranks will find them.
    fn own_vector(&self, input: &[u8], output: &mut [u8]) -> Own {
        let (call, rank, length) = (self.call, self.rank, self.length_bytes());
        let is_in_place = call.is_in_place_on(rank);
        let into = output.as_mut_ptr();
        // Other ranks may write to it, which the compiler has to expect from here on.
        let _ = into.expose_provenance();
        let from = if is_in_place { into.cast_const() } else { input.as_ptr() };
        let spot = |start| self.spot(start, length).unwrap_or(Spot::Cell);
        let into_spot = if self.gets(rank) { spot(into.cast_const()) } else { Spot::Private };
        // Where only a part is this rank's, it lies at the front of the result: its place in the whole
        // is as far before.
        let is_part = call.kind() == Kind::ReduceScatter && !is_in_place;
        let into = if is_part { into.wrapping_sub(self.own_part().start) } else { into };
        Own { from, into, spots: [spot(from), into_spot] }
    }

    /// True if the others write the result of `rank`.
    fn gets(&self, rank: Rank) -> bool {
        match self.call.kind() {
            Kind::Reduce => rank == self.call.root(),
            Kind::ReduceScatter => false,
            Kind::Exscan => rank > 0,
            _ => true,
        }
    }

    /// Copies a piece of the vector into this rank's cell, unless it lies in the heaps.
    fn copy_in(&self, own: &Own, piece: Range<usize>, number: u64) {
        if own.spots[0] == Spot::Cell {
            let from = own.from.wrapping_add(piece.start);
            // SAFETY: a piece of the vector, which this rank alone uses.
            self.put(number, 0, unsafe { std::slice::from_raw_parts(from, piece.len()) });
        }
    }

    /// Copies a piece of the result out of this rank's cell, if it is there.
    fn copy_out(&self, own: &Own, piece: Range<usize>, number: u64) {
        if own.spots[1] == Spot::Cell {
            self.look(number, (self.rank, Spot::Cell), 0..piece.len(), |from| {
                let into = own.into.wrapping_add(piece.start);
                // SAFETY: a piece of the result, which this rank alone uses; after the meeting nobody
                // writes to the cell.
                unsafe { ptr::copy_nonoverlapping(from, into, piece.len()) }
            });
        }
    }

    /// Starts of a piece of the vector and of the result of `rank`, where they can be written by this
    /// rank.
    fn places(
        &self,
        own: &Own,
        (rank, [from, into]): (Rank, [Spot; 2]),
        piece: &Range<usize>,
        number: u64,
    ) -> [*mut u8; 2] {
        let place = |spot, own: *mut u8| match spot {
            Spot::Cell => self.meeting.board(rank, number).cell.with_mut(<*mut _>::cast::<u8>),
            _ if rank == self.rank => own.wrapping_add(piece.start),
            Spot::Heap(offset) => {
                self.segment.heap_pointer(offset + piece.start, piece.len()).cast_mut()
            }
            Spot::Private => ptr::null_mut(),
        };
        [place(from, own.from.cast_mut()), place(into, own.into)]
    }

    /// The slice of a piece that this rank combines.
    fn slice(&self, piece: &Range<usize>) -> Range<usize> {
        let shared = match self.call.kind() {
            Kind::ReduceScatter => self.own_part(),
            _ => {
                let share = piece.len().div_ceil(self.n_ranks()).next_multiple_of(LINE_BYTES);
                piece_from(piece.start + self.rank * share, share, piece.end)
            }
        };
        overlap(&shared, piece)
    }

    /// Combines `slice` of the vectors of all ranks in rank order, and writes it into all results that
    /// it belongs to; `places` are those of a piece that begins at `start`.
    ///
    /// # Safety
    /// The slice lies in every vector and result, and nobody else touches it meanwhile; those of
    /// different ranks are separate.
    unsafe fn combine(
        &self,
        slice: Range<usize>,
        start: usize,
        places: impl Fn(Rank) -> [*mut u8; 2],
    ) {
        let kind = self.call.kind();
        let [sums, before] = &mut **self.blocks.borrow_mut();
        for at in slice.clone().step_by(BLOCK_BYTES) {
            let (n, at) = (BLOCK_BYTES.min(slice.end - at), at - start);
            let (sums, before) = (&mut sums[..n], &mut before[..n]);
            let write = |sums: &[u8], rank: Rank| {
                let into = places(rank)[1].wrapping_add(at);
                // SAFETY: the block lies in the slice.
                unsafe { ptr::copy_nonoverlapping(sums.as_ptr(), into, n) }
            };
            for rank in 0..self.n_ranks() {
                if kind == Kind::Exscan {
                    before.copy_from_slice(sums);
                }
                let vector = places(rank)[0].wrapping_add(at);
                // SAFETY: the block lies in the slice, which nobody else touches.
                let vector = unsafe { std::slice::from_raw_parts(vector, n) };
                self.add(vector, sums, rank == 0);
                match kind {
                    Kind::Scan => write(sums, rank),
                    Kind::Exscan if rank > 0 => write(before, rank),
                    _ => (),
                }
            }
            match kind {
                Kind::Allreduce => (0..self.n_ranks()).for_each(|rank| write(sums, rank)),
                Kind::Reduce => write(sums, self.call.root()),
                Kind::ReduceScatter => write(sums, self.rank),
                _ => (),
            }
        }
    }
}
