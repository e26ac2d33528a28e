//! Kernels in windows, in place, with other roots, in arenas and with touched messages.

use comet_core::kernel::harness::{self, Trial};
use comet_core::kernel::{Axis, Buffers, Case, Touch, WINDOW, World};
use comet_core::local::Corrupt;
use comet_core::topology::Topology;

use super::{echo_history, kernel, n_idle, trials};
use crate::axes::WINDOW_BUFFERS;
use crate::calls::{FIRST_ROOT, PLACE, ROOT};

/// The last quick cases of the kernels that have `axis` with `value` on it, in place of its default
/// ones, on each number of ranks.
fn trials_at(axis: &'static Axis, value: u64) -> Vec<Trial> {
    let has_axis = |trial: &Trial| trial.case.find(axis).is_some();
    let last = trials().into_iter().filter_map(|mut trials| trials.pop()).filter(has_axis);
    last.map(|trial| Trial { case: trial.case.with(axis, value), ..trial }).collect()
}

#[test]
fn every_buffer_of_a_window_is_verified() {
    let trials = trials_at(&WINDOW_BUFFERS, 1);
    assert_eq!(trials.len(), 7 * 4, "{trials:?}");
    for trial in trials {
        trial.passes(n_idle(&trial.case, trial.topology.n_ranks()));
        trial.notices_wrong_messages();
        let last = Corrupt::Number(trial.case.length(&WINDOW) - 1);
        let outcome = trial.outcome(false, last, false);
        assert_eq!(
            (outcome.is_corrupted, outcome.mismatches.contains(&true)),
            (true, true),
            "{trial:?}"
        );
        let one = trial.case.with(&WINDOW_BUFFERS, 0);
        let bytes = |case: &Case| (case.info.bytes_per_rank)(case, &World::of(&trial.topology));
        assert_eq!(bytes(&trial.case), bytes(&one) * one.value(&WINDOW), "{trial:?}");
    }
}

#[test]
fn collectives_in_place_are_verified() {
    let trials = trials_at(&PLACE, 1);
    assert_eq!(trials.len(), 42 * 5, "all but broadcasts and barriers");
    for trial in trials {
        let n_idle = n_idle(&trial.case, trial.topology.n_ranks());
        trial.passes(n_idle);
        if trial.case.find(&ROOT).is_some() {
            Trial { case: trial.case.with(&ROOT, 1), ..trial.clone() }.passes(n_idle);
        }
        let outcome = trial.outcome(false, Corrupt::All, false);
        assert_eq!(outcome.mismatches.contains(&true), outcome.is_corrupted, "{trial:?}");
        assert!(trial.outcome(false, Corrupt::Nothing, true).mismatches.contains(&true));
    }
}

#[test]
fn any_rank_is_the_first_root() {
    let has_others = |trial: &Trial| trial.topology.n_ranks() > 1;
    for trial in trials_at(&FIRST_ROOT, 1).into_iter().filter(has_others) {
        trial.passes(0);
        trial.notices_wrong_messages();
        Trial { case: trial.case.with(&ROOT, 1), ..trial }.passes(0);
    }
}

/// The last quick case of each kernel on two ranks with `buffers`, and true if the kernel admits
/// them.
fn trials_with(buffers: Buffers) -> Vec<(Trial, bool)> {
    let last = trials().into_iter().filter_map(|mut trials| trials.pop());
    let of_two = last.filter(|trial| trial.topology.n_ranks() == 2);
    let with = |trial: Trial| {
        let world = World { buffers, ..World::of(&trial.topology) };
        let is_admitted = world.admit(&trial.case).is_ok();
        (Trial { buffers, ..trial }, is_admitted)
    };
    of_two.map(with).collect()
}

#[test]
fn every_buffer_of_an_arena_is_verified() {
    // A small cache, so that parts come round again, and a larger one, so that each runs once.
    for buffers in [Buffers::Rotate(64), Buffers::Rotate(1 << 16), Buffers::Cycle(1 << 12)] {
        let trials = trials_with(buffers);
        let refused: Vec<_> = trials.iter().filter(|trial| !trial.1).collect();
        assert!(
            refused.iter().all(|(trial, _)| !trial.case.info.is_movable) && !refused.is_empty()
        );
        for (trial, _) in trials.iter().filter(|trial| trial.1) {
            trial.passes(n_idle(&trial.case, 2));
            trial.notices_wrong_messages();
        }
    }
}

#[test]
fn touched_messages_are_verified() {
    let trials = trials_with(Buffers::Touched(Touch::Bytes));
    let touched: Vec<_> = trials.iter().filter(|trial| trial.1).map(|(trial, _)| trial).collect();
    let mut names: Vec<_> = touched.iter().map(|trial| trial.case.info.id()).collect();
    names.dedup();
    let expected = [
        "comet/echo",
        "comet/exchange",
        "parkbench/comms1",
        "model/pairs",
        "health/pairs",
        "imb-p2p/pingpong",
        "imb-p2p/pingping",
        "imb-p2p/unirandom",
        "imb-p2p/birandom",
        "imb-p2p/corandom",
        "imb-p2p/sendrecv_replace",
        "imb-p2p/halo",
        "patterns/irregular",
    ];
    assert_eq!(names, expected);
    for trial in touched {
        trial.passes(n_idle(&trial.case, 2));
        trial.notices_wrong_messages();
    }
    // Stencils need more ranks.
    for (id, n_ranks) in [("imb-p2p/stencil2d", 4), ("imb-p2p/stencil3d", 8)] {
        let topology = Topology::hypercube(n_ranks);
        let trials = harness::trials(kernel(id), &topology, &echo_history(), |_| vec![1000]);
        for touch in Touch::ALL {
            let trial = Trial { buffers: Buffers::Touched(touch), ..trials[0].clone() };
            trial.passes(0);
            trial.notices_wrong_messages();
        }
    }
}

#[test]
fn kernels_without_a_mode_of_buffers_are_refused_with_a_reason() {
    let topology = Topology::hypercube(2);
    let check = |buffers, expected: &str| {
        let world = World { buffers, ..World::of(&topology) };
        let case = Case::new(kernel("comet/barrier").info(), &[]);
        assert_eq!(world.admit(&case).unwrap_err(), expected);
    };
    check(
        Buffers::Touched(Touch::Bytes),
        "comet/barrier does not touch messages between its calls (leave out --buffers touched)",
    );
    check(
        Buffers::OffCache(64),
        "comet/barrier has no buffers that other repetitions could replace (leave out --buffers \
         offcache:64)",
    );
}
