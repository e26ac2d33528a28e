//! The records themselves, one a line: to filter a file or to join several.

use std::io::{self, Write};

use super::Format;
use crate::record::Record;
use crate::sink::RecordSink;

/// JSON Lines in the format `comet.record/1`.
#[derive(Clone, Copy, Debug)]
pub struct Jsonl;

impl Format for Jsonl {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn summary(&self) -> &'static str {
        "the records as they are, with raw samples: one JSON object per line"
    }

    fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
        Box::new(Lines(out))
    }
}

/// Writer of a line for each record, at once, so that a run that is killed leaves whole lines.
struct Lines<'a>(Box<dyn Write + 'a>);

impl RecordSink for Lines<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        write_line(&mut self.0, record)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn has_models(&self) -> bool {
        true
    }
}

/// Writes `record` and its newline in one call.
pub(crate) fn write_line(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)
}
