//! Bandwidth: windows of messages in one direction, each answered when all of it has arrived.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bw`.
//!
//! **Pattern**, W = 64
//! ```text
//!   rank 0  ──OUT──► ──OUT──► … ──OUT──►  rank 1, one hop away: W unblocked sends and receives
//!           ◄─────────── BACK ───────────  four bytes, when all W have arrived
//! ```
//! **Timed** (rank 0): W unblocked sends, the wait for all of them, and the blocked receive of the
//! answer. Buffers are made before.
//!
//! **Reports**: time of one window, and the bandwidth W x `length_bytes` / time. A message takes
//! time / W.
//!
//! **Parameters**: `length_bytes` of one message; W is in the name of the series.
//!
//! **Verified by**: other test data in each message of a window; contents, source and length of all
//! of them and of the answer.
//!
//! **Caution**: all sends of a window are of one buffer, and each receive has a buffer of its own,
//! because no two of them may lend the same memory; in OSU they share one too, unless it is told
//! `-b multiple`. The receiver so needs W times the memory of a message.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{AxisUse, Case, Kernel, KernelInfo, LENGTH_BYTES, Series};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Tag, Transport};

use crate::roles::{Role, check_arrival, seed};

const OUT: Tag = Tag::new(15);
const BACK: Tag = Tag::new(16);

/// Distance of the receiver.
const HOPS: usize = 1;
/// Messages of a window; that of OSU.
const WINDOW: usize = 64;
/// Length of the answer in bytes.
const ANSWER_BYTES: usize = 4;

/// The kernel `osu/bw`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Bw;

static INFO: KernelInfo = KernelInfo {
    name: "bw",
    summary: "Windows of 64 messages in one direction, each with a short answer",
    source: "OSU micro-benchmarks 7.4, osu_bw",
    aliases: &["OSU:osu_bw"],
    axes: &[AxisUse {
        axis: &LENGTH_BYTES,
        sweeps: ["1,1Ki,64Ki", "1..4Mi*4", "1..4Mi*2,100,101,192,384,768,1536,3Ki"],
    }],
    series: &[Series {
        bytes_per_op: |case, _| Some(WINDOW as u64 * case.value(&LENGTH_BYTES)),
        ..Series::of("window_64", Quantity::OpTime, Definition::TestNode)
    }],
    window: WINDOW as u32,
    bytes_per_rank: |case, _| WINDOW as u64 * case.value(&LENGTH_BYTES),
    ..KernelInfo::pair("osu")
};

impl<T: Transport> Kernel<T> for Bw {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> std::result::Result<(), KernelError> {
        let length_bytes = case.length(&LENGTH_BYTES);
        match Role::of(cx.rank(), cx.topology(), HOPS) {
            Some(Role::Tester(peer)) => verify_sender(cx, peer, length_bytes),
            Some(Role::Partner(peer)) => verify_receiver(cx, peer, length_bytes),
            Some(Role::Alone) | None => Ok(()),
        }
    }

    fn measure(
        &self,
        cx: &mut Context<'_, T>,
        case: &Case,
    ) -> std::result::Result<(), KernelError> {
        let length_bytes = case.length(&LENGTH_BYTES);
        let mut answer = [0; ANSWER_BYTES];
        match Role::of(cx.rank(), cx.topology(), HOPS) {
            Some(Role::Tester(peer)) => {
                let message = cx.message(length_bytes)?;
                cx.time(0, |t| {
                    send_window(t, peer, [&message; WINDOW])?;
                    t.blocked_recv(Source::Rank(peer), BACK, &mut answer)?;
                    Ok(())
                })?;
            }
            Some(Role::Partner(peer)) => {
                let mut buffer = cx.message(WINDOW * length_bytes)?;
                cx.follow(0, |t| {
                    receive_window(t, peer, length_bytes, &mut buffer)?;
                    t.blocked_send(peer, BACK, &answer)
                })?;
            }
            Some(Role::Alone) | None => (),
        }
        Ok(())
    }
}

/// Sends all `messages` at once, and waits until they may be changed again.
#[inline]
fn send_window<T: Transport>(t: &T, peer: Rank, messages: [&[u8]; WINDOW]) -> Result<()> {
    t.scope(|s| {
        let mut sends = [const { None }; WINDOW];
        for (send, message) in sends.iter_mut().zip(messages) {
            *send = Some(s.unblocked_send(peer, OUT, message)?);
        }
        sends.into_iter().flatten().try_for_each(|send| send.wait())
    })
}

/// Receives a window into `buffer`, one message of `length_bytes` after the other.
#[inline]
fn receive_window<T: Transport>(
    t: &T,
    peer: Rank,
    length_bytes: usize,
    buffer: &mut [u8],
) -> Result<[Option<Status>; WINDOW]> {
    let mut rest = buffer;
    t.scope(|s| {
        let mut receives = [const { None }; WINDOW];
        for receive in &mut receives {
            let (slot, after) = std::mem::take(&mut rest).split_at_mut(length_bytes);
            rest = after;
            *receive = Some(s.unblocked_recv(Source::Rank(peer), OUT, slot)?);
        }
        let mut statuses = [None; WINDOW];
        for (status, receive) in statuses.iter_mut().zip(receives.into_iter().flatten()) {
            *status = Some(receive.wait()?.0);
        }
        Ok(statuses)
    })
}

/// The sender's part of one window, with a check of the answer.
fn verify_sender<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    length_bytes: usize,
) -> std::result::Result<(), KernelError> {
    let t = cx.transport();
    let mut buffer = cx.message(WINDOW * length_bytes)?;
    for number in 0..WINDOW {
        pattern::fill(slot(&mut buffer, number, length_bytes), numbered_seed(t.rank(), number));
    }
    let messages = std::array::from_fn(|number| {
        let start = number * length_bytes;
        &buffer[start..start + length_bytes]
    });
    send_window(t, peer, messages)?;
    let from_peer = seed(BACK, peer);
    let mut answer = [0; ANSWER_BYTES];
    pattern::spoil(&mut answer, from_peer);
    let status = t.blocked_recv(Source::Rank(peer), BACK, &mut answer)?;
    let what = format!("the answer of rank {peer}");
    check_arrival(cx, (status, peer), (&mut answer, from_peer), &what)
}

/// The receiver's part of one window; the answer is sent before a mismatch is reported.
fn verify_receiver<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    length_bytes: usize,
) -> std::result::Result<(), KernelError> {
    let t = cx.transport();
    let mut buffer = cx.message(WINDOW * length_bytes)?;
    for number in 0..WINDOW {
        pattern::spoil(slot(&mut buffer, number, length_bytes), numbered_seed(peer, number));
    }
    let statuses = receive_window(t, peer, length_bytes, &mut buffer)?;
    let mut answer = [0; ANSWER_BYTES];
    pattern::fill(&mut answer, seed(BACK, t.rank()));
    t.blocked_send(peer, BACK, &answer)?;
    for (number, status) in statuses.into_iter().flatten().enumerate() {
        let what = format!("message {number} of {WINDOW} from rank {peer}");
        let arrived = slot(&mut buffer, number, length_bytes);
        check_arrival(cx, (status, peer), (arrived, numbered_seed(peer, number)), &what)?;
    }
    Ok(())
}

/// Place of message `number` of a window.
fn slot(buffer: &mut [u8], number: usize, length_bytes: usize) -> &mut [u8] {
    &mut buffer[number * length_bytes..][..length_bytes]
}

/// Seed of the test data of one message of a window, above the bits that tag and rank take.
fn numbered_seed(sender: Rank, number: usize) -> u64 {
    seed(OUT, sender) | (number as u64) << 48
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::kernel::World;
    use comet_core::topology::Topology;

    #[test]
    fn bw_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Bw);
    }

    #[test]
    fn bw_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Bw);
    }

    #[test]
    fn a_window_of_empty_messages_arrives() {
        let found = comet_core::local::run(2, |t| match t.rank() {
            0 => send_window(t, 1, [&[]; WINDOW]).map(|()| WINDOW),
            _ => receive_window(t, 0, 0, &mut []).map(|all| all.iter().flatten().count()),
        });
        assert!(found.into_iter().all(|n| n.unwrap() == WINDOW));
    }

    #[test]
    fn a_sender_needs_a_receiver() {
        let refusal = (INFO.admits)(&Case::new(&INFO, &[8]), &World::of(&Topology::hypercube(1)))
            .unwrap_err();
        assert_eq!(refusal, "needs at least 2 ranks, there is 1");
    }

    #[test]
    fn the_bandwidth_is_that_of_the_whole_window() {
        let bytes = (INFO.series[0].bytes_per_op)(
            &Case::new(&INFO, &[1000]),
            &World::of(&Topology::hypercube(2)),
        );
        assert_eq!(bytes, Some(64_000));
    }
}
