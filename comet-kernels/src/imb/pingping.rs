//! PingPing: time of two messages in opposite directions at once, each an unblocked send around a
//! blocked receive.
//!
//! **Source**: IMB 2021, IMB-MPI1, section "Single Transfer Benchmarks".
//!
//! **Pattern**
//! ```text
//!   rank 0  --OUT-->  rank 1, one hop away     each posts its send, receives, and waits for the send
//!           <-BACK--                           or from any source (pingping_any_source)
//! ```
//! **Timed** (rank 0): the three calls. Buffers and test data are made before.
//!
//! **Reports**: time of the three calls.
//!
//! **Rate**: `length_bytes` / time, of one direction, as IMB counts it.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: IMB quotes the slower of the two ranks; each waits for the other here, so that both
//! take the same time.

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use crate::axes;

/// `imb/pingping`, and `imb/pingping_any_source`; see the [module](self).
pub(crate) struct PingPing<const ANY: bool>;

/// One side.
pub(crate) struct Crossed<T: Transport, const ANY: bool> {
    rank: Rank,
    peer: Rank,
    tag: Tag,
    message: T::Buffer,
    buffer: T::Buffer,
    arrived_bytes: Option<usize>,
}

impl<T: Transport, const ANY: bool> Crossed<T, ANY> {
    /// The side towards `peer`, with messages of so many bytes.
    pub(crate) fn new(cx: &Context<'_, T>, peer: Rank, length_bytes: usize) -> Result<Self> {
        let (rank, tag, arrived_bytes) = (cx.rank(), cx.tag(0), None);
        let (message, buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
        Ok(Self { rank, peer, tag, message, buffer, arrived_bytes })
    }
}

/// The message to the peer by an unblocked send around the receive of that of the peer.
#[inline]
fn cross<T: Transport, const ANY: bool>(
    t: &T,
    (peer, tag): (Rank, Tag),
    message: &[u8],
    buffer: &mut [u8],
) -> Result<Status> {
    t.scope(|s| {
        let sending = s.unblocked_send(peer, tag, message)?;
        let source = if ANY { Source::Any } else { Source::Rank(peer) };
        let status = t.blocked_recv(source, tag, buffer)?;
        sending.wait()?;
        Ok(status)
    })
}

impl<T: Transport, const ANY: bool> Operation<T> for Crossed<T, ANY> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.message, seeds.of(0, self.rank));
        pattern::spoil(&mut self.buffer, seeds.of(0, self.peer));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let status = cross::<T, ANY>(t, (self.peer, self.tag), &self.message, &mut self.buffer)?;
        self.arrived_bytes = status.length_from(self.peer);
        Ok(())
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        let [out, back] = packing.both(t, &mut self.message, &mut self.buffer)?;
        let status = cross::<T, ANY>(t, (self.peer, self.tag), out, back)?;
        self.arrived_bytes = packing.whole(status).length_from(self.peer);
        packing.unpack(t, &mut self.buffer)
    }

    fn check(&mut self, check: &mut Checker) {
        let (peer, seed) = (self.peer, check.seeds().of(0, self.peer));
        let what = format!("the message from rank {peer}");
        check.arrival(self.arrived_bytes, (&mut self.buffer, seed), &what);
    }
}

impl<T: Transport, const ANY: bool> Pattern<T> for PingPing<ANY> {
    const INFO: KernelInfo = KernelInfo {
        name: if ANY { "pingping_any_source" } else { "pingping" },
        file: include_str!("pingping.rs"),
        summary: if ANY {
            "Two ranks send to each other at once, and receive from any source"
        } else {
            "Two ranks send to each other at the same time, by unblocked sends"
        },
        class: Class::Exchange,
        aliases: if ANY { &["IMB:PingPingAnySource"] } else { &["IMB:PingPing"] },
        axes: &[axes::DOUBLING],
        series: &[
            Series::on_test_node("pingping").moving(|case, _| Some(case.value(&LENGTH_BYTES)))
        ],
        timing: Timing::Pipelined,
        admits: |_, world| world.require_ranks(2),
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("imb")
    };
    type Part = Crossed<T, ANY>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        Ok(Some((side.duty(), Crossed::new(cx, side.peer, case.length(&LENGTH_BYTES))?)))
    }
}
