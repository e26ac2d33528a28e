//! Receivers of records: the file and the texts that the records of a run become.
//!
//! A record is made once, by the [`Recorder`](crate::recorder::Recorder) during a run or by the
//! reader of a file, and is passed to every sink in turn.

use std::io::{self, Write};

use crate::record::Record;

/// Receiver of the records of a run or of several, one by one, in the order of their file.
pub trait RecordSink {
    /// Takes the next record.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Writes what is held back for want of the next record: no series of the last case follows.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn flush(&mut self) -> io::Result<()>;

    /// Ends the output: no record follows.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// True for an output that prints model records; without one a run makes none.
    fn has_models(&self) -> bool {
        false
    }

    /// True for an output of the samples of points; without one a run keeps none.
    fn has_samples(&self) -> bool {
        true
    }
}

/// Sink that writes the text of each record at once, so that a run that is killed leaves whole lines.
pub(crate) struct Stream<'a, W> {
    out: Box<dyn Write + 'a>,
    has_models: bool,
    write: W,
}

impl<'a, W: FnMut(&Record, &mut dyn Write) -> io::Result<()> + 'a> Stream<'a, W> {
    /// A sink of what `write` writes into `out`, where `has_models` is that of [`RecordSink`].
    pub(crate) fn boxed(
        out: Box<dyn Write + 'a>,
        has_models: bool,
        write: W,
    ) -> Box<dyn RecordSink + 'a> {
        Box::new(Self { out, has_models, write })
    }
}

impl<W: FnMut(&Record, &mut dyn Write) -> io::Result<()>> RecordSink for Stream<'_, W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        (self.write)(record, &mut *self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn has_models(&self) -> bool {
        self.has_models
    }
}

/// Text of all records together, which is made once no record follows.
pub(crate) type MakeText = fn(&[Record], &mut dyn Write) -> io::Result<()>;

/// Sink that keeps all records, without their samples, until it is finished.
pub(crate) struct Document<'a> {
    out: Box<dyn Write + 'a>,
    make: MakeText,
    records: Vec<Record>,
}

impl<'a> Document<'a> {
    /// A document of the text that `make` makes, into `out`.
    pub(crate) fn boxed(out: Box<dyn Write + 'a>, make: MakeText) -> Box<dyn RecordSink + 'a> {
        Box::new(Self { out, make, records: Vec::new() })
    }
}

impl RecordSink for Document<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.records.push(match record {
            Record::Launch(point) => Record::Launch(Box::new(point.without_samples())),
            Record::Point(point) => Record::Point(Box::new(point.without_samples())),
            other => other.clone(),
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn has_samples(&self) -> bool {
        false
    }

    fn finish(&mut self) -> io::Result<()> {
        (self.make)(&self.records, &mut *self.out)?;
        self.out.flush()
    }
}
