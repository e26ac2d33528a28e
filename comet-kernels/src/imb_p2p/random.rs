//! Random pairs: time of messages between two ranks that are drawn anew for each.
//!
//! **Source**: IMB 2021, IMB-P2P, `Unirandom`, `Birandom`.
//!
//! **Pattern**, P times in a round on P ranks: all ranks draw the same two ranks a and b
//! ```text
//!   unirandom   rank a  --OUT-->  rank b      a blocked send, a blocked receive
//!   birandom    rank a  --OUT-->  rank b      each posts its receive, sends, and waits for the
//!                       <-BACK--              receive
//! ```
//! **Timed** (all ranks): one round of P draws with their messages, in a loop. Buffers and test
//! data are made before; each loop begins the sequence of draws anew.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: P (unirandom) or 2 P (birandom) x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents, source and length of the message of
//! every draw of a round, and of the last one of a loop; canaries about the buffers.
//!
//! **Caution**: pairs that have no rank in common are at work at once. The draws are those of
//! IMB-P2P: a linear congruential generator with the seed 0. IMB-P2P prints as t the mean time of
//! the ranks for P (unirandom) or 2 P (birandom) messages, divided by 1 or 2, and touches messages
//! unless told otherwise (`--buffers touched:lines`).

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use super::draws::Draws;
use super::slot::{Beside, Slot};
use super::{ONE_OF_EACH, SUITE, round};

/// One of the kernels: messages from the first rank of a pair to the second, or (`BOTH`) both ways.
pub(crate) struct Random<const BOTH: bool>;

/// One rank.
pub(crate) struct Drawing<B, const BOTH: bool> {
    slot: Slot<B>,
    rank: Rank,
    n_ranks: usize,
    draws: Draws,
}

impl<B: std::ops::DerefMut<Target = [u8]>, const BOTH: bool> Drawing<B, BOTH> {
    /// The rank that sends to this one as `pair` is drawn, if one does.
    #[inline]
    fn source(&self, [first, second]: [Rank; 2]) -> Option<Rank> {
        if self.rank == second {
            Some(first)
        } else {
            (BOTH && self.rank == first).then_some(second)
        }
    }

    /// The messages of one pair.
    #[inline]
    fn step<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        pair: [Rank; 2],
        beside: &mut Beside<'_, '_, T>,
    ) -> Result<()> {
        let [first, second] = pair;
        match self.source(pair) {
            Some(from) if BOTH => self.slot.exchange(t, [from; 2], beside),
            Some(from) => self.slot.receive(t, from, beside),
            None if self.rank == first => self.slot.send(t, second, beside),
            None => Ok(()),
        }
    }

    #[inline]
    fn round<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        beside: &mut Beside<'_, '_, T>,
    ) -> Result<()> {
        for _ in 0..self.n_ranks {
            let pair = self.draws.pair(self.n_ranks);
            self.step(t, pair, beside)?;
        }
        Ok(())
    }

    /// A round with a check of every message.
    fn verify_beside<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        beside: &mut Beside<'_, '_, T>,
        check: &mut Checker,
    ) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        for _ in 0..self.n_ranks {
            let pair = self.draws.pair(self.n_ranks);
            if let Some(from) = self.source(pair) {
                self.slot.spoil(check.seeds(), from);
            }
            self.step(t, pair, beside)?;
            self.slot.check(check);
        }
        Operation::<T>::conclude(self, t)
    }
}

impl<T: Transport, const BOTH: bool> Operation<T> for Drawing<T::Buffer, BOTH> {
    fn fill(&mut self, seeds: Seeds) {
        self.slot.fill(seeds, self.rank);
        self.draws = Draws::default();
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.round(t, &mut Beside::Nothing)
    }

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        self.round(t, &mut Beside::Touch(touch))
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.round(t, &mut Beside::Packing(packing))
    }

    /// Begins the sequence anew, for the loop that follows.
    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        self.draws = Draws::default();
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        self.slot.check(check);
    }

    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        self.verify_beside(t, &mut Beside::Nothing, check)
    }

    fn verify_packed(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        check: &mut Checker,
    ) -> Result<()> {
        self.verify_beside(t, &mut Beside::Packing(packing), check)
    }
}

impl<const BOTH: bool, T: Transport> Pattern<T> for Random<BOTH> {
    const INFO: KernelInfo = KernelInfo {
        name: if BOTH { "birandom" } else { "unirandom" },
        file: include_str!("random.rs"),
        summary: if BOTH {
            "Messages both ways between two ranks that are drawn anew for each"
        } else {
            "Messages from one rank to another, both drawn anew for each"
        },
        aliases: if BOTH { &["IMB-P2P:Birandom"] } else { &["IMB-P2P:Unirandom"] },
        series: if BOTH {
            &[round::<2>(&[Rate {
                kind: RateKind::Messages,
                formula: "2 P / time",
                per_op: |_, world| 2.0 * world.n_ranks as f64,
            }])]
        } else {
            &[round::<1>(&ONE_OF_EACH)]
        },
        messages_per_op: |_, world| world.n_ranks as u64 * if BOTH { 2 } else { 1 },
        is_movable: false,
        ..SUITE
    };
    type Part = Drawing<T::Buffer, BOTH>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let slot = Slot::new(cx, case.length(&LENGTH_BYTES))?;
        let (rank, n_ranks, draws) = (cx.rank(), cx.transport().n_ranks(), Draws::default());
        Ok(Some((Duty::Together, Drawing { slot, rank, n_ranks, draws })))
    }
}
