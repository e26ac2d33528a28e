//! One row per point, for spreadsheets and data frames; the columns are always the same.

use std::io::{self, Write};

use super::Format;
use crate::record::{Point, Record, Run};
use crate::sink::RecordSink;

/// The columns with a parameter each; all other parameters share `params`.
const PARAMS: &[&str] = &["length_bytes", "procs", "hops"];

/// Comma-separated values.
#[derive(Clone, Copy, Debug)]
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn summary(&self) -> &'static str {
        "one row per point, times in ns: for spreadsheets and data frames"
    }

    fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
        Box::new(Rows { out: csv::Writer::from_writer(out), run: Vec::new(), has_head: false })
    }
}

/// Writer of the rows of points.
struct Rows<W: Write> {
    out: csv::Writer<W>,
    /// Cells of the run at hand.
    run: Cells,
    has_head: bool,
}

impl<W: Write> RecordSink for Rows<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Run(run) => self.run = run_cells(Some(run)),
            Record::Point(point) => self.row(point)?,
            Record::Model(_) | Record::Event(_) | Record::End(_) => (),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Rows<W> {
    fn row(&mut self, point: &Point) -> io::Result<()> {
        if self.run.is_empty() {
            self.run = run_cells(None);
        }
        let own = cells(point);
        let run_id = ("run_id", point.run_id.clone());
        let all = || std::iter::once(&run_id).chain(&self.run).chain(&own);
        if !self.has_head {
            self.out.write_record(all().map(|(name, _)| name))?;
            self.has_head = true;
        }
        Ok(self.out.write_record(all().map(|(_, text)| text))?)
    }
}

/// Names and texts of the columns; what is missing is empty.
type Cells = Vec<(&'static str, String)>;

fn cells(point: &Point) -> Cells {
    let mut cells = identity_cells(point);
    cells.extend(time_cells(point));
    let bytes_per_s = point.rate.as_ref().map(|rate| rate.bytes_per_s);
    cells.extend([
        ("bytes_per_s", text(bytes_per_s)),
        ("check", point.check.status.name().into()),
        ("status", point.status.name().into()),
        ("message", text(point.message.as_ref())),
    ]);
    cells
}

/// Cells that all points of a run have in common, without its id.
fn run_cells(run: Option<&Run>) -> Cells {
    let machine = run
        .and_then(|run| run.labels.get("machine").or_else(|| run.machines.first()?.nodes.first()));
    vec![
        ("started_at", text(run.map(|run| &run.started_at))),
        ("machine", text(machine)),
        ("transport", text(run.map(|run| &run.transport.backend))),
        ("nodes", text(run.and_then(|run| run.world.nodes))),
        ("size", text(run.map(|run| run.world.size))),
    ]
}

fn identity_cells(point: &Point) -> Cells {
    let others = point.params.0.iter().filter(|(name, _)| !PARAMS.contains(&name.as_str()));
    let others: Vec<_> = others.map(|(name, value)| format!("{name}={value}")).collect();
    let value = point.value.as_ref();
    let mut cells = vec![
        ("suite", point.suite.clone()),
        ("kernel", point.kernel.clone()),
        ("variant", text(point.variant.as_ref())),
        ("class", point.class.clone()),
        ("key", point.key.clone()),
    ];
    cells.extend(PARAMS.iter().map(|name| (*name, text(point.params.get(name)))));
    cells.extend([
        ("params", others.join(" ")),
        ("quantity", text(value.map(|value| &value.quantity))),
        ("definition", text(value.map(|value| &value.definition))),
        ("rank_stat", text(value.map(|value| value.rank_stat.name()))),
    ]);
    cells
}

fn time_cells(point: &Point) -> Cells {
    let (time, ranks) = (point.time_ns.as_ref(), point.ranks_ns.as_ref());
    vec![
        ("n", text(time.map(|time| time.n))),
        ("inner", text(point.reps.as_ref().map(|reps| reps.inner))),
        ("slices", text(point.reps.as_ref().map(|reps| reps.rounds))),
        ("quote", text(point.value.as_ref().map(|value| value.quote.name()))),
        ("t_quoted_ns", text(point.quoted_ns)),
        ("t_ci95_low_ns", text(time.and_then(|time| time.ci95).map(|[low, _]| low))),
        ("t_ci95_high_ns", text(time.and_then(|time| time.ci95).map(|[_, high]| high))),
        ("converged", text(point.quality.as_ref().and_then(|quality| quality.converged))),
        ("t_min_ns", text(time.map(|time| time.min))),
        ("t_p25_ns", text(time.map(|time| time.p25))),
        ("t_median_ns", text(time.map(|time| time.median))),
        ("t_p75_ns", text(time.map(|time| time.p75))),
        ("t_p95_ns", text(time.map(|time| time.p95))),
        ("t_p99_ns", text(time.map(|time| time.p99))),
        ("t_max_ns", text(time.map(|time| time.max))),
        ("t_mean_ns", text(time.map(|time| time.mean))),
        ("t_stddev_ns", text(time.and_then(|time| time.stddev))),
        ("ranks_min_ns", text(ranks.map(|ranks| ranks.min))),
        ("ranks_max_ns", text(ranks.map(|ranks| ranks.max))),
        ("ranks_avg_ns", text(ranks.map(|ranks| ranks.avg))),
    ]
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
