//! `completions`: what a shell needs to complete the command line.

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit;
use crate::terminal;

/// Prints completions for a shell.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "comet-run", &mut text);
    terminal::print(&String::from_utf8_lossy(&text))?;
    Ok(exit::OK)
}
