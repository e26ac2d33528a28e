//! One row per point, for spreadsheets and data frames; the columns are always the same.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use comet_core::kernel::RateKind;
use csv::ByteRecord;
use itoa::Integer;

use crate::record::{Name, Param, Point, Record, Run};
use crate::sink::RecordSink;

/// The columns with a parameter each; all other parameters share `params`.
const PARAMS: &[&str] = &["length_bytes", "procs", "hops"];

/// Bound of the numbers of which all whole ones differ: 2^53.
const MAX_WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Writer of rows into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    let out = csv::Writer::from_writer(out);
    let row = Row { cells: ByteRecord::new(), text: String::new(), is_head: true };
    Box::new(Rows { out, run: of_run(None), row })
}

/// Writer of the rows of points.
struct Rows<W: Write> {
    out: csv::Writer<W>,
    /// Titles and cells that all points of the run at hand have in common.
    run: [(&'static str, String); 5],
    /// The last row, whose memory the next one takes.
    row: Row,
}

impl<W: Write> RecordSink for Rows<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Run(run) => self.run = of_run(Some(run)),
            Record::Point(point) => {
                if self.row.is_head {
                    self.write(point)?;
                    self.row.is_head = false;
                }
                self.write(point)?;
            }
            Record::Launch(_)
            | Record::Model(_)
            | Record::Event(_)
            | Record::End(_)
            | Record::Unit(_) => (),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn has_samples(&self) -> bool {
        false
    }
}

impl<W: Write> Rows<W> {
    fn write(&mut self, point: &Point) -> csv::Result<()> {
        let Self { out, run, row } = self;
        row.cells.clear();
        row.add_text("run_id", Some(&point.run_id));
        run.iter().for_each(|(title, value)| row.add_text(title, Some(value)));
        row.add_identity(point);
        row.add_times(point);
        row.add_number("bytes_per_s", point.bytes_per_s());
        for kind in RateKind::ALL {
            row.add_number(kind.name(), point.rate(kind).and_then(|rate| rate.value));
        }
        row.add("check", Some(Name(point.check.status)));
        row.add("status", Some(Name(point.status())));
        row.add_text("message", point.failure().map(|failure| &*failure.message));
        out.write_byte_record(&row.cells)
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
struct Row {
    cells: ByteRecord,
    /// Text of the last cell.
    text: String,
    is_head: bool,
}

impl Row {
    /// Adds `title`, or the cell below it; what is missing is empty.
    fn add(&mut self, title: &str, value: Option<impl Display>) {
        self.text.clear();
        if let Some(value) = value.filter(|_| !self.is_head) {
            write!(self.text, "{value}").expect("a string takes any text");
        }
        self.cells.push_field(if self.is_head { title } else { &self.text }.as_bytes());
    }

    /// Adds a text.
    fn add_text(&mut self, title: &str, value: Option<&str>) {
        let value = value.unwrap_or_default();
        self.cells.push_field(if self.is_head { title } else { value }.as_bytes());
    }

    /// Adds a whole number.
    fn add_whole(&mut self, title: &str, value: Option<impl Integer>) {
        let mut digits = itoa::Buffer::new();
        self.add_text(title, value.map(|value| digits.format(value)));
    }

    /// Adds a number; one that is whole has its digits without the search for the shortest ones.
    fn add_number(&mut self, title: &str, value: Option<f64>) {
        match value {
            Some(value) if value.fract() == 0.0 && value.abs() < MAX_WHOLE => {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and below 2^53")]
                self.add_whole(title, Some(value as i64));
            }
            _ => self.add(title, value),
        }
    }

    fn add_identity(&mut self, point: &Point) {
        let others = point.params.0.iter().filter(|(name, _)| !PARAMS.contains(&name.as_str()));
        let others: Vec<_> = others.map(|(name, value)| format!("{name}={value}")).collect();
        let value = point.value();
        self.add_text("suite", Some(&point.suite));
        self.add_text("kernel", Some(&point.kernel));
        self.add_text("variant", point.variant.as_deref());
        self.add_text("class", Some(&point.class));
        self.add_text("key", Some(&point.key));
        for name in PARAMS {
            match point.params.get(name) {
                Some(Param::Number(number)) => self.add_whole(name, Some(*number)),
                other => self.add(name, other),
            }
        }
        self.add_text("params", Some(&others.join(" ")));
        self.add_text("quantity", value.map(|value| &*value.quantity));
        self.add_text("definition", value.map(|value| &*value.definition));
        self.add("rank_stat", value.map(|value| Name(value.rank_stat)));
    }

    fn add_times(&mut self, point: &Point) {
        let (time, value, measured) = (point.time_ns(), point.value(), point.measured());
        let reps = measured.map(|measured| &measured.reps);
        let ranks = measured.and_then(|measured| measured.ranks_ns.as_ref());
        self.add_whole("n", time.map(|time| time.n));
        self.add_whole("inner", reps.map(|reps| reps.inner));
        self.add_whole("slices", reps.map(|reps| reps.rounds));
        let launches = point.launches.as_ref().map_or(1, |launches| launches.quoted_ns.len());
        self.add_whole("launches", measured.map(|_| launches));
        self.add_number(
            "launches_period_s",
            point.launches.as_ref().map(|launches| launches.period_s),
        );
        self.add("quote", value.map(|value| Name(value.quote)));
        self.add_number("t_quoted_ns", point.quoted_ns());
        let interval_ns = point.interval_ns();
        self.add_number("t_ci95_low_ns", interval_ns.map(|[low, _]| low));
        self.add_number("t_ci95_high_ns", interval_ns.map(|[_, high]| high));
        self.add("converged", point.quality().and_then(|quality| quality.converged));
        self.add_number("t_min_ns", time.map(|time| time.min));
        self.add_number("t_p25_ns", time.map(|time| time.p25));
        self.add_number("t_median_ns", time.map(|time| time.median));
        self.add_number("t_p75_ns", time.map(|time| time.p75));
        self.add_number("t_p95_ns", time.map(|time| time.p95));
        self.add_number("t_p99_ns", time.map(|time| time.p99));
        self.add_number("t_max_ns", time.map(|time| time.max));
        self.add_number("t_mean_ns", time.map(|time| time.mean));
        self.add_number("t_stddev_ns", time.and_then(|time| time.stddev));
        self.add_number("ranks_min_ns", ranks.map(|ranks| ranks.min));
        self.add_number("ranks_max_ns", ranks.map(|ranks| ranks.max));
        self.add_number("ranks_avg_ns", ranks.map(|ranks| ranks.avg));
    }
}
