//! Ranks that look drawn by lot, the same on all ranks and in the order of IMB-P2P: a linear congruential
//! generator with its multiplier and its increment.

use comet_core::transport::Rank;

/// A generator at the start of its sequence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draws(u64);

impl Draws {
    /// A number below `n_ranks`.
    #[inline]
    pub(super) fn rank(&mut self, n_ranks: usize) -> Rank {
        const MULTIPLIER: u64 = 7_560_690_468_208_412_377;
        const INCREMENT: u64 = 4_343_336_064_253_945_357;
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let bits = (self.0 >> 24) & u64::from(u32::MAX);
        (bits % n_ranks as u64) as Rank
    }

    /// Two ranks that differ, of which there are at least two.
    #[inline]
    pub(super) fn pair(&mut self, n_ranks: usize) -> [Rank; 2] {
        let first = self.rank(n_ranks);
        loop {
            let second = self.rank(n_ranks);
            if second != first {
                return [first, second];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_the_original() {
        // Pairs of `get_next_random` of IMB 2021.11 from the seed 0.
        let pairs = |n_ranks| {
            let mut draws = Draws::default();
            std::array::from_fn::<[Rank; 2], 6, _>(|_| draws.pair(n_ranks))
        };
        assert_eq!(pairs(4), [[1, 3], [2, 3], [2, 3], [3, 0], [0, 1], [3, 0]]);
        assert_eq!(pairs(7), [[1, 0], [3, 4], [6, 5], [3, 4], [1, 6], [2, 4]]);
    }
}
