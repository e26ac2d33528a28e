//! Bandwidth of prepared messages: time of windows of them in one direction, each answered when all of
//! it has arrived.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bw_persistent`; MPI-4.1 section 3.9.
//!
//! **Pattern**, W messages in a window, prepared by MPI_Send_init and MPI_Recv_init
//! ```text
//!   rank 0  --OUT--> --OUT--> ... --OUT-->  rank 1, one hop away: one start of all W on each side
//!           <------------ BACK ------------  one byte, when all W have arrived
//! ```
//! **Timed** (rank 0): the start of W sends, the wait for all of them, and the blocked receive of the
//! answer. Buffers are made before, and so is what the library prepares.
//!
//! **Reports**: time of one window. A message takes time / W.
//!
//! **Rate**: W x `length_bytes` / time.
//!
//! **Parameters**: `window`, which is W (64 in OSU), `window_buffers`: one buffer for all messages
//! of a window, or one for each; `length_bytes` of one message.
//!
//! **Verified by**: contents of the receiver's buffers, over spoiled ones; contents, source and length
//! of the answer.
//!
//! **Caution**: with one buffer all sends of a window are of it and all receives into it, as in OSU
//! without `-b multiple`; a message that only others overwrite is not seen. A transport without
//! prepared messages starts plain ones.

use comet_core::kernel::prelude::*;

use super::bw::{Bw, Window};
use super::messages::Shape;
use super::prepared::PreparedFlow;

/// `osu/bw_persistent`; see the [module](self).
pub(crate) struct BwPersistent;

impl<T: Transport> Pattern<T> for BwPersistent {
    const INFO: KernelInfo = KernelInfo {
        name: "bw_persistent",
        file: include_str!("bw_persistent.rs"),
        summary: "Windows of prepared messages in one direction, each with a short answer",
        aliases: &["OSU:osu_bw_persistent"],
        is_packed: false,
        ..<Bw as Pattern<T>>::INFO
    };
    type Part = Window<PreparedFlow<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        Ok(Some((side.duty(), Window::new(cx, side.peer, side.leads, Shape::of(case))?)))
    }
}
