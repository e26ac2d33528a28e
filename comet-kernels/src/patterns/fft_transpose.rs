//! FFT transpose: time of the two transposes of a three-dimensional Fourier transform whose array
//! lies in pencils: an all-to-all in each row of the mesh, and one in each column.
//!
//! **Source**: thesis section 6.1; parallel Fourier transforms in pencils (P3DFFT, 2DECOMP).
//!
//! **Pattern**, on a mesh of R x C ranks, each with a part of S bytes for each of the P = R x C
//! ranks
//! ```text
//!   pencils in x     ==rows==>     pencils in y      C ranks: parts of R x S bytes
//!   pencils in y     ==columns==>  pencils in z      R ranks: parts of C x S bytes
//!
//!   each rank packs its parts by columns of the mesh, sends them within its row, packs what
//!   came by rows of the mesh, and sends that within its column
//! ```
//! **Timed** (all ranks): two packs and two all-to-alls, after a barrier. The groups of rows and
//! columns, buffers, plans and test data are made before.
//!
//! **Reports**: completion time of one operation.
//!
//! **Rate**: P x (P (C-1)/C + P (R-1)/R) x `length_bytes` / time, of what leaves all ranks
//! together.
//!
//! **Parameters**: `length_bytes` S of the part of one rank for another, P x S bytes on a rank.
//! `algorithm` of the all-to-alls: that of the transport, or one of the library.
//!
//! **Verified by**: each part, from the rank from which it must come, over spoiled buffers with
//! canaries on both sides.
//!
//! **Caution**: after both steps each rank has its part of every rank, as after one all-to-all of
//! all ranks (`imb/alltoall`): R + C - 2 messages of a rank in place of P - 1, and about twice the
//! bytes. On a mesh of one row the second step is a copy, which is a transform in slabs.

use comet_core::collective::data::{compare, fill};
use comet_core::collective::{Collective, Kind, Parts, Prepared};
use comet_core::kernel::prelude::*;
use comet_core::topology::Mesh;
use comet_core::transport::Work;

use super::SUITE;
use crate::axes::DOUBLING;
use crate::calls::{BY_ALGORITHM, algorithm};
use crate::guarded::Guarded;

/// `patterns/fft_transpose`; see the [module](self).
pub(crate) struct FftTranspose;

/// An all-to-all among the ranks of a row or of a column.
struct Line<T: Transport> {
    group: T,
    call: Prepared<T>,
}

impl<T: Transport> Line<T> {
    /// The `n_ranks` ranks that name `line`, in the order of their `place` there, with parts of
    /// `part_bytes`.
    ///
    /// # Errors
    /// If no group can be made, or if there is no memory for the plan.
    fn new(
        cx: &Context<'_, T>,
        case: &Case,
        (line, place): (usize, usize),
        part_bytes: usize,
    ) -> Result<Self> {
        let colour = u32::try_from(line).unwrap_or(u32::MAX);
        let group = cx.transport().split(Some(colour), place as u64)?;
        let group = group.expect("a rank is in the group that it names");
        let by = algorithm(Kind::Alltoall, case).ok().flatten();
        let call = Prepared::new(&group, alltoall(part_bytes), by)?;
        Ok(Self { group, call })
    }

    #[inline]
    fn run(&mut self, buffers: [&mut [u8]; 2]) -> Result<()> {
        self.call.run(&self.group, buffers)
    }
}

fn alltoall(part_bytes: usize) -> Collective {
    Collective::new(Kind::Alltoall, Parts::Equal(part_bytes))
}

/// One rank.
pub(crate) struct Pencil<T: Transport> {
    /// Rows and columns of the mesh, and the number of this rank along its rows.
    mesh: (usize, usize),
    index: usize,
    part_bytes: usize,
    row: Line<T>,
    column: Line<T>,
    input: Guarded<T::Buffer>,
    packed: Guarded<T::Buffer>,
    arrived: Guarded<T::Buffer>,
    output: Guarded<T::Buffer>,
}

impl<T: Transport> Pencil<T> {
    fn new(cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        let (mesh, part_bytes) = (cx.topology().mesh(), case.length(&LENGTH_BYTES));
        let (rows, cols) = (mesh.rows(), mesh.cols());
        let (row, col) = mesh.position(cx.rank());
        let buffer = || Guarded::new(cx, rows * cols * part_bytes);
        Ok(Self {
            mesh: (rows, cols),
            index: row * cols + col,
            part_bytes,
            row: Line::new(cx, case, (row, col), rows * part_bytes)?,
            column: Line::new(cx, case, (col, row), cols * part_bytes)?,
            input: buffer()?,
            packed: buffer()?,
            arrived: buffer()?,
            output: buffer()?,
        })
    }

    /// The operation, seen from all ranks, which are numbered along the rows of the mesh.
    fn whole(&self) -> (Collective, (usize, usize)) {
        let (rows, cols) = self.mesh;
        (alltoall(self.part_bytes), (self.index, rows * cols))
    }
}

/// Copies `n_rows` x `n_cols` parts, which lie row by row in `from`, column by column into `into`.
#[inline]
fn turn<T: Transport>(
    t: &T,
    (n_rows, n_cols): (usize, usize),
    part_bytes: usize,
    from: &[u8],
    into: &mut [u8],
) {
    if part_bytes == 0 {
        return;
    }
    let work = Work::Copy {
        bytes: from.len(),
        piece_bytes: part_bytes,
        stride_bytes: n_cols * part_bytes,
    };
    t.compute(work, || {
        for (number, part) in into.chunks_exact_mut(part_bytes).enumerate() {
            let start = (number % n_rows * n_cols + number / n_rows) * part_bytes;
            part.copy_from_slice(&from[start..start + part_bytes]);
        }
    });
}

impl<T: Transport> Operation<T> for Pencil<T> {
    fn fill(&mut self, seeds: Seeds) {
        let (call, at) = self.whole();
        fill(&call, at, seeds, [self.input.bytes(), self.output.bytes()]);
        // A part that stays where it was shows as one of no rank.
        self.packed.bytes().fill(0);
        self.arrived.bytes().fill(0);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { mesh: (rows, cols), part_bytes, .. } = *self;
        let Self { row, column, input, packed, arrived, output, .. } = self;
        turn(t, (rows, cols), part_bytes, input.bytes(), packed.bytes());
        row.run([packed.bytes(), arrived.bytes()])?;
        turn(t, (cols, rows), part_bytes, arrived.bytes(), packed.bytes());
        column.run([packed.bytes(), output.bytes()])
    }

    fn check(&mut self, check: &mut Checker) {
        let (call, at) = self.whole();
        compare(&call, at, self.output.bytes(), check);
        let Self { input, packed, arrived, output, .. } = self;
        for (buffer, what) in [(input, "input"), (packed, "packed parts")] {
            buffer.check(check, &format!("the {what}"));
        }
        for (buffer, what) in [(arrived, "parts of the row"), (output, "output")] {
            buffer.check(check, &format!("the {what}"));
        }
    }
}

/// Bytes on one rank.
fn bytes_of_rank(case: &Case, world: &World<'_>) -> u64 {
    case.value(&LENGTH_BYTES).saturating_mul(world.n_ranks as u64)
}

/// Bytes that leave one rank in both steps.
fn leaving_bytes(case: &Case, mesh: &Mesh) -> u64 {
    let of_line = |n: usize, n_lines: usize| ((n - 1) * n_lines) as u64;
    let n_parts = of_line(mesh.cols(), mesh.rows()) + of_line(mesh.rows(), mesh.cols());
    n_parts.saturating_mul(case.value(&LENGTH_BYTES))
}

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    let Some(by) = algorithm(Kind::Alltoall, case)? else { return Ok(()) };
    let (mesh, length) = (world.topology.mesh(), case.length(&LENGTH_BYTES));
    for n_ranks in [mesh.cols(), mesh.rows()] {
        by.admit(&alltoall(length), n_ranks)?;
    }
    Ok(())
}

impl<T: Transport> Pattern<T> for FftTranspose {
    const INFO: KernelInfo = KernelInfo {
        name: "fft_transpose",
        file: include_str!("fft_transpose.rs"),
        summary: "Two transposes of an array in pencils: all-to-alls in rows and columns",
        class: Class::Matrix,
        axes: &[BY_ALGORITHM, DOUBLING],
        series: &[Series::completion("transposes").moving(|case, world| {
            let of_rank = leaving_bytes(case, world.topology.mesh());
            Some(of_rank.saturating_mul(world.n_ranks as u64))
        })],
        admits,
        // Plans have scratch memory of the same size.
        bytes_per_rank: |case, world| bytes_of_rank(case, world).saturating_mul(6),
        messages_per_op: |_, world| {
            let mesh = world.topology.mesh();
            (world.n_ranks * (mesh.rows() + mesh.cols() - 2)) as u64
        },
        // Each part would have two more groups of ranks.
        is_movable: false,
        ..SUITE
    };
    type Part = Pencil<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Together, Pencil::new(cx, case)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::local;

    #[test]
    fn parts_are_turned_about_whole() {
        local::run_alone(|t| {
            let (from, mut into) = (*b"aabbccddeeff", [0; 12]);
            turn(t, (2, 3), 2, &from, &mut into);
            assert_eq!(&into, b"aaddbbeeccff");
            let mut back = [0; 12];
            turn(t, (3, 2), 2, &into, &mut back);
            assert_eq!(back, from);
            turn(t, (2, 3), 0, &[], &mut []);
        });
    }
}
