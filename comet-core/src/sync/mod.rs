//! Common time and common starts: what makes readings of several ranks comparable, and lets them
//! begin together.
//!
//! ```text
//!   domains ──► bursts of exchanges ──► model of each leader's clock ──► GlobalClock
//!   (who reads one clock)  (offset within an interval)  (offset and drift)    │
//!                                                         StartSync ◄───────┘ Skew
//! ```
//!
//! All that is collective here is called by all ranks, and ends in the same way on all of them.

mod burst;
mod clocks;
mod domain;
mod exchange;
mod model;
mod skew;
mod start;
mod tree;

pub use burst::Burst;
pub use clocks::GlobalClock;
pub use skew::Skew;
pub use start::{StartSync, window_ns};

use crate::collective;
use crate::error::Result;
use crate::transport::Transport;

/// The words of all ranks in rank order, on every rank.
fn share<T: Transport>(t: &T, word: u64) -> Result<Vec<u64>> {
    let mut bytes = collective::gather(t, word.to_le_bytes().to_vec())?.concat();
    bytes.resize(t.n_ranks() * size_of::<u64>(), 0);
    collective::broadcast_to_resting(t, 0, &mut bytes)?;
    Ok(words(&bytes))
}

/// The words in a message.
fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect()
}

/// The bytes of a message of `words`.
fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}
