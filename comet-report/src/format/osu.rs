//! The layout of the OSU micro-benchmarks 7.4, for programs that read it.
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

use super::foreign::{self, Block, Layout, Means, or_dash, repetitions, size_bytes, two_digits};
use crate::record::{CheckStatus, Point, Run};
use crate::sink::RecordSink;
use crate::suite::Suite;
use crate::suite::osu::{Kind, Numbers, SUITE};

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

/// The layout of the OSU micro-benchmarks.
#[derive(Clone, Copy, Debug)]
struct Osu;

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Osu, out)
}

impl Layout for Osu {
    type Kind = Kind;

    const SUITE: Suite<Kind> = SUITE;

    fn prints(kind: &Kind) -> bool {
        kind.numbers != Numbers::MessageRate
    }

    fn start(&self, _run: &Run, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn head(&self, block: &Block<'_, Kind>, out: &mut dyn Write) -> io::Result<()> {
        let Kind { title, numbers } = block.benchmark.kind;
        let has_size = size_bytes(block.first).is_some();
        writeln!(out, "\n# OSU MPI {title} v7.4")?;
        if has_size {
            writeln!(out, "# Datatype: MPI_CHAR.")?;
        }
        writeln!(out, "# note: {}", block.origin())?;
        let mut line = if has_size { format!("{:<SIZE_WIDTH$}", "# Size") } else { "# ".into() };
        let title =
            if numbers == Numbers::Bandwidth { "Bandwidth (MB/s)" } else { "Avg Latency(us)" };
        line += &if has_size { format!("{title:>WIDTH$}") } else { title.to_owned() };
        line += &Columns::of(block).head();
        writeln!(out, "{line}")
    }

    fn row(&self, block: &Block<'_, Kind>, point: &Point, out: &mut dyn Write) -> io::Result<()> {
        let means = Means::of(point);
        let value =
            if is_rate(block) { megabytes_per_s(point, means) } else { means.map(|m| m.avg_us) };
        writeln!(out, "{}{}", start(point, value), Columns::of(block).cells(point, means))
    }

    fn wrong(&self, block: &Block<'_, Kind>, point: &Point, out: &mut dyn Write) -> io::Result<()> {
        let columns = Columns::of(block);
        if !columns.validation {
            return Ok(());
        }
        writeln!(out, "{}{}", start(point, None), columns.cells(point, None))
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

/// Rate of one operation, over its mean time.
#[expect(clippy::cast_precision_loss, reason = "messages are far shorter than 2^53 bytes")]
fn megabytes_per_s(point: &Point, means: Option<Means>) -> Option<f64> {
    let bytes = point.value.as_ref()?.bytes_per_op?;
    Some(bytes as f64 / means?.avg_us)
}

/// The percentile `number` over single operations: of their times in us, each the mean of the ranks,
/// or of their rates in MB a second, which is that of the times from the other end.
#[expect(clippy::cast_precision_loss, reason = "intervals are far shorter than 2^53 ns")]
fn percentile(point: &Point, number: u8, is_rate: bool) -> Option<f64> {
    let (samples, value) = (point.samples.as_ref()?, point.value.as_ref()?);
    let [n_ranks, n_samples] = samples.shape;
    let divisor = f64::from(point.reps.as_ref()?.inner) * f64::from(value.divisor) * n_ranks as f64;
    let of_ranks = |sample: usize| samples.data.iter().skip(sample).step_by(n_samples.max(1));
    let time_us = |sample| of_ranks(sample).map(|ns| *ns as f64).sum::<f64>() / divisor / 1e3;
    let mut times_us: Vec<f64> = (0..n_samples).map(time_us).collect();
    times_us.sort_by(f64::total_cmp);
    let share = f64::from(number) / 100.0;
    if times_us.is_empty() {
        None
    } else if is_rate {
        Some(value.bytes_per_op? as f64 / quantile(&times_us, 1.0 - share))
    } else {
        Some(quantile(&times_us, share))
    }
}

/// True if the program of `block` prints rates.
fn is_rate(block: &Block<'_, Kind>) -> bool {
    block.benchmark.kind.numbers == Numbers::Bandwidth
}

/// True if `number` is a percentile that OSU can print.
#[must_use]
pub fn is_percentile(number: &u8) -> bool {
    (1..=99).contains(number)
}

/// The columns that OSU prints on request, in its order.
#[derive(Debug, Default)]
struct Columns {
    /// True if percentiles are those of rates.
    is_rate: bool,
    full: bool,
    validation: bool,
    percentiles: Vec<u8>,
}

impl Columns {
    /// The columns that the label of the run asks for.
    fn of(block: &Block<'_, Kind>) -> Self {
        let label = block.run.and_then(|run| run.labels.get(COLUMNS_LABEL));
        let words: Vec<&str> = label.map_or(Vec::new(), |label| label.split(',').collect());
        let percentile = |word: &&str| word.strip_prefix('p')?.parse().ok().filter(is_percentile);
        Self {
            is_rate: is_rate(block),
            full: words.contains(&"full"),
            validation: words.contains(&"validation"),
            percentiles: words.iter().filter_map(percentile).collect(),
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
        for number in &self.percentiles {
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
        for number in &self.percentiles {
            let value = percentile(point, *number, self.is_rate);
            line += &format!("{:>WIDTH$}", two_digits(value));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::super::foreign::tests::records;
    use super::*;
    use crate::fixture::{check_golden, render};
    use crate::record::Record;

    /// The text of the small run with these columns beside the least.
    fn text(columns: &str) -> String {
        let mut records = records("osu");
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.labels.insert(COLUMNS_LABEL.into(), columns.into());
        render("osu", &records)
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
        let point = records("osu").into_iter().find_map(|record| match record {
            Record::Point(point) if point.samples.is_some() => Some(point),
            _ => None,
        });
        let mut point = point.unwrap();
        let value = point.value.as_mut().unwrap();
        (value.bytes_per_op, value.divisor) = (Some(1000), 1);
        // Ten operations in 10.0, 10.2 and 10.6 us.
        let check = |number, expected: f64| {
            let found = percentile(&point, number, true).unwrap();
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        };
        check(50, 1000.0 / 1.02);
        check(99, 1000.0 / 1.0004);
    }
}
