//! Rows of an index that follow from a blob, and their columns.

use crate::Error;
use crate::card::{Card, State};
use crate::id::{BlobId, Id};
use crate::store::{Row, Value};
use crate::trend::minute;

/// A kind of row: the name of its table, the columns, and the values in their order.
pub(crate) trait Table: Sized {
    const NAME: &'static str;
    const COLUMNS: &'static [&'static str];

    fn values(&self) -> Vec<Value<'_>>;

    fn of(row: &mut Row) -> Result<Self, Error>;
}

/// A machine: runs with equal names, processors and sites are of the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineRow {
    /// Id, of all that follows.
    pub id: Id,
    /// The label `machine`, or the name of the first host without its number.
    pub name: String,
    /// Name of the processor.
    pub cpu: Option<String>,
    /// The label `site`.
    pub site: Option<String>,
}

impl Table for MachineRow {
    const NAME: &'static str = "machine";
    const COLUMNS: &'static [&'static str] = &["id", "name", "cpu", "site"];

    fn values(&self) -> Vec<Value<'_>> {
        let Self { id, name, cpu, site } = self;
        vec![(*id).into(), name.into(), cpu.as_ref().into(), site.as_ref().into()]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.id()?,
            name: row.text()?,
            cpu: row.maybe_text()?,
            site: row.maybe_text()?,
        })
    }
}

/// A run of a blob.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Id, of blob and place.
    pub id: Id,
    /// The blob.
    pub blob: BlobId,
    /// Place among the runs of the blob, from 0.
    pub place: i64,
    /// Id that the run gave itself.
    pub uuid: String,
    /// Start, in milliseconds since 1970; of an import without one its own time, by which lists are sorted.
    pub started_ms: i64,
    /// The machine.
    pub machine: Id,
    /// The label `name`, or the kernels.
    pub title: String,
    /// Program and version.
    pub program: String,
    /// Backend of the transport.
    pub backend: Option<String>,
    /// The label `mpi`, or the version of the MPI library.
    pub mpi: Option<String>,
    /// The label `network`, or the fastest network of the first machine.
    pub network: Option<String>,
    /// Number of ranks.
    pub ranks: i64,
    /// Number of nodes, where it is known.
    pub nodes: Option<i64>,
    /// Hash of the conditions.
    pub fingerprint: String,
    /// Status at its end (`complete`); `None` of a run that was killed.
    pub ending: Option<String>,
    /// Use that can be made of its numbers (`quotable`); `None` of an import.
    pub verdict: Option<String>,
    /// Points with numbers.
    pub n_ok: i64,
    /// Points that were skipped.
    pub n_skipped: i64,
    /// Points that failed.
    pub n_failed: i64,
    /// Points whose data was wrong.
    pub n_check_failed: i64,
    /// Arrival, by the card of the blob, as the two that follow.
    pub received_ms: i64,
    /// Submitter.
    pub submitter: String,
    /// State.
    pub state: State,
    /// Subject: the machine, the MPI library without its version, the network, the ranks and the numbers.
    /// A later run of the same subject supersedes this one.
    pub subject: Id,
    /// True if its start is known, without which it is in no history.
    pub is_dated: bool,
}

impl RunRow {
    /// Its start to the minute, or `unknown`.
    pub fn start(&self) -> String {
        if self.is_dated { minute(self.started_ms) } else { "unknown".into() }
    }

    /// The card of its blob.
    pub(crate) fn card(self) -> Card {
        Card { received_ms: self.received_ms, submitter: self.submitter, state: self.state }
    }
}

impl Table for RunRow {
    const NAME: &'static str = "run";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "blob",
        "place",
        "uuid",
        "started_ms",
        "machine_id",
        "title",
        "program",
        "backend",
        "mpi",
        "network",
        "ranks",
        "nodes",
        "fingerprint",
        "end_status",
        "verdict",
        "n_ok",
        "n_skipped",
        "n_failed",
        "n_check_failed",
        "received_ms",
        "submitter",
        "state",
        "subject_id",
        "is_dated",
    ];

    fn values(&self) -> Vec<Value<'_>> {
        vec![
            self.id.into(),
            self.blob.to_string().into(),
            self.place.into(),
            (&self.uuid).into(),
            self.started_ms.into(),
            self.machine.into(),
            (&self.title).into(),
            (&self.program).into(),
            self.backend.as_ref().into(),
            self.mpi.as_ref().into(),
            self.network.as_ref().into(),
            self.ranks.into(),
            self.nodes.into(),
            (&self.fingerprint).into(),
            self.ending.as_ref().into(),
            self.verdict.as_ref().into(),
            self.n_ok.into(),
            self.n_skipped.into(),
            self.n_failed.into(),
            self.n_check_failed.into(),
            self.received_ms.into(),
            (&self.submitter).into(),
            self.state.name().into(),
            self.subject.into(),
            i64::from(self.is_dated).into(),
        ]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.id()?,
            blob: row.blob()?,
            place: row.int()?,
            uuid: row.text()?,
            started_ms: row.int()?,
            machine: row.id()?,
            title: row.text()?,
            program: row.text()?,
            backend: row.maybe_text()?,
            mpi: row.maybe_text()?,
            network: row.maybe_text()?,
            ranks: row.int()?,
            nodes: row.maybe_int()?,
            fingerprint: row.text()?,
            ending: row.maybe_text()?,
            verdict: row.maybe_text()?,
            n_ok: row.int()?,
            n_skipped: row.int()?,
            n_failed: row.int()?,
            n_check_failed: row.int()?,
            received_ms: row.int()?,
            submitter: row.text()?,
            state: row.state()?,
            subject: row.id()?,
            is_dated: row.int()? != 0,
        })
    }
}

/// A label of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The run.
    pub run: Id,
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

impl Table for LabelRow {
    const NAME: &'static str = "label";
    const COLUMNS: &'static [&'static str] = &["run_id", "name", "value"];

    fn values(&self) -> Vec<Value<'_>> {
        vec![self.run.into(), (&self.name).into(), (&self.value).into()]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        Ok(Self { run: row.id()?, name: row.text()?, value: row.text()? })
    }
}

/// A curve: all that identifies a point but for its length, the number of ranks and their mesh. Points of
/// any runs lie on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesRow {
    /// Id, of all that follows.
    pub id: Id,
    /// Suite of the kernel.
    pub suite: String,
    /// Kernel.
    pub kernel: String,
    /// Name of the series of the kernel, if there is one.
    pub variant: Option<String>,
    /// Kind of communication.
    pub class: String,
    /// Quantity that the numbers are (`one_way_time`); `None` of points without numbers, as the three
    /// that follow.
    pub quantity: Option<String>,
    /// Rule by which samples of the ranks make one value.
    pub definition: Option<String>,
    /// Ranks that the value stands for.
    pub rank_stat: Option<String>,
    /// Reported statistic.
    pub quote: Option<String>,
    /// The other parameters (`hops=1`).
    pub params: String,
    /// Name of the parameter that is the length, if the kernel has one.
    pub x: Option<String>,
    /// Its unit (`B`).
    pub x_unit: Option<String>,
}

impl Table for SeriesRow {
    const NAME: &'static str = "series";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "suite",
        "kernel",
        "variant",
        "class",
        "quantity",
        "definition",
        "rank_stat",
        "quote",
        "params",
        "x",
        "x_unit",
    ];

    fn values(&self) -> Vec<Value<'_>> {
        vec![
            self.id.into(),
            (&self.suite).into(),
            (&self.kernel).into(),
            self.variant.as_ref().into(),
            (&self.class).into(),
            self.quantity.as_ref().into(),
            self.definition.as_ref().into(),
            self.rank_stat.as_ref().into(),
            self.quote.as_ref().into(),
            (&self.params).into(),
            self.x.as_ref().into(),
            self.x_unit.as_ref().into(),
        ]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.id()?,
            suite: row.text()?,
            kernel: row.text()?,
            variant: row.maybe_text()?,
            class: row.text()?,
            quantity: row.maybe_text()?,
            definition: row.maybe_text()?,
            rank_stat: row.maybe_text()?,
            quote: row.maybe_text()?,
            params: row.text()?,
            x: row.maybe_text()?,
            x_unit: row.maybe_text()?,
        })
    }
}

/// A point of a run. Times are in nanoseconds for one operation; `None` where there are no numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PointRow {
    /// The run.
    pub run: Id,
    /// Place among the points of the run, from 0.
    pub place: i64,
    /// The curve that it lies on.
    pub series: Id,
    /// Length, in the unit of the curve.
    pub x: Option<i64>,
    /// Number of ranks.
    pub procs: Option<i64>,
    /// Setting, beside curve, length and number of ranks, that makes it another number (`mesh 2x3`); empty
    /// where it is the usual one.
    pub setting: String,
    /// Identity of the number, as `compare` uses it.
    pub key: String,
    /// Status (`ok`, `skipped`).
    pub status: String,
    /// Samples.
    pub n: Option<i64>,
    /// The figure to quote.
    pub quoted_ns: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low_ns: Option<f64>,
    /// Upper end.
    pub high_ns: Option<f64>,
    /// Least value.
    pub min_ns: Option<f64>,
    /// 25th percentile.
    pub p25_ns: Option<f64>,
    /// Median.
    pub median_ns: Option<f64>,
    /// 75th percentile.
    pub p75_ns: Option<f64>,
    /// 90th percentile.
    pub p90_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// Largest value.
    pub max_ns: Option<f64>,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub stddev_ns: Option<f64>,
    /// Rate of bytes.
    pub bytes_per_s: Option<f64>,
    /// Figures of the launches, in time order, separated by blanks; `None` where there was one.
    pub launches_ns: Option<String>,
    /// The shortest and the longest time of a cache line around it, where the record has them.
    pub line_ns: Option<[f64; 2]>,
}

impl PointRow {
    /// Figures of the launches, in time order; that of the point where there was one.
    pub fn launches(&self) -> Vec<f64> {
        launches(self.launches_ns.as_deref(), self.quoted_ns)
    }
}

/// Figures of launches by their text, or the quoted one where there was one launch.
pub(crate) fn launches(text: Option<&str>, quoted_ns: Option<f64>) -> Vec<f64> {
    match text {
        Some(text) => text.split(' ').filter_map(|number| number.parse().ok()).collect(),
        None => quoted_ns.into_iter().collect(),
    }
}

impl Table for PointRow {
    const NAME: &'static str = "point";
    const COLUMNS: &'static [&'static str] = &[
        "run_id",
        "place",
        "series_id",
        "x",
        "procs",
        "setting",
        "number_key",
        "outcome",
        "n",
        "quoted_ns",
        "low_ns",
        "high_ns",
        "min_ns",
        "p25_ns",
        "median_ns",
        "p75_ns",
        "p90_ns",
        "p99_ns",
        "max_ns",
        "mean_ns",
        "stddev_ns",
        "bytes_per_s",
        "launches_ns",
        "line_low_ns",
        "line_high_ns",
    ];

    fn values(&self) -> Vec<Value<'_>> {
        vec![
            self.run.into(),
            self.place.into(),
            self.series.into(),
            self.x.into(),
            self.procs.into(),
            (&self.setting).into(),
            (&self.key).into(),
            (&self.status).into(),
            self.n.into(),
            self.quoted_ns.into(),
            self.low_ns.into(),
            self.high_ns.into(),
            self.min_ns.into(),
            self.p25_ns.into(),
            self.median_ns.into(),
            self.p75_ns.into(),
            self.p90_ns.into(),
            self.p99_ns.into(),
            self.max_ns.into(),
            self.mean_ns.into(),
            self.stddev_ns.into(),
            self.bytes_per_s.into(),
            self.launches_ns.as_ref().into(),
            self.line_ns.map(|[low, _]| low).into(),
            self.line_ns.map(|[_, high]| high).into(),
        ]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        Ok(Self {
            run: row.id()?,
            place: row.int()?,
            series: row.id()?,
            x: row.maybe_int()?,
            procs: row.maybe_int()?,
            setting: row.text()?,
            key: row.text()?,
            status: row.text()?,
            n: row.maybe_int()?,
            quoted_ns: row.maybe_real()?,
            low_ns: row.maybe_real()?,
            high_ns: row.maybe_real()?,
            min_ns: row.maybe_real()?,
            p25_ns: row.maybe_real()?,
            median_ns: row.maybe_real()?,
            p75_ns: row.maybe_real()?,
            p90_ns: row.maybe_real()?,
            p99_ns: row.maybe_real()?,
            max_ns: row.maybe_real()?,
            mean_ns: row.maybe_real()?,
            stddev_ns: row.maybe_real()?,
            bytes_per_s: row.maybe_real()?,
            launches_ns: row.maybe_text()?,
            line_ns: row.maybe_real()?.zip(row.maybe_real()?).map(<[f64; 2]>::from),
        })
    }
}
