//! Output of foreign suites as records, which can be shown, fitted and compared like those of CoMet.
//!
//! ```text
//!   text ──► osu, imb ──► Found (one row of a table) ──► run, points, end
//! ```
//!
//! A point is one row. Its suite is `osu` or `imb`, its kernel has the foreign name, and its only
//! time is the printed one, which is a mean, without samples. Facts that a text lacks are `null` or
//! empty: machines, placement, clock, number of nodes. A check that the text does not mention is
//! `skipped`. The time of the import stands for the start, and for that of each row.

mod imb;
mod osu;
mod run;
mod table;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::SystemTime;

use comet_core::definition::{Definition, Quantity};

use crate::format::write_line;
use crate::older;
use crate::points;
use crate::record::{
    Check, CheckStatus, End, EndStatus, Figure, Param, Params, Point, PointCounts, PointStatus,
    Quote, RankStat, Rate, Record, Summary, Value,
};
use crate::recorder::new_run_id;

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
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let is_title = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
        match (is_title("# OSU "), is_title("# Benchmarking ")) {
            (true, _) => Some(Self::Osu),
            (false, true) => Some(Self::Imb),
            (false, false) => None,
        }
    }

    /// Name of the suite in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Osu => crate::suite::osu::SUITE.id,
            Self::Imb => crate::suite::imb::SUITE.id,
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

/// One row of a table.
#[derive(Debug)]
struct Found {
    kernel: String,
    class: &'static str,
    n_ranks: Option<u64>,
    /// Beside the number of ranks.
    params: Vec<(String, Param)>,
    value: Value,
    time_ns: Option<f64>,
    bytes_per_s: Option<f64>,
    figures: Vec<Figure>,
    check: CheckStatus,
    status: PointStatus,
    message: Option<String>,
}

/// The tables of a text.
#[derive(Debug, Default)]
struct Text {
    /// Version of the benchmark; empty if it does not say.
    version: String,
    rows: Vec<Found>,
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
    let Text { version, rows } = match origin {
        Origin::Osu => osu::parse(text)?,
        Origin::Imb => imb::parse(text)?,
    };
    if rows.is_empty() {
        return Err(ImportError::NoTable { name: origin.name() });
    }
    let mut runs: Vec<(BTreeSet<String>, Vec<Point>)> = Vec::new();
    for found in rows {
        let point = point(origin, found, around)?;
        if runs.last().is_none_or(|(keys, _)| keys.contains(&point.key)) {
            runs.push((BTreeSet::new(), Vec::new()));
        }
        if let Some((keys, points)) = runs.last_mut() {
            keys.insert(point.key.clone());
            points.push(point);
        }
    }
    let run = |(_, points)| run_records(origin, &version, points, around);
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
    origin: Origin,
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
    let run = run::run(origin, version, &points, (&run_id, around));
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

/// The point of a row, but for its number and its run.
fn point(origin: Origin, found: Found, around: &Surroundings) -> Result<Point, ImportError> {
    let Found { kernel, n_ranks, mut params, .. } = found;
    let n_ranks = n_ranks.filter(|n_ranks| RANKS.contains(n_ranks));
    let Some(n_ranks) = n_ranks.or(around.n_ranks) else {
        return Err(ImportError::Ranks { kernel });
    };
    params.push(("procs".into(), Param::Number(n_ranks)));
    let has_numbers = found.status == PointStatus::Ok;
    let rate = |bytes_per_s| Rate { bytes_per_s, basis: Quote::Mean };
    let mut point = Point {
        run_id: String::new(),
        seq: 0,
        t_rel_s: 0.0,
        suite: origin.name().into(),
        variant: has_numbers.then(|| kernel.clone()),
        kernel,
        class: found.class.into(),
        aliases: Vec::new(),
        params: Params(params),
        key: String::new(),
        value: has_numbers.then_some(found.value),
        plan: None,
        reps: None,
        time_ns: found.time_ns.map(single),
        quoted_ns: found.time_ns,
        quality: None,
        ranks_ns: None,
        rate: found.bytes_per_s.map(rate),
        samples: None,
        starts_ns: None,
        late_ns: None,
        reference_ns: None,
        check: Check { status: found.check },
        figures: found.figures,
        status: found.status,
        message: found.message,
        facts: Arc::default(),
    };
    point.key = points::key(&point, None);
    point.facts = Arc::new(older::facts(&point));
    Ok(point)
}

/// The summary of one value, which is all that was printed.
fn single(ns: f64) -> Summary {
    Summary {
        n: 1,
        min: ns,
        p10: None,
        p25: ns,
        median: ns,
        p75: ns,
        p90: ns,
        p95: ns,
        p99: ns,
        p999: None,
        max: ns,
        mean: ns,
        stddev: None,
        mad: 0.0,
        ci95: None,
    }
}

/// The meaning of a printed time, which is a mean.
fn quoted(
    definition: Definition,
    quantity: Quantity,
    rank_stat: RankStat,
    bytes_per_op: Option<u64>,
) -> Value {
    Value {
        quantity: quantity.name().into(),
        definition: definition.name().into(),
        divisor: definition.divisor(),
        rank_stat,
        bytes_per_op,
        better: "lower".into(),
        quote: Quote::Mean,
    }
}

/// A figure that stands in the text as it is.
fn printed(name: &str, title: &str, value: f64) -> Figure {
    Figure { name: name.into(), formula: format!("as printed under {title}"), value: Some(value) }
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

/// The number that `word` is; none if it is no number, or not a finite one, as some print where they
/// divide by 0.
fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The first word of `text` that is a version: digits, after a `v` or nothing.
fn version(text: &str) -> Option<String> {
    let bare = |word: &str| word.trim_start_matches(['v', 'V']).trim_end_matches(',').to_owned();
    let is_version = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().map(bare).find(is_version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Folder, render};
    use crate::format::foreign::tests as foreign;
    use crate::models::models;
    use crate::read::{read_records, validate};
    use std::time::UNIX_EPOCH;

    fn around(n_ranks: Option<u64>) -> Surroundings {
        Surroundings { n_ranks, argv: vec!["comet-run".into()], imported_at: UNIX_EPOCH }
    }

    fn points(records: &[Record]) -> Vec<&Point> {
        crate::fixture::points(records).collect()
    }

    fn imported(origin: Origin, text: &str) -> Vec<Record> {
        import(origin, text, &around(Some(2))).unwrap()
    }

    /// The rows in `text`.
    fn rows(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    }

    #[test]
    fn what_a_layout_prints_comes_back_with_the_same_numbers() {
        for (name, origin) in [("osu", Origin::Osu), ("imb", Origin::Imb), ("imb-3.2", Origin::Imb)]
        {
            let text = render(name, &foreign::records(name));
            assert_eq!(Origin::of(&text), Some(origin));
            let again = render(name, &imported(origin, &text));
            assert_eq!(rows(&again), rows(&text), "{name}");
            assert!(rows(&text).len() > 3, "{text}");
        }
    }

    #[test]
    fn an_import_is_a_valid_file() {
        let text = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n8 1.50\n16 1.60\n";
        let folder = Folder::new();
        let path = folder.path().join("osu.jsonl");
        let records = imported(Origin::Osu, &text.repeat(2));
        write(&records, &mut std::fs::File::create(&path).unwrap()).unwrap();
        let validation = validate(&path).unwrap();
        assert_eq!((validation.runs.len(), validation.problems), (2, vec![]));
        assert_eq!(read_records(&path).unwrap().records, records);
    }

    #[test]
    fn an_imported_sweep_has_models() {
        let rows: String = (0..8).map(|i| format!("{} {}.00\n", 1000 * i, 10 + 2 * i)).collect();
        let text = format!("# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n{rows}");
        let records = imported(Origin::Osu, &text);
        let models = models(&points(&records), &[]);
        let startup = models[0].fits[0].parameters[0].value.unwrap();
        assert!((startup - 10.0).abs() < 1e-6, "{startup}");
    }

    #[test]
    fn a_table_says_that_an_import_was_not_verified() {
        let text = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n8 1.50\n";
        let table = render("table", &imported(Origin::Osu, text));
        assert!(table.starts_with("# osu 7.4, mpi, nodes: -, run "), "{table}");
        assert!(table.contains("; quote the mean; not verified\n"), "{table}");
        assert!(table.contains("           8        -        -      1.5000"), "{table}");
    }

    #[test]
    fn what_is_not_finite_is_missing() {
        let text = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n8 nan\n16 1.50\n";
        let records = imported(Origin::Osu, text);
        let statuses: Vec<_> = points(&records).iter().map(|point| point.status).collect();
        assert_eq!(statuses, [PointStatus::Failed, PointStatus::Ok]);
        let text = "# Benchmarking PingPong\n# #processes = 99999999999\n\
                    #bytes #repetitions t[usec] Mbytes/sec\n 0 1000 0.50 -nan\n";
        let records = imported(Origin::Imb, text);
        assert_eq!(points(&records)[0].rate, None);
        let Record::Run(run) = &records[0] else { unreachable!() };
        assert_eq!(run.world.size, 2);
    }

    #[test]
    fn a_number_that_cannot_have_been_measured_is_refused_with_its_line() {
        let osu = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n8 1.50\n2 ";
        let imb = "# Benchmarking PingPong\n#processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n\
                   2 1000 ";
        let check = |origin, text: String, word: &str| {
            let error = import(origin, &text, &around(None)).unwrap_err().to_string();
            let expected = format!("line 4: '{word}' was not measured, expected 0 to 1e18 (");
            assert!(error.starts_with(&expected), "{error}");
        };
        for word in ["1e308", "-1.50", "inf"] {
            check(Origin::Osu, format!("{osu}{word}\n"), word);
            check(Origin::Imb, format!("{imb}{word} 3.0\n"), word);
        }
    }

    #[test]
    fn what_cannot_be_imported_is_told_in_a_sentence() {
        let check = |origin, text: &str, expected: &str| {
            let error = import(origin, text, &around(None)).unwrap_err().to_string();
            assert_eq!(error, expected);
        };
        let nothing = "there is no table of imb in the text (is this what the benchmark printed?)";
        check(Origin::Imb, "roses are red\n", nothing);
        let text = "# OSU MPI Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n8 1.50\n";
        let ranks = "the text does not say on how many ranks osu_allreduce ran (add --ranks N)";
        check(Origin::Osu, text, ranks);
    }
}
