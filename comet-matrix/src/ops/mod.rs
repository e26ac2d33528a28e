//! The operations, one kernel a file, and what they share.
//!
//! A replaced operation is checked by `setup.rs` and `check.rs` as they are.

mod cast;
mod col_broadcast;
mod pair;
mod row_broadcast;
mod shift;
mod transpose;
mod update_guard;

pub(crate) use col_broadcast::ColBroadcast;
pub(crate) use row_broadcast::RowBroadcast;
pub(crate) use shift::Shift;
pub(crate) use transpose::Transpose;
pub(crate) use update_guard::UpdateGuard;

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error;
use comet_core::kernel::{AxisUse, Case, LOCAL_N, Series, World};
use comet_core::topology::Mesh;
use comet_core::transport::Transport;

use crate::block::{Block, Line, Memory};
use crate::setup::{self, MAX_VALUES, Place};

/// The dimension of a block, as every matrix kernel varies it.
const SIZES: AxisUse = AxisUse {
    axis: &LOCAL_N,
    sweeps: [
        "8,64",
        "4,8,16,32,64,128,256,512",
        "1..4,6,8,12,16,24,32,48,64,96,128,192,256,384,512,768,1024",
    ],
};

/// The series of a kernel of this crate: the time of one operation over all ranks.
const fn series(name: &'static str, bytes_per_op: fn(&Case, &World<'_>) -> Option<u64>) -> Series {
    Series { bytes_per_op, ..Series::of(name, Quantity::OpTime, Definition::Completion) }
}

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
fn new_block<T: Transport>(cx: &Context<'_, T>, case: &Case) -> error::Result<Block<T::Buffer>> {
    let local_n = case.length(&LOCAL_N);
    let buffer = cx.message(Block::<T::Buffer>::length_bytes(local_n))?;
    Ok(Block::new(buffer, local_n))
}

/// The block of this rank with its initial values.
fn initial_block<T: Transport>(
    cx: &Context<'_, T>,
    case: &Case,
) -> error::Result<Block<T::Buffer>> {
    let mut block = new_block(cx, case)?;
    setup::fill(&mut block, place(cx, cx.topology().mesh(), case));
    Ok(block)
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
