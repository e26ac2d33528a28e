//! Exchange: two ranks send to each other at the same time, as at the boundary of two domains.
//!
//! **Source**: thesis section 3.3.2, figure 3.3.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  ──EXCHANGE──►  partner, `hops` links away
//!                       ◄──EXCHANGE──
//!   both by one blocked exchange
//! ```
//! **Timed** (rank 0): one blocked exchange. Buffers and test data are made before.
//!
//! **Reports**: time of one exchange, t2 - t1, and the bandwidth of both directions together,
//! 2 x `length_bytes` / time.
//!
//! **Parameters**: `hops` from 1, `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: in the thesis both ranks send and then receive, which assumes buffered sends. A
//! blocked exchange is just that where sends are buffered (shared memory); where a blocked send may
//! wait for its receive, it is the transport's exchange that cannot deadlock (`MPI_Sendrecv`).
//! Neither is IMB's Sendrecv, a ring of all ranks, nor its PingPing, an unblocked send around a
//! blocked receive.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{
    Case, Class, HOPS, Kernel, KernelInfo, LENGTH_BYTES, Series, Timing, World,
};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Tag, Transport};

use crate::axes;
use crate::roles::{TEST_NODE, check_arrival, peer, seed};

const EXCHANGE: Tag = Tag::new(3);

/// The kernel `comet/exchange`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Exchange;

static INFO: KernelInfo = KernelInfo {
    name: "exchange",
    summary: "Pairwise exchange: two ranks send to each other at the same time",
    source: "thesis section 3.3.2, figure 3.3",
    class: Class::Exchange,
    axes: &[axes::HOPS_FROM_1, axes::MESSAGE_LENGTHS],
    series: &[Series {
        bytes_per_op: |case, _| Some(2 * case.value(&LENGTH_BYTES)),
        ..Series::of("exchange", Quantity::OpTime, Definition::TestNode)
    }],
    timing: Timing::Pipelined,
    admits,
    ..KernelInfo::pair("comet")
};

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    match case.length(&HOPS) {
        0 => Err("an exchange at 0 hops has no partner (use 1 hop or more)".into()),
        hops => world.require_hops(hops),
    }
}

impl<T: Transport> Kernel<T> for Exchange {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let peer = peer(cx.rank(), cx.topology(), case.length(&HOPS));
        let Some(peer) = peer else { return Ok(()) };
        let length_bytes = case.length(&LENGTH_BYTES);
        verify_exchange(cx, peer, length_bytes, |t, message, buffer| {
            blocked(t, peer, message, buffer)
        })
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let peer = peer(cx.rank(), cx.topology(), case.length(&HOPS));
        let Some(peer) = peer else { return Ok(()) };
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut buffer = cx.message(message.len())?;
        cx.time_on(TEST_NODE, 0, |t| {
            blocked(t, peer, &message, &mut buffer)?;
            // What came is sent next, so that every message is freshly written.
            std::mem::swap(&mut message, &mut buffer);
            Ok(())
        })?;
        Ok(())
    }
}

/// One exchange by blocked calls, the same on both ranks.
#[inline]
pub(crate) fn blocked<T: Transport>(
    t: &T,
    peer: Rank,
    message: &[u8],
    buffer: &mut [u8],
) -> Result<Status> {
    t.blocked_exchange(peer, message, Source::Rank(peer), buffer, EXCHANGE)
}

/// One exchange by unblocked calls around `work`: send and receive are posted before it, and
/// waited for after it.
#[inline]
pub(crate) fn unblocked<T: Transport>(
    t: &T,
    peer: Rank,
    message: &[u8],
    buffer: &mut [u8],
    work: impl FnOnce(),
) -> Result<Status> {
    t.scope(|s| {
        let send = s.unblocked_send(peer, EXCHANGE, message)?;
        let receive = s.unblocked_recv(Source::Rank(peer), EXCHANGE, buffer)?;
        work();
        send.wait()?;
        Ok(receive.wait()?.0)
    })
}

/// Runs one exchange `op(t, message, buffer)` with test data, and checks what arrived from `peer`.
///
/// # Errors
/// [`KernelError::Mismatch`] if it is not what the peer sent.
pub(crate) fn verify_exchange<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    length_bytes: usize,
    op: impl FnOnce(&T, &[u8], &mut [u8]) -> Result<Status>,
) -> Result<(), KernelError> {
    let (mut message, mut buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
    pattern::fill(&mut message, seed(EXCHANGE, cx.rank()));
    let from_peer = seed(EXCHANGE, peer);
    pattern::spoil(&mut buffer, from_peer);
    let status = op(cx.transport(), &message, &mut buffer)?;
    let what = format!("the message from rank {peer}");
    check_arrival(cx, (status, peer), (&mut buffer, from_peer), &what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::topology::Topology;

    #[test]
    fn exchange_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Exchange);
    }

    #[test]
    fn exchange_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Exchange);
    }

    #[test]
    fn an_exchange_needs_a_partner() {
        let check = |n_ranks, hops, expected: &str| {
            let case = Case::new(&INFO, &[hops, 8]);
            assert_eq!(
                admits(&case, &World::of(&Topology::hypercube(n_ranks))).unwrap_err(),
                expected
            );
        };
        check(1, 1, "needs at least 2 ranks, there is 1");
        check(2, 0, "an exchange at 0 hops has no partner (use 1 hop or more)");
        check(2, 2, "no rank is 2 hops from rank 0: 2 ranks reach 1 hop");
    }
}
