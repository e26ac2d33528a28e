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
use hypercube::Hypercube;
use torus::Torus;

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
    Hypercube(Hypercube),
    Torus(Torus),
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
        match shape {
            Shape::Flat => Ok(Self { metric: Metric::Flat, n_links: n_ranks, way: Way::Flat }),
            Shape::Hypercube => Ok(hypercube(n_ranks)),
            Shape::Torus(dims) => torus(dims, n_ranks),
            Shape::FatTree { radix } => fat_tree(*radix, n_ranks),
        }
    }

    /// Distances between the ranks, for [`Topology::with_metric`].
    ///
    /// [`Topology::with_metric`]: comet_core::topology::Topology::with_metric
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Number of links; each has a number below that.
    #[must_use]
    pub fn n_links(&self) -> usize {
        self.n_links
    }

    /// Number of links from `from` to `to`, 0 from a rank to itself.
    #[must_use]
    #[inline]
    pub fn hops(&self, from: Rank, to: Rank) -> usize {
        self.metric.hops(from, to)
    }

    /// The link that a message from `from` to `to` takes after `step` others; `None` when it has
    /// arrived.
    #[must_use]
    #[inline]
    pub fn next(&self, from: Rank, to: Rank, step: usize) -> Option<usize> {
        match &self.way {
            Way::Flat => (from != to && step == 0).then_some(to),
            Way::Hypercube(hypercube) => hypercube.next(from, to, step),
            Way::Torus(torus) => torus.next(from, to, step),
            Way::FatTree(fat_tree) => fat_tree.next(from, to, step),
        }
    }
}

fn hypercube(n_ranks: usize) -> Routes {
    let way = Hypercube::new(n_ranks);
    Routes { metric: Metric::Hypercube, n_links: way.n_links(), way: Way::Hypercube(way) }
}

fn torus(dims: &TorusDims, n_ranks: usize) -> Result<Routes, String> {
    let dims = match dims {
        TorusDims::Auto(n_dims) => torus::near_equal(n_ranks, *n_dims),
        TorusDims::Given(dims) => dims.clone(),
    };
    let metric = Metric::Torus(dims.clone());
    metric.check(n_ranks)?;
    let way = Torus::new(dims);
    Ok(Routes { metric, n_links: way.n_links(), way: Way::Torus(way) })
}

fn fat_tree(radix: usize, n_ranks: usize) -> Result<Routes, String> {
    let metric = Metric::FatTree { radix };
    metric.check(n_ranks)?;
    let way = FatTree::new(radix, n_ranks);
    Ok(Routes { metric, n_links: way.n_links(), way: Way::FatTree(way) })
}
