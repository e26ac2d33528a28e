//! `comet-run`: measures message passing from the command line.
//!
//! ```text
//!   argv ──► cli ──► command ──► prepare ───────► execute ───► session, on every rank
//!           values    one file   selection, plan,  backend        driver, listeners
//!            only     for each   world, settings   starts or
//!                                                  joins ranks
//! ```
//!
//! `list`, `plan` and `--help` end at the plan, and start and join no rank.

mod backend;
mod catalogue;
mod cli;
mod command;
mod compat;
mod execute;
mod exit;
mod gate;
mod launcher;
mod paths;
mod plan;
mod prepare;
mod progress;
mod result_file;
mod results;
mod selection;
mod session;
mod signals;
mod spool;
mod terminal;
mod this_build;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
