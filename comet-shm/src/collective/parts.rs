//! Gather, scatter, allgather and all-to-all: parts of messages from rank to rank.
//!
//! ```text
//!   short   each copies what it gives into its cell; meet; each copies what is for it
//!   long    each brings where it lies; meet; each copies what is for it from there; meet
//!   long gather
//!           the root brings where its message goes; each copies its own part there; meet
//! ```
//!
//! Where ranks share cores a meeting of all costs more than a copy, and all that fits into a cell is
//! short, but for the rooted ones. What lies out of reach goes through the cell as well, as far as it
//! fits; otherwise all ranks see at the meeting that nothing can be done here.
//!
//! Of an all-to-all with parts of any lengths no rank knows where its part lies in the messages of
//! the others: each begins its cell with a table of that.

use std::ops::Range;
use std::ptr;

use comet_core::collective::Kind;
use comet_core::error::{Result, TransportErrorKind};
use comet_core::transport::Rank;

use crate::launch::MAX_RANKS;
use crate::layout::CELL_BYTES;

use super::{Act, Part, Spot};

/// Longest part that goes through a cell although it can be reached, where each rank has a core.
const COPIED_BYTES: usize = if cfg!(loom) { 16 } else { 1024 };
/// The same to or from a root, in any case: its second meeting is no meeting of all.
const COPIED_ROOTED_BYTES: usize = COPIED_BYTES / 2;
/// Bytes of a table for one rank: start and length of its part.
const ENTRY_BYTES: usize = 2 * size_of::<u64>();
const _: () = assert!(cfg!(loom) || MAX_RANKS * ENTRY_BYTES <= CELL_BYTES);

impl Part<'_> {
    /// Carries out a collective that moves parts; false, on all ranks, if that cannot be done here.
    pub(super) fn move_parts(&self, input: &[u8], output: &mut [u8]) -> Result<bool> {
        let act = match self.has_table() {
            true => Act::uneven_alltoall(),
            false => Act::of(self.call, self.length_bytes()),
        };
        if self.call.kind() == Kind::Gather && self.longest_given() > self.copied_bytes() {
            return self.gather_in_place(act, input, output);
        }
        let number = self.meeting.begin(self.engine)?;
        let own = self.give(number, self.given(input, output));
        self.own_board(number).bring_from(own.pack());
        let met = self.meet(number, self.sources(), act);
        let is_lent = own.is_in_heap();
        self.outlasting(is_lent, number + 1, met)?;
        let spot = |rank| match rank == self.rank {
            true => own,
            false => Spot::unpack(self.meeting.board(rank, number).brought_from()),
        };
        if self.sources().any(|rank| spot(rank) == Spot::Private) {
            return Ok(false);
        }
        self.outlasting(is_lent, number + 1, self.take(number, spot, input, output))?;
        if self.sources().any(|rank| spot(rank).is_in_heap()) {
            self.end(is_lent, number + 1)?;
        }
        Ok(true)
    }

    /// Longest message that goes through a cell although it can be reached; the same on all ranks.
    fn copied_bytes(&self) -> usize {
        let (kind, has_core_each) = (self.call.kind(), self.engine.waiter.has_core_each());
        let n_parts = match kind {
            Kind::Scatter | Kind::Alltoall => self.n_ranks(),
            _ => 1,
        };
        let part_bytes = match kind {
            // A root that goes on at once is the last that the scheduler lets run again, and all wait
            // for it the next time.
            Kind::Scatter if !has_core_each => 0,
            _ if kind.is_rooted() => COPIED_ROOTED_BYTES,
            _ if has_core_each => COPIED_BYTES,
            _ => CELL_BYTES,
        };
        (n_parts * part_bytes).min(CELL_BYTES)
    }

    /// The longest of what ranks give to a gather, as far as all know it.
    fn longest_given(&self) -> usize {
        let parts = self.call.parts();
        if parts.is_equal() { parts.length(0) } else { self.length_bytes() }
    }

    /// True if ranks bring a table of their parts.
    pub(super) fn has_table(&self) -> bool {
        let is_even = self.call.parts().is_equal() && self.call.sent() == self.call.parts();
        self.call.kind() == Kind::Alltoall && !is_even
    }

    /// Data that this rank gives.
    fn given<'a>(&self, input: &'a [u8], output: &'a [u8]) -> &'a [u8] {
        let (call, rank, n_ranks) = (self.call, self.rank, self.n_ranks());
        match (call.kind(), call.is_in_place_on(rank)) {
            (Kind::Gather | Kind::Allgather, true) => &output[call.parts().of(rank)],
            (Kind::Alltoall, true) => &output[..call.output_bytes(rank, n_ranks)],
            _ => &input[..call.input_bytes(rank, n_ranks)],
        }
    }

    /// Makes sure that the others find what this rank gives, if they can; where it lies then.
    fn give(&self, number: u64, given: &[u8]) -> Spot {
        let table_bytes = if self.has_table() { self.n_ranks() * ENTRY_BYTES } else { 0 };
        let fits_in = |room: usize| table_bytes + given.len() <= room;
        // What all write to is not read at the same time.
        let is_changed = self.call.kind() == Kind::Alltoall && self.call.is_in_place_on(self.rank);
        let spot = match self.spot(given.as_ptr(), given.len()) {
            _ if fits_in(self.copied_bytes()) => Spot::Cell,
            Some(spot) if !is_changed => spot,
            _ if fits_in(CELL_BYTES) => Spot::Cell,
            _ => Spot::Private,
        };
        if table_bytes > 0 {
            for to in 0..self.n_ranks() {
                let Range { start, end } = self.call.sent().of(to);
                let entry = [start as u64, (end - start) as u64].map(u64::to_ne_bytes);
                self.put(number, to * ENTRY_BYTES, entry.as_flattened());
            }
        }
        if spot == Spot::Cell {
            self.put(number, table_bytes, given);
        }
        spot
    }

    /// Copies what is for this rank from where it lies.
    fn take(
        &self,
        number: u64,
        spot: impl Fn(Rank) -> Spot,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<()> {
        let (call, parts, sources) = (self.call, self.call.parts(), self.sources());
        // Each begins with another, and ends with itself.
        let ranks = (self.rank + 1..self.n_ranks()).chain(0..self.rank + 1);
        for from in ranks.filter(|rank| sources.contains(rank)) {
            if from == self.rank && call.is_in_place_on(from) {
                continue;
            }
            let (place, into) = match call.kind() {
                Kind::Scatter => (parts.of(self.rank), 0..parts.length(self.rank)),
                Kind::Alltoall => (parts.of(self.rank), parts.of(from)),
                _ => (0..parts.length(from), parts.of(from)),
            };
            let output = &mut output[into];
            if from == self.rank {
                let place = if self.has_table() { call.sent().of(from) } else { place };
                output.copy_from_slice(&input[place]);
                continue;
            }
            let place = match self.has_table() {
                true => self.find_in_table(number, (from, spot(from)), output.len())?,
                false => place,
            };
            self.look(number, (from, spot(from)), place, |bytes| {
                // SAFETY: as many bytes lie there, since all have the same lengths, and are changed
                // only after this rank has come to the next meeting; two borrowed buffers do not
                // overlap.
                unsafe { ptr::copy_nonoverlapping(bytes, output.as_mut_ptr(), output.len()) }
            });
        }
        Ok(())
    }

    /// The place of this rank's part in what `from` gives, by its table.
    fn find_in_table(
        &self,
        number: u64,
        (from, spot): (Rank, Spot),
        expected_bytes: usize,
    ) -> Result<Range<usize>> {
        let mut entry = [[0; size_of::<u64>()]; 2];
        let place = self.rank * ENTRY_BYTES..(self.rank + 1) * ENTRY_BYTES;
        self.look(number, (from, Spot::Cell), place, |bytes| {
            // SAFETY: the cell begins with an entry for each rank.
            unsafe { ptr::copy_nonoverlapping(bytes, entry.as_mut_ptr().cast(), ENTRY_BYTES) }
        });
        let [start, found_bytes] = entry.map(u64::from_ne_bytes);
        if found_bytes != expected_bytes as u64 {
            let text = format!(
                "the ranks of an all-to-all disagree about a length: rank {from} sends \
                 {found_bytes} bytes to rank {}, which expects {expected_bytes}",
                self.rank
            );
            return Err(self.engine.waiter.give_up(TransportErrorKind::Disagreement, text));
        }
        let table_bytes = if spot == Spot::Cell { self.n_ranks() * ENTRY_BYTES } else { 0 };
        let start = table_bytes + usize::try_from(start).expect("places are of this machine");
        Ok(start..start + expected_bytes)
    }

    /// Waits at meeting `last` until this rank may use its buffers again: one that only gives to a root
    /// or gets from it may at once.
    fn end(&self, is_lent: bool, last: u64) -> Result<()> {
        let is_served = self.call.kind().is_rooted() && self.rank != self.call.root();
        let awaited = if is_served { 0..0 } else { 0..self.n_ranks() };
        self.outlasting(is_lent, last, self.meeting.end(awaited, self.engine))
    }

    /// A gather in which each rank copies its part into the message of the root.
    fn gather_in_place(&self, act: Act, input: &[u8], output: &mut [u8]) -> Result<bool> {
        let (root, parts) = (self.call.root(), self.call.parts());
        let number = self.meeting.begin(self.engine)?;
        let is_root = self.rank == root;
        // The others write to the message from here on, which the compiler has to expect.
        let _ = output.as_mut_ptr().expose_provenance();
        let total_bytes = self.call.output_bytes(self.rank, self.n_ranks());
        let own = self.spot(output.as_ptr(), total_bytes).filter(|_| is_root);
        self.own_board(number).bring_into(own.unwrap_or(Spot::Private).pack());
        let needed = if is_root { 0..self.n_ranks() } else { root..root + 1 };
        self.outlasting(own.is_some(), number + 1, self.meet(number, needed, act))?;
        let Spot::Heap(offset) = Spot::unpack(self.meeting.board(root, number).brought_into())
        else {
            return Ok(false);
        };
        let place = parts.of(self.rank);
        if is_root && !self.call.is_in_place_on(root) {
            output[place].copy_from_slice(&input[..parts.length(root)]);
        } else if !is_root {
            let to = self.segment.heap_pointer(offset + place.start, place.len()).cast_mut();
            // SAFETY: the root has lent its message, which has room for the parts of all, since all
            // have the same lengths; this part of it is this rank's until it comes to the next meeting.
            unsafe { ptr::copy_nonoverlapping(input.as_ptr(), to, place.len()) };
        }
        self.end(own.is_some(), number + 1)?;
        Ok(true)
    }
}
