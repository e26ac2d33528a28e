//! Studies: kernels measured on simulated machines, and the conclusions drawn from their times.
//!
//! ```text
//!   thesis        figures of the thesis, regenerated on the simulated iPSC/860
//!   calibration   a machine file fitted to measured times, and its predictions
//!        │
//!   simulated     kernels and driver on the ranks of a machine file
//! ```
//!
//! Functions return data and text; comet-run prints and writes them.
#![forbid(unsafe_code)]

pub mod calibration;
mod simulated;
pub mod thesis;

/// A study that its input does not permit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Ranks or a machine that the study does not fit; one sentence with a remedy.
    #[error("{0}")]
    Unfit(String),
    /// A record without numbers; one sentence with the file.
    #[error("{0}")]
    NothingMeasured(String),
}
