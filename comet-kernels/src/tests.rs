//! Tests of all kernels of this crate together, over ranks that are threads.

use comet_core::driver::{self, Rules, Settings};
use comet_core::event::{Event, Listener};
use comet_core::kernel::harness::{self, Trial};
use comet_core::kernel::{Case, HOPS, History, Kernel, LENGTH_BYTES, Profile};
use comet_core::local::{self, Corrupt, Local};
use comet_core::sweep;
use comet_core::topology::Topology;
use comet_core::transport::Transport;
use comet_stats::Summary;

use crate::comet::echo;
use crate::health::pairs::ROUND;
use crate::model::pairs::PAIRS;

/// Numbers of ranks: alone, a pair, odd ones, and those of the thesis' contention.
const N_RANKS: [usize; 5] = [1, 2, 3, 5, 8];

fn all_kernels() -> Vec<&'static dyn Kernel<Local>> {
    crate::suites().concat()
}

/// Echo times at one hop of 100 ns and 1 ns for each 10 bytes.
pub(crate) fn echo_history() -> History {
    let mut history = History::default();
    for (length_bytes, time) in [(0, 100.0), (100, 110.0), (1000, 200.0), (10_000, 1100.0)] {
        let case = Case::new(&echo::INFO, &[]).with(&HOPS, 1).with(&LENGTH_BYTES, length_bytes);
        history.push(case, vec![Summary::of(&[time]).unwrap()]);
    }
    history
}

/// The quick cases of each kernel on each number of ranks.
fn trials() -> Vec<Vec<Trial>> {
    let on = |(kernel, n_ranks)| {
        let topology = Topology::hypercube(n_ranks);
        let of_axis = |used: &_| harness::quick_values(used, &topology);
        harness::trials(kernel, &topology, &echo_history(), of_axis)
    };
    let kernels = all_kernels().into_iter();
    kernels.flat_map(|kernel| N_RANKS.map(|n_ranks| (kernel, n_ranks))).map(on).collect()
}

/// Ranks without a part in a case.
fn n_idle(case: &Case, n_ranks: usize) -> usize {
    match (case.find(&PAIRS), case.find(&ROUND)) {
        (Some(_), _) => n_ranks - 2 * case.length(&PAIRS),
        (_, Some(_)) => n_ranks % 2,
        _ => 0,
    }
}

#[test]
fn every_kernel_verifies_and_is_sampled_where_its_definition_says() {
    for trials in trials() {
        for trial in [trials.first(), trials.last()].into_iter().flatten() {
            trial.passes(n_idle(&trial.case, trial.topology.n_ranks()));
        }
    }
}

#[test]
fn every_kernel_that_moves_data_notices_messages_that_arrive_wrong() {
    trials().iter().filter_map(|trials| trials.last()).for_each(Trial::notices_wrong_messages);
}

#[test]
fn every_kernel_notices_a_spoiled_check() {
    for trial in trials().iter().filter_map(|trials| trials.last()) {
        let outcome = trial.outcome(false, Corrupt::Nothing, true);
        assert!(outcome.mismatches.contains(&true), "{trial:?}");
    }
}

#[test]
fn kernels_describe_themselves() {
    harness::check_descriptions(&all_kernels());
}

/// Counts the cases that failed.
struct Failures(usize);

impl Listener for Failures {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.0 += usize::from(matches!(event, Event::CaseFailed(_)));
        Ok(())
    }
}

#[test]
fn buffers_are_untouched_under_the_rules_of_imb_and_osu() {
    // Each message that is sent from memory into which one was received arrives wrong.
    let n_failed = |rules| {
        let settings = Settings { rules, repetitions: Some(3), ..Settings::of(Profile::Quick) };
        let of_ranks = local::run_corrupting(Topology::hypercube(2), Corrupt::InPlace, |t| {
            let kernels = all_kernels();
            if t.rank() > 0 {
                driver::follow(t, &kernels, &settings).unwrap();
                return 0;
            }
            let named = |name| kernels.iter().find(|k| k.info().id() == name).unwrap().info();
            let cases = [
                Case::new(named("comet/echo"), &[1, 8]),
                Case::new(named("comet/exchange"), &[1, 8]),
                Case::new(named("parkbench/comms1"), &[8]),
                Case::new(named("osu/bw"), &[8]),
            ];
            let mut failures = Failures(0);
            driver::conduct(t, &kernels, &cases, &settings, &mut failures).unwrap();
            failures.0
        });
        of_ranks[0]
    };
    assert_eq!(n_failed(Rules::Imb), 0);
    assert_eq!(n_failed(Rules::Osu), 0);
    assert_eq!(n_failed(Rules::Comet), 3, "windows are never sent on");
}

#[test]
fn echo_sweeps_look_around_the_breaks_of_the_thesis() {
    let lengths = &crate::axes::MESSAGE_LENGTHS;
    for profile in [Profile::Standard, Profile::Full] {
        let values = sweep::parse(lengths.sweep(profile).unwrap(), None).unwrap();
        for length_bytes in [0, 100, 101, 2048, 2049, 4096, 4097, 1 << 20, 4 << 20] {
            assert!(values.contains(&length_bytes), "{length_bytes} in {profile:?}");
        }
    }
}
