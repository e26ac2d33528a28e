//! COMMS2: what links gain by going both ways, by two messages that cross and are returned.
//!
//! **Source**: PARKBENCH, low-level benchmark COMMS2 (from Genesis).
//!
//! **Pattern**
//! ```text
//!   rank 0  ──a──►  rank 1, one hop away
//!           ◄──b──
//!           ──b──►                  each returns what it got
//!           ◄──a──
//! ```
//! **Timed** (rank 0): two blocked exchanges. Buffers are made before.
//!
//! **Reports**: T, half of the exchange and return, in which a message of `length_bytes` goes each
//! way. The bandwidth of the series is that of one direction, `length_bytes` / T, so that n½ is a
//! length of messages as in COMMS1; the figures give one direction and both together.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data of each rank; contents, source and length of what came and of
//! what came back, on both ranks.
//!
//! **Caution**: as in `comet/exchange`, a blocked exchange is send and then receive where sends are
//! buffered, and the transport's exchange that cannot deadlock elsewhere.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{Case, Class, Derived, Kernel, KernelInfo, LENGTH_BYTES, Series, Timing};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Tag, Transport};
use comet_stats::Summary;

use crate::parkbench::comms1::{LENGTHS, admits_pair};
use crate::roles::{TEST_NODE, check_arrival, peer, seed};

const CROSSING: Tag = Tag::new(13);

/// Distance of the other rank.
const HOPS: usize = 1;

/// The kernel `parkbench/comms2`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Comms2;

static INFO: KernelInfo = KernelInfo {
    name: "comms2",
    summary: "Exchange: half of the time of two messages that cross and are returned",
    source: "PARKBENCH low-level benchmarks, COMMS2",
    class: Class::Exchange,
    aliases: &["PARKBENCH:COMMS2"],
    axes: &[LENGTHS],
    series: &[Series {
        bytes_per_op: |case, _| Some(case.value(&LENGTH_BYTES)),
        ..Series::of("comms2", Quantity::OneWayTime, Definition::HalfRoundTrip)
    }],
    timing: Timing::Pipelined,
    admits: admits_pair,
    ..KernelInfo::pair("parkbench")
};

impl<T: Transport> Kernel<T> for Comms2 {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let (t, rank) = (cx.transport(), cx.rank());
        let Some(peer) = peer(rank, cx.topology(), HOPS) else { return Ok(()) };
        let (own, other) = (seed(CROSSING, rank), seed(CROSSING, peer));
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut buffer = cx.message(message.len())?;
        pattern::fill(&mut message, own);
        pattern::spoil(&mut buffer, other);
        let came = cross(t, peer, &message, &mut buffer)?;
        pattern::spoil(&mut message, own);
        let came_back = cross(t, peer, &buffer, &mut message)?;
        let what = format!("the message from rank {peer}");
        check_arrival(cx, (came, peer), (&mut buffer, other), &what)?;
        let what = format!("the message that rank {peer} returned");
        check_arrival(cx, (came_back, peer), (&mut message, own), &what)
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let Some(peer) = peer(cx.rank(), cx.topology(), HOPS) else { return Ok(()) };
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut buffer = cx.message(message.len())?;
        cx.time_on(TEST_NODE, 0, |t| {
            cross(t, peer, &message, &mut buffer)?;
            cross(t, peer, &buffer, &mut message)?;
            Ok(())
        })?;
        Ok(())
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [comms2] = summaries else { return Vec::new() };
        #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53 bytes")]
        let length_bytes = case.value(&LENGTH_BYTES) as f64;
        let is_rate = length_bytes > 0.0 && comms2.median > 0.0;
        let one_way = is_rate.then(|| length_bytes / comms2.median * 1e9);
        vec![
            Derived {
                name: "one_direction_bytes_per_s",
                formula: "length_bytes / median(comms2)",
                value: one_way,
            },
            Derived {
                name: "both_directions_bytes_per_s",
                formula: "2 * length_bytes / median(comms2)",
                value: one_way.map(|rate| 2.0 * rate),
            },
        ]
    }
}

/// Sends `message` to `peer` while its message comes into `buffer`.
#[inline]
fn cross<T: Transport>(t: &T, peer: Rank, message: &[u8], buffer: &mut [u8]) -> Result<Status> {
    t.blocked_exchange(peer, message, Source::Rank(peer), buffer, CROSSING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;

    #[test]
    fn comms2_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Comms2);
    }

    #[test]
    fn comms2_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Comms2);
    }

    #[test]
    fn rates_are_of_one_direction_and_of_both() {
        let check = |length_bytes, time_ns, expected: [Option<f64>; 2]| {
            let summaries = [Summary::of(&[time_ns]).unwrap()];
            let kernel: &dyn Kernel<comet_core::local::Local> = &Comms2;
            let figures = kernel.derived(&Case::new(&INFO, &[length_bytes]), &summaries);
            assert_eq!([figures[0].value, figures[1].value], expected);
        };
        check(1000, 500.0, [Some(2e9), Some(4e9)]);
        check(0, 500.0, [None, None]);
    }
}
