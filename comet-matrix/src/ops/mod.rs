//! The operations, one kernel a file, and what they share.
//!
//! A replaced operation is checked by `setup.rs` and `check.rs` as they are.

mod line_broadcast;
mod recursive_transpose;
mod shift;
mod transpose;
mod update_guard;

use comet_core::kernel::prelude::*;
use comet_core::topology::Mesh;

use crate::block::{Block, Line, Memory};
use crate::setup::{MAX_VALUES, Place};

/// The kernels of the suite `matrix`, in the order of the thesis.
pub fn kernels<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const {
        &[
            &Timed(update_guard::UpdateGuard),
            &Timed(shift::Shift),
            &Timed(transpose::Transpose),
            &Timed(line_broadcast::LineBroadcast::<false>),
            &Timed(line_broadcast::LineBroadcast::<true>),
        ]
    }
}

/// Operations on the matrix that the thesis wishes for: those of the suite `patterns`.
pub fn wished<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const { &[&Timed(recursive_transpose::RecursiveTranspose)] }
}

/// The dimension of a block, as every matrix kernel varies it.
const SIZES: AxisUse = AxisUse {
    axis: &LOCAL_N,
    sweeps: [
        "8,64",
        "4,8,16,32,64,128,256,512",
        "1..4,6,8,12,16,24,32,48,64,96,128,192,256,384,512,768,1024",
    ],
};

/// A kernel of this crate.
const MATRIX: KernelInfo =
    KernelInfo { class: Class::Matrix, axes: &[SIZES], admits, ..KernelInfo::collective("matrix") };

/// Admits `case` if its global matrix exists on `topology`, and its values are exact.
fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    let local_n = case.value(&LOCAL_N);
    if local_n == 0 {
        return Err("local_n must be at least 1, got 0".into());
    }
    let values_per_rank = block_bytes(case) / 8;
    if values_per_rank.saturating_mul(world.n_ranks as u64) > MAX_VALUES {
        return Err(format!(
            "local_n {local_n} is too large: the matrix would have more than 2^53 values, which \
             doubles do not tell apart (try a smaller local_n)"
        ));
    }
    Ok(())
}

/// Refuses a mesh of one row, or of one column with `is_cols`, on which no message of `operation`
/// would leave its rank.
fn require_two(mesh: &Mesh, operation: &str, is_cols: bool) -> Result<(), String> {
    let (rows, cols) = (mesh.rows(), mesh.cols());
    let (n_lines, lines) = if is_cols { (cols, "columns") } else { (rows, "rows") };
    if n_lines >= 2 {
        return Ok(());
    }
    let remedy = match two_or_more_lines(mesh) {
        Some((n, length)) if is_cols => format!("try --mesh {length}x{n}"),
        Some((n, length)) => format!("try --mesh {n}x{length}"),
        None => "start at least 2 ranks".into(),
    };
    Err(format!("{operation} needs a mesh of at least 2 {lines}, got {rows}x{cols} ({remedy})"))
}

/// The shape nearest to a single line into which the ranks of `mesh` go as two or more lines:
/// number of lines and their length. `None` for a single rank.
fn two_or_more_lines(mesh: &Mesh) -> Option<(usize, usize)> {
    let n_ranks = mesh.ranks().len();
    let n_lines = (2..=n_ranks).find(|n_lines| n_ranks.is_multiple_of(*n_lines))?;
    Some((n_lines, n_ranks / n_lines))
}

/// Length in bytes of the block of `case` with its ring, or the largest number beyond it.
fn block_bytes(case: &Case) -> u64 {
    let side = case.value(&LOCAL_N).saturating_add(2);
    side.saturating_mul(side).saturating_mul(8)
}

/// Length in bytes of one row or column of the block of `case`, without the ring.
fn line_bytes(case: &Case) -> u64 {
    case.value(&LOCAL_N).saturating_mul(8)
}

/// A block for `case`, all zero.
fn new_block<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Result<Block<T::Buffer>> {
    let local_n = case.length(&LOCAL_N);
    let buffer = cx.message(Block::<T::Buffer>::length_bytes(local_n))?;
    Ok(Block::new(buffer, local_n))
}

/// Place of this rank's block in a matrix on `mesh`.
fn place<T: Transport>(cx: &Context<'_, T>, mesh: &Mesh, case: &Case) -> Place {
    Place::of(cx.rank(), mesh, case.length(&LOCAL_N))
}

/// Copies `line` of `block` into `message`.
fn pack<T: Transport>(t: &T, block: &Block<impl Memory>, line: Line, message: &mut [u8]) {
    t.compute(line.copy_work(block.local_n()), || {
        for (packed, value) in bytemuck::cast_slice_mut(message).iter_mut().zip(block.line(line)) {
            *packed = *value;
        }
    });
}

/// Copies `message` into `line` of `block`.
fn unpack<T: Transport>(t: &T, block: &mut Block<impl Memory>, line: Line, message: &[u8]) {
    t.compute(line.copy_work(block.local_n()), || {
        for (value, packed) in block.line_mut(line).iter_mut().zip(bytemuck::cast_slice(message)) {
            *value = *packed;
        }
    });
}

/// Destination of a rank's block, and source of its next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    /// The rank that receives this rank's block.
    to: Rank,
    /// The rank whose block this rank receives.
    from: Rank,
}

/// The block that a rank holds, and the one into which it receives.
///
/// The thesis receives into the array that it has just sent (section 3.3.9), which is right only
/// where a send returns after the system has copied the message. A second block makes the operation
/// right on every transport, without that copy.
struct Pair<B> {
    /// The block that the rank holds.
    current: Block<B>,
    /// Room for the block that arrives.
    incoming: Block<B>,
    tag: Tag,
}

impl<B: Memory> Pair<B> {
    /// Room for two blocks.
    fn new<T: Transport<Buffer = B>>(cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        Ok(Self { current: new_block(cx, case)?, incoming: new_block(cx, case)?, tag: cx.tag(0) })
    }

    /// Sends the current block along `route` while the next one comes in.
    #[inline]
    fn exchange<T: Transport>(&mut self, t: &T, route: Route) -> Result<()> {
        let (message, buffer) = (self.current.bytes(), self.incoming.bytes_mut());
        t.blocked_exchange(route.to, message, Source::Rank(route.from), buffer, self.tag).map(drop)
    }

    /// Makes the block that came in the current one; no data moves.
    #[inline]
    fn swap(&mut self) {
        std::mem::swap(&mut self.current, &mut self.incoming);
    }
}
