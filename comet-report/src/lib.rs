//! Everything that CoMet writes about a run, and everything that reads it back.
//!
//! ```text
//!   comet_core::event ──► Recorder ──► RecordSink: comet-results/*.jsonl ──► read ──┐
//!                                      RecordSink: table, csv … on the terminal     │
//!                                      RecordSink: table, csv … of a file ◄─────────┘
//! ```
//!
//! This crate alone serializes, and it alone writes result files: JSON Lines in the format
//! `comet.record/1`, one [`Record`](record::Record) a line.
//! Raw samples are kept as they were measured; every other number can be computed from them again.
//!
//! Records become text through a [`Format`](format::Format):
//!
//! ```
//! let records = comet_report::read::parse_records(b"").unwrap().records;
//! let mut text = Vec::new();
//! comet_report::format::find("jsonl").unwrap().write(&records, &mut text).unwrap();
//! assert!(text.is_empty());
//! ```
#![forbid(unsafe_code)]

pub mod abandoned;
pub mod algorithms;
mod bounds;
pub mod compare;
mod description;
pub mod environment;
pub mod figures;
mod fingerprint;
pub mod format;
pub mod glance;
pub mod guidelines;
pub mod health;
pub mod import;
pub mod journal;
mod junit;
pub mod launches;
pub mod merged;
pub mod models;
pub mod odd;
mod older;
mod order;
pub mod outside;
pub mod pairs;
pub mod placement;
pub mod places;
mod plain;
pub mod plot;
mod points;
pub mod questions;
mod raw;
pub mod read;
pub mod record;
pub mod recorder;
pub mod redact;
pub mod report;
pub mod runs;
pub mod sink;
pub mod suite;
pub mod topology_file;
mod units;
pub mod verdict;
mod words;
mod xml;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod mutated;
