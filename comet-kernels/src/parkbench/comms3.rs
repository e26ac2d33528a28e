//! COMMS3: the bandwidth of the whole system when it is saturated, every rank sending to every
//! other.
//!
//! **Source**: PARKBENCH, low-level benchmark COMMS3.
//!
//! **Pattern**, the same on all P ranks
//! ```text
//!   rank r  ──► r+1, r+2, … r-1        posts its P-1 sends
//!           ◄── r-1, r-2, … r+1        receives its P-1 messages
//!           waits for its sends
//! ```
//! **Timed** (all ranks): one such round, which ends when all have received all. A barrier before
//! it is not timed.
//!
//! **Reports**: time from the first start to the last finish over all ranks, in which P (P-1)
//! messages were sent, and the bandwidth P (P-1) `length_bytes` / time. Fitted over these bytes, r∞
//! is the total saturation bandwidth, which is to be read as a function of P.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data of each rank; contents, source and length of every message on
//! every rank.
//!
//! **Caution**: the P-1 messages of a rank are one and the same, which its cache holds after the
//! first. All go in the same order of distance, so that no rank is the target of all at once.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{AxisUse, Case, Kernel, KernelInfo, LENGTH_BYTES, Series};
use comet_core::pattern;
use comet_core::transport::{Rank, Requests, Scope, Source, Tag, Transport};

use crate::roles::{check_arrival, seed};

const ALL: Tag = Tag::new(14);

const LENGTHS: AxisUse = AxisUse {
    axis: &LENGTH_BYTES,
    sweeps: [
        "0,100,1Ki,16Ki",
        "0,8,64,256,1Ki,2Ki,4Ki,8Ki,16Ki,64Ki,256Ki,1Mi",
        "0,1..1Mi*2,100,101,192,384,768,1536..768Ki*2",
    ],
};

/// The kernel `parkbench/comms3`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Comms3;

static INFO: KernelInfo = KernelInfo {
    name: "comms3",
    summary: "Saturation: every rank sends a message to every other",
    source: "PARKBENCH low-level benchmarks, COMMS3",
    aliases: &["PARKBENCH:COMMS3"],
    axes: &[LENGTHS],
    series: &[Series {
        bytes_per_op: |case, world| {
            let n_ranks = world.n_ranks as u64;
            Some(n_ranks * n_ranks.saturating_sub(1) * case.value(&LENGTH_BYTES))
        },
        ..Series::of("comms3", Quantity::OpTime, Definition::Completion)
    }],
    admits: |_, world| world.require_ranks(2),
    bytes_per_rank: |case, _| 2 * case.value(&LENGTH_BYTES),
    ..KernelInfo::collective("parkbench")
};

impl<T: Transport> Kernel<T> for Comms3 {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let t = cx.transport();
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut buffer = cx.message(message.len())?;
        pattern::fill(&mut message, seed(ALL, t.rank()));
        let mut found = Ok(());
        t.scope(|s| {
            let mut sends = s.requests();
            round(s, t, (&message, &mut sends), |source| {
                let of_source = seed(ALL, source);
                pattern::spoil(&mut buffer, of_source);
                let status = t.blocked_recv(Source::Rank(source), ALL, &mut buffer)?;
                let what = format!("the message from rank {source}");
                let arrived = check_arrival(cx, (status, source), (&mut buffer, of_source), &what);
                // All messages are received before the first mismatch is reported.
                found = std::mem::replace(&mut found, Ok(())).and(arrived);
                Ok(())
            })
        })?;
        found
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let t = cx.transport();
        let message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut buffer = cx.message(message.len())?;
        // One scope around all rounds, so that the list of sends is not made while time runs.
        t.scope(|s| {
            let mut sends = s.requests();
            cx.time_collective(0, |t| {
                round(s, t, (&message, &mut sends), |source| {
                    t.blocked_recv(Source::Rank(source), ALL, &mut buffer)?;
                    Ok(())
                })
            })
        })?;
        Ok(())
    }
}

/// This rank's part of one round: sends `message` to all others, has `receive` take the message of
/// each, and waits for its `sends`.
#[inline]
fn round<'scope, 'env, T: Transport>(
    s: &'scope Scope<'scope, 'env, T>,
    t: &T,
    (message, sends): (&'scope [u8], &mut Requests<'scope, 'env, T, T::SendOp<'scope>>),
    mut receive: impl FnMut(Rank) -> Result<()>,
) -> Result<()> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    for distance in 1..n_ranks {
        sends.push(s.unblocked_send((rank + distance) % n_ranks, ALL, message)?);
    }
    for distance in 1..n_ranks {
        receive((rank + n_ranks - distance) % n_ranks)?;
    }
    sends.wait_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::kernel::World;
    use comet_core::topology::Topology;

    #[test]
    fn comms3_verifies_and_is_sampled_on_all_ranks() {
        harness::check_kernel(&Comms3);
    }

    #[test]
    fn comms3_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Comms3);
    }

    #[test]
    fn a_round_moves_a_message_between_any_two_ranks() {
        let check = |n_ranks, expected| {
            let (case, topology) = (Case::new(&INFO, &[100]), Topology::hypercube(n_ranks));
            let bytes = (INFO.series[0].bytes_per_op)(&case, &World::of(&topology));
            assert_eq!(bytes, Some(expected));
        };
        check(2, 200);
        check(4, 1200);
        check(5, 2000);
    }
}
