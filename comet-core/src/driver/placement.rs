//! Watching where ranks 0 and 1 run: a cache line between them is timed before and after the cases
//! of a group, and from time to time in between.
//!
//! ```text
//!   reading   slice slice … slice   reading   slice … slice   reading   check, tell, next group
//!   ◄────────── 0.5 s ──────────►                             the last one is also the next first
//! ```
//!
//! The slices of a case are spread over the time of its group, so one list of readings is that of
//! all its cases. A reading costs the broadcast of a decision and about two thousand
//! times of a line.

use super::DriverError;
use super::conductor::Conductor;
use super::decision::Decision;
use crate::error::Result;
use crate::event::{CoresMoved, Event, LineTimes};
use crate::kernel::KernelInfo;
use crate::transport::Transport;

/// The line is timed again after so many nanoseconds, which takes about a thousandth of them.
const MAX_AGE_NS: u64 = 500_000_000;

/// The times of a cache line since before the group at hand.
pub(super) struct Placement {
    /// In time order; none where the transport does not tell.
    readings_ns: Vec<f64>,
    /// The clock at the last one.
    taken_ns: u64,
}

impl Placement {
    /// Starts with the reading `line_ns`, if there is one, that was taken at `now_ns`.
    pub(super) fn new(line_ns: Option<f64>, now_ns: u64) -> Self {
        Self { readings_ns: Vec::from_iter(line_ns), taken_ns: now_ns }
    }

    /// The readings around the group at hand, if the transport tells.
    pub(super) fn line_times(&self) -> Option<LineTimes> {
        let readings_ns = self.readings_ns.clone();
        (!readings_ns.is_empty()).then_some(LineTimes { readings_ns })
    }
}

impl<T: Transport> Conductor<'_, T> {
    /// Times the line, unless that was done a short while ago.
    pub(super) fn look_at_placement(&mut self) -> Result<()> {
        let age_ns = self.stage.t.now_ns() - self.placement.taken_ns;
        if age_ns > MAX_AGE_NS { self.time_line() } else { Ok(()) }
    }

    /// Has ranks 0 and 1 time the line, where that gave a time at the start of the run.
    pub(super) fn time_line(&mut self) -> Result<()> {
        if self.placement.readings_ns.is_empty() {
            return Ok(());
        }
        let t = self.stage.t;
        Decision::TimeLine.announce(t, &self.trail)?;
        self.placement.readings_ns.extend(t.line_time_ns()?);
        self.placement.taken_ns = t.now_ns();
        Ok(())
    }

    /// Tells the listener if cores moved around the group at hand, of the kernel `info`; its last
    /// reading is the first of the next one.
    pub(super) fn end_placement(
        &mut self,
        info: &'static KernelInfo,
    ) -> std::result::Result<(), DriverError> {
        let since_start_ns = self.since_start_ns();
        let moved = self.placement.line_times().filter(LineTimes::differ);
        let n_old = self.placement.readings_ns.len().saturating_sub(1);
        self.placement.readings_ns.drain(..n_old);
        let Some(line_times) = moved else { return Ok(()) };
        let moved = CoresMoved { info, line_times, since_start_ns };
        self.listener.event(&Event::CoresMoved(&moved)).map_err(DriverError::Listener)
    }
}
