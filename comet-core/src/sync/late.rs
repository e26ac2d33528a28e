//! Proof of a barrier: in each round another rank is late, and none may leave before it has entered.
//!
//! ```text
//!   late rank   linger, probe ... entry -- barrier -- receive AFTER from all
//!   others      barrier -- exit -- send AFTER, which carries the time of the exit
//! ```
//!
//! A message that the late rank sees before it enters left a barrier that it had not entered; this
//! holds on every transport. Where the clock is common to the ranks, an exit before the entry shows
//! the same, however short the time between them is.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::kernel::Checker;
use crate::transport::{Rank, Source, Tag, Transport, Work};

/// The most ranks that are late in turn.
const MAX_LATE_RANKS: usize = 16;
/// Messages of all rounds at most, if there are several: one round costs one from every other rank.
const MAX_MESSAGES: usize = 1 << 16;
/// Number of probes of a late rank before it enters the barrier.
const LINGER_PROBES: usize = 100;
/// Length of the DAXPY between two probes: about a microsecond, so that a late rank is late by
/// many times what a message needs.
pub const LINGER_VECTOR_LENGTH: usize = 2000;

/// Checks rounds of `barrier`, which errors call `name`, in each of which another rank is late: none leaves before
/// it has entered. Messages have the tag `after`.
///
/// # Errors
/// If the transport fails.
pub fn prove<T: Transport>(
    t: &T,
    after: Tag,
    check: &mut Checker,
    name: &str,
    mut barrier: impl FnMut() -> Result<()>,
) -> Result<()> {
    let mut n_broken = 0;
    for late in late_ranks(t.n_ranks()) {
        let entry = Entry { leads: true, entered: &AtomicU64::new(0) };
        n_broken += u64::from(is_broken(t, late, after, entry, &mut barrier)?);
    }
    note_broken(check, name, n_broken);
    Ok(())
}

/// Notes the number of rounds in which the barrier of this name was left too early.
pub fn note_broken(check: &mut Checker, name: &str, n_broken: u64) {
    let what = format!("the rounds in which a rank left {name} before this one entered it");
    check.values(&mut [n_broken as f64], |_| 0.0, |_| true, &what);
}

/// Entry of a late rank into a barrier.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// True if this thread is the late one of its rank.
    pub leads: bool,
    /// The time of the entry in nanoseconds and 1 more; 0 before it.
    pub entered: &'a AtomicU64,
}

/// The ranks that are late in turn: all, or 16 of them spread evenly, or fewer of
/// more than 4096; the last one is no root of a tree.
pub fn late_ranks(n_ranks: usize) -> impl Iterator<Item = Rank> {
    let most = (MAX_MESSAGES / n_ranks.max(1)).clamp(1, MAX_LATE_RANKS);
    let stride = n_ranks.div_ceil(most).max(1);
    (stride - 1..n_ranks).step_by(stride)
}

/// One round: true if this rank is `late`, and another, or a thread of its own, left the barrier before its
/// late thread entered.
///
/// # Errors
/// If the transport fails.
pub fn is_broken<T: Transport>(
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
    let (x, mut y) = (vec![1.0; LINGER_VECTOR_LENGTH], vec![1.0; LINGER_VECTOR_LENGTH]);
    for _ in 0..LINGER_PROBES {
        if t.probe(Source::Any, after)?.is_some() {
            return Ok(true);
        }
        t.compute(Work::Daxpy { n: x.len() }, || {
            x.iter().zip(&mut y).for_each(|(x, y)| *y += black_box(0.5) * x);
            black_box(&mut y);
        });
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn a_barrier_that_does_not_wait_is_found_out() {
        let (late, after) = (0, Tag::new(1));
        let is_found_out = local::run(2, |t| {
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
