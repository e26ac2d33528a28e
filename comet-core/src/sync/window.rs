//! Validity of starts in a window, length of the window, and the decision to give it up.

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
/// Starts that are late by less are good enough, whatever is measured.
const TOLERATED_NS: f64 = 100.0;
/// And so are those that are late by less than this share of what is measured.
const TOLERATED_OF_MEDIAN: f64 = 0.05;

/// The rule for windows of one point, which rank 0 keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRule {
    /// From the moment at which rank 0 names a start to the start, in nanoseconds.
    pub window_ns: u64,
    first_ns: u64,
    n_hopeless: u32,
}

impl WindowRule {
    /// The rule that begins with windows of `window_ns` (see [`window_ns`](super::window_ns)).
    pub fn new(window_ns: u64) -> Self {
        Self { window_ns, first_ns: window_ns, n_hopeless: 0 }
    }

    /// True if a sample counts, whose ranks started at the global times `starts_ns` though `due_ns`
    /// was agreed: if none was late by more than twice the error of the clocks, 5 % of the median
    /// of the measurement (if one is known) or 100 ns, whichever is most.
    pub fn judge(starts_ns: &[u64], due_ns: u64, median_ns: Option<f64>, bound_ns: u64) -> bool {
        let latest_ns = starts_ns.iter().max().copied().unwrap_or(due_ns);
        let of_median_ns = TOLERATED_OF_MEDIAN * median_ns.unwrap_or(0.0);
        let tolerated_ns = (2.0 * real(bound_ns)).max(of_median_ns).max(TOLERATED_NS);
        real(latest_ns.saturating_sub(due_ns)) <= tolerated_ns
    }

    /// Learns from a slice of `n_samples` samples, `n_invalid` of which do not count: with too many
    /// of them the window doubles.
    pub fn end_slice(&mut self, n_invalid: usize, n_samples: usize) {
        let exceeds = |share: f64| n_invalid as f64 > share * n_samples as f64;
        if exceeds(TOLERATED_SHARE) {
            self.window_ns = self.window_ns.saturating_mul(2);
        }
        self.n_hopeless += u32::from(exceeds(HOPELESS_SHARE));
    }

    /// True if windows do not work here, so that samples are to start at a barrier: more than half
    /// of the starts were late in three slices, or more than a quarter in seven.
    pub fn is_given_up(&self) -> bool {
        let longest_ns = self.first_ns.saturating_mul(MAX_GROWTH);
        self.n_hopeless >= MAX_HOPELESS || self.window_ns > longest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_counts_if_it_is_late_by_less_than_matters() {
        let check = |latest_ns, median_ns, bound_ns, expected| {
            let starts_ns = [1000, latest_ns, 990];
            let found = WindowRule::judge(&starts_ns, 1000, median_ns, bound_ns);
            assert_eq!(found, expected, "{latest_ns} {median_ns:?} {bound_ns}");
        };
        check(1100, None, 0, true);
        check(1101, None, 0, false);
        check(1150, Some(3000.0), 0, true);
        check(1151, Some(3000.0), 0, false);
        check(1600, Some(3000.0), 300, true);
        check(1601, Some(3000.0), 300, false);
        // Clocks that are wrong by a little may show a start before it was due.
        check(900, Some(1.0), 0, true);
    }

    #[test]
    fn a_window_doubles_above_a_quarter_and_is_given_up_after_three_hopeless_slices() {
        let mut rule = WindowRule::new(20_000);
        let mut check = |n_invalid, window_ns, is_given_up| {
            rule.end_slice(n_invalid, 100);
            assert_eq!((rule.window_ns, rule.is_given_up()), (window_ns, is_given_up));
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
        let mut rule = WindowRule::new(20_000);
        rule.end_slice(0, 0);
        assert_eq!(rule, WindowRule::new(20_000));
    }
}
