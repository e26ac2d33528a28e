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

mod skampi;
mod table;
mod text;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::SystemTime;

use serde_json::{Value as Json, json};

use crate::fingerprint::{fingerprint, sha256_hex};
use crate::format::{SKAMPI_MARKS as MARKS, write_line};
use crate::glance::glance;
use crate::odd::odd;
use crate::record::{
    self, Clock, Derived, End, EndStatus, Hops, Mesh, Point, PointCounts, Record, Run, SCHEMA,
    SCHEMA_MINOR, Summary, Transport, World, timestamp,
};
use crate::recorder::new_run_id;
use crate::suite::{self, Suite};

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
    /// The text is that of another suite, whose numbers have other definitions.
    #[error("the text is of {found}, not of {asked} (write import {found}, or import auto)")]
    Other {
        /// Name of the suite that was asked for.
        asked: &'static str,
        /// Name of the suite by the titles in the text.
        found: &'static str,
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

/// The records of an output of `suite` or of another part of it: a run with its points and its end, and
/// another run wherever a test is there once more.
///
/// # Errors
/// If `text` is of another suite, if there is no table in it, if a row does not fit its table, or if
/// nobody says how many ranks there were.
pub fn import(
    suite: &'static Suite,
    text: &str,
    around: &Surroundings,
) -> Result<Vec<Record>, ImportError> {
    let (asked, found) = (suite.family, suite::of_text(text));
    let suite = match found {
        Some(Suite { family: found, .. }) if *found != asked => {
            return Err(ImportError::Other { asked, found });
        }
        _ => found.unwrap_or(suite),
    };
    let (version, points) = text::parse(suite, text, around)?;
    if points.is_empty() {
        return Err(ImportError::NoTable { name: asked });
    }
    // The layouts of this program have notes, and tell neither transport nor clock.
    let is_own = text.lines().any(|line| line.starts_with("# note: "));
    Ok(records_of(points, run(suite.id, &version, around), is_own, around))
}

/// The records of the output of `SKaMPI` 5 or 6, as [`import`] makes them.
///
/// # Errors
/// If there is no result in it, if a row does not fit, or if nobody says how many ranks there were.
pub fn import_skampi(text: &str, around: &Surroundings) -> Result<Vec<Record>, ImportError> {
    let (version, is_own, points) = skampi::parse(text, around)?;
    if points.is_empty() {
        return Err(ImportError::NoTable { name: SKAMPI });
    }
    Ok(records_of(points, run(SKAMPI, &version, around), is_own, around))
}

/// Name of the suite of such an output.
pub const SKAMPI: &str = "skampi";

/// True if `text` is such an output.
pub fn is_skampi(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(MARKS[0]))
}

/// Runs with `points`, of which only the facts of `run` are known: another one wherever a test is there once
/// more. A text that `is_own` tells neither transport nor clock.
fn records_of(points: Vec<Point>, run: Run, is_own: bool, around: &Surroundings) -> Vec<Record> {
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
    let [backend, clock] = ["mpi", "MPI_Wtime"].map(|name| (!is_own).then(|| name.to_owned()));
    let transport = Transport { backend, facts: [].into() };
    let clock = Clock { source: clock, ..Clock::default() };
    let bare = Run { transport, clock, ..run };
    let of_points = |(_, points)| run_records(bare.clone(), points, around);
    runs.into_iter().flat_map(of_points).collect()
}

/// Writes `records` as a result file.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(records: &[Record], out: &mut impl Write) -> io::Result<()> {
    records.iter().try_for_each(|record| write_line(out, record))
}

/// A run with `points`: the number and the id of each are set here, and the facts that follow from
/// them: the number of cases, and the most ranks of any.
fn run_records(mut run: Run, mut points: Vec<Point>, around: &Surroundings) -> Vec<Record> {
    run.run_id = new_run_id(around.imported_at);
    let mut counts = PointCounts::default();
    for (seq, point) in (0..).zip(&mut points) {
        (point.run_id, point.seq) = (run.run_id.clone(), seq);
        counts.add(point.status());
    }
    let procs = |point: &Point| usize::try_from(point.params.ranks()?).ok();
    let size = points.iter().filter_map(procs).max().unwrap_or(1);
    let mesh = Mesh { rows: 1, cols: size, order: "row".into(), map: (0..size).collect() };
    let hops = Hops { metric: "flat".into(), diameter: size.min(2) - 1, table: None };
    run.world = World { size, mesh, hops, ..World::default() };
    run.n_cases = points.len();
    run.fingerprint = fingerprint(&run);
    let end = End {
        run_id: Some(run.run_id.clone()),
        status: EndStatus::Complete,
        ended_at: run.started_at.clone(),
        points: counts,
        wall_s: None,
        virtual_s: None,
        reason: None,
        noise: None,
        verdict: None,
        glance: glance(Some(&run), &points),
        odd: odd(Some(&run), &points),
    };
    let points = points.into_iter().map(|point| Record::Point(Box::new(point)));
    std::iter::once(Record::Run(Box::new(run)))
        .chain(points)
        .chain([Record::End(Box::new(end))])
        .collect()
}

/// A run of `version` of the suite `id`, of which only that is known.
fn run(id: &str, version: &str, around: &Surroundings) -> Run {
    let config = [("imported_from".to_owned(), Json::from(id))].into();
    let (name, version) = (id.into(), version.into());
    Run {
        schema: SCHEMA.into(),
        schema_minor: SCHEMA_MINOR,
        started_at: timestamp(around.imported_at),
        suite: record::Suite { name, version, ..record::Suite::default() },
        argv: around.argv.clone(),
        config_sha256: sha256_hex(&json!(config)),
        config,
        ..Run::default()
    }
}

/// The summary of one value, which is all that was printed.
fn single(ns: f64) -> Summary {
    let ends = Summary { n: 1, min: ns, max: ns, mean: ns, median: ns, ..Summary::default() };
    Summary { p25: ns, p75: ns, p90: ns, p95: ns, p99: ns, ..ends }
}

/// A figure that stands in the text as it is.
fn printed(name: &str, title: &str, value: f64) -> Derived {
    Derived { name: name.into(), formula: as_printed(title), value: Some(value) }
}

/// The formula of a number that stands below `title`.
fn as_printed(title: &str) -> String {
    format!("as printed under {title}")
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
