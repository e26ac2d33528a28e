//! Pairs: what several pairs of ranks at once leave to each other of what a node, a memory or a
//! network can move; what the max-rate model needs.
//!
//! **Source**: Gropp, Olson and Samfass, "Modeling MPI Communication Performance on SMP Nodes: Is
//! it Time to Retire the Ping Pong Test" (2016).
//!
//! **Pattern**, h = half of the ranks, k = `pairs`
//! ```text
//!   rank 0    ──OUT──►  rank h            all k pairs at the same time; with ranks placed one
//!             ◄──BACK─                    node after the other, between the halves of the machine
//!   rank 1    ──OUT──►  rank h+1
//!             ◄──BACK─
//!   …
//!   rank k-1  ──OUT──►  rank h+k-1
//!             ◄──BACK─                    the other ranks start with them, and do nothing
//! ```
//! **Timed** (the 2 k ranks of the pairs): one echo of each pair, as in `comet/echo`. A barrier
//! before it is not timed.
//!
//! **Reports**: time from the first start to the last finish over the ranks of all pairs, a round
//! trip, and the bandwidth 2 k `length_bytes` / time. One way takes half of that time.
//!
//! **Parameters**: `pairs` from 1 to half of the ranks, `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents, source and length on both sides of each
//! pair.
//!
//! **Caution**: the pairs start together only as well as a barrier or a window has them do, so that
//! short messages may not meet at all. Where ranks share cores, pairs wait for cores, too.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{
    Axis, AxisUse, Case, Kernel, KernelInfo, LENGTH_BYTES, Participants, Series, Timing, World,
};
use comet_core::transport::{Rank, Transport};

use crate::comet::echo::{bounce, send_back, verify_partner, verify_tester};
use crate::roles::Role;

/// Number of pairs that communicate at the same time; `max` in its sweeps is half of the ranks.
pub static PAIRS: Axis = Axis::count(
    "pairs",
    "pairs of ranks at once",
    "number of pairs that communicate at the same time",
)
.up_to(|topology| topology.n_ranks() as u64 / 2);

/// The kernel `model/pairs`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Pairs;

static INFO: KernelInfo = KernelInfo {
    name: "pairs",
    participants: Participants::Group,
    summary: "Echoes of several pairs of ranks at the same time",
    source: "Gropp et al. 2016, Modeling MPI Communication Performance on SMP Nodes",
    axes: &[
        AxisUse::of(&PAIRS, "1..max*2"),
        AxisUse {
            axis: &LENGTH_BYTES,
            sweeps: [
                "8,4Ki,64Ki",
                "0,8,64,512,4Ki,16Ki,64Ki,256Ki,1Mi",
                "0,1..4Mi*2,100,101,192,384,768,1536,3Ki",
            ],
        },
    ],
    series: &[Series {
        bytes_per_op: |case, _| Some(2 * case.value(&PAIRS) * case.value(&LENGTH_BYTES)),
        ..Series::of("pairs", Quantity::OpTime, Definition::Completion)
    }],
    timing: Timing::Single,
    admits,
    ..KernelInfo::pair("model")
};

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    match case.length(&PAIRS) {
        0 => Err("0 pairs send no messages (use 1 pair or more)".into()),
        n_pairs => world.require_ranks(n_pairs.saturating_mul(2)),
    }
}

impl<T: Transport> Kernel<T> for Pairs {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let length_bytes = case.length(&LENGTH_BYTES);
        match role(cx.rank(), cx.topology().n_ranks(), case.length(&PAIRS)) {
            Some(Role::Tester(peer)) => verify_tester(cx, peer, length_bytes),
            Some(Role::Partner(peer)) => verify_partner(cx, peer, length_bytes),
            Some(Role::Alone) | None => Ok(()),
        }
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        match role(cx.rank(), cx.topology().n_ranks(), case.length(&PAIRS)) {
            Some(Role::Tester(peer)) => cx.time(0, |t| bounce(t, peer, &mut message))?,
            Some(Role::Partner(peer)) => cx.time(0, |t| send_back(t, peer, &mut message))?,
            // A common start is one of all ranks.
            Some(Role::Alone) | None => cx.follow(0, |_| Ok(()))?,
        }
        Ok(())
    }
}

/// The role of `rank` where `n_pairs` of `n_ranks` communicate: each rank of the first half with
/// the one that is half of the ranks further; `None` for the other ranks.
fn role(rank: Rank, n_ranks: usize, n_pairs: usize) -> Option<Role> {
    let half = n_ranks / 2;
    if rank < n_pairs {
        return Some(Role::Tester(rank + half));
    }
    (half..half + n_pairs).contains(&rank).then(|| Role::Partner(rank - half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::topology::Topology;

    #[test]
    fn pairs_verify_and_are_sampled_on_their_ranks() {
        harness::check_kernel(&Pairs);
    }

    #[test]
    fn pairs_notice_a_corrupting_transport() {
        harness::check_corrupt_transport(&Pairs);
    }

    #[test]
    fn pairs_are_between_the_halves_and_leave_the_others_idle() {
        let check = |n_ranks: usize, n_pairs, expected: &[Option<Role>]| {
            let roles: Vec<_> = (0..n_ranks).map(|rank| role(rank, n_ranks, n_pairs)).collect();
            assert_eq!(roles, expected, "{n_pairs} pairs of {n_ranks}");
        };
        let (tester, partner) = (|peer| Some(Role::Tester(peer)), |peer| Some(Role::Partner(peer)));
        check(4, 1, &[tester(2), None, partner(0), None]);
        check(4, 2, &[tester(2), tester(3), partner(0), partner(1)]);
        check(5, 2, &[tester(2), tester(3), partner(0), partner(1), None]);
    }

    #[test]
    fn more_pairs_than_ranks_for_them_are_refused() {
        let check = |n_ranks, n_pairs, expected: Result<(), &str>| {
            let found =
                admits(&Case::new(&INFO, &[n_pairs, 8]), &World::of(&Topology::hypercube(n_ranks)));
            assert_eq!(found, expected.map_err(str::to_owned));
        };
        check(5, 2, Ok(()));
        check(5, 3, Err("needs at least 6 ranks, there are 5"));
        check(1, 1, Err("needs at least 2 ranks, there is 1"));
        check(4, 0, Err("0 pairs send no messages (use 1 pair or more)"));
    }
}
