//! Broadcast: time of one message from the test node to all ranks, with a closing barrier.
//!
//! **Source**: thesis section 3.3.3, figure 3.4.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  ==broadcast==>  ranks 1, 2 ... P-1
//!   all                 --barrier--
//! ```
//! **Timed** (rank 0): broadcast and barrier. Buffers and test data are made before.
//!
//! **Reports**: time of broadcast and barrier, t2 - t1 on rank 0.
//!
//! **Rate**: `length_bytes` / time, of the copy of each rank.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: contents on every rank, over a buffer that was spoiled before.
//!
//! **Caution**: the time contains one barrier; `comet/barrier` measures it alone.
//! The suite `naive` replaces the broadcast only; the barrier is the transport's own in both.

use comet_core::collective::{self, Kind};
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use crate::{axes, rates};

/// `comet/broadcast` and `naive/broadcast`; see the [module](self).
pub(crate) struct Broadcast<const NAIVE: bool>;

/// One rank's copy of the message.
pub(crate) struct Copy<const NAIVE: bool, B> {
    rank: Rank,
    root: Rank,
    message: B,
}

/// One broadcast of `message`.
#[inline]
fn broadcast<const NAIVE: bool, T: Transport>(t: &T, root: Rank, message: &mut [u8]) -> Result<()> {
    if NAIVE { collective::broadcast(t, root, message) } else { t.blocked_broadcast(root, message) }
}

impl<const NAIVE: bool, T: Transport> Operation<T> for Copy<NAIVE, T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let seed = seeds.of(0, self.root);
        if self.rank == self.root {
            pattern::fill(&mut self.message, seed);
        } else {
            pattern::spoil(&mut self.message, seed);
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        broadcast::<NAIVE, T>(t, self.root, &mut self.message)
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        let Self { rank, root, message } = self;
        if rank == root {
            return broadcast::<NAIVE, T>(t, *root, packing.outgoing(t, message)?);
        }
        broadcast::<NAIVE, T>(t, *root, packing.incoming(message))?;
        packing.unpack(t, message)
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(0, self.root);
        match self.rank == self.root {
            true => check.whole(&mut self.message, seed, "the broadcast"),
            false => check.message(&mut self.message, seed, "the broadcast"),
        }
    }
}

impl<const NAIVE: bool, T: Transport> Pattern<T> for Broadcast<NAIVE> {
    const INFO: KernelInfo = KernelInfo {
        name: "broadcast",
        file: include_str!("broadcast.rs"),
        summary: if NAIVE {
            "Broadcast along a tree of point-to-point messages"
        } else {
            "Broadcast from the test node, closed by a barrier"
        },
        axes: &[axes::MESSAGE_LENGTHS],
        series: &[Series::of("broadcast", Quantity::OpTime, Definition::ClosedByBarrier)
            .moving(|case, _| Some(case.value(&LENGTH_BYTES)))
            .rated(rates::of_collective(Kind::Broadcast))],
        timing: Timing::Batched,
        admits: |case, world| {
            world.require_ranks(2)?;
            // Ranks of a tree send what they have received.
            if NAIVE { world.require_one_layout(case) } else { Ok(()) }
        },
        has_layouts: true,
        is_packed: true,
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES),
        messages_per_op: |_, world| world.n_ranks.saturating_sub(1) as u64,
        baseline_for: if NAIVE { Some("comet/broadcast") } else { None },
        ..KernelInfo::collective(if NAIVE { "naive" } else { "comet" })
    };
    type Part = Copy<NAIVE, T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let message = cx.message(case.length(&LENGTH_BYTES))?;
        Ok(Some((Duty::Together, Copy { rank: cx.rank(), root: cx.root(), message })))
    }
}
