//! Delays: a rank that stands still before one operation changes the times that depend on it, by
//! what follows from it, and no others. No barrier or common start lets a rank out before the last
//! one is in, by true time, however late ranks are.

use std::cell::RefCell;

use comet_core::collective;
use comet_core::context::{Context, Method};
use comet_core::definition::Definition;
use comet_core::driver::Pace;
use comet_core::error::Result;
use comet_core::sample::Sample;
use comet_core::sync::StartSync;
use comet_core::transport::{Rank, Source, Tag, Transport, Work};
use comet_sim::Sim;
use comet_sim::machine::{Delay, Machine};

use super::bench::{Bench, Draws, info};
use super::machines;
use super::oracle::{Step, n_operations, truth};
use super::recording::record;

/// Each sample is one operation, after a barrier.
const PACE: Pace = Pace::new(1, 5, 2);
/// The sample in which the rank is delayed.
const HIT: usize = 2;
/// The delay, which is longer than any of the operations.
const DELAY_PS: u64 = 700_000_000;
const DELAY_NS: f64 = 700_000.0;

/// An operation, as ranks do it and as the oracle follows it.
#[derive(Clone, Copy)]
enum Operation {
    Computation,
    Broadcast,
    GlobalSum,
    Barrier,
}

impl Operation {
    fn run<T: Transport>(self, t: &T) -> Result<()> {
        match self {
            Self::Computation => t.compute(Work::Daxpy { n: 1000 }, || ()),
            Self::Broadcast => t.blocked_broadcast(0, &mut [0; 96])?,
            Self::GlobalSum => t.global_sum_vector(&mut [0.0; 12])?,
            Self::Barrier => t.barrier()?,
        }
        Ok(())
    }

    fn samples<T: Transport>(self, t: &T) -> Result<Vec<Sample>> {
        let mut cx = Context::new(t, info("comet/reduction"), PACE, Method::default(), None);
        cx.time(0, |t| self.run(t))?;
        Ok(cx.into_samples().remove(0))
    }
}

/// The samples of all ranks as they are measured, by sample.
fn measured(bench: &Bench, operation: Operation) -> Vec<Vec<Sample>> {
    let of_ranks = RefCell::new(vec![Vec::new(); bench.topology.n_ranks()]);
    bench.run(|t| {
        of_ranks.borrow_mut()[t.rank()] = operation.samples(t).expect("no rank fails");
    });
    by_sample(&of_ranks.into_inner())
}

/// The same, as the oracle says.
fn true_samples(bench: &Bench, operation: Operation) -> Vec<Vec<Sample>> {
    let program = |rank| program(bench, operation, rank);
    let programs: Vec<_> = (0..bench.topology.n_ranks()).map(program).collect();
    let samples = |readings_ns: &Vec<u64>| {
        let pairs = readings_ns.as_chunks().0.iter();
        pairs.map(|&[start_ns, end_ns]| Sample { start_ns, end_ns, ..Sample::default() }).collect()
    };
    let readings_ns = truth(&bench.machine, &programs);
    by_sample(&readings_ns.iter().map(samples).collect::<Vec<_>>())
}

fn by_sample(of_ranks: &[Vec<Sample>]) -> Vec<Vec<Sample>> {
    (0..of_ranks[0].len()).map(|i| of_ranks.iter().map(|of_rank| of_rank[i]).collect()).collect()
}

/// Steps of one rank from its start on.
fn program(bench: &Bench, operation: Operation, rank: Rank) -> Vec<Step> {
    record(bench, rank, |t| operation.samples(t).map(drop))
}

/// The numbers of the operations of `rank` in the sample that is hit.
fn operations(bench: &Bench, operation: Operation, rank: Rank) -> std::ops::Range<u64> {
    let steps = program(bench, operation, rank);
    let is_reading = |step: &Step| matches!(step, Step::Read);
    let reads: Vec<usize> = (0..steps.len()).filter(|i| is_reading(&steps[*i])).collect();
    n_operations(&steps[..reads[2 * HIT]])..n_operations(&steps[..reads[2 * HIT + 1]])
}

/// So many ranks on `machine`, of which one stands still before one operation.
fn delayed(machine: &Machine, n_ranks: usize, (rank, operation): (Rank, u64)) -> Bench {
    let mut machine = machine.clone();
    machine.faults.delays.push(Delay { rank, operation, delay_ps: DELAY_PS });
    Bench::new(&machine, n_ranks)
}

/// The values of all samples by D1 (completion), D2 (longest local time) and D3 (test node).
fn values_ns(samples: &[Vec<Sample>]) -> [Vec<f64>; 3] {
    let values = |definition: Definition| samples.iter().map(move |of| definition.value_ns(of, 1));
    let test_node = samples.iter().map(|of| Definition::TestNode.value_ns(&of[..1], 1));
    [
        values(Definition::Completion).collect(),
        values(Definition::MaxLocal).collect(),
        test_node.collect(),
    ]
}

/// Delays `rank` before its first operation of the sample that is hit, or so many after or before
/// that; D1, D2 and D3 of this sample grow by all of the delay or by nothing, as `expected`, and
/// those of the others stay as they are.
#[track_caller]
fn check(operation: Operation, (rank, offset): (Rank, i64), expected: [bool; 3]) {
    let bench = Bench::new(&machines::prompt(), 8);
    let first = operations(&bench, operation, rank).start;
    let number = first.checked_add_signed(offset).expect("the sample is not the first");
    let late = delayed(&machines::prompt(), 8, (rank, number));
    let before_ns = values_ns(&measured(&bench, operation));
    let after_ns = values_ns(&measured(&late, operation));
    for (definition, grows) in expected.into_iter().enumerate() {
        let mut expected_ns = before_ns[definition].clone();
        expected_ns[HIT] += if grows { DELAY_NS } else { 0.0 };
        assert_eq!(after_ns[definition], expected_ns, "D{}", definition + 1);
    }
}

#[test]
fn a_delay_inside_the_operation_of_a_rank_counts_there() {
    // Nobody waits for a computation, so D3 is that of rank 0 alone.
    check(Operation::Computation, (5, 0), [true, true, false]);
    check(Operation::Computation, (0, 0), [true, true, true]);
}

#[test]
fn a_delay_before_the_start_of_a_rank_is_no_longer_local_time() {
    check(Operation::Computation, (5, -1), [true, false, false]);
    check(Operation::Computation, (0, -1), [true, false, false]);
}

#[test]
fn a_delay_counts_on_the_ranks_that_wait_for_it() {
    // Rank 0 needs the value of rank 7, but not to know that ranks 6 and 7 have the message of 4,
    // whose first operation is its receive.
    check(Operation::GlobalSum, (7, 0), [true, true, true]);
    check(Operation::Broadcast, (4, 1), [true, true, false]);
    check(Operation::Broadcast, (0, 0), [true, true, true]);
}

/// Delays each rank before each operation of one sample; all samples are those of the oracle.
fn check_each(operation: Operation, machine: &Machine, n_ranks: usize) {
    for rank in 0..n_ranks {
        for number in operations(&Bench::new(machine, n_ranks), operation, rank) {
            let bench = delayed(machine, n_ranks, (rank, number));
            let expected = true_samples(&bench, operation);
            let late = format!("operation {number} of rank {rank} of {n_ranks}");
            assert_eq!(measured(&bench, operation), expected, "{late}");
        }
    }
}

#[test]
fn a_delay_before_any_operation_has_the_effect_that_the_law_says() {
    for machine in [machines::flat(), machines::rendezvous(), machines::busy()] {
        for n_ranks in [5, 8] {
            for operation in [Operation::Broadcast, Operation::GlobalSum, Operation::Barrier] {
                check_each(operation, &machine, n_ranks);
            }
        }
    }
}

const N_ROUNDS: usize = 20;

/// Number of rounds that a rank left before the last was in; ranks are late by draws of `seed`.
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

fn check_barrier(name: &str, n_ranks: usize, barrier: impl Fn(&Sim) -> Result<()>) {
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
            check_barrier(sync.name(), n_ranks, |t| sync.start(t, 20_000, None).map(drop));
        }
    }
    for n_ranks in [2, 4, 8, 16] {
        check_barrier("pairwise", n_ranks, collective::pairwise_barrier);
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
