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
//! **Verified by**: in each round another thread of another rank is late; no thread of any rank may
//! leave before it has entered. What the late rank receives afterwards holds the times at which
//! threads of the others left.
//!
//! **Caution**: several threads need a transport that has them: MPI at `--thread-level multiple`.
//! Threads meet by looking at a word, where IMB-MT has the barrier of its OpenMP. Without a common
//! clock, a thread that leaves early is noticed in the late rank alone, and in its own lane.

use std::sync::atomic::Ordering;

use comet_core::collective;
use comet_core::kernel::prelude::*;
use comet_core::sync::late::{
    Entry, LINGER_VECTOR_LENGTH, is_broken, late_ranks, note_broken, prove,
};
use comet_core::transport::Lane;

use super::{BY_THREADS, OF_PARTNERS, require_threads, threads};

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

    /// In each round another thread of another rank is late; none may leave before it has entered.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        let (after, name) = (self.after, "the barrier");
        let Some(lane) = self.lane.clone() else {
            return prove(t, after, check, name, || self.run(t));
        };
        let mut n_broken = 0;
        for late in late_ranks(t.n_ranks()) {
            for late_lane in late_ranks(lane.n_lanes()) {
                let late = (late, late_lane);
                n_broken += u64::from(is_left_early(t, &lane, late, after, || self.run(t))?);
            }
        }
        note_broken(check, name, n_broken);
        Ok(())
    }
}

/// One round, in which `late` are rank and lane of the late thread: true in the threads of that rank that
/// know of one that left `barrier` before it entered.
fn is_left_early<T: Transport>(
    t: &T,
    lane: &Lane,
    (late, late_lane): (Rank, usize),
    after: Tag,
    barrier: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    let leads = lane.number() == late_lane;
    let is_broken = is_broken(t, late, after, Entry { leads, entered: lane.word() }, barrier)?;
    // All have read the word before it is reset, and none goes on before that.
    lane.meet();
    if leads {
        lane.word().store(0, Ordering::Relaxed);
    }
    lane.meet();
    Ok(is_broken)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use comet_core::local;

    use super::*;

    /// Lanes of each rank.
    const N_LANES: usize = 2;

    /// Outcome of a round in each lane of each of two ranks, where the last lane of rank 0 is late; with
    /// `waits`, it enters after both threads of the other lane have left.
    fn outcomes(waits: bool, barrier: impl Fn(&local::Local) -> Result<()> + Sync) -> Vec<bool> {
        let n_left = AtomicUsize::new(0);
        let late = (0, N_LANES - 1);
        let of_ranks = local::run(2, |t| {
            t.on_lanes(N_LANES, |t| {
                let lane = t.lane().unwrap();
                let is_late = (t.rank(), lane.number()) == late;
                if waits && is_late {
                    while n_left.load(Ordering::Acquire) < 2 {
                        std::thread::yield_now();
                    }
                    // The processor may be taken from those that have just left.
                    (0..100_000).for_each(|_| std::thread::yield_now());
                }
                let counted = || barrier(t).inspect(|()| _ = n_left.fetch_add(1, Ordering::AcqRel));
                is_left_early(t, lane, late, Tag::new(1), counted).unwrap()
            })
            .unwrap()
        });
        of_ranks.concat()
    }

    #[test]
    fn a_lane_that_leaves_before_another_has_entered_is_noticed() {
        let whole = |t: &local::Local| {
            t.lane().unwrap().meet();
            t.barrier()
        };
        assert_eq!(outcomes(false, whole), [false; 4]);
        // Each lane has a barrier of its own, and the first does not wait for the other.
        assert_eq!(outcomes(true, |t| t.barrier()), [true, false, false, false]);
    }
}
