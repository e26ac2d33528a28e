//! E-cube routes on a hypercube: the lowest dimension in which the ranks differ comes first.
//!
//! If the number of ranks is no power of two, a route may pass a corner that is no rank; it is a
//! switch like the others.
//!
//! Source: Sullivan and Bashkow, A large scale, homogeneous, fully distributed parallel machine,
//! ISCA 1977; thesis section 3.1.5.

use comet_core::transport::Rank;

/// The link in the `step`-th dimension in which the ranks differ, of `n_dims`; links are numbered
/// corner by corner.
#[inline]
pub(super) fn next(n_dims: usize, from: Rank, to: Rank, step: usize) -> Option<usize> {
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
    Some(corner * n_dims + dim)
}
