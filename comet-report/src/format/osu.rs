//! The layout of the OSU micro-benchmarks 7.4, for programs that read it.
//!
//! A row starts at column 0 with the length in bytes, and no other line starts with a digit.
//! Times are means, as OSU's are: of the test node, or over all ranks of the mean of each, where
//! all of them sampled. MB are 10^6 bytes.
//! Columns that OSU prints on request come with the label `osu_columns` of the run, which lists
//! `full` (its `-f`), `validation` (`-c`) and percentiles (`p50`, from its `-z`).

use std::io::Write;

use comet_stats::quantile;

use super::foreign::{self, Block, Layout, Means, or_dash, repetitions, size_bytes, two_digits};
use crate::record::{CheckStatus, Measured, Point};
use crate::sink::RecordSink;
use crate::suite::osu::SUITE;
use crate::suite::{Numbers, Suite};

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

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Osu, out)
}

/// The layout of the OSU micro-benchmarks.
struct Osu;

impl Layout for Osu {
    fn suite(&self) -> &'static Suite {
        &SUITE
    }

    fn head(&self, block: &Block<'_>) -> String {
        let (title, origin) = (block.benchmark.title, block.origin());
        let value = if is_rate(block) { "Bandwidth (MB/s)" } else { "Avg Latency(us)" };
        let (datatype, start) = match size_bytes(block.first) {
            Some(_) => {
                ("# Datatype: MPI_CHAR.\n", format!("{:<SIZE_WIDTH$}{value:>WIDTH$}", "# Size"))
            }
            None => ("", format!("# {value}")),
        };
        let columns = columns(block, block.first, None).into_iter();
        let titles: String = columns.map(|(title, width, _)| format!("{title:>width$}")).collect();
        format!("\n# OSU MPI {title} v7.4\n{datatype}# note: {origin}\n{start}{titles}\n")
    }

    fn row(&self, block: &Block<'_>, point: &Point) -> Option<String> {
        let is_ok = point.numbers().is_some();
        if !is_ok && !requested(block).any(|word| word == VALIDATION) {
            return None;
        }
        let means = Means::of(point).filter(|_| is_ok);
        let value =
            if is_rate(block) { megabytes_per_s(point, means) } else { means.map(|m| m.avg_us) };
        let value = two_digits(value);
        let start = match size_bytes(point) {
            Some(size) => format!("{size:<SIZE_WIDTH$}{value:>WIDTH$}"),
            None => format!("{value:>ALONE_WIDTH$}"),
        };
        let columns = columns(block, point, means).into_iter();
        let cells = columns.map(|(_, width, cell)| format!("{cell:>width$}"));
        Some(start + &cells.collect::<String>())
    }
}

/// Rate of one operation, over its mean time.
fn megabytes_per_s(point: &Point, means: Option<Means>) -> Option<f64> {
    let bytes = point.value()?.bytes_per_op?;
    Some(bytes as f64 / means?.avg_us)
}

/// The percentile `number` over operations: of times in us, or of rates in MB/s from the other end.
fn percentile(point: &Point, number: u8, is_rate: bool) -> Option<f64> {
    let Measured { numbers, reps, samples, .. } = point.measured()?;
    let samples = samples.as_ref()?;
    let [n_ranks, n_samples] = samples.shape;
    let divisor = f64::from(reps.inner) * f64::from(numbers.value.divisor) * n_ranks as f64;
    let of_ranks = |sample: usize| samples.data.iter().skip(sample).step_by(n_samples.max(1));
    let time_us = |sample| of_ranks(sample).map(|ns| *ns as f64).sum::<f64>() / divisor / 1e3;
    let mut times_us: Vec<f64> = (0..n_samples).map(time_us).collect();
    times_us.sort_by(f64::total_cmp);
    let share = f64::from(number) / 100.0;
    if times_us.is_empty() {
        None
    } else if is_rate {
        Some(numbers.value.bytes_per_op? as f64 / quantile(&times_us, 1.0 - share))
    } else {
        Some(quantile(&times_us, share))
    }
}

/// True if the program of `block` prints rates.
fn is_rate(block: &Block<'_>) -> bool {
    block.benchmark.numbers == Numbers::Bandwidth
}

/// True if `number` is a percentile that OSU can print.
pub fn is_percentile(number: &u8) -> bool {
    (1..=99).contains(number)
}

/// Name of the column with the outcome of the check in the label of a run.
const VALIDATION: &str = "validation";

/// The columns that the label of the run asks for.
fn requested<'a>(block: &Block<'a>) -> impl Iterator<Item = &'a str> + Clone {
    let label = block.run.and_then(|run| run.labels.get(COLUMNS_LABEL));
    label.map_or("", String::as_str).split(',')
}

/// The columns that OSU prints on request, in its order: title, width, and the cell of `point`.
fn columns(block: &Block<'_>, point: &Point, means: Option<Means>) -> Vec<(String, usize, String)> {
    let (words, is_rate) = (requested(block), is_rate(block));
    let mut columns = Vec::new();
    if words.clone().any(|word| word == "full") {
        let mean = |of: fn(Means) -> f64| two_digits(means.map(of));
        columns.push(("Min Latency(us)".into(), WIDTH, mean(|means| means.min_us)));
        columns.push(("Max Latency(us)".into(), WIDTH, mean(|means| means.max_us)));
        columns.push(("Iterations".into(), ITERATIONS_WIDTH, or_dash(repetitions(point))));
    }
    if words.clone().any(|word| word == VALIDATION) {
        let outcome = match point.check.status {
            CheckStatus::Pass => "Pass",
            CheckStatus::Fail => "Fail",
            CheckStatus::Skipped => "-",
        };
        columns.push(("Validation".into(), WIDTH, outcome.into()));
    }
    let of = if is_rate { "BW(MB/s)" } else { "Lat(us)" };
    let numbers = words.filter_map(|word| word.strip_prefix('p')?.parse().ok());
    columns.extend(numbers.filter(is_percentile).map(|number| {
        let cell = two_digits(percentile(point, number, is_rate));
        (format!("P{number} Tail {of}"), WIDTH, cell)
    }));
    columns
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
            Record::Point(point) if point.measured().is_some() => Some(point),
            _ => None,
        });
        let mut point = point.unwrap();
        let value = &mut point.measured_mut().unwrap().numbers.value;
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
