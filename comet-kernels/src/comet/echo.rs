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
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{Case, HOPS, Kernel, KernelInfo, LENGTH_BYTES, Series};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Tag, Transport};

use crate::axes;
use crate::roles::{Role, check_arrival, seed};

pub(crate) const OUT: Tag = Tag::new(1);
pub(crate) const BACK: Tag = Tag::new(2);

/// Number of the only series.
const ECHO: usize = 0;

/// The kernel `comet/echo`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Echo;

pub(crate) static INFO: KernelInfo = KernelInfo {
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

impl<T: Transport> Kernel<T> for Echo {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let length_bytes = case.length(&LENGTH_BYTES);
        match Role::of(cx.rank(), cx.topology(), case.length(&HOPS)) {
            Some(Role::Alone) => verify_alone(cx, length_bytes),
            Some(Role::Tester(peer)) => verify_tester(cx, peer, length_bytes),
            Some(Role::Partner(peer)) => verify_partner(cx, peer, length_bytes),
            None => Ok(()),
        }
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let role = Role::of(cx.rank(), cx.topology(), case.length(&HOPS));
        let Some(role) = role else { return Ok(()) };
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut reply = cx.message(if role == Role::Alone { message.len() } else { 0 })?;
        match role {
            Role::Alone => cx.time(ECHO, |t| {
                to_itself(t, &message, &mut reply, OUT)?;
                to_itself(t, &reply, &mut message, BACK)?;
                Ok(())
            })?,
            Role::Tester(peer) => cx.time(ECHO, |t| bounce(t, peer, &mut message))?,
            Role::Partner(peer) => cx.follow(ECHO, |t| send_back(t, peer, &mut message))?,
        }
        Ok(())
    }
}

/// The test node's part of one echo in place: what came back is sent next, so that every message
/// is freshly written, as an application's are. (A message that is never rewritten stays in the
/// caches of both ranks, which flatters transports that copy once.)
#[inline]
pub(crate) fn bounce<T: Transport>(t: &T, peer: Rank, message: &mut [u8]) -> Result<()> {
    t.blocked_send(peer, OUT, message)?;
    t.blocked_recv(Source::Rank(peer), BACK, message)?;
    Ok(())
}

/// The test node's part of one echo, with what came back kept apart.
#[inline]
fn round_trip<T: Transport>(
    t: &T,
    peer: Rank,
    message: &[u8],
    buffer: &mut [u8],
) -> Result<Status> {
    t.blocked_send(peer, OUT, message)?;
    t.blocked_recv(Source::Rank(peer), BACK, buffer)
}

/// The partner's part of one echo.
#[inline]
pub(crate) fn send_back<T: Transport>(t: &T, peer: Rank, buffer: &mut [u8]) -> Result<()> {
    t.blocked_recv(Source::Rank(peer), OUT, buffer)?;
    t.blocked_send(peer, BACK, buffer)
}

/// One message of a rank to itself.
#[inline]
fn to_itself<T: Transport>(t: &T, message: &[u8], buffer: &mut [u8], tag: Tag) -> Result<Status> {
    t.blocked_exchange(t.rank(), message, Source::Rank(t.rank()), buffer, tag)
}

/// One echo on the test node, with a check of what came back.
///
/// # Errors
/// [`KernelError::Mismatch`] if it is not what the partner sent.
pub(crate) fn verify_tester<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    length_bytes: usize,
) -> Result<(), KernelError> {
    let (mut message, mut buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
    pattern::fill(&mut message, seed(OUT, cx.rank()));
    let back = seed(BACK, peer);
    pattern::spoil(&mut buffer, back);
    let status = round_trip(cx.transport(), peer, &message, &mut buffer)?;
    let what = format!("the echo from rank {peer}");
    check_arrival(cx, (status, peer), (&mut buffer, back), &what)
}

/// One echo on the partner, with a check of what the test node sent.
///
/// # Errors
/// [`KernelError::Mismatch`] if it is not what the test node sent.
pub(crate) fn verify_partner<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    length_bytes: usize,
) -> Result<(), KernelError> {
    let t = cx.transport();
    let (mut reply, mut buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
    pattern::fill(&mut reply, seed(BACK, cx.rank()));
    let out = seed(OUT, peer);
    pattern::spoil(&mut buffer, out);
    let status = t.blocked_recv(Source::Rank(peer), OUT, &mut buffer)?;
    t.blocked_send(peer, BACK, &reply)?;
    let what = format!("the message from rank {peer}");
    check_arrival(cx, (status, peer), (&mut buffer, out), &what)
}

fn verify_alone<T: Transport>(cx: &Context<'_, T>, length_bytes: usize) -> Result<(), KernelError> {
    let (mut message, mut buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
    for (tag, what) in [(OUT, "the message to itself"), (BACK, "the echo to itself")] {
        let seed = seed(tag, cx.rank());
        pattern::fill(&mut message, seed);
        pattern::spoil(&mut buffer, seed);
        let status = to_itself(cx.transport(), &message, &mut buffer, tag)?;
        check_arrival(cx, (status, cx.rank()), (&mut buffer, seed), what)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::kernel::World;

    #[test]
    fn echo_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Echo);
    }

    #[test]
    fn echo_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Echo);
    }

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
