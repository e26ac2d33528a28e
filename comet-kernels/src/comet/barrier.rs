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

use std::sync::atomic::{AtomicU64, Ordering};

use comet_core::collective;
use comet_core::kernel::prelude::*;

use crate::daxpy::Daxpy;

/// The most ranks that are late in turn.
const MAX_LATE_RANKS: usize = 16;
/// Messages of all rounds at most, if there are several: one round costs one from every other rank.
const MAX_MESSAGES: usize = 1 << 16;
/// Number of probes of a late rank before it enters the barrier.
const LINGER_PROBES: usize = 100;
/// Length of the DAXPY between two probes: about a microsecond, so that a late rank is late by
/// many times what a message needs.
pub(crate) const LINGER_VECTOR_LENGTH: usize = 2000;

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
        prove(t, after, check, || self.run(t))
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

/// Checks rounds of `barrier`, in each of which another rank is late: none leaves before it has entered.
/// Messages have the tag `after`.
pub(crate) fn prove<T: Transport>(
    t: &T,
    after: Tag,
    check: &mut Checker,
    mut barrier: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut n_broken = 0;
    for late in late_ranks(t.n_ranks()) {
        let entry = Entry { leads: true, entered: &AtomicU64::new(0) };
        n_broken += u64::from(is_broken(t, late, after, entry, &mut barrier)?);
    }
    note_broken(check, n_broken);
    Ok(())
}

/// Notes the number of rounds in which a barrier was left too early.
pub(crate) fn note_broken(check: &mut Checker, n_broken: u64) {
    let what = "the rounds in which a rank left the barrier before this one entered it";
    check.values(&mut [n_broken as f64], |_| 0.0, |_| true, what);
}

/// Entry of a late rank into a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    /// True if this thread is the late one of its rank.
    pub(crate) leads: bool,
    /// The time of the entry in nanoseconds and 1 more; 0 before it.
    pub(crate) entered: &'a AtomicU64,
}

/// The ranks that are late in turn: all, or [`MAX_LATE_RANKS`] of them spread evenly, or fewer of
/// more than 4096; the last one is no root of a tree.
pub(crate) fn late_ranks(n_ranks: usize) -> impl Iterator<Item = Rank> {
    let most = (MAX_MESSAGES / n_ranks.max(1)).clamp(1, MAX_LATE_RANKS);
    let stride = n_ranks.div_ceil(most).max(1);
    (stride - 1..n_ranks).step_by(stride)
}

/// One round: true if this rank is `late`, and another, or a thread of its own, left the barrier before its
/// late thread entered.
pub(crate) fn is_broken<T: Transport>(
    t: &T,
    late: Rank,
    after: Tag,
    entry: Entry<'_>,
    barrier: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    if t.rank() == late {
        return enter_late(t, after, entry, barrier);
    }
    barrier()?;
    let exit_ns = t.now_ns();
    t.blocked_send(late, after, &exit_ns.to_ne_bytes())?;
    Ok(false)
}

/// The late rank's part of a round.
fn enter_late<T: Transport>(
    t: &T,
    after: Tag,
    Entry { leads, entered }: Entry<'_>,
    barrier: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    let mut is_broken = false;
    if leads {
        is_broken = linger(t, after)?;
        // Release: pairs with the load below, in another thread.
        entered.store(t.now_ns() + 1, Ordering::Release);
    }
    barrier()?;
    let entered = entered.load(Ordering::Acquire);
    is_broken |= entered == 0;
    for rank in (0..t.n_ranks()).filter(|rank| *rank != t.rank()) {
        let mut exit_ns = [0; size_of::<u64>()];
        t.blocked_recv(Source::Rank(rank), after, &mut exit_ns)?;
        is_broken |= t.clock().is_global && u64::from_ne_bytes(exit_ns) + 1 < entered;
    }
    Ok(is_broken)
}

/// Spends time outside the barrier; whether a message came that is sent only inside or after it.
fn linger<T: Transport>(t: &T, after: Tag) -> Result<bool> {
    let mut daxpy = Daxpy::new(LINGER_VECTOR_LENGTH);
    for _ in 0..LINGER_PROBES {
        if t.probe(Source::Any, after)?.is_some() {
            return Ok(true);
        }
        daxpy.compute(t);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_that_does_not_wait_is_found_out() {
        let (late, after) = (0, Tag::new(1));
        let is_found_out = comet_core::local::run(2, |t| {
            // The processor may be taken from a rank for longer than the other lingers.
            while t.rank() == late && t.probe(Source::Any, after).unwrap().is_none() {
                std::thread::yield_now();
            }
            let entry = Entry { leads: true, entered: &AtomicU64::new(0) };
            is_broken(t, late, after, entry, || Ok(())).unwrap()
        });
        assert_eq!(is_found_out, [true, false]);
    }

    #[test]
    fn late_ranks_are_all_or_a_spread_of_sixteen_and_of_fewer_in_a_large_job() {
        let check = |n_ranks, n_late, last| {
            let late: Vec<Rank> = late_ranks(n_ranks).collect();
            assert_eq!((late.len(), late.last()), (n_late, Some(&last)), "{n_ranks} ranks");
        };
        check(1, 1, 0);
        check(16, 16, 15);
        check(1024, 16, 1023);
        check(8192, 8, 8191);
        check(65_536, 1, 65_535);
        check(1 << 20, 1, (1 << 20) - 1);
    }
}
