//! Output of foreign suites as records, which can be shown, fitted and compared like those of CoMet.
//!
//! ```text
//!   text ──► blocks of rows ──► points ──► run, points, end
//! ```
//!
//! A point is one row. Its suite is `osu` or `imb`, its kernel has the foreign name, and its only
//! time is the printed one, which is a mean, without samples. Facts that a text lacks are `null` or
//! empty: machines, placement, clock, number of nodes. A check that the text does not mention is
//! `skipped`. The time of the import stands for the start, and for that of each row.

mod table;
mod text;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::SystemTime;

use serde_json::{Value as Json, json};

use crate::canonical::sha256_hex;
use crate::fingerprint::fingerprint;
use crate::format::write_line;
use crate::record::{
    self, Clock, Derived, End, EndStatus, Hops, Mesh, Point, PointCounts, Record, Run, SCHEMA,
    SCHEMA_MINOR, Summary, Transport, World, timestamp,
};
use crate::recorder::new_run_id;
use crate::suite::{self, Suite};

/// The foreign suite that printed a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The OSU micro-benchmarks, of any version.
    Osu,
    /// The Intel MPI Benchmarks, of any version.
    Imb,
}

impl Origin {
    /// The suite that printed `text`, by the titles in it.
    pub fn of(text: &str) -> Option<Self> {
        let is_title = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
        match (is_title("# OSU "), is_title("# Benchmarking ")) {
            (true, _) => Some(Self::Osu),
            (false, true) => Some(Self::Imb),
            (false, false) => None,
        }
    }

    fn suite(self) -> &'static Suite {
        match self {
            Self::Osu => &suite::osu::SUITE,
            Self::Imb => &suite::imb::SUITE,
        }
    }
}

/// Numbers of processes that a text may be of.
pub const RANKS: RangeInclusive<u64> = 1..=1 << 20;

/// Facts about a text that it does not hold.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Number of processes, one of [`RANKS`], where the text does not tell.
    pub n_ranks: Option<u64>,
    /// Command line of the import.
    pub argv: Vec<String>,
    /// The wall clock at the import, which stands for that of the run.
    pub imported_at: SystemTime,
}

/// A text that cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// There is nothing to import in it.
    #[error("there is no table of {name} in the text (is this what the benchmark printed?)")]
    NoTable {
        /// Name of the benchmark.
        name: &'static str,
    },
    /// A line cannot be understood.
    #[error("line {line}: {message}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Fault, expectation and remedy.
        message: String,
    },
    /// The number of processes is not in the text.
    #[error("the text does not say on how many ranks {kernel} ran (add --ranks N)")]
    Ranks {
        /// Name of the test.
        kernel: String,
    },
}

/// The records of the output of `origin`: a run with its points and its end, and another run
/// wherever a test is there once more.
///
/// # Errors
/// If there is no table in `text`, if a row does not fit its table, or if nobody says how many
/// ranks there were.
pub fn import(
    origin: Origin,
    text: &str,
    around: &Surroundings,
) -> Result<Vec<Record>, ImportError> {
    let suite = origin.suite();
    let (version, points) = text::parse(suite, text, around)?;
    if points.is_empty() {
        return Err(ImportError::NoTable { name: suite.id });
    }
    let mut runs: Vec<(BTreeSet<String>, Vec<Point>)> = Vec::new();
    for point in points {
        if runs.last().is_none_or(|(keys, _)| keys.contains(&point.key)) {
            runs.push((BTreeSet::new(), Vec::new()));
        }
        if let Some((keys, points)) = runs.last_mut() {
            keys.insert(point.key.clone());
            points.push(point);
        }
    }
    let run = |(_, points)| run_records(suite, &version, points, around);
    Ok(runs.into_iter().flat_map(run).collect())
}

/// Writes `records` as a result file.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(records: &[Record], out: &mut impl Write) -> io::Result<()> {
    records.iter().try_for_each(|record| write_line(out, record))
}

/// A run with `points`: number and id of each are set here.
fn run_records(
    suite: &Suite,
    version: &str,
    mut points: Vec<Point>,
    around: &Surroundings,
) -> Vec<Record> {
    let run_id = new_run_id(around.imported_at);
    let mut counts = PointCounts::default();
    for (seq, point) in (0..).zip(&mut points) {
        (point.run_id, point.seq) = (run_id.clone(), seq);
        counts.add(point.status);
    }
    let run = run(suite, version, &points, (&run_id, around));
    let end = End {
        run_id: Some(run_id),
        status: EndStatus::Complete,
        ended_at: run.started_at.clone(),
        points: counts,
        wall_s: None,
        reason: None,
        noise: None,
    };
    let points = points.into_iter().map(|point| Record::Point(Box::new(point)));
    std::iter::once(Record::Run(Box::new(run))).chain(points).chain([Record::End(end)]).collect()
}

/// The run `run_id` of `version` of a suite that measured `points`, of which only name, version and
/// the most ranks of any point are known.
fn run(
    suite: &Suite,
    version: &str,
    points: &[Point],
    (run_id, around): (&str, &Surroundings),
) -> Run {
    let config = [("imported_from".to_owned(), Json::from(suite.id))].into();
    let procs = |point: &Point| usize::try_from(point.params.number("procs")?).ok();
    let size = points.iter().filter_map(procs).max().unwrap_or(1);
    let mesh = Mesh { rows: 1, cols: size, order: "row".into(), map: (0..size).collect() };
    let hops = Hops { metric: "flat".into(), diameter: size.min(2) - 1, table: None };
    let mut run = Run {
        schema: SCHEMA.into(),
        schema_minor: SCHEMA_MINOR,
        run_id: run_id.into(),
        started_at: timestamp(around.imported_at),
        suite: record::Suite {
            name: suite.id.into(),
            version: version.into(),
            ..record::Suite::default()
        },
        argv: around.argv.clone(),
        config_sha256: sha256_hex(&json!(config)),
        config,
        transport: Transport { backend: "mpi".into(), facts: [].into() },
        world: World { size, mesh, hops, ..World::default() },
        clock: Clock { source: "MPI_Wtime".into(), ..Clock::default() },
        n_cases: points.len(),
        ..Run::default()
    };
    run.fingerprint = fingerprint(&run);
    run
}

/// The summary of one value, which is all that was printed.
fn single(ns: f64) -> Summary {
    let ends = Summary { n: 1, min: ns, max: ns, mean: ns, median: ns, ..Summary::default() };
    Summary { p25: ns, p75: ns, p90: ns, p95: ns, p99: ns, ..ends }
}

/// A figure that stands in the text as it is.
fn printed(name: &str, title: &str, value: f64) -> Derived {
    Derived { name: name.into(), formula: format!("as printed under {title}"), value: Some(value) }
}

/// The largest number that a row may hold; times and rates in other units are below infinity then.
const MAX_NUMBER: f64 = 1e18;

/// Refuses a row with a number that cannot have been measured.
///
/// # Errors
/// A sentence with the number, if one of `words` is negative or too large.
fn require_measured(words: &[&str]) -> Result<(), String> {
    let is_possible = |number: f64| number.is_nan() || (0.0..=MAX_NUMBER).contains(&number);
    match words.iter().find(|word| word.parse().is_ok_and(|number| !is_possible(number))) {
        None => Ok(()),
        Some(word) => {
            Err(format!("'{word}' was not measured, expected 0 to 1e18 (correct the row)"))
        }
    }
}

#[cfg(test)]
mod tests;
