//! One way of starting for all cases of a kernel.

use super::DriverError;
use super::conductor::{Conductor, Entry};
use super::start::Starts;
use crate::event::{Event, WindowGivenUp};
use crate::kernel::KernelInfo;
use crate::sync::StartSync;
use crate::transport::Transport;

/// Starts of the cases of the kernel at hand.
pub(super) struct KernelStarts {
    /// Agreed before the first case.
    agreed: Starts,
    /// Of each case that begins.
    now: Starts,
    kernel: Option<&'static KernelInfo>,
}

impl KernelStarts {
    /// Starts as agreed by all ranks.
    pub(super) fn new(agreed: Starts) -> Self {
        Self { now: agreed.clone(), agreed, kernel: None }
    }

    /// Starts of a case that begins.
    pub(super) fn now(&self) -> &Starts {
        &self.now
    }
}

impl<T: Transport> Conductor<'_, T> {
    /// Begins cases of the kernel `info`; a kernel whose windows were given up, here or in an earlier
    /// launch of the run, has none again.
    pub(super) fn begin_starts(&mut self, info: &'static KernelInfo) {
        let is_same = self.starts.kernel.is_some_and(|kernel| kernel.is_of_kernel(info));
        if is_same {
            return;
        }
        let starts = KernelStarts::new(self.starts.agreed.clone());
        let is_given_up = self.settings.after_barrier.contains(&info.id());
        let has_windows = starts.agreed.sync() == StartSync::Window;
        let now = if is_given_up && has_windows { starts.agreed.by_barrier() } else { starts.now };
        self.starts = KernelStarts { kernel: Some(info), now, ..starts };
    }

    /// Has all cases of the kernel start after barriers once windows do not work in one of them, and
    /// measures again what was measured in windows.
    pub(super) fn align_starts(&mut self, entries: &mut [Entry]) -> Result<(), DriverError> {
        let states = || entries.iter().filter_map(|entry| entry.state.as_ref().ok());
        let Some(hopeless) = states().find(|state| state.starts.are_hopeless()) else {
            return Ok(());
        };
        let case = hopeless.case.label();
        let info = hopeless.case.info;
        self.starts.now = self.starts.now.by_barrier();
        for state in entries.iter_mut().filter_map(|entry| entry.state.as_mut().ok()) {
            state.start_over(&self.starts.now, self.settings);
        }
        let given_up = WindowGivenUp { info, case, since_start_ns: self.since_start_ns() };
        self.listener.event(&Event::WindowGivenUp(&given_up)).map_err(DriverError::Listener)
    }
}
