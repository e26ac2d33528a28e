//! Topology as data: the processor mesh, its neighbours, and who is how many hops away.
//!
//! Source: thesis sections 3.1.5 and 3.4.1, figures 4.1 and 4.2. The thesis defines both for
//! powers of two only; [`Mesh::gray`] and [`Topology::hypercube`] say what every other rank count
//! gets. A user's own tables replace both ([`Topology::new`]), and the shape of a simulated network
//! replaces the distances ([`Topology::with_metric`]).

mod grid;
mod mesh;
mod metric;
mod stencil;
mod torus;

pub use grid::RankGrid;
pub use mesh::{Mesh, Neighbours, gray};
pub use metric::Metric;
pub use stencil::stencil_sides;
pub use torus::{MAX_TORUS_DIMENSIONS, torus_sides};

use std::borrow::Cow;

use crate::transport::Rank;

/// The mesh and the hop function of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    mesh: Mesh,
    metric: Metric,
}

impl Topology {
    /// `n_ranks` ranks numbered like the corners of a hypercube, on the default [`Mesh::gray`].
    pub fn hypercube(n_ranks: usize) -> Self {
        Self { mesh: Mesh::gray(n_ranks), metric: Metric::Hypercube }
    }

    /// `mesh`, with distances `hops[from][to]`, or those of a hypercube.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if the distance table is not square over the ranks of
    /// the mesh, if a rank is not exactly 0 hops away from itself alone, or if a distance is above
    /// 1000.
    pub fn new(mesh: Mesh, hops: Option<Vec<Vec<usize>>>) -> Result<Self, String> {
        Self::with_metric(mesh, hops.map_or(Metric::Hypercube, Metric::Table))
    }

    /// `mesh`, with the distances of `metric`.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if the metric does not fit the ranks of the mesh (see
    /// [`Metric::check`]).
    pub fn with_metric(mesh: Mesh, metric: Metric) -> Result<Self, String> {
        metric.check(mesh.ranks().len())?;
        Ok(Self { mesh, metric })
    }

    /// The topology of the first `n_ranks` ranks: the distances are those of this one, and the mesh
    /// is this one for all ranks, near-square for fewer.
    pub fn first(&self, n_ranks: usize) -> Cow<'_, Self> {
        if n_ranks == self.n_ranks() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { metric: self.metric.clone(), ..Self::hypercube(n_ranks) })
    }

    /// The processor mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Number of ranks.
    pub fn n_ranks(&self) -> usize {
        self.mesh.ranks().len()
    }

    /// Source of the distances, as in the record (see [`Metric::name`]).
    pub fn metric(&self) -> &'static str {
        self.metric.name()
    }

    /// Number of links between two ranks, 0 from a rank to itself.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn hops(&self, from: Rank, to: Rank) -> usize {
        assert!(from < self.n_ranks() && to < self.n_ranks(), "no rank {from} or {to}");
        self.metric.hops(from, to)
    }

    /// A rank `hop` links away from `rank` (`get_hop_node`), or `None` where there is none.
    ///
    /// On a hypercube the one whose lowest `hop` bits are flipped, if there is such a rank, or
    /// else the lowest rank at that distance; by any other metric the lowest rank at that distance.
    ///
    /// # Panics
    /// If there is no rank `rank`.
    pub fn hop_node(&self, rank: Rank, hop: usize) -> Option<Rank> {
        let n_ranks = self.n_ranks();
        let flipped = 1usize.checked_shl(u32::try_from(hop).ok()?).map(|bit| rank ^ (bit - 1));
        if self.metric == Metric::Hypercube && flipped.is_some_and(|rank| rank < n_ranks) {
            return flipped;
        }
        if hop > self.max_hops(rank) {
            return None;
        }
        (0..n_ranks).find(|to| self.hops(rank, *to) == hop)
    }

    /// The nodes on the way of a message, with both ends: on a hypercube the lowest dimension
    /// first, on a torus the first, by the shorter way, and upwards where both are as long. `None`
    /// where the metric tells no routes.
    pub fn route(&self, from: Rank, to: Rank) -> Option<Vec<usize>> {
        let mut route = vec![from];
        while let Some(node) = route.last().copied().filter(|node| *node != to) {
            route.push(self.metric.next(node, to)?);
        }
        Some(route)
    }

    /// The largest distance from `rank` for which there is a [`hop_node`](Self::hop_node).
    ///
    /// # Panics
    /// If there is no rank `rank`.
    pub fn max_hops(&self, rank: Rank) -> usize {
        assert!(rank < self.n_ranks(), "no rank {rank}");
        self.metric.max_hops(rank, self.n_ranks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_powers_of_two_all_neighbours_differ_in_one_bit() {
        for exponent in 1..=10 {
            let topology = Topology::hypercube(1 << exponent);
            for rank in 0..topology.n_ranks() {
                let n = topology.mesh().neighbours(rank);
                for other in [n.top, n.bottom, n.pred, n.succ] {
                    assert!(topology.hops(rank, other) <= 1, "{rank} and {other} of 2^{exponent}");
                }
            }
        }
    }

    #[test]
    fn hop_nodes_flip_the_lowest_bits() {
        let topology = Topology::hypercube(16);
        assert_eq!(topology.hop_node(0, 0), Some(0));
        assert_eq!(topology.hop_node(0, 4), Some(15));
        assert_eq!(topology.hop_node(5, 2), Some(6));
        assert_eq!(topology.hop_node(0, 5), None);
        assert_eq!(topology.max_hops(0), 4);
    }

    #[test]
    fn routes_go_dimension_by_dimension() {
        assert_eq!(Topology::hypercube(8).route(0, 7), Some(vec![0, 1, 3, 7]));
        let torus = Topology::with_metric(Mesh::gray(12), Metric::Torus(vec![4, 3])).unwrap();
        assert_eq!(torus.route(0, 10), Some(vec![0, 1, 2, 10]));
        assert_eq!(torus.route(0, 3), Some(vec![0, 3]));
        for to in 0..12 {
            assert_eq!(torus.route(5, to).unwrap().len(), torus.hops(5, to) + 1);
        }
    }

    #[test]
    fn every_distance_up_to_the_largest_has_a_rank() {
        for n_ranks in 1..=40 {
            let topology = Topology::hypercube(n_ranks);
            for hop in 0..=topology.max_hops(0) {
                let rank = topology.hop_node(0, hop).expect("a rank at each distance");
                assert_eq!(topology.hops(0, rank), hop, "{hop} hops of {n_ranks} ranks");
            }
        }
    }

    #[test]
    fn wrong_tables_are_refused_with_a_reason() {
        let mesh = Mesh::gray(2);
        let refuse = |hops| Topology::new(mesh.clone(), Some(hops)).unwrap_err();
        assert_eq!(refuse(vec![]), "the hop table has 0 rows, the mesh has 2 ranks");
        assert_eq!(
            refuse(vec![vec![0, 0], vec![1, 0]]),
            "the hop table says 0 from rank 0 to rank 1: expected 0 to itself alone, and at most \
             1000"
        );
    }

    #[test]
    fn a_users_table_replaces_the_distances() {
        let hops = vec![vec![0, 2, 1], vec![2, 0, 1], vec![1, 1, 0]];
        let topology = Topology::new(Mesh::gray(3), Some(hops)).unwrap();
        assert_eq!(topology.hop_node(0, 1), Some(2));
        assert_eq!(topology.hop_node(0, 2), Some(1));
        assert_eq!(topology.max_hops(0), 2);
        assert_eq!(topology.metric(), "table");
    }

    #[test]
    fn a_shape_replaces_the_distances() {
        let torus = || Metric::Torus(vec![5, 3]);
        let topology = Topology::with_metric(Mesh::gray(15), torus()).unwrap();
        assert_eq!(topology.metric(), "torus");
        assert_eq!((topology.hops(0, 4), topology.max_hops(7)), (1, 3));
        assert_eq!((topology.hop_node(0, 3), topology.hop_node(0, 4)), (Some(7), None));
        assert!(Topology::with_metric(Mesh::gray(16), torus()).is_err());
    }

    #[test]
    fn the_first_ranks_keep_their_distances() {
        let torus = Topology::with_metric(Mesh::gray(15), Metric::Torus(vec![5, 3])).unwrap();
        let first = torus.first(6);
        assert_eq!((first.n_ranks(), first.metric()), (6, "torus"));
        assert_eq!([first.hops(0, 4), first.hops(0, 5), first.max_hops(0)], [1, 1, 2]);
        let hops = vec![vec![0, 2, 3], vec![2, 0, 1], vec![3, 1, 0]];
        let table = Topology::new(Mesh::gray(3), Some(hops)).unwrap();
        assert_eq!([table.max_hops(0), table.first(2).max_hops(0)], [3, 2]);
    }
}
