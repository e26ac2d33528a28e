//! Numbers over time that an index finds.

use std::collections::BTreeMap;

use super::runs::Filter;
use super::{Index, columns, numbers};
use crate::Error;
use crate::card::State;
use crate::id::Id;
use crate::rows::{PointRow, RunRow, SeriesRow, Table as _, launches};
use crate::store::Row;

/// Runs `other` that supersede `run` if their state is `?`, which is to be the published one.
pub(super) const LATER: &str = "FROM run AS other WHERE other.subject_id = run.subject_id AND other.state = ? \
                                AND (other.started_ms, other.id) > (run.started_ms, run.id)";

/// A figure of a run: one point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The run.
    pub run: Id,
    /// Length, in the unit of the curve.
    pub x: Option<i64>,
    /// Number of ranks.
    pub procs: Option<i64>,
    /// Figures of the launches, in ns.
    pub launches_ns: Vec<f64>,
}

/// A later run: its id, and its start in milliseconds since 1970.
pub type Later = (Id, i64);

impl Index {
    /// The runs among `ids` that published ones supersede, each with the latest of these: a run of the
    /// same subject that started later.
    ///
    /// # Errors
    /// If the engine refuses, as in all that follows.
    pub fn superseded(&mut self, ids: &[Id]) -> Result<BTreeMap<Id, Later>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let sql = format!(
            "SELECT run.id, later.id, later.started_ms FROM run JOIN run AS later ON later.id = \
             (SELECT other.id {} ORDER BY other.started_ms DESC, other.id DESC LIMIT 1) \
             WHERE run.id IN ({})",
            LATER.replace('?', "$1"),
            numbers(ids)
        );
        let read = |mut row: Row| Ok((row.id()?, (row.id()?, row.int()?)));
        self.store.query(&sql, &[State::Published.name().into()])?.into_iter().map(read).collect()
    }

    /// The points on the curve `series` of runs in `state` at this length and number of ranks, with the
    /// runs, the earliest first: one number over time.
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
             ORDER BY run.started_ms, run.id, point.place",
            of("run", columns::<RunRow>()),
            of("point", columns::<PointRow>()),
            all.text()
        );
        let read = |mut row| Ok((RunRow::of(&mut row)?, PointRow::of(&mut row)?));
        self.store.query(&sql, &all.values)?.into_iter().map(read).collect()
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

    /// The curves on which `runs` have points with numbers.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn curves(&mut self, runs: &[Id]) -> Result<Vec<SeriesRow>, Error> {
        let condition = format!(
            "WHERE quantity IS NOT NULL AND id IN \
             (SELECT series_id FROM point WHERE run_id IN ({})) ORDER BY id",
            numbers(runs)
        );
        self.select(&condition, &[])
    }

    /// The figures of `runs` on the curve `series`, by length and number of ranks.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn figures(&mut self, series: Id, runs: &[Id]) -> Result<Vec<Figure>, Error> {
        let sql = format!(
            "SELECT run_id, x, procs, quoted_ns, launches_ns FROM point \
             WHERE series_id = $1 AND run_id IN ({}) \
             ORDER BY x NULLS FIRST, procs NULLS FIRST, run_id, place",
            numbers(runs)
        );
        let read = |mut row: Row| {
            let (run, x, procs) = (row.id()?, row.maybe_int()?, row.maybe_int()?);
            let (quoted_ns, text) = (row.maybe_real()?, row.maybe_text()?);
            Ok(Figure { run, x, procs, launches_ns: launches(text.as_deref(), quoted_ns) })
        };
        self.store.query(&sql, &[series.into()])?.into_iter().map(read).collect()
    }
}
