//! Routes: the directed links that a message takes one after the other.
//!
//! A route is asked for link by link and never stored, because the engine takes a link in an event
//! of its own, at up to a million ranks. Each direction of a wire is a link, numbered from 0.
//!
//! The number of links is the number of hops of the [`Metric`]: the wire from a rank up to its
//! switch is not among them, since messages wait for the interface of their sender already. The
//! one from the last switch down to the receiver is.

mod fat_tree;
mod hypercube;
#[cfg(test)]
mod tests;
mod torus;

use comet_core::topology::Metric;
use comet_core::transport::Rank;

use crate::machine::{Shape, TorusDims};
use fat_tree::FatTree;

/// The longest way, in links.
const MAX_HOPS: usize = 60_000;

/// All routes between the ranks of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    metric: Metric,
    n_links: usize,
    way: Way,
}

/// Search for the next link.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// The only link is that from the crossbar to the receiver, and has its number.
    Flat,
    /// Number of dimensions.
    Hypercube(usize),
    /// Ranks along each dimension.
    Torus(Vec<usize>),
    FatTree(FatTree),
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
            Shape::Torus(TorusDims::Auto(n)) => Metric::Torus(torus::near_equal(n_ranks, *n)),
            Shape::Torus(TorusDims::Given(dims)) => Metric::Torus(dims.clone()),
            Shape::FatTree { radix } => Metric::FatTree { radix: *radix },
        };
        metric.check(n_ranks)?;
        let (way, n_links) = match &metric {
            Metric::Torus(dims) => {
                (Way::Torus(dims.clone()), 2 * dims.len() * dims.iter().product::<usize>())
            }
            Metric::FatTree { radix } => {
                let tree = FatTree::new(*radix, n_ranks);
                (Way::FatTree(tree), tree.n_links())
            }
            Metric::Hypercube => {
                // The smallest that has a corner for each rank.
                let n_dims = n_ranks.next_power_of_two().ilog2() as usize;
                (Way::Hypercube(n_dims), n_dims << n_dims)
            }
            Metric::Flat | Metric::Table(_) => (Way::Flat, n_ranks),
        };
        Ok(Self { metric, n_links, way })
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
        match &self.way {
            Way::Flat => (from != to && step == 0).then_some(to),
            Way::Hypercube(n_dims) => hypercube::next(*n_dims, from, to, step),
            Way::Torus(dims) => torus::next(dims, from, to, step),
            Way::FatTree(fat_tree) => fat_tree.next(from, to, step),
        }
    }
}
