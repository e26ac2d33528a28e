//! Signals that ask a run to end early: the handler raises a flag, the driver looks at it between
//! the rounds of a case.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{SigSet, Signal};
use signal_hook::SigId;
use signal_hook::{flag, low_level};

use crate::exit::SIGNALS;

/// The signal that has arrived, if one has. Clones look at the same flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// 0, or 1 and the index in [`SIGNALS`].
    flag: Arc<AtomicUsize>,
    /// Handlers that end this process at the second signal.
    impatient: Arc<Mutex<Vec<SigId>>>,
}

impl Signals {
    /// Catches the signals from now on, but for those that are ignored (SIGHUP under `nohup`), also
    /// where the parent blocks them; ranks that are started later inherit that.
    pub(crate) fn catch() -> io::Result<Self> {
        let signals = Self::default();
        signals.raise_flag()?;
        Ok(signals)
    }

    /// Like [`catch`](Self::catch), and the second signal ends this process at once, as long as no
    /// rank runs.
    pub(crate) fn catch_before_ranks() -> io::Result<Self> {
        let signals = Self::default();
        let seen = Arc::new(AtomicBool::new(false));
        for (_, signal) in caught() {
            // A handler that finds the flag raised ends the process; the next one raises it.
            let end = flag::register_conditional_shutdown(signal, 128 + signal, seen.clone())?;
            signals.impatient().extend([end, flag::register(signal, seen.clone())?]);
        }
        signals.raise_flag()?;
        Ok(signals)
    }

    /// From now on ranks run, and whoever watches over them sees to the second signal.
    pub(crate) fn leave_to_ranks(&self) {
        for id in self.impatient().drain(..) {
            low_level::unregister(id);
        }
    }

    fn raise_flag(&self) -> io::Result<()> {
        let mut set = SigSet::empty();
        for (index, signal) in caught() {
            flag::register_usize(signal, Arc::clone(&self.flag), index + 1)?;
            set.add(Signal::try_from(signal)?);
        }
        Ok(set.thread_unblock()?)
    }

    fn impatient(&self) -> MutexGuard<'_, Vec<SigId>> {
        self.impatient.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the signal `name`, if there is one, which another has taken for this process.
    pub(crate) fn note(&self, name: Option<&str>) {
        let index = SIGNALS.iter().position(|(_, other)| Some(*other) == name);
        // Relaxed: see `arrived`.
        index.into_iter().for_each(|index| self.flag.store(index + 1, Ordering::Relaxed));
    }

    /// Name of the signal that arrived last.
    pub(crate) fn arrived(&self) -> Option<&'static str> {
        // Relaxed: the flag is all there is to see; it publishes nothing else.
        let index = self.flag.load(Ordering::Relaxed).checked_sub(1)?;
        SIGNALS.get(index).map(|(_, name)| *name)
    }
}

/// The signals that are not ignored, each with its place in [`SIGNALS`].
fn caught() -> impl Iterator<Item = (usize, i32)> {
    let numbered = SIGNALS.iter().map(|(code, _)| i32::from(*code) - 128).enumerate();
    numbered.filter(|(_, signal)| !comet_shm::is_ignored(*signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_names_the_signal() {
        let signals = Signals::default();
        assert_eq!(signals.arrived(), None);
        for (_, name) in SIGNALS {
            signals.note(Some(name));
            signals.note(None);
            assert_eq!(signals.clone().arrived(), Some(name));
        }
    }
}
