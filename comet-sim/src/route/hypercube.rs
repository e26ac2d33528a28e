//! E-cube routes on a hypercube: the lowest dimension in which the ranks differ comes first.
//!
//! If the number of ranks is no power of two, a route may pass a corner that is no rank; it is a
//! switch like the others.
//!
//! Source: Sullivan and Bashkow, A large scale, homogeneous, fully distributed parallel machine,
//! ISCA 1977; thesis section 3.1.5.

use comet_core::transport::Rank;

/// A hypercube; its links are numbered corner by corner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hypercube {
    n_dims: usize,
}

impl Hypercube {
    /// The smallest hypercube that has a corner for each of `n_ranks` ranks.
    pub(super) fn new(n_ranks: usize) -> Self {
        Self { n_dims: n_ranks.next_power_of_two().ilog2() as usize }
    }

    /// One link from each corner in each dimension.
    pub(super) fn n_links(&self) -> usize {
        self.n_dims << self.n_dims
    }

    /// The link in the `step`-th dimension in which the ranks differ.
    #[inline]
    pub(super) fn next(&self, from: Rank, to: Rank, step: usize) -> Option<usize> {
        let mut ahead = from ^ to;
        for _ in 0..step {
            ahead &= ahead.wrapping_sub(1);
        }
        if ahead == 0 {
            return None;
        }
        let dim = ahead.trailing_zeros() as usize;
        let below = (1 << dim) - 1;
        let corner = (from & !below) | (to & below);
        Some(corner * self.n_dims + dim)
    }
}
