//! Tables for people: one block per kernel, one row per series, written case by case.
//!
//! ```text
//!   # comet/echo, 2 ranks, verified
//!   # one_way_time in us, D4 half_round_trip: one way: half of the round trip timed on the test node
//!   #       hops length_bytes  samples     reps   median_us    +-% …   MB/s
//!              1            8      100      500      0.5117    1.2 … 15.634
//! ```
//!
//! The figure to quote stands first among the times, and beside it half of its 95 % interval from
//! launch to launch, in percent, or that within one launch under `this launch`, with `!` where the
//! target was missed and `~` where the machine changed its speed. MB are 10^6 bytes. Rates have the
//! share of their bound beside them where the run has measured it before.
//! All lines but rows start with `#`, except for the last two: the counts of the points, and the
//! verdict. A narrow terminal gets the columns that fit, and one with colours has them on marks,
//! errors and the verdict alone.

mod columns;
mod look;

use std::io::{self, Write};

use comet_core::definition::Definition;
use comet_core::kernel::GROUPS;

use self::columns::{BOUND, Layout, SERIES, SPREAD, axes, columns};
pub use self::look::Look;
use super::models;
use crate::bounds::{self, Bounds};
use crate::models::is_plausible;
use crate::read::NO_END;
use crate::record::{
    BUFFERS, CheckStatus, Clock, Derived, End, EndStatus, Event, Launches, Level, Model, Name,
    Point, PointCounts, PointStatus, Quality, Quote, Record, Run, SampleSync, Speed, Value,
};
use crate::sink::RecordSink;
use crate::units::{fixed_us, significant};
use crate::words::count;

/// Start of the names of figures that are shares of a transfer.
const SHARE: &str = "overlap_share";

/// Writer of tables into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    for_terminal(out, false, Look::default())
}

/// Writer of tables for a terminal; that of a run that goes on `is_live`, and lacks its first line and
/// warnings.
pub fn for_terminal<'a>(
    out: Box<dyn Write + 'a>,
    is_live: bool,
    look: Look,
) -> Box<dyn RecordSink + 'a> {
    Box::new(TableWriter::new(out, is_live, look))
}

/// Writer of tables, case by case.
struct TableWriter<W> {
    out: W,
    is_live: bool,
    look: Look,
    /// Points of the last case, to which a further series may belong.
    case: Vec<Point>,
    /// True between the first record of a run and its end.
    is_open: bool,
    /// Number of ranks of the run.
    n_ranks: Option<u64>,
    /// Title of the block at hand: a kernel and its ranks.
    block: Option<String>,
    /// Start of its samples, where ranks start together.
    sync: Option<SampleSync>,
    layout: Option<Layout>,
    /// Memory copies of the run so far.
    bounds: Bounds,
    n_missed: usize,
    n_unsteady: usize,
    skipped: Option<Skipped>,
}

/// Cases of a block that were skipped one after the other for one reason.
struct Skipped {
    first: String,
    reason: String,
    n: usize,
}

impl Layout {
    /// The number of launches of `points`, if it is not that of the head.
    fn other_launches(&self, points: &[Point]) -> String {
        let n_launches = |point: &Point| Some(point.launches.as_ref()?.slices.len());
        let other = points.iter().filter_map(n_launches).find(|n| Some(*n) != self.n_launches);
        other.map_or(String::new(), |n| comment(&format!("  {}", count(n, "launch"))))
    }
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
        let text = match record {
            Record::Run(run) => self.run(run),
            Record::Launch(_) | Record::Unit(_) => String::new(),
            Record::Model(model) => self.model(model),
            Record::Event(event) => self.event(event),
            Record::Point(point) => {
                self.bounds.note(point);
                self.case.push(point.without_samples());
                String::new()
            }
            Record::End(end) => self.done(end),
        };
        self.is_open = !matches!(record, Record::End(_));
        let skipped = if point.is_some() { String::new() } else { self.skipped() };
        self.out.write_all((skipped + &text).as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_case()?;
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_case()?;
        let end = if self.is_open { comment(NO_END) } else { String::new() };
        let text = self.skipped() + &end;
        self.out.write_all(text.as_bytes())?;
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

/// A line that is no data.
fn comment(text: &str) -> String {
    format!("# {text}\n")
}

impl<W: Write> TableWriter<W> {
    fn new(out: W, is_live: bool, look: Look) -> Self {
        Self {
            out,
            is_live,
            look,
            case: Vec::new(),
            is_open: false,
            n_ranks: None,
            block: None,
            sync: None,
            layout: None,
            bounds: Bounds::default(),
            n_missed: 0,
            n_unsteady: 0,
            skipped: None,
        }
    }

    /// Writes all points of the last case.
    fn write_case(&mut self) -> io::Result<()> {
        let points = std::mem::take(&mut self.case);
        let Some(first) = points.first() else { return Ok(()) };
        let mut syncs = points.iter().filter_map(|point| Some(point.measured()?.plan.sync));
        let title = self.title(first, syncs.find(|sync| *sync != SampleSync::None));
        if title.is_empty() && self.skipped.as_mut().is_some_and(|skipped| skipped.add(first)) {
            return Ok(());
        }
        let mut text = self.skipped() + &title;
        if first.numbers().is_some() {
            let (head, layout) = match self.layout.take() {
                Some(layout) => (String::new(), layout),
                None => head(&points, &self.bounds, self.look),
            };
            text += &head;
            text.extend(points.iter().map(|point| self.row(&layout, point)));
            text += &figures(&points);
            text.extend(points.iter().map(other_speeds));
            text += &layout.other_launches(&points);
            self.layout = Some(layout);
        } else if first.status() == PointStatus::Skipped {
            self.skipped = Some(Skipped::new(first));
        } else {
            let line = without_numbers(first.status(), &case(first), reason(first));
            text += &self.look.error(&line);
        }
        self.out.write_all(text.as_bytes())
    }

    /// The line about the last cases that were skipped, if it is still to be written.
    fn skipped(&mut self) -> String {
        self.skipped.take().map_or(String::new(), |skipped| skipped.line())
    }

    /// Lines about a run: its ranks, their clock, and the time of a cache line between the first two.
    fn run(&mut self, run: &Run) -> String {
        self.block = None;
        self.bounds = Bounds::default();
        self.n_ranks = Some(run.world.size as u64);
        let mut text = String::new();
        if !self.is_live {
            let (name, version, id) = (&run.suite.name, &run.suite.version, &run.run_id);
            let backend = run.transport.name();
            // Simulated ranks are on none, and imports do not tell.
            let nodes = run.world.nodes.filter(|nodes| *nodes > 0);
            let nodes = nodes.map_or("-".into(), |nodes| nodes.to_string());
            text = comment(&format!("{name} {version}, {backend}, nodes: {nodes}, run {id}"));
        }
        let Clock { source, resolution_ns, overhead_ns, .. } = &run.clock;
        let source = source.as_deref().unwrap_or("unknown");
        let step = resolution_ns.map_or("unknown".into(), |step| format!("{step} ns"));
        let cost = overhead_ns.map_or("an unknown time".into(), |ns| format!("{ns:.1} ns"));
        let line = run.line_ns.map_or(String::new(), |ns| {
            format!(", a cache line takes {ns:.0} ns from rank 0 to rank 1")
        });
        let ranks = count(run.world.size, "rank");
        let clock = format!("clock {source} (a reading costs {cost}, step {step})");
        text + &comment(&format!("{ranks}, {clock}{line}"))
    }

    /// A line about an event.
    fn event(&mut self, event: &Event) -> String {
        // The notes of a run that goes on name what matters of its machine.
        if self.is_live && self.block.is_none() && event.level != Level::Info {
            return String::new();
        }
        let rank = event.rank.map_or(String::new(), |rank| format!("rank {rank}: "));
        let hint = event.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        let line = comment(&format!("{}: {rank}{}{hint}", Name(event.level), event.message));
        if event.level == Level::Error { self.look.error(&line) } else { line }
    }

    /// Lines about the laws of a sweep; figures without a law stand with their points.
    fn model(&mut self, model: &Model) -> String {
        if model.fits.is_empty() {
            return String::new();
        }
        let Model { suite, kernel, variant, params, .. } = model;
        let series = variant.as_ref().filter(|series| *series != kernel);
        let series = series.map_or(String::new(), |series| format!(" {series}"));
        let values: String = axes(params).map(|(name, value)| format!(" {name}={value}")).collect();
        let part = params.ranks().filter(|n_ranks| Some(*n_ranks) != self.n_ranks);
        let part = part.map_or(String::new(), |n| format!(" procs={n}"));
        let groups = params.number(GROUPS.name).map(|n| format!(" groups={n}"));
        let part = part + &groups.unwrap_or_default();
        let law = models::summary(model);
        let first = comment(&format!("fit {suite}/{kernel}{series}{part}{values}: {law}"));
        models::segments(model).iter().fold(first, |text, segment| text + &comment(segment))
    }

    /// The last line of a run, and remarks above it.
    fn done(&mut self, end: &End) -> String {
        let PointCounts { ok, check_failed, failed, skipped } = end.points;
        let (missed, unsteady) = (self.n_missed, self.n_unsteady);
        (self.n_missed, self.n_unsteady) = (0, 0);
        let mut text = String::from("\n");
        if !end.glance.is_empty() {
            text += &comment("at a glance");
            text.extend(end.glance.iter().map(|answer| comment(&format!("  {answer}"))));
            text.push('\n');
        }
        if !end.odd.is_empty() {
            text += &comment("odd");
            text.extend(end.odd.iter().map(|oddity| comment(&format!("  {oddity}"))));
            text.push('\n');
        }
        let remarks = [
            (missed, "short of --target (!)"),
            (unsteady, "with regimes, drift or moved cores (~)"),
        ];
        for (n, words) in remarks.into_iter().filter(|(n, _)| *n > 0) {
            text += &comment(&format!("{} {words}", count(n, "point")));
        }
        if let Some(reason) = &end.reason {
            text += &comment(&format!("stopped early: {reason}"));
        }
        let wall = end.wall_s.map_or("of unknown length".into(), |wall_s| format!("{wall_s:.1} s"));
        let own =
            end.virtual_s.map(|own_s| format!(" ({} s of virtual time)", significant(own_s, 3)));
        let wall = wall + &own.unwrap_or_default();
        let word = if end.status == EndStatus::Failed { "the run failed" } else { "done" };
        text += &format!(
            "{word}: {ok} ok, {skipped} skipped, {check_failed} wrong results, {failed} errors, \
             {wall}\n"
        );
        let verdict = end.verdict.as_ref().map(|verdict| self.look.verdict(verdict));
        text + &verdict.map_or(String::new(), |verdict| format!("{verdict}\n"))
    }

    /// The title of a block, if `point` starts one.
    fn title(&mut self, point: &Point, sync: Option<SampleSync>) -> String {
        let ranks = point.params.ranks();
        let ranks = ranks.map(|n| match point.number(GROUPS.name) {
            None => format!(", {}", count(n, "rank")),
            Some(n_groups) => format!(", {n_groups} groups of {}", count(n, "rank")),
        });
        let ranks = ranks.unwrap_or_default();
        let mode = point.params.get(BUFFERS).map(|mode| format!(", buffers {mode}"));
        let block = format!("{}/{}{ranks}{}", point.suite, point.kernel, mode.unwrap_or_default());
        // A head holds for points that start in one way.
        let is_same_start = self.sync.is_none_or(|of_head| sync.is_none_or(|sync| sync == of_head));
        if self.block.as_ref() == Some(&block) && is_same_start {
            self.sync = self.sync.or(sync);
            return String::new();
        }
        let title = format!("\n{}", comment(&block));
        (self.block, self.layout, self.sync) = (Some(block), None, sync);
        title
    }

    fn row(&mut self, layout: &Layout, point: &Point) -> String {
        if point.numbers().is_none() {
            return String::new();
        }
        self.n_missed += usize::from(misses_target(point));
        self.n_unsteady += usize::from(is_unsteady(point) && !misses_target(point));
        let cells: String =
            columns(layout, point).iter().map(|column| self.look.cell(column)).collect();
        format!(" {cells}\n")
    }
}

impl Skipped {
    fn new(point: &Point) -> Self {
        Self { first: case(point), reason: reason(point).into(), n: 1 }
    }

    /// Adds `point` if it was skipped for the same reason; returns that.
    fn add(&mut self, point: &Point) -> bool {
        let is_same = point.status() == PointStatus::Skipped && reason(point) == self.reason;
        self.n += usize::from(is_same);
        is_same
    }

    fn line(&self) -> String {
        let has_others = self.n > 1 && !self.first.is_empty();
        let others = if has_others { format!(" and {} more", self.n - 1) } else { String::new() };
        without_numbers(PointStatus::Skipped, &format!("{}{others}", self.first), &self.reason)
    }
}

fn without_numbers(status: PointStatus, case: &str, reason: &str) -> String {
    let case = if case.is_empty() { String::new() } else { format!(" {case}:") };
    comment(&format!("{}:{case} {reason}", Name(status)))
}

/// Names and values of the axes of `point`.
fn case(point: &Point) -> String {
    let axes = axes(&point.params).map(|(name, value)| format!("{name}={value}"));
    axes.collect::<Vec<_>>().join(" ")
}

fn reason(point: &Point) -> &str {
    point.failure().map_or("", |failure| &failure.message)
}

/// The lines above the rows of `points` and those after them, and their columns.
fn head(points: &[Point], bounds: &Bounds, look: Look) -> (String, Layout) {
    let mut text = String::new();
    for (index, point) in points.iter().enumerate() {
        let is_new = !points[..index].iter().any(|other| meaning(other) == meaning(point));
        if is_new && let Some(value) = point.value() {
            text += &definition(points, value);
        }
    }
    let is_of_launches = points.iter().any(|point| point.launches.is_some());
    let of_each = if is_of_launches { ", of each launch; the median of these" } else { "" };
    for figure in points.iter().flat_map(|point| &point.figures) {
        text += &comment(&format!("{} = {}{of_each}", figure.name, figure.formula));
    }
    let names = points.iter().filter_map(|point| point.variant.as_deref());
    let width = names.map(str::len).chain([SERIES.len()]).max();
    let bounded = points.iter().find(|point| bounds.hold_for(point));
    let layout = Layout {
        series_width: width.filter(|_| points.len() > 1),
        quote: points[0].value().map_or(Quote::Median, |value| value.quote),
        n_launches: points[0].launches.as_ref().map(|launches| launches.slices.len()),
        rates: columns::rates(points),
        bounds: bounded.map(|_| bounds.clone()),
        look,
    };
    if let Some(point) = bounded {
        let copy = bounds::copiers(point).words();
        text += &comment(&format!("{BOUND}: rate in percent of that of a {copy}, of equal length"));
    }
    if let Some(words) = Launches::words(points.iter().flat_map(|point| &point.launches)) {
        text += &comment(&format!(
            "{}: half of the 95 % interval from launch to launch, {words}",
            SPREAD.0
        ));
    }
    let columns = columns(&layout, &points[0]);
    text.extend(columns::formulas(points, &columns).iter().map(|line| comment(line)));
    let titles: String = columns.iter().map(|column| column.filled(column.name)).collect();
    (text + &format!("#{titles}\n"), layout)
}

/// The line that says what `value` is, and of which series if not of all.
fn definition(points: &[Point], value: &Value) -> String {
    let Value { quantity, definition, quote, .. } = value;
    let of_value = |point: &&Point| meaning(point) == Some((definition, *quote));
    let series: Vec<_> =
        points.iter().filter(of_value).filter_map(|point| point.variant.as_deref()).collect();
    let series =
        if series.len() == points.len() { String::new() } else { series.join(", ") + ": " };
    let known = Definition::find(definition);
    let mut summary = known.map_or("see METHODOLOGY.md", Definition::summary).to_owned();
    let mut of_meaning = points.iter().filter(|p| meaning(p).is_some_and(|m| m.0 == definition));
    if let Some(plan) = of_meaning.next().and_then(|point| Some(&point.measured()?.plan))
        && known.is_some_and(Definition::starts_together)
    {
        summary += &format!("; {}", plan.sync.words());
        summary += plan.skew_ns.map_or("", |_| ", some late on purpose");
    }
    let quote = match quote {
        Quote::Median => "",
        Quote::Min => "; quote the least value",
        Quote::LeastOf20 => "; quote the least of 20",
        Quote::SliceMean | Quote::Mean => "; quote the mean",
        Quote::MiddleMean => "; quote the mean of the middle half",
        Quote::Corrected => "; quote the mean less an empty loop",
    };
    let is_verified = points.iter().all(|point| point.check.status == CheckStatus::Pass);
    let check = if is_verified { "verified" } else { "not verified" };
    comment(&format!("{series}{quantity} in us, {definition}: {summary}{quote}; {check}"))
}

fn figures(points: &[Point]) -> String {
    let text = |value: Option<f64>| value.map_or("-".into(), figure_digits);
    let figures: Vec<_> = points.iter().flat_map(|point| &point.figures).collect();
    let is_doubtful = |figure: &Derived| {
        figure.name.starts_with(SHARE) && figure.value.is_some_and(|share| !is_plausible(share))
    };
    let mark = |figure: &Derived| if is_doubtful(figure) { "?" } else { "" };
    let cell =
        |figure: &&Derived| format!("{}={}{}", figure.name, text(figure.value), mark(figure));
    let cells: Vec<String> = figures.iter().map(cell).collect();
    if cells.is_empty() {
        return String::new();
    }
    let is_any = figures.iter().any(|figure| is_doubtful(figure));
    let why =
        if is_any { " (?: no share of a transfer; more work, or an idle machine)" } else { "" };
    comment(&format!("  {}{why}", cells.join(" ")))
}

/// The figures of `point` at other times of a cache line than that of its row.
fn other_speeds(point: &Point) -> String {
    let text = |speed: &Speed| {
        let [least, most] = speed.line_ns;
        let n = count(speed.launches, "launch");
        let us = fixed_us(speed.quoted_ns);
        format!("{us} us in {n} with a cache line of {least:.0} ns to {most:.0} ns")
    };
    let others = point.launches.iter().flat_map(Launches::other_speeds);
    let others: Vec<String> = others.map(text).collect();
    if others.is_empty() { String::new() } else { comment(&format!("  {}", others.join(", "))) }
}

/// True if the interval of `point` missed its target.
pub(crate) fn misses_target(point: &Point) -> bool {
    point.quality().is_some_and(|quality| quality.converged == Some(false))
}

/// True if the machine changed its speed for good, switched between a few, or moved cores.
pub(crate) fn is_unsteady(point: &Point) -> bool {
    point.quality().is_some_and(has_changed)
}

/// The same by the `quality` of a point.
pub(crate) fn has_changed(quality: &Quality) -> bool {
    let flags = [quality.has_regimes, quality.drifts, quality.cores_moved];
    quality.is_bimodal || flags.contains(&Some(true))
}

/// Key of the explanation of a series.
fn meaning(point: &Point) -> Option<(&str, Quote)> {
    point.value().map(|value| (&*value.definition, value.quote))
}

/// `value` with five digits, as a power of ten where it has many more before the point.
fn figure_digits(value: f64) -> String {
    if value.abs() < 1e5 { format!("{value:.4}") } else { format!("{value:.4e}") }
}

#[cfg(test)]
mod tests;
