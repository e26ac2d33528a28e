//! Bandwidth of prepared messages in both directions: time of windows of them that cross.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bibw_persistent`; MPI-4.1 section 3.9.
//!
//! **Pattern**, W messages in a window, prepared by MPI_Send_init and MPI_Recv_init
//! ```text
//!   rank 0  --OUT--> --OUT--> ... --OUT-->  rank 1, one hop away: both start W receives, then W sends,
//!           <-BACK-- <-BACK-- ... <-BACK--  and wait for their sends, then for their receives
//! ```
//! **Timed** (rank 0): the two starts and the two waits. Buffers are made before, and so is what the
//! library prepares.
//!
//! **Reports**: time of one window. A message takes time / (2 W).
//!
//! **Rate**: 2 W x `length_bytes` / time, both directions together.
//!
//! **Parameters**: `window`, which is W (64 in OSU), `window_buffers`: one buffer for all messages
//! of a window, or one for each; `length_bytes` of one message.
//!
//! **Verified by**: other test data in each direction; contents of the buffers on both sides, over
//! spoiled ones.
//!
//! **Caution**: with one buffer all sends of a window are of it and all receives into another one,
//! as in OSU without `-b multiple`; a message that only others overwrite is not seen. A transport
//! without prepared messages starts plain ones.

use comet_core::kernel::prelude::*;

use super::bibw::Bibw;
use super::messages::Shape;
use super::prepared::Both;

/// `osu/bibw_persistent`; see the [module](self).
pub(crate) struct BibwPersistent;

/// One side.
pub(crate) struct Crossing<T: Transport>(Both<T>);

impl<T: Transport> Operation<T> for Crossing<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.0.fill(seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Both { out, back, .. } = &mut self.0;
        t.scope(|s| {
            let arriving = back.start(s)?;
            out.start(s)?.wait()?;
            arriving.wait()
        })
    }

    fn check(&mut self, check: &mut Checker) {
        self.0.check(check);
    }
}

impl<T: Transport> Pattern<T> for BibwPersistent {
    const INFO: KernelInfo = KernelInfo {
        name: "bibw_persistent",
        file: include_str!("bibw_persistent.rs"),
        summary: "Windows of prepared messages in both directions at once",
        aliases: &["OSU:osu_bibw_persistent"],
        is_packed: false,
        ..<Bibw as Pattern<T>>::INFO
    };
    type Part = Crossing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        Ok(Some((side.duty(), Crossing(Both::new(cx, side.peer, Shape::of(case))?))))
    }
}
