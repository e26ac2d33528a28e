//! Tables for people: one block per kernel, one row per series, written case by case.
//!
//! ```text
//!   # comet/echo, 2 ranks, verified
//!   # one_way_time in us, D4 half_round_trip: one way: half of the round trip timed on the test node
//!   #       hops length_bytes  samples     reps   median_us    +-% …   MB/s
//!              1            8      100      500      0.5117    1.2 … 15.634
//! ```
//!
//! The figure to quote stands first among the times, and beside it half of the 95 % interval of the
//! median, in percent of the median, with `!` where the target was missed and `~` where the machine
//! changed its speed. MB are 10^6 bytes.
//! All lines but rows start with `#`, except for the last, which counts the points.

use std::io::{self, Write};

use comet_core::definition::Definition;
use comet_core::kernel::GROUPS;

use super::models;
use crate::record::{
    CheckStatus, Clock, Event, Model, Name, Params, Point, PointCounts, PointStatus, Quality,
    Quote, Record, Run, Summary, Value,
};
use crate::sink::RecordSink;
use crate::units::{fixed, fixed_us};

/// Parameters that are equal for all points of a block, and so no columns.
const COMMON_PARAMS: &[&str] = &["procs", "groups", "mesh_rows", "mesh_cols"];
/// Width of columns with counts.
const COUNT_WIDTH: usize = 8;
/// Width of columns with times and rates.
const TIME_WIDTH: usize = 11;
/// Width of the column with the interval.
const SPREAD_WIDTH: usize = 6;

/// Writer of tables into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    Box::new(TableWriter::new(out, false))
}

/// Writer of the table of a run that goes on, without the line about the run and the warnings
/// about the machine.
pub fn live<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    Box::new(TableWriter::new(out, true))
}

/// Writer of tables, case by case.
struct TableWriter<W> {
    out: W,
    is_live: bool,
    /// Points of the last case, to which a further series may belong.
    case: Vec<Point>,
    /// True between the first record of a run and its end.
    is_open: bool,
    /// Number of ranks of the run.
    n_ranks: Option<u64>,
    /// Title of the block at hand: a kernel and its ranks.
    block: Option<String>,
    layout: Option<Layout>,
    n_missed: usize,
    n_unsteady: usize,
}

/// The columns of one kernel's table.
#[derive(Debug)]
struct Layout {
    series_width: Option<usize>,
    quote: Quote,
}

impl<W: Write> RecordSink for TableWriter<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let point = match record {
            Record::Point(point) => Some(&**point),
            _ => None,
        };
        if !point.zip(self.case.last()).is_some_and(|(point, last)| are_of_one_case(last, point)) {
            self.write_case()?;
        }
        match record {
            Record::Run(run) => self.run(run)?,
            Record::Model(model) => self.model(model)?,
            Record::Event(event) => self.event(event)?,
            Record::Point(point) => self.case.push(point.without_samples()),
            Record::End(end) => self.done(&end.points, end.wall_s, end.reason.as_deref())?,
        }
        self.is_open = !matches!(record, Record::End(_));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_case()?;
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_case()?;
        if self.is_open {
            self.comment("no end: the run was killed or is still running")?;
        }
        self.out.flush()
    }

    fn has_models(&self) -> bool {
        true
    }
}

/// True for two series of one case.
fn are_of_one_case(a: &Point, b: &Point) -> bool {
    let is_measured = a.variant.is_some() && b.variant.is_some();
    is_measured && (&a.suite, &a.kernel, &a.params) == (&b.suite, &b.kernel, &b.params)
}

impl<W: Write> TableWriter<W> {
    fn new(out: W, is_live: bool) -> Self {
        Self {
            out,
            is_live,
            case: Vec::new(),
            is_open: false,
            n_ranks: None,
            block: None,
            layout: None,
            n_missed: 0,
            n_unsteady: 0,
        }
    }

    fn write_case(&mut self) -> io::Result<()> {
        let points = std::mem::take(&mut self.case);
        self.case(&points.iter().collect::<Vec<_>>())
    }

    /// A line about the ranks, their clock, and the time of a cache line between the first two.
    fn ranks(&mut self, n_ranks: usize, clock: &Clock, line_ns: Option<f64>) -> io::Result<()> {
        let step = clock.resolution_ns.map_or("unknown".into(), |step| format!("{step} ns"));
        let ranks = if n_ranks == 1 { "rank" } else { "ranks" };
        let line = line_ns.map_or(String::new(), |ns| {
            format!(", a cache line takes {ns:.0} ns from rank 0 to rank 1")
        });
        let cost = clock.overhead_ns.map_or("an unknown time".into(), |ns| format!("{ns:.1} ns"));
        self.comment(&format!(
            "{n_ranks} {ranks}, clock {} (a reading costs {cost}, step {step}){line}",
            clock.source
        ))
    }

    /// All points of one case.
    fn case(&mut self, points: &[&Point]) -> io::Result<()> {
        let Some(first) = points.first() else { return Ok(()) };
        self.title(first)?;
        if first.status != PointStatus::Ok {
            return self.without_numbers(first);
        }
        if self.layout.is_none() {
            self.head(points)?;
        }
        for point in points {
            self.row(point)?;
        }
        self.figures(points)
    }

    /// The last line of a run.
    fn done(
        &mut self,
        counts: &PointCounts,
        wall_s: Option<f64>,
        reason: Option<&str>,
    ) -> io::Result<()> {
        let PointCounts { ok, check_failed, failed, skipped } = counts;
        writeln!(self.out)?;
        if self.n_missed + self.n_unsteady > 0 {
            let (missed, unsteady) = (self.n_missed, self.n_unsteady);
            self.comment(&format!(
                "{missed} points missed the width of interval that was wanted (!), at {unsteady} \
                 others the machine changed its speed (~)"
            ))?;
            (self.n_missed, self.n_unsteady) = (0, 0);
        }
        if let Some(reason) = reason {
            self.comment(&format!("stopped early: {reason}"))?;
        }
        let wall = wall_s.map_or("of unknown length".into(), |wall_s| format!("{wall_s:.1} s"));
        writeln!(
            self.out,
            "done: {ok} ok, {skipped} skipped, {check_failed} wrong results, {failed} errors, {wall}"
        )
    }

    /// A line that is no data.
    fn comment(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "# {text}")
    }

    fn run(&mut self, run: &Run) -> io::Result<()> {
        self.block = None;
        self.n_ranks = Some(run.world.size as u64);
        let (name, version) = (&run.suite.name, &run.suite.version);
        let backend = &run.transport.backend;
        // Simulated ranks are on none, and imports do not tell.
        let nodes = run.world.nodes.filter(|nodes| *nodes > 0);
        let nodes = nodes.map_or("-".into(), |nodes| nodes.to_string());
        if !self.is_live {
            let id = &run.run_id;
            self.comment(&format!("{name} {version}, {backend}, nodes: {nodes}, run {id}"))?;
        }
        self.ranks(run.world.size, &run.clock, run.line_ns)
    }

    /// A line about an event.
    fn event(&mut self, event: &Event) -> io::Result<()> {
        // The notes of a run that goes on name what matters of its machine.
        if self.is_live && self.block.is_none() {
            return Ok(());
        }
        let rank = event.rank.map_or(String::new(), |rank| format!("rank {rank}: "));
        let hint = event.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        self.comment(&format!("{}: {rank}{}{hint}", Name(event.level), event.message))
    }

    /// A line about the laws of a sweep; figures without a law stand with their points.
    fn model(&mut self, model: &Model) -> io::Result<()> {
        if model.fits.is_empty() {
            return Ok(());
        }
        let Model { suite, kernel, variant, params, .. } = model;
        let series = variant.as_ref().filter(|series| *series != kernel);
        let series = series.map_or(String::new(), |series| format!(" {series}"));
        let values: String = axes(params).map(|(name, value)| format!(" {name}={value}")).collect();
        let part = params.ranks().filter(|n_ranks| Some(*n_ranks) != self.n_ranks);
        let groups = params.number(GROUPS.name).map(|n| format!(" groups={n}"));
        let part = part.map_or(String::new(), |n| format!(" procs={n}"));
        let values = part + &groups.unwrap_or_default() + &values;
        let law = models::summary(model);
        self.comment(&format!("fit {suite}/{kernel}{series}{values}: {law}"))?;
        models::segments(model).iter().try_for_each(|segment| self.comment(segment))
    }

    fn title(&mut self, point: &Point) -> io::Result<()> {
        let ranks = point.params.get("procs").map(ToString::to_string);
        let ranks = ranks.map_or(String::new(), |n| match n.as_str() {
            "1" => ", 1 rank".into(),
            n => match point.number(GROUPS.name) {
                None => format!(", {n} ranks"),
                Some(n_groups) => format!(", {n_groups} groups of {n} ranks"),
            },
        });
        let block = format!("{}/{}{ranks}", point.suite, point.kernel);
        if self.block.as_ref() == Some(&block) {
            return Ok(());
        }
        writeln!(self.out)?;
        self.comment(&block)?;
        self.block = Some(block);
        self.layout = None;
        Ok(())
    }

    fn without_numbers(&mut self, point: &Point) -> io::Result<()> {
        let axes: Vec<_> =
            axes(&point.params).map(|(name, value)| format!("{name}={value}")).collect();
        let case = if axes.is_empty() { String::new() } else { format!(" {}:", axes.join(" ")) };
        let reason = point.message.as_deref().unwrap_or("no reason is known");
        self.comment(&format!("{}:{case} {reason}", Name(point.status)))
    }

    fn head(&mut self, points: &[&Point]) -> io::Result<()> {
        for (index, point) in points.iter().enumerate() {
            let is_new = !points[..index].iter().any(|other| meaning(other) == meaning(point));
            if is_new && let Some(value) = &point.value {
                self.definition(points, value)?;
            }
        }
        for figure in points.iter().flat_map(|point| &point.figures) {
            self.comment(&format!("{} = {}", figure.name, figure.formula))?;
        }
        let names = points.iter().filter_map(|point| point.variant.as_deref());
        let width = names.map(str::len).chain(["series".len()]).max();
        let layout = Layout {
            series_width: width.filter(|_| points.len() > 1),
            quote: points[0].value.as_ref().map_or(Quote::Median, |value| value.quote),
        };
        let line = head_line(&layout, &points[0].params);
        self.layout = Some(layout);
        writeln!(self.out, "{line}")
    }

    /// The line that says what `value` is, and of which series if not of all.
    fn definition(&mut self, points: &[&Point], value: &Value) -> io::Result<()> {
        let of_value = |point: &&&Point| meaning(point) == Some((&value.definition, value.quote));
        let series: Vec<_> =
            points.iter().filter(of_value).filter_map(|point| point.variant.as_deref()).collect();
        let series =
            if series.len() == points.len() { String::new() } else { series.join(", ") + ": " };
        let Value { quantity, definition, .. } = value;
        let mut summary = explain(definition).to_owned();
        let of_meaning =
            points.iter().find(|point| meaning(point).map(|m| m.0) == Some(definition));
        if let Some(plan) = of_meaning.and_then(|point| point.plan.as_ref())
            && starts_together(definition)
        {
            summary += &format!("; {}", plan.sync.words());
            summary += plan.skew_ns.map_or("", |_| ", some late on purpose");
        }
        let quote = match value.quote {
            Quote::Median => "",
            Quote::Min => "; quote the least value",
            Quote::Mean => "; quote the mean",
            Quote::MiddleMean => "; quote the mean of the middle half",
            Quote::Corrected => "; quote the mean less an empty loop",
        };
        let is_verified = points.iter().all(|point| point.check.status == CheckStatus::Pass);
        let check = if is_verified { "verified" } else { "not verified" };
        self.comment(&format!("{series}{quantity} in us, {definition}: {summary}{quote}; {check}"))
    }

    fn row(&mut self, point: &Point) -> io::Result<()> {
        let (Some(layout), Some(time)) = (&self.layout, &point.time_ns) else { return Ok(()) };
        self.n_missed += usize::from(misses_target(point));
        self.n_unsteady += usize::from(is_unsteady(point) && !misses_target(point));
        let mut line = String::new();
        for (name, value) in axes(&point.params) {
            line += &format!(" {:>1$}", value.to_string(), axis_width(name));
        }
        if let Some(width) = layout.series_width {
            line += &format!(" {:<width$}", point.variant.as_deref().unwrap_or("-"));
        }
        let reps = point.reps.as_ref();
        let [n, inner] = [reps.map(|reps| reps.n.to_string()), reps.map(|r| r.inner.to_string())]
            .map(|count| count.unwrap_or_else(|| "-".into()));
        line += &format!(" {n:>COUNT_WIDTH$} {inner:>COUNT_WIDTH$}");
        let quoted_us = point.quoted_ns.map(fixed_us);
        line += &format!(" {:>TIME_WIDTH$}", quoted_us.as_deref().unwrap_or("-"));
        line += &format!(" {:>SPREAD_WIDTH$}", spread(point, time));
        for (_, time_ns) in times(layout.quote) {
            line += &format!(" {:>TIME_WIDTH$}", fixed_us(time_ns(time)));
        }
        let rate = point.rate.as_ref().map(|rate| fixed(rate.bytes_per_s / 1e6));
        line += &format!(" {:>TIME_WIDTH$}", rate.as_deref().unwrap_or("-"));
        writeln!(self.out, " {line}")
    }

    fn figures(&mut self, points: &[&Point]) -> io::Result<()> {
        let figures: Vec<_> = points.iter().flat_map(|point| &point.figures).collect();
        if figures.is_empty() {
            return Ok(());
        }
        let text = |value: Option<f64>| value.map_or("-".into(), figure_digits);
        let texts: Vec<_> = figures
            .iter()
            .map(|figure| format!("{}={}", figure.name, text(figure.value)))
            .collect();
        self.comment(&format!("  {}", texts.join(" ")))
    }
}

fn head_line(layout: &Layout, params: &Params) -> String {
    let mut line = String::new();
    for (name, _) in axes(params) {
        line += &format!(" {name:>0$}", axis_width(name));
    }
    if let Some(width) = layout.series_width {
        line += &format!(" {:<width$}", "series");
    }
    line += &format!(" {:>COUNT_WIDTH$} {:>COUNT_WIDTH$}", "samples", "reps");
    line += &format!(" {:>TIME_WIDTH$} {:>SPREAD_WIDTH$}", quoted(layout.quote), "+-%");
    for (name, _) in times(layout.quote) {
        line += &format!(" {name:>TIME_WIDTH$}");
    }
    format!("#{line} {:>TIME_WIDTH$}", "MB/s")
}

/// Name of a column with times in us, and where its times in ns come from.
type TimeColumn = (&'static str, fn(&Summary) -> f64);

/// Name of the column with the figure to quote.
fn quoted(quote: Quote) -> &'static str {
    match quote {
        Quote::Median => "median_us",
        Quote::Min => "min_us",
        Quote::Mean => "mean_us",
        Quote::MiddleMean => "middle_us",
        Quote::Corrected => "corrected_us",
    }
}

/// The columns with times beside the one to quote.
fn times(quote: Quote) -> impl Iterator<Item = TimeColumn> {
    let columns: [TimeColumn; 5] = [
        ("median_us", |time| time.median),
        ("p25_us", |time| time.p25),
        ("p75_us", |time| time.p75),
        ("min_us", |time| time.min),
        ("mean_us", |time| time.mean),
    ];
    columns.into_iter().filter(move |(name, _)| *name != quoted(quote))
}

/// Half of the interval of the median, in percent of it, and a mark for what speaks against the
/// number: `!` for a target that was missed, `~` for changes of speed. Nothing beside other figures
/// than the median, to which it does not belong.
fn spread(point: &Point, time: &Summary) -> String {
    let is_of_median = point.value.as_ref().is_some_and(|value| value.quote == Quote::Median);
    let (Some([low, high]), Some(quoted_ns)) = (time.ci95, point.quoted_ns) else {
        return "-".into();
    };
    let mark = if misses_target(point) {
        "!"
    } else if is_unsteady(point) {
        "~"
    } else {
        ""
    };
    if is_of_median { format!("{:.1}{mark}", 50.0 * (high - low) / quoted_ns) } else { "-".into() }
}

/// True if the interval of `point` missed its target.
pub(crate) fn misses_target(point: &Point) -> bool {
    point.quality.as_ref().is_some_and(|quality| quality.converged == Some(false))
}

/// True if the machine changed its speed for good while `point` was measured, switched between two
/// speeds, or moved the ranks' cores. Smaller changes, from slice to slice, are in the interval.
pub(crate) fn is_unsteady(point: &Point) -> bool {
    let has_changed = |quality: &Quality| {
        quality.is_bimodal || [quality.drifts, quality.cores_moved].contains(&Some(true))
    };
    point.quality.as_ref().is_some_and(has_changed)
}

/// Key of the explanation of a series.
fn meaning(point: &Point) -> Option<(&String, Quote)> {
    point.value.as_ref().map(|value| (&value.definition, value.quote))
}

fn starts_together(definition: &str) -> bool {
    Definition::find(definition).is_some_and(Definition::starts_together)
}

fn explain(definition: &str) -> &str {
    let known = Definition::all().find(|known| known.name() == definition);
    known.map_or("see METHODOLOGY.md", |known| known.summary())
}

fn axes(params: &Params) -> impl Iterator<Item = (&String, &crate::record::Param)> {
    let axes = params.0.iter().filter(|(name, _)| !COMMON_PARAMS.contains(&name.as_str()));
    axes.map(|(name, value)| (name, value))
}

fn axis_width(name: &str) -> usize {
    name.len().max(COUNT_WIDTH)
}

/// `value` with five digits, as a power of ten where it has many more before the point.
fn figure_digits(value: f64) -> String {
    if value.abs() < 1e5 { format!("{value:.4}") } else { format!("{value:.4e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_quote_is_the_first() {
        let names = |quote| -> Vec<&str> {
            [quoted(quote)].into_iter().chain(times(quote).map(|(name, _)| name)).collect()
        };
        assert_eq!(names(Quote::Median), ["median_us", "p25_us", "p75_us", "min_us", "mean_us"]);
        assert_eq!(names(Quote::Min), ["min_us", "median_us", "p25_us", "p75_us", "mean_us"]);
        assert_eq!(names(Quote::Corrected)[..2], ["corrected_us", "median_us"]);
    }
}
