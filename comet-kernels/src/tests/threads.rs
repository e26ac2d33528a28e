//! Kernels in several threads of each rank, over ranks and lanes that are threads.

use comet_core::driver::{self, Rules, Settings};
use comet_core::event::{Event, Listener};
use comet_core::kernel::{
    AxisUse, Case, ELEMENT, KernelInfo, LENGTH_BYTES, Profile, THREADS, WINDOW,
};
use comet_core::local::{self, Corrupt, Local};
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Transport as _};

/// Threads of each rank.
const N_THREADS: usize = 3;

/// Ranks of the samples of each case, and the sentences of those that failed.
#[derive(Default)]
struct Heard {
    ranks: Vec<(&'static str, Vec<Rank>)>,
    failures: Vec<String>,
}

impl Listener for Heard {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match event {
            Event::CaseFinished(measurement) => {
                let of_first = &measurement.series[0].ranks;
                let ranks = of_first.iter().map(|of_rank| of_rank.rank).collect();
                self.ranks.push((measurement.case.info.name, ranks));
            }
            Event::CaseFailed(failure) => self.failures.push(failure.message.clone()),
            _ => (),
        }
        Ok(())
    }
}

/// A case of each kernel of `suite` that has threads, in so many of each of `n_ranks`.
fn heard(suite: &str, n_threads: usize, n_ranks: usize, corrupt: Corrupt) -> Heard {
    let has_threads = |info: &KernelInfo| info.axes.iter().any(|used| *used.axis == THREADS);
    let mut kernels = super::all_kernels();
    kernels.retain(|kernel| kernel.info().suite == suite && has_threads(kernel.info()));
    let kernels = &kernels[..];
    let settings = Settings {
        rules: Rules::Imb,
        repetitions: Some(3),
        samples: Some(2),
        ..Settings::of(Profile::Quick)
    };
    let value = |used: &AxisUse| match used.axis {
        axis if *axis == THREADS => n_threads as u64,
        axis if *axis == LENGTH_BYTES => 24,
        axis if *axis == WINDOW => 4,
        axis if *axis == ELEMENT => 2,
        _ => 0,
    };
    let mut of_ranks = local::run_corrupting(Topology::hypercube(n_ranks), corrupt, |t| {
        if t.rank() > 0 {
            driver::follow(t, kernels, &settings).unwrap();
            return Heard::default();
        }
        let case = |kernel: &&dyn comet_core::kernel::Kernel<Local>| {
            let info = kernel.info();
            Case::new(info, &info.axes.iter().map(value).collect::<Vec<_>>())
        };
        let cases: Vec<Case> = kernels.iter().map(case).collect();
        let mut heard = Heard::default();
        driver::conduct(t, kernels, &cases, &settings, &mut heard).unwrap();
        heard
    });
    of_ranks.swap_remove(0)
}

#[test]
fn each_thread_of_each_rank_is_verified_and_sampled() {
    let Heard { ranks, failures } = heard("imb-mt", N_THREADS, 3, Corrupt::Nothing);
    assert_eq!((failures, ranks.len()), (vec![], 10));
    for (name, ranks) in ranks {
        // Of three ranks the last is in no pair.
        let is_of_pairs = ["pingpong", "pingping", "uniband", "biband"].contains(&name);
        let n_sampled = if is_of_pairs { 2 } else { 3 };
        let expected: Vec<Rank> = (0..n_sampled).flat_map(|rank| [rank; N_THREADS]).collect();
        assert_eq!(ranks, expected, "{name}");
    }
}

#[test]
fn wrong_messages_are_noticed_in_a_thread_which_is_named() {
    let failures = heard("imb-mt", N_THREADS, 2, Corrupt::Lane(N_THREADS - 1)).failures;
    // Collectives and barriers have tags of their own.
    assert_eq!(failures.len(), 6, "{failures:?}");
    for failure in failures {
        assert!(failure.ends_with(" (in thread 2)"), "{failure}");
    }
}

#[test]
fn a_second_thread_handles_messages_while_the_first_one_works() {
    for n_threads in [1, 2] {
        let Heard { ranks, failures } = heard("patterns", n_threads, 3, Corrupt::Nothing);
        assert_eq!(failures, Vec::<String>::new());
        assert_eq!(ranks, [("interrupt_receive", vec![0]), ("active_message", vec![0])]);
    }
    // The thread that works has no messages.
    assert_eq!(heard("patterns", 2, 2, Corrupt::Lane(0)).failures, Vec::<String>::new());
    let failures = heard("patterns", 2, 2, Corrupt::Lane(1)).failures;
    assert_eq!(failures.len(), 2, "{failures:?}");
    for failure in failures {
        assert!(failure.ends_with(" (in thread 1)"), "{failure}");
    }
}
