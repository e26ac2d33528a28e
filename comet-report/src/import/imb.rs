//! Output of the Intel MPI Benchmarks of versions 2.3 to 2021: every kind of table, groups, modes,
//! and the words that stand where numbers are missing.

use comet_core::definition::{Definition, Quantity};

use super::table::{Column, Head};
use super::{Found, ImportError, Text, quoted, require_measured, version};
use crate::format::foreign::{RANKS_AVG_NS, RANKS_MIN_NS, REPETITIONS};
use crate::record::{CheckStatus, Figure, Param, PointStatus, RankStat, Value};
use crate::suite::imb::{Columns, SUITE};

/// Starts of the titles of columns.
const COLUMNS: &[(&str, Column)] = &[
    ("Group", Column::Group),
    ("#bytes", Column::Size),
    ("#rep", Column::Figure(REPETITIONS, 1.0)),
    ("t[", Column::Time),
    ("t_min", Column::Figure(RANKS_MIN_NS, 1e3)),
    ("t_max", Column::Time),
    ("t_avg", Column::Figure(RANKS_AVG_NS, 1e3)),
    ("t_ovrl", Column::Figure("overlapped_ns", 1e3)),
    ("t_pure", Column::Time),
    ("t_CPU", Column::Figure("compute_ns", 1e3)),
    ("overlap", Column::Figure("overlap_percent", 1.0)),
    ("Mbytes/sec", Column::Rate),
    ("Mb/sec", Column::Rate),
    ("Msg/sec", Column::MessageRate),
    ("defects", Column::Defects),
];

/// Words in place of numbers, and what they mean for the point.
const FAILURES: &[(&str, PointStatus)] = &[
    ("out-of-mem.", PointStatus::Skipped),
    ("int-overflow.", PointStatus::Skipped),
    ("time-out.", PointStatus::Interrupted),
];

/// The block whose rows are being read.
#[derive(Debug, Default)]
struct Block {
    name: String,
    n_ranks: Option<u64>,
    groups: Option<u64>,
    mode: Option<&'static str>,
    head: Head,
    rows: Vec<Row>,
}

/// One row, still in the units of the text.
#[derive(Debug)]
struct Row {
    group: Option<u64>,
    size: Option<u64>,
    time_us: Option<f64>,
    rate: Option<f64>,
    message_rate: Option<f64>,
    defects: Option<f64>,
    figures: Vec<Figure>,
    failure: Option<(PointStatus, String)>,
}

/// Reads `text`.
///
/// # Errors
/// If a row does not fit the head of its table.
pub(super) fn parse(text: &str) -> Result<Text, ImportError> {
    let mut found = Text::default();
    let mut block = Block::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            let name = name.trim().to_owned();
            let done = std::mem::replace(&mut block, Block { name, ..Block::default() });
            found.rows.extend(done.found());
        } else if line.starts_with('#') || line.starts_with("Group") {
            found.version = title(line).unwrap_or(found.version);
            if let Some(mode) = mode(line) {
                // The same benchmark goes on in another mode, with a table of its own.
                let (name, n_ranks) = (block.name.clone(), block.n_ranks);
                let next = Block { name, n_ranks, mode: Some(mode), ..Block::default() };
                found.rows.extend(std::mem::replace(&mut block, next).found());
            }
            block.comment(line);
        } else if line.starts_with(|c: char| c.is_ascii_digit()) && !block.head.0.is_empty() {
            let refuse = |message| ImportError::Line { line: index + 1, message };
            let row = block.row(line).map_err(refuse)?;
            block.rows.push(row);
        }
    }
    found.rows.extend(block.found());
    Ok(found)
}

/// The version, if `line` is the title of the text.
fn title(line: &str) -> Option<String> {
    let is_title = line.contains("MPI Benchmark") || line.contains("in the layout of IMB");
    let of_suite = line.rsplit_once("IMB").map_or(line, |(_, rest)| rest);
    if is_title { version(of_suite) } else { None }
}

fn mode(line: &str) -> Option<&'static str> {
    match line.split_once("MODE: ")?.1.trim() {
        "AGGREGATE" => Some("aggregate"),
        "NON-AGGREGATE" => Some("non_aggregate"),
        _ => None,
    }
}

/// The first number in `text` after `start`.
fn number_after(text: &str, start: &str) -> Option<u64> {
    let (_, rest) = text.split_once(start)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

impl Block {
    /// Takes in a line that is no row: the head of the table, or the number of processes.
    fn comment(&mut self, line: &str) {
        if line.contains("groups of ") {
            self.groups = number_after(line, "( ");
            self.n_ranks = number_after(line, "groups of ");
        }
        self.n_ranks = number_after(line, "#processes = ").or(self.n_ranks);
        // Some versions print a blank between the mark and the title.
        let head = line.replacen("# bytes", "#bytes", 1);
        let column = |title: &str| {
            let known = COLUMNS.iter().find(|(start, _)| title.starts_with(start));
            known.map(|(_, column)| (title.to_owned(), *column))
        };
        let columns: Option<Vec<_>> = head.split_whitespace().map(column).collect();
        if let Some(columns) = columns.filter(|columns| columns.len() > 2) {
            self.head = Head(columns);
        }
    }

    /// One row, or a sentence that says why it is none.
    fn row(&self, line: &str) -> Result<Row, String> {
        let failure = FAILURES.iter().find_map(|(word, status)| {
            let at = line.find(word)?;
            Some((at, (*status, line[at..].to_owned())))
        });
        let n_bytes = failure.as_ref().map_or(line.len(), |(at, _)| *at);
        let words = match self.head.words(&line[..n_bytes]) {
            Err(_) if failure.is_some() => line[..n_bytes].split_whitespace().collect(),
            words => words?,
        };
        require_measured(&words)?;
        let cell = |wanted| {
            let word = self.head.word(&words, wanted)?;
            Some(word.parse::<f64>().map_err(|_| format!("'{word}' is no number (is it cut off?)")))
        };
        let finite = |wanted| cell(wanted).transpose().map(|n| n.filter(|n| n.is_finite()));
        let count = |wanted| self.head.word(&words, wanted)?.parse().ok();
        Ok(Row {
            group: count(Column::Group),
            size: count(Column::Size),
            time_us: finite(Column::Time)?,
            rate: finite(Column::Rate)?,
            message_rate: finite(Column::MessageRate)?,
            defects: finite(Column::Defects)?,
            figures: self.head.figures(&words),
            failure: failure.map(|(_, failure)| failure),
        })
    }

    /// The rows, with the units of their numbers.
    fn found(self) -> Vec<Found> {
        let unit = unit(&self.rows);
        self.rows.iter().map(|row| self.found_row(row, unit)).collect()
    }

    fn found_row(&self, row: &Row, (n_messages, bytes_per_mb): (u64, f64)) -> Found {
        let is_wrong = row.defects.is_some_and(|defects| defects > 0.0);
        let (status, message) = match &row.failure {
            Some((status, words)) => (*status, Some(words.clone())),
            None if is_wrong => {
                (PointStatus::CheckFailed, Some("IMB found defects in the data".into()))
            }
            None => (PointStatus::Ok, None),
        };
        let check = match row.defects {
            None => CheckStatus::Skipped,
            Some(_) if is_wrong => CheckStatus::Fail,
            Some(_) => CheckStatus::Pass,
        };
        let numbers = |value: Option<f64>| value.filter(|_| status == PointStatus::Ok);
        // Where there is no time, that of one message follows from the rate of messages.
        let of_messages = || Some(1e9 / row.message_rate.filter(|rate| *rate > 0.0)?);
        let bytes_per_s = row.rate.map(|rate| rate * bytes_per_mb).filter(|rate| *rate > 0.0);
        let bytes = row.size.map(|size| size.saturating_mul(n_messages));
        Found {
            kernel: self.name.clone(),
            class: self.class(),
            n_ranks: self.n_ranks,
            params: self.params(row),
            value: self.value(bytes),
            time_ns: numbers(row.time_us.map(|us| us * 1e3).or_else(of_messages)),
            bytes_per_s: numbers(bytes_per_s),
            figures: row.figures.clone(),
            check,
            status,
            message,
        }
    }

    fn params(&self, row: &Row) -> Vec<(String, Param)> {
        let mode = self.mode.map(|mode| ("mode".to_owned(), Param::Label(mode.into())));
        let numbers = [("groups", self.groups), ("group", row.group), ("length_bytes", row.size)];
        let number = |(name, value): (&str, Option<u64>)| {
            value.map(|value| (name.to_owned(), Param::Number(value)))
        };
        mode.into_iter().chain(numbers.into_iter().filter_map(number)).collect()
    }

    /// The class, by the columns that the benchmark has by the table, or else in the text.
    fn class(&self) -> &'static str {
        let columns = SUITE.find(&self.name).map(|benchmark| benchmark.kind.columns);
        match columns {
            Some(Columns::SingleTransfer) if self.name.starts_with("PingPong") => "p2p",
            Some(Columns::SingleTransfer) => "exchange",
            _ if !self.head.has(Column::Size) => "sync",
            _ if self.head.has(Column::Rate) => "parallel",
            _ => "collective",
        }
    }

    /// Meaning of the numbers by the definitions of IMB; where no rate is printed, an operation
    /// counts for its length.
    fn value(&self, bytes_per_op: Option<u64>) -> Value {
        let (definition, quantity) = if self.class() == "p2p" {
            (Definition::HalfRoundTrip, Quantity::OneWayTime)
        } else {
            (Definition::LoopMean, Quantity::OpTime)
        };
        quoted(definition, quantity, RankStat::Max, bytes_per_op)
    }
}

/// The number of messages of an operation that the rates of `rows` count, and the bytes of their
/// MB: those that fit the row with the highest rate best. IMB changed its MB, but not its heads.
fn unit(rows: &[Row]) -> (u64, f64) {
    const MEGABYTES: [f64; 2] = [1e6, 1_048_576.0];
    let rated = |row: &Row| Some((row.rate?, row.size?, time_us(row)?));
    let highest = rows.iter().filter_map(rated).max_by(|a, b| a.0.total_cmp(&b.0));
    let units = [1, 2, 4].into_iter().flat_map(|n| MEGABYTES.map(|mb| (n, mb)));
    let Some((rate, size, time_us)) = highest.filter(|(rate, ..)| *rate > 0.0) else {
        return (1, MEGABYTES[0]);
    };
    let error = |(n_messages, mb): &(u64, f64)| {
        (real(*n_messages) * real(size) / time_us * 1e6 / mb / rate).ln().abs()
    };
    units.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or((1, MEGABYTES[0]))
}

fn time_us(row: &Row) -> Option<f64> {
    row.time_us.or_else(|| Some(1e6 / row.message_rate?))
}

#[expect(clippy::cast_precision_loss, reason = "messages are far shorter than 2^53 bytes")]
fn real(size: u64) -> f64 {
    size as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of two processes with these lines after its head.
    fn block(name: &str, lines: &str) -> String {
        format!(
            "#----\n# Benchmarking {name} \n# #processes = 2 \n#----\n{lines}\n\n\
             # All processes entering MPI_Finalize\n"
        )
    }

    fn rows(name: &str, lines: &str) -> Vec<Found> {
        parse(&block(name, lines)).unwrap().rows
    }

    fn figures(found: &Found) -> Vec<(&str, Option<f64>)> {
        found.figures.iter().map(|figure| (&*figure.name, figure.value)).collect()
    }

    #[test]
    fn a_single_transfer_has_one_time_and_a_rate() {
        let head = "       #bytes #repetitions      t[usec]   Mbytes/sec\n";
        let found = rows(
            "PingPong",
            &format!("{head}  0  1000  0.51  0.00\n  1000000  40  250.00  4000.00"),
        );
        assert_eq!((found[0].time_ns, found[0].bytes_per_s), (Some(510.0), None));
        assert_eq!((found[1].time_ns, found[1].bytes_per_s), (Some(250_000.0), Some(4e9)));
        assert_eq!(found[1].value.bytes_per_op, Some(1_000_000));
        assert_eq!(figures(&found[1]), [(REPETITIONS, Some(40.0))]);
        assert_eq!((&*found[1].kernel, found[1].n_ranks), ("PingPong", Some(2)));
    }

    #[test]
    fn a_megabyte_is_what_fits_the_times() {
        let head = "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n";
        let check = |name, rate: f64, n_messages: u64, bytes_per_s: f64| {
            let text = format!("{head} 1048576 40 990.00 1000.00 995.00 {rate:.2}");
            let found = rows(name, &text).remove(0);
            assert_eq!(found.value.bytes_per_op, Some(n_messages << 20));
            assert!((found.bytes_per_s.unwrap() / bytes_per_s - 1.0).abs() < 1e-4);
            assert_eq!(found.time_ns, Some(1e6));
        };
        check("Sendrecv", 2000.0, 2, 2.0 * 1.048_576e9);
        check("Sendrecv", 2097.15, 2, 2.0 * 1.048_576e9);
        check("Exchange", 4000.0, 4, 4.0 * 1.048_576e9);
    }

    #[test]
    fn collectives_have_the_times_of_the_processes() {
        let head = "# bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n";
        let found = rows("Allreduce", &format!("{head} 8 1000 1.00 3.00 2.00")).remove(0);
        assert_eq!((found.time_ns, found.class), (Some(3000.0), "collective"));
        let expected = [(REPETITIONS, 1000.0), (RANKS_MIN_NS, 1000.0), (RANKS_AVG_NS, 2000.0)];
        assert_eq!(figures(&found), expected.map(|(name, value)| (name, Some(value))));
        let head = "#repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n";
        let found = rows("Barrier", &format!("{head} 1000 1.00 3.00 2.00")).remove(0);
        assert_eq!((found.time_ns, found.class, found.params.len()), (Some(3000.0), "sync", 0));
    }

    #[test]
    fn rates_of_messages_overlap_and_io_have_their_own_columns() {
        let found =
            rows("Uniband", "#bytes #repetitions Mbytes/sec Msg/sec\n 8 1000 16.00 2000000");
        assert_eq!((found[0].time_ns, found[0].bytes_per_s), (Some(500.0), Some(16e6)));
        let head = "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec]  overlap[%]\n";
        let found = rows("Ibcast", &format!("{head} 8 1000 5.00 3.00 2.50 20.00"));
        assert_eq!(found[0].time_ns, Some(3000.0));
        assert_eq!(figures(&found[0])[3], ("overlap_percent", Some(20.0)));
        let head = "#\n#    MODE: AGGREGATE \n#\n #bytes #rep.s t_min[usec] t_max t_avg Mb/sec\n";
        let found = rows("P_Write_Indv", &format!("{head} 8 50 5.00 6.00 5.50 1.27"));
        assert_eq!(found[0].params[0], ("mode".into(), Param::Label("aggregate".into())));
        assert_eq!(found[0].time_ns, Some(6000.0));
    }

    #[test]
    fn groups_are_parameters() {
        let lines = "# ( 3 groups of 2 processes each running simultaneous ) \n# Group 0: 0 3\n\
                     Group #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec\n\n\
                     0 100 1000 1.00 2.00 1.50 50.00\n1 100 1000 1.00 4.00 2.50 25.00";
        let found = rows("Multi-PingPing", lines);
        let names: Vec<_> = found[1].params.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(names, ["groups=3", "group=1", "length_bytes=100"]);
        assert_eq!((found[1].n_ranks, found[1].time_ns), (Some(2), Some(4000.0)));
    }

    #[test]
    fn words_in_place_of_numbers_become_a_status() {
        let head = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n";
        let check = |row: &str, status, message: &str| {
            let found = rows("Alltoall", &format!("{head}{row}")).remove(0);
            assert_eq!((found.status, found.time_ns), (status, None));
            assert_eq!(found.message.as_deref(), Some(message));
            assert_eq!(found.params, [("length_bytes".to_owned(), Param::Number(4_194_304))]);
        };
        let memory = "out-of-mem.; needed X=   1.001 GB; use flag \"-mem X\"";
        check(&format!("4194304 {memory}"), PointStatus::Skipped, memory);
        let overflow = "int-overflow.; The production rank*size caused int overflow";
        check(&format!("4194304 {overflow}"), PointStatus::Skipped, overflow);
        let time = "time-out.; Time limit is over";
        check(&format!("4194304 {time}"), PointStatus::Interrupted, time);
    }

    #[test]
    fn defects_are_a_failed_check() {
        let head = "#bytes #repetitions t[usec] Mbytes/sec defects\n";
        let found =
            rows("PingPong", &format!("{head} 8 10 1.00 8.00 0.00\n 16 10 1.00 16.00 2.00"));
        assert_eq!((found[0].check, found[0].status), (CheckStatus::Pass, PointStatus::Ok));
        assert_eq!(
            (found[1].check, found[1].status),
            (CheckStatus::Fail, PointStatus::CheckFailed)
        );
    }

    #[test]
    fn the_title_tells_the_version() {
        let check = |line: &str, expected: &str| {
            assert_eq!(parse(&format!("#    {line}\n")).unwrap().version, expected);
        };
        check("Intel (R) MPI Benchmark Suite V3.2, MPI-1 part", "3.2");
        check("Intel(R) MPI Benchmarks 2021.3, MPI-1 part", "2021.3");
        check("comet 0.1.0, in the layout of IMB 3.2, MB of 2^20 bytes", "3.2");
    }

    #[test]
    fn a_row_that_is_cut_off_is_refused_with_its_line() {
        let text = block("PingPong", "#bytes #repetitions t[usec] Mbytes/sec\n 8 1000 1.00");
        let expected = "line 6: the row has 3 columns, the head of its table 4 (is it cut off?)";
        assert_eq!(parse(&text).unwrap_err().to_string(), expected);
    }
}
