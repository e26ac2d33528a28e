//! Numbers over time that an index finds.

use std::collections::BTreeMap;

use super::runs::Filter;
use super::{Index, columns, numbers};
use crate::Error;
use crate::alert::Kind;
use crate::card::State;
use crate::id::{BlobId, Id};
use crate::rows::{PointRow, RunRow, SeriesRow, Table as _, launches};
use crate::store::Row;

/// Runs `other` that supersede `run` if their state is `?`, which is to be the published one: those of its
/// subject that started later, and itself in a file that arrived later.
pub(super) const LATER: [&str; 2] = [
    "FROM run AS other WHERE other.subject_id = run.subject_id AND other.state = ? \
     AND other.uuid <> run.uuid AND (other.started_ms, other.id) > (run.started_ms, run.id) \
     ORDER BY other.started_ms DESC, other.id DESC LIMIT 1",
    "FROM run AS other WHERE other.uuid = run.uuid AND other.state = ? \
     AND other.machine_id = run.machine_id \
     AND (other.received_ms, other.id) > (run.received_ms, run.id) \
     ORDER BY other.received_ms DESC, other.id DESC LIMIT 1",
];
/// The most values of a number that are read: its latest ones.
pub const MAX_VALUES: usize = 5000;
/// The most runs of a machine among which alerts are looked for, and the most points that they have together.
const MAX_STARTS: [i64; 2] = [50_000, 1_000_000];

/// A run in short.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Id.
    pub id: Id,
    /// Id that the run gave itself.
    pub uuid: String,
    /// Start, in milliseconds since 1970.
    pub started_ms: i64,
    /// Arrival of its file.
    pub received_ms: i64,
    /// MPI library or backend, and network, in the usual setting.
    pub kind: Kind,
}

/// A figure of a run: one point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The run.
    pub run: Id,
    /// Length, in the unit of the curve.
    pub x: Option<i64>,
    /// Number of ranks.
    pub procs: Option<i64>,
    /// Setting that makes it another number.
    pub setting: String,
    /// Figures of the launches, in ns.
    pub launches_ns: Vec<f64>,
    /// The shortest and the longest time of a cache line around it, in ns.
    pub line_ns: Option<[f64; 2]>,
}

/// A later run: its id, and its start in milliseconds since 1970.
pub type Later = (Id, i64);

impl Index {
    /// The runs among `ids` that published ones supersede, each with the latest of these: a run of the
    /// same subject that started later, or itself in a file that arrived later.
    ///
    /// # Errors
    /// If the engine refuses, as in all that follows.
    pub fn superseded(&mut self, ids: &[Id]) -> Result<BTreeMap<Id, Later>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let sql = format!(
            "SELECT run.id, later.id, later.started_ms FROM run JOIN run AS later ON later.id = \
             COALESCE((SELECT other.id {}), (SELECT other.id {})) WHERE run.id IN ({})",
            LATER[0].replace('?', "$1"),
            LATER[1].replace('?', "$1"),
            numbers(ids)
        );
        let read = |mut row: Row| Ok((row.id()?, (row.id()?, row.int()?)));
        self.store.query(&sql, &[State::Published.name().into()])?.into_iter().map(read).collect()
    }

    /// The points on the curve `series` of runs that `filter` admits at this length and number of ranks, with
    /// the runs, the earliest first: the latest [`MAX_VALUES`] of them.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn history(
        &mut self,
        series: Id,
        [x, procs]: [Option<i64>; 2],
        filter: &Filter,
    ) -> Result<Vec<(RunRow, PointRow)>, Error> {
        let mut all = filter.condition().on_points();
        all.and("point.series_id = ?", [series.into()]);
        for (column, number) in [("x", x), ("procs", procs)] {
            match number {
                Some(number) => all.and(&format!("point.{column} = ?"), [number.into()]),
                None => all.and(&format!("point.{column} IS NULL"), []),
            }
        }
        let of = |table: &str, columns: String| {
            let columns = columns.split(", ").map(|column| format!("{table}.{column}"));
            columns.collect::<Vec<_>>().join(", ")
        };
        let sql = format!(
            "SELECT {}, {} FROM point JOIN run ON run.id = point.run_id {} \
             ORDER BY run.started_ms DESC, run.id DESC, point.place DESC LIMIT {MAX_VALUES}",
            of("run", columns::<RunRow>()),
            of("point", columns::<PointRow>()),
            all.text()
        );
        let read = |mut row| Ok((RunRow::of(&mut row)?, PointRow::of(&mut row)?));
        self.store.query(&sql, &all.values)?.into_iter().rev().map(read).collect()
    }

    /// The curve `id`, if there is one.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn curve(&mut self, id: Id) -> Result<Option<SeriesRow>, Error> {
        Ok(self.select("WHERE id = $1", &[id.into()])?.into_iter().next())
    }

    /// The lengths and numbers of ranks at which runs that `filter` admits have points on the curve `series`,
    /// each once, in their order.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn places(&mut self, series: Id, filter: &Filter) -> Result<Vec<[Option<i64>; 2]>, Error> {
        let (all, series) = (filter.condition().on_points(), numbers(&[series]));
        let sql = format!(
            "SELECT x, procs FROM (SELECT DISTINCT x, procs FROM point WHERE series_id = {series}) AS spot \
             WHERE EXISTS (SELECT 1 FROM point {} AND point.series_id = {series} \
             AND point.x IS NOT DISTINCT FROM spot.x AND point.procs IS NOT DISTINCT FROM spot.procs) \
             ORDER BY x NULLS FIRST, procs NULLS FIRST",
            all.text(),
        );
        let read = |mut row: Row| Ok([row.maybe_int()?, row.maybe_int()?]);
        self.store.query(&sql, &all.values)?.into_iter().map(read).collect()
    }

    /// The curves on which runs that `filter` admits have points with numbers, by their names.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn curves(&mut self, filter: &Filter) -> Result<Vec<SeriesRow>, Error> {
        let all = filter.condition().on_points();
        let condition = format!(
            "WHERE quantity IS NOT NULL AND EXISTS \
             (SELECT 1 FROM point {} AND point.series_id = series.id) \
             ORDER BY suite, kernel, variant NULLS FIRST, params, id",
            all.text()
        );
        self.select(&condition, &all.values)
    }

    /// The figures of runs that `filter` admits on the curve `series`, by length and number of ranks.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn figures(&mut self, series: Id, filter: &Filter) -> Result<Vec<Figure>, Error> {
        let mut all = filter.condition().on_points();
        all.and("point.series_id = ?", [series.into()]);
        let sql = format!(
            "SELECT run_id, x, procs, setting, quoted_ns, launches_ns, line_low_ns, line_high_ns \
             FROM point {} ORDER BY x NULLS FIRST, procs NULLS FIRST, run_id, place",
            all.text()
        );
        let read = |mut row: Row| {
            let (run, x, procs) = (row.id()?, row.maybe_int()?, row.maybe_int()?);
            let (setting, quoted_ns, text) = (row.text()?, row.maybe_real()?, row.maybe_text()?);
            let launches_ns = launches(text.as_deref(), quoted_ns);
            let line_ns = row.maybe_real()?.zip(row.maybe_real()?).map(<[f64; 2]>::from);
            Ok(Figure { run, x, procs, setting, launches_ns, line_ns })
        };
        self.store.query(&sql, &all.values)?.into_iter().map(read).collect()
    }

    /// The latest runs that `filter` admits and whose starts are known, the earliest first: at most 50,000, with
    /// at most 1,000,000 points together.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn starts(&mut self, filter: &Filter) -> Result<Vec<Start>, Error> {
        let (mut all, [n_runs, n_points]) = (filter.condition(), MAX_STARTS);
        all.and("run.is_dated = ?", [1_i64.into()]);
        let sql = format!(
            "SELECT run.id, run.uuid, run.started_ms, run.received_ms, run.mpi, run.backend, run.network, \
             run.n_ok FROM run JOIN machine ON machine.id = run.machine_id {} \
             ORDER BY run.started_ms DESC, run.id DESC LIMIT {n_runs}",
            all.text()
        );
        let (mut starts, mut n_before) = (Vec::new(), 0);
        for mut row in self.store.query(&sql, &all.values)? {
            let (id, uuid) = (row.id()?, row.text()?);
            let (started_ms, received_ms) = (row.int()?, row.int()?);
            let [mpi, backend, network] = [row.maybe_text()?, row.maybe_text()?, row.maybe_text()?];
            let kind = Kind::new(mpi.as_deref(), backend.as_deref(), network.as_deref());
            n_before += row.int()?;
            if n_before > n_points && !starts.is_empty() {
                break;
            }
            starts.push(Start { id, uuid, started_ms, received_ms, kind });
        }
        starts.reverse();
        Ok(starts)
    }

    /// Number of runs of the file `blob` that are also in another one, of the same machine.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn n_in_others(&mut self, blob: BlobId) -> Result<usize, Error> {
        let sql = "SELECT COUNT(*) FROM run WHERE blob = $1 AND EXISTS (SELECT 1 FROM run AS other \
                   WHERE other.uuid = run.uuid AND other.machine_id = run.machine_id \
                   AND other.blob <> run.blob)";
        let rows = self.store.query(sql, &[blob.to_string().into()])?;
        let n = rows.into_iter().next().map_or(Ok(0), |mut row| row.int())?;
        Ok(usize::try_from(n).unwrap_or(0))
    }
}
