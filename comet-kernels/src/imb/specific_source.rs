//! PingPong and PingPing under their second names in IMB, which a run may have beside the first.
//!
//! **Source**: IMB 2021, IMB-MPI1, `PingPongSpecificSource` and `PingPingSpecificSource`.
//!
//! **Pattern**
//! ```text
//!   rank 0  --OUT-->  rank 1, one hop away     pingpong_specific_source: as comet/echo
//!           <-BACK--                           pingping_specific_source: as imb/pingping
//! ```
//! **Timed** (rank 0): the calls of the other kernel, whose receives name their source.
//!
//! **Reports**: what the other kernel reports.
//!
//! **Rate**: `length_bytes` / time.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: the check of the other kernel.
//!
//! **Caution**: IMB has the same calls under both names, so that a difference between them is noise.

use comet_core::kernel::prelude::*;

use super::pingping::{Crossed, PingPing};
use super::pingpong::PingPong;
use crate::pattern::Bounce;

/// `imb/pingpong_specific_source`; see the [module](self).
pub(crate) struct PingPongAgain;

impl<T: Transport> Pattern<T> for PingPongAgain {
    const INFO: KernelInfo = KernelInfo {
        name: "pingpong_specific_source",
        file: include_str!("specific_source.rs"),
        summary: "One-way time of a message that is received from a named source",
        aliases: &["IMB:PingPongSpecificSource"],
        ..<PingPong as Pattern<T>>::INFO
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Bounce::part(cx, Pairing::ByHops(1), case.length(&LENGTH_BYTES))
    }
}

/// `imb/pingping_specific_source`; see the [module](self).
pub(crate) struct PingPingAgain;

impl<T: Transport> Pattern<T> for PingPingAgain {
    const INFO: KernelInfo = KernelInfo {
        name: "pingping_specific_source",
        file: include_str!("specific_source.rs"),
        summary: "Two ranks send to each other at once, and receive from a named source",
        aliases: &["IMB:PingPingSpecificSource"],
        ..<PingPing<false> as Pattern<T>>::INFO
    };
    type Part = Crossed<T, false>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, i: usize) -> Result<Role<Self::Part>> {
        PingPing::<false>.part(cx, case, i)
    }
}
