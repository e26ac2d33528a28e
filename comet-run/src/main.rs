//! `comet-run`: measures message passing from the command line.
//!
//! ```text
//!   argv ──► cli ──► selection, plan ──► backend ──► session, on every rank
//!           values    kernels, cases    starts or     driver, listeners
//!            only                         joins
//!                                       the ranks
//! ```
//!
//! `list`, `plan` and `--help` end at the plan, and start and join no rank.

mod backend;
mod catalogue;
mod cli;
mod command;
mod compat;
mod exit;
mod gate;
mod launcher;
mod limit;
mod method;
mod plan;
mod progress;
mod result_file;
mod results;
mod selection;
mod session;
mod signals;
mod terminal;
mod this_build;
mod values;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
