//! `report`: a page of figures and tables.

use std::path::PathBuf;

use clap::Args;
use comet_report::report;
use comet_report::runs::RunRecords;

use crate::command::files;
use crate::exit;
use crate::terminal;

/// What `report` takes.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Result files; several are overlaid in one page
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where the page goes, or - for standard output; what is there is replaced
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Heading of the page [default: what was run]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

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
    let (path, n_kilobytes) = (args.out.display(), page.len().div_ceil(1000));
    terminal::print(&format!("report: {path} ({n_kilobytes} kB, {} {noun})\n", runs.len()))?;
    Ok(exit::OK)
}
