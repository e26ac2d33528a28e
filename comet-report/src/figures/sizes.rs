//! Times and bandwidths over sizes: two figures for each kernel, with the lines that the times
//! follow, and the asymptotes of these: r∞, n½ and n/t₀.

use comet_core::kernel::{AxisKind, Class, Evaluation};

use super::caption::Caption;
use super::chart::{self, add_lines, along, axis, level, place, series, size};
use super::curve::{self, Curve, curves};
use super::sources::{KernelPoints, Look, Measured};
use crate::bounds;
use crate::models::sweep::real;
use crate::models::{DISTANCE, asymptotic, quoted, value, values};
use crate::plot::{Axis, Chart, Figure, Kind, Mark, Quantity, Scale, Trace, Vertex};
use crate::record::{Fit, Model, Over, Point};
use crate::units::{DIGITS, Scaled, significant};
use crate::words;

/// True if the times of `kernel` are those of sizes, and not of the work on each word or of single
/// pairs.
fn is_plain(kernel: &KernelPoints<'_>) -> bool {
    let is_of_work = kernel.over(Over::Kind(AxisKind::Intensity)).is_some();
    // These classes have figures of their own.
    let is_elsewhere = match kernel.class() {
        Some(Class::Compute) => kernel.facts().evaluation != Evaluation::MemoryCopy,
        class => matches!(class, Some(Class::Overlap | Class::Contention)),
    };
    !(is_elsewhere || is_of_work || kernel.is_of_pairs_in_rounds())
}

/// The points of `kernel` that a figure over sizes shows: where few ranks take part, those among the
/// most.
fn shown<'a>(kernel: &KernelPoints<'a>) -> KernelPoints<'a> {
    if kernel.is_of_all_ranks() { kernel.clone() } else { kernel.on_most_ranks() }
}

pub(super) fn label(kernel: &KernelPoints<'_>) -> &'static str {
    let quantity =
        |measured: &Measured<'_>| Some(measured.point.value()?.quantity == "one_way_time");
    match kernel.points.iter().find_map(quantity) {
        Some(true) => "one-way time",
        _ => "time of an operation",
    }
}

pub(super) fn times(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let kernel = Some(shown(kernel)).filter(is_plain)?;
    let (x, label) = (size(&kernel)?, label(&kernel));
    let curves = curves(&kernel, x);
    let drawn = curves.iter().map(|curve| series(curve, x, chart::time)).collect();
    let y_axis = chart::times(label, Scale::Log10);
    let mut chart = chart::chart(along(&kernel, x, Scale::Log2), y_axis, drawn);
    add_lines(&mut chart, &curves, x, chart::time);
    let what = format!("{} of {} against {}", words::capital(label), kernel.name, chart.x.label);
    let caption = Caption::of(&what, &kernel).with_fits(!chart.residuals.is_empty());
    Some(kernel.figure("time", label, caption, chart))
}

pub(super) fn bandwidths(kernel: &KernelPoints<'_>) -> Option<Figure> {
    // Messages of a rank to itself have the rate of no link.
    let has_rate = |point: &Point| {
        let moves_bytes = point.bytes_per_s().is_some() && chart::bytes(point) > Some(0.0);
        moves_bytes && point.on(DISTANCE) != Some(0)
    };
    let kernel = Some(shown(kernel)).filter(is_plain)?.only(has_rate);
    let x = size(&kernel)?;
    let curves = curves(&kernel, x);
    let drawn = curves.iter().map(|curve| series(curve, x, chart::rate)).collect();
    let mut chart = chart::chart(along(&kernel, x, Scale::Log2), rates(), drawn);
    add_lines(&mut chart, &curves, x, chart::rate);
    chart.residuals.clear();
    let bounds = bounds(&kernel, &curves, x);
    let what = format!("Bandwidth of {} against {}", kernel.name, chart.x.label);
    let first = curves.first().and_then(|curve| Some((curve, curve.model("line", &[x])?)));
    let has_asymptotes =
        first.is_some_and(|(curve, model)| add_asymptotes(&mut chart, curve, model, x));
    let caption = Caption::of(&what, &kernel).noted(has_asymptotes, ASYMPTOTES);
    let caption =
        caption.noted(!bounds.is_empty(), "The memory copy of the run bounds rates on one node.");
    chart.series.extend(bounds);
    Some(kernel.figure("bandwidth", "bandwidth", caption, chart))
}

/// The memory copies that bound the rates of `kernel` over the length `x`, where its sources have
/// measured them, in a colour that no curve has.
fn bounds(kernel: &KernelPoints<'_>, curves: &[Curve<'_>], x: &str) -> Vec<Trace> {
    let kind = 1 + curves.iter().map(|curve| curve.kind).max().unwrap_or(0);
    let is_over_lengths =
        |point: &&Point| point.facts.over(Over::Message).is_some_and(|axis| axis.name == x);
    let line = |source: usize| {
        let point = kernel.of(source).filter(is_over_lengths).last()?;
        let rates = kernel.bounds[source].line(point).into_iter().filter(|(length, _)| *length > 0);
        let points = rates.map(|(length, y)| Vertex { x: real(length), y, ..Vertex::default() });
        let name = kernel.named(bounds::copiers(point).words(), source);
        let Look { colour, dashes } = kernel.look(kind, source);
        Some(Trace { name, kind: Kind::Fit, colour, dashes, points: points.collect() })
    };
    let lines = (0..kernel.sources.len()).filter_map(line);
    lines.filter(|line| !line.points.is_empty()).collect()
}

pub(super) fn rates() -> Axis {
    axis("bandwidth", Quantity::BytesPerSecond, Scale::Linear)
}

const ASYMPTOTES: &str = "r∞ is the rate of endless messages and n½ the size at which half of it is \
     reached, by the line through the largest sizes; n/t₀ is the rate of short ones, whose time is \
     the startup time.";

/// Adds the asymptotes of `model`: for long messages r∞ with n½, of the fit of the largest sizes, and
/// for short ones n/t₀, of the fit of the smallest. Returns true if there is the last.
fn add_asymptotes(chart: &mut Chart, curve: &Curve<'_>, model: &Model, x: &str) -> bool {
    let sizes_per_unit = curve::sizes_per_unit(model, curve, x);
    if model.x_unit != "B" {
        return false;
    }
    if let Some(fit) = asymptotic(model) {
        chart.marks = long_messages(fit, sizes_per_unit, curve.look.colour);
    }
    let Some(line) = short_messages(model, sizes_per_unit, curve) else { return false };
    chart.series.push(line);
    true
}

fn long_messages(fit: &Fit, sizes_per_unit: f64, colour: usize) -> Vec<Mark> {
    let [rate, half] = values(fit, ["r_inf", "n_half"]);
    let label = |name: &str, value: f64, unit: &str| {
        let unit = Scaled::fitting(value, unit);
        format!("{name} {} {}", unit.digits(value), unit.name)
    };
    let rate = rate.map(|rate| level(label("r∞", rate, "MB/s"), 1e6 * rate, colour));
    let half = half.map(|size| place(label("n½", size, "B"), size / sizes_per_unit, colour));
    rate.into_iter().chain(half).collect()
}

/// The line n/t0 over the drawn sizes, up to the best rate.
fn short_messages(model: &Model, sizes_per_unit: f64, curve: &Curve<'_>) -> Option<Trace> {
    let t0_us = value(&quoted(model).first()?.parameters, "t0")?;
    let best = value(&model.marks, "best_rate")?;
    let first = curve.points.first()?;
    let from = chart::bytes(first)? / sizes_per_unit;
    let at = |x: f64| Vertex { x, y: 1e6 * x * sizes_per_unit / t0_us, ..Vertex::default() };
    let extent = [from, best * t0_us / sizes_per_unit];
    let points = (extent[0] < extent[1]).then(|| curve::steps(extent).into_iter().map(at))?;
    let name = format!("n/t₀, t₀ {} µs", significant(t0_us, DIGITS));
    Some(Trace { name, ..curve::fit(curve, points.collect()) })
}
