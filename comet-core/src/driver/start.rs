//! Start of the samples of a case, selection of those that count, length of windows, and the
//! decision to give them up.

use crate::error::Result;
use crate::sample::{Sample, start_skew_ns};
use crate::sync::{self, GlobalClock, StartSync};
use crate::transport::Transport;
use comet_stats::real;

/// The largest share of late starts in a slice at which the window stays as it is.
const TOLERATED_SHARE: f64 = 0.25;
/// The share of late starts at which a slice counts against the window.
const HOPELESS_SHARE: f64 = 0.5;
/// So many such slices, and the window is given up.
const MAX_HOPELESS: u32 = 3;
/// A window that has become so many times as long as at first is given up too: what makes starts late
/// does not depend on it.
const MAX_GROWTH: u64 = 64;
/// Starts that lie less apart are good enough, whatever is measured.
const TOLERATED_NS: f64 = 100.0;
/// And so are those that lie apart by less than this share of what is measured.
const TOLERATED_OF_MEDIAN: f64 = 0.05;

/// Start of the samples of one case: rank 0 keeps it, and sends it to the others with each slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Starts {
    sync: StartSync,
    /// From the announcement of a window to its opening, in nanoseconds: now, and at first.
    window_ns: u64,
    first_ns: u64,
    n_hopeless: u32,
    bound_ns: u64,
}

impl Starts {
    /// Finds out how long windows have to be, if there are any; all ranks call it.
    pub(super) fn agree<T: Transport>(
        t: &T,
        sync: StartSync,
        clock: Option<&GlobalClock>,
    ) -> Result<Self> {
        let window_ns = if sync == StartSync::Window { sync::window_ns(t)? } else { 0 };
        Ok(Self::new(sync, window_ns, clock.map_or(0, GlobalClock::bound_ns)))
    }

    fn new(sync: StartSync, window_ns: u64, bound_ns: u64) -> Self {
        Self { sync, window_ns, first_ns: window_ns, n_hopeless: 0, bound_ns }
    }

    /// Synchronisation of the next slice.
    pub(super) fn sync(&self) -> StartSync {
        self.sync
    }

    /// True if windows do not work here, because more than half of the starts were late in three
    /// slices, or more than a quarter in seven.
    pub(super) fn are_hopeless(&self) -> bool {
        let longest_ns = self.first_ns.saturating_mul(MAX_GROWTH);
        let is_hopeless = self.n_hopeless >= MAX_HOPELESS || self.window_ns > longest_ns;
        self.sync == StartSync::Window && is_hopeless
    }

    /// Starts after a barrier, in place of windows.
    pub(super) fn by_barrier(&self) -> Self {
        Self { sync: StartSync::Barrier, ..self.clone() }
    }

    /// From the announcement of a window to its opening, in nanoseconds.
    pub(super) fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// True if a sample counts: no rank started in its window later than the first by more than twice
    /// the error of the clocks, 5 % of the time `median_ns` of an operation (if one is known) or
    /// 100 ns, whichever is most. All ranks see a window open late, by a spin and a reading of the
    /// clock, so the moment at which it was due is no measure.
    pub(super) fn is_valid(&self, of_ranks: &[Sample], median_ns: Option<f64>) -> bool {
        if of_ranks.iter().any(|sample| sample.due_ns.is_none() || sample.is_skewed) {
            return true;
        }
        let of_median_ns = TOLERATED_OF_MEDIAN * median_ns.unwrap_or(0.0);
        let tolerated_ns = (2.0 * real(self.bound_ns)).max(of_median_ns).max(TOLERATED_NS);
        real(start_skew_ns(of_ranks)) <= tolerated_ns
    }

    /// Learns from a slice of `n_samples` samples, `n_invalid` of which do not count: with too many
    /// of them the window doubles.
    pub(super) fn slice_ended(&mut self, n_invalid: usize, n_samples: usize) {
        let exceeds = |share: f64| n_invalid as f64 > share * n_samples as f64;
        if exceeds(TOLERATED_SHARE) {
            self.window_ns = self.window_ns.saturating_mul(2);
        }
        self.n_hopeless += u32::from(exceeds(HOPELESS_SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_counts_if_it_is_later_than_the_first_by_less_than_matters() {
        let check = |latest_ns, median_ns, bound_ns, expected| {
            // All see the window open late by the same time, which is that of a look at the clock.
            for due_ns in [1000, 930, 0] {
                let of_ranks = [1020, latest_ns, 1000].map(|start_ns| Sample {
                    start_ns,
                    due_ns: Some(due_ns),
                    ..Sample::default()
                });
                let starts = Starts::new(StartSync::Window, 0, bound_ns);
                let found = starts.is_valid(&of_ranks, median_ns);
                assert_eq!(found, expected, "{due_ns} {latest_ns} {median_ns:?} {bound_ns}");
            }
        };
        check(1100, None, 0, true);
        check(1101, None, 0, false);
        check(1150, Some(3000.0), 0, true);
        check(1151, Some(3000.0), 0, false);
        check(1600, Some(3000.0), 300, true);
        check(1601, Some(3000.0), 300, false);
    }

    #[test]
    fn a_window_doubles_above_a_quarter_and_is_hopeless_after_three_such_slices() {
        let mut starts = Starts::new(StartSync::Window, 20_000, 0);
        let mut check = |n_invalid, window_ns, are_hopeless| {
            starts.slice_ended(n_invalid, 100);
            assert_eq!((starts.window_ns, starts.are_hopeless()), (window_ns, are_hopeless));
            let after = starts.by_barrier();
            assert_eq!((after.sync(), after.are_hopeless()), (StartSync::Barrier, false));
        };
        check(0, 20_000, false);
        check(25, 20_000, false);
        check(26, 40_000, false);
        check(51, 80_000, false);
        check(50, 160_000, false);
        check(90, 320_000, false);
        check(0, 320_000, false);
        check(100, 640_000, true);
        check(0, 640_000, true);
    }

    #[test]
    fn a_slice_without_samples_says_nothing() {
        let mut starts = Starts::new(StartSync::Window, 20_000, 0);
        starts.slice_ended(0, 0);
        assert_eq!(starts, Starts::new(StartSync::Window, 20_000, 0));
    }
}
