//! `export`: result files for another program, several together as one.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use comet_report::format;
use comet_report::record::Record;

use crate::cli::ExportArgs;
use crate::command::files;
use crate::exit;
use crate::terminal;

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
    files::keep(&args.files, path)?;
    let mut text = Vec::new();
    format.write(&records, &mut text)?;
    files::write(path, &text)?;
    Ok(exit::OK)
}

/// The records of all `files`, one file after the other.
fn read_all(files: &[PathBuf]) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for path in files {
        records.extend(files::records(path)?);
    }
    Ok(records)
}
