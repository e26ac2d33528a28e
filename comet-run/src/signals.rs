//! Signals that ask a run to end early: the handler raises a flag, the driver looks at it between
//! the rounds of a case.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Signals and their names.
const SIGNALS: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

/// Which signal has arrived, if one has. Clones look at the same flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// 0, or 1 and the index in [`SIGNALS`].
    flag: Arc<AtomicUsize>,
}

impl Signals {
    /// Catches the signals from now on, but for those that are ignored (SIGHUP under `nohup`);
    /// ranks that are started later inherit that.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn catch() -> io::Result<Self> {
        let signals = Self::default();
        let ignored = ignored_signals();
        for (index, (signal, _)) in SIGNALS.iter().enumerate() {
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            flag::register_usize(*signal, Arc::clone(&signals.flag), index + 1)?;
        }
        Ok(signals)
    }

    /// Name of the signal that arrived last.
    pub(crate) fn arrived(&self) -> Option<&'static str> {
        // Relaxed: the flag is all there is to see; it publishes nothing else.
        let index = self.flag.load(Ordering::Relaxed).checked_sub(1)?;
        SIGNALS.get(index).map(|(_, name)| *name)
    }
}

/// The signals that this process ignores, a bit each; none where the system does not say.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_names_the_signal() {
        let signals = Signals::default();
        assert_eq!(signals.arrived(), None);
        for (index, (_, name)) in SIGNALS.iter().enumerate() {
            signals.flag.store(index + 1, Ordering::Relaxed);
            assert_eq!(signals.clone().arrived(), Some(*name));
        }
    }
}
