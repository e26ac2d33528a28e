//! The commands, a file each but for those that read files one way.

pub(crate) mod ab;
pub(crate) mod algorithms;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
#[cfg(feature = "db")]
pub(crate) mod db;
#[cfg(feature = "db")]
mod demo;
mod files;
pub(crate) mod guidelines;
pub(crate) mod health;
pub(crate) mod help;
pub(crate) mod import;
mod job;
pub(crate) mod launches;
pub(crate) mod list;
pub(crate) mod machines;
pub(crate) mod merge;
#[cfg(not(feature = "db"))]
pub(crate) mod no_db;
pub(crate) mod plan;
pub(crate) mod plot;
pub(crate) mod run;
#[cfg(feature = "db")]
pub(crate) mod serve;
pub(crate) mod show;
mod study;
#[cfg(feature = "db")]
pub(crate) mod submit;
pub(crate) mod suite;
