//! The layout of the OSU micro-benchmarks 7.4, for programs that read theirs.
//!
//! ```text
//!
//!   # OSU MPI Latency Test v7.4
//!   # Datatype: MPI_CHAR.
//!   # note: comet/echo of comet 0.1.0, D4 half_round_trip
//!   # Size       Avg Latency(us)        Validation
//!   8                       0.51              Pass
//! ```
//!
//! A row starts at column 0 with the length in bytes, and no other line starts with a digit.
//! Times are means, as OSU's are: of the test node, or over all ranks of the mean of each, where
//! all of them sampled. MB are 10^6 bytes.
//! Columns that OSU prints on request come with the label `osu_columns` of the run, which lists
//! `full` (its `-f`), `validation` (`-c`) and percentiles (`p50`, from its `-z`).

use std::io::{self, Write};

use comet_stats::quantile;

use super::Format;
use super::foreign::{self, Block, Layout, Means, or_dash, repetitions, size_bytes, two_digits};
use crate::record::{CheckStatus, Point, Run, Summary};
use crate::sink::RecordSink;

/// Width of the column with the length.
const SIZE_WIDTH: usize = 10;
/// Width of the others: OSU's `FIELD_WIDTH`, as its configure script sets it.
const WIDTH: usize = 18;
/// Width of the column with the repetitions.
const ITERATIONS_WIDTH: usize = 12;
/// Width of a time that has no length before it.
const ALONE_WIDTH: usize = 17;

/// Name of the label that asks for further columns.
pub const COLUMNS_LABEL: &str = "osu_columns";

/// What a program of OSU prints beside the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Half of a round trip between two ranks.
    Latency,
    /// The time of one call, the mean over all ranks.
    Collective,
    /// A rate.
    Bandwidth,
    /// A rate, and messages per second.
    MessageRate,
}

/// A program of OSU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its title, without what all titles have.
    pub(crate) title: &'static str,
    /// What it prints.
    pub(crate) kind: Kind,
}

const fn program(name: &'static str, title: &'static str, kind: Kind) -> Program {
    Program { name, title, kind }
}

/// Programs whose titles are known.
pub(crate) const PROGRAMS: &[Program] = &[
    program("osu_latency", "Latency Test", Kind::Latency),
    program("osu_multi_lat", "Multi Latency Test", Kind::Latency),
    program("osu_bw", "Bandwidth Test", Kind::Bandwidth),
    program("osu_bibw", "Bi-Directional Bandwidth Test", Kind::Bandwidth),
    program("osu_mbw_mr", "Multiple Bandwidth / Message Rate Test", Kind::MessageRate),
    program("osu_allgather", "Allgather Latency Test", Kind::Collective),
    program("osu_allgatherv", "Allgatherv Latency Test", Kind::Collective),
    program("osu_allreduce", "Allreduce Latency Test", Kind::Collective),
    program("osu_alltoall", "All-to-All Personalized Exchange Latency Test", Kind::Collective),
    program("osu_barrier", "Barrier Latency Test", Kind::Collective),
    program("osu_bcast", "Broadcast Latency Test", Kind::Collective),
    program("osu_gather", "Gather Latency Test", Kind::Collective),
    program("osu_reduce", "Reduce Latency Test", Kind::Collective),
    program("osu_reduce_scatter", "Reduce_scatter Latency Test", Kind::Collective),
    program("osu_scatter", "Scatter Latency Test", Kind::Collective),
];

/// The program called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// The layout of the OSU micro-benchmarks.
#[derive(Clone, Copy, Debug)]
pub struct Osu;

impl Format for Osu {
    fn name(&self) -> &'static str {
        "osu"
    }

    fn summary(&self) -> &'static str {
        "the layout of the OSU micro-benchmarks 7.4"
    }

    fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
        foreign::writer(*self, out)
    }
}

impl Layout for Osu {
    const PREFIX: &'static str = "OSU:";

    fn knows(&self, name: &str) -> bool {
        find(name).is_some_and(|program| program.kind != Kind::MessageRate)
    }

    fn start(&self, _run: &Run, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn head(&self, block: &Block<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(program) = find(block.name) else { return Ok(()) };
        let has_size = size_bytes(block.first).is_some();
        writeln!(out, "\n# OSU MPI {} v7.4", program.title)?;
        if has_size {
            let is_vector = block.first.params.get("vector_length").is_some();
            let datatype = if is_vector { "MPI_DOUBLE" } else { "MPI_CHAR" };
            writeln!(out, "# Datatype: {datatype}.")?;
        }
        writeln!(out, "# note: {}", block.origin())?;
        let mut line = if has_size { format!("{:<SIZE_WIDTH$}", "# Size") } else { "# ".into() };
        let title =
            if program.kind == Kind::Bandwidth { "Bandwidth (MB/s)" } else { "Avg Latency(us)" };
        line += &if has_size { format!("{title:>WIDTH$}") } else { title.to_owned() };
        line += &Columns::of(block).head();
        writeln!(out, "{line}")
    }

    fn row(&self, block: &Block<'_>, point: &Point, out: &mut dyn Write) -> io::Result<()> {
        let means = Means::of(point);
        let value =
            if is_rate(block) { megabytes_per_s(point, means) } else { means.map(|m| m.avg_us) };
        writeln!(out, "{}{}", start(point, value), Columns::of(block).cells(point, means))
    }

    fn wrong(&self, block: &Block<'_>, point: &Point, out: &mut dyn Write) -> io::Result<()> {
        let columns = Columns::of(block);
        if !columns.validation {
            return Ok(());
        }
        writeln!(out, "{}{}", start(point, None), columns.cells(point, None))
    }

    fn end(&self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The columns that every row has.
fn start(point: &Point, value: Option<f64>) -> String {
    let value = two_digits(value);
    match size_bytes(point) {
        Some(size) => format!("{size:<SIZE_WIDTH$}{value:>WIDTH$}"),
        None => format!("{value:>ALONE_WIDTH$}"),
    }
}

/// What one operation moves, over its mean time.
#[expect(clippy::cast_precision_loss, reason = "messages are far shorter than 2^53 bytes")]
fn megabytes_per_s(point: &Point, means: Option<Means>) -> Option<f64> {
    let bytes = point.value.as_ref()?.bytes_per_op?;
    Some(bytes as f64 / means?.avg_us)
}

/// The percentile `number` of the rates of single samples, in MB a second: that of their times from
/// the other end.
#[expect(clippy::cast_precision_loss, reason = "intervals are far shorter than 2^53 ns")]
fn rate_percentile(point: &Point, number: u8) -> Option<f64> {
    let (samples, inner) = (point.samples.as_ref()?, point.reps.as_ref()?.inner);
    let mut sorted: Vec<f64> = samples.data.iter().map(|ns| *ns as f64).collect();
    sorted.sort_by(f64::total_cmp);
    let time_ns = quantile(&sorted, 1.0 - f64::from(number) / 100.0) / f64::from(inner);
    Some(point.value.as_ref()?.bytes_per_op? as f64 * 1e3 / time_ns)
}

/// Whether the program of `block` prints rates.
fn is_rate(block: &Block<'_>) -> bool {
    find(block.name).is_some_and(|program| program.kind == Kind::Bandwidth)
}

/// Number of a percentile, and where it stands in a summary.
type Percentile = (u8, fn(&Summary) -> f64);

/// The percentiles that a summary has.
const PERCENTILES: &[Percentile] = &[
    (25, |time| time.p25),
    (50, |time| time.median),
    (75, |time| time.p75),
    (90, |time| time.p90),
    (95, |time| time.p95),
    (99, |time| time.p99),
];

/// Numbers of the percentiles that can be printed.
pub fn percentiles() -> impl Iterator<Item = u8> {
    PERCENTILES.iter().map(|(number, _)| *number)
}

/// The columns that OSU prints on request, in its order.
#[derive(Debug, Default)]
struct Columns {
    /// Whether percentiles are those of rates.
    is_rate: bool,
    full: bool,
    validation: bool,
    percentiles: Vec<Percentile>,
}

impl Columns {
    /// Those that the label of the run asks for.
    fn of(block: &Block<'_>) -> Self {
        let label = block.run.and_then(|run| run.labels.get(COLUMNS_LABEL));
        let words: Vec<&str> = label.map_or(Vec::new(), |label| label.split(',').collect());
        let is_named = |(number, _): &&Percentile| words.contains(&&*format!("p{number}"));
        Self {
            is_rate: is_rate(block),
            full: words.contains(&"full"),
            validation: words.contains(&"validation"),
            percentiles: PERCENTILES.iter().filter(is_named).copied().collect(),
        }
    }

    fn head(&self) -> String {
        let mut line = String::new();
        if self.full {
            line += &format!("{:>WIDTH$}{:>WIDTH$}", "Min Latency(us)", "Max Latency(us)");
            line += &format!("{:>ITERATIONS_WIDTH$}", "Iterations");
        }
        if self.validation {
            line += &format!("{:>WIDTH$}", "Validation");
        }
        for (number, _) in &self.percentiles {
            let of = if self.is_rate { "BW(MB/s)" } else { "Lat(us)" };
            line += &format!("{:>WIDTH$}", format!("P{number} Tail {of}"));
        }
        line
    }

    fn cells(&self, point: &Point, means: Option<Means>) -> String {
        let mut line = String::new();
        if self.full {
            let us = |mean: fn(Means) -> f64| two_digits(means.map(mean));
            line += &format!("{:>WIDTH$}{:>WIDTH$}", us(|m| m.min_us), us(|m| m.max_us));
            line += &format!("{:>ITERATIONS_WIDTH$}", or_dash(repetitions(point)));
        }
        if self.validation {
            let outcome = match point.check.status {
                CheckStatus::Pass => "Pass",
                CheckStatus::Fail => "Fail",
                CheckStatus::Skipped => "-",
            };
            line += &format!("{outcome:>WIDTH$}");
        }
        for (number, percentile) in &self.percentiles {
            let value = match &point.time_ns {
                Some(_) if self.is_rate => rate_percentile(point, *number),
                time => time.as_ref().map(|time| percentile(time) / 1e3),
            };
            line += &format!("{:>WIDTH$}", two_digits(value));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::super::foreign::tests::{check_golden, records, render};
    use super::*;
    use crate::record::Record;

    /// The text of the small run with these columns beside the least.
    fn text(columns: &str) -> String {
        let mut records = records();
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.labels.insert(COLUMNS_LABEL.into(), columns.into());
        render(&Osu, &records)
    }

    #[test]
    fn it_looks_as_it_did() {
        let all = text("full,validation,p50,p99");
        check_golden("format-osu.txt", &(text("") + &text("validation") + &all));
    }

    #[test]
    fn only_rows_start_with_a_digit() {
        for line in text("full,validation").lines() {
            let is_comment = line.is_empty() || line.starts_with('#') || line.starts_with("     ");
            let is_row = line
                .split_whitespace()
                .nth(1)
                .is_some_and(|word| word == "-" || word.parse::<f64>().is_ok());
            assert!(is_comment || is_row, "{line}");
        }
    }

    #[test]
    fn percentiles_of_rates_are_those_of_the_fastest_windows() {
        let point = records().into_iter().find_map(|record| match record {
            Record::Point(point) if point.samples.is_some() => Some(point),
            _ => None,
        });
        let mut point = point.unwrap();
        point.value.as_mut().unwrap().bytes_per_op = Some(1000);
        // Ten operations in 10.0, 10.2 and 10.6 us.
        let check = |number, expected: f64| {
            let found = rate_percentile(&point, number).unwrap();
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        };
        check(50, 1000.0 / 1.02);
        check(99, 1000.0 / 1.0004);
    }

    #[test]
    fn names_and_titles_are_unique() {
        for program in PROGRAMS {
            let same = |p: &&Program| p.name == program.name || p.title == program.title;
            assert_eq!(PROGRAMS.iter().filter(same).count(), 1, "{}", program.name);
        }
    }
}
