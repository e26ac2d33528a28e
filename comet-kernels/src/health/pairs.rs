//! All pairs: time of an echo between each two ranks, in as few rounds of disjoint pairs as possible.
//!
//! **Source**: all pairs as in the node checks of clusters (clusterkit, mpiGraph), in the rounds of a
//! tournament.
//!
//! **Pattern**, here round 1 of 4 ranks
//! ```text
//!   rank 0  --OUT-->  rank 1        all pairs of the round at once; the lower rank begins,
//!           <--BACK-                and of an odd number of ranks one has no part in a round
//!   rank 2  --OUT-->  rank 3
//!           <--BACK-
//! ```
//! **Timed** (both ranks of each pair): a loop of echoes, as in `comet/echo`. Buffers are made
//! before. The pairs of a round begin after one barrier, and do not wait for each other in between.
//!
//! **Reports**: round trip on the slowest rank. The record holds the time of every rank (`ranks_ns`),
//! and so of every pair.
//!
//! **Rate**: 2 x `length_bytes` / time, of the slowest pair.
//!
//! **Parameters**: `round` from 1 to their number, `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents, source and length on both sides of each
//! pair.
//!
//! **Caution**: pairs of a round may share links, and slow each other down; that is a matter of
//! routes and not of health. A pair that is done leaves the network to the others.

use comet_core::kernel::prelude::*;
use comet_core::rounds;

use crate::pattern::Bounce;

/// Number of the round; `max` in its sweeps is the last one of the ranks.
pub static ROUND: Axis =
    Axis::count("round", "round", "number of the round, in each of which a rank meets another one")
        .of_kind(AxisKind::Round)
        .up_to(|topology| rounds::count(topology.n_ranks()) as u64);

/// `health/pairs`; see the [module](self).
pub(crate) struct AllPairs;

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    let (round, n_rounds) = (case.length(&ROUND), rounds::count(world.n_ranks));
    if (1..=n_rounds).contains(&round) {
        return Ok(());
    }
    let n_ranks = world.n_ranks;
    Err(format!("{n_ranks} ranks have no round {round} (use 1 to {n_rounds})"))
}

impl<T: Transport> Pattern<T> for AllPairs {
    const INFO: KernelInfo = KernelInfo {
        name: "pairs",
        file: include_str!("pairs.rs"),
        participants: Participants::All,
        summary: "Echoes between all pairs of ranks, in rounds of disjoint pairs",
        aliases: &["mpiGraph"],
        axes: &[AxisUse::of(&ROUND, "1..max"), AxisUse::of(&LENGTH_BYTES, "8,1Mi")],
        series: &[Series::of("pairs", Quantity::OpTime, Definition::LoopMean)
            .moving(|case, _| Some(2 * case.value(&LENGTH_BYTES)))],
        admits,
        is_touchable: true,
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("health")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let pairing = Pairing::Round(case.length(&ROUND));
        let role = Bounce::part(cx, pairing, case.length(&LENGTH_BYTES))?;
        Ok(role.map(|(_, part)| (Duty::Times, part)))
    }
}
