//! Broadcast: the test node sends one message to all ranks, and a barrier says that all have it.
//!
//! **Source**: thesis section 3.3.3, figure 3.4.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  ══broadcast══►  ranks 1, 2 … P-1
//!   all                 ──barrier──
//! ```
//! **Timed** (rank 0): broadcast and barrier. Buffers and test data are made before.
//!
//! **Reports**: time of broadcast and barrier, t2 - t1 on rank 0, and the bandwidth
//! `length_bytes` / time, at which each rank gets its copy.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: contents on every rank, over a buffer that was spoiled before.
//!
//! **Caution**: the time contains one barrier; `comet/barrier` tells how much that is.
//! The suite `naive` replaces the broadcast alone; the barrier is the transport's own in both.

use std::marker::PhantomData;

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{Case, Kernel, KernelInfo, LENGTH_BYTES, Series, Timing};
use comet_core::pattern;
use comet_core::transport::Transport;

use crate::algorithm::Algorithm;
use crate::axes;
use crate::roles::TEST_NODE;

/// Seed of the test data; the test node is the only one that sends.
const SEED: u64 = 4;

/// The kernels `comet/broadcast` and `naive/broadcast`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Broadcast<A>(PhantomData<A>);

impl<A: Algorithm> Broadcast<A> {
    /// The kernel.
    pub const NEW: Self = Self(PhantomData);

    const INFO: KernelInfo = KernelInfo {
        name: "broadcast",
        summary: A::BROADCAST_SUMMARY,
        source: "thesis section 3.3.3, figure 3.4",
        aliases: &["IMB:Bcast", "OSU:osu_bcast"],
        axes: &[axes::MESSAGE_LENGTHS],
        series: &[Series {
            bytes_per_op: |case, _| Some(case.value(&LENGTH_BYTES)),
            ..Series::of("broadcast", Quantity::OpTime, Definition::ClosedByBarrier)
        }],
        timing: Timing::Batched,
        admits: |_, world| world.require_ranks(2),
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES),
        ..KernelInfo::collective(A::SUITE)
    };
}

impl<A: Algorithm, T: Transport> Kernel<T> for Broadcast<A> {
    fn info(&self) -> &'static KernelInfo {
        const { &Self::INFO }
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        if cx.rank() == TEST_NODE {
            pattern::fill(&mut message, SEED);
        } else {
            pattern::spoil(&mut message, SEED);
        }
        A::broadcast(cx.transport(), TEST_NODE, &mut message)?;
        cx.check_message(&mut message, SEED, "the broadcast")
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        cx.time_collective(0, |t| A::broadcast(t, TEST_NODE, &mut message))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Native, PointToPoint};
    use crate::harness;

    #[test]
    fn broadcast_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Broadcast::<Native>::NEW);
        harness::check_kernel(&Broadcast::<PointToPoint>::NEW);
    }
}
