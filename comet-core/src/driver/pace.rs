//! Pace: repetitions, samples and starts of one batch.

use crate::kernel::MAX_SERIES;
use crate::sync::StartSync;

/// Repetitions and samples of a kernel, and the start of a sample; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Operations between two clock reads, at least 1.
    pub repetitions: u32,
    /// Timed batches per series.
    pub n_samples: u32,
    /// Operations before the first clock read, by series.
    pub settle: [u32; MAX_SERIES],
    /// Synchronisation before a sample, if the ranks start together.
    pub sync: StartSync,
    /// Length of a window, from its announcement to its opening, in nanoseconds.
    pub window_ns: u64,
    /// Scale of the skew that is injected between the starts of the ranks, in nanoseconds.
    pub skew_ns: u64,
    /// Number of the slice among those of its case: slices are skewed differently.
    pub slice: u32,
}

impl Pace {
    /// So many repetitions in each of so many samples, after `settle` operations of each series;
    /// samples that start together start at a barrier.
    pub const fn new(repetitions: u32, n_samples: u32, settle: u32) -> Self {
        Self {
            repetitions,
            n_samples,
            settle: [settle; MAX_SERIES],
            sync: StartSync::Barrier,
            window_ns: 0,
            skew_ns: 0,
            slice: 0,
        }
    }
}
