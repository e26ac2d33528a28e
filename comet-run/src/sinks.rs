//! Listeners put together: several at once, and the text of formats that follow the result file.

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Write};
use std::path::Path;

use comet_core::event::{Event, Listener};
use comet_report::format::Format;
use comet_report::read;
use comet_report::record::Record;

/// Tells several listeners, in their order, until one refuses.
pub(crate) struct FanOut(pub(crate) Vec<Box<dyn Listener>>);

impl Listener for FanOut {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.iter_mut().try_for_each(|listener| listener.event(event))
    }
}

/// Prints a result file in some format while it grows; comes after its recorder.
pub(crate) struct Follower<W> {
    format: &'static dyn Format,
    file: File,
    /// The records so far, without raw samples if the format does not need them.
    records: Vec<Record>,
    printed_bytes: usize,
    out: W,
}

impl<W: Write> Follower<W> {
    /// Follows the file `path`, from its start.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub(crate) fn new(format: &'static dyn Format, path: &Path, out: W) -> std::io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self { format, file, records: Vec::new(), printed_bytes: 0, out })
    }

    fn follow(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut lines = Vec::new();
        self.file.read_to_end(&mut lines)?;
        if self.format.name() == "jsonl" {
            self.out.write_all(&lines)?;
        } else {
            let records = read::parse_records(&lines)?.records.into_iter();
            let keeps_samples = self.format.needs_samples();
            self.records.extend(records.map(|record| lighten(record, keeps_samples)));
            self.print_more()?;
        }
        Ok(self.out.flush()?)
    }

    /// Prints what the format makes of all records beyond what it made of those before.
    fn print_more(&mut self) -> std::io::Result<()> {
        let mut text = Vec::new();
        self.format.write(&self.records, &mut text)?;
        self.out.write_all(text.get(self.printed_bytes..).unwrap_or_default())?;
        self.printed_bytes = text.len();
        Ok(())
    }
}

impl<W: Write> Listener for Follower<W> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let adds_lines = !matches!(event, Event::CaseStarted(_) | Event::PassStarted(_));
        if adds_lines { self.follow() } else { Ok(()) }
    }
}

/// The record without what follows each sample, which takes far more memory than all the rest, and
/// without the samples themselves, unless `keeps_samples`.
fn lighten(mut record: Record, keeps_samples: bool) -> Record {
    if let Record::Point(point) = &mut record {
        point.starts_ns = None;
        if !keeps_samples {
            point.samples = None;
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::event::RunEnd;
    use std::cell::RefCell;
    use std::rc::Rc;

    struct Named(&'static str, Rc<RefCell<Vec<&'static str>>>);

    impl Listener for Named {
        fn event(&mut self, _event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
            self.1.borrow_mut().push(self.0);
            if self.0 == "refuses" { Err("disk full".into()) } else { Ok(()) }
        }
    }

    #[test]
    fn a_follower_prints_each_line_once() {
        let path = std::env::temp_dir().join(format!("comet-follower-{}", std::process::id()));
        let append = |code: &str| {
            let line =
                format!(r#"{{"type":"event","level":"info","code":"{code}","message":"m"}}"#);
            let mut file = File::options().create(true).append(true).open(&path).unwrap();
            writeln!(file, "{line}").unwrap();
        };
        append("first");
        let format = comet_report::format::find("jsonl").unwrap();
        let mut follower = Follower::new(format, &path, Vec::new()).unwrap();
        follower.follow().unwrap();
        append("second");
        follower.event(&Event::RunFinished(&RunEnd::default())).unwrap();
        let expected = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(follower.out, expected);
    }

    #[test]
    fn listeners_hear_in_order_until_one_refuses() {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let listener = |name| -> Box<dyn Listener> { Box::new(Named(name, Rc::clone(&heard))) };
        let listeners = vec![listener("first"), listener("refuses"), listener("last")];
        let mut fan_out = FanOut(listeners);
        assert!(fan_out.event(&Event::RunFinished(&RunEnd::default())).is_err());
        assert_eq!(*heard.borrow(), ["first", "refuses"]);
    }
}
