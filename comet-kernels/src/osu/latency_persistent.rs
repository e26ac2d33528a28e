//! Latency of prepared messages: time of one message to another rank, half of a round trip.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_latency_persistent`; MPI-4.1 section 3.9.
//!
//! **Pattern**, each message a send and a receive that were prepared (MPI_Send_init, MPI_Recv_init)
//! ```text
//!   rank 0 (test node)  --OUT-->  partner, `hops` links away
//!                       <--BACK-
//!   each side: start and wait for the one, then start and wait for the other
//! ```
//! **Timed** (rank 0): start of the send, wait for it, start of the receive, wait for it. Buffers and
//! test data are made before, and so is what the library prepares.
//!
//! **Reports**: one-way time, (t2 - t1) / 2 of a round trip.
//!
//! **Rate**: `length_bytes` / one-way time.
//!
//! **Parameters**: `hops` from 1, `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents on both sides, over spoiled ones.
//!
//! **Caution**: each side has a buffer for each direction, as in OSU, so that a message that is sent is
//! never rewritten. A transport without prepared messages starts plain ones.

use comet_core::kernel::prelude::*;

use super::messages::Shape;
use super::prepared::Both;
use crate::axes;

/// `osu/latency_persistent`; see the [module](self).
pub(crate) struct LatencyPersistent;

/// One side.
pub(crate) struct Turns<T: Transport> {
    both: Both<T>,
    leads: bool,
}

impl<T: Transport> Operation<T> for Turns<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.both.fill(seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Both { out, back, .. } = &mut self.both;
        if self.leads {
            out.run(t)?;
            return back.run(t);
        }
        back.run(t)?;
        out.run(t)
    }

    fn check(&mut self, check: &mut Checker) {
        self.both.check(check);
    }
}

impl<T: Transport> Pattern<T> for LatencyPersistent {
    const INFO: KernelInfo = KernelInfo {
        name: "latency_persistent",
        file: include_str!("latency_persistent.rs"),
        summary: "One-way time of a prepared message, half of the round trip to a partner",
        aliases: &["OSU:osu_latency_persistent"],
        axes: &[axes::HOPS_FROM_1, axes::DOUBLING],
        series: &[Series::one_way("trip")],
        admits: axes::admit_partner,
        has_layouts: true,
        ..KernelInfo::pair("osu")
    };
    type Part = Turns<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(case.length(&HOPS))) else { return Ok(None) };
        let both = Both::new(cx, side.peer, Shape::single(case.length(&LENGTH_BYTES)))?;
        Ok(Some((side.duty(), Turns { both, leads: side.leads })))
    }
}
