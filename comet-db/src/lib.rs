//! Result database: a folder of result files, an index over them, and the doors to both.
//!
//! ```text
//!   FILE ──► unpack ──► examine ──► rows ─┬─► blobs: data/ab/abcd….jsonl.gz, data/ab/abcd….json
//!            limits     the reader        │          the file, named by its SHA-256, and its card
//!                       of all commands   └─► index: of SQLite or PostgreSQL, made of the blobs
//! ```
//!
//! *The blobs are the truth.* A result file is kept as it is, under the SHA-256 of its bytes, and never
//! changes. Beside it lies its card: the time of its arrival, its submitter, and its state, `pending` or
//! `published`. A blob is written to another name, synchronised and renamed, after its card; so a process
//! may be killed at any moment, and each blob that can be seen is whole and has a card.
//!
//! *The index follows from them.* Ids are hashes of content, rows hold nothing else, and
//! [`Database::reindex`] makes all of them anew with equal answers. A blob that was renamed before its
//! rows were committed is indexed when the database is next opened. Tokens, marks and the audit log alone
//! have no blob; they survive `reindex`, and are in the backup.
//!
//! An index is a [`Store`](store::Store): an engine that executes statements. All statements and all
//! rows are in [`index`], once for every engine.
#![forbid(unsafe_code)]

pub mod alert;
pub mod answer;
pub mod blobs;
pub mod card;
mod database;
mod engine;
mod error;
pub mod examine;
pub mod id;
pub mod index;
pub mod limits;
pub mod overlay;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod rows;
pub mod sqlite;
pub mod store;
pub mod submit;
pub mod token;
pub mod trend;
pub mod web;

pub use database::{Added, Arrival, Database, Prepared};
pub use engine::Server;
pub use error::Error;

#[cfg(test)]
mod fixture;
