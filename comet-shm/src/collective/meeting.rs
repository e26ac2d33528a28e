//! Meetings: every rank writes the number of the meeting on its own line, with what it brings
//! along, and waits until it reads that number on the lines of all others.
//!
//! A rank reaches the next meeting only when it is done with the last one, and it leaves that only
//! when all are there. So two lines for each rank are enough, used in turn: when a rank writes one
//! again, all have left the meeting that it was for, and nobody polls the line that it writes.
//!
//! Sleepers are woken by those who leave. Whoever sleeps has missed somebody, who then finds it
//! asleep when it leaves; to wake it earlier would let it find the next one missing.

use std::cell::Cell;

use comet_core::error::Result;
use comet_core::transport::Rank;

use crate::engine::Engine;
use crate::layout::CollectiveLine;
use crate::segment::Segment;
use crate::sync::Ordering;

use super::wait_for;

/// One rank's part in the meetings.
pub(crate) struct Meeting {
    segment: &'static Segment,
    rank: Rank,
    /// Number of the latest meeting begun.
    number: Cell<u64>,
}

impl Meeting {
    pub(crate) fn new(segment: &'static Segment, rank: Rank) -> Self {
        Self { segment, rank, number: Cell::new(0) }
    }

    /// Waits until every rank is here.
    #[inline]
    pub(crate) fn barrier(&self, engine: &Engine) -> Result<()> {
        self.hold(self.begin(), engine)
    }

    /// The sum of `value` over all ranks, added up in rank order on each.
    #[inline]
    pub(crate) fn sum(&self, value: f64, engine: &Engine) -> Result<f64> {
        let number = self.begin();
        self.line(self.rank, number).bring(value.to_bits());
        self.hold(number, engine)?;
        // Not from its own line, which it would have to fetch back from those who have read it.
        let value_of = |rank| {
            if rank == self.rank {
                value
            } else {
                f64::from_bits(self.line(rank, number).brought())
            }
        };
        Ok((1..self.segment.n_ranks()).fold(value_of(0), |sum, rank| sum + value_of(rank)))
    }

    /// Number of the latest meeting begun.
    pub(crate) fn number(&self) -> u64 {
        self.number.get()
    }

    /// Number of the next meeting.
    #[inline]
    pub(crate) fn begin(&self) -> u64 {
        self.number.set(self.number.get() + 1);
        self.number.get()
    }

    /// The line of `rank` for meeting `number`.
    #[inline]
    pub(crate) fn line(&self, rank: Rank, number: u64) -> &'static CollectiveLine {
        &self.segment.control(rank).collective[usize::from(number % 2 == 1)]
    }

    /// Goes to meeting `number`, and waits until all are there.
    #[inline]
    pub(crate) fn hold(&self, number: u64, engine: &Engine) -> Result<()> {
        let waiter = &engine.waiter;
        self.line(self.rank, number).reach(number);
        // Those that need this core to come. Once they are here they only wait, and leave it to
        // this rank.
        for mate in waiter.mates() {
            let line = self.line(*mate, number);
            if !waiter.yields_until(|| line.has_reached(number)) {
                self.await_rank(*mate, number, waiter.n_spins(), engine)?;
            }
        }
        let patience = waiter.n_spins_beside_waiting_mates();
        for rank in (0..self.segment.n_ranks()).filter(|rank| *rank != self.rank) {
            self.await_rank(rank, number, patience, engine)?;
        }
        waiter.wake_all();
        Ok(())
    }

    #[inline]
    fn await_rank(&self, rank: Rank, number: u64, patience: u32, engine: &Engine) -> Result<()> {
        let line = self.line(rank, number);
        wait_for(rank, || line.has_reached(number), patience, engine)
    }
}

impl CollectiveLine {
    /// The owner's: puts down what it brings to the next meeting on this line.
    #[inline]
    pub(crate) fn bring(&self, word: u64) {
        // Relaxed: published by the Release store in `reach`.
        self.word.store(word, Ordering::Relaxed);
    }

    /// The owner's: says how long the vector is that it brings.
    pub(crate) fn bring_length(&self, length_bytes: usize) {
        // Relaxed: published by the Release store in `reach`.
        self.length_bytes.store(length_bytes as u64, Ordering::Relaxed);
    }

    /// The owner's: says that it is at meeting `number`.
    #[inline]
    pub(crate) fn reach(&self, number: u64) {
        // Release: pairs with the Acquire load in `has_reached`; publishes what was brought, and
        // that all reading of what was brought to the meeting before is over.
        self.reached.store(number, Ordering::Release);
    }

    /// True if the owner is at meeting `number`, or has been.
    #[inline]
    pub(crate) fn has_reached(&self, number: u64) -> bool {
        // Acquire: pairs with the Release store in `reach`.
        self.reached.load(Ordering::Acquire) >= number
    }

    /// Word of the owner at a meeting that it has reached.
    #[inline]
    pub(crate) fn brought(&self) -> u64 {
        // Relaxed: `has_reached` has acquired it.
        self.word.load(Ordering::Relaxed)
    }

    /// Length of the owner's vector at a meeting that it has reached.
    pub(crate) fn brought_length(&self) -> u64 {
        // Relaxed: `has_reached` has acquired it.
        self.length_bytes.load(Ordering::Relaxed)
    }
}
