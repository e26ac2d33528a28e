//! Routes in a k-ary n-tree: up to the lowest switch that both ranks are below, and down again.
//!
//! ```text
//!   level 1   [0]   [1]        the switch at level l above a rank is named by the rank's digits
//!             | \   / |        above l and, below l, by the up ports that were taken:
//!             |   X   |        one digit of base k each
//!             | /   \ |
//!   level 0   [0]   [1]        rank 0 to rank 3 (radix 2): up by port 3 mod 2 to switch 1 of
//!             / \   / \        level 1, down to switch 1 of level 0, down to rank 3
//!            0   1 2   3
//! ```
//!
//! The up port at level `l` is digit `l` of the destination (D-mod-k), so that all routes to a
//! rank meet in one switch of each level, and no link down is used for two destinations.
//!
//! Source: Petrini and Vanneschi, k-ary n-trees, IPPS 1997; Zahavi, Fat-tree routing and node
//! ordering providing contention free traffic for MPI global collectives, JPDC 72, 2012.

use comet_core::transport::Rank;

/// A fat tree; links in blocks of `stride`, one block per level up, then one per level down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FatTree {
    radix: usize,
    n_levels: usize,
    stride: usize,
}

impl FatTree {
    /// The tree of as many levels of switches as `n_ranks` ranks need, one at least.
    pub(super) fn new(radix: usize, n_ranks: usize) -> Self {
        // Ranks below one switch of the highest level but one.
        let (mut n_levels, mut n_below) = (1, 1);
        while n_below * radix < n_ranks {
            n_below *= radix;
            n_levels += 1;
        }
        Self { radix, n_levels, stride: n_ranks.next_multiple_of(n_below) }
    }

    /// Blocks of links up from each level but the highest, and down from each.
    pub(super) fn n_links(&self) -> usize {
        (2 * self.n_levels - 1) * self.stride
    }

    /// The link that is taken after `step` others.
    #[inline]
    pub(super) fn next(&self, from: Rank, to: Rank, step: usize) -> Option<usize> {
        let top = self.meeting_level(from, to)?;
        if step < top {
            return Some(self.up(from, to, step));
        }
        let level = (2 * top).checked_sub(step)?;
        Some((self.n_levels - 1 + level) * self.stride + to)
    }

    /// The link up from the switch of level `level`: named by the sender's digits above the level
    /// and the destination's up to it, which are the ports taken so far and here.
    #[inline]
    fn up(&self, from: Rank, to: Rank, level: usize) -> usize {
        let n_below = (0..=level).fold(1, |n_below, _| n_below * self.radix);
        level * self.stride + from / n_below * n_below + to % n_below
    }

    /// The lowest level of a switch above both ranks; `None` from a rank to itself.
    #[inline]
    fn meeting_level(&self, mut from: Rank, mut to: Rank) -> Option<usize> {
        let mut n_levels: usize = 0;
        while from != to {
            (from, to) = (from / self.radix, to / self.radix);
            n_levels += 1;
        }
        n_levels.checked_sub(1)
    }
}
