//! One row per point, for spreadsheets and data frames; the columns are always the same.

use std::io::{self, Write};

use super::Format;
use crate::record::{Point, Record, Run};

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

    fn write(&self, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
        let mut rows = csv::Writer::from_writer(out);
        let mut run = None;
        let mut has_head = false;
        for record in records {
            match record {
                Record::Run(found) => run = Some(&**found),
                Record::Point(point) => {
                    let cells = cells(run, point);
                    if !has_head {
                        rows.write_record(cells.iter().map(|(name, _)| name))?;
                        has_head = true;
                    }
                    rows.write_record(cells.iter().map(|(_, text)| text))?;
                }
                Record::Model(_) | Record::Event(_) | Record::End(_) => (),
            }
        }
        rows.flush()
    }
}

/// Names and texts of the columns; what is missing is empty.
type Cells = Vec<(&'static str, String)>;

fn cells(run: Option<&Run>, point: &Point) -> Cells {
    let mut cells = run_cells(run, point);
    cells.extend(identity_cells(point));
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

fn run_cells(run: Option<&Run>, point: &Point) -> Cells {
    let machine = run
        .and_then(|run| run.labels.get("machine").or_else(|| run.machines.first()?.nodes.first()));
    vec![
        ("run_id", point.run_id.clone()),
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
