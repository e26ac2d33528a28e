//! `report`: a page of figures and tables.

use comet_report::report;
use comet_report::runs::RunRecords;

use crate::cli::ReportArgs;
use crate::command::files;
use crate::exit;
use crate::terminal;

/// Writes a page about all runs of the files.
///
/// # Errors
/// If a file cannot be read, or holds no run, or if the page cannot be written.
pub(super) fn report(args: &ReportArgs) -> anyhow::Result<u8> {
    let mut runs: Vec<RunRecords> = Vec::new();
    for path in &args.files {
        runs.extend(files::some_runs(path)?);
    }
    files::keep(&args.files, &args.out)?;
    let page = report::report(&runs, args.title.as_deref());
    files::write(&args.out, page.as_bytes())?;
    if files::is_stdout(&args.out) {
        return Ok(exit::OK);
    }
    let noun = if runs.len() == 1 { "run" } else { "runs" };
    let path = terminal::one_line(args.out.display());
    let n_kilobytes = page.len().div_ceil(1000);
    terminal::print(&format!("report: {path} ({n_kilobytes} kB, {} {noun})\n", runs.len()))?;
    Ok(exit::OK)
}
