//! Random ring: time of messages that all ranks send at once to the next one on a ring whose order is
//! drawn anew for each.
//!
//! **Source**: IMB 2021, IMB-P2P, `Corandom`.
//!
//! **Pattern**, on all P ranks: all draw the same order of a ring by P swaps of two places
//! ```text
//!   rank at place i  --OUT-->  rank at place i+1      posts its receive, sends, and waits for the
//!                    <--IN---  rank at place i-1      receive
//! ```
//! **Timed** (all ranks): the draws and the three calls, in a loop. Buffers and test data are made
//! before; each loop begins with the ranks in order and the sequence of draws anew.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: P x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents, source and length of the message of a
//! round and of the last one of a loop; canaries about the buffers.
//!
//! **Caution**: the draws take the time of P random numbers on each rank, and a search. They are
//! those of IMB-P2P: a linear congruential generator with the seed 0. IMB-P2P prints as t the mean
//! over the ranks, and touches messages unless told otherwise (`--buffers touched:lines`).

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use super::draws::Draws;
use super::slot::{Beside, Slot};
use super::{ONE_OF_EACH, SUITE, round};

/// `imb-p2p/corandom`; see the [module](self).
pub(crate) struct Corandom;

/// Ranks in the order of a ring that is drawn again and again.
struct Ring {
    ranks: Vec<Rank>,
    draws: Draws,
}

impl Ring {
    /// `n_ranks` ranks in order.
    fn new(n_ranks: usize) -> Self {
        Self { ranks: (0..n_ranks).collect(), draws: Draws::default() }
    }

    /// The ranks in order, and the sequence of draws anew.
    fn restart(&mut self) {
        self.ranks.iter_mut().enumerate().for_each(|(place, rank)| *rank = place);
        self.draws = Draws::default();
    }

    /// Draws another order.
    #[inline]
    fn draw(&mut self) {
        let n_ranks = self.ranks.len();
        for place in 0..n_ranks {
            self.ranks.swap(place, self.draws.rank(n_ranks));
        }
    }

    /// The ranks before and after `rank`.
    #[inline]
    fn around(&self, rank: Rank) -> [Rank; 2] {
        let n_ranks = self.ranks.len();
        let place = self.ranks.iter().position(|other| *other == rank).unwrap_or(0);
        [n_ranks - 1, 1].map(|step| self.ranks[(place + step) % n_ranks])
    }
}

/// One rank.
pub(crate) struct Circling<B> {
    slot: Slot<B>,
    rank: Rank,
    ring: Ring,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Circling<B> {
    #[inline]
    fn round<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        beside: &mut Beside<'_, '_, T>,
    ) -> Result<()> {
        self.ring.draw();
        self.slot.exchange(t, self.ring.around(self.rank), beside)
    }
}

impl<T: Transport> Operation<T> for Circling<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        self.ring.restart();
        self.ring.draw();
        let [first, _] = self.ring.around(self.rank);
        self.ring.restart();
        self.slot.fill(seeds, first);
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
        self.ring.restart();
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        self.slot.check(check);
    }
}

impl<T: Transport> Pattern<T> for Corandom {
    const INFO: KernelInfo = KernelInfo {
        name: "corandom",
        file: include_str!("corandom.rs"),
        summary: "All ranks send to the next one on a ring that is drawn anew for each",
        aliases: &["IMB-P2P:Corandom"],
        series: &[round::<1>(&ONE_OF_EACH)],
        is_movable: false,
        ..SUITE
    };
    type Part = Circling<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let slot = Slot::new(cx, case.length(&LENGTH_BYTES))?;
        let ring = Ring::new(cx.transport().n_ranks());
        Ok(Some((Duty::Together, Circling { slot, rank: cx.rank(), ring })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_those_of_the_original() {
        // Rings of IMB 2021.11 from the seed 0.
        let mut ring = Ring::new(4);
        for expected in [[1, 3, 0, 2], [2, 0, 1, 3], [0, 1, 2, 3], [3, 0, 2, 1]] {
            ring.draw();
            assert_eq!(ring.ranks, expected);
        }
        assert_eq!(ring.around(3), [1, 0]);
        ring.restart();
        ring.draw();
        assert_eq!(ring.ranks, [1, 3, 0, 2]);
    }
}
