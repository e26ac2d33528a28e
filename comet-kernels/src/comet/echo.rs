//! Echo: time of one message to another rank, half of a round trip.
//!
//! **Source**: thesis section 3.3.1, figure 3.2.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  --OUT-->  partner, `hops` links away
//!                       <--BACK-
//!   at 0 hops: rank 0 sends OUT and then BACK to itself, each by one blocked exchange
//! ```
//! **Timed** (rank 0): blocked send, blocked receive. Buffers and test data are made before.
//!
//! **Reports**: one-way time, (t2 - t1) / 2 of a round trip. The record holds the interval and its
//! divisor. Figure 5.1 of the thesis shows the whole round trip.
//!
//! **Rate**: `length_bytes` / one-way time.
//!
//! **Parameters**: `hops` from 0, `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: the partner returns the buffer that it received, which is in its cache.
//! At 0 hops the message is a copy within one memory.

use comet_core::kernel::prelude::*;

use crate::axes;
use crate::pattern::Bounce;

/// `comet/echo`; see the [module](self).
pub(crate) struct Echo;

impl<T: Transport> Pattern<T> for Echo {
    const INFO: KernelInfo = KernelInfo {
        name: "echo",
        file: include_str!("echo.rs"),
        summary: "One-way time of a message, half of the round trip to a partner",
        aliases: &["IMB:PingPong", "OSU:osu_latency"],
        axes: &[axes::HOPS_FROM_0, axes::MESSAGE_LENGTHS],
        series: &[Series::one_way("echo")],
        is_touchable: true,
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("comet")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Bounce::part(cx, Pairing::ByHops(case.length(&HOPS)), case.length(&LENGTH_BYTES))
    }
}
