//! Pairs: time of echoes of several pairs of ranks at once, which share a node, a memory or a network;
//! the parameters of the max-rate model.
//!
//! **Source**: Gropp, Olson and Samfass, "Modeling MPI Communication Performance on SMP Nodes: Is
//! it Time to Retire the Ping Pong Test" (2016).
//!
//! **Pattern**, h = half of the ranks, k = `pairs`
//! ```text
//!   rank 0    --OUT-->  rank h            all k pairs at once; with ranks placed one node after
//!             <--BACK-                    the other, between the halves of the machine
//!   rank 1    --OUT-->  rank h+1
//!             <--BACK-
//!   ...
//!   rank k-1  --OUT-->  rank h+k-1
//!             <--BACK-                    the other ranks start with them, and are idle
//! ```
//! **Timed** (the 2 k ranks of the pairs): one echo of each pair, as in `comet/echo`. A barrier
//! before it is not timed.
//!
//! **Reports**: time from the first start to the last finish over the ranks of all pairs, a round
//! trip. One way takes half of that time.
//!
//! **Rate**: 2 x `pairs` x `length_bytes` / time, of all pairs together.
//!
//! **Parameters**: `pairs` from 1 to half of the ranks, `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents, source and length on both sides of each
//! pair.
//!
//! **Caution**: the pairs start only as close together as a barrier or a window lets them, so that
//! short messages may not meet at all. Where ranks share cores, pairs wait for cores, too.

use comet_core::kernel::prelude::*;

use crate::pattern::Bounce;

/// Number of pairs that communicate at the same time; `max` in its sweeps is half of the ranks.
pub static PAIRS: Axis = Axis::count(
    "pairs",
    "pairs of ranks at once",
    "number of pairs that communicate at the same time",
)
.of_kind(AxisKind::Pairs)
.up_to(|topology| topology.n_ranks() as u64 / 2);

/// `model/pairs`; see the [module](self).
pub(crate) struct Pairs;

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    match case.length(&PAIRS) {
        0 => Err("0 pairs send no messages (use 1 pair or more)".into()),
        n_pairs => world.require_ranks(n_pairs.saturating_mul(2)),
    }
}

impl<T: Transport> Pattern<T> for Pairs {
    const INFO: KernelInfo = KernelInfo {
        name: "pairs",
        file: include_str!("pairs.rs"),
        participants: Participants::Group,
        summary: "Echoes of several pairs of ranks at the same time",
        aliases: &["SKaMPI:Par_Pingpong_Send_Recv"],
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
        series: &[Series::completion("pairs")
            .moving(|case, _| Some(2 * case.value(&PAIRS) * case.value(&LENGTH_BYTES)))],
        timing: Timing::Single,
        admits,
        is_touchable: true,
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("model")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let pairing = Pairing::Halves(case.length(&PAIRS));
        let role = Bounce::part(cx, pairing, case.length(&LENGTH_BYTES))?;
        Ok(role.map(|(_, part)| (Duty::Times, part)))
    }
}
