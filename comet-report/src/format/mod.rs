//! Output formats: each writes records as text, and is one file and one line in [`FORMATS`]. The
//! folder `tests/golden` has an example of each.

mod bmf;
mod cases;
mod csv;
mod extrap;
mod fom;
pub(crate) mod foreign;
mod imb;
mod junit;
pub(crate) mod models;
mod openmetrics;
mod osu;
mod skampi;
mod table;

pub use imb::{LENGTHS_LABEL, ROWS_LABEL};
pub use osu::{COLUMNS_LABEL, NO_MESSAGE_RATE, VARIED, WINDOWS, is_percentile};
pub(crate) use skampi::{COUNT, ERROR_NS, MARKS as SKAMPI_MARKS, MISSING, NODE_NS};
pub use table::{Look, for_terminal as table_for_terminal};
pub(crate) use table::{has_changed, is_unsteady, misses_target};

use std::io::{self, Write};

use crate::record::Record;
use crate::sink::{Document, MakeText, RecordSink, Stream};

/// Text form of records.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    name: &'static str,
    form: Form,
    needs_samples: bool,
}

/// Form of a text, with the function that makes it.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Text that grows with each record.
    Stream(MakeWriter),
    /// One text of all runs together, which is made once no record follows.
    Document(MakeText),
}

/// Maker of a writer of records into an output.
type MakeWriter = for<'a> fn(Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a>;

const fn stream(name: &'static str, writer: MakeWriter) -> Format {
    Format { name, form: Form::Stream(writer), needs_samples: false }
}

/// A layout of another benchmark, the means of which are those of each rank.
const fn layout(name: &'static str, writer: MakeWriter) -> Format {
    Format { needs_samples: true, ..stream(name, writer) }
}

const fn document(name: &'static str, make: MakeText) -> Format {
    Format { name, form: Form::Document(make), needs_samples: false }
}

impl Format {
    /// Name on the command line, and ending of a file in this format.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// True for one text of all runs together, which is made once no record follows.
    pub fn is_document(&self) -> bool {
        matches!(self.form, Form::Document(_))
    }

    /// True if its numbers come from the samples.
    pub fn needs_samples(&self) -> bool {
        self.needs_samples
    }

    /// Writer of records into `out`.
    pub fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
        match self.form {
            Form::Stream(writer) => writer(out),
            Form::Document(make) => Document::boxed(out, make),
        }
    }

    /// Writes `records`, which are in the order of their file.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
        let mut writer = self.writer(Box::new(out));
        records.iter().try_for_each(|record| writer.record(record))?;
        writer.finish()
    }
}

/// The records as they are, one a line: the format of a result file.
pub const JSONL: Format = stream("jsonl", jsonl);

/// Table of all models; it holds no other record.
pub const MODELS: Format = stream("models", models::writer);

/// Every format, in the order in which help lists them.
pub const FORMATS: &[Format] = &[
    stream("table", table::writer),
    stream("csv", csv::writer),
    JSONL,
    stream("fom", fom::writer),
    document("bmf", bmf::write),
    document("openmetrics", openmetrics::write),
    document("junit", junit::write),
    document("extrap", extrap::write),
    layout("osu", osu::writer),
    layout("imb", imb::writer),
    layout("imb-3.2", imb::writer_3_2),
    stream("skampi", skampi::writer),
];

fn jsonl<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    Stream::boxed(out, true, |record, out| match record {
        // Its samples are those of its launches, whose lines have them.
        Record::Point(point) if point.launches.is_some() => {
            write_line(out, &Record::Point(Box::new(point.without_samples())))
        }
        other => write_line(out, other),
    })
}

/// Writes `record` and its newline in one call.
pub(crate) fn write_line(out: &mut dyn Write, record: &Record) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// The format called `name`.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder, check_golden, render, text_of};
    use crate::read::parse_records;

    #[test]
    fn names_are_unique() {
        for format in FORMATS {
            let of_name = FORMATS.iter().filter(|other| other.name() == format.name());
            assert_eq!(of_name.count(), 1, "{}", format.name());
        }
    }

    #[test]
    fn formats_look_as_they_did() {
        let records = fixture::records();
        let goldens = [
            ("table", "report-table.txt"),
            ("csv", "report-points.csv"),
            ("fom", "format-fom.txt"),
            ("bmf", "format-bmf.json"),
            ("openmetrics", "format-openmetrics.txt"),
            ("junit", "format-junit.xml"),
            ("extrap", "format-extrap.jsonl"),
            ("skampi", "format-skampi.txt"),
        ];
        for (name, file) in goldens {
            check_golden(file, &render(name, &records));
        }
    }

    #[test]
    fn rates_stand_in_exports_under_their_names_and_those_without_a_value_are_absent() {
        let points = [fixture::collectives("allgather", 4), fixture::halves(4)].concat();
        let records: Vec<_> = points.into_iter().map(|p| Record::Point(Box::new(p))).collect();
        let goldens = [
            ("fom", "format-fom-rates.txt"),
            ("bmf", "format-bmf-rates.json"),
            ("openmetrics", "format-openmetrics-rates.txt"),
        ];
        for (name, file) in goldens {
            check_golden(file, &render(name, &records));
        }
    }

    #[test]
    fn a_flush_after_each_record_changes_no_text_but_that_of_a_table() {
        let records = fixture::records();
        for format in FORMATS.iter().filter(|format| format.name() != "table") {
            let mut text = Vec::new();
            let mut writer = format.writer(Box::new(&mut text));
            for record in &records {
                writer.record(record).unwrap();
                writer.flush().unwrap();
            }
            writer.finish().unwrap();
            drop(writer);
            assert_eq!(String::from_utf8(text).unwrap(), render(format.name(), &records));
        }
    }

    #[test]
    fn models_look_as_they_did() {
        let points = crate::models::tests::thesis();
        let models = crate::models::models(&points.iter().collect::<Vec<_>>(), &[]);
        let records: Vec<_> = models.into_iter().map(|m| Record::Model(Box::new(m))).collect();
        check_golden("report-models.txt", &text_of(&MODELS, &records));
        check_golden("report-model-lines.txt", &render("table", &records));
        check_golden("format-fom-fits.txt", &render("fom", &records));
        assert_eq!(parse_records(render("jsonl", &records).as_bytes()).unwrap().records, records);
    }

    #[test]
    fn jsonl_is_what_the_recorder_writes() {
        let folder = Folder::new();
        let text = std::fs::read_to_string(fixture::record_run(&folder)).unwrap();
        assert_eq!(render("jsonl", &parse_records(text.as_bytes()).unwrap().records), text);
    }

    #[test]
    fn a_killed_run_says_so_in_its_table() {
        let folder = Folder::new();
        let text = std::fs::read(fixture::record_run(&folder)).unwrap();
        let records = parse_records(&text[..text.len() - 10]).unwrap().records;
        let table = render("table", &records);
        assert!(table.ends_with("# no end: the run was killed or is still running\n"), "{table}");
        assert_eq!(render("table", &[]), "");
    }
}
