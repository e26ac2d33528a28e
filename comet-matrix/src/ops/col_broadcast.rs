//! Column broadcast: every rank gets its piece of one column of the global matrix.
//!
//! **Source** Thesis sections 3.3.11 and 4.3, figures 3.14 and 4.4 with rows and columns
//! exchanged.
//!
//! **Pattern** In each row of the mesh at once:
//!
//! ```text
//!    ·  ·  ◄── piece ── owner ── piece ──►  ·  ·      packed by the owner, unpacked by the
//!    ·  ·  ─── GOTIT ──► ··· ◄── GOTIT ───  ·  ·      receivers, then acknowledged
//! ```
//!
//! **Timed** Packing, messages, unpacking and acknowledgements, after a barrier, on every rank.
//!
//! **Reports** Completion time of one operation (D1). No bandwidth, because how much the owner
//! sends depends on the mesh. Linear in `local_n`; above `row_broadcast` by the packing, where
//! the mesh is square.
//!
//! **Parameters** `local_n`. The column is fixed: number (mesh columns x `local_n`) / 2, counted
//! from 0. Owner: mesh column `global_col / local_n`; local column: the remainder.
//!
//! **Verified by** Every value of the block and of its ring: the broadcast column in its local
//! column, and everything else unchanged.
//!
//! **Caution** The thesis addresses ranks by `i*proc_dim1+col`; here they come from the mesh
//! table. A mesh of one column has no receivers and is not admitted.

use comet_core::context::Context;
use comet_core::error::Result;
use comet_core::kernel::{
    Case, Checker, Class, Duty, KernelInfo, LOCAL_N, Operation, Pattern, Seeds, World,
};
use comet_core::topology::Mesh;
use comet_core::transport::Transport;

use super::cast::{Cast, too_few, two_or_more_lines};
use super::{SIZES, admits, block_bytes, initial_block, line_bytes, pack, place, series, unpack};
use crate::block::{Block, ELEMENT_BYTES, Line};
use crate::check;
use crate::setup::{self, Place};

const INFO: KernelInfo = KernelInfo {
    name: "col_broadcast",
    summary: "Send a column of the matrix to all ranks of each mesh row, acknowledged",
    source: "CoMet thesis (1993), sections 3.3.11 and 4.3, figures 3.14 and 4.4",
    class: Class::Matrix,
    axes: &[SIZES],
    series: &[series("col_broadcast", |_, _| None)],
    admits: admits_cols,
    bytes_per_rank: |case, _| block_bytes(case).saturating_add(line_bytes(case)),
    ..KernelInfo::collective("matrix")
};

/// The kernel.
#[derive(Debug)]
pub(crate) struct ColBroadcast;

/// The column and the block of one rank.
#[derive(Debug)]
pub(crate) struct ColPart<B> {
    at: Place,
    global_col: usize,
    col: Col<B>,
    block: Block<B>,
}

impl<T: Transport> Operation<T> for ColPart<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        setup::fill(&mut self.block, self.at);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        broadcast(t, &mut self.col, &mut self.block)
    }

    fn check(&mut self, check: &mut Checker) {
        let (at, global_col) = (self.at, self.global_col);
        let expected = |row, col| check::after_col_broadcast(at, global_col, row, col);
        check::block(check, (&mut self.block, at), expected, "col_broadcast");
    }
}

impl<T: Transport> Pattern<T> for ColBroadcast {
    const INFO: KernelInfo = INFO;
    type Part<'a>
        = ColPart<T::Buffer>
    where
        T: 'a;

    fn part<'a>(
        &self,
        cx: &Context<'a, T>,
        case: &Case,
        _series: usize,
    ) -> Result<Option<(Duty, Self::Part<'a>)>> {
        let mesh = cx.topology().mesh();
        let (at, global_col) = (place(cx, mesh, case), global_col(mesh, case));
        let (col, block) = (Col::new(cx, case)?, initial_block(cx, case)?);
        Ok(Some((Duty::Together, ColPart { at, global_col, col, block })))
    }
}

/// The column that is broadcast, as one rank sees it.
#[derive(Debug)]
struct Col<B> {
    cast: Cast,
    /// Its place in the block.
    line: Line,
    /// Its packed elements.
    message: B,
}

impl<B> Col<B> {
    fn new<T: Transport<Buffer = B>>(cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        let mesh = cx.topology().mesh();
        let (local_n, global_col) = (case.length(&LOCAL_N), global_col(mesh, case));
        let (row, _) = mesh.position(cx.rank());
        let ranks = (0..mesh.cols()).map(|col| mesh.rank_at(row, col)).collect();
        let cast = Cast::new(ranks, global_col / local_n, [cx.tag(0), cx.tag(1)]);
        let line = Line::Col(global_col % local_n + 1);
        Ok(Self { cast, line, message: cx.message(local_n * ELEMENT_BYTES)? })
    }
}

#[inline]
fn broadcast<T: Transport>(
    t: &T,
    col: &mut Col<T::Buffer>,
    block: &mut Block<T::Buffer>,
) -> Result<()> {
    if col.cast.is_owner(t.rank()) {
        pack(t, block, col.line, &mut col.message);
        return col.cast.send(t, &col.message);
    }
    col.cast.receive(t, &mut col.message)?;
    unpack(t, block, col.line, &col.message);
    col.cast.acknowledge(t)
}

/// The middle column of the global matrix.
fn global_col(mesh: &Mesh, case: &Case) -> usize {
    mesh.cols() * case.length(&LOCAL_N) / 2
}

fn admits_cols(case: &Case, world: &World<'_>) -> Result<(), String> {
    let mesh = world.topology.mesh();
    if mesh.cols() < 2 {
        let shape = two_or_more_lines(mesh).map(|(cols, rows)| (rows, cols));
        return Err(too_few("column broadcast", "columns", mesh, shape));
    }
    admits(case, world)
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::topology::Topology;

    #[test]
    fn a_mesh_of_one_column_is_refused_with_a_mesh_that_works() {
        for (n_ranks, expected) in [
            (1, "got 1x1 (start at least 2 ranks)"),
            (3, "got 3x1 (try --mesh 1x3)"),
            (6, "got 6x1 (try --mesh 3x2)"),
        ] {
            let topology = Topology::new(Mesh::gray_with(n_ranks, 1), None).unwrap();
            let refusal = admits_cols(&Case::new(&INFO, &[4]), &World::of(&topology)).unwrap_err();
            let expected =
                format!("column broadcast needs a mesh of at least 2 columns, {expected}");
            assert_eq!(refusal, expected);
        }
    }
}
