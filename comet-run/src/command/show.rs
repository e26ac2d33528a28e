//! `show`: a stored run in another form.

use std::io::{BufWriter, Write as _};

use comet_report::{format, read};

use crate::cli::ShowArgs;
use crate::exit;
use crate::terminal;

/// Prints a result file in a format.
///
/// # Errors
/// If the file cannot be read, or holds something else, or if standard output cannot be written.
pub(super) fn show(args: &ShowArgs) -> anyhow::Result<u8> {
    let records = read::read_records(&args.file)
        .map_err(|error| exit::usage(format!("{:#}", anyhow::Error::new(error))))?;
    if let Some(line) = records.incomplete_line {
        let path = args.file.display();
        terminal::note(&format!("note: line {line} of {path} is incomplete and left out"));
    }
    let format = format::find(&args.format).expect("clap accepts known formats only");
    let mut out = BufWriter::new(terminal::stdout());
    format.write(&records.records, &mut out)?;
    out.flush()?;
    Ok(exit::OK)
}
