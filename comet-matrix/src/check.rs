//! The matrix after an operation: which values every rank must end with.
//!
//! Expected values follow from positions in the global matrix alone, not from who sent what to
//! whom, so a wrong neighbour shows as a wrong value.
//! The whole block with its guard ring is looked at, so what must not change is looked at too.
//! No operation is used here (thesis section 3.2.2; see `setup.rs`).

use comet_core::kernel::Checker;
use comet_core::topology::Mesh;

use crate::block::{Block, Memory};
use crate::setup::Place;

/// Checks that each value of a block, by row and column counted with the ring, is as `expected`;
/// `start` is the place whose initial values the block had, and `what` names the operation.
pub(crate) fn block<B: Memory>(
    check: &mut Checker,
    (block, start): (&mut Block<B>, Place),
    expected: impl Fn(usize, usize) -> f64,
    what: &str,
) {
    let side = block.local_n() + 2;
    let what = format!("the block with its guard ring after {what}");
    let of = |index: usize| expected(index / side, index % side);
    let is_new = |index: usize| of(index) != start.initial(index / side, index % side);
    check.values(block.values_mut(), of, is_new, &what);
}

/// Row `row`, column `col` after the guard was updated: the ring, except its corners, holds the
/// elements that lie beyond the edges of the block in the periodic global matrix.
pub(crate) fn after_update_guard(at: Place, row: usize, col: usize) -> f64 {
    let ring = [0, at.local_n + 1];
    if ring.contains(&row) && ring.contains(&col) {
        return at.initial(row, col);
    }
    let (rows, cols) = (at.mesh_rows * at.local_n, at.mesh_cols * at.local_n);
    let global_row = (at.block_row * at.local_n + row + rows - 1) % rows;
    let global_col = (at.block_col * at.local_n + col + cols - 1) % cols;
    at.element(global_row, global_col)
}

/// Row `row`, column `col` after `n` moves of all blocks with their rings by `up` rows of blocks to
/// the north and `on` columns of blocks to the east, around the edges.
pub(crate) fn after_shifts(at: Place, by: [usize; 2], n: u64, row: usize, col: usize) -> f64 {
    let n = usize::try_from(n).expect("the number of moves fits into a word");
    let steps = |by: usize, size: usize| n % size * by % size;
    let [up, on] = [steps(by[0], at.mesh_rows), steps(by[1], at.mesh_cols)];
    let block_row = (at.block_row + up) % at.mesh_rows;
    let block_col = (at.block_col + at.mesh_cols - on) % at.mesh_cols;
    Place { block_row, block_col, ..at }.initial(row, col)
}

/// Place at which the block started that lies `at` a place of the transposed matrix after `n`
/// moves along the same ways.
pub(crate) fn origin_after_transposes(at: Place, mesh: &Mesh, n: u64) -> Place {
    let transposed = mesh.transposed();
    let origin_of = |block_row, block_col| Place {
        block_row: block_col,
        block_col: block_row,
        mesh_rows: at.mesh_cols,
        mesh_cols: at.mesh_rows,
        local_n: at.local_n,
    };
    (1..n).fold(origin_of(at.block_row, at.block_col), |origin, _| {
        let rank = mesh.rank_at(origin.block_row, origin.block_col);
        let (row, col) = transposed.position(rank);
        origin_of(row, col)
    })
}

/// Row `row`, column `col` after the block that started at `origin` was transposed `n` times.
pub(crate) fn after_transposes(origin: Place, n: u64, row: usize, col: usize) -> f64 {
    if n.is_multiple_of(2) { origin.initial(row, col) } else { origin.initial(col, row) }
}

/// Row `row`, column `col` after the row `global`, or with `COLS` the column, was broadcast: every
/// block holds its piece of that line in the local line which is `global`'s in its owner.
pub(crate) fn after_broadcast<const COLS: bool>(
    at: Place,
    global: usize,
    row: usize,
    col: usize,
) -> f64 {
    let changed = global % at.local_n + 1;
    match (at.is_guard(row, col), COLS) {
        (false, false) if row == changed => at.element(global, at.block_col * at.local_n + col - 1),
        (false, true) if col == changed => at.element(at.block_row * at.local_n + row - 1, global),
        _ => at.initial(row, col),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upper left block of the 4 x 6 matrix that `setup.rs` draws.
    const AT: Place = Place { block_row: 0, block_col: 0, mesh_rows: 2, mesh_cols: 3, local_n: 2 };

    fn check(found: impl Fn(usize, usize) -> f64, expected: [[f64; 4]; 4]) {
        let found: Vec<_> = (0..16).map(|index| found(index / 4, index % 4)).collect();
        assert_eq!(found, expected.concat());
    }

    #[test]
    fn the_guard_ring_wraps_around_and_keeps_its_corners() {
        check(
            |row, col| after_update_guard(AT, row, col),
            [
                [-1.0, 19.0, 20.0, -4.0],
                [6.0, 1.0, 2.0, 3.0],
                [12.0, 7.0, 8.0, 9.0],
                [-13.0, 13.0, 14.0, -16.0],
            ],
        );
    }

    #[test]
    fn a_shift_north_brings_the_block_below_and_a_shift_east_the_block_before() {
        assert_eq!(after_shifts(AT, [1, 0], 1, 1, 1), 13.0);
        assert_eq!(after_shifts(AT, [1, 0], 1, 0, 0), -49.0);
        assert_eq!(after_shifts(AT, [0, 1], 1, 1, 1), 5.0);
        assert_eq!(after_shifts(AT, [0, 1], 1, 3, 3), -48.0);
        assert_eq!(after_shifts(AT, [1, 0], 2, 1, 1), 1.0);
        assert_eq!(after_shifts(AT, [0, 1], 4, 1, 1), 5.0);
    }

    #[test]
    fn a_transposed_block_has_rows_for_columns() {
        let at = Place { block_row: 1, mesh_rows: 3, mesh_cols: 2, ..AT };
        let [a, b, c, d] = [3.0, 9.0, 4.0, 10.0];
        check(
            |row, col| {
                let origin = origin_after_transposes(at, &Mesh::gray_with(2, 3), 1);
                after_transposes(origin, 1, row, col)
            },
            [
                [-17.0, -21.0, -25.0, -29.0],
                [-18.0, a, b, -30.0],
                [-19.0, c, d, -31.0],
                [-20.0, -24.0, -28.0, -32.0],
            ],
        );
    }

    #[test]
    fn a_broadcast_changes_one_line_of_the_block() {
        let changed = |found: fn(Place, usize, usize, usize) -> f64| {
            let found = move |index| found(AT, 3, index / 4, index % 4);
            let is_new = |index: &usize| found(*index) != AT.initial(index / 4, index % 4);
            (0..16).filter(is_new).map(|index| (index, found(index))).collect::<Vec<_>>()
        };
        assert_eq!(changed(after_broadcast::<false>), [(9, 19.0), (10, 20.0)]);
        assert_eq!(changed(after_broadcast::<true>), [(6, 4.0), (10, 10.0)]);
    }
}
