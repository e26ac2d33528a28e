//! Halos: time until each rank has the cells of all neighbours about its block, those at its
//! corners and edges too.
//!
//! **Source**: thesis sections 3.3.8 and 6.1: `matrix/update_guard` does not update corners, which
//! a nine-point stencil needs.
//!
//! **Pattern**, on all ranks of a torus, a block of `side`^2 or `side`^3 cells each
//! ```text
//!   halo9        \ | /      8 neighbours: 4 edges of n cells, 4 corners of one
//!               -- n --
//!                / | \
//!   halo27      26 neighbours: 6 faces of n^2 cells, 12 edges of n, 8 corners of one
//!
//!   each rank packs its messages, posts a receive from each neighbour, then a send to each,
//!   waits for all, and unpacks them into the layer about its block
//! ```
//! **Timed** (all ranks): packing, 8 or 26 messages each way, and unpacking, after a barrier.
//!
//! **Reports**: completion time of one operation. Linear in `side` (halo9), or quadratic (halo27).
//!
//! **Rate**: P x (32 `side` + 32) bytes (halo9) or P x (48 `side`^2 + 96 `side` + 64) bytes
//! (halo27) / time, of all ranks together; less where the torus has sides of one rank, whose
//! messages stay.
//!
//! **Parameters**: `side` of the block of a rank, in cells of 8 bytes.
//!
//! **Verified by**: every cell of the block and of the layer about it, whose number in the grid of
//! all ranks gives its value: wrong neighbours show as wrong values. Sources and lengths of
//! messages; canaries.
//!
//! **Caution**: ranks of halo9 lie on the mesh of the run (`--mesh`), those of halo27 on a torus
//! with the sides of `MPI_Dims_create` in MPICH. Where a side has 2 ranks both neighbours are one,
//! and where it has one rank that sends to itself. All messages have a rank of their own; codes
//! that exchange one dimension after the other need 4 or 6 messages for the same cells.

use comet_core::kernel::prelude::*;

use super::SUITE;
use super::cells::{CELL_BYTES, Grid, MAX_CELLS, Region, Step, Values, n_cells, steps};
use crate::around::{Arrival, Node};

/// Side of the block of a rank.
pub(super) static SIDE: Axis = Axis::size(
    "side",
    "side of the block of a rank",
    "cells",
    "side of the block of cells of one rank, of 8 bytes each",
)
.of_kind(AxisKind::Side);

const OF_SQUARES: AxisUse = AxisUse {
    axis: &SIDE,
    sweeps: ["8,64", "4,8,16,32,64,128,256,512", "1..4,6,8..1Ki*2,12,24,48,96,192,384,768"],
};
const OF_CUBES: AxisUse = AxisUse {
    axis: &SIDE,
    sweeps: ["4,16", "2,4,8,16,32,64,96", "1..4,6,8,12,16,24,32,48,64,96,128"],
};

/// The kernel in `N` dimensions, 2 or 3; see the [module](self).
pub(crate) struct Halo<const N: usize>;

/// One rank with its cells, and the messages that carry them.
pub(crate) struct Block<T: Transport, const N: usize> {
    values: Values<N>,
    cells: Vec<f64>,
    node: Node<T>,
    leaving: Vec<Region>,
    arriving: Vec<Region>,
}

impl<T: Transport, const N: usize> Block<T, N> {
    fn new(cx: &Context<'_, T>, n: usize) -> Result<Self> {
        let grid = Grid::<N>::new(cx.topology().mesh());
        let place = grid.place(cx.rank());
        let leaving: Vec<Region> = steps::<N>().map(|step| Region::leaving(n, step)).collect();
        let bytes = |region: &Region| region.n_cells() * CELL_BYTES;
        let targets = steps::<N>().map(|step| grid.neighbour(place, step));
        let messages: Vec<_> = targets.zip(leaving.iter().map(bytes)).collect();
        // What goes along a step comes from the neighbour on the other side: receives in the order in
        // which all ranks send, so that two messages between two ranks are not taken for each other.
        let sides = || steps::<N>().map(|step: Step<N>| step.map(|of_dim| -of_dim));
        let arriving: Vec<Region> = sides().map(|side| Region::arriving(n, side)).collect();
        let sources = sides().map(|side| grid.neighbour(place, side));
        let arrival = |((number, from), region)| Arrival { from, number, bytes: bytes(region) };
        let arrivals = (0..).zip(sources).zip(&arriving).map(arrival).collect();
        let cells = (0..N).fold(1, |n_cells, _| n_cells * (n + 2));
        let values = Values { place, sides: grid.sides, n };
        let node = Node::new(cx, &messages, arrivals)?;
        Ok(Self { values, cells: vec![0.0; cells], node, leaving, arriving })
    }
}

impl<T: Transport, const N: usize> Operation<T> for Block<T, N> {
    fn fill(&mut self, seeds: Seeds) {
        self.node.fill(seeds);
        let Self { cells, values, .. } = self;
        cells.iter_mut().enumerate().for_each(|(index, cell)| *cell = values.initial(index));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { cells, node, leaving, arriving, .. } = self;
        for (region, message) in leaving.iter().zip(node.messages()) {
            t.compute(region.copy_work(), || {
                region.pack(cells, bytemuck::cast_slice_mut(message));
            });
        }
        node.round(t, None)?;
        for (region, message) in arriving.iter().zip(node.arrived()) {
            t.compute(region.copy_work(), || region.unpack(cells, bytemuck::cast_slice(message)));
        }
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let Self { cells, values, node, .. } = self;
        let what = "the cells of the block with its layer";
        let is_new = |index| values.is_of_layer(index);
        check.values(cells, |index| values.expected(index), is_new, what);
        node.check_frames(check);
    }
}

/// Bytes that leave each rank.
fn leaving_bytes<const N: usize>(case: &Case, world: &World<'_>) -> u64 {
    let grid = Grid::<N>::new(world.topology.mesh());
    let leaving = steps::<N>().filter(|step| grid.leaves(*step));
    leaving.fold(0, |bytes: u64, step| bytes.saturating_add(message_bytes(case, step)))
}

/// Length of the message along `step`.
fn message_bytes<const N: usize>(case: &Case, step: Step<N>) -> u64 {
    n_cells(case.value(&SIDE), step).saturating_mul(CELL_BYTES as u64)
}

/// Cells of a block with its layer.
fn block_cells<const N: usize>(case: &Case) -> u64 {
    let side = case.value(&SIDE).saturating_add(2);
    (0..N).fold(1, |n_cells: u64, _| n_cells.saturating_mul(side))
}

/// Refuses blocks without cells, and more cells than doubles tell apart.
fn admits<const N: usize>(case: &Case, world: &World<'_>) -> Result<(), String> {
    let side = case.value(&SIDE);
    if side == 0 {
        return Err("side must be at least 1, got 0".into());
    }
    if block_cells::<N>(case).saturating_mul(world.n_ranks as u64) > MAX_CELLS {
        return Err(format!(
            "side {side} is too large: the grid would have more than 2^53 cells, which doubles do not \
             tell apart (try a smaller side)"
        ));
    }
    Ok(())
}

impl<const N: usize, T: Transport> Pattern<T> for Halo<N> {
    const INFO: KernelInfo = KernelInfo {
        name: if N == 2 { "halo9" } else { "halo27" },
        file: include_str!("halo.rs"),
        summary: if N == 2 {
            "Edges and corners of a square block to 8 neighbours on a mesh"
        } else {
            "Faces, edges and corners of a cubic block to 26 neighbours on a torus"
        },
        class: if N == 2 { Class::Matrix } else { Class::Collective },
        axes: if N == 2 { &[OF_SQUARES] } else { &[OF_CUBES] },
        series: &[Series::completion("halo").moving(|case, world| {
            Some(leaving_bytes::<N>(case, world).saturating_mul(world.n_ranks as u64))
        })],
        admits: admits::<N>,
        bytes_per_rank: |case, _| {
            let messages = steps::<N>().map(|step| message_bytes(case, step));
            let of_cells = block_cells::<N>(case).saturating_mul(CELL_BYTES as u64);
            messages.fold(of_cells, |all, bytes| all.saturating_add(bytes.saturating_mul(2)))
        },
        messages_per_op: |_, world| (steps::<N>().count() * world.n_ranks) as u64,
        ..SUITE
    };
    type Part = Block<T, N>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Together, Block::new(cx, case.length(&SIDE))?)))
    }
}
