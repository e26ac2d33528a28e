//! One row per point, for spreadsheets and data frames; the columns are always the same.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use csv::StringRecord;

use crate::record::{Name, Point, Record, Run};
use crate::sink::RecordSink;

/// The columns with a parameter each; all other parameters share `params`.
const PARAMS: &[&str] = &["length_bytes", "procs", "hops"];

/// Writer of rows into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    let out = csv::Writer::from_writer(out);
    Box::new(Rows { out, run: StringRecord::new(), row: Row::default(), has_head: false })
}

/// Writer of the rows of points.
struct Rows<W: Write> {
    out: csv::Writer<W>,
    /// Cells that all points of the run at hand have in common.
    run: StringRecord,
    /// The last row, whose memory the next one takes.
    row: Row,
    has_head: bool,
}

/// Titles and cells of one row; what is missing is empty.
#[derive(Default)]
struct Row {
    titles: Vec<&'static str>,
    cells: StringRecord,
    cell: String,
}

impl<W: Write> RecordSink for Rows<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Run(run) => self.run = of_run(Some(run)).cells,
            Record::Point(point) => self.row(point)?,
            Record::Launch(_) | Record::Model(_) | Record::Event(_) | Record::End(_) => (),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Rows<W> {
    fn row(&mut self, point: &Point) -> io::Result<()> {
        let Self { out, run, row, has_head } = self;
        if run.is_empty() {
            *run = of_run(None).cells;
        }
        row.titles.clear();
        row.cells.clear();
        row.add("run_id", Some(&point.run_id));
        row.cells.extend(run.iter());
        row.add_identity(point);
        row.add_times(point);
        row.add("bytes_per_s", point.bytes_per_s());
        row.add("check", Some(Name(point.check.status)));
        row.add("status", Some(Name(point.status())));
        row.add("message", point.failure().map(|failure| &failure.message));
        if !std::mem::replace(has_head, true) {
            row.titles.splice(1..1, of_run(None).titles);
            out.write_record(&row.titles)?;
        }
        Ok(out.write_record(&row.cells)?)
    }
}

/// Cells that all points of a run have in common, without its id.
fn of_run(run: Option<&Run>) -> Row {
    let machine = run
        .and_then(|run| run.labels.get("machine").or_else(|| run.machines.first()?.nodes.first()));
    let mut row = Row::default();
    row.add("started_at", run.map(|run| &run.started_at));
    row.add("machine", machine);
    row.add("transport", run.and_then(|run| run.transport.backend.as_ref()));
    row.add("nodes", run.and_then(|run| run.world.nodes));
    row.add("size", run.map(|run| run.world.size));
    row
}

impl Row {
    fn add(&mut self, title: &'static str, value: Option<impl Display>) {
        self.cell.clear();
        if let Some(value) = value {
            write!(self.cell, "{value}").expect("a string takes any text");
        }
        self.titles.push(title);
        self.cells.push_field(&self.cell);
    }

    fn add_identity(&mut self, point: &Point) {
        let others = point.params.0.iter().filter(|(name, _)| !PARAMS.contains(&name.as_str()));
        let others: Vec<_> = others.map(|(name, value)| format!("{name}={value}")).collect();
        let value = point.value();
        self.add("suite", Some(&point.suite));
        self.add("kernel", Some(&point.kernel));
        self.add("variant", point.variant.as_ref());
        self.add("class", Some(&point.class));
        self.add("key", Some(&point.key));
        for name in PARAMS {
            self.add(name, point.params.get(name));
        }
        self.add("params", Some(others.join(" ")));
        self.add("quantity", value.map(|value| &value.quantity));
        self.add("definition", value.map(|value| &value.definition));
        self.add("rank_stat", value.map(|value| Name(value.rank_stat)));
    }

    fn add_times(&mut self, point: &Point) {
        let (time, value, measured) = (point.time_ns(), point.value(), point.measured());
        let reps = measured.map(|measured| &measured.reps);
        let ranks = measured.and_then(|measured| measured.ranks_ns.as_ref());
        self.add("n", time.map(|time| time.n));
        self.add("inner", reps.map(|reps| reps.inner));
        self.add("slices", reps.map(|reps| reps.rounds));
        let launches = point.launches.as_ref().map_or(1, |launches| launches.quoted_ns.len());
        self.add("launches", measured.map(|_| launches));
        self.add("launches_period_s", point.launches.as_ref().map(|launches| launches.period_s));
        self.add("quote", value.map(|value| Name(value.quote)));
        self.add("t_quoted_ns", point.quoted_ns());
        self.add("t_ci95_low_ns", time.and_then(|time| time.ci95).map(|[low, _]| low));
        self.add("t_ci95_high_ns", time.and_then(|time| time.ci95).map(|[_, high]| high));
        self.add("converged", point.quality().and_then(|quality| quality.converged));
        self.add("t_min_ns", time.map(|time| time.min));
        self.add("t_p25_ns", time.map(|time| time.p25));
        self.add("t_median_ns", time.map(|time| time.median));
        self.add("t_p75_ns", time.map(|time| time.p75));
        self.add("t_p95_ns", time.map(|time| time.p95));
        self.add("t_p99_ns", time.map(|time| time.p99));
        self.add("t_max_ns", time.map(|time| time.max));
        self.add("t_mean_ns", time.map(|time| time.mean));
        self.add("t_stddev_ns", time.and_then(|time| time.stddev));
        self.add("ranks_min_ns", ranks.map(|ranks| ranks.min));
        self.add("ranks_max_ns", ranks.map(|ranks| ranks.max));
        self.add("ranks_avg_ns", ranks.map(|ranks| ranks.avg));
    }
}
