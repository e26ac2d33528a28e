//! `schema`: what a line of a result file may hold.

use crate::exit;
use crate::terminal;

/// Prints the JSON schema of result files.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn schema() -> anyhow::Result<u8> {
    terminal::print(comet_report::schema::COMMITTED)?;
    Ok(exit::OK)
}
