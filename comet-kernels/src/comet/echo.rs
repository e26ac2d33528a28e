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

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::Result;
use comet_core::kernel::{Case, Duty, HOPS, KernelInfo, LENGTH_BYTES, Pairing, Pattern, Series};
use comet_core::transport::Transport;

use crate::axes;
use crate::pattern::Bounce;

/// The kernel `comet/echo`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Echo;

pub(crate) const INFO: KernelInfo = KernelInfo {
    name: "echo",
    summary: "One-way time of a message, half of the round trip to a partner",
    source: "thesis section 3.3.1, figure 3.2",
    aliases: &["IMB:PingPong", "OSU:osu_latency"],
    axes: &[axes::HOPS_FROM_0, axes::MESSAGE_LENGTHS],
    series: &[Series {
        bytes_per_op: |case, _| Some(case.value(&LENGTH_BYTES)),
        ..Series::of("echo", Quantity::OneWayTime, Definition::HalfRoundTrip)
    }],
    ..KernelInfo::pair("comet")
};

impl<T: Transport> Pattern<T> for Echo {
    const INFO: KernelInfo = INFO;
    type Part<'a>
        = Bounce<T::Buffer>
    where
        T: 'a;

    fn part<'a>(
        &self,
        cx: &Context<'a, T>,
        case: &Case,
        _series: usize,
    ) -> Result<Option<(Duty, Self::Part<'a>)>> {
        Bounce::part(cx, Pairing::ByHops(case.length(&HOPS)), case.length(&LENGTH_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::kernel::World;

    #[test]
    fn a_distance_without_a_rank_is_refused() {
        let topology = comet_core::topology::Topology::hypercube(4);
        let check = |hops, expected: Result<(), &str>| {
            let admitted = (INFO.admits)(&Case::new(&INFO, &[hops, 8]), &World::of(&topology));
            assert_eq!(admitted, expected.map_err(str::to_owned));
        };
        check(0, Ok(()));
        check(2, Ok(()));
        check(3, Err("no rank is 3 hops from rank 0: 4 ranks reach 2 hops"));
    }
}
