//! Echo: the time of one message from one rank to another, as half of a round trip.
//!
//! **Source**: thesis section 3.3.1, figure 3.2.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  ──OUT──►  partner, `hops` links away
//!                       ◄──BACK─
//!   at 0 hops: rank 0 sends OUT and then BACK to itself, each by one blocked exchange
//! ```
//! **Timed** (rank 0): blocked send, blocked receive. Buffers and test data are made before.
//!
//! **Reports**: one-way time, (t2 - t1) / 2 of a round trip, and the bandwidth
//! `length_bytes` / one-way time. The thesis plots the whole round trip in figure 5.1 and tells its
//! reader to halve it; the record keeps the interval and its divisor.
//!
//! **Parameters**: `hops` from 0, `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: the partner sends back the buffer that it received, which is in its cache.
//! At 0 hops, half a round trip is one message of a rank to itself, a copy within one memory.

use comet_core::kernel::prelude::*;

use crate::axes;
use crate::pattern::Bounce;

/// `comet/echo`; see the [module](self).
pub(crate) struct Echo;

impl<T: Transport> Pattern<T> for Echo {
    const INFO: KernelInfo = KernelInfo {
        name: "echo",
        summary: "One-way time of a message, half of the round trip to a partner",
        source: "thesis section 3.3.1, figure 3.2",
        aliases: &["IMB:PingPong", "OSU:osu_latency"],
        axes: &[axes::HOPS_FROM_0, axes::MESSAGE_LENGTHS],
        series: &[Series::one_way("echo")],
        is_touchable: true,
        ..KernelInfo::pair("comet")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Bounce::part(cx, Pairing::ByHops(case.length(&HOPS)), case.length(&LENGTH_BYTES))
    }
}
