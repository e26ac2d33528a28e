//! Alerts: steps in the numbers of a machine, gathered by the run that they begin with.
//!
//! A number has one history for each MPI library, versions aside, each network and each setting (the mesh): an
//! upgrade lies within a history, and two libraries beside each other are two. A mark near a step explains it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use comet_stats::steps::{MIN_VALUES, Step};

use crate::card::{State, time_text};
use crate::id::Id;
use crate::index::marks::MarkRow;
use crate::index::{Figure, Filter, Index, Start};
use crate::rows::{RunRow, SeriesRow};
use crate::trend::{at_one_place, level, levels_of, once};
use crate::{Error, trend};

/// The most values of a history, the latest ones: what a look costs grows with their square.
const WINDOW: usize = 500;

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
    /// Mark that explains the largest step.
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
    /// MPI library or backend, network and setting.
    pub kind: Kind,
}

/// Facts that the values of one history have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// MPI library without its version, or backend.
    pub mpi: String,
    /// Network; empty where it is unknown.
    pub network: String,
    /// Setting that makes it another number, as of a [point](crate::rows::PointRow::setting).
    pub setting: String,
}

impl Kind {
    /// The kind in an address.
    pub(crate) fn id(&self) -> Id {
        let parts = [self.mpi.as_str(), &self.network, &self.setting];
        // Without the last one the id is that of an address from before there were settings.
        Id::of("kind", &parts[..if self.setting.is_empty() { 2 } else { 3 }])
    }

    /// The kind in words.
    pub(crate) fn name(&self) -> String {
        let mpi = self.mpi.trim_end_matches([' ', ':']);
        let mpi = [" v", " Version"].iter().find_map(|end| mpi.strip_suffix(end)).unwrap_or(mpi);
        let parts = [mpi, &self.network, &self.setting].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    /// That of the values of `run` in a `setting`.
    pub(crate) fn of(run: &RunRow, setting: &str) -> Self {
        let kind = Self::new(run.mpi.as_deref(), run.backend.as_deref(), run.network.as_deref());
        Self { setting: setting.into(), ..kind }
    }

    /// That of a run with this MPI library, backend and network, in the usual setting.
    pub(crate) fn new(mpi: Option<&str>, backend: Option<&str>, network: Option<&str>) -> Self {
        let mpi = mpi.map(|mpi| {
            let end = mpi.find(|c: char| c.is_ascii_digit()).unwrap_or(mpi.len());
            mpi[..end].trim()
        });
        let mpi = mpi.filter(|mpi| !mpi.is_empty()).or(backend).unwrap_or_default().to_owned();
        Self { mpi, network: network.unwrap_or_default().into(), setting: String::new() }
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
    /// Its curve, length, number of ranks and setting, in words.
    pub fn name(&self) -> String {
        trend::title(&self.series, [self.x, self.procs], &self.kind.setting)
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

/// Value of a number in one run, in ns, and the shortest and the longest time of a cache line around it.
type Value<'a> = (&'a Start, f64, Option<[f64; 2]>);
/// Length, number of ranks, setting and kind of a number on a curve.
type Place<'a> = (Option<i64>, Option<i64>, String, &'a Kind);

/// Numbers of a machine that have a step at one run.
struct Change<'a> {
    n_numbers: usize,
    /// Number with the largest step.
    worst: Number,
    step: Step,
    /// The last run of the level before.
    before: &'a Start,
    mark: Option<&'a MarkRow>,
}

/// The alerts of the machine called `name`, in the latest values of each of its numbers.
fn of_machine(index: &mut Index, name: &str, marks: &[MarkRow]) -> Result<Vec<Alert>, Error> {
    let (machine, state) = (Some(name.to_owned()), Some(State::Published));
    let mut filter = Filter { machine, state, ..Filter::default() };
    let runs = index.starts(&filter)?;
    filter.since_ms = runs.first().map(|run| run.started_ms);
    if runs.len() < MIN_VALUES {
        return Ok(Vec::new());
    }
    let runs: BTreeMap<Id, &Start> = runs.iter().map(|run| (run.id, run)).collect();
    let marks: Vec<&MarkRow> = marks.iter().filter(|mark| mark.is_of(name)).collect();
    let (mut found, mut n_numbers) = (BTreeMap::<_, Change<'_>>::new(), 0);
    for series in index.curves(&filter)? {
        for ((x, procs, setting, kind), values) in
            histories(index.figures(series.id, &filter)?, &runs)
        {
            n_numbers += usize::from(values.len() >= MIN_VALUES);
            let times: Vec<f64> = values.iter().map(|(_, ns, _)| *ns).collect();
            let starts: Vec<i64> = values.iter().map(|(run, ..)| run.started_ms).collect();
            for step in levels_of(&times).steps {
                let kind = Kind { setting: setting.clone(), ..kind.clone() };
                let change = Change {
                    n_numbers: 1,
                    worst: Number { series: series.clone(), x, procs, kind },
                    step,
                    before: values[step.at - 1].0,
                    mark: explanation(&marks, &starts, step.at),
                };
                let run = values[step.at].0;
                match found.entry((run.started_ms, run.id)) {
                    Entry::Vacant(place) => drop(place.insert(change)),
                    Entry::Occupied(mut place) => place.get_mut().join(change),
                }
            }
        }
    }
    let mut run = |id| {
        let gone = || Error::Index(format!("the run {id} was removed meanwhile (look again)"));
        index.run(id)?.ok_or_else(gone)
    };
    let alert = |((_, id), change): (_, Change<'_>)| {
        Ok(Alert {
            machine: name.to_owned(),
            run: run(id)?,
            before: run(change.before.id)?,
            n_changed: change.n_numbers,
            n_numbers,
            worst: change.worst,
            step: change.step,
            mark: change.mark.cloned(),
        })
    };
    found.into_iter().map(alert).collect()
}

impl Change<'_> {
    /// Takes up `other` at the same run; the larger step has the say.
    fn join(&mut self, other: Self) {
        let n_numbers = self.n_numbers + other.n_numbers;
        if size(&other.step) > size(&self.step) {
            *self = other;
        }
        self.n_numbers = n_numbers;
    }
}

/// The histories of the numbers of a curve: the latest values of each, in time order.
fn histories<'a>(
    figures: Vec<Figure>,
    runs: &BTreeMap<Id, &'a Start>,
) -> BTreeMap<Place<'a>, Vec<Value<'a>>> {
    let mut histories = BTreeMap::<_, Vec<Value<'a>>>::new();
    for Figure { run, x, procs, setting, launches_ns, line_ns } in figures {
        if let (Some(run), Some(ns)) = (runs.get(&run), level(&launches_ns)) {
            histories.entry((x, procs, setting, &run.kind)).or_default().push((*run, ns, line_ns));
        }
    }
    for values in histories.values_mut() {
        values.sort_by_key(|(run, ..)| (run.started_ms, run.id));
        once(values, |(run, ..)| (&run.uuid, run.received_ms, run.id));
        at_one_place(values, |(.., line_ns)| *line_ns);
        values.drain(..values.len().saturating_sub(WINDOW));
    }
    histories
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
    fn imports_without_a_start_raise_no_alert() {
        let folder = Folder::on_engine();
        let mut database = nights(&folder, &[100.0; 12]);
        for number in 12..18 {
            let text = String::from_utf8(night(number, 80.0)).unwrap();
            let start = format!("2026-01-{:02}T00:00:00.000Z", number + 1);
            let bytes = text.replacen(&start, "", 1).into_bytes();
            database.add(Arrival { bytes: &bytes, limits: Limits::OWN, token: None }).unwrap();
        }
        let runs = database.index().runs(&Filter::default(), None, 100).unwrap().runs;
        assert_eq!(runs.iter().filter(|(run, _)| run.start() == "unknown").count(), 6);
        assert_eq!(alerts(database.index()).unwrap(), []);
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
            Kind::of(&RunRow { mpi: mpi.map(str::to_owned), ..run }, "")
        };
        let one = rows(Some("Open MPI v5.0.8, package"));
        assert_eq!((one.mpi.as_str(), &one), ("Open MPI v", &rows(Some("Open MPI v4.1.4"))));
        assert_ne!(one, rows(Some("MPICH Version: 4.3")));
        assert_eq!(rows(None).mpi, "mpi");
    }
}
