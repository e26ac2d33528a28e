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

/// A value as the columns of its field hold it.
pub(crate) trait Cell: Sized {
    fn put<'a>(&'a self, values: &mut Vec<Value<'a>>);

    fn take(row: &mut Row) -> Result<Self, Error>;
}

/// Implements [`Cell`] for types that have one column.
macro_rules! cells {
    ($($type:ty: |$cell:ident| $value:expr, $take:expr;)*) => {
        $(impl Cell for $type {
            fn put<'a>(&'a self, values: &mut Vec<Value<'a>>) {
                let $cell = self;
                values.push($value.into());
            }

            fn take(row: &mut Row) -> Result<Self, Error> {
                $take(row)
            }
        })*
    };
}

cells! {
    Id: |id| *id, Row::id;
    BlobId: |blob| blob.to_string(), Row::blob;
    State: |state| state.name(), Row::state;
    i64: |number| *number, Row::int;
    bool: |is| i64::from(*is), |row: &mut Row| row.int().map(|is| is != 0);
    String: |text| text, Row::text;
    Option<i64>: |number| *number, Row::maybe_int;
    Option<f64>: |number| *number, Row::maybe_real;
    Option<String>: |text| text.as_ref(), Row::maybe_text;
}

impl Cell for Option<[f64; 2]> {
    fn put<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        values.extend([self.map(|[low, _]| low).into(), self.map(|[_, high]| high).into()]);
    }

    fn take(row: &mut Row) -> Result<Self, Error> {
        Ok(row.maybe_real()?.zip(row.maybe_real()?).map(<[f64; 2]>::from))
    }
}

/// A row whose table and columns stand behind the name of the struct and the types of its fields.
macro_rules! table {
    (
        $(#[$of_row:meta])*
        pub struct $row:ident as $name:literal {
            $($(#[$of_field:meta])* pub $field:ident: $type:ty as $($column:literal)+,)+
        }
    ) => {
        $(#[$of_row])*
        pub struct $row {
            $($(#[$of_field])* pub $field: $type,)+
        }

        impl $crate::rows::Table for $row {
            const NAME: &'static str = $name;
            const COLUMNS: &'static [&'static str] = &[$($($column),+),+];

            fn values(&self) -> Vec<$crate::store::Value<'_>> {
                let mut values = Vec::with_capacity(Self::COLUMNS.len());
                $($crate::rows::Cell::put(&self.$field, &mut values);)+
                values
            }

            fn of(row: &mut $crate::store::Row) -> Result<Self, $crate::Error> {
                Ok(Self { $($field: $crate::rows::Cell::take(row)?,)+ })
            }
        }
    };
}
pub(crate) use table;

table! {
    /// A machine: runs with equal names, processors and sites are of the same one.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MachineRow as "machine" {
        /// Id, of all that follows.
        pub id: Id as "id",
        /// The label `machine`, or the name of the first host without its number.
        pub name: String as "name",
        /// Name of the processor.
        pub cpu: Option<String> as "cpu",
        /// The label `site`.
        pub site: Option<String> as "site",
    }
}

table! {
    /// A run of a blob.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RunRow as "run" {
        /// Id, of blob and place.
        pub id: Id as "id",
        /// The blob.
        pub blob: BlobId as "blob",
        /// Place among the runs of the blob, from 0.
        pub place: i64 as "place",
        /// Id that the run gave itself.
        pub uuid: String as "uuid",
        /// Start, in milliseconds since 1970; of an import without one its own time, by which lists are sorted.
        pub started_ms: i64 as "started_ms",
        /// The machine.
        pub machine: Id as "machine_id",
        /// The label `name`, or the kernels.
        pub title: String as "title",
        /// Program and version.
        pub program: String as "program",
        /// Backend of the transport.
        pub backend: Option<String> as "backend",
        /// The label `mpi`, or the version of the MPI library.
        pub mpi: Option<String> as "mpi",
        /// The label `network`, or the fastest network of the first machine.
        pub network: Option<String> as "network",
        /// Number of ranks.
        pub ranks: i64 as "ranks",
        /// Number of nodes, where it is known.
        pub nodes: Option<i64> as "nodes",
        /// Hash of the conditions.
        pub fingerprint: String as "fingerprint",
        /// Status at its end (`complete`); `None` of a run that was killed.
        pub ending: Option<String> as "end_status",
        /// Use that can be made of its numbers (`quotable`); `None` of an import.
        pub verdict: Option<String> as "verdict",
        /// Points with numbers.
        pub n_ok: i64 as "n_ok",
        /// Points that were skipped.
        pub n_skipped: i64 as "n_skipped",
        /// Points that failed.
        pub n_failed: i64 as "n_failed",
        /// Points whose data was wrong.
        pub n_check_failed: i64 as "n_check_failed",
        /// Arrival, by the card of the blob, as the two that follow.
        pub received_ms: i64 as "received_ms",
        /// Submitter.
        pub submitter: String as "submitter",
        /// State.
        pub state: State as "state",
        /// Subject: the machine, the MPI library without its version, the network, the ranks and the numbers.
        /// A later run of the same subject supersedes this one.
        pub subject: Id as "subject_id",
        /// True if its start is known, without which it is in no history.
        pub is_dated: bool as "is_dated",
    }
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

table! {
    /// A label of a run.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LabelRow as "label" {
        /// The run.
        pub run: Id as "run_id",
        /// Name.
        pub name: String as "name",
        /// Value.
        pub value: String as "value",
    }
}

table! {
    /// A curve: all that identifies a point but for its length, the number of ranks and their mesh. Points of
    /// any runs lie on it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SeriesRow as "series" {
        /// Id, of all that follows.
        pub id: Id as "id",
        /// Suite of the kernel.
        pub suite: String as "suite",
        /// Kernel.
        pub kernel: String as "kernel",
        /// Name of the series of the kernel, if there is one.
        pub variant: Option<String> as "variant",
        /// Kind of communication.
        pub class: String as "class",
        /// Quantity that the numbers are (`one_way_time`); `None` of points without numbers, as the three
        /// that follow.
        pub quantity: Option<String> as "quantity",
        /// Rule by which samples of the ranks make one value.
        pub definition: Option<String> as "definition",
        /// Ranks that the value stands for.
        pub rank_stat: Option<String> as "rank_stat",
        /// Reported statistic.
        pub quote: Option<String> as "quote",
        /// The other parameters (`hops=1`).
        pub params: String as "params",
        /// Name of the parameter that is the length, if the kernel has one.
        pub x: Option<String> as "x",
        /// Its unit (`B`).
        pub x_unit: Option<String> as "x_unit",
    }
}

table! {
    /// A point of a run. Times are in nanoseconds for one operation; `None` where there are no numbers.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PointRow as "point" {
        /// The run.
        pub run: Id as "run_id",
        /// Place among the points of the run, from 0.
        pub place: i64 as "place",
        /// The curve that it lies on.
        pub series: Id as "series_id",
        /// Length, in the unit of the curve.
        pub x: Option<i64> as "x",
        /// Number of ranks.
        pub procs: Option<i64> as "procs",
        /// Setting, beside curve, length and number of ranks, that makes it another number (`mesh 2x3`); empty
        /// where it is the usual one.
        pub setting: String as "setting",
        /// Identity of the number, as `compare` uses it.
        pub key: String as "number_key",
        /// Status (`ok`, `skipped`).
        pub status: String as "outcome",
        /// Samples.
        pub n: Option<i64> as "n",
        /// The figure to quote.
        pub quoted_ns: Option<f64> as "quoted_ns",
        /// Lower end of its 95 % interval.
        pub low_ns: Option<f64> as "low_ns",
        /// Upper end.
        pub high_ns: Option<f64> as "high_ns",
        /// Least value.
        pub min_ns: Option<f64> as "min_ns",
        /// 25th percentile.
        pub p25_ns: Option<f64> as "p25_ns",
        /// Median.
        pub median_ns: Option<f64> as "median_ns",
        /// 75th percentile.
        pub p75_ns: Option<f64> as "p75_ns",
        /// 90th percentile.
        pub p90_ns: Option<f64> as "p90_ns",
        /// 99th percentile.
        pub p99_ns: Option<f64> as "p99_ns",
        /// Largest value.
        pub max_ns: Option<f64> as "max_ns",
        /// Arithmetic mean.
        pub mean_ns: Option<f64> as "mean_ns",
        /// Standard deviation.
        pub stddev_ns: Option<f64> as "stddev_ns",
        /// Rate of bytes.
        pub bytes_per_s: Option<f64> as "bytes_per_s",
        /// Figures of the launches, in time order, separated by blanks; `None` where there was one.
        pub launches_ns: Option<String> as "launches_ns",
        /// The shortest and the longest time of a cache line around it, where the record has them.
        pub line_ns: Option<[f64; 2]> as "line_low_ns" "line_high_ns",
    }
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
