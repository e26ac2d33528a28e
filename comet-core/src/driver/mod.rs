//! The driver: takes a plan through the kernels on all ranks, and tells a listener on rank 0.
//!
//! ```text
//!   rank 0: conduct                            the others: follow
//!     decide ────── one broadcast ────────────►  hear
//!     verify or measure                          verify or measure, where they have a part
//!     gather  ◄──────────────── report ────────  samples, or what went wrong
//!     summarise, tell the listener
//! ```
//!
//! All control flow that the ranks must agree on follows rank 0's decisions, so that no rank
//! leaves a loop by its own clock; each decision carries a hash of those before it. For each case:
//! check the data, warm up, take slices of samples in several passes, check the data again; only
//! then is there a number.

mod clock;
mod conductor;
mod decision;
mod passes;
mod placement;
mod point;
mod probe;
mod report;
mod rules;
mod settings;
mod stage;
mod start;
#[cfg(test)]
mod tests;
mod warm_up;

use std::error::Error;

use crate::error::TransportError;
use crate::event::{Event, Listener, RunEnd, RunStart};
use crate::kernel::{Case, History, Kernel, KernelInfo};
use crate::transport::Transport;

use conductor::Conductor;
use decision::{Decision, Trail};
use placement::Placement;
use stage::Stage;

pub use decision::decision_bytes;
pub use report::SAMPLE_BYTES;
pub use rules::Rules;
pub use settings::{Pace, Settings, Slices};

/// Error that ends a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The transport failed; the job is over.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The listener could not keep an event; all ranks were told to finish.
    #[error("cannot keep the results")]
    Listener(#[source] Box<dyn Error + Send + Sync>),
}

/// Runs `cases` on all ranks and tells `listener`; rank 0 calls it while the others call
/// [`follow`] with the same `kernels` and `settings`.
///
/// # Errors
/// If the transport or the listener fails. After a transport error the other ranks may wait for
/// this one: the caller has to end the job.
///
/// # Panics
/// If called on another rank than 0, or if a case names a kernel that is not in `kernels`.
pub fn conduct<T: Transport>(
    t: &T,
    kernels: &[&dyn Kernel<T>],
    cases: &[Case],
    settings: &Settings,
    listener: &mut dyn Listener,
) -> Result<RunEnd, DriverError> {
    assert_eq!(t.rank(), 0, "rank 0 conducts");
    let mut stage = Stage::new(t, kernels, settings);
    let is_known = |case: &Case| stage.kernel_idx(case).is_some();
    assert!(cases.iter().all(is_known), "a case names a kernel that is not in the list");
    let calibrations = clock::calibrate_all(t)?;
    let clock = calibrations[0];
    let starts = stage.set_up()?;
    let (n_clock_domains, clock_bound_ns) = stage.clock_domains();
    let line_ns = t.line_time_ns()?;
    let mut conductor = Conductor {
        stage,
        trail: Trail::default(),
        settings,
        listener,
        clock,
        starts,
        clocks_compared_ns: t.now_ns(),
        placement: Placement::new(line_ns, t.now_ns()),
        history: History::default(),
        start_ns: t.now_ns(),
        end: RunEnd::default(),
    };
    let start = RunStart {
        n_ranks: t.n_ranks(),
        clock: t.clock(),
        calibration: clock,
        calibrations,
        n_clock_domains,
        clock_bound_ns,
        line_ns,
        n_cases: cases.len(),
        kernels: kernels_of(cases),
    };
    let started = conductor.listener.event(&Event::RunStarted(&start));
    let result = started.map_err(DriverError::Listener).and_then(|()| conductor.run(cases));
    conductor.end.wall_ns = conductor.since_start_ns();
    // The other ranks may not wait for an output behind their last decision.
    let result = result.and_then(|()| conductor.await_outputs(0));
    if let Err(DriverError::Transport(error)) = result {
        return Err(DriverError::Transport(error));
    }
    Decision::Finish(conductor.end.clone()).announce(t, &conductor.trail)?;
    result?;
    let Conductor { listener, end, .. } = conductor;
    listener.event(&Event::RunFinished(&end)).map_err(DriverError::Listener)?;
    Ok(end)
}

/// The kernels of `cases`, each once.
fn kernels_of(cases: &[Case]) -> Vec<&'static KernelInfo> {
    let groups = cases.chunk_by(|a, b| a.info.is_of_kernel(b.info));
    let mut infos: Vec<&'static KernelInfo> = Vec::new();
    for info in groups.map(|group| group[0].info) {
        if !infos.iter().any(|known| known.is_of_kernel(info)) {
            infos.push(info);
        }
    }
    infos
}

/// Does what rank 0 decides until it says that the run is over; returns how the run ended.
///
/// # Errors
/// If the transport fails. The other ranks may wait for this one then: the caller has to end the
/// job.
///
/// # Panics
/// If called on rank 0.
pub fn follow<T: Transport>(
    t: &T,
    kernels: &[&dyn Kernel<T>],
    settings: &Settings,
) -> Result<RunEnd, TransportError> {
    assert_ne!(t.rank(), 0, "rank 0 conducts");
    clock::calibrate_all(t)?;
    let mut stage = Stage::new(t, kernels, settings);
    stage.set_up()?;
    t.line_time_ns()?;
    let trail = Trail::default();
    loop {
        match Decision::hear(t, &trail)? {
            Decision::Run(target, pace) => drop(report::gather(t, &stage.run(&target, pace)?)?),
            Decision::CompareClocks => drop(stage.compare_clocks()?),
            Decision::TimeLine => drop(t.line_time_ns()?),
            Decision::Pause => (),
            Decision::Finish(end) => return Ok(end),
        }
    }
}
