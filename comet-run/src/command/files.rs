//! Result files that a command reads, and the files that it makes of them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use comet_report::read;
use comet_report::record::Record;
use comet_report::runs::{RunRecords, split};

use crate::exit;
use crate::paths;
use crate::terminal;

/// The name that stands for standard output.
const STDOUT: &str = "-";

/// The records of the result file `path`, with a note if a killed run left a piece of a line.
pub(super) fn records(path: &Path) -> anyhow::Result<Vec<Record>> {
    paths::refuse_device(path)?;
    let read = read::read_records(path).map_err(exit::bad_input)?;
    if let Some(line) = read.incomplete_line {
        let path = path.display();
        terminal::note(&format!("note: line {line} of {path} is incomplete and left out"));
    }
    if read.records.is_empty() {
        return Err(without_run(path));
    }
    Ok(read.records)
}

/// The refusal of a file that holds no run.
pub(super) fn without_run(path: &Path) -> anyhow::Error {
    let path = path.display();
    exit::usage(format!("there is no run in {path} (name a file that comet-run wrote)"))
}

/// The runs in `records` of the file `path`.
pub(super) fn split_runs(records: Vec<Record>, path: &Path) -> impl Iterator<Item = RunRecords> {
    split(records).into_iter().map(move |run| RunRecords { path: Some(path.into()), ..run })
}

/// The runs of the result file `path`.
pub(super) fn runs(path: &Path) -> anyhow::Result<Vec<RunRecords>> {
    Ok(split_runs(records(path)?, path).collect())
}

/// Everything that `read` finds in the files `paths`, in their order.
pub(super) fn all<R>(
    paths: &[PathBuf],
    read: impl Fn(&Path) -> anyhow::Result<Vec<R>>,
) -> anyhow::Result<Vec<R>> {
    let of_each: Result<Vec<_>, _> = paths.iter().map(|path| read(path)).collect();
    Ok(of_each?.into_iter().flatten().collect())
}

/// Refuses an output that is one of the result files, as it is if `-o` precedes the wrong name.
pub(super) fn keep(inputs: &[PathBuf], out: &Path) -> anyhow::Result<()> {
    if is_stdout(out) || !inputs.iter().any(|input| paths::is_same_file(input, out)) {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{} is one of the result files, and would be overwritten (name another file)",
        out.display()
    )))
}

/// Writes `bytes` to `path`, or to standard output if it is `-`.
pub(super) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stdout(path) {
        return Ok(terminal::print_bytes(bytes)?);
    }
    let cannot = || format!("cannot write {} (name another file)", path.display());
    paths::replace(path, bytes).with_context(cannot)
}

/// True if `path` stands for standard output.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}
