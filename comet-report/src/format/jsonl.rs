//! The records themselves, one a line: to filter a file or to join several.

use std::io::{self, Write};

use crate::record::Record;
use crate::sink::RecordSink;

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    Box::new(Lines(out))
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
