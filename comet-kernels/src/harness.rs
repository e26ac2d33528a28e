//! Checks that every kernel passes, over ranks that are threads of the test.

use comet_core::context::{Context, Method};
use comet_core::definition::Definition;
use comet_core::driver::Pace;
use comet_core::error::KernelError;
use comet_core::kernel::{
    Case, HOPS, History, Kernel, KernelInfo, LENGTH_BYTES, MAX_AXES, Profile, World,
};
use comet_core::local::{self, Local};
use comet_core::sweep;
use comet_core::topology::Topology;
use comet_core::transport::{Source, Tag, Transport};
use comet_stats::Summary;

use crate::comet::echo;
use crate::model::pairs::PAIRS;

const PACE: Pace = Pace::new(3, 2, 1);

/// Tags that kernels may use; none may be left on its way.
const TAGS: std::ops::RangeInclusive<u16> = 0..=100;

/// Verifies, measures and verifies again each quick case of `kernel` on 1 to 9 ranks, and sees that
/// samples are where the definition says, that no message is left over, and that a spoiled check
/// fails.
pub(crate) fn check_kernel(kernel: &dyn Kernel<Local>) {
    for n_ranks in 1..=9 {
        for case in admitted_cases(kernel, n_ranks) {
            let samples = local::run(n_ranks, |t| run_case(kernel, t, &case));
            check_samples(&case, &samples);
        }
        let ends_with_bytes = |case: &Case| case.find(&LENGTH_BYTES) != Some(0);
        let last = admitted_cases(kernel, n_ranks).into_iter().rfind(ends_with_bytes);
        if let Some(case) = last {
            assert_mismatch(kernel, &case, (n_ranks, false), true);
        }
    }
}

/// Sees that `kernel` reports a mismatch in each quick case that carries bytes when the transport
/// spoils them, and ends on all ranks.
pub(crate) fn check_corrupt_transport(kernel: &dyn Kernel<Local>) {
    for n_ranks in 1..=9 {
        for case in admitted_cases(kernel, n_ranks) {
            if case.value(&LENGTH_BYTES) > 0 {
                assert_mismatch(kernel, &case, (n_ranks, true), false);
            }
        }
    }
}

/// A context for one run of a kernel on `t`.
pub(crate) fn context<'a>(
    t: &'a Local,
    info: &'static KernelInfo,
    corrupt: bool,
) -> Context<'a, Local> {
    Context::new(t, info, PACE, Method::default(), corrupt)
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

/// The quick cases of `kernel` that `n_ranks` ranks admit.
fn admitted_cases(kernel: &dyn Kernel<Local>, n_ranks: usize) -> Vec<Case> {
    let topology = Topology::hypercube(n_ranks);
    let mut cases = vec![Case::new(kernel.info(), &[])];
    for used in kernel.info().axes {
        let Some(text) = used.sweep(Profile::Quick) else { continue };
        let values = sweep::parse(text, used.axis.max.map(|max| max(&topology))).unwrap();
        let with_each = |case: Case| values.iter().map(move |value| case.with(used.axis, *value));
        cases = cases.into_iter().flat_map(with_each).collect();
    }
    cases.retain(|case| (case.info.admits)(case, &World::of(&topology)).is_ok());
    let history = echo_history();
    cases
        .into_iter()
        .map(|case| kernel.resolve(case, &World::of(&topology), &history).unwrap())
        .collect()
}

/// Verifies, measures and verifies; how many samples this rank took of each series.
fn run_case(kernel: &dyn Kernel<Local>, t: &Local, case: &Case) -> Vec<usize> {
    let mut cx = context(t, case.info, false);
    for step in [Kernel::verify, Kernel::measure, Kernel::verify] {
        if let Err(error) = step(kernel, &mut cx, case) {
            panic!("{} on rank {} of {}: {error}", case.label(), t.rank(), t.n_ranks());
        }
    }
    t.barrier().unwrap();
    for tag in TAGS {
        let left = t.probe(Source::Any, Tag::new(tag)).unwrap();
        assert_eq!(left, None, "{} leaves a message", case.label());
    }
    cx.into_samples().iter().map(Vec::len).collect()
}

fn check_samples(case: &Case, of_ranks: &[Vec<usize>]) {
    let n_ranks = of_ranks.len();
    for (index, series) in case.info.series.iter().enumerate() {
        let n_samples: usize = of_ranks.iter().map(|of_series| of_series[index]).sum();
        let n_sampling = of_ranks.iter().filter(|of_series| of_series[index] > 0).count();
        let expected = match series.definition {
            Definition::Completion if case.find(&PAIRS).is_some() => 2 * case.length(&PAIRS),
            Definition::Completion | Definition::MaxLocal => n_ranks,
            // A rank without a pair rests.
            Definition::LoopMean => n_ranks - n_ranks % 2,
            _ => 1,
        };
        let label = format!("{} of {} on {n_ranks} ranks", series.name, case.label());
        assert_eq!(n_sampling, expected, "ranks that sampled {label}");
        assert_eq!(n_samples, expected * PACE.n_samples as usize, "samples of {label}");
    }
}

/// Some rank must report a mismatch, and none anything else.
fn assert_mismatch(
    kernel: &dyn Kernel<Local>,
    case: &Case,
    (n_ranks, corrupt_transport): (usize, bool),
    corrupt_check: bool,
) {
    let topology = Topology::hypercube(n_ranks);
    let results = local::run_with(topology, corrupt_transport, |t| {
        kernel.verify(&mut context(t, case.info, corrupt_check), case)
    });
    let is_mismatch = |error: &KernelError| matches!(error, KernelError::Mismatch { .. });
    let errors: Vec<KernelError> = results.into_iter().filter_map(Result::err).collect();
    let label = format!("{} on {n_ranks} ranks: {errors:?}", case.label());
    assert!(!errors.is_empty() && errors.iter().all(is_mismatch), "{label}");
}

fn all_kernels() -> Vec<&'static dyn Kernel<Local>> {
    [
        crate::comet(),
        crate::naive(),
        crate::parkbench(),
        crate::model(),
        crate::health(),
        crate::osu(),
    ]
    .concat()
}

#[test]
fn ids_are_unique_and_name_their_suite() {
    let mut ids: Vec<String> = all_kernels().iter().map(|kernel| kernel.info().id()).collect();
    for id in &ids {
        let (suite, name) = id.split_once('/').expect("an id is suite/name");
        assert!(
            ["comet", "naive", "parkbench", "model", "health", "osu"].contains(&suite)
                && !name.contains('/'),
            "{id}"
        );
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all_kernels().len());
}

#[test]
fn the_comet_suite_is_in_the_order_of_the_thesis() {
    let names: Vec<&str> = crate::comet::<Local>().iter().map(|k| k.info().name).collect();
    assert_eq!(
        names,
        ["echo", "exchange", "broadcast", "reduction", "barrier", "contention", "overlap",]
    );
}

#[test]
fn the_parkbench_suite_has_the_kernels_of_its_report() {
    let names: Vec<&str> = crate::parkbench::<Local>().iter().map(|k| k.info().name).collect();
    assert_eq!(names, ["comms1", "comms2", "comms3", "poly1", "poly3", "synch1"]);
}

#[test]
fn kernels_describe_themselves() {
    for info in all_kernels().iter().map(|kernel| kernel.info()) {
        let id = info.id();
        let length = info.summary.chars().count();
        assert!((1..=72).contains(&length) && !info.summary.ends_with('.'), "{id}");
        assert!(!info.source.is_empty(), "{id}");
        assert!(info.axes.len() <= MAX_AXES, "{id}");
        assert!(info.series.len() <= comet_core::kernel::MAX_SERIES, "{id}");
        let mut series: Vec<&str> = info.series.iter().map(|series| series.name).collect();
        series.sort_unstable();
        series.dedup();
        assert!(!series.is_empty() && series.len() == info.series.len(), "{id}");
    }
}

#[test]
fn every_default_sweep_can_be_read_on_any_number_of_ranks() {
    for info in all_kernels().iter().map(|kernel| kernel.info()) {
        for (used, profile) in info.axes.iter().flat_map(|used| {
            [Profile::Quick, Profile::Standard, Profile::Full].map(|profile| (used, profile))
        }) {
            let Some(text) = used.sweep(profile) else { continue };
            for max_hops in 0..=4 {
                let values = sweep::parse(text, Some(max_hops));
                assert!(values.is_ok_and(|v| !v.is_empty()), "{} {text}", info.id());
            }
        }
    }
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
