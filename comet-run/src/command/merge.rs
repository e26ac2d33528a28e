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
    let files = launches_of(&records);
    terminal::note(&format!("note: {files} from {} files", args.files.len()));
    Ok(exit::OK)
}

/// The most launches of a point, in words.
fn launches_of(records: &[Record]) -> String {
    let of_point = |record: &Record| match record {
        Record::Point(point) => point.launches.as_ref().map(|launches| launches.quoted_ns.len()),
        _ => None,
    };
    launches::count(records.iter().filter_map(of_point).max().unwrap_or(0))
}
