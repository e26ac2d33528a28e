//! Figure 4.1: the mesh on which all neighbours are one hop apart.

use comet_core::topology::Topology;
use comet_core::transport::Rank;

use super::claim::Claim;

const MOST_RANKS: usize = 1024;

pub(super) fn claim() -> Claim {
    let cubes = || (1..).map(|dims| 1 << dims).take_while(|n_ranks| *n_ranks <= MOST_RANKS);
    let farthest = cubes().map(|n_ranks| farthest(&Topology::hypercube(n_ranks))).max();
    let found = farthest.unwrap_or(0);
    Claim::statement(
        "4.1",
        "hops to the neighbours on the mesh, P = 2 to 1024",
        "1",
        found.to_string(),
        ("exact", found == 1),
    )
}

/// The most hops between neighbours; a rank may be its own.
fn farthest(topology: &Topology) -> usize {
    let hops = |rank: Rank| {
        let near = topology.mesh().neighbours(rank);
        [near.top, near.bottom, near.pred, near.succ].map(|other| topology.hops(rank, other))
    };
    (0..topology.n_ranks()).flat_map(hops).max().unwrap_or(0)
}
