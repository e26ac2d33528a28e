//! The runs of result files, each with its records by kind: what reports, figures and comparisons
//! start from.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::launches;
use crate::models::models;
use crate::read::{ReadError, read_records};
use crate::record::{End, Event, Model, Point, Record, Run};

/// One run of a result file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecords {
    /// The file, where there is one.
    pub path: Option<PathBuf>,
    /// Facts needed to understand the run; `None` if its file lacks them.
    pub run: Option<Box<Run>>,
    /// Its points, in the order of the file; where it has launches, one for all of them.
    pub points: Vec<Point>,
    /// Measurements of each of several launches; empty where the ranks were started once.
    pub launches: Vec<Point>,
    /// Its models.
    pub models: Vec<Model>,
    /// Other events.
    pub events: Vec<Event>,
    /// End of the run; `None` if it was killed or is still running.
    pub end: Option<End>,
}

/// Labels that name a run, the best one first.
const NAMES: [&str; 2] = ["name", "machine"];

/// Place of a run: times of two places are never pooled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Name of the transport; empty where the file does not say.
    pub transport: String,
    /// Name of the machine, or of the file of a run that names none.
    pub machine: String,
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.transport, self.machine)
    }
}

impl RunRecords {
    /// Returns its transport and its machine.
    pub(crate) fn platform(&self) -> Platform {
        let run = self.run.as_deref();
        Platform {
            transport: run.map_or(String::new(), |run| run.transport.name().into()),
            machine: run.and_then(Run::machine).unwrap_or_else(|| self.file()),
        }
    }

    /// The user's name of the run.
    pub fn label(&self) -> Option<String> {
        let labels = &self.run.as_ref()?.labels;
        NAMES.iter().find_map(|name| labels.get(*name).cloned())
    }

    /// The name of its file, without the end.
    pub(crate) fn file(&self) -> String {
        let stem = self.path.as_ref().and_then(|path| path.file_stem());
        stem.map_or("run".into(), |stem| stem.to_string_lossy().into_owned())
    }
}

/// The runs of the file `path`, in its order.
///
/// # Errors
/// If it cannot be read, or is no result file.
pub fn read_runs(path: &Path) -> Result<Vec<RunRecords>, ReadError> {
    let mut runs = split(read_records(path)?.records);
    for run in &mut runs {
        run.path = Some(path.into());
    }
    Ok(runs)
}

/// Puts records into runs: each `run` starts one, and what precedes the first makes one of its own.
pub fn split(records: Vec<Record>) -> Vec<RunRecords> {
    let mut runs: Vec<RunRecords> = Vec::new();
    for record in records {
        if matches!(record, Record::Unit(_)) {
            continue;
        }
        if runs.is_empty() || matches!(record, Record::Run(_)) {
            runs.push(RunRecords::default());
        }
        let Some(current) = runs.last_mut() else { continue };
        match record {
            Record::Run(run) => current.run = Some(run),
            Record::Launch(point) => current.launches.push(*point),
            Record::Point(point) => current.points.push(*point),
            Record::Model(model) => current.models.push(*model),
            Record::Event(event) => current.events.push(event),
            Record::End(end) => current.end = Some(*end),
            Record::Unit(_) => (),
        }
    }
    runs
}

/// `runs`, of which each launch is one of its own.
pub(crate) fn by_launch(runs: &[RunRecords]) -> Vec<RunRecords> {
    let mut all = Vec::new();
    for run in runs {
        // Some do not count: see the launches.
        let keys: BTreeSet<&str> = run.points.iter().map(|point| &*point.key).collect();
        let counted: Vec<Point> =
            run.launches.iter().filter(|of| keys.contains(&*of.key)).cloned().collect();
        let of_launches = counted.chunk_by(|a, b| a.launch == b.launch);
        let launch = |points: &[Point]| {
            let mut own = RunRecords {
                points: points.to_vec(),
                models: models(&points.iter().collect::<Vec<_>>(), &[]),
                launches: Vec::new(),
                ..run.clone()
            };
            if let Some(seed) = own.run.as_mut().and_then(|run| run.seed.as_mut()) {
                *seed = launches::seed(*seed, points[0].launch.unwrap_or(1));
            }
            own
        };
        all.extend(of_launches.map(launch));
        if run.launches.is_empty() {
            all.push(run.clone());
        }
    }
    all
}

/// The number of each run's source, ascending: runs of one file over several P are one source.
pub(crate) fn source_numbers(runs: &[RunRecords]) -> Vec<usize> {
    let mut numbers: Vec<usize> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let current = numbers.last().copied().unwrap_or(0);
        let first = numbers.iter().position(|number| *number == current).unwrap_or(0);
        let belongs = runs[first..index]
            .iter()
            .all(|other| other.path == run.path && n_ranks(other) != n_ranks(run));
        numbers.push(if belongs { current } else { current + 1 });
    }
    numbers
}

/// The number of ranks of `run`; of an import that of its first point.
pub(crate) fn n_ranks(run: &RunRecords) -> Option<u64> {
    let of_points = run.points.first().and_then(|point| point.params.ranks());
    run.run.as_ref().map(|run| run.world.size as u64).or(of_points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::parse_records;

    #[test]
    fn files_that_follow_each_other_are_several_runs() {
        let folder = Folder::new();
        let path = fixture::record_run(&folder);
        let text = std::fs::read(&path).unwrap();
        let one = read_runs(&path).unwrap();
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].path.as_deref(), Some(&*path));
        assert!(one[0].run.is_some() && one[0].end.is_some() && !one[0].points.is_empty());
        let two = split(parse_records(&text.repeat(2)).unwrap().records);
        assert_eq!(two.len(), 2);
        assert_eq!(two[0].points, two[1].points);
    }
}
