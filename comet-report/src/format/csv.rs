//! One row per point, for spreadsheets and data frames; the columns are always the same.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use crate::record::{Name, Point, Record, Run};
use crate::sink::RecordSink;

/// The columns with a parameter each; all other parameters share `params`.
const PARAMS: &[&str] = &["length_bytes", "procs", "hops"];

/// Writer of rows into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    let out = csv::Writer::from_writer(out);
    Box::new(Rows { out, run: of_run(None), cell: String::new(), has_head: false })
}

/// Writer of the rows of points.
struct Rows<W: Write> {
    out: csv::Writer<W>,
    /// Titles and cells that all points of the run at hand have in common.
    run: [(&'static str, String); 5],
    /// The last cell, whose memory the next one takes.
    cell: String,
    has_head: bool,
}

impl<W: Write> RecordSink for Rows<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Run(run) => self.run = of_run(Some(run)),
            Record::Point(point) => {
                if !std::mem::replace(&mut self.has_head, true) {
                    self.row(point, true)?;
                }
                self.row(point, false)?;
            }
            Record::Launch(_) | Record::Model(_) | Record::Event(_) | Record::End(_) => (),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Rows<W> {
    fn row(&mut self, point: &Point, is_head: bool) -> csv::Result<()> {
        let Self { out, run, cell, .. } = self;
        let mut row = Row { out, cell, is_head };
        row.add("run_id", Some(&point.run_id))?;
        run.iter().try_for_each(|(title, value)| row.add(title, Some(value)))?;
        row.add_identity(point)?;
        row.add_times(point)?;
        row.add("bytes_per_s", point.bytes_per_s())?;
        row.add("check", Some(Name(point.check.status)))?;
        row.add("status", Some(Name(point.status())))?;
        row.add("message", point.failure().map(|failure| &failure.message))?;
        out.write_record(None::<&[u8]>)
    }
}

/// Titles and cells that all points of a run have in common, without its id.
fn of_run(run: Option<&Run>) -> [(&'static str, String); 5] {
    let machine = run
        .and_then(|run| run.labels.get("machine").or_else(|| run.machines.first()?.nodes.first()));
    let nodes = run.and_then(|run| run.world.nodes);
    [
        ("started_at", run.map(|run| run.started_at.clone()).unwrap_or_default()),
        ("machine", machine.cloned().unwrap_or_default()),
        ("transport", run.and_then(|run| run.transport.backend.clone()).unwrap_or_default()),
        ("nodes", nodes.map(|nodes| nodes.to_string()).unwrap_or_default()),
        ("size", run.map(|run| run.world.size.to_string()).unwrap_or_default()),
    ]
}

/// A row under way: the titles, or the cells of a point.
struct Row<'a, W: Write> {
    out: &'a mut csv::Writer<W>,
    cell: &'a mut String,
    is_head: bool,
}

impl<W: Write> Row<'_, W> {
    /// Adds `title`, or the cell below it; what is missing is empty.
    fn add(&mut self, title: &str, value: Option<impl Display>) -> csv::Result<()> {
        if self.is_head {
            return self.out.write_field(title);
        }
        self.cell.clear();
        if let Some(value) = value {
            write!(self.cell, "{value}").expect("a string takes any text");
        }
        self.out.write_field(&*self.cell)
    }

    fn add_identity(&mut self, point: &Point) -> csv::Result<()> {
        let others = point.params.0.iter().filter(|(name, _)| !PARAMS.contains(&name.as_str()));
        let others: Vec<_> = others.map(|(name, value)| format!("{name}={value}")).collect();
        let value = point.value();
        self.add("suite", Some(&point.suite))?;
        self.add("kernel", Some(&point.kernel))?;
        self.add("variant", point.variant.as_ref())?;
        self.add("class", Some(&point.class))?;
        self.add("key", Some(&point.key))?;
        for name in PARAMS {
            self.add(name, point.params.get(name))?;
        }
        self.add("params", Some(others.join(" ")))?;
        self.add("quantity", value.map(|value| &value.quantity))?;
        self.add("definition", value.map(|value| &value.definition))?;
        self.add("rank_stat", value.map(|value| Name(value.rank_stat)))
    }

    fn add_times(&mut self, point: &Point) -> csv::Result<()> {
        let (time, value, measured) = (point.time_ns(), point.value(), point.measured());
        let reps = measured.map(|measured| &measured.reps);
        let ranks = measured.and_then(|measured| measured.ranks_ns.as_ref());
        self.add("n", time.map(|time| time.n))?;
        self.add("inner", reps.map(|reps| reps.inner))?;
        self.add("slices", reps.map(|reps| reps.rounds))?;
        let launches = point.launches.as_ref().map_or(1, |launches| launches.quoted_ns.len());
        self.add("launches", measured.map(|_| launches))?;
        self.add("launches_period_s", point.launches.as_ref().map(|launches| launches.period_s))?;
        self.add("quote", value.map(|value| Name(value.quote)))?;
        self.add("t_quoted_ns", point.quoted_ns())?;
        self.add("t_ci95_low_ns", time.and_then(|time| time.ci95).map(|[low, _]| low))?;
        self.add("t_ci95_high_ns", time.and_then(|time| time.ci95).map(|[_, high]| high))?;
        self.add("converged", point.quality().and_then(|quality| quality.converged))?;
        self.add("t_min_ns", time.map(|time| time.min))?;
        self.add("t_p25_ns", time.map(|time| time.p25))?;
        self.add("t_median_ns", time.map(|time| time.median))?;
        self.add("t_p75_ns", time.map(|time| time.p75))?;
        self.add("t_p95_ns", time.map(|time| time.p95))?;
        self.add("t_p99_ns", time.map(|time| time.p99))?;
        self.add("t_max_ns", time.map(|time| time.max))?;
        self.add("t_mean_ns", time.map(|time| time.mean))?;
        self.add("t_stddev_ns", time.and_then(|time| time.stddev))?;
        self.add("ranks_min_ns", ranks.map(|ranks| ranks.min))?;
        self.add("ranks_max_ns", ranks.map(|ranks| ranks.max))?;
        self.add("ranks_avg_ns", ranks.map(|ranks| ranks.avg))
    }
}
