//! Barrier of threads: time of a synchronisation of all threads of all ranks.
//!
//! **Source**: IMB 2021, IMB-MT, `BarrierMT`.
//!
//! **Pattern**
//! ```text
//!   threads of each rank   meet -- barrier of the ranks, in each thread -- meet -- barrier ...
//! ```
//! **Timed** (all threads of all ranks): the threads of a rank wait for each other, then each calls
//! a barrier of the ranks on its own lane; again and again in a loop.
//!
//! **Reports**: mean time of both in a loop, on the slowest thread of any rank. IMB-MT prints the
//! least, the largest and the mean over all threads of all ranks.
//!
//! **Rate**: none.
//!
//! **Parameters**: `threads` of each rank.
//!
//! **Verified by**: in each round another rank is late; no thread may leave before the same one of
//! that rank has entered.
//!
//! **Caution**: several threads need a transport that has them: MPI at `--thread-level multiple`.
//! Threads meet by looking at a word, where IMB-MT has the barrier of its OpenMP.

use comet_core::collective;
use comet_core::kernel::prelude::*;
use comet_core::transport::Lane;

use super::{BY_THREADS, OF_PARTNERS, require_threads, threads};
use crate::comet::barrier::{LINGER_VECTOR_LENGTH, prove};

/// `imb-mt/barrier`; see the [module](self).
pub(crate) struct Barrier;

/// One thread's part.
pub(crate) struct Meeting {
    lane: Option<Lane>,
    after: Tag,
}

impl<T: Transport> Operation<T> for Meeting {
    fn fill(&mut self, _seeds: Seeds) {}

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.lane.iter().for_each(Lane::meet);
        t.barrier()
    }

    fn check(&mut self, _check: &mut Checker) {}

    /// In each round another rank is late; none may leave before it has entered.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        let after = self.after;
        prove(t, after, check, || self.run(t))
    }
}

impl<T: Transport> Pattern<T> for Barrier {
    const INFO: KernelInfo = KernelInfo {
        name: "barrier",
        file: include_str!("barrier.rs"),
        summary: "Global synchronisation of all threads of all ranks",
        class: Class::Synchronisation,
        aliases: &["IMB-MT:BarrierMT"],
        axes: &[BY_THREADS],
        series: &[Series::of("barrier", Quantity::OpTime, Definition::LoopMean)],
        admits: |case, _| require_threads(case),
        bytes_per_rank: |case, _| threads(case).saturating_mul(16 * LINGER_VECTOR_LENGTH as u64),
        messages_per_op: |case, world| {
            threads(case) * collective::messages_of_barrier(world.n_ranks)
        },
        is_movable: false,
        ..OF_PARTNERS
    };
    type Part = Meeting;

    fn part(&self, cx: &Context<'_, T>, _: &Case, _: usize) -> Result<Role<Self::Part>> {
        let lane = cx.transport().lane().cloned();
        Ok(Some((Duty::Together, Meeting { lane, after: cx.tag(0) })))
    }
}
