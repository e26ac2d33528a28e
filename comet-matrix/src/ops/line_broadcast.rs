//! Row and column broadcast: time until every rank has its piece of one row or column of the global
//! matrix.
//!
//! **Source**: thesis sections 3.3.11 and 4.3, figures 3.14 and 4.4; for columns with rows and
//! columns exchanged.
//!
//! **Pattern**, of a row in each column of the mesh at once; of a column in each row
//! ```text
//!      .  | ^                  a row of the matrix lies in one row of the mesh;
//!      .  | |                  its owner sends the piece to each rank above and below,
//!      .  v | GOTIT            which puts it into the same local row of its own block
//!    owner  == piece of the row
//!      .  ^ |                  and answers with an empty GOTIT;
//!      .  | v                  the owner waits for all of these, from whichever is ready first
//! ```
//! **Timed** (all ranks): messages and acknowledgements, after a barrier; of a column also its packing
//! and unpacking.
//!
//! **Reports**: completion time of one operation. Linear in `local_n`; for columns above rows by the
//! packing, where the mesh is square.
//!
//! **Rate**: none. The bytes that the owner sends depend on the mesh.
//!
//! **Parameters**: `local_n`. `row` or `col`: the line of the matrix, counted from 1. By default it is
//! 0, which stands for the middle line: number (mesh lines x `local_n`) / 2, counted from 0. Owner:
//! mesh line `global / local_n`; local line: the remainder.
//!
//! **Verified by**: every value of the block and of its ring: the broadcast line in its local line,
//! and everything else unchanged.
//!
//! **Caution**: a row lies in memory as one piece, so it is sent and received without packing; a
//! column is not. The thesis addresses ranks by `i*proc_dim1+col`, which names other ranks as soon
//! as the mesh is a Gray code; here they come from the mesh table. A mesh with a single rank along
//! the way has no receivers and is refused.

use comet_core::kernel::prelude::*;
use comet_core::topology::Mesh;

use super::{
    MATRIX, SIZES, admits, block_bytes, line_bytes, new_block, pack, place, require_two, unpack,
};
use crate::block::{Block, ELEMENT_BYTES, Line};
use crate::check;
use crate::setup::{self, Place};

/// The row that is broadcast.
static ROW: Axis =
    Axis::count("row", "row", "row of the matrix that is broadcast, from 1; 0 is the middle one");
/// The column that is broadcast.
static COL: Axis = Axis::count(
    "col",
    "column",
    "column of the matrix that is broadcast, from 1; 0 is the middle one",
);

/// Returns the number of the line of `case`, counted from 1; 0 is the middle one.
fn line<const COLS: bool>(case: &Case) -> usize {
    case.length(if COLS { &COL } else { &ROW })
}

/// `matrix/row_broadcast`, or `matrix/col_broadcast`.
pub(crate) struct LineBroadcast<const COLS: bool>;

/// The line that is broadcast, as one rank sees it.
#[derive(Debug, PartialEq, Eq)]
struct Way {
    /// Number of the line in the global matrix.
    global: usize,
    /// Its number in the block, counted with the ring.
    local: usize,
    /// The rank with the piece that is sent.
    owner: Rank,
    receivers: Vec<Rank>,
}

impl Way {
    fn of<const COLS: bool>(mesh: &Mesh, rank: Rank, local_n: usize, number: usize) -> Self {
        let (row, col) = mesh.position(rank);
        let mut line: Vec<Rank> = if COLS {
            (0..mesh.cols()).map(|col| mesh.rank_at(row, col)).collect()
        } else {
            (0..mesh.rows()).map(|row| mesh.rank_at(row, col)).collect()
        };
        let global = number.checked_sub(1).unwrap_or(line.len() * local_n / 2);
        let owner = line.remove(global / local_n);
        Self { global, local: global % local_n + 1, owner, receivers: line }
    }
}

/// One rank's piece, and its block.
pub(crate) struct Piece<const COLS: bool, B> {
    at: Place,
    way: Way,
    /// Tags of the piece and of GOTIT.
    tags: [Tag; 2],
    block: Block<B>,
    /// The packed elements of a column.
    message: B,
}

impl<const COLS: bool, T: Transport> Operation<T> for Piece<COLS, T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        setup::fill(&mut self.block, self.at);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { way, tags: [piece, got_it], block, message, .. } = self;
        let column = Line::Col(way.local);
        if t.rank() != way.owner {
            let buffer = if COLS { &mut **message } else { block.row_bytes_mut(way.local) };
            t.blocked_recv(Source::Rank(way.owner), *piece, buffer)?;
            if COLS {
                unpack(t, block, column, message);
            }
            return t.blocked_send(way.owner, *got_it, &[]);
        }
        if COLS {
            pack(t, block, column, message);
        }
        let message = if COLS { &**message } else { block.row_bytes(way.local) };
        for receiver in &way.receivers {
            t.blocked_send(*receiver, *piece, message)?;
        }
        for _ in &way.receivers {
            t.blocked_recv(Source::Any, *got_it, &mut [])?;
        }
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let (at, global) = (self.at, self.way.global);
        let expected = |row, col| check::after_broadcast::<COLS>(at, global, row, col);
        let what = if COLS { "col_broadcast" } else { "row_broadcast" };
        check::block(check, (&mut self.block, at), expected, what);
    }
}

impl<const COLS: bool, T: Transport> Pattern<T> for LineBroadcast<COLS> {
    const INFO: KernelInfo = KernelInfo {
        name: if COLS { "col_broadcast" } else { "row_broadcast" },
        file: include_str!("line_broadcast.rs"),
        summary: if COLS {
            "Send a column of the matrix to all ranks of each mesh row, acknowledged"
        } else {
            "Send a row of the matrix to all ranks of each mesh column, acknowledged"
        },
        axes: if COLS {
            const { &[SIZES, AxisUse::of(&COL, "0")] }
        } else {
            const { &[SIZES, AxisUse::of(&ROW, "0")] }
        },
        series: if COLS {
            &[Series::completion("col_broadcast")]
        } else {
            &[Series::completion("row_broadcast")]
        },
        admits: |case, world| {
            let operation = if COLS { "column broadcast" } else { "row broadcast" };
            let mesh = world.topology.mesh();
            require_two(mesh, operation, COLS)?;
            admits(case, world)?;
            let n_lines = if COLS { mesh.cols() } else { mesh.rows() } * case.length(&LOCAL_N);
            match line::<COLS>(case) {
                number if number <= n_lines => Ok(()),
                number => Err(format!(
                    "{operation} has {n_lines} lines to choose from, got number {number} (take 1 to \
                     {n_lines}, or 0 for the middle one)"
                )),
            }
        },
        bytes_per_rank: |case, _| {
            block_bytes(case).saturating_add(if COLS { line_bytes(case) } else { 0 })
        },
        ..MATRIX
    };
    type Part = Piece<COLS, T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (mesh, n) = (cx.topology().mesh(), case.length(&LOCAL_N));
        let piece = Piece {
            at: place(cx, mesh, case),
            way: Way::of::<COLS>(mesh, cx.rank(), n, line::<COLS>(case)),
            tags: [cx.tag(0), cx.tag(1)],
            block: new_block(cx, case)?,
            message: cx.message(if COLS { n * ELEMENT_BYTES } else { 0 })?,
        };
        Ok(Some((Duty::Together, piece)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_and_the_receivers_come_from_the_mesh_table() {
        let mesh = Mesh::gray_with(3, 2);
        let [above, owner, below] = [0, 1, 2].map(|row| mesh.rank_at(row, 1));
        // Row 7 of 15 lies in mesh row 1, and is row 2 of its block, counted from 0.
        let expected = Way { global: 7, local: 3, owner, receivers: vec![above, below] };
        assert_eq!(Way::of::<false>(&mesh, above, 5, 0), expected);
        assert_eq!(Way::of::<false>(&mesh, above, 5, 8), expected);
        // CM-34: the first row belongs to the ranks at the top.
        let first = Way::of::<false>(&mesh, below, 5, 1);
        assert_eq!((first.owner, first.local, first.receivers), (above, 1, vec![owner, below]));
    }
}
