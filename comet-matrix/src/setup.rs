//! The matrix before an operation: which values every rank starts from.
//!
//! These values are fixed, as in the thesis (section 3.2.2): whoever replaces an operation by a
//! better one changes neither this file nor `check.rs`, and neither of them uses an operation.
//!
//! ```text
//!   mesh 2 x 3, local_n 2: a global matrix of 4 x 6        each rank: its block in a guard ring
//!
//!        1  2 |  3  4 |  5  6                                -  -  -  -
//!        7  8 |  9 10 | 11 12                                -  3  4  -
//!       ------+-------+------                                -  9 10  -
//!       13 14 | 15 16 | 17 18                                -  -  -  -
//!       19 20 | 21 22 | 23 24                               (block row 0, block column 1)
//! ```
//!
//! Elements are 1, 2, 3 … and all different.
//! The guard ring is poisoned with values that are negative and all different too, so that no
//! element can be mistaken for them, nor one of them for another.

use comet_core::topology::Mesh;
use comet_core::transport::Rank;

use crate::block::{Block, Memory};

/// Place of a block in the global matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Row of the block, counted in blocks.
    pub(crate) block_row: usize,
    /// Column of the block, counted in blocks.
    pub(crate) block_col: usize,
    /// Rows of the mesh.
    pub(crate) mesh_rows: usize,
    /// Columns of the mesh.
    pub(crate) mesh_cols: usize,
    /// Dimension of a block, in elements.
    pub(crate) local_n: usize,
}

impl Place {
    /// The place of the block that `rank` holds when the matrix lies on `mesh`.
    pub(crate) fn of(rank: Rank, mesh: &Mesh, local_n: usize) -> Self {
        let (block_row, block_col) = mesh.position(rank);
        let (mesh_rows, mesh_cols) = (mesh.rows(), mesh.cols());
        Self { block_row, block_col, mesh_rows, mesh_cols, local_n }
    }

    /// True if row `row`, column `col` of the block, counted with the ring, lies in the ring.
    pub(crate) fn is_guard(self, row: usize, col: usize) -> bool {
        let inside = 1..=self.local_n;
        !(inside.contains(&row) && inside.contains(&col))
    }

    /// The value of row `row`, column `col` of the block, counted with the ring, at the start.
    pub(crate) fn initial(self, row: usize, col: usize) -> f64 {
        if self.is_guard(row, col) {
            return self.poison(row, col);
        }
        self.element(
            self.block_row * self.local_n + row - 1,
            self.block_col * self.local_n + col - 1,
        )
    }

    /// The element in row `global_row`, column `global_col` of the global matrix; both from 0.
    pub(crate) fn element(self, global_row: usize, global_col: usize) -> f64 {
        exact(global_row * self.mesh_cols * self.local_n + global_col + 1)
    }

    fn poison(self, row: usize, col: usize) -> f64 {
        let side = self.local_n + 2;
        let block = self.block_row * self.mesh_cols + self.block_col;
        -exact((block * side + row) * side + col + 1)
    }
}

/// Gives `block` the initial values of `place`.
pub(crate) fn fill<B: Memory>(block: &mut Block<B>, place: Place) {
    for ((row, col), value) in block.view_mut().indexed_iter_mut() {
        *value = place.initial(row, col);
    }
}

/// The most values, rings included, that a global matrix of distinct doubles may have.
pub(crate) const MAX_VALUES: u64 = 1 << f64::MANTISSA_DIGITS;

fn exact(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn values_of_all_blocks_and_rings_are_distinct_and_only_rings_are_negative() {
        let mesh = Mesh::gray_with(2, 3);
        let mut seen = HashSet::new();
        for rank in 0..6 {
            let place = Place::of(rank, &mesh, 3);
            for (row, col) in (0..25).map(|index| (index / 5, index % 5)) {
                let value = place.initial(row, col);
                assert!(seen.insert(value.to_bits()), "{value} of rank {rank} is there twice");
                assert_eq!(value < 0.0, place.is_guard(row, col));
            }
        }
        assert_eq!(seen.len(), 6 * 25);
    }

    #[test]
    fn blocks_hold_their_part_of_the_global_matrix() {
        let at = |block_row, block_col| Place {
            block_row,
            block_col,
            mesh_rows: 2,
            mesh_cols: 3,
            local_n: 2,
        };
        assert_eq!(at(0, 1).initial(1, 1), 3.0);
        assert_eq!(at(0, 1).initial(2, 2), 10.0);
        assert_eq!(at(1, 2).initial(2, 2), 24.0);
    }
}
