//! The collectives.
//!
//! ```text
//!   meeting     ranks wait for each other, with what each has brought: the barrier, and the sum of
//!               one number for each
//!   parts       gather, scatter, allgather and all-to-all: each takes what is for it from where it
//!               lies, or out of the cells
//!   vector      reductions: short vectors are combined by each rank that gets the result, of long
//!               ones every rank combines one slice for all
//!   broadcast   messages of one root for all others
//!   stream      the lines and the ring through which they go
//! ```
//!
//! All ranks call the collectives in the same order, so whatever they count they count alike, and
//! no rank has to be told which place or number comes next. What may differ between them is where
//! their buffers lie: each brings that to the first meeting of an operation, and what follows from it
//! is decided there.

mod broadcast;
mod meeting;
mod parts;
pub(crate) mod stream;
mod vector;

use std::cell::RefCell;
use std::ops::Range;
use std::ptr;

use comet_core::collective::{Collective, Kind};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;

use crate::engine::Engine;
use crate::layout::{Board, CELL_BYTES};
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;

pub(crate) use meeting::{Act, Meeting};

use broadcast::Broadcasts;
use vector::Blocks;

/// One rank's part in the collectives.
pub(crate) struct Collectives {
    pub(crate) meeting: Meeting,
    pub(crate) broadcasts: Broadcasts,
    segment: &'static Segment,
    rank: Rank,
    blocks: RefCell<Box<Blocks>>,
}

impl Collectives {
    pub(crate) fn new(segment: &'static Segment, remote: RemoteCopy, rank: Rank) -> Self {
        let broadcasts = Broadcasts::new(segment, remote, rank);
        let blocks = RefCell::new(Box::new([[0; _]; _]));
        Self { meeting: Meeting::new(segment, rank), broadcasts, segment, rank, blocks }
    }

    /// Carries `call` out, with buffers that are long enough; false, on all ranks, if they lie where
    /// the others do not reach them, and nothing was done.
    pub(crate) fn carry_out(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
        engine: &Engine,
    ) -> Result<bool> {
        let Self { meeting, segment, rank, blocks, .. } = self;
        let part = Part { call, segment, rank: *rank, meeting, engine, blocks };
        match call.kind() {
            Kind::Barrier => meeting.barrier(engine).map(|()| true),
            Kind::Broadcast => {
                let message = &mut output[..call.parts().length(0)];
                self.broadcasts.broadcast(call.root(), message, engine).map(|()| true)
            }
            kind if kind.is_reduction() => part.reduce(input, output).map(|()| true),
            _ => part.move_parts(input, output),
        }
    }
}

/// One rank's part in one operation.
struct Part<'a> {
    call: &'a Collective,
    segment: &'static Segment,
    rank: Rank,
    meeting: &'a Meeting,
    engine: &'a Engine,
    blocks: &'a RefCell<Box<Blocks>>,
}

impl Part<'_> {
    fn n_ranks(&self) -> usize {
        self.segment.n_ranks()
    }

    /// Length of a vector of a reduction, or of all parts together.
    fn length_bytes(&self) -> usize {
        match self.call.kind() {
            Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => {
                self.call.parts().length(0)
            }
            _ => self.call.parts().total(self.n_ranks()),
        }
    }

    /// The ranks of which this one takes what they give.
    fn sources(&self) -> Range<Rank> {
        let (rank, root) = (self.rank, self.call.root());
        match self.call.kind() {
            // Who takes nothing needs nobody.
            _ if self.length_bytes() == 0 && !self.has_table() => 0..0,
            Kind::Gather | Kind::Reduce if rank != root => 0..0,
            Kind::Scatter => root..root + 1,
            Kind::Scan => 0..rank + 1,
            Kind::Exscan => 0..rank,
            _ => 0..self.n_ranks(),
        }
    }

    /// Comes to meeting `number` with `act`, and waits until `ranks` are there with the same.
    fn meet(&self, number: u64, ranks: Range<Rank>, act: Act) -> Result<()> {
        self.own_board(number).bring(act);
        self.meeting.hold(number, ranks.clone(), self.engine)?;
        self.meeting.require_same(number, ranks, act, self.engine)
    }

    /// Hands `result` on; a failure only once nobody uses the buffers any more that this rank has lent,
    /// if it has, for what ends with meeting `last`.
    fn outlasting<R>(&self, is_lent: bool, last: u64, result: Result<R>) -> Result<R> {
        result.inspect_err(|_| {
            if is_lent {
                self.meeting.outlast(last);
            }
        })
    }

    fn own_board(&self, number: u64) -> &'static Board {
        self.meeting.board(self.rank, number)
    }

    /// Place of a buffer of this rank for the others, if it is not carried to them.
    fn spot(&self, start: *const u8, length_bytes: usize) -> Option<Spot> {
        self.segment.heap_offset(start, length_bytes).map(Spot::Heap)
    }

    /// Copies `bytes` into this rank's cell for meeting `number`.
    fn put(&self, number: u64, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= CELL_BYTES, "what goes into a cell fits");
        self.own_board(number).cell.with_mut(|cell| {
            let to = cell.cast::<u8>().wrapping_add(at);
            // SAFETY: they fit, and the number was begun: all others have come to a later meeting than
            // that in which they used the cell, and look at it again only once this rank has come.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
        });
    }

    /// Calls `look` with the place of the `bytes` of what `rank` has brought to meeting `number`.
    fn look(
        &self,
        number: u64,
        (rank, spot): (Rank, Spot),
        bytes: Range<usize>,
        look: impl FnOnce(*const u8),
    ) {
        match spot {
            Spot::Heap(offset) => {
                look(self.segment.heap_pointer(offset + bytes.start, bytes.len()));
            }
            Spot::Cell => {
                assert!(bytes.end <= CELL_BYTES, "what lies in a cell fits");
                self.meeting.board(rank, number).cell.with(|cell| {
                    look(cell.cast::<u8>().wrapping_add(bytes.start));
                });
            }
            Spot::Private => unreachable!("nobody looks at what cannot be reached"),
        }
    }
}

/// Place of what a rank gives or gets, for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    /// In its cell for the meeting.
    Cell,
    /// Out of reach.
    Private,
    /// In the heaps, at this offset in the segment.
    Heap(usize),
}

impl Spot {
    /// As a word of a board.
    fn pack(self) -> u64 {
        match self {
            Self::Cell => 0,
            Self::Private => 1,
            Self::Heap(offset) => offset as u64 + 2,
        }
    }

    /// From a word of a board.
    fn unpack(word: u64) -> Self {
        match usize::try_from(word).expect("offsets are of this machine") {
            0 => Self::Cell,
            1 => Self::Private,
            place => Self::Heap(place - 2),
        }
    }

    fn is_in_heap(self) -> bool {
        matches!(self, Self::Heap(_))
    }
}

/// Waits for `rank` until `condition` holds; looks at that alone `patience` times, since messages
/// can wait for the time that a line takes from core to core.
#[inline]
fn wait_for(
    rank: Rank,
    condition: impl Fn() -> bool,
    patience: u32,
    engine: &Engine,
) -> Result<()> {
    for _ in 0..patience {
        if condition() {
            return Ok(());
        }
        std::hint::spin_loop();
    }
    engine.until(|| Waiting::Collective(Source::Rank(rank)), condition)
}

/// Ends the job because `rank` has another length for the same collective than this rank.
#[cold]
fn length_disagreement(
    (rank, found_bytes): (Rank, u64),
    (this_rank, length_bytes): (Rank, u64),
    engine: &Engine,
) -> TransportError {
    let text = format!(
        "the ranks of a collective disagree about its length: rank {rank} says {found_bytes} \
         bytes, rank {this_rank} {length_bytes}"
    );
    engine.waiter.give_up(TransportErrorKind::Disagreement, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_travel_as_words() {
        for spot in [Spot::Cell, Spot::Private, Spot::Heap(0), Spot::Heap(1 << 40)] {
            assert_eq!(Spot::unpack(spot.pack()), spot);
        }
    }
}
