//! `report`: a page of figures and tables.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use comet_report::report;
use comet_report::runs::{RunRecords, read_runs};

use crate::exit;
use crate::terminal;

/// What `report` takes.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Result files; several are overlaid in one page
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where the page goes; what is there is replaced
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
        runs.extend(runs_of(path)?);
    }
    refuse_to_overwrite(args)?;
    let page = report::report(&runs, args.title.as_deref());
    fs::write(&args.out, &page).map_err(|error| {
        let path = args.out.display();
        exit::usage(format!("cannot write {path}: {error} (name a file in a folder of yours)"))
    })?;
    let noun = if runs.len() == 1 { "run" } else { "runs" };
    let (path, n_kilobytes) = (args.out.display(), page.len().div_ceil(1000));
    terminal::print(&format!("report: {path} ({n_kilobytes} kB, {} {noun})\n", runs.len()))?;
    Ok(exit::OK)
}

/// The runs of one file, of which there must be one.
fn runs_of(path: &Path) -> anyhow::Result<Vec<RunRecords>> {
    let runs =
        read_runs(path).map_err(|error| exit::usage(format!("{:#}", anyhow::Error::new(error))))?;
    if runs.is_empty() {
        let path = path.display();
        return Err(exit::usage(format!(
            "there is no run in {path} (name a file that comet-run wrote)"
        )));
    }
    Ok(runs)
}

/// The page must not replace a result file, as it would if `-o` came before the wrong one.
fn refuse_to_overwrite(args: &ReportArgs) -> anyhow::Result<()> {
    let same = |path: &&PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(&args.out).ok();
    let is_there = args.out.exists();
    match args.files.iter().find(same).filter(|_| is_there) {
        None => Ok(()),
        Some(path) => Err(exit::usage(format!(
            "the page would replace the result file {} (name another file with -o)",
            path.display()
        ))),
    }
}
