//! `merge`: result files of one command line as the launches of one run.

use std::time::SystemTime;

use anyhow::Context as _;
use comet_report::format::JSONL;
use comet_report::launches;
use comet_report::merged::merge as merged;
use comet_report::record::Record;
use comet_report::recorder::argv;
use comet_report::runs::RunRecords;

use super::files;
use crate::cli::MergeArgs;
use crate::exit;
use crate::results::create_new;
use crate::terminal;

/// Writes the runs of all files as one for each.
pub(crate) fn merge(args: &MergeArgs) -> anyhow::Result<u8> {
    files::keep(&args.files, &args.out)?;
    let of_files = files::records(&args.files)?.into_iter();
    let of_files: Vec<Vec<RunRecords>> =
        of_files.map(|(path, records)| files::split_runs(records, path).collect()).collect();
    let records = merged(of_files, &argv(), SystemTime::now()).map_err(exit::bad_input)?;
    let mut lines = Vec::new();
    JSONL.write(&records, &mut lines).context("cannot make records")?;
    if !files::is_stdout(&args.out) {
        create_new(&args.out)?;
    }
    files::write(&args.out, &lines)?;
    let (launches, n_files) = (launches_of(&records), args.files.len());
    terminal::note(&format!("note: {launches} from {n_files} files"));
    for (unit, n_sources) in records.iter().filter_map(unit) {
        if n_sources < n_files {
            terminal::note(&format!("note: unit {unit} is in {n_sources} of {n_files} files"));
        }
    }
    Ok(exit::OK)
}

/// The unit of a suite that a merged run is of, and the number of runs it was made of.
fn unit(record: &Record) -> Option<(&str, usize)> {
    let Record::Run(run) = record else { return None };
    let of = run.of_suite.as_ref()?;
    Some((&of.unit, run.config.get("merged")?.as_array()?.len()))
}

/// The most launches of a point, in words.
fn launches_of(records: &[Record]) -> String {
    let of_point = |record: &Record| match record {
        Record::Point(point) => point.launches.as_ref().map(|launches| launches.quoted_ns.len()),
        _ => None,
    };
    launches::count(records.iter().filter_map(of_point).max().unwrap_or(0))
}
