//! Barrier: least time of a global synchronisation.
//!
//! **Source**: thesis section 3.3.5.
//!
//! **Pattern**
//! ```text
//!   all ranks  --barrier-- --barrier-- --barrier-- ...
//! ```
//! **Timed** (rank 0): the barrier, called again and again, so that all ranks arrive together.
//!
//! **Reports**: least time of one barrier, (t2 - t1) / repetitions on rank 0. The record holds the mean
//! and the order statistics as well.
//!
//! **Rate**: none.
//!
//! **Parameters**: none.
//!
//! **Verified by**: in each round another rank is late; none may leave before it has entered.
//! ```text
//!   late rank   linger, probe ... entry -- barrier -- receive AFTER from all
//!   others      barrier -- exit -- send AFTER, which carries the time of the exit
//! ```
//! A message that the late rank sees before it enters left a barrier that it had not entered; this
//! holds on every transport. Where the clock is common to the ranks, an exit before the entry shows
//! the same, however short the time between them is.
//!
//! **Caution**: without a common clock, a rank that leaves early by less than the time of one
//! message is not noticed.

use comet_core::collective;
use comet_core::kernel::prelude::*;
use comet_core::sync::late::{LINGER_VECTOR_LENGTH, prove};

/// `comet/barrier` and `naive/barrier`; see the [module](self).
pub(crate) struct Barrier<const NAIVE: bool>;

/// One rank's part of a barrier.
pub(crate) struct Meeting<const NAIVE: bool> {
    after: Tag,
}

impl<const NAIVE: bool, T: Transport> Operation<T> for Meeting<NAIVE> {
    fn fill(&mut self, _seeds: Seeds) {}

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if NAIVE { collective::barrier(t) } else { t.barrier() }
    }

    fn check(&mut self, _check: &mut Checker) {}

    /// In each round another rank is late; none may leave before it has entered.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        let after = self.after;
        prove(t, after, check, "the barrier", || self.run(t))
    }
}

impl<const NAIVE: bool, T: Transport> Pattern<T> for Barrier<NAIVE> {
    const INFO: KernelInfo = KernelInfo {
        name: "barrier",
        file: include_str!("barrier.rs"),
        summary: if NAIVE {
            "Global synchronisation by point-to-point messages"
        } else {
            "Least time of a global synchronisation"
        },
        class: Class::Synchronisation,
        aliases: &["IMB:Barrier", "OSU:osu_barrier", "SKaMPI:18"],
        series: &[Series { quote: Quote::LeastOf20, ..Series::on_test_node("barrier") }],
        timing: Timing::Pipelined,
        admits: |_, _| Ok(()),
        bytes_per_rank: |_, _| 16 * LINGER_VECTOR_LENGTH as u64,
        messages_per_op: |_, world| collective::messages_of_barrier(world.n_ranks),
        is_movable: false,
        baseline_for: if NAIVE { Some("comet/barrier") } else { None },
        ..KernelInfo::collective(if NAIVE { "naive" } else { "comet" })
    };
    type Part = Meeting<NAIVE>;

    fn part(&self, cx: &Context<'_, T>, _: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Together, Meeting { after: cx.tag(0) })))
    }
}
