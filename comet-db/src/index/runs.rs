//! Runs, machines, curves and points that an index finds.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::history::LATER;
use super::{Index, numbers, qualified};
use crate::Error;
use crate::card::State;
use crate::id::{BlobId, Id, NoId};
use crate::rows::{LabelRow, MachineRow, PointRow, RunRow, SeriesRow, Table as _};
use crate::store::Value;

/// The most rows of a page.
pub const MAX_ROWS: usize = 500;
/// The most points of a page.
const MAX_POINTS: usize = 5000;
/// The most runs or curves that are asked for at once.
const MAX_IDS: usize = 100;

/// Conditions on runs; the default admits all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name of the machine, letter case aside.
    pub machine: Option<String>,
    /// Part of the version of the MPI library, or of the backend, letter case aside.
    pub mpi: Option<String>,
    /// Part of the network, letter case aside.
    pub network: Option<String>,
    /// Part of the title, letter case aside.
    pub title: Option<String>,
    /// Labels, each with a value or any.
    pub labels: Vec<(String, Option<String>)>,
    /// Earliest start, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// End of the starts, in milliseconds since 1970: the first time that is too late.
    pub until_ms: Option<i64>,
    /// State; none for all.
    pub state: Option<State>,
    /// True if runs that a published one supersedes are left out.
    pub is_latest: bool,
}

/// Place in a list of runs, the latest first: behind the run that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    started_ms: i64,
    id: Id,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}-{}", self.started_ms, self.id)
    }
}

impl FromStr for Cursor {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let (time, id) = text.split_once('-').ok_or(NoId)?;
        let started_ms = i64::from_str_radix(time, 16).map_err(|_| NoId)?;
        Ok(Self { started_ms, id: id.parse()? })
    }
}

/// A part of a list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The runs with their machines, the latest first.
    pub runs: Vec<(RunRow, MachineRow)>,
    /// Start of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

/// A machine with its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineUse {
    /// The machine.
    pub machine: MachineRow,
    /// Number of its runs.
    pub n_runs: i64,
    /// Start of the latest one, in milliseconds since 1970.
    pub latest_ms: i64,
}

/// A curve with its points in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesUse {
    /// The run.
    pub run: Id,
    /// The curve.
    pub series: SeriesRow,
    /// Number of points.
    pub n_points: i64,
    /// The shortest length.
    pub least_x: Option<i64>,
    /// The longest length.
    pub most_x: Option<i64>,
    /// The fewest ranks.
    pub least_procs: Option<i64>,
    /// The most ranks.
    pub most_procs: Option<i64>,
}

/// A condition of several parts with its values.
#[derive(Debug, Default)]
pub(super) struct Where {
    parts: Vec<String>,
    pub(super) values: Vec<Value<'static>>,
}

impl Where {
    /// Adds `part`, in which `?` stands for each of `values` in turn.
    pub(super) fn and<const N: usize>(&mut self, part: &str, values: [Value<'static>; N]) {
        let mut text = String::new();
        let mut pieces = part.split('?');
        text += pieces.next().unwrap_or_default();
        for (piece, value) in pieces.zip(values) {
            self.values.push(value);
            text += &format!("${}{piece}", self.values.len());
        }
        self.parts.push(text);
    }

    /// That of a point whose run it admits: it is asked once of each run, and not once of each point.
    pub(super) fn on_points(self) -> Self {
        let part = format!(
            "point.run_id IN (SELECT run.id FROM run JOIN machine ON machine.id = run.machine_id {})",
            self.text()
        );
        Self { parts: vec![part], ..self }
    }

    pub(super) fn text(&self) -> String {
        if self.parts.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", self.parts.join(" AND "))
        }
    }
}

/// `text` as a pattern of LIKE for what contains it.
fn containing(text: &str) -> Value<'static> {
    let mut pattern = String::from("%");
    for c in text.to_ascii_lowercase().chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    (pattern + "%").into()
}

impl Filter {
    pub(super) fn condition(&self) -> Where {
        let mut all = Where::default();
        if let Some(state) = self.state {
            all.and("run.state = ?", [state.name().into()]);
        }
        if let Some(name) = &self.machine {
            all.and("lower(machine.name) = ?", [name.to_ascii_lowercase().into()]);
        }
        if let Some(text) = &self.mpi {
            let part =
                "(lower(run.mpi) LIKE ? ESCAPE '\\' OR lower(run.backend) LIKE ? ESCAPE '\\')";
            all.and(part, [containing(text), containing(text)]);
        }
        for (column, text) in [("network", &self.network), ("title", &self.title)] {
            if let Some(text) = text {
                let part = format!("lower(run.{column}) LIKE ? ESCAPE '\\'");
                all.and(&part, [containing(text)]);
            }
        }
        for (name, value) in &self.labels {
            let start =
                "EXISTS (SELECT 1 FROM label WHERE label.run_id = run.id AND label.name = ?";
            match value {
                Some(value) => {
                    let part = format!("{start} AND label.value = ?)");
                    all.and(&part, [name.clone().into(), value.clone().into()]);
                }
                None => all.and(&format!("{start})"), [name.clone().into()]),
            }
        }
        if let Some(since) = self.since_ms {
            all.and("run.started_ms >= ?", [since.into()]);
        }
        if let Some(until) = self.until_ms {
            all.and("run.started_ms < ?", [until.into()]);
        }
        if self.is_latest {
            for later in LATER {
                let part = format!("NOT EXISTS (SELECT 1 {later})");
                all.and(&part, [State::Published.name().into()]);
            }
        }
        all
    }
}

impl Index {
    /// At most `n` runs that `filter` admits, the latest first, behind `after`.
    ///
    /// # Errors
    /// If the engine refuses, as in all that follows.
    pub fn runs(
        &mut self,
        filter: &Filter,
        after: Option<Cursor>,
        n: usize,
    ) -> Result<Page, Error> {
        let n = n.clamp(1, MAX_ROWS);
        let mut all = filter.condition();
        if let Some(Cursor { started_ms, id }) = after {
            all.and("(run.started_ms, run.id) < (?, ?)", [started_ms.into(), id.into()]);
        }
        let sql = format!(
            "SELECT {}, {} FROM run JOIN machine ON machine.id = run.machine_id {} \
             ORDER BY run.started_ms DESC, run.id DESC LIMIT {}",
            qualified::<RunRow>(),
            qualified::<MachineRow>(),
            all.text(),
            n + 1
        );
        let rows = self.store.query(&sql, &all.values)?.into_iter();
        let read = |mut row| Ok((RunRow::of(&mut row)?, MachineRow::of(&mut row)?));
        let mut runs: Vec<(RunRow, MachineRow)> = rows.map(read).collect::<Result<_, Error>>()?;
        let has_more = runs.len() > n;
        runs.truncate(n);
        let next = runs.last().filter(|_| has_more);
        let next = next.map(|(run, _)| Cursor { started_ms: run.started_ms, id: run.id });
        Ok(Page { runs, next })
    }

    /// The run `id`, if there is one.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn run(&mut self, id: Id) -> Result<Option<RunRow>, Error> {
        Ok(self.select("WHERE id = $1", &[id.into()])?.into_iter().next())
    }

    /// The runs of `blob`, in their order.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn runs_of(&mut self, blob: BlobId) -> Result<Vec<RunRow>, Error> {
        self.select("WHERE blob = $1 ORDER BY place", &[blob.to_string().into()])
    }

    /// The blobs whose names start with `digits`, at most two of them.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn blobs_like(&mut self, digits: &str) -> Result<Vec<BlobId>, Error> {
        let sql = "SELECT blob FROM run WHERE place = 0 AND substr(blob, 1, $1) = $2 ORDER BY blob LIMIT 2";
        let n_digits = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let rows = self.store.query(sql, &[n_digits.into(), digits.into()])?;
        rows.into_iter().map(|mut row| row.blob()).collect()
    }

    /// The labels of the run `id`, by their names.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn labels(&mut self, id: Id) -> Result<Vec<LabelRow>, Error> {
        self.select("WHERE run_id = $1 ORDER BY name", &[id.into()])
    }

    /// The machine `id`, if there is one.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn machine(&mut self, id: Id) -> Result<Option<MachineRow>, Error> {
        Ok(self.select("WHERE id = $1", &[id.into()])?.into_iter().next())
    }

    /// The machines that have runs in `state`, by their names.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn machines(&mut self, state: State) -> Result<Vec<MachineUse>, Error> {
        let columns = qualified::<MachineRow>();
        let sql = format!(
            "SELECT {columns}, COUNT(*), MAX(run.started_ms) FROM machine \
             JOIN run ON run.machine_id = machine.id WHERE run.state = $1 \
             GROUP BY {columns} ORDER BY machine.name, machine.id"
        );
        let rows = self.store.query(&sql, &[state.name().into()])?.into_iter();
        let read = |mut row| {
            let machine = MachineRow::of(&mut row)?;
            Ok(MachineUse { machine, n_runs: row.int()?, latest_ms: row.int()? })
        };
        rows.map(read).collect()
    }

    /// The names of the machines that have published runs, in their order; of those that differ in letter case
    /// alone the first.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn machine_names(&mut self) -> Result<Vec<String>, Error> {
        let machines = self.machines(State::Published)?.into_iter();
        let mut known = BTreeSet::new();
        let names = machines.map(|of| of.machine.name);
        Ok(names.filter(|name| known.insert(name.to_ascii_lowercase())).collect())
    }

    /// The curves of `runs`, run by run, with their points; of at most 100 runs.
    ///
    /// # Errors
    /// If there are more runs, or the engine refuses.
    pub fn series(&mut self, runs: &[Id]) -> Result<Vec<SeriesUse>, Error> {
        self.series_until(runs, None)
    }

    /// The first 500 curves of `run`, and the number of the others.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn first_series(&mut self, run: Id) -> Result<(Vec<SeriesUse>, usize), Error> {
        let series = self.series_until(&[run], Some(MAX_ROWS))?;
        if series.len() < MAX_ROWS {
            return Ok((series, 0));
        }
        let sql = "SELECT COUNT(DISTINCT series_id) FROM point WHERE run_id = $1";
        let mut row = self.store.query(sql, &[run.into()])?.into_iter();
        let n_all = row.next().map_or(Ok(0), |mut row| row.int())?;
        Ok((series, usize::try_from(n_all).unwrap_or(0).saturating_sub(MAX_ROWS)))
    }

    fn series_until(&mut self, runs: &[Id], most: Option<usize>) -> Result<Vec<SeriesUse>, Error> {
        let sql = format!(
            "SELECT used.run_id, {}, used.n, used.least_x, used.most_x, used.least_procs, \
             used.most_procs FROM (SELECT run_id, series_id, COUNT(*) AS n, MIN(place) AS place, \
             MIN(x) AS least_x, MAX(x) AS most_x, MIN(procs) AS least_procs, \
             MAX(procs) AS most_procs FROM point WHERE run_id IN ({}) GROUP BY run_id, series_id) \
             AS used JOIN series ON series.id = used.series_id ORDER BY used.run_id, used.place {}",
            qualified::<SeriesRow>(),
            list(runs)?,
            most.map_or(String::new(), |most| format!("LIMIT {most}"))
        );
        let read = |mut row| {
            Ok(SeriesUse {
                run: crate::store::Row::id(&mut row)?,
                series: SeriesRow::of(&mut row)?,
                n_points: row.int()?,
                least_x: row.maybe_int()?,
                most_x: row.maybe_int()?,
                least_procs: row.maybe_int()?,
                most_procs: row.maybe_int()?,
            })
        };
        self.store.query(&sql, &[])?.into_iter().map(read).collect()
    }

    /// The points of `runs` on the curves `series`, run by run in their order; on all curves, if there are
    /// none.
    ///
    /// # Errors
    /// If there are more than 100 runs or curves, or the engine refuses.
    pub fn points(&mut self, runs: &[Id], series: &[Id]) -> Result<Vec<PointRow>, Error> {
        let on = if series.is_empty() {
            String::new()
        } else {
            // The sign keeps SQLite from the index by series, which has the points of all runs.
            format!("AND +series_id IN ({})", list(series)?)
        };
        let condition = format!("WHERE run_id IN ({}) {on} ORDER BY run_id, place", list(runs)?);
        self.select(&condition, &[])
    }

    /// At most 5,000 points of `run` behind the place `after`, on the curves `series` or on all if there are
    /// none; and the place behind which the others are.
    ///
    /// # Errors
    /// If there are more than 100 curves, or the engine refuses.
    pub fn points_behind(
        &mut self,
        run: Id,
        series: &[Id],
        after: Option<i64>,
    ) -> Result<(Vec<PointRow>, Option<i64>), Error> {
        let on = match series {
            [] => String::new(),
            _ => format!("AND +series_id IN ({})", list(series)?),
        };
        let condition = format!(
            "WHERE run_id = $1 AND place > $2 {on} ORDER BY place LIMIT {}",
            MAX_POINTS + 1
        );
        let values = [run.into(), after.unwrap_or(-1).into()];
        let mut points: Vec<PointRow> = self.select(&condition, &values)?;
        let has_more = points.len() > MAX_POINTS;
        points.truncate(MAX_POINTS);
        let next = points.last().filter(|_| has_more).map(|point| point.place);
        Ok((points, next))
    }
}

/// The numbers of `ids`, which must be few.
fn list(ids: &[Id]) -> Result<String, Error> {
    if ids.len() > MAX_IDS {
        return Err(Error::Unknown(format!(
            "{} runs or series are too many, expected at most {MAX_IDS} (choose fewer)",
            ids.len()
        )));
    }
    Ok(numbers(ids))
}
