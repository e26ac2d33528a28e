//! The driver: takes a plan through the kernels on all ranks, and tells a listener on rank 0.
//!
//! ```text
//!   rank 0: conduct                            the others: follow
//!     decide ── one broadcast of fixed size ──►  hear
//!     verify or measure                          verify or measure
//!     gather  ◄──────────────── report ────────  samples, or what went wrong
//!     summarise, tell the listener
//! ```
//!
//! All control flow that the ranks must agree on follows rank 0's decisions, so that no rank
//! leaves a loop by its own clock. For each case: check the data, probe how long an operation
//! takes, take samples in several rounds, check the data again; only then is there a number.

mod clock;
mod conductor;
mod decision;
mod pace;
mod report;
mod stage;
#[cfg(test)]
mod tests;

use std::error::Error;

use crate::error::TransportError;
use crate::event::{Event, History, Listener, RunEnd, RunStart};
use crate::kernel::{Case, Kernel, Profile};
use crate::transport::Transport;

use conductor::Conductor;
use decision::Decision;
use stage::Stage;

/// Why a run could not go on.
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
    let stage = Stage { t, kernels, corrupt: settings.corrupt.as_deref() };
    let is_known = |case: &Case| stage.target(case).is_some();
    assert!(cases.iter().all(is_known), "a case names a kernel that is not in the list");
    let clock = clock::calibrate(t);
    let mut conductor = Conductor {
        stage,
        settings,
        listener,
        clock,
        history: History::default(),
        start_ns: t.now_ns(),
        end: RunEnd::default(),
    };
    let start = RunStart {
        n_ranks: t.n_ranks(),
        clock: t.clock(),
        calibration: clock,
        n_cases: cases.len(),
    };
    let started = conductor.listener.event(&Event::RunStarted(&start));
    let result = started.map_err(DriverError::Listener).and_then(|()| conductor.run(cases));
    if let Err(DriverError::Transport(error)) = result {
        return Err(DriverError::Transport(error));
    }
    conductor.end.wall_ns = conductor.since_start_ns();
    Decision::Finish(conductor.end.clone()).announce(t)?;
    result?;
    let Conductor { listener, end, .. } = conductor;
    listener.event(&Event::RunFinished(&end)).map_err(DriverError::Listener)?;
    Ok(end)
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
    let stage = Stage { t, kernels, corrupt: settings.corrupt.as_deref() };
    loop {
        let report = match Decision::hear(t)? {
            Decision::Verify(target) => stage.verify(&target)?,
            Decision::Measure(target, pace, expected_ns) => {
                stage.measure(&target, pace, expected_ns)?
            }
            Decision::Finish(end) => return Ok(end),
        };
        report.gather(t)?;
    }
}

/// How long and how often to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time to spend on the samples of one case, in nanoseconds.
    pub case_budget_ns: u64,
    /// Time after which no further case is started, in nanoseconds; `None` for no limit.
    pub run_budget_ns: Option<u64>,
    /// Operations per sample, or `None` to choose by the clock's resolution.
    pub repetitions: Option<u32>,
    /// Samples per case and series, or `None` to choose by the budget.
    pub samples: Option<u32>,
    /// The most samples per case and series that are chosen by the budget.
    pub max_samples: u32,
    /// Id of a kernel whose checked data is to be spoiled, to show that its check works.
    pub corrupt: Option<String>,
}

impl Settings {
    /// The settings of a profile.
    #[must_use]
    pub fn of(profile: Profile) -> Self {
        let (case_budget_ns, max_samples) = match profile {
            Profile::Quick => (20_000_000, 100),
            Profile::Standard => (200_000_000, 1000),
            Profile::Full => (2_000_000_000, 5000),
        };
        Self {
            case_budget_ns,
            run_budget_ns: None,
            repetitions: None,
            samples: None,
            max_samples,
            corrupt: None,
        }
    }
}
