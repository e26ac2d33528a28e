//! Runs of one plan, from several files, as the launches of one run.
//!
//! ```text
//!   a.jsonl   run, point, …, end                   ┐    run: its sources in the settings,
//!   b.jsonl   run, launch, …, point, …, end        ├─►  launch, … of all,
//!   c.jsonl   run, point, …, end                   ┘    points: median and interval of all, end
//! ```
//!
//! A run that made launches itself brings each of them. Runs of a suite belong together by their units, others by
//! their places among those: a suite that was cut short has fewer. All are of one suite.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::fingerprint::sha256_hex;
use crate::journal::conditions;
use crate::launches::{Concluded, carry};
use crate::order::grouped;
use crate::outside::{Place, Unfit, agrees};
use crate::read::ReadError;
use crate::record::{End, EndStatus, Noise, OfSuite, Record, Run};
use crate::recorder::new_run_id;
use crate::runs::RunRecords;
use crate::words;

/// Settings in which launches of one plan may differ: seeds, numbers of launches, the time that was left, and
/// what the machine had to offer.
const OPEN: [&str; 7] =
    ["launches", "merged", "order_seed", "over_s", "run_budget_ns", "slices", "usable_cpus"];

/// Runs that are no launches of one run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A file has another number of runs outside of suites than the first.
    #[error("{file} holds {own}, {first_file} {first} (merge files of one command line)")]
    Runs {
        /// The file.
        file: String,
        /// Number of its runs, in words.
        own: String,
        /// The first file.
        first_file: String,
        /// That of the first.
        first: String,
    },
    /// A run has another plan, or other conditions.
    #[error(
        "{file} differs from {first_file}: {name} is {own} there, and {first} in the first \
         (merge files of one command line on one machine)"
    )]
    Other {
        /// The file.
        file: String,
        /// The first file.
        first_file: String,
        /// The setting, or the condition of the times.
        name: String,
        /// Its value.
        own: String,
        /// That of the first.
        first: String,
    },
    /// A file has no run.
    #[error("file {0} of those to merge holds no run (leave it out)")]
    Empty(usize),
    /// A run is none of CoMet.
    #[error("{0} is no measurement of comet-run (merge files that it measured)")]
    Foreign(String),
    /// A run is no further launch.
    #[error("{0}: {1}")]
    Unfit(String, Unfit),
    /// A simulation repeats that of an earlier file.
    #[error(
        "{file} simulates seed {seed} once more, as a file before it (measure each with its own \
         --seed NUMBER)"
    )]
    Seed {
        /// The file.
        file: String,
        /// The seed of both.
        seed: u64,
    },
    /// The records of the launches cannot be read back.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// They cannot be written.
    #[error("cannot make records: {0}")]
    Write(#[from] std::io::Error),
}

/// The records of the runs that the files `of_files` make together: those of one unit of a suite, or else the first
/// outside of suites of each, and so on. `argv` is the command line, at the time `now`.
///
/// # Errors
/// If the files hold different plans, times of other conditions, or a run twice.
pub fn merge(
    of_files: Vec<Vec<RunRecords>>,
    argv: &[String],
    now: SystemTime,
) -> Result<Vec<Record>, MergeError> {
    let Some(first) = of_files.first() else { return Ok(Vec::new()) };
    if let Some(index) = of_files.iter().position(Vec::is_empty) {
        return Err(MergeError::Empty(index + 1));
    }
    same_suite(&of_files)?;
    let n_placed = |runs: &[RunRecords]| runs.iter().filter(|run| unit(run).is_none()).count();
    if let Some(other) = of_files.iter().find(|runs| n_placed(runs) != n_placed(first)) {
        let number = |runs: &[RunRecords]| {
            format!("{} outside of suites", words::count(n_placed(runs), "run"))
        };
        return Err(MergeError::Runs {
            file: file(&other[0]),
            own: number(other),
            first_file: file(&first[0]),
            first: number(first),
        });
    }
    let keyed = of_files.into_iter().flat_map(|runs| {
        let mut n_placed = 0;
        runs.into_iter().map(move |run| match unit(&run) {
            Some(unit) => (Key::Unit(unit), run),
            None => {
                n_placed += 1;
                (Key::Place(n_placed), run)
            }
        })
    });
    let mut records = Vec::new();
    for (_, group) in grouped(keyed) {
        records.extend(merge_runs(&group, argv, now)?);
    }
    Ok(records)
}

/// Key of the runs of several files that belong together.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    /// The unit of a suite.
    Unit(String),
    /// The place in the file among the runs outside of suites.
    Place(usize),
}

/// Succeeds if all runs that are of a suite are of one, whose seed each start may have of its own.
fn same_suite(of_files: &[Vec<RunRecords>]) -> Result<(), MergeError> {
    let of_suites = of_files.iter().flatten();
    let mut of_suites =
        of_suites.filter_map(|run| Some((run, run.run.as_ref()?.of_suite.as_ref()?)));
    let Some((first, of_first)) = of_suites.next() else { return Ok(()) };
    let of_plan = |line: &&String| !line.starts_with("seed = ");
    let is_other = |of: &OfSuite| {
        let (own, first) = (of.lines.iter().filter(of_plan), of_first.lines.iter().filter(of_plan));
        of.sha256 != of_first.sha256 && own.ne(first)
    };
    let Some((run, own)) = of_suites.find(|(_, of)| is_other(of)) else {
        return Ok(());
    };
    // Two versions of one suite have one name.
    let word = |of: &OfSuite| format!("{} of SHA-256 {:.8}", of.name, of.sha256);
    Err(MergeError::Other {
        file: file(run),
        first_file: file(first),
        name: "suite".into(),
        own: word(own),
        first: word(of_first),
    })
}

/// The unit of a suite that `run` is of.
fn unit(run: &RunRecords) -> Option<String> {
    run.run.as_ref()?.of_suite.as_ref().map(|of| of.unit.clone())
}

/// The file of `run`.
fn file(run: &RunRecords) -> String {
    run.path.as_ref().map_or("a run".into(), |path| path.display().to_string())
}

/// The records of one run, of which `runs` are launches.
fn merge_runs(
    runs: &[RunRecords],
    argv: &[String],
    now: SystemTime,
) -> Result<Vec<Record>, MergeError> {
    let foreign = |run: &RunRecords| MergeError::Foreign(file(run));
    let is_import = |run: &Run| run.config.contains_key("imported_from");
    let facts = |run: &RunRecords| run.run.clone().filter(|of| !is_import(of));
    let all: Vec<Box<Run>> =
        runs.iter().map(|run| facts(run).ok_or_else(|| foreign(run))).collect::<Result<_, _>>()?;
    for (number, run) in all.iter().enumerate().skip(1) {
        let name = || file(&runs[number]);
        same_plan(&all[0], run, (name(), file(&runs[0])))?;
        for earlier in &all[..number] {
            agrees(earlier, run).map_err(|unfit| match unfit {
                Unfit::Seed(seed) => MergeError::Seed { file: name(), seed },
                unfit => MergeError::Unfit(name(), unfit),
            })?;
        }
        same_conditions(&all[0], run, (name(), file(&runs[0])))?;
    }
    let of_all = run_of_all(&all, runs, argv, now);
    let start = instant(&of_all);
    let mut records = vec![Record::Run(of_all.clone())];
    let mut before = 0;
    for (run, facts) in runs.iter().zip(&all) {
        let since_start_s = instant(facts).duration_since(start).unwrap_or_default().as_secs_f64();
        let place = Place { run_id: &of_all.run_id, before, since_start_s };
        records.extend(place.events(&run.events, before == 0));
        records.extend(place.points(run));
        before += n_launches(run);
    }
    records.extend(end(runs, &all, &of_all).map(|end| Record::End(Box::new(end))));
    conclude(records)
}

/// The records of launches, with the points that they make and their end behind.
fn conclude(records: Vec<Record>) -> Result<Vec<Record>, MergeError> {
    let mut text = Vec::new();
    let mut carried = carry(Box::new(&mut text), false);
    records.iter().try_for_each(|record| carried.record(record))?;
    carried.finish()?;
    drop(carried);
    let concluded = Concluded::of(&text, None, None)?;
    let is_of_launches = |record: &Record| !matches!(record, Record::End(_));
    Ok(records.into_iter().filter(is_of_launches).chain(concluded.tail).collect())
}

/// Number of launches of `run`.
fn n_launches(run: &RunRecords) -> u32 {
    run.launches.iter().filter_map(|point| point.launch).max().unwrap_or(1)
}

/// The end of the run `of_all` that `runs`, with the facts `all`, make: the latest of theirs, partial if one of them
/// is, or has none. `None` if no run has one.
fn end(runs: &[RunRecords], all: &[Box<Run>], of_all: &Run) -> Option<End> {
    let ends =
        || runs.iter().zip(all).filter_map(|(run, facts)| Some((run.end.as_ref()?, &**facts)));
    let (latest, _) = ends().max_by_key(|(end, _)| end.ended_at.clone())?;
    let start = instant(of_all);
    let wall_s = |(end, facts): (&End, &Run)| {
        let since_start = instant(facts).duration_since(start).unwrap_or_default();
        Some(since_start.as_secs_f64() + end.wall_s?)
    };
    let without = || (EndStatus::Partial, Some("a run without an end".to_owned()));
    let state = |end: &End| (end.status, end.reason.clone());
    let mut states = runs.iter().map(|run| run.end.as_ref().map_or_else(without, state));
    let (status, reason) =
        states.find(|(status, _)| *status != EndStatus::Complete).unwrap_or_else(|| state(latest));
    let added = |sum: Noise, (end, facts): (&End, &Run)| {
        let (before, after) = facts.noise.as_ref().zip(end.noise.as_ref())?;
        Some(plus(&sum, before, after))
    };
    Some(End {
        run_id: Some(of_all.run_id.clone()),
        status,
        reason,
        wall_s: ends().filter_map(wall_s).reduce(f64::max),
        virtual_s: ends().filter_map(|(end, _)| end.virtual_s).reduce(|a, b| a + b),
        noise: of_all.noise.clone().and_then(|noise| ends().try_fold(noise, added)),
        ..latest.clone()
    })
}

/// `sum` with what was counted between `before` and `after`.
fn plus(sum: &Noise, before: &Noise, after: &Noise) -> Noise {
    let plus = |n: fn(&Noise) -> Option<u64>| Some(n(sum)? + n(after)?.checked_sub(n(before)?)?);
    Noise {
        voluntary_switches: plus(|of| of.voluntary_switches),
        involuntary_switches: plus(|of| of.involuntary_switches),
        minor_faults: plus(|of| of.minor_faults),
        major_faults: plus(|of| of.major_faults),
        cpu_ticks: plus(|of| of.cpu_ticks),
        idle_ticks: plus(|of| of.idle_ticks),
        steal_ticks: plus(|of| of.steal_ticks),
        cpu_pressure_us: plus(|of| of.cpu_pressure_us),
        throttles: plus(|of| of.throttles),
        ..after.clone()
    }
}

/// Start of `run`.
fn instant(run: &Run) -> SystemTime {
    humantime::parse_rfc3339(&run.started_at).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The facts of the run that all make.
fn run_of_all(all: &[Box<Run>], runs: &[RunRecords], argv: &[String], now: SystemTime) -> Box<Run> {
    let mut of_all = all[0].clone();
    of_all.run_id = new_run_id(now);
    let earliest = all.iter().min_by_key(|run| instant(run));
    earliest.iter().for_each(|run| of_all.started_at.clone_from(&run.started_at));
    of_all.argv = argv.to_vec();
    let source = |(run, facts): (&RunRecords, &Run)| json!({ "file": file(run), "run_id": facts.run_id, "launches": n_launches(run) });
    let facts = all.iter().map(|facts| &**facts);
    let sources: Vec<Value> = runs.iter().zip(facts).map(source).collect();
    let n: u32 = runs.iter().map(n_launches).sum();
    of_all.config.insert("merged".into(), Value::Array(sources));
    of_all.config.insert("launches".into(), json!(n));
    of_all.config_sha256 = sha256_hex(&json!(of_all.config));
    of_all
}

/// Succeeds if both runs were measured under the same conditions, or in simulation; `files` are theirs, that of
/// `run` first.
fn same_conditions(first: &Run, run: &Run, files: (String, String)) -> Result<(), MergeError> {
    let difference = conditions::between(first, run).filter(|_| !first.clock.is_virtual);
    let Some((name, [first, own])) = difference else { return Ok(()) };
    let (file, first_file) = files;
    Err(MergeError::Other { file, first_file, name, own, first })
}

/// Succeeds if both runs have the same settings; `files` are theirs, that of `run` first.
fn same_plan(first: &Run, run: &Run, files: (String, String)) -> Result<(), MergeError> {
    let fixed = |run: &Run| -> BTreeMap<String, Value> {
        let is_fixed = |(name, _): &(&String, &Value)| !OPEN.contains(&name.as_str());
        run.config
            .iter()
            .filter(is_fixed)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let (own, of_first) = (fixed(run), fixed(first));
    let value = |settings: &BTreeMap<String, Value>, name: &str| {
        settings.get(name).map_or("not set".into(), Value::to_string)
    };
    let mut names = own.keys().chain(of_first.keys());
    let Some(name) = names.find(|name| own.get(*name) != of_first.get(*name)) else {
        return Ok(());
    };
    let (file, first_file) = files;
    Err(MergeError::Other {
        file,
        first_file,
        own: value(&own, name),
        first: value(&of_first, name),
        name: name.clone(),
    })
}

#[cfg(test)]
mod tests;
