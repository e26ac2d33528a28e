//! Settings for all cases of a run: time, numbers and rules; and the pace of one batch.
//!
//! All ranks have the same settings; what follows from them for a case, rank 0 decides.

use std::sync::Arc;

use super::rules::{LoopLimits, Rules, StopRule};
use crate::collective::Graph;
use crate::conformance::Broken;
use crate::definition::Definition;
use crate::file::Folder;
use crate::kernel::{Buffers, Cast, Fault, KernelInfo, MAX_SERIES, Profile, World};
use crate::layout::Layouts;
use crate::sync::{Skew, StartSync};
use crate::topology::Topology;
use comet_stats::refine;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rules of repetition and reporting.
    pub rules: Rules,
    /// The definition of the times, in place of that of the kernels which admit it.
    pub definition: Option<Definition>,
    /// Time to spend on the samples of one case, in nanoseconds; the fewest slices are taken even
    /// if they take longer.
    pub case_budget_ns: u64,
    /// Time after which no further case is started, in nanoseconds; `None` for no limit.
    pub run_budget_ns: Option<u64>,
    /// Operations per sample, at most so many by IMB's rules, or `None` to choose by the clock's
    /// resolution.
    pub repetitions: Option<u32>,
    /// Limits of a loop by IMB's rules.
    pub loop_limits: LoopLimits,
    /// Rule of `SKaMPI` by which a case is done, under its rules.
    pub stop: StopRule,
    /// Operations before the timed ones of each slice, or `None` to choose by their time, or by the
    /// rules.
    pub warm_up: Option<u32>,
    /// Samples per case and series, or `None` to choose by the target and the budget.
    pub samples: Option<u32>,
    /// Slices of a result.
    pub slices: Slices,
    /// True if the cases of a kernel are visited in a shuffled order after the first pass, rather
    /// than in ascending order.
    pub is_shuffled: bool,
    /// True if the first pass is shuffled too: where no case is still to be found.
    pub shuffles_first: bool,
    /// Seed of the order and of the skew.
    pub seed: u64,
    /// Synchronisation before a sample, or `None` for a window if each rank has a core and clocks
    /// can be compared, and a barrier otherwise.
    pub sync: Option<StartSync>,
    /// Ids of the kernels that start after a barrier where others start in windows: earlier launches
    /// of the run found that their windows fail.
    pub after_barrier: Vec<String>,
    /// True if each rank has a core of its own to wait on; a window spins.
    pub has_core_each: bool,
    /// Ranks that start late.
    pub skew: Skew,
    /// Scale of that skew, in medians of the case without it.
    pub skew_scale: f64,
    /// The least time that passes before each case, in nanoseconds, if any; a tenth of that of the
    /// samples of the case before, where this is longer; none in simulation.
    pub pause_ns: u64,
    /// Rule for further message lengths between those of the sweep, if any.
    pub refine: Option<refine::Rule>,
    /// Buffers of the repetitions.
    pub buffers: Buffers,
    /// The user's ranks of a load and of an echo beside it.
    pub cast: Option<Cast>,
    /// The user's graph of neighbours.
    pub graph: Option<Graph>,
    /// The user's folder for files.
    pub files: Option<Folder>,
    /// Operations that the transport guarantees and that fail: kernels that need them are skipped.
    pub broken: Broken,
    /// Layouts of the messages, one for each case that has some.
    pub layouts: Vec<Arc<Layouts>>,
    /// Memory limit of a case on one rank, in bytes; larger cases are skipped.
    pub cap_bytes: u64,
    /// A fault of the kernel of this id, to show that its checks notice it.
    pub fault: Option<(&'static Fault, String)>,
}

/// Slices of a result, each of which is one visit of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slices {
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// The most samples in one.
    pub max_samples: u32,
    /// Time to spend on the samples of one, in nanoseconds.
    pub length_ns: u64,
    /// Half width of the interval at which a case is done, relative to the median; `None` to stop
    /// after the fewest slices.
    pub target: Option<f64>,
    /// The least time from one slice of a case to the next, in nanoseconds: slices that follow each
    /// other at once are not independent.
    pub gap_ns: u64,
}

/// The longest correlation that was seen in a series of ping-pongs lasted 24 ms.
const GAP_NS: u64 = 25_000_000;

/// Samples of a case on an exact transport: one, and one more that repeats it.
const EXACT_SAMPLES: u32 = 2;
/// Repetitions in each, and in a job of more than [`FEW_RANKS`] one. An even number, since ranks that
/// exchange messages may lead in turn.
const EXACT_REPETITIONS: u32 = 10;
const FEW_RANKS: usize = 4096;

const QUICK: Slices =
    Slices { min: 3, max: 3, max_samples: 20, length_ns: 5_000_000, target: None, gap_ns: 0 };

const STANDARD: Slices =
    Slices { min: 10, max: 20, max_samples: 100, target: Some(0.025), gap_ns: GAP_NS, ..QUICK };

const FULL: Slices = Slices { min: 20, max: 40, max_samples: 50, target: Some(0.01), ..STANDARD };

impl Settings {
    /// The settings of a profile.
    pub fn of(profile: Profile) -> Self {
        let (case_budget_ns, slices) = match profile {
            Profile::Quick => (20_000_000, QUICK),
            Profile::Standard => (200_000_000, STANDARD),
            Profile::Full => (2_000_000_000, FULL),
        };
        Self {
            rules: Rules::Comet,
            definition: None,
            case_budget_ns,
            run_budget_ns: None,
            repetitions: None,
            loop_limits: LoopLimits::IMB,
            stop: StopRule::SKAMPI,
            warm_up: None,
            samples: None,
            slices,
            is_shuffled: true,
            shuffles_first: false,
            seed: 1,
            sync: None,
            after_barrier: Vec::new(),
            has_core_each: false,
            skew: Skew::None,
            skew_scale: 1.0,
            pause_ns: 0,
            refine: None,
            buffers: Buffers::Same,
            cast: None,
            graph: None,
            files: None,
            broken: Broken::default(),
            layouts: Vec::new(),
            cap_bytes: u64::MAX,
            fault: None,
        }
    }

    /// Takes the samples that determine the times of an exact transport, whose times repeat to the
    /// last bit, on at most `n_ranks` ranks, unless other numbers are set.
    pub fn sample_exactly(&mut self, n_ranks: usize) {
        if self.samples.is_none() {
            self.samples = Some(EXACT_SAMPLES);
            self.slices.min = 1;
        }
        let are_many = n_ranks > FEW_RANKS;
        self.repetitions.get_or_insert(if are_many { 1 } else { EXACT_REPETITIONS });
        if are_many {
            self.warm_up.get_or_insert(1);
        }
    }

    /// The ranks of `topology`, with the cast, the graph, the folder, the layouts and the memory limit.
    pub fn world<'a>(&'a self, topology: &'a Topology) -> World<'a> {
        let Self { cast: given_cast, cap_bytes, buffers, .. } = *self;
        let (graph, files) = (self.graph.as_ref(), self.files.as_ref());
        let layouts = &self.layouts[..];
        World { given_cast, graph, files, layouts, cap_bytes, buffers, ..World::of(topology) }
    }

    /// True if messages are sent from buffers into which nothing is received: by the rules, or because
    /// the gaps of a layout would be those of another message.
    pub fn are_untouched(&self) -> bool {
        self.rules.are_untouched() || !self.layouts.is_empty()
    }

    /// The definition asked for where `info` is measured: the user's, or that of the rules.
    pub fn definition(&self, info: &KernelInfo) -> Option<Definition> {
        self.definition.or(self.rules.definition(info))
    }
}

/// Repetitions and samples of a kernel, and the start of a sample; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Operations between two clock reads, at least 1.
    pub repetitions: u32,
    /// Timed batches per series.
    pub n_samples: u32,
    /// Timed batches before those, which are not kept.
    pub n_discarded: u32,
    /// Operations before the first clock read, by series.
    pub settle: [u32; MAX_SERIES],
    /// Synchronisation before a sample, if the ranks start together.
    pub sync: StartSync,
    /// Length of a window, from its announcement to its opening, in nanoseconds.
    pub window_ns: u64,
    /// From the opening of a window to that of the next one, in nanoseconds; 0 where each is announced.
    pub period_ns: u64,
    /// Scale of the skew that is injected between the starts of the ranks, in nanoseconds.
    pub skew_ns: u64,
    /// Number of the slice among those of its case: slices are skewed differently.
    pub slice: u32,
    /// Samples before the ranks look at what has arrived and begin again; 0 if they look behind the last one alone.
    pub looks_after: u32,
    /// True if the ranks prove the barrier at which they meet before they take samples.
    pub proves_barrier: bool,
}

impl Pace {
    /// The pace of the samples before a look at what has arrived, and of those behind it, before which come the
    /// operations of one more batch. Virtual time has no caches that have to be warm again.
    pub(crate) fn stretches(self, is_virtual: bool) -> impl Iterator<Item = Self> {
        let n_before = if self.looks_after > 0 { self.looks_after } else { self.n_samples };
        let most = if is_virtual { 0 } else { self.repetitions };
        let behind = Self {
            n_samples: self.n_samples - n_before,
            settle: self.settle.map(|n| n.min(most)),
            // Skews are drawn from it.
            slice: self.slice | 1 << 31,
            looks_after: 0,
            ..self
        };
        let before = Self { n_samples: n_before, ..self };
        [before, behind].into_iter().take(if self.looks_after > 0 { 2 } else { 1 })
    }

    /// Number of timed batches, kept or not.
    pub(crate) fn n_batches(self) -> u32 {
        self.n_discarded + self.n_samples
    }

    /// So many repetitions in each of so many samples, after `settle` operations of each series;
    /// samples that start together start at a barrier.
    pub const fn new(repetitions: u32, n_samples: u32, settle: u32) -> Self {
        Self {
            repetitions,
            n_samples,
            n_discarded: 0,
            settle: [settle; MAX_SERIES],
            sync: StartSync::Barrier,
            window_ns: 0,
            period_ns: 0,
            skew_ns: 0,
            slice: 0,
            looks_after: 0,
            proves_barrier: false,
        }
    }
}
