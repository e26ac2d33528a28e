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
mod elapsed;
mod kernel_starts;
mod passes;
mod placement;
mod point;
mod probe;
mod rules;
mod settings;
mod slowest;
mod stage;
mod start;
mod step;
#[cfg(test)]
mod tests;
mod warm_up;

use std::error::Error;

use crate::error::TransportError;

pub(crate) use clock::rounds_per_ms;
pub use conductor::conduct;
pub use decision::decision_bytes;
pub use rules::{LoopLimits, Multiples, Rules, StopRule};
pub use settings::{Pace, Settings, Slices};
pub(crate) use slowest::Slowest;
pub use stage::{SAMPLE_BYTES, follow};

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
