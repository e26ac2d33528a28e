//! Collectives in flight beside work, in virtual time: their times by hand.
//!
//! A message takes its sender 0.3 us, is 1 us and 0.1 ns for each byte on its way, and takes its receiver 0.4
//! us; those of one sender leave one after the other, 0.1 ns for each byte. Nothing goes on while a rank works: of a tree the first stage alone is hidden.

use std::cell::RefCell;

use comet_core::collective::{Collective, Kind, Parts, Prepared, algorithm};
use comet_core::topology::Topology;
use comet_core::transport::{Transport, Work};
use comet_sim::machine::{Protocol, Shape};
use comet_sim::{Outcome, RunConfig, Sim, run};

use crate::conformance::machine;

const LENGTH: usize = 10_000;
/// Time of a message in its sender, on its way, and in its receiver, in nanoseconds.
const SEND: u64 = 300;
const WIRE: u64 = 1000;
const WAY: u64 = 1000 + WIRE;
const RECV: u64 = 400;

/// Times of the ranks, which start at 0, to start a broadcast from rank 0 along a binomial tree, to work for so
/// long, testing so many times, and to wait.
fn times(n_ranks: usize, work_ns: u64, n_tests: u64) -> Vec<u64> {
    let times = RefCell::new(vec![0; n_ranks]);
    let one = |t: &Sim| -> comet_core::error::Result<()> {
        let call = Collective::new(Kind::Broadcast, Parts::Equal(LENGTH));
        let by = algorithm::find(Kind::Broadcast, "binomial");
        let mut prepared = Prepared::unblocked(t, call, by)?;
        let mut message = vec![u8::from(t.rank() == 0); LENGTH];
        t.scope(|s| {
            let mut request = s.unblocked_collective(&mut prepared, &[], &mut message)?;
            for _ in 0..n_tests {
                t.compute(Work::Busy { ns: work_ns / n_tests }, || ());
                request.test();
            }
            if n_tests == 0 {
                t.compute(Work::Busy { ns: work_ns }, || ());
            }
            request.wait()
        })?;
        assert!(message.iter().all(|byte| *byte == 1), "the message has arrived");
        times.borrow_mut()[t.rank()] = t.now_ns();
        Ok(())
    };
    let mut machine = machine(Shape::Flat, None, Protocol::Eager);
    machine.node.poll_ps = 0;
    let config = RunConfig::new(machine, Topology::hypercube(n_ranks));
    let outcome = run(&config, |t| u8::from(one(t).is_err()));
    assert!(matches!(outcome, Ok(Outcome::Finished { code: 0, .. })), "{outcome:?}");
    times.into_inner()
}

#[test]
fn a_broadcast_to_one_rank_is_hidden_behind_work() {
    for work_ns in [0, 1000, SEND + WAY, 50_000] {
        let arrival = SEND + WAY;
        let expected = [SEND + work_ns, work_ns.max(arrival) + RECV];
        assert_eq!(times(2, work_ns, 0), expected, "{work_ns} ns of work");
    }
}

#[test]
fn of_a_tree_the_first_stage_alone_is_hidden() {
    for work_ns in [0, 1000, SEND + WIRE + WAY, 50_000] {
        // Rank 0 sends to rank 2 and then to rank 1 at once; rank 2 sends to rank 3 when it waits.
        let [to_2, to_1] = [SEND + WAY, SEND + WIRE + WAY];
        let at_2 = work_ns.max(to_2) + RECV + SEND;
        let at_3 = work_ns.max(at_2 + WAY) + RECV;
        let expected = [2 * SEND + work_ns, work_ns.max(to_1) + RECV, at_2, at_3];
        assert_eq!(times(4, work_ns, 0), expected, "{work_ns} ns of work");
    }
    // Of 2 x (SEND + WAY + RECV) for both stages, all of the first but for its end is hidden.
    let slowest = |work_ns| times(4, work_ns, 0).into_iter().max();
    let (pure, beside) = (slowest(0), slowest(50_000));
    assert_eq!(pure, Some(2 * (SEND + WAY + RECV)));
    assert_eq!(beside, Some(50_000 + 2 * (SEND + WAY + RECV) - (SEND + WAY)));
}

#[test]
fn tests_between_pieces_of_work_pass_messages_on() {
    // Rank 2 passes the message on in its first test after the arrival, and rank 3 finds it in time.
    let (work_ns, n_tests) = (50_000, 50);
    let found = times(4, work_ns, n_tests);
    let tested_at = (SEND + WAY).next_multiple_of(work_ns / n_tests);
    assert!(tested_at + RECV + SEND + WAY < work_ns, "all of it lies within the work");
    let expected = [2 * SEND + work_ns, work_ns + RECV, work_ns + RECV + SEND, work_ns + RECV];
    assert_eq!(found, expected);
}
