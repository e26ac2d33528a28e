//! Common time and common starts: what makes readings of several ranks comparable, and lets them
//! begin together.
//!
//! ```text
//!   domains ──► bursts of exchanges ──► model of each leader's clock ──► GlobalClock
//!   (who reads one clock)  (offset within an interval)  (offset and drift)    │
//!                                                         StartSync ◄───────┘ Skew
//! ```
//! [`late`] proves the barrier at which they begin.
//!
//! All that is collective here is called by all ranks, and ends in the same way on all of them.

mod burst;
mod clocks;
mod domain;
pub mod late;
mod model;
mod skew;
mod start;
mod tree;

pub use burst::Burst;
pub use clocks::{ClockOffset, GlobalClock};
pub use skew::Skew;
pub use start::{StartSync, window_ns};
pub(crate) use start::{await_due, barrier_of_threads};
