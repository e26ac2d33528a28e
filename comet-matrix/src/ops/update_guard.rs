//! Update guard: time until every rank has the edge rows and columns of its four neighbours.
//!
//! **Source**: thesis sections 3.3.8 and 4.3, figures 3.10, 3.11 and 4.3.
//!
//! **Pattern**
//! ```text
//!                top                    1  pack north row,   start send to top
//!            row ^ | row                2  pack south row,   start send to bottom
//!                | v                    3  pack east column, start send to succ
//!        <----  block  <----            4  pack west column, start send to pred
//!   pred  ---->       ---->  succ       5  post four receives, wait for all eight
//!          col   ^ |   col              6  unpack into the guard ring
//!                | v
//!               bottom
//! ```
//! Packing is overlapped with the sends that were started before it, as in figure 4.3.
//!
//! **Timed** (all ranks): steps 1 to 6, after a barrier.
//!
//! **Reports**: completion time of one operation. Linear in `local_n`.
//!
//! **Rate**: 32 x `local_n` bytes / time, of the edges that leave one rank; half of it on a mesh of one
//! row or one column.
//!
//! **Parameters**: `local_n`.
//!
//! **Verified by**: every value of the block and of its ring: elements beyond the edges, around
//! the edges of the global matrix, in the ring; unchanged elements and corners.
//!
//! **Caution**: the corners of the ring are not updated; a nine-point stencil needs more.
//! If `top` and `bottom` are one rank, or this rank, messages are distinguished by the direction in
//! which they travel, which is their tag. Figure 4.3 posts "receive from bottom to fill north guard
//! wrapper"; section 3.3.8 and figure 3.10 put the values of `top` there, as is done here.

use comet_core::kernel::prelude::*;

use super::{MATRIX, block_bytes, line_bytes, new_block, pack, place, unpack};
use crate::block::{Block, ELEMENT_BYTES, Line, Memory};
use crate::check;
use crate::setup::{self, Place};

/// Edges of a block that leave its rank: two for each direction in which the mesh has neighbours.
fn leaving(world: &World<'_>) -> u64 {
    let mesh = world.topology.mesh();
    2 * (u64::from(mesh.rows() > 1) + u64::from(mesh.cols() > 1))
}

/// `matrix/update_guard`; see the [module](self).
pub(crate) struct UpdateGuard;

impl<T: Transport> Operation<T> for Guarded<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        setup::fill(&mut self.block, self.at);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { block, leaving, arriving, .. } = self;
        t.scope(|s| {
            let sends = leaving.each_mut().map(|edge| {
                pack(t, block, edge.line, &mut edge.message);
                s.unblocked_send(edge.neighbour, edge.tag, &edge.message)
            });
            let receives = arriving.each_mut().map(|edge| {
                s.unblocked_recv(Source::Rank(edge.neighbour), edge.tag, &mut edge.message)
            });
            for send in sends {
                send?.wait()?;
            }
            for receive in receives {
                receive?.wait()?;
            }
            Ok(())
        })?;
        for edge in arriving {
            unpack(t, block, edge.line, &edge.message);
        }
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let at = self.at;
        let expected = |row, col| check::after_update_guard(at, row, col);
        check::block(check, (&mut self.block, at), expected, "update_guard");
    }
}

impl<T: Transport> Pattern<T> for UpdateGuard {
    const INFO: KernelInfo = KernelInfo {
        name: "update_guard",
        file: include_str!("update_guard.rs"),
        summary: "Fill the guard ring with the edge elements of the four neighbours",
        series: &[Series::completion("update_guard")
            .moving(|case, world| Some(line_bytes(case).saturating_mul(leaving(world))))],
        bytes_per_rank: |case, _| {
            block_bytes(case).saturating_add(line_bytes(case).saturating_mul(8))
        },
        ..MATRIX
    };
    type Part = Guarded<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Together, Guarded::new(cx, case)?)))
    }
}

/// A line of the block that one message carries.
#[derive(Debug)]
struct Edge<B> {
    line: Line,
    neighbour: Rank,
    tag: Tag,
    message: B,
}

/// A block with the messages that leave over its four sides, and those that arrive.
pub(crate) struct Guarded<B> {
    at: Place,
    block: Block<B>,
    leaving: [Edge<B>; 4],
    arriving: [Edge<B>; 4],
}

impl<B: Memory> Guarded<B> {
    fn new<T: Transport<Buffer = B>>(cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        let n = case.length(&LOCAL_N);
        let [northward, southward, eastward, westward] = [0, 1, 2, 3].map(|index| cx.tag(index));
        let near = cx.topology().mesh().neighbours(cx.rank());
        let edge = |line, neighbour, tag| -> Result<_> {
            Ok(Edge { line, neighbour, tag, message: cx.message(n * ELEMENT_BYTES)? })
        };
        let leaving = [
            edge(Line::Row(1), near.top, northward)?,
            edge(Line::Row(n), near.bottom, southward)?,
            edge(Line::Col(n), near.succ, eastward)?,
            edge(Line::Col(1), near.pred, westward)?,
        ];
        let arriving = [
            edge(Line::Row(0), near.top, southward)?,
            edge(Line::Row(n + 1), near.bottom, northward)?,
            edge(Line::Col(n + 1), near.succ, westward)?,
            edge(Line::Col(0), near.pred, eastward)?,
        ];
        let at = place(cx, cx.topology().mesh(), case);
        Ok(Self { at, block: new_block(cx, case)?, leaving, arriving })
    }
}
