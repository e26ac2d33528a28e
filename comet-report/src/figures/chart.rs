//! Charts over a swept parameter: axes by its name, and curves turned into series.

use super::curve::{self, Curve, evenly, plotted};
use super::sources::KernelPoints;
use crate::models::sweep::real;
use crate::plot::{self, Axis, Chart, Kind, Mark, Quantity, Scale, Trace};
use crate::record::{AxisFacts, Point};

/// The most curves that get their lines drawn, or nobody could follow them.
const MAX_FITTED: usize = 4;

/// Plotted value: from the bytes that an operation moves, if it does, and its time in ns.
pub(super) type Y = fn(Option<f64>, f64) -> Option<f64>;

pub(super) fn time(_: Option<f64>, ns: f64) -> Option<f64> {
    Some(ns)
}

/// Bytes per second; operations without bytes have no rate.
pub(super) fn rate(bytes: Option<f64>, ns: f64) -> Option<f64> {
    let bytes = bytes.filter(|bytes| *bytes > 0.0)?;
    (ns > 0.0).then(|| bytes / ns * 1e9)
}

pub(super) fn bytes(point: &Point) -> Option<f64> {
    point.value()?.bytes_per_op.map(real)
}

/// The parameter of sizes over which `kernel` was swept.
pub(super) fn size<'a>(kernel: &KernelPoints<'a>) -> Option<&'a str> {
    kernel.facts().sizes().find(|name| kernel.values(name).len() > 1)
}

pub(super) fn along(kernel: &KernelPoints<'_>, name: &str, scale: Scale) -> Axis {
    match kernel.facts().axis(name) {
        Some(AxisFacts { title, unit, .. }) => {
            let quantity = if unit == "B" { Quantity::Bytes } else { Quantity::Count };
            axis(title, quantity, scale)
        }
        None => ranks(scale),
    }
}

pub(super) fn axis(label: &str, quantity: Quantity, scale: Scale) -> Axis {
    Axis { label: label.into(), quantity, scale }
}

pub(super) fn ranks(scale: Scale) -> Axis {
    axis("number of ranks P", Quantity::Count, scale)
}

pub(super) fn times(label: &str, scale: Scale) -> Axis {
    axis(label, Quantity::TimeNs, scale)
}

/// A chart of `series`; the vertical axis is linear where a value is negative.
pub(super) fn chart(x: Axis, mut y: Axis, series: Vec<Trace>) -> Chart {
    if y.scale != Scale::Linear && series.iter().any(reaches_below_zero) {
        y.scale = Scale::Linear;
    }
    Chart { x, y, series, marks: Vec::new(), residuals: Vec::new() }
}

fn reaches_below_zero(series: &Trace) -> bool {
    let least = |point: &crate::plot::Vertex| {
        let ends = [point.interval, point.middle_half].into_iter().flatten().map(|(low, _)| low);
        ends.fold(point.y, f64::min)
    };
    series.points.iter().any(|point| least(point) < 0.0)
}

pub(super) fn series(curve: &Curve<'_>, x: &str, y: Y) -> Trace {
    series_at(curve, |point| point.number(x).map(real), y)
}

pub(super) fn series_at(curve: &Curve<'_>, x: impl Fn(&Point) -> Option<f64>, y: Y) -> Trace {
    drawn(curve, |point| plotted(point, x(point)?, |ns| y(bytes(point), ns)))
}

/// A value beside time that `value` reads from the points of `curve`, over the parameter `x`.
pub(super) fn values(curve: &Curve<'_>, x: &str, value: impl Fn(&Point) -> Option<f64>) -> Trace {
    drawn(curve, |point| {
        let (x, y) = (real(point.number(x)?), value(point)?);
        Some(plot::Vertex { x, y, ..plot::Vertex::default() })
    })
}

fn drawn(curve: &Curve<'_>, mark: impl Fn(&Point) -> Option<plot::Vertex>) -> Trace {
    let points = curve.points.iter().filter_map(|point| mark(point)).collect();
    curve.trace(curve.name.clone(), Kind::Curve, points)
}

pub(super) fn figure_value(point: &Point, name: &str) -> Option<f64> {
    point.figures.iter().find(|figure| figure.name == name)?.value
}

/// Adds to `chart` the lines that `curves` follow over the size `x`, and how far each point is from
/// them; `y` is what the chart is of. Of many curves a few of the first source get theirs.
pub(super) fn add_lines(chart: &mut Chart, curves: &[Curve<'_>], x: &str, y: Y) {
    let is_first = |curve: &&Curve<'_>| curve.source == 0 || curves.len() <= MAX_FITTED;
    let fitted: Vec<&Curve<'_>> = curves.iter().filter(is_first).collect();
    for curve in evenly(&fitted, MAX_FITTED) {
        for line in curve::lines(curve, x) {
            chart.series.push(line.series(curve, y));
            chart.residuals.extend(line.residuals(curve, x));
        }
    }
}

pub(super) fn level(label: String, at: f64, colour: usize) -> Mark {
    Mark { label, is_at_x: false, at, colour }
}

pub(super) fn place(label: String, at: f64, colour: usize) -> Mark {
    Mark { label, is_at_x: true, at, colour }
}
