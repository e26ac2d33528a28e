//! Routes: the directed links that a message takes one after the other.
//!
//! A route is asked for link by link and never stored, because the engine takes a link in an event
//! of its own, at up to a million ranks. Each direction of a wire is a link, numbered from 0.
//!
//! The number of links is the number of hops of the [`Metric`]: the wire from a rank up to its
//! switch is not among them, since messages wait for the interface of their sender already. The
//! one from the last switch down to the receiver is.
//!
//! Sources: Sullivan and Bashkow, A large scale, homogeneous, fully distributed parallel machine,
//! ISCA 1977, and thesis section 3.1.5 (hypercube); Dally and Seitz, The torus routing chip,
//! Distributed Computing 1, 1986; Petrini and Vanneschi, k-ary n-trees, IPPS 1997, and Zahavi,
//! Fat-tree routing and node ordering providing contention free traffic for MPI global collectives,
//! JPDC 72, 2012.

#[cfg(test)]
mod tests;

use comet_core::topology::Metric;
use comet_core::transport::Rank;

use crate::machine::{Shape, TorusDims};

/// The longest way, in links.
const MAX_HOPS: usize = 60_000;

/// All routes between the ranks of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    metric: Metric,
    n_links: usize,
    /// Of the smallest hypercube that has a corner for each rank.
    n_dims: usize,
    tree: Option<FatTree>,
}

impl Routes {
    /// The routes between `n_ranks` ranks that lie in a network of shape `shape`.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if the ranks do not fill the torus exactly, or if a
    /// switch of the fat tree has fewer than two children.
    pub fn new(shape: &Shape, n_ranks: usize) -> Result<Self, String> {
        if let Shape::Torus(TorusDims::Given(dims)) = shape
            && dims.iter().map(|dim| dim / 2).sum::<usize>() > MAX_HOPS
        {
            return Err(format!(
                "the torus {dims:?} has ways of more than {MAX_HOPS} links (give it more dimensions)"
            ));
        }
        let metric = match shape {
            Shape::Flat => Metric::Flat,
            Shape::Hypercube => Metric::Hypercube,
            Shape::Torus(TorusDims::Auto(n)) => Metric::Torus(near_equal(n_ranks, *n)),
            Shape::Torus(TorusDims::Given(dims)) => Metric::Torus(dims.clone()),
            Shape::FatTree { radix } => Metric::FatTree { radix: *radix },
        };
        metric.check(n_ranks)?;
        let n_dims = n_ranks.next_power_of_two().ilog2() as usize;
        let tree = match metric {
            Metric::FatTree { radix } => Some(FatTree::new(radix, n_ranks)),
            _ => None,
        };
        let n_links = match &metric {
            Metric::Torus(dims) => 2 * dims.len() * dims.iter().product::<usize>(),
            Metric::Hypercube => n_dims << n_dims,
            _ => tree.map_or(n_ranks, |tree| tree.n_links()),
        };
        Ok(Self { metric, n_links, n_dims, tree })
    }

    /// Distances between the ranks, for [`Topology::with_metric`].
    ///
    /// [`Topology::with_metric`]: comet_core::topology::Topology::with_metric
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Number of links; each has a number below that.
    pub fn n_links(&self) -> usize {
        self.n_links
    }

    /// Number of links from `from` to `to`, 0 from a rank to itself.
    #[inline]
    pub fn hops(&self, from: Rank, to: Rank) -> usize {
        self.metric.hops(from, to)
    }

    /// Link after `step` others from `from` to `to`; `None` when the message has arrived.
    #[inline]
    pub fn next(&self, from: Rank, to: Rank, step: usize) -> Option<usize> {
        match (&self.metric, &self.tree) {
            (Metric::Hypercube, _) => next_on_hypercube(self.n_dims, from, to, step),
            (Metric::Torus(dims), _) => next_on_torus(dims, from, to, step),
            (_, Some(tree)) => tree.next(from, to, step),
            // The only link is that from the crossbar to the receiver, and has its number.
            (_, None) => (from != to && step == 0).then_some(to),
        }
    }
}

/// The link in the `step`-th dimension in which the ranks differ, the lowest first (e-cube), of
/// `n_dims`; links are numbered corner by corner. If the number of ranks is no power of two, a route
/// may pass a corner that is no rank; it is a switch like the others.
#[inline]
fn next_on_hypercube(n_dims: usize, from: Rank, to: Rank, step: usize) -> Option<usize> {
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

/// The link after `step` others on a torus whose first dimension varies fastest with the rank: one
/// dimension after the other, the shorter way around, upwards where both are as long. Links are
/// numbered rank by rank, two (up and down) for each of the `dims`, none of which is 0.
#[inline]
fn next_on_torus(dims: &[usize], from: Rank, to: Rank, step: usize) -> Option<usize> {
    let (mut from_rest, mut to_rest, mut steps_left) = (from, to, step);
    // What the places before and at this dimension contribute to a rank.
    let (mut done, mut stride) = (0, 1);
    for (index, &dim) in dims.iter().enumerate() {
        let (at, goal) = (from_rest % dim, to_rest % dim);
        let ahead = if goal >= at { goal - at } else { goal + dim - at };
        let is_up = 2 * ahead <= dim;
        let distance = if is_up { ahead } else { dim - ahead };
        if steps_left < distance {
            let moved = if is_up { at + steps_left } else { at + dim - steps_left } % dim;
            let place = done + (from_rest - at + moved) * stride;
            return Some(2 * (place * dims.len() + index) + usize::from(!is_up));
        }
        steps_left -= distance;
        done += goal * stride;
        stride *= dim;
        (from_rest, to_rest) = (from_rest / dim, to_rest / dim);
    }
    None
}

/// `n_dims` dimensions for `n_ranks` ranks, the largest first: each in turn is the smallest factor
/// that is at least the root of what is left, so that they are as equal as the factors allow
/// (compare MPI 4.1 section 8.5.2, `MPI_Dims_create`).
fn near_equal(n_ranks: usize, n_dims: usize) -> Vec<usize> {
    let mut rest = n_ranks;
    let mut dims: Vec<usize> = (1..=n_dims)
        .rev()
        .map(|n_left| {
            let dim = factor_above_root(rest, n_left);
            rest /= dim;
            dim
        })
        .collect();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    dims
}

/// The smallest factor of `number` whose `degree`-th power is at least `number`.
fn factor_above_root(number: usize, degree: usize) -> usize {
    let degree = u32::try_from(degree).unwrap_or(u32::MAX);
    let reaches = |factor: usize| factor.checked_pow(degree).is_none_or(|power| power >= number);
    (1..=number).find(|factor| number.is_multiple_of(*factor) && reaches(*factor)).unwrap_or(1)
}

/// A k-ary n-tree: a route goes up to the lowest switch that both ranks are below, and down again.
///
/// ```text
///   level 1   [0]   [1]        the switch at level l above a rank is named by the rank's digits
///             | \   / |        above l and, below l, by the up ports that were taken:
///             |   X   |        one digit of base k each
///             | /   \ |
///   level 0   [0]   [1]        rank 0 to rank 3 (radix 2): up by port 3 mod 2 to switch 1 of
///             / \   / \        level 1, down to switch 1 of level 0, down to rank 3
///            0   1 2   3
/// ```
///
/// The up port at level `l` is digit `l` of the destination (D-mod-k), so that all routes to a
/// rank meet in one switch of each level, and no link down is used for two destinations. Links lie
/// in blocks of `stride`, one block per level up, then one per level down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FatTree {
    radix: usize,
    n_levels: usize,
    stride: usize,
}

impl FatTree {
    /// The tree of as many levels of switches as `n_ranks` ranks need, one at least.
    fn new(radix: usize, n_ranks: usize) -> Self {
        // Ranks below one switch of the highest level but one.
        let (mut n_levels, mut n_below) = (1, 1);
        while n_below * radix < n_ranks {
            n_below *= radix;
            n_levels += 1;
        }
        Self { radix, n_levels, stride: n_ranks.next_multiple_of(n_below) }
    }

    /// Blocks of links up from each level but the highest, and down from each.
    fn n_links(&self) -> usize {
        (2 * self.n_levels - 1) * self.stride
    }

    #[inline]
    fn next(&self, from: Rank, to: Rank, step: usize) -> Option<usize> {
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
