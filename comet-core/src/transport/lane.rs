//! Lanes: threads of one rank, each of which has a transport of its own to the same lane of the other ranks.
//!
//! ```text
//!   rank 0   lane 0 ══════ lane 0   rank 1     messages and collectives stay in a lane
//!            lane 1 ══════ lane 1
//!                └─ meet ─┘ └─ meet ─┘         threads of a rank wait for each other
//! ```
//!
//! A kernel sees none of it: it runs once in each lane, over the transport of that lane.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::Transport;
use crate::job::panic_text;
use crate::words::no_thread;

/// Looks at the other threads before a thread gives its CPU away.
const N_SPINS: u32 = 1000;

/// Place of a transport among the lanes of its rank.
#[derive(Clone, Debug)]
pub struct Lane {
    number: usize,
    gate: Arc<Gate>,
}

/// The meeting point of the threads of a rank.
#[derive(Debug)]
struct Gate {
    n_lanes: usize,
    /// Threads that have arrived in this round.
    n_arrived: AtomicUsize,
    /// Number of rounds that are over.
    round: AtomicUsize,
    word: AtomicU64,
}

impl Lane {
    /// All `n` lanes of a rank.
    pub fn all(n: usize) -> impl Iterator<Item = Self> {
        let (n_arrived, round) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let gate = Arc::new(Gate { n_lanes: n, n_arrived, round, word: AtomicU64::new(0) });
        (0..n).map(move |number| Self { number, gate: Arc::clone(&gate) })
    }

    /// Number of the lane, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Number of lanes of the rank.
    pub fn n_lanes(&self) -> usize {
        self.gate.n_lanes
    }

    /// A word that all lanes of the rank share, 0 at first.
    pub fn word(&self) -> &AtomicU64 {
        &self.gate.word
    }

    /// Returns after the threads of all lanes of this rank have called it. It neither allocates nor locks:
    /// a thread that waits looks, and lets others run now and then.
    #[inline]
    pub fn meet(&self) {
        let Gate { n_lanes, n_arrived, round, .. } = &*self.gate;
        // Nobody ends the round before this thread has arrived.
        let own = round.load(Ordering::Relaxed);
        // AcqRel: the last one sees what all did before, and passes it on with the round.
        if n_arrived.fetch_add(1, Ordering::AcqRel) + 1 == *n_lanes {
            n_arrived.store(0, Ordering::Relaxed);
            // Release pairs with the Acquire below: a thread of the next round finds a count of 0.
            round.store(own.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut n_looks = 0;
        while round.load(Ordering::Acquire) == own {
            if n_looks < N_SPINS {
                n_looks += 1;
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// Runs `body` in a thread for each of `seeds`, over the transport that `make` makes of it there; returns
/// what each body returned. It is the one place where threads of a rank start and end; a transport calls it
/// in [`on_lanes`](Transport::on_lanes).
///
/// A thread that panics, or that cannot be started, ends the job.
pub fn run<S: Send, T: Transport, R: Send>(
    of: &T,
    seeds: Vec<S>,
    make: impl Fn(Lane, S) -> T + Sync,
    body: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let in_lane = |lane: Lane, seed: S| {
        let number = lane.number;
        let t = make(lane, seed);
        catch_unwind(AssertUnwindSafe(|| body(&t))).unwrap_or_else(|payload| {
            t.fail_job(&format!("thread {number} panicked: {}", panic_text(payload)))
        })
    };
    thread::scope(|threads| {
        let in_lane = &in_lane;
        let lanes = Lane::all(seeds.len()).zip(seeds);
        let started: Vec<_> = lanes
            .map(|(lane, seed)| {
                let name = format!("lane {}", lane.number);
                let started = thread::Builder::new()
                    .name(name)
                    .spawn_scoped(threads, move || in_lane(lane, seed));
                started.unwrap_or_else(|error| of.fail_job(&no_thread(error)))
            })
            .collect();
        let joined = started.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|result| result.unwrap_or_else(|_| of.fail_job("a thread panicked"))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_leaves_a_meeting_before_all_have_come() {
        let (n, n_rounds) = (3, 200);
        let n_come = AtomicUsize::new(0);
        thread::scope(|threads| {
            for lane in Lane::all(n) {
                let n_come = &n_come;
                threads.spawn(move || {
                    for round in 1..=n_rounds {
                        n_come.fetch_add(1, Ordering::Relaxed);
                        lane.meet();
                        assert!(n_come.load(Ordering::Relaxed) >= n * round);
                        lane.meet();
                    }
                });
            }
        });
        assert_eq!(n_come.into_inner(), n * n_rounds);
    }
}
