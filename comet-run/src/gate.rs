//! The gate that events of a run pass, one by one, until the job has ended.
//!
//! A job may be ended from another thread while rank 0 is about to go on. What that thread writes
//! below the results is their end, so nothing may follow it.

use std::error::Error;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of an event that is under way: standard output may be stuck.
const PATIENCE: Duration = Duration::from_secs(1);

/// Open until somebody closes it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_closed: Mutex<bool>,
}

impl Gate {
    /// Lets `event` pass, if the gate is open.
    ///
    /// # Errors
    /// The errors of `event`, and one if the gate is closed.
    pub(crate) fn pass(
        &self,
        event: impl FnOnce() -> Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let is_closed = self.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_closed { Err("the job has ended".into()) } else { event() }
    }

    /// Closes the gate behind an event that is passing, or a second later.
    pub(crate) fn close(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.is_closed.try_lock() {
                Ok(mut is_closed) => *is_closed = true,
                Err(TryLockError::Poisoned(error)) => *error.into_inner() = true,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(PATIENCE / 100);
                    continue;
                }
                Err(TryLockError::WouldBlock) => (),
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_pass_until_the_gate_is_closed() {
        let gate = Gate::default();
        assert!(gate.pass(|| Ok(())).is_ok());
        assert_eq!(gate.pass(|| Err("disk full".into())).unwrap_err().to_string(), "disk full");
        gate.close();
        let mut has_passed = false;
        let error = gate.pass(|| {
            has_passed = true;
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "the job has ended");
        assert!(!has_passed);
    }

    #[test]
    fn an_event_that_never_passes_does_not_keep_the_gate_open_for_ever() {
        let gate = Gate::default();
        let _stuck = gate.is_closed.lock();
        thread::scope(|threads| threads.spawn(|| gate.close()).join()).expect("it ends");
    }
}
