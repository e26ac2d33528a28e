//! One way of starting for all cases of a kernel, and notes on starts that are not good enough.

use super::DriverError;
use super::conductor::{Conductor, Entry};
use super::start::Starts;
use crate::definition::Definition;
use crate::event::{Event, Measurement, SeriesResult, StartNote, StartsNoted};
use crate::kernel::KernelInfo;
use crate::start_note::MAX_SKEW_SHARE;
use crate::sync::StartSync;
use crate::transport::Transport;
use comet_stats::median;

/// Starts of the cases of the kernel at hand.
pub(super) struct KernelStarts {
    /// Agreed before the first case.
    agreed: Starts,
    /// Of each case that begins.
    now: Starts,
    kernel: Option<&'static KernelInfo>,
    apart: Option<StartNote>,
}

impl KernelStarts {
    /// Starts as agreed by all ranks.
    pub(super) fn new(agreed: Starts) -> Self {
        Self { now: agreed.clone(), agreed, kernel: None, apart: None }
    }

    /// Starts of a case that begins.
    pub(super) fn now(&self) -> &Starts {
        &self.now
    }

    /// Keeps the largest share that a skew has of a time, and how many are too large.
    pub(super) fn note_skew(&mut self, measurement: &Measurement) {
        let of_series = measurement.series.iter().filter_map(|series| skew(measurement, series));
        let share = |(skew_ns, time_ns): &(f64, f64)| skew_ns / time_ns;
        let largest = of_series.max_by(|a, b| share(a).total_cmp(&share(b)));
        let Some((skew_ns, time_ns)) = largest.filter(|of| share(of) > MAX_SKEW_SHARE) else {
            return;
        };
        let of_case = |n_cases| StartNote::Apart {
            n_cases,
            case: measurement.case.label(),
            skew_ns,
            time_ns,
        };
        self.apart = Some(match self.apart.take() {
            Some(StartNote::Apart { n_cases, case, skew_ns: of_skew, time_ns: of_time })
                if share(&(of_skew, of_time)) >= share(&(skew_ns, time_ns)) =>
            {
                StartNote::Apart { n_cases: n_cases + 1, case, skew_ns: of_skew, time_ns: of_time }
            }
            Some(StartNote::Apart { n_cases, .. }) => of_case(n_cases + 1),
            _ => of_case(1),
        });
    }
}

/// Medians of the skew and of the time of `series`, if the time begins with the first start of ranks
/// that were to start together.
fn skew(measurement: &Measurement, series: &SeriesResult) -> Option<(f64, f64)> {
    let begins_with_first =
        matches!(series.definition, Definition::Completion | Definition::Release);
    let is_late_on_purpose = measurement.pace.skew_ns > 0;
    if !begins_with_first || is_late_on_purpose || measurement.pace.repetitions > 1 {
        return None;
    }
    let skews_ns = series.start_skews_ns(measurement.case.arrangement()).into_iter().enumerate();
    let valid = skews_ns.filter(|(index, _)| series.invalid.binary_search(index).is_err());
    let skew_ns = median(&valid.map(|(_, ns)| ns).collect::<Vec<f64>>())?;
    Some((skew_ns, series.told().median))
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
        let note = StartNote::WindowGivenUp { case: hopeless.case.label() };
        let info = hopeless.case.info;
        self.starts.now = self.starts.now.by_barrier();
        for state in entries.iter_mut().filter_map(|entry| entry.state.as_mut().ok()) {
            state.start_over(&self.starts.now, self.settings);
        }
        self.tell_starts(info, note)
    }

    /// Tells the listener of the group at hand if ranks started apart.
    pub(super) fn end_starts(&mut self, info: &'static KernelInfo) -> Result<(), DriverError> {
        match self.starts.apart.take() {
            Some(note) => self.tell_starts(info, note),
            None => Ok(()),
        }
    }

    fn tell_starts(
        &mut self,
        info: &'static KernelInfo,
        note: StartNote,
    ) -> Result<(), DriverError> {
        let noted = StartsNoted { info, note, since_start_ns: self.since_start_ns() };
        self.listener.event(&Event::StartsNoted(&noted)).map_err(DriverError::Listener)
    }
}
