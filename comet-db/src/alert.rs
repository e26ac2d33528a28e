//! Alerts: steps in the numbers of a machine, gathered by the run that they begin with.
//!
//! A number has one history for each MPI library, versions aside, and each network: an upgrade lies within
//! a history, and two libraries beside each other are two. A mark near a step explains it.

use std::collections::BTreeMap;

use comet_stats::steps::{MIN_VALUES, Step};

use crate::card::{State, time_text};
use crate::id::Id;
use crate::index::marks::MarkRow;
use crate::index::{Filter, Index, MAX_ROWS};
use crate::rows::{RunRow, SeriesRow};
use crate::trend::{level, levels_of};
use crate::{Error, trend};

/// A change of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Name of the machine.
    pub machine: String,
    /// First run of the new level.
    pub run: RunRow,
    /// Last run of the level before.
    pub before: RunRow,
    /// Numbers that have a step at this run.
    pub n_changed: usize,
    /// Numbers of the machine with enough runs for a step.
    pub n_numbers: usize,
    /// Number with the largest step.
    pub worst: Number,
    /// The largest step, in natural logarithms of ns.
    pub step: Step,
    /// Mark that explains it.
    pub mark: Option<MarkRow>,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The curve.
    pub series: SeriesRow,
    /// Length, in the unit of the curve.
    pub x: Option<i64>,
    /// Number of ranks.
    pub procs: Option<i64>,
    /// MPI library or backend, and network.
    pub kind: Kind,
}

/// Facts that the runs of one history have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// MPI library without its version, or backend.
    pub mpi: String,
    /// Network; empty where it is unknown.
    pub network: String,
}

impl Kind {
    /// The kind in an address.
    pub(crate) fn id(&self) -> Id {
        Id::of("kind", &[&self.mpi, &self.network])
    }

    pub(crate) fn of(run: &RunRow) -> Self {
        let mpi = run.mpi.as_deref().map(|mpi| {
            let end = mpi.find(|c: char| c.is_ascii_digit()).unwrap_or(mpi.len());
            mpi[..end].trim()
        });
        let mpi = mpi.filter(|mpi| !mpi.is_empty()).or(run.backend.as_deref());
        let network = run.network.clone().unwrap_or_default();
        Self { mpi: mpi.unwrap_or_default().to_owned(), network }
    }
}

impl Alert {
    /// The step in words.
    pub fn words(&self) -> String {
        trend::words(&self.step)
    }

    /// The day from which it holds.
    pub fn day(&self) -> String {
        time_text(self.run.started_ms)[..10].to_owned()
    }

    /// The number with the largest step, in words.
    pub fn number(&self) -> String {
        self.worst.name()
    }
}

impl Number {
    /// Its curve, length and number of ranks, in words.
    pub fn name(&self) -> String {
        trend::title(&self.series, [self.x, self.procs])
    }
}

/// The alerts of published runs, the latest first.
///
/// # Errors
/// If the engine refuses.
pub fn alerts(index: &mut Index) -> Result<Vec<Alert>, Error> {
    let marks = index.marks()?;
    let mut all = Vec::new();
    for name in index.machine_names()? {
        all.extend(of_machine(index, &name, &marks)?);
    }
    all.sort_by_key(|alert| std::cmp::Reverse(alert.run.started_ms));
    Ok(all)
}

/// The alerts of the machine called `name`, in its latest runs.
fn of_machine(index: &mut Index, name: &str, marks: &[MarkRow]) -> Result<Vec<Alert>, Error> {
    let (machine, state) = (Some(name.to_owned()), Some(State::Published));
    let filter = Filter { machine, state, ..Filter::default() };
    let page = index.runs(&filter, None, MAX_ROWS)?;
    let runs: Vec<RunRow> = page.runs.into_iter().rev().map(|(run, _)| run).collect();
    if runs.len() < MIN_VALUES {
        return Ok(Vec::new());
    }
    let marks: Vec<&MarkRow> = marks.iter().filter(|mark| mark.is_of(name)).collect();
    let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
    let places: BTreeMap<_, _> = ids.iter().copied().zip(0..).collect();
    let kinds: Vec<Kind> = runs.iter().map(Kind::of).collect();
    let (mut found, mut n_numbers) = (BTreeMap::<usize, Alert>::new(), 0);
    for series in index.curves(&ids)? {
        let mut histories: BTreeMap<_, Vec<(usize, f64)>> = BTreeMap::new();
        for figure in index.figures(series.id, &ids)? {
            let (Some(place), Some(ns)) = (places.get(&figure.run), level(&figure.launches_ns))
            else {
                continue;
            };
            let number = (figure.x, figure.procs, &kinds[*place]);
            histories.entry(number).or_default().push((*place, ns));
        }
        for ((x, procs, kind), mut looks) in histories {
            looks.sort_by_key(|(place, _)| *place);
            looks.dedup_by_key(|(place, _)| *place);
            n_numbers += usize::from(looks.len() >= MIN_VALUES);
            let times: Vec<f64> = looks.iter().map(|(_, ns)| *ns).collect();
            for step in levels_of(&times).steps {
                let run = |at: usize| &runs[looks[at].0];
                let starts: Vec<i64> = (0..looks.len()).map(|at| run(at).started_ms).collect();
                let mark = explanation(&marks, &starts, step.at);
                let alert = found.entry(looks[step.at].0).or_insert_with(|| Alert {
                    machine: name.to_owned(),
                    run: run(step.at).clone(),
                    before: run(step.at - 1).clone(),
                    n_changed: 0,
                    n_numbers: 0,
                    worst: Number { series: series.clone(), x, procs, kind: kind.clone() },
                    step,
                    mark: mark.cloned(),
                });
                alert.n_changed += 1;
                if size(&step) > size(&alert.step) {
                    alert.worst = Number { series: series.clone(), x, procs, kind: kind.clone() };
                    (alert.step, alert.before) = (step, run(step.at - 1).clone());
                }
            }
        }
    }
    let counted = |alert| Alert { n_numbers, ..alert };
    Ok(found.into_values().map(counted).collect())
}

/// Size of a step, in either direction.
fn size(step: &Step) -> f64 {
    (step.after - step.before).abs()
}

/// The mark that explains the step at the run number `at` of those that began at `starts_ms`: one between
/// the runs around it, of which noise may have chosen the wrong one by a place.
pub(crate) fn explanation<'a>(
    marks: &[&'a MarkRow],
    starts_ms: &[i64],
    at: usize,
) -> Option<&'a MarkRow> {
    let after_ms = starts_ms[at.saturating_sub(2)];
    let until_ms = starts_ms[(at + 1).min(starts_ms.len() - 1)];
    let is_near = |mark: &&&MarkRow| after_ms < mark.at_ms && mark.at_ms <= until_ms;
    marks.iter().find(is_near).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Folder, night};
    use crate::limits::Limits;
    use crate::{Arrival, Database};

    /// A database of nights, each with its time in ns.
    fn nights(folder: &Folder, times: &[f64]) -> Database {
        let mut database = Database::open(folder.path()).unwrap();
        for (number, time_ns) in (0..).zip(times) {
            let bytes = night(number, *time_ns);
            database.add(Arrival { bytes: &bytes, limits: Limits::OWN, token: None }).unwrap();
        }
        database
    }

    #[test]
    fn a_slow_down_of_a_fifth_raises_one_alert_and_a_mark_explains_it() {
        let folder = Folder::on_engine();
        let mut times = [100.0, 101.0, 99.0, 100.5].repeat(3);
        times.extend([120.0, 121.0, 119.0, 120.5, 120.0]);
        let mut database = nights(&folder, &times);
        let found = alerts(database.index()).unwrap();
        let [alert] = &found[..] else { panic!("{found:?}") };
        assert_eq!((alert.n_changed, alert.n_numbers), (2, 2));
        assert_eq!((&*alert.machine, alert.day()), ("hawk", "2026-01-13".to_owned()));
        assert!(alert.words().ends_with(" % slower"), "{}", alert.words());
        assert_eq!(alert.mark, None);
        let day_ms = crate::card::time_ms("2026-01-13").unwrap();
        let mark = MarkRow::new("HAWK", day_ms, "firmware", "operator");
        database.add_mark(&mark).unwrap();
        assert_eq!(alerts(database.index()).unwrap()[0].mark.as_ref(), Some(&mark));
        database.reindex().unwrap();
        assert_eq!(database.index().marks().unwrap().len(), 1, "no blob has it, and it stays");
        database.remove_mark(mark.id).unwrap();
        assert_eq!(alerts(database.index()).unwrap()[0].mark, None);
        assert!(database.remove_mark(mark.id).is_err());
    }

    #[test]
    fn names_of_a_machine_that_differ_in_case_raise_one_alert() {
        let folder = Folder::on_engine();
        let mut database = Database::open(folder.path()).unwrap();
        // "HAWK" < "Hawk" < "hawk", and another name between them.
        for (number, name) in (0..17).zip(["HAWK", "Zeus", "hawk"].into_iter().cycle()) {
            let time_ns = if number < 9 { 100.0 } else { 130.0 };
            for (copy, name) in [(0, name), (1, "Zeus")] {
                let bytes = night(number, time_ns);
                let text = String::from_utf8(bytes).unwrap();
                let text = text.replace("-0000000000", &format!("-000000000{copy}"));
                let bytes = text.replace("\"hawk\"", &format!("\"{name}\"")).into_bytes();
                database.add(Arrival { bytes: &bytes, limits: Limits::OWN, token: None }).unwrap();
            }
        }
        let found = alerts(database.index()).unwrap();
        let names: Vec<_> = found.iter().map(|alert| &*alert.machine).collect();
        assert_eq!(names, ["HAWK", "Zeus"]);
    }

    #[test]
    fn steady_nights_and_too_few_of_them_raise_none() {
        let folder = Folder::on_engine();
        let mut database = nights(&folder, &[100.0, 101.0, 99.0].repeat(5));
        assert_eq!(alerts(database.index()).unwrap(), []);
        let few = Folder::on_engine();
        let mut database = nights(&few, &[100.0, 100.0, 200.0, 200.0]);
        assert_eq!(alerts(database.index()).unwrap(), []);
    }

    #[test]
    fn a_mark_is_near_if_it_lies_between_the_runs_around_a_step() {
        let mark = |at_ms| MarkRow::new("hawk", at_ms, "note", "operator");
        let is_near = |at_ms| explanation(&[&mark(at_ms)], &[10, 20, 30, 40, 50], 2).is_some();
        assert_eq!([10, 11, 25, 40, 41].map(is_near), [false, true, true, true, false]);
    }

    #[test]
    fn versions_of_a_library_are_one_history() {
        let rows = |mpi: Option<&str>| {
            let folder = Folder::on_engine();
            let mut database = nights(&folder, &[1.0]);
            let run = database.index().runs(&Filter::default(), None, 1).unwrap().runs.remove(0).0;
            Kind::of(&RunRow { mpi: mpi.map(str::to_owned), ..run })
        };
        let one = rows(Some("Open MPI v5.0.8, package"));
        assert_eq!((one.mpi.as_str(), &one), ("Open MPI v", &rows(Some("Open MPI v4.1.4"))));
        assert_ne!(one, rows(Some("MPICH Version: 4.3")));
        assert_eq!(rows(None).mpi, "mpi");
    }
}
