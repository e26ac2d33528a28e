//! Meetings: every rank writes the number of the meeting on a board of its own, with what it brings
//! along, and waits until it reads that number on the boards of those that it needs.
//!
//! ```text
//!   needs all     barrier, sums, and whatever every rank takes from every other
//!   needs some    the root alone, the ranks below, or nobody: it goes on at once
//! ```
//!
//! Each rank has [`N_BOARDS`] boards, used in turn, and reads what others have brought to a meeting
//! before it comes to the next one. So a board is written again once all ranks have come to the
//! meeting after the one that it was for, and nobody polls the line that is written. A rank that
//! needs nobody is ahead of the others by one meeting less at most; one that has seen all at a
//! meeting knows it, and looks for nothing.
//!
//! After a meeting no rank looks at its own board, which it would have to fetch back from those who
//! have read it.
//!
//! Sleepers are woken by those who go on. Whoever sleeps has missed somebody, who then finds it
//! asleep when it goes on; to wake it earlier would let it find the next one missing.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use comet_core::collective::{Collective, Kind, Parts};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::Rank;

use crate::engine::Engine;
use crate::failure::{is_out, outlast};
use crate::launch::MAX_RANKS;
use crate::layout::{Board, N_BOARDS};
use crate::segment::Segment;
use crate::sync::Ordering;

use super::{length_disagreement, wait_for};

/// Operation of a rank at a meeting, which the others compare with theirs: a code, the root and the
/// length in bytes, or a digest of the parts of any lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Act(u64);

/// Bits of the length, and of length and root.
const LENGTH_BITS: u32 = 48;
const CALL_BITS: u32 = LENGTH_BITS + 10;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;
const _: () = assert!(MAX_RANKS <= 1 << (CALL_BITS - LENGTH_BITS));
const _: () = assert!(Act::ENDING < Act::UNEVEN && 2 * Act::UNEVEN <= 1 << (64 - CALL_BITS));

impl Act {
    /// Codes of what is no kind of collective.
    const UNEVEN_ALLTOALL: u64 = Kind::ALL.len() as u64 + 1;
    const ONE_SUM: u64 = Self::UNEVEN_ALLTOALL + 1;
    const ENDING: u64 = Self::ONE_SUM + 1;
    /// Added to the code of a kind with parts of any lengths.
    const UNEVEN: u64 = 1 << 5;

    const BARRIER: Self = Self::new(Kind::Barrier as u64 + 1, 0, 0);
    const SUM: Self = Self::new(Self::ONE_SUM, 0, 0);
    /// The end of an operation with two meetings.
    pub(crate) const END: Self = Self::new(Self::ENDING, 0, 0);

    const fn new(code: u64, root: Rank, length_bytes: usize) -> Self {
        Self((code << CALL_BITS) | ((root as u64) << LENGTH_BITS) | length_bytes as u64)
    }

    /// `call` of so many bytes for all.
    pub(crate) fn of(call: &Collective, length_bytes: usize) -> Self {
        let root = if call.kind().is_rooted() { call.root() } else { 0 };
        let of_kind = Self::new(call.kind() as u64 + 1, root, length_bytes);
        match call.parts() {
            Parts::Equal(_) => of_kind,
            Parts::Uneven(places) => Self(
                ((of_kind.call() | (Self::UNEVEN << (CALL_BITS - LENGTH_BITS))) << LENGTH_BITS)
                    | (places.digest() & LENGTH_MASK),
            ),
        }
    }

    /// An all-to-all in which no rank knows the lengths of the others.
    pub(crate) fn uneven_alltoall() -> Self {
        Self::new(Self::UNEVEN_ALLTOALL, 0, 0)
    }

    fn call(self) -> u64 {
        self.0 >> LENGTH_BITS
    }

    fn length_bytes(self) -> u64 {
        self.0 & LENGTH_MASK
    }

    fn has_digest(self) -> bool {
        (self.0 >> CALL_BITS) & Self::UNEVEN != 0
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, root) = (
            (self.0 >> CALL_BITS) & !Self::UNEVEN,
            self.call() & ((1 << (CALL_BITS - LENGTH_BITS)) - 1),
        );
        match code {
            Self::UNEVEN_ALLTOALL => write!(f, "alltoallv"),
            Self::ONE_SUM => write!(f, "a sum of one number"),
            Self::ENDING => write!(f, "the end of another operation"),
            code => {
                let kind =
                    usize::try_from(code).ok().and_then(|n| Kind::ALL.get(n.wrapping_sub(1)));
                write!(f, "{}", kind.map_or("nothing", |kind| kind.name()))?;
                match kind {
                    Some(kind) if kind.is_rooted() => write!(f, " of root {root}"),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// One rank's part in the meetings.
pub(crate) struct Meeting {
    segment: &'static Segment,
    rank: Rank,
    /// Number of the latest meeting begun.
    number: Cell<u64>,
    /// Number of a meeting to which all ranks were seen to have come.
    all_came: Cell<u64>,
}

impl Meeting {
    pub(crate) fn new(segment: &'static Segment, rank: Rank) -> Self {
        Self { segment, rank, number: Cell::new(0), all_came: Cell::new(0) }
    }

    /// Waits until every rank is here.
    #[inline]
    pub(crate) fn barrier(&self, engine: &Engine) -> Result<()> {
        let number = self.begin(engine)?;
        self.board(self.rank, number).bring(Act::BARRIER);
        self.hold(number, self.all(), engine)
    }

    /// The sum of `value` over all ranks, added up in rank order on each.
    #[inline]
    pub(crate) fn sum(&self, value: f64, engine: &Engine) -> Result<f64> {
        let number = self.begin(engine)?;
        let own = self.board(self.rank, number);
        own.bring(Act::SUM);
        own.bring_from(value.to_bits());
        self.hold(number, self.all(), engine)?;
        self.require_same(number, self.all(), Act::SUM, engine)?;
        let value_of = |rank| {
            if rank == self.rank {
                value
            } else {
                f64::from_bits(self.board(rank, number).brought_from())
            }
        };
        Ok((1..self.segment.n_ranks()).fold(value_of(0), |sum, rank| sum + value_of(rank)))
    }

    /// All ranks.
    #[inline]
    pub(crate) fn all(&self) -> Range<Rank> {
        0..self.segment.n_ranks()
    }

    /// Number of the next meeting, once the board for it may be written.
    #[inline]
    pub(crate) fn begin(&self, engine: &Engine) -> Result<u64> {
        let number = self.number.get() + 1;
        let needed = number.saturating_sub(N_BOARDS as u64 - 1);
        if self.all_came.get() < needed {
            self.await_ranks(self.all(), needed, engine)?;
        }
        self.number.set(number);
        Ok(number)
    }

    /// The board of `rank` for meeting `number`.
    #[inline]
    pub(crate) fn board(&self, rank: Rank, number: u64) -> &'static Board {
        const N: u64 = N_BOARDS as u64;
        &self.segment.boards(rank)[usize::try_from(number % N).expect("there are few boards")]
    }

    /// Comes to meeting `number`, and waits until `ranks` are there.
    #[inline]
    pub(crate) fn hold(&self, number: u64, ranks: Range<Rank>, engine: &Engine) -> Result<()> {
        self.board(self.rank, number).reach(number);
        self.await_ranks(ranks, number, engine)?;
        engine.waiter.wake_all();
        Ok(())
    }

    /// The last meeting of an operation.
    pub(crate) fn end(&self, ranks: Range<Rank>, engine: &Engine) -> Result<()> {
        let number = self.begin(engine)?;
        self.board(self.rank, number).bring(Act::END);
        self.hold(number, ranks, engine)
    }

    #[inline]
    fn await_ranks(&self, ranks: Range<Rank>, number: u64, engine: &Engine) -> Result<()> {
        let waiter = &engine.waiter;
        // Those that need this core to come. Once they are here they only wait, and leave it to
        // this rank.
        for mate in waiter.mates().iter().filter(|mate| ranks.contains(mate)) {
            let board = self.board(*mate, number);
            if !waiter.yields_until(|| board.has_reached(number)) {
                self.await_rank(*mate, number, waiter.n_spins(), engine)?;
            }
        }
        let needs_all = ranks.len() == self.segment.n_ranks();
        let patience =
            if needs_all { waiter.n_spins_beside_waiting_mates() } else { waiter.n_spins() };
        for rank in ranks.filter(|rank| *rank != self.rank) {
            self.await_rank(rank, number, patience, engine)?;
        }
        if needs_all {
            self.all_came.set(number);
        }
        Ok(())
    }

    #[inline]
    fn await_rank(&self, rank: Rank, number: u64, patience: u32, engine: &Engine) -> Result<()> {
        let board = self.board(rank, number);
        wait_for(rank, || board.has_reached(number), patience, engine)
    }

    /// Ends the job if another of `ranks` has come to meeting `number` for another operation.
    pub(crate) fn require_same(
        &self,
        number: u64,
        ranks: Range<Rank>,
        act: Act,
        engine: &Engine,
    ) -> Result<()> {
        for rank in ranks.filter(|rank| *rank != self.rank) {
            let found = self.board(rank, number).act();
            if found != act {
                return Err(self.disagree((rank, found), act, engine));
            }
        }
        Ok(())
    }

    #[cold]
    fn disagree(&self, (rank, other): (Rank, Act), act: Act, engine: &Engine) -> TransportError {
        if other.call() == act.call() && act.has_digest() {
            let text = format!(
                "the ranks disagree about the lengths or places of the parts in {act}: rank {rank} has \
                 others than rank {}",
                self.rank
            );
            return engine.waiter.give_up(TransportErrorKind::Disagreement, text);
        }
        if other.call() == act.call() {
            let (found_bytes, length_bytes) = (other.length_bytes(), act.length_bytes());
            return length_disagreement((rank, found_bytes), (self.rank, length_bytes), engine);
        }
        let text = format!(
            "the ranks disagree about a collective: rank {rank} is in {other}, rank {} in {act}",
            self.rank
        );
        engine.waiter.give_up(TransportErrorKind::Disagreement, text)
    }

    /// After a failure: waits until no rank uses what this one has brought to the meeting before
    /// `number`, that is until each has come to that one, or is out.
    pub(crate) fn outlast(&self, number: u64) {
        let is_done = |rank: Rank| {
            rank == self.rank
                || self.board(rank, number).has_reached(number)
                || is_out(self.segment, rank)
        };
        outlast(|| self.all().all(is_done));
    }
}

impl Board {
    /// The owner's: puts down what it comes to the next meeting on this board for.
    #[inline]
    pub(crate) fn bring(&self, act: Act) {
        // Relaxed: published by the Release store in `reach`.
        self.act.store(act.0, Ordering::Relaxed);
    }

    /// The owner's: a number, or the place of its data.
    #[inline]
    pub(crate) fn bring_from(&self, word: u64) {
        // Relaxed: published by the Release store in `reach`.
        self.from.store(word, Ordering::Relaxed);
    }

    /// The owner's: the place of its result.
    #[inline]
    pub(crate) fn bring_into(&self, word: u64) {
        // Relaxed: published by the Release store in `reach`.
        self.into.store(word, Ordering::Relaxed);
    }

    /// The owner's: says that it is at meeting `number`.
    #[inline]
    pub(crate) fn reach(&self, number: u64) {
        // Release: pairs with the Acquire load in `has_reached`; publishes what was brought, and
        // that all use of what others brought to the meeting before is over.
        self.reached.store(number, Ordering::Release);
    }

    /// True if the owner is at meeting `number`, or has been.
    #[inline]
    pub(crate) fn has_reached(&self, number: u64) -> bool {
        // Acquire: pairs with the Release store in `reach`.
        self.reached.load(Ordering::Acquire) >= number
    }

    /// Operation of the owner at a meeting that it has reached.
    #[inline]
    pub(crate) fn act(&self) -> Act {
        // Relaxed: `has_reached` has acquired it.
        Act(self.act.load(Ordering::Relaxed))
    }

    /// Number, or place of the data, of the owner at a meeting that it has reached.
    #[inline]
    pub(crate) fn brought_from(&self) -> u64 {
        // Relaxed: `has_reached` has acquired it.
        self.from.load(Ordering::Relaxed)
    }

    /// Place of the owner's result at a meeting that it has reached.
    #[inline]
    pub(crate) fn brought_into(&self) -> u64 {
        // Relaxed: `has_reached` has acquired it.
        self.into.load(Ordering::Relaxed)
    }
}
