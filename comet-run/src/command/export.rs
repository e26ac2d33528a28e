//! `export`: result files for another program, several together as one.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use comet_report::record::Record;
use comet_report::{format, read};

use crate::cli;
use crate::exit;
use crate::terminal;

/// What `export` takes.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// What to make of them
    #[arg(value_name = "FORMAT", value_parser = cli::formats())]
    pub(crate) format: String,
    /// Result files, read as if they were one
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// File to write, whether it is there or not [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Writes the runs of all files in one format.
///
/// # Errors
/// If a file cannot be read, or holds something else, or if the output cannot be written.
pub(super) fn export(args: &ExportArgs) -> anyhow::Result<u8> {
    let records = read_all(&args.files)?;
    let format = format::find(&args.format).expect("clap accepts known formats only");
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(terminal::stdout());
        format.write(&records, &mut out)?;
        out.flush()?;
        return Ok(exit::OK);
    };
    if args.files.iter().any(|file| is_same(file, path)) {
        return Err(exit::usage(format!(
            "{} is one of the result files, and would be overwritten (name another file with --out)",
            path.display()
        )));
    }
    let mut text = Vec::new();
    format.write(&records, &mut text)?;
    let cannot = || format!("cannot write {} (name another file with --out)", path.display());
    fs::write(path, text).with_context(cannot)?;
    Ok(exit::OK)
}

/// The records of all `files`, one file after the other.
fn read_all(files: &[PathBuf]) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for path in files {
        let found = read::read_records(path)
            .map_err(|error| exit::usage(format!("{:#}", anyhow::Error::new(error))))?;
        if let Some(line) = found.incomplete_line {
            let path = path.display();
            terminal::note(&format!("note: line {line} of {path} is incomplete and left out"));
        }
        records.extend(found.records);
    }
    Ok(records)
}

/// Whether both are names of one file that is there.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
