//! The columns of a table: parameters, counts, the figure to quote with its interval, times beside it,
//! and rates.

use comet_core::kernel::RateKind;

use super::{Look, is_unsteady, misses_target};
use crate::bounds::Bounds;
use crate::order::distinct;
use crate::record::{BUFFERS, Param, Params, Point, Quote, Summary};
use crate::units::{fixed, fixed_us};

/// Parameters that are equal for all points of a block, and so no columns.
const COMMON_PARAMS: &[&str] = &["procs", "groups", BUFFERS, "mesh_rows", "mesh_cols"];
/// Name of the column with the series.
pub(super) const SERIES: &str = "series";
/// Width of columns with counts.
const COUNT_WIDTH: usize = 8;
/// Width of columns with times and rates.
const TIME_WIDTH: usize = 11;
/// Name and width of the column with the interval, from one launch to the next or within one.
pub(super) const SPREAD: (&str, usize) = ("+-%", 6);
pub(super) const SPREAD_OF_ONE: (&str, usize) = ("this launch", 11);
/// Name of the column with the share of a memory copy's rate.
pub(super) const BOUND: &str = "%copy";

/// Title of the column with the rate of `kind`, and the rate that is 1 there.
fn rated(kind: RateKind) -> (&'static str, f64) {
    match kind {
        RateKind::Algorithm => ("alg_MB/s", 1e6),
        RateKind::Bus => ("bus_MB/s", 1e6),
        RateKind::Messages => ("msg/s", 1.0),
        RateKind::Bisection => ("cut_MB/s", 1e6),
    }
}

/// Columns that a narrow terminal does without, the least important first.
const LEAST_FIRST: [&str; 13] = [
    "alg_MB/s",
    "mean_us",
    "msg/s",
    "bus_MB/s",
    "cut_MB/s",
    "reps",
    "samples",
    "min_us",
    "median_us",
    "p75_us",
    "p25_us",
    BOUND,
    "MB/s",
];

/// The columns of one kernel's table.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) series_width: Option<usize>,
    pub(super) quote: Quote,
    /// Number of launches that the head names; `None` for numbers of a single one.
    pub(super) n_launches: Option<usize>,
    /// Rates of its series beside bytes per second.
    pub(super) rates: Vec<RateKind>,
    /// The bounds of its rates, where the run has measured them.
    pub(super) bounds: Option<Bounds>,
    pub(super) look: Look,
}

/// A column with the cell of one row.
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    width: usize,
    pub(super) cell: String,
}

impl Column<'_> {
    /// Its width with the space before it.
    fn n_letters(&self) -> usize {
        self.filled("").len()
    }

    /// `text` in this column.
    pub(super) fn filled(&self, text: &str) -> String {
        let width = self.width;
        if self.name == SERIES { format!(" {text:<width$}") } else { format!(" {text:>width$}") }
    }
}

/// The columns of `layout` with the cells of `point`.
pub(super) fn columns<'a>(layout: &Layout, point: &'a Point) -> Vec<Column<'a>> {
    let mut columns = Vec::new();
    let mut add = |name: &'a str, width, cell: Option<String>| {
        columns.push(Column { name, width, cell: cell.unwrap_or_else(|| "-".into()) });
    };
    for (name, value) in axes(&point.params) {
        add(name, name.len().max(COUNT_WIDTH), Some(value.to_string()));
    }
    if let Some(width) = layout.series_width {
        add(SERIES, width, point.variant.as_deref().map(str::to_owned));
    }
    let (reps, time) = (point.measured().map(|measured| &measured.reps), point.time_ns());
    add("samples", COUNT_WIDTH, reps.map(|reps| reps.n.to_string()));
    add("reps", COUNT_WIDTH, reps.map(|reps| reps.inner.to_string()));
    add(quoted(layout.quote), TIME_WIDTH, point.quoted_ns().map(fixed_us));
    let (name, width) = if layout.n_launches.is_some() { SPREAD } else { SPREAD_OF_ONE };
    add(name, width, spread(point));
    for (name, time_ns) in times(layout.quote) {
        add(name, TIME_WIDTH, time.map(|time| fixed_us(time_ns(time))));
    }
    add("MB/s", TIME_WIDTH, point.bytes_per_s().map(|rate| fixed(rate / 1e6)));
    if let Some(bounds) = &layout.bounds {
        add(BOUND, SPREAD.1, bounds.percent(point).map(|percent| format!("{percent:.1}")));
    }
    for kind in &layout.rates {
        let (name, unit) = rated(*kind);
        let rate = point.rate(*kind).and_then(|rate| rate.value);
        add(name, TIME_WIDTH, rate.map(|rate| fixed(rate / unit)));
    }
    while layout.look.is_too_narrow_for(columns.iter().map(Column::n_letters).sum()) {
        let least = |column: &Column<'_>| {
            let is_quoted = column.name == quoted(layout.quote);
            LEAST_FIRST.iter().position(|name| *name == column.name).filter(|_| !is_quoted)
        };
        let least = (0..columns.len()).filter_map(|at| Some((least(&columns[at])?, at))).min();
        let Some((_, at)) = least else { break };
        columns.remove(at);
    }
    columns
}

/// The rates that series of `points` have beside bytes per second.
pub(super) fn rates(points: &[Point]) -> Vec<RateKind> {
    let has = |kind: &RateKind| points.iter().any(|point| point.rate(*kind).is_some());
    RateKind::ALL.into_iter().filter(has).collect()
}

/// The formulas of the rates of `points` that `columns` show, a line each.
pub(super) fn formulas(points: &[Point], columns: &[Column<'_>]) -> Vec<String> {
    let is_shown = |kind: &RateKind| columns.iter().any(|column| column.name == rated(*kind).0);
    let of_kind = |kind: RateKind| {
        let formulas = points.iter().filter_map(move |point| Some(&*point.rate(kind)?.formula));
        let (title, words) = (rated(kind).0, kind.words());
        distinct(formulas).into_iter().map(move |formula| format!("{title}: {words}, {formula}"))
    };
    RateKind::ALL.into_iter().filter(is_shown).flat_map(of_kind).collect()
}

/// Name of a column with times in us, and where its times in ns come from.
type TimeColumn = (&'static str, fn(&Summary) -> f64);

/// Name of the column with the figure to quote.
pub(super) fn quoted(quote: Quote) -> &'static str {
    match quote {
        Quote::Median => "median_us",
        Quote::Min | Quote::LeastOf20 => "min_us",
        Quote::SliceMean | Quote::Mean => "mean_us",
        Quote::MiddleMean => "middle_us",
        Quote::Corrected => "corrected_us",
    }
}

/// The columns with times beside the one to quote.
pub(super) fn times(quote: Quote) -> impl Iterator<Item = TimeColumn> {
    let columns: [TimeColumn; 5] = [
        ("median_us", |time| time.median),
        ("p25_us", |time| time.p25),
        ("p75_us", |time| time.p75),
        ("min_us", |time| time.min),
        ("mean_us", |time| time.mean),
    ];
    columns.into_iter().filter(move |(name, _)| *name != quoted(quote))
}

/// Half of the interval of the figure to quote, in percent of it, and a mark for what speaks against
/// the number: `!` for a missed target, `~` for changes of speed. `None` where it has no interval.
fn spread(point: &Point) -> Option<String> {
    let ([low, high], quoted_ns) = point.interval_ns().zip(point.quoted_ns())?;
    let mark = if misses_target(point) {
        "!"
    } else if is_unsteady(point) {
        "~"
    } else {
        ""
    };
    let percent = 50.0 * (high - low) / quoted_ns;
    let percent = if percent < 1000.0 { format!("{percent:.1}") } else { ">999".into() };
    Some(percent + mark)
}

pub(super) fn axes(params: &Params) -> impl Iterator<Item = (&String, &Param)> {
    let axes = params.0.iter().filter(|(name, _)| !COMMON_PARAMS.contains(&name.as_str()));
    axes.map(|(name, value)| (name, value))
}
