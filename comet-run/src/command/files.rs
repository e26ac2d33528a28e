//! Result files that a command reads, and the files that it makes of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use comet_report::read::{self, Problem};
use comet_report::record::{Record, Run};
use comet_report::runs::{RunRecords, split};

use crate::exit;
use crate::paths;
use crate::terminal;

/// The name that stands for standard output.
const STDOUT: &str = "-";

/// The records of the result files `paths`, by file, with a note on a piece of a line that a killed
/// run left, and on records that belong to no run.
pub(super) fn records(paths: &[PathBuf]) -> anyhow::Result<Vec<(&Path, Vec<Record>)>> {
    let of_file = |path: &PathBuf| records_of(path);
    let all: anyhow::Result<Vec<Vec<Record>>> = paths.iter().map(of_file).collect();
    let all: Vec<_> = paths.iter().map(PathBuf::as_path).zip(all?).collect();
    refuse_twins(all.iter().flat_map(|(path, records)| {
        records.iter().filter_map(move |record| match record {
            Record::Run(run) => Some((*path, &**run)),
            _ => None,
        })
    }))?;
    Ok(all)
}

fn records_of(path: &Path) -> anyhow::Result<Vec<Record>> {
    paths::refuse_device(path)?;
    let read = read::read_records(path).map_err(exit::bad_input)?;
    if read.records.is_empty() {
        return Err(without_run(path));
    }
    note_incomplete(path, read.incomplete_line);
    let path = path.display();
    if let [Problem { line, message }, more @ ..] = &read.problems[..] {
        let more = if more.is_empty() { "" } else { ", among other faults" };
        terminal::note(&format!("note: line {line} of {path}: {message}{more} (see validate)"));
    }
    Ok(read.records)
}

/// Prints a note on the last `line` of the file `path`, if that was only written in part.
pub(super) fn note_incomplete(path: &Path, line: Option<usize>) {
    if let Some(line) = line {
        let path = path.display();
        terminal::note(&format!("note: line {line} of {path} is incomplete and left out"));
    }
}

/// A run that counts twice would be evidence of nothing.
pub(super) fn refuse_twins<'a>(
    runs: impl Iterator<Item = (&'a Path, &'a Run)>,
) -> anyhow::Result<()> {
    let mut seen = BTreeMap::new();
    for (path, run) in runs {
        if let Some(first) = seen.insert(&run.run_id, path) {
            let (first, path) = (first.display(), path.display());
            return Err(exit::usage(format!(
                "{first} and {path} hold the same run {} (a launch counts once: measure anew, or \
                 name its file once)",
                run.run_id
            )));
        }
    }
    Ok(())
}

/// The refusal of a file that holds no run.
pub(super) fn without_run(path: &Path) -> anyhow::Error {
    let path = path.display();
    exit::usage(format!(
        "there is no run in {path} (name a file that comet-run wrote, and that is not cut off in its first line)"
    ))
}

/// The runs in `records` of the file `path`.
pub(super) fn split_runs(records: Vec<Record>, path: &Path) -> impl Iterator<Item = RunRecords> {
    split(records).into_iter().map(move |run| RunRecords { path: Some(path.into()), ..run })
}

/// The runs of the result files `paths`, in their order.
pub(super) fn runs(paths: &[PathBuf]) -> anyhow::Result<Vec<RunRecords>> {
    let of_file = |(path, records)| split_runs(records, path);
    Ok(records(paths)?.into_iter().flat_map(of_file).collect())
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
