//! Blocks of cells in 2 or 3 dimensions with a layer of cells of their neighbours about them.
//!
//! ```text
//!      2 dimensions, side n = 2          value of a cell: its number in the grid of all ranks, from 1 on
//!         h h h h
//!         h c c h                        c  cell of this rank
//!         h c c h                        h  layer: cells of the neighbours, negative before they came
//!         h h h h
//! ```

use comet_core::topology::{Mesh, torus_sides};
use comet_core::transport::{Rank, Work};

/// Length of a cell in bytes.
pub(super) const CELL_BYTES: usize = size_of::<f64>();
/// Most cells of the grid, layers included: doubles tell so many numbers apart.
pub(super) const MAX_CELLS: u64 = 1 << f64::MANTISSA_DIGITS;

/// Step to a neighbour in each dimension: -1, 0 or 1.
pub(super) type Step<const N: usize> = [isize; N];

/// Steps to all neighbours, in the order of their coordinates.
pub(super) fn steps<const N: usize>() -> impl Iterator<Item = Step<N>> {
    let n_steps = (0..N).fold(1, |n, _| 3 * n);
    let step = |number: usize| {
        let mut left = number;
        let mut step = [0; N];
        for of_dim in step.iter_mut().rev() {
            *of_dim = [-1, 0, 1][left % 3];
            left /= 3;
        }
        step
    };
    (0..n_steps).map(step).filter(|step| *step != [0; N])
}

/// Number of cells that a message along `step` carries from a block of side `n`.
pub(super) fn n_cells<const N: usize>(n: u64, step: Step<N>) -> u64 {
    let along = step.into_iter().filter(|step| *step == 0);
    along.fold(1, |n_cells: u64, _| n_cells.saturating_mul(n))
}

/// Ranks on a torus: the mesh of a run, or a box whose sides are as equal as they can be.
#[derive(Debug)]
pub(super) struct Grid<'a, const N: usize> {
    pub(super) sides: [usize; N],
    mesh: &'a Mesh,
}

impl<'a, const N: usize> Grid<'a, N> {
    /// The ranks of `mesh`.
    pub(super) fn new(mesh: &'a Mesh) -> Self {
        let mut sides = [1; N];
        let of_mesh = match N {
            2 => vec![mesh.rows(), mesh.cols()],
            _ => torus_sides(mesh.ranks().len(), N),
        };
        sides.copy_from_slice(&of_mesh);
        Self { sides, mesh }
    }

    /// Place of `rank`.
    pub(super) fn place(&self, rank: Rank) -> [usize; N] {
        let mut place = [0; N];
        let mut left = match N {
            2 => {
                let (row, col) = self.mesh.position(rank);
                row * self.mesh.cols() + col
            }
            _ => rank,
        };
        for (of_dim, side) in place.iter_mut().zip(self.sides).rev() {
            *of_dim = left % side;
            left /= side;
        }
        place
    }

    /// The rank one `step` away from `place`, around the edges.
    pub(super) fn neighbour(&self, place: [usize; N], step: Step<N>) -> Rank {
        let steps = place.into_iter().zip(step).zip(self.sides);
        let index = steps.fold(0, |index, ((place, step), side)| {
            index * side + (place + side).saturating_add_signed(step) % side
        });
        if N == 2 { self.mesh.ranks()[index] } else { index }
    }

    /// True if a message along `step` leaves its rank.
    pub(super) fn leaves(&self, step: Step<N>) -> bool {
        step.into_iter().zip(self.sides).any(|(step, side)| step != 0 && side > 1)
    }
}

/// Cells of a block that one message carries, in pieces that lie one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    first: usize,
    n_planes: usize,
    plane_stride: usize,
    n_rows: usize,
    row_stride: usize,
    /// Cells of a piece.
    n: usize,
}

impl Region {
    /// The cells of a block of side `n`, by its layer too, that are at these indices in each dimension.
    fn of<const N: usize>(n: usize, ranges: [std::ops::Range<usize>; N]) -> Self {
        let side = n + 2;
        let first = ranges.iter().fold(0, |first, range| first * side + range.start);
        let length = |from_last: usize| {
            N.checked_sub(from_last).map_or(1, |dim| ranges[dim].end - ranges[dim].start)
        };
        let [n, n_rows, n_planes] = [1, 2, 3].map(length);
        Self { first, n_planes, plane_stride: side * side, n_rows, row_stride: side, n }
    }

    /// The cells that leave along `step`.
    pub(super) fn leaving<const N: usize>(n: usize, step: Step<N>) -> Self {
        Self::of(
            n,
            step.map(|step| match step {
                -1 => 1..2,
                0 => 1..n + 1,
                _ => n..n + 1,
            }),
        )
    }

    /// The cells of the layer that come from the neighbour at `step`.
    pub(super) fn arriving<const N: usize>(n: usize, step: Step<N>) -> Self {
        Self::of(
            n,
            step.map(|step| match step {
                -1 => 0..1,
                0 => 1..n + 1,
                _ => n + 1..n + 2,
            }),
        )
    }

    /// Number of cells.
    pub(super) fn n_cells(self) -> usize {
        self.n_planes * self.n_rows * self.n
    }

    /// Cost of copying the cells.
    pub(super) fn copy_work(self) -> Work {
        let [bytes, piece_bytes, stride_bytes] =
            [self.n_cells(), self.n, self.row_stride].map(|n| n * CELL_BYTES);
        Work::Copy { bytes, piece_bytes, stride_bytes }
    }

    /// Indices of the first cell of each piece.
    fn pieces(self) -> impl Iterator<Item = usize> {
        let Self { first, n_planes, plane_stride, n_rows, row_stride, .. } = self;
        let rows = move |plane: usize| (0..n_rows).map(move |row| plane + row * row_stride);
        (0..n_planes).map(move |plane| first + plane * plane_stride).flat_map(rows)
    }

    /// Copies the cells into `message`.
    #[inline]
    pub(super) fn pack(self, cells: &[f64], message: &mut [f64]) {
        for (piece, packed) in self.pieces().zip(message.chunks_exact_mut(self.n)) {
            packed.copy_from_slice(&cells[piece..piece + self.n]);
        }
    }

    /// Copies `message` into the cells.
    #[inline]
    pub(super) fn unpack(self, cells: &mut [f64], message: &[f64]) {
        for (piece, packed) in self.pieces().zip(message.chunks_exact(self.n)) {
            cells[piece..piece + self.n].copy_from_slice(packed);
        }
    }
}

/// Place of a block in the grid of all ranks, from which the values of its cells follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<const N: usize> {
    pub(super) place: [usize; N],
    pub(super) sides: [usize; N],
    pub(super) n: usize,
}

impl<const N: usize> Values<N> {
    /// Coordinates of the cell number `index` of the block with its layer.
    fn coordinates(&self, index: usize) -> [usize; N] {
        let (mut left, mut found) = (index, [0; N]);
        for of_dim in found.iter_mut().rev() {
            *of_dim = left % (self.n + 2);
            left /= self.n + 2;
        }
        found
    }

    /// True if the cell number `index` is one of the layer.
    pub(super) fn is_of_layer(&self, index: usize) -> bool {
        self.coordinates(index).into_iter().any(|of_dim| of_dim == 0 || of_dim > self.n)
    }

    /// The value of the cell number `index` once the layer is there: the number of the cell in the grid,
    /// around its edges.
    pub(super) fn expected(&self, index: usize) -> f64 {
        let own = self.coordinates(index).into_iter().zip(self.place).zip(self.sides);
        let number = own.fold(0, |number, ((of_dim, place), side)| {
            let length = side * self.n;
            number * length + (place * self.n + of_dim + length - 1) % length
        });
        (number + 1) as f64
    }

    /// The value before: negative in the layer.
    pub(super) fn initial(&self, index: usize) -> f64 {
        if self.is_of_layer(index) { -1.0 - index as f64 } else { self.expected(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_neighbours_are_opposite_to_each_other() {
        assert_eq!(steps::<2>().count(), 8);
        assert_eq!(steps::<3>().count(), 26);
        assert_eq!(steps::<2>().next(), Some([-1, -1]));
        for n_ranks in [1, 2, 3, 6, 8, 12] {
            let mesh = Mesh::gray(n_ranks);
            let (plane, cube) = (Grid::<2>::new(&mesh), Grid::<3>::new(&mesh));
            for rank in 0..n_ranks {
                for step in steps::<2>() {
                    let to = plane.neighbour(plane.place(rank), step);
                    let back = plane.neighbour(plane.place(to), step.map(|step| -step));
                    assert_eq!((back, to != rank), (rank, to != rank && plane.leaves(step)));
                }
                for step in steps::<3>() {
                    let to = cube.neighbour(cube.place(rank), step);
                    assert_eq!(cube.neighbour(cube.place(to), step.map(|step| -step)), rank);
                }
            }
        }
    }

    #[test]
    fn a_region_has_the_cells_that_lie_on_its_side() {
        // A square of 2 x 2 cells in a layer: 4 x 4 of them.
        let cells: Vec<f64> = (0..16).map(f64::from).collect();
        for (step, leaving, arriving) in [
            ([-1, 0], vec![5.0, 6.0], vec![1.0, 2.0]),
            ([0, 1], vec![6.0, 10.0], vec![7.0, 11.0]),
            ([1, 1], vec![10.0], vec![15.0]),
        ] {
            for (region, expected) in
                [(Region::leaving(2, step), leaving), (Region::arriving(2, step), arriving)]
            {
                let mut packed = vec![0.0; region.n_cells()];
                region.pack(&cells, &mut packed);
                assert_eq!(packed, expected, "{step:?}");
                assert_eq!(n_cells(2, step), expected.len() as u64);
            }
        }
        let face = Region::arriving(4, [0, 1, 0]);
        assert_eq!((face.n_cells(), face.n, face.n_planes), (16, 4, 4));
    }

    #[test]
    fn values_are_numbers_of_cells_around_the_edges_of_the_grid() {
        // The first of two blocks in a row: a grid of 2 x 4.
        let values = Values { place: [0, 0], sides: [1, 2], n: 2 };
        let found: Vec<f64> = (0..16).map(|index| values.expected(index)).collect();
        let row = [4.0, 1.0, 2.0, 3.0];
        let below = row.map(|value| value + 4.0);
        assert_eq!(found, [below, row, below, row].concat());
        assert_eq!([0, 5].map(|index| values.initial(index)), [-1.0, 1.0]);
    }
}
