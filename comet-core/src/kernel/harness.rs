//! Checks that kernels pass over ranks that are threads, for the tests of crates with kernels.

use std::sync::OnceLock;

use super::{
    AxisKind, AxisUse, Buffers, Case, Class, FAULTS, HEADINGS, History, Kernel, KernelInfo,
    MAX_AXES, Profile, Rate, Section, World,
};
use crate::context::{Context, Method};
use crate::driver::Pace;
use crate::error::KernelError;
use crate::local::{self, Corrupt, Local};
use crate::sweep;
use crate::topology::Topology;
use crate::transport::{Source, Tag, Transport};

const PACE: Pace = Pace::new(3, 2, 1);

/// Tags that kernels may use; none may be left on its way.
const TAGS: std::ops::RangeInclusive<u16> = 0..=100;

/// A case of a kernel, and the ranks that carry it out.
#[derive(Clone)]
pub struct Trial {
    /// The kernel.
    pub kernel: &'static dyn Kernel<Local>,
    /// Its case.
    pub case: Case,
    /// The ranks.
    pub topology: Topology,
    /// Buffers of the repetitions.
    pub buffers: Buffers,
}

impl std::fmt::Debug for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} ranks", self.case.label(), self.topology.n_ranks())
    }
}

/// Mismatches that the ranks of a trial found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// True for each rank that found one.
    pub mismatches: Vec<bool>,
    /// True if a message arrived changed.
    pub is_corrupted: bool,
}

/// Rounds of busy work per millisecond, the same for all trials of a process.
static ROUNDS_PER_MS: OnceLock<u64> = OnceLock::new();

fn method<'a>() -> Method<'a> {
    Method { rounds_per_ms: Some(&ROUNDS_PER_MS), ..Method::default() }
}

/// A context for one run of a kernel on `t`; `corrupt` spoils what the kernel checks.
pub fn context<'a>(t: &'a Local, info: &'static KernelInfo, corrupt: bool) -> Context<'a, Local> {
    Context::new(t, info, PACE, method(), corrupt.then_some(&FAULTS[0]))
}

/// The cases of the kernel `info` that the ranks of `topology` admit, of the product of the values
/// that `of_axis` gives; 0 on axes whose values are found during a run.
pub fn cases(
    info: &'static KernelInfo,
    topology: &Topology,
    of_axis: impl Fn(&AxisUse) -> Vec<u64>,
) -> Vec<Case> {
    let mut cases = vec![Case::new(info, &[])];
    for used in info.axes.iter().filter(|used| used.axis.kind != AxisKind::Found) {
        let values = of_axis(used);
        let with_each = |case: Case| values.iter().map(move |value| case.with(used.axis, *value));
        cases = cases.into_iter().flat_map(with_each).collect();
    }
    cases.retain(|case| World::of(topology).admit(case).is_ok());
    cases
}

/// The [`cases`] of `kernel`, completed from `history`.
///
/// # Panics
/// If the kernel does not complete a case.
pub fn trials(
    kernel: &'static dyn Kernel<Local>,
    topology: &Topology,
    history: &History,
    of_axis: impl Fn(&AxisUse) -> Vec<u64>,
) -> Vec<Trial> {
    let trial = |case| {
        let case = kernel.resolve(case, &World::of(topology), history);
        let case = case.expect("the history completes the case");
        Trial { kernel, case, topology: topology.clone(), buffers: Buffers::Same }
    };
    cases(kernel.info(), topology, of_axis).into_iter().map(trial).collect()
}

/// The values of an axis under the profile `quick`.
///
/// # Panics
/// If they cannot be read.
pub fn quick_values(used: &AxisUse, topology: &Topology) -> Vec<u64> {
    let max = used.axis.max.map(|max| max(topology));
    let text = used.sweep(Profile::Quick).expect("values that are given");
    sweep::parse(text, max).unwrap_or_else(|error| panic!("{text}: {error}"))
}

impl Trial {
    /// Verifies, measures and verifies. The ranks on which a definition is made take all samples of
    /// a series, but for `n_idle` without a part; no message is left behind.
    ///
    /// # Panics
    /// If any of this fails.
    pub fn passes(&self, n_idle: usize) {
        let n_ranks = self.topology.n_ranks();
        let samples = local::run_with(self.topology.clone(), false, |t| self.run(t));
        for (index, series) in self.case.info.series.iter().enumerate() {
            let n_of_ranks: Vec<usize> = samples.iter().map(|of_rank| of_rank[index]).collect();
            let n_sampling = n_of_ranks.iter().filter(|n| **n > 0).count();
            let expected = if series.definition.is_of_one_rank() { 1 } else { n_ranks - n_idle };
            let label = format!("samples of {} of {self:?}", series.name);
            assert_eq!(n_sampling, expected, "ranks with {label}");
            assert_eq!(
                n_of_ranks.iter().sum::<usize>(),
                expected * PACE.n_samples as usize,
                "{label}"
            );
        }
    }

    fn context<'a>(&self, t: &'a Local, corrupt: bool) -> Context<'a, Local> {
        let method = Method { buffers: self.buffers, n_barriers: 2, ..method() };
        let pace = Pace { looks_after: u32::from(self.case.info.begins_again), ..PACE };
        Context::new(t, self.case.info, pace, method, corrupt.then_some(&FAULTS[0]))
    }

    /// Numbers of samples that this rank took of each series.
    fn run(&self, t: &Local) -> Vec<usize> {
        let mut cx = self.context(t, false);
        for step in [Kernel::verify, Kernel::measure, Kernel::verify] {
            if let Err(error) = step(self.kernel, &mut cx, &self.case) {
                panic!("rank {} of {self:?}: {error}", t.rank());
            }
        }
        t.barrier().expect("no rank fails");
        for tag in TAGS {
            let left = t.probe(Source::Any, Tag::new(tag)).expect("no rank fails");
            assert_eq!(left, None, "{self:?} leaves a message");
        }
        cx.into_samples().iter().map(Vec::len).collect()
    }

    /// Measures or else verifies the case while messages arrive changed by `corrupt`, or while a
    /// check spoils its data.
    ///
    /// # Panics
    /// If a rank reports anything but a mismatch.
    pub fn outcome(&self, measures: bool, corrupt: Corrupt, spoils_check: bool) -> Outcome {
        let of_ranks = local::run_corrupting(self.topology.clone(), corrupt, |t| {
            let mut cx = self.context(t, spoils_check);
            let step = if measures { Kernel::measure } else { Kernel::verify };
            (step(self.kernel, &mut cx, &self.case), t.has_corrupted())
        });
        let is_mismatch = |result: &Result<(), KernelError>| match result {
            Ok(()) => false,
            Err(KernelError::Mismatch { .. }) => true,
            Err(error) => panic!("{self:?}: {error}"),
        };
        Outcome {
            mismatches: of_ranks.iter().map(|(result, _)| is_mismatch(result)).collect(),
            is_corrupted: of_ranks.iter().any(|(_, is_corrupted)| *is_corrupted),
        }
    }

    /// Measures and verifies over transports that change messages: some rank notices if a message
    /// of the kernel was changed. True if the kernel sends what has arrived, that is from memory into
    /// which a message was received; then these messages alone are changed too. A kernel that moves
    /// no data is let off.
    ///
    /// # Panics
    /// If no rank notices, or if no message was changed that should have been.
    pub fn notices_wrong_messages(&self) -> bool {
        let class = self.case.info.class;
        if !class.moves_messages() || class == Class::Synchronisation {
            return false;
        }
        let mut resends = false;
        for (measures, corrupt) in [
            (false, Corrupt::All),
            (true, Corrupt::All),
            (true, Corrupt::Repeated),
            (true, Corrupt::InPlace),
        ] {
            let Outcome { mismatches, is_corrupted } = self.outcome(measures, corrupt, false);
            let label = format!("{self:?}, {corrupt:?}");
            assert!(
                is_corrupted || corrupt == Corrupt::InPlace,
                "no message was changed in {label}"
            );
            assert_eq!(mismatches.contains(&true), is_corrupted, "{label}");
            resends |= is_corrupted && corrupt == Corrupt::InPlace;
        }
        resends
    }
}

/// Checks ids, summaries, series, and the default values of all axes.
///
/// # Panics
/// If a description is not sound.
pub fn check_descriptions(kernels: &[&dyn Kernel<Local>]) {
    let mut ids = std::collections::HashSet::new();
    for info in kernels.iter().map(|kernel| kernel.info()) {
        let (id, length) = (info.id(), info.summary.chars().count());
        assert!(ids.insert(id.clone()), "{id} is there twice");
        assert!((1..=72).contains(&length) && !info.summary.ends_with('.'), "{id}");
        assert!(info.axes.len() <= MAX_AXES, "{id}");
        check_header(info);
        let names: std::collections::HashSet<_> = info.series.iter().map(|s| s.name).collect();
        let n_series = info.series.len();
        assert!(names.len() == n_series && (1..=super::MAX_SERIES).contains(&n_series), "{id}");
        for (used, profile) in info.axes.iter().flat_map(|used| {
            [Profile::Quick, Profile::Standard, Profile::Full].map(|profile| (used, profile))
        }) {
            let Some(text) = used.sweep(profile) else { continue };
            for max in 0..=4 {
                let values = sweep::parse(text, Some(max));
                assert!(values.is_ok_and(|values| !values.is_empty()), "{id} {text}");
            }
        }
    }
}

/// Checks the header of the file of `info`: all headings in their order, in ASCII, and a rate if
/// messages move bytes.
fn check_header(info: &'static KernelInfo) {
    let (id, sections) = (info.id(), info.sections());
    let headings: Vec<&str> = sections.iter().map(|section| section.heading).collect();
    assert_eq!(headings, HEADINGS, "{id}");
    let is_filled = |section: &Section| section.text.is_ascii() && !section.sentence().is_empty();
    assert!(sections.iter().all(is_filled), "{id}: {sections:?}");
    // A file of many kernels draws their names by both ends.
    let ends = info.name.split_once('_').zip(info.name.rsplit_once('_'));
    let has = |text: String| info.file.contains(&text);
    let has_ends = ends.is_some_and(|((first, _), (_, last))| {
        has(format!("  {first}_")) && has(format!("*_{last} "))
    });
    // One of collectives in several forms names the collectives.
    let name = info.name.trim_end_matches("_pure").trim_end_matches("_persist");
    let quoted = |name: &str| has(format!("\"{name}\""));
    let is_named = quoted(info.name) || has_ends || quoted(name.trim_start_matches('i'));
    assert!(is_named, "the file of {id} is another one");
    let topology = Topology::hypercube(4);
    let (case, world) = (Case::new(info, &vec![1; info.axes.len()]), World::of(&topology));
    let moves_bytes = info.series.iter().any(|s| (s.bytes_per_op)(&case, &world).is_some());
    for series in info.series {
        let is_alone = |kind| series.rates.iter().filter(|rate| rate.kind == kind).count() == 1;
        assert!(series.rates.iter().all(|rate| is_alone(rate.kind)), "{id}: one rate of a kind");
        let is_of_time = |rate: &Rate| rate.formula.is_ascii() && rate.formula.ends_with(" / time");
        assert!(series.rates.iter().all(is_of_time), "{id}: formulas");
    }
    let has_rate = info.sentence("Rate") != "none";
    assert!(has_rate || !moves_bytes, "{id} has a rate");
}
