//! PingPong: time of one message to another rank that receives from any source, half of a round trip.
//!
//! **Source**: IMB 2021, IMB-MPI1, `PingPongAnySource`.
//!
//! **Pattern**
//! ```text
//!   rank 0  --OUT-->  rank 1, one hop away     blocked sends; blocked receives from any source
//!           <-BACK--
//! ```
//! **Timed** (rank 0): blocked send, blocked receive. Buffers and test data are made before.
//!
//! **Reports**: one-way time, (t2 - t1) / 2 of a round trip.
//!
//! **Rate**: `length_bytes` / one-way time.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: IMB receives messages with any tag too, for which CoMet has no call if the source is
//! any (`skampi/pingpong_send_recv_any_tag` names its source). With the sender as the only source, as
//! in `PingPong`, the operation is that of `comet/echo`; a run that has both names of IMB for it has
//! `imb/pingpong_specific_source` too.

use comet_core::kernel::prelude::*;

use crate::axes;
use crate::pattern::Bounce;

/// `imb/pingpong_any_source`; see the [module](self).
pub(crate) struct PingPong;

impl<T: Transport> Pattern<T> for PingPong {
    const INFO: KernelInfo = KernelInfo {
        name: "pingpong_any_source",
        file: include_str!("pingpong.rs"),
        summary: "One-way time of a message that is received from any source",
        aliases: &["IMB:PingPongAnySource"],
        axes: &[axes::DOUBLING],
        series: &[Series::one_way("pingpong")],
        admits: |_, world| world.require_ranks(2),
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("imb")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let role = Bounce::part(cx, Pairing::ByHops(1), case.length(&LENGTH_BYTES))?;
        Ok(role.map(|(duty, side)| (duty, side.with_any_source())))
    }
}
