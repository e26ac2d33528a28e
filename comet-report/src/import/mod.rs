//! Output of foreign suites as records, which can be shown, fitted and compared like those of CoMet.
//!
//! ```text
//!   text ──► blocks of rows ──► points ──► run, points, end
//! ```
//!
//! A point is one row. Its suite is `osu` or `imb`, its kernel has the foreign name, and its only
//! time is the printed one, which is a mean, without samples. Facts that a text lacks are `null` or
//! empty: machines, placement, clock, number of nodes. A check that the text does not mention is
//! `skipped`. The start is the date in the text or the user's, or unknown.

mod clean;
mod date;
mod sections;
mod skampi;
mod table;
mod text;

pub use crate::fingerprint::sha256_of_text as sha256;
pub use clean::{clean, decoded};
pub use date::of_text as date;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::SystemTime;

use serde_json::{Value as Json, json};

use comet_core::words::count;

use crate::fingerprint::{fingerprint, sha256_hex};
use crate::format::write_line;
use crate::glance::glance;
use crate::odd::odd;
use crate::record::{
    self, Derived, End, EndStatus, Hops, Mesh, Point, PointCounts, Record, Run, SCHEMA,
    SCHEMA_MINOR, Summary, World, timestamp,
};
use crate::recorder::new_run_id;
use crate::suite::{self, Suite};

/// Name of the setting with the SHA-256 of the numbers of a run: two runs with the same ones are one launch.
pub(crate) const ROWS_SHA256: &str = "rows_sha256";

/// Numbers of processes that a text may be of.
pub const RANKS: RangeInclusive<u64> = 1..=1 << 20;

/// Facts about a text that it does not hold.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Number of processes, one of [`RANKS`], where the text does not tell.
    pub n_ranks: Option<u64>,
    /// Command line of the import.
    pub argv: Vec<String>,
    /// The wall clock at the import.
    pub imported_at: SystemTime,
    /// SHA-256 of the text, in hex digits.
    pub text_sha256: String,
    /// Start of the runs, where the user knows it.
    pub started_at: Option<SystemTime>,
    /// The user's labels of the runs.
    pub labels: BTreeMap<String, String>,
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
    /// No program that is known printed it.
    #[error(
        "there is no title of osu, imb or skampi in the text (their names stand above each table; results of \
         other programs are not read)"
    )]
    NoTitle,
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

/// The records of an output of `suite` or of another part of it: a run with its points and its end for each
/// program in it, and another run wherever a test is there once more.
///
/// # Errors
/// If `text` is of another suite, if there is no table in it, if a row does not fit its table, or if
/// nobody says how many ranks there were.
pub fn import(
    suite: &'static Suite,
    text: &str,
    around: &Surroundings,
) -> Result<Imported, ImportError> {
    let asked = suite.family;
    let has_title = |suite: &Suite| text.lines().any(|line| line.starts_with(suite.title));
    match suite::of_text(text) {
        Some(Suite { family: found, .. }) if *found != asked && !has_title(suite) => {
            return Err(ImportError::Other { asked, found });
        }
        _ => (),
    }
    let sections = sections::parse(suite, text, around, Some(asked))?;
    if sections.is_empty() {
        return Err(ImportError::NoTable { name: asked });
    }
    let parts = sections.into_iter().map(|section| Part::of(section, around));
    Ok(Imported::of(parts, around))
}

/// The records of the output of `SKaMPI` 5 or 6, as [`import`] makes them.
///
/// # Errors
/// If there is no result in it, if a row does not fit, or if nobody says how many ranks there were.
pub fn import_skampi(text: &str, around: &Surroundings) -> Result<Imported, ImportError> {
    let part = skampi::parse(text, around)?;
    if part.points.is_empty() {
        return Err(ImportError::NoTable { name: SKAMPI });
    }
    Ok(Imported::of([part], around))
}

/// The records of all programs whose output is in `text`, in the order of OSU, IMB and `SKaMPI`.
///
/// # Errors
/// Those of [`import`] and [`import_skampi`], and if there is no title of any of them.
pub fn import_all(text: &str, around: &Surroundings) -> Result<Imported, ImportError> {
    let mut parts = Vec::new();
    if let Some(suite) = suite::of_text(text) {
        let sections = sections::parse(suite, text, around, None)?;
        parts.extend(sections.into_iter().map(|section| Part::of(section, around)));
    }
    if is_skampi(text) {
        parts.push(skampi::parse(text, around)?);
    }
    if parts.iter().all(|part| part.points.is_empty()) {
        let of = suite::of_text(text).map(|suite| suite.family);
        let name = of.or_else(|| is_skampi(text).then_some(SKAMPI));
        return Err(name.map_or(ImportError::NoTitle, |name| ImportError::NoTable { name }));
    }
    Ok(Imported::of(parts, around))
}

/// Name of the suite of such an output.
pub const SKAMPI: &str = "skampi";

/// True if `text` is such an output.
fn is_skampi(text: &str) -> bool {
    text.lines().any(|line| skampi::mark(line).is_some())
}

/// The records of a text.
#[derive(Debug)]
pub struct Imported {
    /// Runs with their points and ends.
    pub records: Vec<Record>,
    /// Sentences about lines that were left out and texts that are not whole.
    pub notes: Vec<String>,
}

/// What one program printed.
struct Part {
    run: Run,
    points: Vec<Point>,
    /// The reason to doubt that the text is whole.
    doubt: Option<String>,
    notes: Vec<String>,
}

impl Part {
    /// Of a `section` of a text.
    fn of(section: sections::Section, around: &Surroundings) -> Self {
        let mut run = run(section.suite.id, &section.version, around);
        // The layouts of this program tell neither transport nor clock.
        if !section.is_own && !section.is_foreign {
            run.transport.backend = Some("mpi".into());
            run.clock.source = Some("MPI_Wtime".into());
        }
        if section.is_gpu() {
            run.config.insert(suite::imb::GPU.into(), true.into());
        }
        let types = section.types();
        if !types.is_empty() {
            run.config.insert("axis".into(), types.into());
        }
        let date = section.date.as_deref().and_then(date::of_text);
        if let Some(date) = date.filter(|_| around.started_at.is_none()) {
            run.started_at = timestamp(date);
        }
        let skipped = count(section.n_skipped, "line");
        let skipped = format!("left out as no rows of a table: {skipped} with a digit first");
        let notes = Some(skipped).filter(|_| section.n_skipped > 0).into_iter().collect();
        Self { run, points: section.points, doubt: section.doubt, notes }
    }
}

impl Imported {
    /// Runs of `parts`: another one wherever a test is there once more.
    fn of(parts: impl IntoIterator<Item = Part>, around: &Surroundings) -> Self {
        let (mut records, mut notes) = (Vec::new(), Vec::new());
        for part in parts {
            let runs = by_repetition(part.points);
            let n_short = runs.iter().filter(|points| points.len() < 3).count();
            notes.extend(part.notes);
            if runs.len() > 2 && n_short == runs.len() {
                notes.push(format!(
                    "rows are there again after less than three others, which makes {} (did several \
                     processes print into one file?)",
                    count(runs.len(), "run")
                ));
            }
            let n_runs = runs.len();
            for (number, points) in (1..).zip(runs) {
                let mut run = part.run.clone();
                run.config.insert("part".into(), number.into());
                let doubt = part.doubt.clone().filter(|_| number == n_runs);
                notes.extend(doubt.iter().cloned());
                records.extend(run_records(run, points, doubt, around));
            }
        }
        Self { records, notes }
    }
}

/// `points` without repetitions in one list.
fn by_repetition(points: Vec<Point>) -> Vec<Vec<Point>> {
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
    runs.into_iter().map(|(_, points)| points).collect()
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
fn run_records(
    mut run: Run,
    mut points: Vec<Point>,
    doubt: Option<String>,
    around: &Surroundings,
) -> Vec<Record> {
    let row = |point: &Point| json!([point.key, point.quoted_ns(), point.figures]);
    let rows = sha256_hex(&points.iter().map(row).collect());
    run.config.insert(ROWS_SHA256.into(), rows.into());
    run.config_sha256 = sha256_hex(&json!(run.config));
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
        status: if doubt.is_some() { EndStatus::Partial } else { EndStatus::Complete },
        ended_at: timestamp(around.imported_at),
        points: counts,
        wall_s: None,
        virtual_s: None,
        reason: doubt,
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
    let facts = [("imported_from", id), ("text_sha256", &around.text_sha256)];
    let (name, version) = (id.into(), version.into());
    Run {
        schema: SCHEMA.into(),
        schema_minor: SCHEMA_MINOR,
        started_at: around.started_at.map_or(String::new(), timestamp),
        suite: record::Suite { name, version, ..record::Suite::default() },
        argv: around.argv.clone(),
        config: facts.map(|(name, value)| (name.to_owned(), Json::from(value))).into(),
        labels: around.labels.clone(),
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
pub(crate) mod tests;
