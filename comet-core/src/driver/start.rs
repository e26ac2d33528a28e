//! Start of the samples of a case, and selection of those that count.

use crate::error::Result;
use crate::sample::Sample;
use crate::sync::{self, GlobalClock, StartSync, WindowRule};
use crate::transport::Transport;

/// Start of the samples of one case: rank 0 keeps it, and sends it to the others with each slice.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    sync: StartSync,
    rule: WindowRule,
    bound_ns: u64,
}

impl Starts {
    /// Finds out how long windows have to be, if there are any; all ranks call it.
    ///
    /// # Errors
    /// If the transport fails.
    pub(super) fn agree<T: Transport>(
        t: &T,
        sync: StartSync,
        clock: Option<&GlobalClock>,
    ) -> Result<Self> {
        let window_ns = if sync == StartSync::Window { sync::window_ns(t)? } else { 0 };
        let bound_ns = clock.map_or(0, GlobalClock::bound_ns);
        Ok(Self { sync, rule: WindowRule::new(window_ns), bound_ns })
    }

    /// Synchronisation of the next slice.
    pub(super) fn sync(&self) -> StartSync {
        let is_window = self.sync == StartSync::Window;
        if is_window && self.rule.is_given_up() { StartSync::Barrier } else { self.sync }
    }

    /// From the announcement of a window to its opening, in nanoseconds.
    pub(super) fn window_ns(&self) -> u64 {
        self.rule.window_ns
    }

    /// True if a sample counts: no rank was late by more than the error of the clocks and what
    /// matters to an operation of `median_ns`, if that is known yet.
    pub(super) fn is_valid(&self, of_ranks: &[Sample], median_ns: Option<f64>) -> bool {
        let Some(due_ns) = of_ranks.iter().find_map(|sample| sample.due_ns) else { return true };
        if of_ranks.iter().any(|sample| sample.is_skewed) {
            return true;
        }
        let starts_ns: Vec<u64> = of_ranks.iter().map(|sample| sample.start_ns).collect();
        WindowRule::judge(&starts_ns, due_ns, median_ns, self.bound_ns)
    }

    /// Learns from a slice, so many of whose samples do not count.
    pub(super) fn slice_ended(&mut self, n_invalid: usize, n_samples: usize) {
        self.rule.end_slice(n_invalid, n_samples);
    }
}
