//! Barriers and common starts: none lets a rank out before the last one is in, by true time, however
//! late ranks are.

use std::cell::RefCell;

use comet_core::collective;
use comet_core::error::Result;
use comet_core::sample::Sample;
use comet_core::sync::{StartSync, Starter};
use comet_core::transport::{Source, Tag, Transport, Work};
use comet_sim::Sim;

use super::bench::Bench;
use super::draws::Draws;
use super::machines;

const N_ROUNDS: usize = 20;

/// Number of rounds that a rank left before the last one was in; each rank is late by a time of its
/// own, drawn from `seed`.
fn n_broken(bench: &Bench, seed: u64, barrier: impl Fn(&Sim) -> Result<()>) -> usize {
    let rounds = RefCell::new(vec![Vec::new(); N_ROUNDS]);
    bench.run(|t| {
        let mut draws = Draws::new(seed + 1000 * t.rank() as u64);
        for round in 0..N_ROUNDS {
            // From no time at all to about that of ten messages.
            let n = if draws.below(3) == 0 { 0 } else { draws.below(15_000) };
            t.compute(Work::Daxpy { n }, || ());
            let start_ns = t.now_ns();
            barrier(t).expect("no rank fails");
            rounds.borrow_mut()[round].push(Sample {
                start_ns,
                end_ns: t.now_ns(),
                ..Sample::default()
            });
        }
    });
    let is_broken = |of_ranks: &&Vec<Sample>| {
        let last_in_ns = of_ranks.iter().map(|sample| sample.start_ns).max();
        of_ranks.iter().map(|sample| sample.end_ns).min() < last_in_ns
    };
    rounds.into_inner().iter().filter(is_broken).count()
}

fn check(name: &str, n_ranks: usize, barrier: impl Fn(&Sim) -> Result<()>) {
    for machine in [machines::flat(), machines::rendezvous(), machines::circuits()] {
        for seed in 0..3 {
            let bench = Bench::new(&machine, n_ranks);
            assert_eq!(n_broken(&bench, seed, &barrier), 0, "{name}, {n_ranks} ranks, seed {seed}");
        }
    }
}

#[test]
fn no_rank_leaves_before_the_last_is_in() {
    for n_ranks in 2..=17 {
        for sync in [
            StartSync::Barrier,
            StartSync::DoubleBarrier,
            StartSync::Dissemination,
            StartSync::Window,
        ] {
            let starter = Starter { sync, window_ns: 20_000, clock: None };
            check(sync.name(), n_ranks, |t| starter.start(t).map(drop));
        }
    }
    for n_ranks in [2, 4, 8, 16] {
        check("pairwise", n_ranks, collective::pairwise_barrier);
    }
}

#[test]
fn a_barrier_that_lacks_a_round_is_found_out() {
    let first_round = |t: &Sim| {
        let (rank, n_ranks) = (t.rank(), t.n_ranks());
        let from = Source::Rank((rank + n_ranks - 1) % n_ranks);
        t.blocked_exchange((rank + 1) % n_ranks, &[], from, &mut [], Tag::new(1))?;
        Ok(())
    };
    let broken = |n_ranks| n_broken(&Bench::new(&machines::flat(), n_ranks), 0, first_round);
    assert_eq!(broken(2), 0, "two ranks need one round");
    assert!(broken(3) > 0 && broken(17) > 0);
}
