//! Checks that every kernel passes, over ranks that are threads of the test.

use comet_core::context::{Context, Method};
use comet_core::definition::Definition;
use comet_core::driver::Pace;
use comet_core::error::KernelError;
use comet_core::kernel::{
    Case, Class, HOPS, History, Kernel, KernelInfo, LENGTH_BYTES, MAX_AXES, Profile, World,
};
use comet_core::local::{self, Corrupt, Local};
use comet_core::sweep;
use comet_core::topology::Topology;
use comet_core::transport::{Source, Tag, Transport};
use comet_stats::Summary;

use crate::comet::echo;
use crate::model::pairs::PAIRS;

const PACE: Pace = Pace::new(3, 2, 1);

/// Numbers of ranks: alone, a pair, odd ones, and those of the thesis' contention.
const N_RANKS: [usize; 5] = [1, 2, 3, 5, 8];

/// Tags that kernels may use; none may be left on its way.
const TAGS: std::ops::RangeInclusive<u16> = 0..=100;

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

/// The first and the last of these cases.
fn smoke_cases(kernel: &dyn Kernel<Local>, n_ranks: usize) -> Vec<Case> {
    let cases = admitted_cases(kernel, n_ranks);
    [cases.first(), cases.last()].into_iter().flatten().copied().collect()
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

/// A step of a kernel.
type Step = fn(&dyn Kernel<Local>, &mut Context<'_, Local>, &Case) -> Result<(), KernelError>;

/// Whether some rank reports a mismatch in `step`; none may report anything else.
fn is_noticed(
    kernel: &dyn Kernel<Local>,
    case: &Case,
    (n_ranks, corrupt): (usize, Corrupt),
    (step, corrupt_check): (Step, bool),
) -> bool {
    let results = local::run_corrupting(Topology::hypercube(n_ranks), corrupt, |t| {
        step(kernel, &mut context(t, case.info, corrupt_check), case)
    });
    let is_mismatch = |error: &KernelError| matches!(error, KernelError::Mismatch { .. });
    let errors: Vec<KernelError> = results.into_iter().filter_map(Result::err).collect();
    assert!(errors.iter().all(is_mismatch), "{} on {n_ranks} ranks: {errors:?}", case.label());
    !errors.is_empty()
}

/// The last quick case of each kernel that moves data, on each number of ranks that admits it.
fn moving_cases() -> Vec<(&'static dyn Kernel<Local>, Case, usize)> {
    let on = |n_ranks| all_kernels().into_iter().map(move |kernel| (kernel, n_ranks));
    let last = |(kernel, n_ranks): (&'static dyn Kernel<Local>, usize)| {
        Some((kernel, admitted_cases(kernel, n_ranks).pop()?, n_ranks))
    };
    let moves = |(_, case, _): &(_, Case, usize)| {
        case.info.class.moves_messages() && case.info.class != Class::Synchronisation
    };
    N_RANKS.into_iter().flat_map(on).filter_map(last).filter(moves).collect()
}

#[test]
fn every_kernel_verifies_and_is_sampled_where_its_definition_says() {
    for kernel in all_kernels() {
        for n_ranks in N_RANKS {
            for case in smoke_cases(kernel, n_ranks) {
                let samples = local::run(n_ranks, |t| run_case(kernel, t, &case));
                check_samples(&case, &samples);
            }
        }
    }
}

#[test]
fn every_kernel_that_moves_data_notices_messages_that_arrive_wrong() {
    for (kernel, case, n_ranks) in moving_cases() {
        let steps: [(Step, Corrupt); 3] = [
            (|kernel, cx, case| kernel.verify(cx, case), Corrupt::All),
            (|kernel, cx, case| kernel.measure(cx, case), Corrupt::All),
            (|kernel, cx, case| kernel.measure(cx, case), Corrupt::Repeated),
        ];
        for (step, corrupt) in steps {
            let noticed = is_noticed(kernel, &case, (n_ranks, corrupt), (step, false));
            assert!(noticed, "{} on {n_ranks} ranks, {corrupt:?}", case.label());
        }
    }
}

#[test]
fn every_kernel_that_sends_what_arrived_notices_wrong_messages_from_there() {
    let mut n_noticed = 0;
    for (kernel, case, n_ranks) in moving_cases() {
        let (step, corrupt): (Step, _) =
            (|kernel, cx, case| kernel.measure(cx, case), Corrupt::InPlace);
        let noticed = is_noticed(kernel, &case, (n_ranks, corrupt), (step, false));
        let resends = !["bw", "comms3", "reduction", "broadcast"].contains(&case.info.name);
        assert!(noticed || !resends, "{} on {n_ranks} ranks", case.label());
        n_noticed += usize::from(noticed);
    }
    assert!(n_noticed > 0);
}

#[test]
fn every_kernel_notices_a_spoiled_check() {
    for kernel in all_kernels() {
        for n_ranks in N_RANKS {
            let Some(case) = admitted_cases(kernel, n_ranks).pop() else { continue };
            let step: Step = |kernel, cx, case| kernel.verify(cx, case);
            let noticed = is_noticed(kernel, &case, (n_ranks, Corrupt::Nothing), (step, true));
            assert!(noticed, "{} on {n_ranks} ranks", case.label());
        }
    }
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
fn ids_are_unique() {
    let mut ids: Vec<String> = all_kernels().iter().map(|kernel| kernel.info().id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all_kernels().len());
}

#[test]
fn the_comet_suite_is_in_the_order_of_the_thesis() {
    let names: Vec<&str> = crate::comet::<Local>().iter().map(|k| k.info().name).collect();
    assert_eq!(
        names,
        ["echo", "exchange", "broadcast", "reduction", "barrier", "contention", "overlap"]
    );
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
