//! The records themselves, one a line: to filter a file or to join several.

use std::io::{self, Write};

use super::Format;
use crate::record::Record;

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

    fn write(&self, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
        for record in records {
            serde_json::to_writer(&mut *out, record)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
