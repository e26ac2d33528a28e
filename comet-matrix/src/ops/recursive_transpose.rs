//! Recursive transpose: time in which a matrix is transposed by divide and conquer: halves of the
//! mesh trade quadrants, then halves of these, and each block is transposed where it arrives.
//!
//! **Source**: thesis section 3.3.10, which wishes for it in a future extension.
//!
//! **Pattern**, on a mesh of m x m ranks, m a power of two; the quadrants B and C trade places as
//! they are, and so do B and C within each quadrant, down to single blocks
//! ```text
//!     A B        A C       round with h = m/2, m/4, ..., 1:
//!     C D  --->  B D         rank (i, j)  <-- whole block -->  rank (i xor h, j xor h)
//!                            where one of i and j has the bit h; the others wait
//!
//!   m x km, km x m     each square of m x m ranks likewise, then one message of each rank to the
//!                      place of its block on the transposed mesh
//! ```
//! **Timed** (all ranks): the rounds and the local transpose of the whole block with its ring,
//! after a barrier.
//!
//! **Reports**: completion time of one operation. `rounds` is the number of messages that the
//! busiest rank sends, one after the other. Quadratic in `local_n`.
//!
//! **Rate**: none. The local transpose is part of the time, and ranks send different numbers of
//! blocks.
//!
//! **Parameters**: `local_n`; a block with its ring has B = 8 (`local_n` + 2)^2 bytes.
//!
//! **Verified by**: every value of the block and of its ring, which its place in the transposed
//! matrix gives, as for `matrix/transpose`.
//!
//! **Caution**: where messages share no link it is slower than `matrix/transpose`, which sends each
//! block once: on P = m^2 ranks log2(m) start-ups and B log2(m) bytes on the busiest ranks, in
//! place of one start-up and B bytes; all ranks together send (P/2) log2(m) blocks in place of P -
//! m. It wins where the messages of `matrix/transpose` share links. On a hypercube with e-cube
//! routes the busiest link carries m/2 blocks there and one in each round here, so that times are
//! about t0 + (m/2) B / r and log2(m) (t0 + B / r) with start-up t0 and rate r of a link: long
//! blocks are faster here on 64 ranks and more. On a two-dimensional torus of ranks in that order
//! the sum over the rounds is above m/2, and it never wins. Meshes other than m x m, m x km and km
//! x m, m at least 2, are refused, and so are those on which `matrix/transpose` moves no block.

use comet_core::kernel::prelude::*;
use comet_core::topology::Mesh;

use super::transpose::{Transposing, admits_transpose};
use super::{MATRIX, Route, block_bytes};

/// `patterns/recursive_transpose`; see the [module](self).
pub(crate) struct RecursiveTranspose;

impl<T: Transport> Pattern<T> for RecursiveTranspose {
    const INFO: KernelInfo = KernelInfo {
        suite: "patterns",
        name: "recursive_transpose",
        file: include_str!("recursive_transpose.rs"),
        summary: "Transpose the matrix by divide and conquer: quadrants trade places",
        series: &[Series::completion("transpose")],
        admits: admits_recursive,
        bytes_per_rank: |case, _| block_bytes(case).saturating_mul(2),
        ..MATRIX
    };
    type Part = Transposing<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let ways = ways(cx.topology().mesh(), cx.rank());
        Ok(Some((Duty::Together, Transposing::new(cx, case, ways)?)))
    }

    fn noted(&self, _: &Case, t: &T) -> Vec<Derived> {
        let mesh = t.topology().mesh();
        let rounds = mesh.ranks().iter().map(|rank| ways(mesh, *rank).len()).max();
        let formula = "messages of the busiest rank, one after the other";
        vec![Derived::of("rounds", formula, rounds.map(|n| n as f64))]
    }
}

/// Side of the squares in which `mesh` is transposed: its shorter one, if that is a power of two of at
/// least 2 and divides the longer one.
fn square_side(mesh: &Mesh) -> Option<usize> {
    let (rows, cols) = (mesh.rows(), mesh.cols());
    let (short, long) = (rows.min(cols), rows.max(cols));
    (short > 1 && short.is_power_of_two() && long.is_multiple_of(short)).then_some(short)
}

/// Refuses a mesh that cannot be halved, and one on which no block leaves its rank.
fn admits_recursive(case: &Case, world: &World<'_>) -> Result<(), String> {
    admits_transpose(case, world)?;
    let mesh = world.topology.mesh();
    if square_side(mesh).is_some() {
        return Ok(());
    }
    let n_ranks = mesh.ranks().len();
    let sides = (1..usize::BITS).map(|bit| 1 << bit).take_while(|side| side * side <= n_ranks);
    let remedy = match sides.filter(|side| n_ranks.is_multiple_of(side * side)).last() {
        Some(side) => format!("try --mesh {side}x{}", n_ranks / side),
        None => "start 4, 8 or 16 ranks".into(),
    };
    Err(format!(
        "recursive transpose halves squares of ranks whose side is a power of two, which make no \
         {}x{} mesh ({remedy})",
        mesh.rows(),
        mesh.cols()
    ))
}

/// Ways of the blocks of `rank`, one after the other; none on a mesh that is refused.
fn ways(mesh: &Mesh, rank: Rank) -> Vec<Route> {
    let Some(side) = square_side(mesh) else { return Vec::new() };
    let (row, col) = mesh.position(rank);
    let halves = (0..side.ilog2()).rev().map(|bit| 1 << bit);
    let partners = halves
        .filter(|half| (row & half == 0) != (col & half == 0))
        .map(|half| mesh.rank_at(row ^ half, col ^ half));
    let squares = to_transposed_mesh(mesh, side, rank);
    let ways = partners.map(|partner| Route { to: partner, from: partner });
    ways.chain(Some(squares).filter(|way| way.to != rank)).collect()
}

/// Way from a mesh whose squares are transposed to the transposed mesh; that of a square stays.
fn to_transposed_mesh(mesh: &Mesh, side: usize, rank: Rank) -> Route {
    let transposed = mesh.transposed();
    // Place of a block after the squares were transposed, and back.
    let within = |row, col| (row - row % side + col % side, col - col % side + row % side);
    let (row, col) = mesh.position(rank);
    let (block_row, block_col) = within(row, col);
    let (new_row, new_col) = transposed.position(rank);
    let (row_before, col_before) = within(new_col, new_row);
    Route {
        to: transposed.rank_at(block_col, block_row),
        from: mesh.rank_at(row_before, col_before),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use comet_core::topology::Topology;

    #[test]
    fn ranks_of_a_square_trade_blocks_once_for_each_bit_in_which_their_places_differ() {
        let mesh = Mesh::gray(16);
        for rank in 0..16 {
            let (row, col) = mesh.position(rank);
            let ways = ways(&mesh, rank);
            assert_eq!(ways.len(), (row ^ col).count_ones() as usize, "{row} {col}");
            assert!(ways.iter().all(|way| way.to == way.from), "{ways:?}");
        }
        let at = |row, col| mesh.rank_at(row, col);
        let partners: Vec<_> = ways(&mesh, at(0, 3)).iter().map(|way| way.to).collect();
        assert_eq!(partners, [at(2, 1), at(1, 2)]);
    }

    #[test]
    fn each_way_has_a_block_that_comes_from_where_it_was_sent() {
        for (rows, cols) in [(2, 2), (2, 4), (4, 2), (2, 6), (4, 4), (4, 8), (8, 4), (8, 8)] {
            let mesh = Mesh::gray_with(rows, cols);
            let all: Vec<_> = (0..rows * cols).map(|rank| ways(&mesh, rank)).collect();
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            for (rank, ways) in all.iter().enumerate() {
                sent.extend(ways.iter().map(|way| (rank, way.to)));
                received.extend(ways.iter().map(|way| (way.from, rank)));
            }
            sent.sort_unstable();
            received.sort_unstable();
            assert_eq!(sent, received, "{rows}x{cols}");
        }
    }

    /// The most messages on one link of a hypercube, of `messages` that are sent at once.
    fn busiest(topology: &Topology, messages: impl Iterator<Item = (Rank, Rank)>) -> usize {
        let mut links = BTreeMap::new();
        for (from, to) in messages {
            let nodes = topology.route(from, to).expect("a hypercube has routes");
            for link in nodes.windows(2) {
                *links.entry([link[0], link[1]]).or_insert(0) += 1;
            }
        }
        links.into_values().max().unwrap_or(0)
    }

    #[test]
    fn a_round_has_links_of_a_hypercube_to_itself_and_a_direct_transpose_shares_them() {
        for (n_ranks, side) in [(4, 2_usize), (16, 4), (64, 8), (256, 16)] {
            let topology = Topology::hypercube(n_ranks);
            let mesh = topology.mesh();
            for half in (0..side.ilog2()).map(|bit| 1_usize << bit) {
                let round = (0..n_ranks).filter_map(|rank| {
                    let (row, col) = mesh.position(rank);
                    let to = mesh.rank_at(row ^ half, col ^ half);
                    ((row & half == 0) != (col & half == 0)).then_some((rank, to))
                });
                assert_eq!(busiest(&topology, round), 1, "{half} of {n_ranks}");
            }
            let direct = (0..n_ranks).map(|rank| {
                let (row, col) = mesh.position(rank);
                (rank, mesh.rank_at(col, row))
            });
            assert_eq!(busiest(&topology, direct), side / 2, "{n_ranks}");
        }
    }
}
