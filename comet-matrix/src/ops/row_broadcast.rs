//! Row broadcast: every rank gets its piece of one row of the global matrix.
//!
//! **Source** Thesis sections 3.3.11 and 4.3, figures 3.14 and 4.4.
//!
//! **Pattern** In each column of the mesh at once:
//!
//! ```text
//!      ·  │ ▲                  the middle row of the matrix lies in one row of the mesh;
//!      ·  │ │                  its owner sends the piece to each rank above and below,
//!      ·  ▼ │ GOTIT            which puts it into the same local row of its own block
//!    owner  ══ piece of the row
//!      ·  ▲ │                  and answers with an empty GOTIT;
//!      ·  │ ▼                  the owner waits for all of these
//! ```
//!
//! **Timed** Messages and acknowledgements, after a barrier, on every rank.
//!
//! **Reports** Completion time of one operation (D1). No bandwidth, because how much the owner
//! sends depends on the mesh. Linear in `local_n`.
//!
//! **Parameters** `local_n`. The row, a parameter of the thesis's function, is fixed: number
//! (mesh rows x `local_n`) / 2, counted from 0. Owner: mesh row `global_row / local_n`; local
//! row: the remainder.
//!
//! **Verified by** Every value of the block and of its ring: the broadcast row in its local row,
//! and everything else unchanged.
//!
//! **Caution** The row lies in memory as one piece, so it is sent and received without packing;
//! a column is not (see `col_broadcast`). A mesh of one row has no receivers and is not admitted.

use comet_core::context::Context;
use comet_core::error::Result;
use comet_core::kernel::{
    Case, Checker, Class, Duty, KernelInfo, LOCAL_N, Operation, Pattern, Seeds, World,
};
use comet_core::topology::Mesh;
use comet_core::transport::{Rank, Tag, Transport};

use super::cast::{Cast, too_few, two_or_more_lines};
use super::{SIZES, admits, block_bytes, initial_block, place, series};
use crate::block::Block;
use crate::check;
use crate::setup::{self, Place};

const INFO: KernelInfo = KernelInfo {
    name: "row_broadcast",
    summary: "Send a row of the matrix to all ranks of each mesh column, acknowledged",
    source: "CoMet thesis (1993), sections 3.3.11 and 4.3, figures 3.14 and 4.4",
    class: Class::Matrix,
    axes: &[SIZES],
    series: &[series("row_broadcast", |_, _| None)],
    admits: admits_rows,
    bytes_per_rank: |case, _| block_bytes(case),
    ..KernelInfo::collective("matrix")
};

/// The kernel.
#[derive(Debug)]
pub(crate) struct RowBroadcast;

/// The row and the block of one rank.
#[derive(Debug)]
pub(crate) struct RowPart<B> {
    at: Place,
    global_row: usize,
    row: Row,
    block: Block<B>,
}

impl<T: Transport> Operation<T> for RowPart<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        setup::fill(&mut self.block, self.at);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        broadcast(t, &self.row, &mut self.block)
    }

    fn check(&mut self, check: &mut Checker) {
        let (at, global_row) = (self.at, self.global_row);
        let expected = |row, col| check::after_row_broadcast(at, global_row, row, col);
        check::block(check, (&mut self.block, at), expected, "row_broadcast");
    }
}

impl<T: Transport> Pattern<T> for RowBroadcast {
    const INFO: KernelInfo = INFO;
    type Part<'a>
        = RowPart<T::Buffer>
    where
        T: 'a;

    fn part<'a>(
        &self,
        cx: &Context<'a, T>,
        case: &Case,
        _series: usize,
    ) -> Result<Option<(Duty, Self::Part<'a>)>> {
        let mesh = cx.topology().mesh();
        let (at, global_row) = (place(cx, mesh, case), global_row(mesh, case));
        let (row, block) = (Row::new(cx, case), initial_block(cx, case)?);
        Ok(Some((Duty::Together, RowPart { at, global_row, row, block })))
    }
}

/// The row that is broadcast, as one rank sees it.
#[derive(Debug)]
struct Row {
    cast: Cast,
    /// Its number in the block, counted with the ring.
    local_row: usize,
}

impl Row {
    fn new<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Self {
        Self::of(cx.topology().mesh(), cx.rank(), case, [cx.tag(0), cx.tag(1)])
    }

    fn of(mesh: &Mesh, rank: Rank, case: &Case, tags: [Tag; 2]) -> Self {
        let (local_n, global_row) = (case.length(&LOCAL_N), global_row(mesh, case));
        let (_, col) = mesh.position(rank);
        let line = (0..mesh.rows()).map(|row| mesh.rank_at(row, col)).collect();
        let cast = Cast::new(line, global_row / local_n, tags);
        Self { cast, local_row: global_row % local_n + 1 }
    }
}

#[inline]
fn broadcast<T: Transport>(t: &T, row: &Row, block: &mut Block<T::Buffer>) -> Result<()> {
    if row.cast.is_owner(t.rank()) {
        return row.cast.send(t, block.row_bytes(row.local_row));
    }
    row.cast.receive(t, block.row_bytes_mut(row.local_row))?;
    row.cast.acknowledge(t)
}

/// The middle row of the global matrix.
fn global_row(mesh: &Mesh, case: &Case) -> usize {
    mesh.rows() * case.length(&LOCAL_N) / 2
}

fn admits_rows(case: &Case, world: &World<'_>) -> Result<(), String> {
    let mesh = world.topology.mesh();
    if mesh.rows() < 2 {
        return Err(too_few("row broadcast", "rows", mesh, two_or_more_lines(mesh)));
    }
    admits(case, world)
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::topology::Topology;

    #[test]
    fn a_mesh_of_one_row_is_refused_with_a_mesh_that_works() {
        for (n_ranks, expected) in [
            (1, "row broadcast needs a mesh of at least 2 rows, got 1x1 (start at least 2 ranks)"),
            (3, "row broadcast needs a mesh of at least 2 rows, got 1x3 (try --mesh 3x1)"),
            (4, "row broadcast needs a mesh of at least 2 rows, got 1x4 (try --mesh 2x2)"),
        ] {
            let topology = Topology::new(Mesh::gray_with(1, n_ranks), None).unwrap();
            assert_eq!(
                admits_rows(&Case::new(&INFO, &[4]), &World::of(&topology)).unwrap_err(),
                expected
            );
        }
    }

    #[test]
    fn the_owner_and_the_receivers_come_from_the_mesh_table() {
        let mesh = Mesh::gray_with(3, 2);
        let row =
            Row::of(&mesh, mesh.rank_at(0, 1), &Case::new(&INFO, &[5]), [Tag::new(1), Tag::new(2)]);
        let line = [0, 1, 2].map(|row| mesh.rank_at(row, 1)).to_vec();
        assert_eq!(
            row.cast,
            Cast::new(line, 1, [Tag::new(1), Tag::new(2)]),
            "row 7 of 15 lies in mesh row 1"
        );
        assert_eq!(row.local_row, 3, "row 7 is row 2 of its block, counted from 0");
    }
}
