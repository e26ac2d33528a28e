//! The points: all that have numbers in one table, and those without, with the reason.

use super::html::{Html, NONE, details, element, or_none, tag};
use super::summary::params;
use super::{Content, Section};
use crate::format::{is_unsteady, misses_target};
use crate::order::grouped;
use crate::record::{Derived, Name, Point, PointStatus, RANKS, Summary};
use crate::units::{DIGITS, fixed, fixed_us, significant};
use crate::words;

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let of_status = |is_ok: bool| {
        content.points().filter(move |(_, point)| (point.status == PointStatus::Ok) == is_ok)
    };
    let heads = "What became of it|Kernel|Parameters|Reason".split('|');
    let rows = of_status(false).map(|(index, point)| (index, reason(point)));
    let left_out = content.table("", heads, rows);
    let heads = "Kernel|Parameters|Ranks|Quoted µs|± %|p25 µs|p75 µs|Least µs|MB/s|Samples|Flags";
    let rows = of_status(true).map(|(index, point)| (index, cells(point)));
    let mut body = content.table("sortable points", heads.split('|'), rows);
    if !body.is_empty() {
        let summary = words::count(of_status(true).count(), "point") + " with numbers";
        body = tag("p", EXPLANATION).with(details(&summary, body)).with(figures(content));
    }
    vec![
        Section { id: "left-out", title: "Skipped and failed", body: left_out },
        Section { id: "points", title: "Points", body },
    ]
}

const EXPLANATION: &str = "Times are those of one operation. The quoted time (t_quoted_ns of the \
     CSV) is the one that the kernel is known by, for most the median of slice medians; t_median_ns \
     is the median of all samples. Beside it stands half of its 95 % interval in percent. MB are \
     10^6 bytes. Samples are intervals between two clock readings, times the operations in each. \
     Flags: wide, if the interval missed its target; unsteady, if the machine changed its speed \
     meanwhile; warming, if no steady state was seen before.";

fn cells(point: &Point) -> Vec<Html> {
    let time = point.time_ns.as_ref();
    let of = |value: fn(&Summary) -> f64| us(time.map(value));
    let ranks = point.params.ranks().map(|ranks| ranks.to_string());
    let reps = point.reps.as_ref().map(|reps| format!("{} × {}", reps.n, reps.inner));
    let rate = point.rate.as_ref().map(|rate| fixed(rate.bytes_per_s / 1e6));
    vec![
        words::kernel(&point.suite, &point.kernel, point.variant.as_deref()).into(),
        params(&point.params.without(&[RANKS])).into(),
        or_none(ranks).into(),
        us(point.quoted_ns),
        or_none(spread(point)).into(),
        of(|time| time.p25),
        of(|time| time.p75),
        of(|time| time.min),
        or_none(rate).into(),
        or_none(reps).into(),
        flags(point).into(),
    ]
}

fn us(ns: Option<f64>) -> Html {
    or_none(ns.map(fixed_us)).into()
}

/// Half of the 95 % interval of the median, in percent of what is quoted; nothing where something
/// else than the median is.
fn spread(point: &Point) -> Option<String> {
    let is_of_median = point.value.as_ref()?.quote == crate::record::Quote::Median;
    let [low, high] = point.time_ns.as_ref()?.ci95.filter(|_| is_of_median)?;
    let quoted_ns = point.quoted_ns.filter(|ns| *ns > 0.0)?;
    Some(format!("{:.1}", 50.0 * (high - low) / quoted_ns))
}

fn flags(point: &Point) -> String {
    let is_warming = point.quality.as_ref().is_some_and(|quality| !quality.is_steady);
    let flags =
        [(misses_target(point), "wide"), (is_unsteady(point), "unsteady"), (is_warming, "warming")];
    let raised = flags.into_iter().filter(|(is_raised, _)| *is_raised).map(|(_, name)| name);
    raised.collect::<Vec<_>>().join(", ")
}

/// Figures derived from the series of each case together: a table for each kernel that has such.
fn figures(content: &Content<'_>) -> Html {
    let with_figures = content.points().filter(|(_, point)| !point.figures.is_empty());
    let kernels = grouped(with_figures.map(|(index, point)| (point.id(), (index, point))));
    kernels.iter().map(|(kernel, cases)| figures_of(content, kernel, cases)).collect()
}

/// The figures of the cases of `kernel`, a row for each case, and how they follow.
fn figures_of(content: &Content<'_>, kernel: &str, cases: &[(usize, &Point)]) -> Html {
    let figures = || cases.iter().take(1).flat_map(|(_, point)| &point.figures);
    let names: Vec<&str> = figures().map(|figure| &*figure.name).collect();
    let formula =
        |figure: &Derived| tag("li", tag("code", format!("{} = {}", figure.name, figure.formula)));
    let rows = cases.iter().map(|(index, point)| {
        let cells = names.iter().map(|name| figure(point, name).into());
        (*index, std::iter::once(params(&point.params).into()).chain(cells).collect())
    });
    let heads = ["Parameters"].into_iter().chain(names.iter().copied());
    let table = content.table("sortable", heads, rows);
    let formulas = tag("ul", figures().map(formula).collect::<Html>());
    details(&format!("Figures of {kernel}"), formulas.with(table))
}

fn figure(point: &Point, name: &str) -> String {
    let found = point.figures.iter().find(|figure| figure.name == name);
    or_none(found.and_then(|figure| figure.value).map(|value| significant(value, DIGITS)))
}

fn reason(point: &Point) -> Vec<Html> {
    let status = Name(point.status).to_string();
    let reason = point.message.clone().unwrap_or_else(|| NONE.into());
    vec![
        element("span", &[("class", &format!("status {status}"))], status.replace('_', " ")),
        point.id().into(),
        params(&point.params).into(),
        reason.into(),
    ]
}
