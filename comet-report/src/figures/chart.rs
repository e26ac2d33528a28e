//! Charts over a swept parameter: axes by its name, and curves turned into series; and captions: what
//! is plotted, by which definition, from how many samples, and what bands, bars and hollow marks mean.
//! All of it is read from the points.

use comet_core::definition::Definition;

use super::curve::{self, Curve, evenly, plotted};
use super::samples::Sampled;
use super::sources::KernelPoints;
use crate::models::sweep::{quote, real};
use crate::order::distinct;
use crate::plot::{self, Axis, Chart, Kind, Mark, Quantity, Scale, Trace, Vertex};
use crate::record::{AxisFacts, Launches, Point, Quote, RANKS};
use crate::words;

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
    Trace {
        name: curve.name.clone(),
        kind: Kind::Curve,
        colour: curve.colour,
        run: curve.source,
        points: curve.points.iter().filter_map(|point| mark(point)).collect(),
    }
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

pub(super) fn caption(what: &str, kernel: &KernelPoints<'_>) -> String {
    let points: Vec<&Point> = kernel.points.iter().map(|measured| measured.point).collect();
    let parts = [format!("{what}{}.", on_ranks(kernel)), definitions(&points), marks(&points)];
    let parts = parts.into_iter().chain(ranges_of(&points)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

pub(super) fn caption_of_ratio(what: &str, kernel: &KernelPoints<'_>) -> String {
    format!(
        "{what}{}. Each follows from medians; bars, where there are any, are 95 % intervals.",
        on_ranks(kernel)
    )
}

pub(super) fn caption_of_samples(what: &str, sampled: &[Sampled<'_>]) -> String {
    let points: Vec<&Point> = sampled.iter().map(|sampled| sampled.point).collect();
    let numbers = sampled.iter().map(|sampled| sampled.values_ns.len().to_string());
    let numbers = words::list(&distinct(numbers));
    format!("{what}, for one operation. {} {numbers} samples of each.", definitions(&points))
}

/// Explains in addition the lines through the points.
pub(super) fn with_fits(caption: String, has_fits: bool) -> String {
    if !has_fits {
        return caption;
    }
    caption
        + " Lines without marks are fitted laws; the strip below shows by how many percent the \
           points are off."
}

fn on_ranks(kernel: &KernelPoints<'_>) -> String {
    let numbers: Vec<String> = kernel.values(RANKS).iter().map(u64::to_string).collect();
    if numbers.is_empty() || numbers.len() > 8 {
        return String::new();
    }
    format!(", on {} rank{}", words::list(&numbers), if numbers == ["1"] { "" } else { "s" })
}

fn definitions(points: &[&Point]) -> String {
    let named = |name: &str| match Definition::find(name) {
        Some(definition) => format!("{name}: {}.", definition.summary()),
        None => format!("{name}."),
    };
    let names = points.iter().filter_map(|point| Some(&*point.value()?.definition));
    distinct(names).into_iter().map(named).collect::<Vec<_>>().join(" ")
}

fn marks(points: &[&Point]) -> String {
    let names = points.iter().filter_map(|point| plural(point));
    let names: Vec<String> = distinct(names).into_iter().map(Into::into).collect();
    if names.is_empty() {
        return String::new();
    }
    let numbers = || points.iter().filter_map(|point| Some(point.measured()?.reps.n));
    let samples = match (numbers().min(), numbers().max()) {
        (Some(least), Some(most)) if least == most => format!("; each has {least} samples"),
        (Some(least), Some(most)) => format!("; each has {least} to {most} samples"),
        _ => String::new(),
    };
    format!("Marks are {}{samples}.", words::list(&names))
}

fn plural(point: &Point) -> Option<&'static str> {
    Some(match quote(point)? {
        // Older files and other programs have the median of all samples alone.
        Quote::Median if point.quoted_ns().is_none() => "medians",
        Quote::Median => "medians of slice medians",
        Quote::Min | Quote::LeastOf20 => "least values",
        Quote::Mean => "means",
        Quote::MiddleMean => "means of the middle half",
        Quote::Corrected => "means less an empty loop",
    })
}

fn ranges_of(points: &[&Point]) -> Vec<String> {
    let vertices = points.iter().map(|point| plotted(point, 0.0, Some).map(|of| (of, *point)));
    let all: Vec<(Vertex, &Point)> = vertices.flatten().collect();
    let with_bars: Vec<&Point> = all
        .iter()
        .filter(|(vertex, _)| vertex.interval.is_some())
        .map(|(_, point)| *point)
        .collect();
    let of_launches = Launches::words(with_bars.iter().flat_map(|point| &point.launches));
    let within = "Bars are 95 % intervals of the median within one launch";
    let has_single = with_bars.iter().any(|point| point.launches.is_none());
    let bars = match of_launches {
        Some(words) if has_single => Some(format!("{within}, or from launch to launch ({words}).")),
        Some(words) => Some(format!("Bars are 95 % intervals from launch to launch, {words}.")),
        None => has_single.then(|| format!("{within}.")),
    };
    let is_any = |holds: fn(&Vertex) -> bool| all.iter().any(|(vertex, _)| holds(vertex));
    let bands = is_any(|of| of.middle_half.is_some())
        .then(|| "Bands hold the middle half of the samples.".into());
    let hollow = is_any(|of| of.is_hollow).then(|| {
        "Hollow marks were measured in addition to the sweep, have a wider interval than asked for, \
         or the machine changed its speed."
            .into()
    });
    [bars, bands, hollow].into_iter().flatten().collect()
}
