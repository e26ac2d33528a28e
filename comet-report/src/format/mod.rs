//! Output formats: each turns records into text, and is one file and one line in [`FORMATS`].

mod bmf;
mod cases;
mod csv;
mod extrap;
mod fom;
pub(crate) mod foreign;
pub(crate) mod imb;
mod jsonl;
mod junit;
mod models;
mod openmetrics;
pub(crate) mod osu;
mod table;

pub use bmf::Bmf;
pub use csv::Csv;
pub use extrap::Extrap;
pub use fom::Fom;
pub use imb::Imb;
pub use jsonl::Jsonl;
pub use junit::Junit;
pub use models::ModelTable;
pub(crate) use models::number;
pub use openmetrics::OpenMetrics;
pub use osu::{COLUMNS_LABEL, Osu, percentiles};
pub use table::Table;
pub(crate) use table::{TableWriter, digits, is_unsteady, misses_target};

use std::io::{self, Write};

use crate::record::Record;

/// A way to write records.
pub trait Format {
    /// Name on the command line, and ending of a file in this format.
    fn name(&self) -> &'static str;

    /// What it is, in one line without a full stop.
    fn summary(&self) -> &'static str;

    /// Whether further records only add text behind that of those before, so that it can be printed
    /// while a run goes on.
    fn is_append_only(&self) -> bool {
        true
    }

    /// Whether it prints what only the samples of points tell, so that they must be kept.
    fn needs_samples(&self) -> bool {
        false
    }

    /// Writes `records`, which are in the order of their file.
    ///
    /// # Errors
    /// If `out` cannot be written.
    fn write(&self, records: &[Record], out: &mut dyn Write) -> io::Result<()>;
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
    fn what_is_printed_during_a_run_stays_as_it_is() {
        let folder = Folder::new();
        let records = read_records(&fixture::record_run(&folder)).unwrap().records;
        // A table ends with a word on a missing end; of a running kernel, `LiveTable` writes it.
        let is_followed =
            |format: &&&dyn Format| format.is_append_only() && format.name() != "table";
        for format in FORMATS.iter().filter(is_followed) {
            let whole = render(format.name(), &records);
            for n_records in 0..records.len() {
                let part = render(format.name(), &records[..n_records]);
                assert!(whole.starts_with(&part), "{}, {n_records} records", format.name());
            }
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
