//! Output formats: each writes records as text, and is one file and one line in [`FORMATS`].

mod bmf;
mod cases;
mod csv;
mod extrap;
mod fom;
pub(crate) mod foreign;
mod imb;
mod jsonl;
mod junit;
mod models;
mod openmetrics;
mod osu;
mod table;

pub use bmf::Bmf;
pub use csv::Csv;
pub use extrap::Extrap;
pub use fom::Fom;
pub use imb::Imb;
pub use jsonl::Jsonl;
pub(crate) use jsonl::write_line;
pub use junit::Junit;
pub use models::ModelTable;
pub use openmetrics::OpenMetrics;
pub use osu::{COLUMNS_LABEL, Osu, is_percentile};
pub use table::Table;
pub(crate) use table::{is_unsteady, misses_target};

use std::io::{self, Write};

use crate::record::Record;
use crate::sink::RecordSink;

/// Text form of records.
pub trait Format {
    /// Name on the command line, and ending of a file in this format.
    fn name(&self) -> &'static str;

    /// One line of description without a full stop.
    fn summary(&self) -> &'static str;

    /// True for one text of all runs together, which is made once no record follows.
    fn is_document(&self) -> bool {
        false
    }

    /// Writer of records into `out`.
    fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a>;

    /// Writes `records`, which are in the order of their file.
    ///
    /// # Errors
    /// If `out` cannot be written.
    fn write(&self, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
        let mut writer = self.writer(Box::new(out));
        records.iter().try_for_each(|record| writer.record(record))?;
        writer.finish()
    }
}

/// Every format, in the order in which help lists them.
#[rustfmt::skip] // One format a line, so that additions merge.
pub const FORMATS: &[&dyn Format] = &[
    &Table,
    &Csv,
    &Jsonl,
    &Fom,
    &Bmf,
    &OpenMetrics,
    &Junit,
    &Extrap,
    &Osu,
    &Imb::NEW,
    &Imb::V3_2,
];

/// The format called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::{parse_records, read_records};

    fn render(name: &str, records: &[Record]) -> String {
        let mut text = Vec::new();
        find(name).unwrap().write(records, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn names_are_unique_and_summaries_are_short() {
        for format in FORMATS {
            let of_name = FORMATS.iter().filter(|other| other.name() == format.name());
            assert_eq!(of_name.count(), 1, "{}", format.name());
            let summary = format.summary();
            assert!(summary.len() <= 72 && !summary.ends_with('.'), "{summary}");
        }
    }

    #[test]
    fn formats_look_as_they_did() {
        let folder = Folder::new();
        let records = read_records(&fixture::record_run(&folder)).unwrap().records;
        let goldens = [
            ("table", "report-table.txt"),
            ("csv", "report-points.csv"),
            ("fom", "format-fom.txt"),
            ("bmf", "format-bmf.json"),
            ("openmetrics", "format-openmetrics.txt"),
            ("junit", "format-junit.xml"),
            ("extrap", "format-extrap.jsonl"),
        ];
        for (name, file) in goldens {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");
            fixture::check_golden(&std::path::Path::new(path).join(file), &render(name, &records));
        }
    }

    #[test]
    fn a_flush_after_each_record_changes_no_text_but_that_of_a_table() {
        let folder = Folder::new();
        let records = read_records(&fixture::record_run(&folder)).unwrap().records;
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
        let check = |format: &dyn Format, file: &str| {
            let mut text = Vec::new();
            format.write(&records, &mut text).unwrap();
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");
            let text = String::from_utf8(text).unwrap();
            fixture::check_golden(&std::path::Path::new(path).join(file), &text);
        };
        check(&ModelTable, "report-models.txt");
        check(&Table, "report-model-lines.txt");
        check(&Fom, "format-fom-fits.txt");
        assert_eq!(parse_records(render("jsonl", &records).as_bytes()).unwrap().records, records);
    }

    #[test]
    fn jsonl_is_what_the_recorder_writes() {
        let folder = Folder::new();
        let path = fixture::record_run(&folder);
        let text = render("jsonl", &read_records(&path).unwrap().records);
        assert_eq!(text, std::fs::read_to_string(&path).unwrap());
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
