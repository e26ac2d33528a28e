//! Transpose: time in which blocks trade places across the diagonal, and each is transposed where it
//! arrives.
//!
//! **Source**: thesis sections 3.3.10 and 4.3, figure 3.13.
//!
//! **Pattern**, with block (i, j) at row i, column j of the mesh
//! ```text
//!    square mesh       rank (i, j) <------ exchange ------> rank (j, i)      then both transpose
//!
//!    other meshes      rank at (i, j) of the mesh --> rank at (j, i) of the transposed mesh
//!
//!         mesh 2 x 3         transposed mesh 3 x 2
//!          0  1  3                  0  1              block (0, 1): rank 1 --> rank 2
//!          4  5  2                  2  3              block (0, 2): rank 3 --> rank 5
//!                                   5  4
//! ```
//! **Timed** (all ranks): the message and the local transpose of the whole block with its ring, after a
//! barrier.
//!
//! **Reports**: completion time of one operation. Quadratic in `local_n`.
//!
//! **Rate**: none. The local transpose is part of the time, and the number of ranks that send depends
//! on the mesh.
//!
//! **Parameters**: `local_n`.
//!
//! **Verified by**: every value of the block and of its ring, which its place in the transposed
//! matrix gives.
//!
//! **Caution**: a block that stays on its rank is transposed there without a message: those on the
//! diagonal of a square mesh. A mesh on which all blocks stay is refused: one row, one column, and
//! a table of the user's that is not square, which is transposed in place.
//! Repetitions move blocks along the same ways again, which on a mesh that is not square is the
//! same work, but transposes the matrix the first time only.

use comet_core::kernel::prelude::*;
use comet_core::topology::Mesh;
use comet_core::transport::Work;

use super::{MATRIX, Pair, Route, admits, block_bytes, place, two_or_more_lines};
use crate::block::{ELEMENT_BYTES, Memory};
use crate::check;
use crate::setup::{self, Place};

const INFO: KernelInfo = KernelInfo {
    name: "transpose",
    file: include_str!("transpose.rs"),
    summary: "Transpose the matrix: blocks trade places, then each is transposed",
    series: &[Series::completion("transpose")],
    admits: admits_transpose,
    bytes_per_rank: |case, _| block_bytes(case).saturating_mul(2),
    ..MATRIX
};

/// `matrix/transpose`; see the [module](self).
pub(crate) struct Transpose;

/// The blocks of one rank on their way.
pub(crate) struct Transposing<B> {
    mesh: Mesh,
    start: Place,
    /// Place in the transposed matrix.
    at: Place,
    pair: Pair<B>,
    /// Ways of the blocks of this rank, one after the other.
    ways: Vec<Route>,
}

impl<B: Memory> Transposing<B> {
    /// The blocks of this rank, which go `ways`.
    pub(super) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        case: &Case,
        ways: Vec<Route>,
    ) -> Result<Self> {
        let mesh = cx.topology().mesh();
        let (start, at) = (place(cx, mesh, case), place(cx, &mesh.transposed(), case));
        Ok(Self { mesh: mesh.clone(), start, at, pair: Pair::new(cx, case)?, ways })
    }
}

impl<T: Transport> Operation<T> for Transposing<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        setup::fill(&mut self.pair.current, self.start);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        transpose(t, &self.ways, &mut self.pair)
    }

    fn check(&mut self, check: &mut Checker) {
        let (at, mesh, n_runs) = (self.at, &self.mesh, check.n_runs());
        let origin = check::origin_after_transposes(at, mesh, n_runs);
        let expected = |row, col| check::after_transposes(origin, n_runs, row, col);
        check::block(check, (&mut self.pair.current, self.start), expected, "transpose");
    }
}

impl<T: Transport> Pattern<T> for Transpose {
    const INFO: KernelInfo = INFO;
    type Part = Transposing<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let ways = ways(cx.topology().mesh(), cx.rank());
        Ok(Some((Duty::Together, Transposing::new(cx, case, ways)?)))
    }
}

/// Refuses a mesh on which no block leaves its rank.
pub(super) fn admits_transpose(case: &Case, world: &World<'_>) -> Result<(), String> {
    let mesh = world.topology.mesh();
    if mesh.ranks().iter().all(|rank| ways(mesh, *rank).is_empty()) {
        let (rows, cols) = (mesh.rows(), mesh.cols());
        let shape = two_or_more_lines(mesh).filter(|(_, n_cols)| *n_cols > 1);
        let remedy = match shape {
            Some((rows, cols)) => format!("try --mesh {rows}x{cols}"),
            None => "start 4 or 6 ranks".into(),
        };
        return Err(format!(
            "transpose moves no block between the ranks of a {rows}x{cols} mesh ({remedy})"
        ));
    }
    admits(case, world)
}

/// Route of blocks when a matrix that lies on `mesh` is transposed onto `mesh.transposed()`.
fn route(mesh: &Mesh, rank: Rank) -> Route {
    let transposed = mesh.transposed();
    let (row, col) = mesh.position(rank);
    let (new_row, new_col) = transposed.position(rank);
    Route { to: transposed.rank_at(col, row), from: mesh.rank_at(new_col, new_row) }
}

/// The only way of the block of `rank`, if it leaves its rank.
fn ways(mesh: &Mesh, rank: Rank) -> Vec<Route> {
    Vec::from_iter(Some(route(mesh, rank)).filter(|way| way.to != rank))
}

/// Moves the block of this rank along `ways`, and transposes the one that has come by the last of them.
#[inline]
fn transpose<T: Transport>(t: &T, ways: &[Route], pair: &mut Pair<T::Buffer>) -> Result<()> {
    if let Some((last, before)) = ways.split_last() {
        for way in before {
            pair.exchange(t, *way)?;
            pair.swap();
        }
        pair.exchange(t, *last)?;
    } else {
        pair.swap();
    }
    // The block that came goes into the current one, which has left by now.
    let side = pair.current.local_n() + 2;
    let work = Work::Copy {
        bytes: side * side * ELEMENT_BYTES,
        piece_bytes: ELEMENT_BYTES,
        stride_bytes: side * ELEMENT_BYTES,
    };
    t.compute(work, || pair.current.view_mut().assign(&pair.incoming.view().reversed_axes()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Place;
    use comet_core::kernel::harness;
    use comet_core::local;
    use comet_core::topology::Topology;

    fn twice_gives_the_original(mesh: Mesh) {
        let topology = Topology::new(mesh, None).unwrap();
        local::run_with(topology, false, |t| {
            let cx = harness::context(t, &INFO, false);
            let case = Case::new(&INFO, &[3]);
            let mesh = t.topology().mesh();
            let mut pair = Pair::new(&cx, &case).unwrap();
            setup::fill(&mut pair.current, Place::of(t.rank(), mesh, 3));
            transpose(t, &ways(mesh, t.rank()), &mut pair).unwrap();
            transpose(t, &ways(&mesh.transposed(), t.rank()), &mut pair).unwrap();
            let at = Place::of(t.rank(), mesh, 3);
            let values = pair.current.view();
            assert!(values.indexed_iter().all(|((row, col), v)| *v == at.initial(row, col)));
        });
    }

    #[test]
    fn transposing_twice_gives_the_original_matrix() {
        for n_ranks in [1, 2, 3, 4, 6, 8, 9, 12, 16] {
            twice_gives_the_original(Mesh::gray(n_ranks));
        }
        twice_gives_the_original(Mesh::gray_with(3, 2));
        twice_gives_the_original(Mesh::from_table(&[vec![2, 1, 0], vec![3, 5, 4]]).unwrap());
    }

    #[test]
    fn ranks_of_a_square_mesh_trade_blocks_in_pairs() {
        let mesh = Mesh::gray(16);
        for rank in 0..16 {
            let (row, col) = mesh.position(rank);
            let partner = mesh.rank_at(col, row);
            assert_eq!(route(&mesh, rank), Route { to: partner, from: partner });
        }
    }

    #[test]
    fn blocks_of_other_meshes_move_to_the_transposed_mesh() {
        let mesh = Mesh::gray_with(2, 3);
        for (rank, to) in [(0, 0), (1, 2), (3, 5), (4, 1), (5, 3), (2, 4)] {
            assert_eq!(route(&mesh, rank).to, to, "the block of rank {rank}");
            assert_eq!(route(&mesh, to).from, rank, "the block for rank {to}");
        }
    }

    #[test]
    fn a_mesh_of_one_row_or_one_column_sends_nothing() {
        for mesh in [Mesh::gray_with(1, 5), Mesh::gray_with(5, 1)] {
            let stays = |rank| route(&mesh, rank) == Route { to: rank, from: rank };
            assert!((0..5).all(stays), "{mesh:?}");
        }
    }
}
