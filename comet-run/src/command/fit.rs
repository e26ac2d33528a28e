//! `fit`: the models of a stored run, made anew from its points.

use std::io::{BufWriter, Write as _};

use comet_report::format::{self, MODELS};
use comet_report::models::models;
use comet_report::record::{Point, Record};

use super::files;
use crate::cli::FitArgs;
use crate::exit;
use crate::terminal;

/// Prints the models of a result file.
///
/// # Errors
/// If the file cannot be read, or holds something else, or if standard output cannot be written.
pub(super) fn fit(args: &FitArgs) -> anyhow::Result<u8> {
    let records = files::records(&args.file)?;
    let points: Vec<&Point> = records.iter().filter_map(point).collect();
    let models = models(&points, &args.breakpoints).into_iter();
    let models: Vec<Record> = models.map(|model| Record::Model(Box::new(model))).collect();
    if models.is_empty() {
        let path = args.file.display();
        terminal::note(&format!(
            "note: no sweep in {path} has the four points that a model needs (measure more sizes)"
        ));
    }
    let format = format::find(&args.format).filter(|format| format.name() != "table");
    let mut out = BufWriter::new(terminal::stdout());
    format.unwrap_or(&MODELS).write(&models, &mut out)?;
    out.flush()?;
    Ok(exit::OK)
}

fn point(record: &Record) -> Option<&Point> {
    match record {
        Record::Point(point) => Some(point),
        _ => None,
    }
}
