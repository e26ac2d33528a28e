//! Ping-pong in the modes of SKaMPI: time of a round trip between two ranks by other calls each time.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.2, types 1 to 9 and 34;
//! MPI-4.1 sections 3.4 (modes), 3.8 (probe) and 3.10 (send-receive).
//!
//! **Pattern**
//! ```text
//!   rank 0  --OUT-->  rank 1, one hop away     pingpong_send_recv          1   Send; Recv
//!           <--BACK-                           pingpong_send_recv_any_tag  2   Send; Recv of any tag
//!                                              pingpong_send_irecv         3   Send; Irecv, Wait
//!                                              pingpong_send_iprobe_recv   4   Send; Iprobe until it
//!                                                                              is there, Recv
//!                                              pingpong_ssend_recv         5   Ssend; Recv
//!                                              pingpong_isend_recv         6   Isend; Recv; Wait
//!                                              pingpong_bsend_recv         7   Bsend; Recv
//!                                              pingpong_issend_recv        34  Issend; Recv; Wait
//!                                              pingpong_rsend_recv             Irecv; Send; Wait, and
//!                                                                              Recv; Rsend on rank 1
//!   both at once                               pingpong_sendrecv           8   Sendrecv
//!                                              pingpong_sendrecv_replace   9   Sendrecv_replace
//! ```
//! Rank 1 makes the same calls, but receives first. The numbers are those of the paper.
//!
//! **Timed** (rank 0): the calls. Buffers, test data and the room of buffered sends are made before.
//!
//! **Reports**: time of the whole round trip, as SKaMPI; of a send-receive that of one call.
//!
//! **Rate**: 2 x `length_bytes` / time, of both directions.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data in each direction; contents, source, tag and length on both sides.
//!
//! **Caution**: a difference between two of these kernels is the cost of a mode, so they are measured
//! in one run. The sends of pingpong_rsend_recv are of two modes: only an answer can know that its
//! receive is posted. The paper has no ready send. SKaMPI measures on the pair of ranks with the
//! largest latency; here it is rank 0 and a neighbour.

use comet_core::kernel::prelude::*;

use super::SUITE;
use super::ways::{Ends, Way};
use crate::axes;
use crate::imb_p2p::replace::Passing;

/// One of the kernels, by its calls; see the [module](self).
pub(crate) struct PingPong<W>(pub(crate) W);

/// One rank.
pub(crate) struct Turn<T: Transport, W> {
    rank: Rank,
    leads: bool,
    ends: Ends,
    message: T::Buffer,
    buffer: T::Buffer,
    /// Length of the last message, if it came from the peer with its tag.
    arrived_bytes: Option<usize>,
    way: std::marker::PhantomData<W>,
}

impl<T: Transport, W> Turn<T, W> {
    /// Seeds of what this rank sends, and of what it receives.
    fn seeds(&self, seeds: Seeds) -> [u64; 2] {
        let own = u16::from(!self.leads);
        [seeds.of(own, self.rank), seeds.of(1 - own, self.ends.peer)]
    }
}

impl<T: Transport, W: Way> Operation<T> for Turn<T, W> {
    fn fill(&mut self, seeds: Seeds) {
        let [own, of_peer] = self.seeds(seeds);
        pattern::fill(&mut self.message, own);
        pattern::spoil(&mut self.buffer, of_peer);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { ends, message, buffer, .. } = self;
        let (ends, parts) = (*ends, [&mut **message, &mut **buffer]);
        let status =
            if self.leads { W::begin(t, ends, parts)? } else { W::answer(t, ends, parts)? };
        let is_of_pair = status.tag == ends.received;
        self.arrived_bytes = status.length_from(ends.peer).filter(|_| is_of_pair);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let [_, of_peer] = self.seeds(check.seeds());
        let what = format!("the message from rank {}", self.ends.peer);
        check.arrival(self.arrived_bytes, (&mut self.buffer, of_peer), &what);
    }

    fn close(&mut self, t: &T) -> Result<()> {
        if W::N_BUFFERED > 0 { t.detach_buffer() } else { Ok(()) }
    }
}

/// Facts that all of the kernels share.
const FAMILY: KernelInfo = KernelInfo {
    file: include_str!("pingpong.rs"),
    axes: &[axes::DOUBLING],
    series: &[
        Series::on_test_node("pingpong").moving(|case, _| Some(2 * case.value(&LENGTH_BYTES)))
    ],
    ..SUITE
};

impl<T: Transport, W: Way> Pattern<T> for PingPong<W> {
    const INFO: KernelInfo = KernelInfo {
        name: W::NAME,
        summary: W::SUMMARY,
        aliases: W::ALIASES,
        class: if W::IS_EXCHANGE { Class::Exchange } else { Class::PointToPoint },
        timing: if W::IS_EXCHANGE { Timing::Pipelined } else { Timing::Batched },
        bytes_per_rank: |case, _| {
            case.value(&LENGTH_BYTES).saturating_mul(2 + W::N_BUFFERED as u64)
        },
        has_layouts: true,
        ..FAMILY
    };
    type Part = Turn<T, W>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let (length, tags) = (case.length(&LENGTH_BYTES), [cx.tag(0), cx.tag(1)]);
        // An exchange has one tag for both of its messages.
        let own = usize::from(!side.leads && !W::IS_EXCHANGE);
        let received = if W::IS_EXCHANGE { own } else { 1 - own };
        let ends = Ends { peer: side.peer, sent: tags[own], received: tags[received] };
        if W::N_BUFFERED > 0 {
            cx.transport().attach_buffer(W::N_BUFFERED, length)?;
        }
        let part = Turn {
            rank: cx.rank(),
            leads: side.leads,
            ends,
            message: cx.message(length)?,
            buffer: cx.message(length)?,
            arrived_bytes: None,
            way: std::marker::PhantomData,
        };
        Ok(Some((side.duty(), part)))
    }
}

/// `skampi/pingpong_sendrecv_replace`; see the [module](self).
pub(crate) struct Replaced;

impl<T: Transport> Pattern<T> for Replaced {
    const INFO: KernelInfo = KernelInfo {
        name: "pingpong_sendrecv_replace",
        summary: "Two ranks exchange messages in place, each by one call",
        aliases: &["SKaMPI:9", "SKaMPI:Pingpong_Sendrecv_Replace"],
        class: Class::Exchange,
        timing: Timing::Pipelined,
        ..FAMILY
    };
    type Part = Passing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let part = Passing::new(cx, (side.peer, side.peer), case.length(&LENGTH_BYTES))?;
        Ok(Some((side.duty(), part)))
    }
}
