//! Output of the OSU micro-benchmarks: between two ranks and collectives, of versions before and
//! after 7, with and without the columns that `-f`, `-c` and `-z` add.

use comet_core::definition::{Definition, Quantity};

use super::table::{Column, Head};
use super::{Found, ImportError, Text, number, quoted, require_measured, version};
use crate::format::foreign::{RANKS_MAX_NS, RANKS_MIN_NS, REPETITIONS};
use crate::record::{CheckStatus, Param, PointStatus, RankStat, Value};
use crate::suite::Benchmark;
use crate::suite::osu::{Kind, Numbers, SUITE};

/// Titles of columns, in the order in which they are tried.
const COLUMNS: &[(&str, Column)] = &[
    ("Size", Column::Size),
    ("Avg Latency(us)", Column::Time),
    ("Latency (us)", Column::Time),
    ("Overall(us)", Column::Time),
    ("Bandwidth (MB/s)", Column::Rate),
    ("MB/s", Column::Rate),
    ("Messages/s", Column::Figure("messages_per_s", 1.0)),
    ("Min Latency(us)", Column::Figure(RANKS_MIN_NS, 1e3)),
    ("Max Latency(us)", Column::Figure(RANKS_MAX_NS, 1e3)),
    ("Iterations", Column::Figure(REPETITIONS, 1.0)),
    ("Compute(us)", Column::Figure("compute_ns", 1e3)),
    ("Coll. Init(us)", Column::Figure("start_ns", 1e3)),
    ("MPI_Test(us)", Column::Figure("test_ns", 1e3)),
    ("MPI_Wait(us)", Column::Figure("wait_ns", 1e3)),
    ("Pure Comm.(us)", Column::Figure("pure_ns", 1e3)),
    ("Min Comm.(us)", Column::Figure("pure_min_ns", 1e3)),
    ("Max Comm.(us)", Column::Figure("pure_max_ns", 1e3)),
    ("Overlap(%)", Column::Figure("overlap_percent", 1.0)),
    ("Validation", Column::Validation),
    ("Transmit Size", Column::Other),
];

/// The test whose rows are being read.
#[derive(Debug, Default)]
struct Test {
    title: String,
    program: Option<&'static Benchmark<Kind>>,
    /// Parameters that distinguish it from others of the same title.
    params: Vec<(String, Param)>,
    head: Head,
}

/// Reads `text`.
///
/// # Errors
/// If a row does not fit the head of its table.
pub(super) fn parse(text: &str) -> Result<Text, ImportError> {
    let mut found = Text::default();
    let mut test = Test::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(banner) = line.strip_prefix("# OSU ") {
            let (title, release) = banner.rsplit_once(" v").unwrap_or((banner, ""));
            found.version = version(release).unwrap_or(found.version);
            test = Test::of_title(title);
        } else if let Some(comment) = line.strip_prefix('#') {
            test.comment(comment.trim());
        } else if line.starts_with(|c: char| c.is_ascii_digit()) && !test.head.0.is_empty() {
            let row =
                test.row(line).map_err(|message| ImportError::Line { line: index + 1, message })?;
            found.rows.push(row);
        }
    }
    Ok(found)
}

impl Test {
    /// The test with this title, which starts with the programming model (`MPI`, `MPI-CUDA`).
    fn of_title(title: &str) -> Self {
        let (_, title) = title.split_once(' ').unwrap_or(("", title));
        let program = SUITE.benchmarks.iter().find(|program| program.kind.title == title);
        Self { title: title.to_owned(), program, ..Self::default() }
    }

    /// Takes in a line that is no row: the head of the table, or a fact about the test.
    fn comment(&mut self, line: &str) {
        let first = columns(line);
        if matches!(first.first(), Some((_, Column::Size | Column::Time | Column::Rate))) {
            self.head = Head(first);
        }
        let mut param = |name: &str, value: Param| self.params.push((name.to_owned(), value));
        for (title, name) in [("pairs: ", "pairs"), ("window size: ", "window")] {
            let rest = line.split_once(title).map(|(_, rest)| rest);
            let number = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            if let Some(number) = number {
                param(name, Param::Number(number));
            }
        }
        for (title, name) in
            [("Window creation: ", "window_creation"), ("Synchronization: ", "synchronization")]
        {
            if let Some(word) = line.strip_prefix(title) {
                param(name, Param::Label(word.to_owned()));
            }
        }
    }

    /// One row, or a sentence that says why it is none.
    fn row(&self, line: &str) -> Result<Found, String> {
        let words = self.head.words(line)?;
        require_measured(&words)?;
        let word = |wanted| self.head.word(&words, wanted);
        let printed_number = |wanted| word(wanted).and_then(number);
        let size = word(Column::Size).map(|word| word.parse().map_err(|_| not_a_size(word)));
        let size: Option<u64> = size.transpose()?;
        let mut params = self.params.clone();
        params.extend(size.map(|size| ("length_bytes".to_owned(), Param::Number(size))));
        let check = match word(Column::Validation) {
            Some("Pass") => CheckStatus::Pass,
            Some("Fail") => CheckStatus::Fail,
            _ => CheckStatus::Skipped,
        };
        let bytes_per_s =
            printed_number(Column::Rate).map(|rate| rate * 1e6).filter(|rate| *rate > 0.0);
        let printed_ns = printed_number(Column::Time).map(|us| us * 1e3);
        // Without a time, that of one message follows from the rate.
        let time_ns = printed_ns.or_else(|| Some(real(size?) / bytes_per_s? * 1e9));
        let (status, message) = outcome(check, time_ns.is_some() || bytes_per_s.is_some());
        let numbers = |value: Option<f64>| value.filter(|_| status == PointStatus::Ok);
        Ok(Found {
            kernel: self.kernel(),
            class: self.class(),
            n_ranks: self.numbers().is_some_and(Numbers::is_of_two).then_some(2),
            params,
            value: self.value(size),
            time_ns: numbers(time_ns),
            bytes_per_s: numbers(bytes_per_s),
            figures: self.head.figures(&words),
            check,
            status,
            message,
        })
    }

    /// Its name: that of the program, or its title where no program is known.
    fn kernel(&self) -> String {
        self.program.map_or_else(|| self.title.clone(), |program| program.name.to_owned())
    }

    fn numbers(&self) -> Option<Numbers> {
        self.program.map(|program| program.kind.numbers)
    }

    fn class(&self) -> &'static str {
        match self.numbers() {
            Some(Numbers::Barrier) => "sync",
            Some(Numbers::Collective) => "collective",
            Some(_) => "p2p",
            None => "other",
        }
    }

    /// Meaning of the numbers by the definitions of OSU; an operation counts for its length.
    fn value(&self, bytes_per_op: Option<u64>) -> Value {
        let (definition, quantity) = match self.numbers() {
            Some(Numbers::Latency) => (Definition::HalfRoundTrip, Quantity::OneWayTime),
            Some(Numbers::Bandwidth | Numbers::MessageRate) => {
                (Definition::TestNode, Quantity::OpTime)
            }
            _ => (Definition::CallMean, Quantity::OpTime),
        };
        let rank_stat = if definition.is_of_one_rank() { RankStat::Root } else { RankStat::Mean };
        quoted(definition, quantity, rank_stat, bytes_per_op)
    }
}

/// Outcome of a row: wrong data has no numbers, and a row without any could not be measured.
fn outcome(check: CheckStatus, has_numbers: bool) -> (PointStatus, Option<String>) {
    match (check, has_numbers) {
        (CheckStatus::Fail, _) => {
            (PointStatus::CheckFailed, Some("OSU found that data arrived wrong".into()))
        }
        (_, true) => (PointStatus::Ok, None),
        (_, false) => (PointStatus::Failed, Some("OSU printed no number".into())),
    }
}

fn not_a_size(word: &str) -> String {
    format!("'{word}' is no length in bytes, with which a row starts (is it cut off?)")
}

#[expect(clippy::cast_precision_loss, reason = "messages are far shorter than 2^53 bytes")]
fn real(size: u64) -> f64 {
    size as f64
}

/// The columns that the head `line` names; nothing if it is none.
fn columns(line: &str) -> Vec<(String, Column)> {
    let mut columns = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let known = COLUMNS.iter().find(|(title, _)| rest.starts_with(title));
        let (title, column) = match known {
            Some((title, column)) => (*title, *column),
            None if is_percentile(rest) => (percentile(rest), Column::Other),
            None => return Vec::new(),
        };
        columns.push((title.to_owned(), column));
        rest = rest[title.len()..].trim_start();
    }
    columns
}

/// True if `rest` starts with the title of a percentile (`P50 Tail Lat(us)`).
fn is_percentile(rest: &str) -> bool {
    let after =
        rest.strip_prefix('P').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    after.is_some_and(|after| after.starts_with(" Tail "))
}

/// The title of the percentile at the start of `rest`.
fn percentile(rest: &str) -> &str {
    rest.split_inclusive(')').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernel, length, time in us and rate in MB/s of a row.
    type Row = (String, Option<Param>, Option<f64>, Option<f64>);

    fn rows(text: &str) -> Vec<Row> {
        let row = |found: Found| {
            let length = found.params.iter().find(|(name, _)| name == "length_bytes");
            let length = length.map(|(_, value)| value.clone());
            let us = found.time_ns.map(|ns| (ns / 10.0).round() / 100.0);
            let rate = found.bytes_per_s.map(|rate| rate / 1e6);
            (found.kernel, length, us, rate)
        };
        parse(text).unwrap().rows.into_iter().map(row).collect()
    }

    #[test]
    fn old_and_new_heads_name_the_same_columns() {
        for head in ["# Size          Latency (us)", "# Size       Avg Latency(us)"] {
            let text = format!("# OSU MPI Latency Test v5.9\n{head}\n0    1.42\n8      1.51\n");
            let name = || "osu_latency".to_owned();
            let expected = [
                (name(), Some(Param::Number(0)), Some(1.42), None),
                (name(), Some(Param::Number(8)), Some(1.51), None),
            ];
            assert_eq!(rows(&text), expected);
        }
    }

    #[test]
    fn a_bandwidth_has_the_time_of_a_message() {
        let text = "\n# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n\
                    # Size      Bandwidth (MB/s)\n1000000            250.00\n";
        let expected =
            ("osu_bw".to_owned(), Some(Param::Number(1_000_000)), Some(4000.0), Some(250.0));
        assert_eq!(rows(text), [expected]);
    }

    #[test]
    fn all_columns_of_a_collective_are_found() {
        let text = "# OSU MPI Allreduce Latency Test v7.4\n\
                    # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\
                    \x20       Validation  P50 Tail Lat(us)\n\
                    4      10.50    9.00    12.00   1000   Pass   10.00\n\
                    8      10.50    9.00    12.00   1000   Fail   10.00\n";
        let found = parse(text).unwrap();
        assert_eq!(found.version, "7.4");
        let figures: Vec<_> = found.rows[0].figures.iter().map(|f| (&*f.name, f.value)).collect();
        let expected = [
            (RANKS_MIN_NS, Some(9000.0)),
            (RANKS_MAX_NS, Some(12_000.0)),
            (REPETITIONS, Some(1000.0)),
        ];
        assert_eq!(figures, expected);
        assert_eq!(found.rows[0].check, CheckStatus::Pass);
        assert_eq!((found.rows[1].status, found.rows[1].time_ns), (PointStatus::CheckFailed, None));
    }

    #[test]
    fn a_barrier_has_no_length() {
        let text = "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n            12.57\n";
        assert_eq!(rows(text), [("osu_barrier".to_owned(), None, Some(12.57), None)]);
    }

    #[test]
    fn pairs_and_windows_are_parameters() {
        let text = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n\
                    # [ pairs: 2 ] [ window size: 64 ]\n# Size      MB/s   Messages/s\n\
                    2   15.93    7962625.43\n";
        let found = &parse(text).unwrap().rows[0];
        let names: Vec<_> =
            found.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(names, ["pairs=2", "window=64", "length_bytes=2"]);
        assert_eq!(found.figures[0].value, Some(7_962_625.43));
    }

    #[test]
    fn a_row_that_is_cut_off_is_refused_with_its_line() {
        let text = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n8      1.5\n16\n";
        let error = parse(text).unwrap_err().to_string();
        let expected = "line 4: the row has 1 columns, the head of its table 2 (is it cut off?)";
        assert_eq!(error, expected);
    }
}
