//! Bandwidths over sizes, with the asymptotes of their lines: r_inf, n_half and n/t0.

use super::caption;
use super::chart::{self, add_lines, axis, figure, level, place, series, size};
use super::curve::{Curve, curves};
use super::law;
use super::sources::{Kernel, Sources};
use super::time::{is_plain, shown};
use crate::models::rates::asymptotic;
use crate::models::sweep::number;
use crate::models::{quoted, value};
use crate::plot::{Axis, Chart, Figure, Mark, Point, Quantity, Scale, Series};
use crate::record::{Fit, Model, Point as Record};
use crate::units::{DIGITS, significant};

/// A figure for each kernel whose operations move bytes.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    sources.kernels().iter().filter(|kernel| is_plain(kernel)).filter_map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Option<Figure> {
    // Messages of a rank to itself have the rate of no link.
    let has_rate = |point: &Record| point.rate.is_some() && chart::bytes(point) > Some(0.0);
    let kernel = shown(kernel).only(|point| has_rate(point) && number(point, "hops") != Some(0));
    let x = size(&kernel)?;
    let curves = curves(&kernel, x);
    let drawn = curves.iter().map(|curve| series(curve, x, chart::rate)).collect();
    let mut chart = chart::chart(axis(&kernel, x, Scale::Log2), rates(), drawn);
    add_lines(&mut chart, &curves, x, chart::rate);
    chart.residuals.clear();
    let what = format!("Bandwidth of {} against {}", kernel.name, chart.x.label);
    let mut caption = caption::of(&what, &kernel);
    let first = curves.first().and_then(|curve| Some((curve, curve.model("line", &[x])?)));
    if let Some((curve, model)) = first {
        caption += add_asymptotes(&mut chart, curve, model, x);
    }
    let title = format!("{}: bandwidth", kernel.name);
    Some(figure(format!("{}-bandwidth", kernel.id()), title, caption, chart))
}

/// The axis of bandwidths.
pub(super) fn rates() -> Axis {
    let (label, quantity) = ("bandwidth".into(), Quantity::BytesPerSecond);
    Axis { label, quantity, scale: Scale::Linear }
}

/// Adds the asymptotes of `model`: for long messages r_inf with n_half, of the fit of the largest
/// sizes, and for short ones n/t0, of the fit of the smallest. Returns their explanation.
fn add_asymptotes(chart: &mut Chart, curve: &Curve<'_>, model: &Model, x: &str) -> &'static str {
    let sizes_per_unit = law::sizes_per_unit(model, curve, x);
    if model.x_unit != "B" {
        return "";
    }
    if let Some(fit) = asymptotic(model) {
        chart.marks = long_messages(fit, sizes_per_unit, curve.colour);
    }
    let Some(line) = short_messages(model, sizes_per_unit, curve) else { return "" };
    chart.series.push(line);
    " r_inf is the rate of endless messages and n_half the size at which half of it is reached, by \
     the line through the largest sizes; n/t0 is the rate of short ones, whose time is the startup \
     time."
}

fn long_messages(fit: &Fit, sizes_per_unit: f64, colour: usize) -> Vec<Mark> {
    let of = |name| value(&fit.parameters, name);
    let rate = of("r_inf")
        .map(|rate| level(format!("r_inf {} MB/s", significant(rate, DIGITS)), 1e6 * rate, colour));
    let half = of("n_half").map(|size| {
        place(format!("n_half {} B", significant(size, DIGITS)), size / sizes_per_unit, colour)
    });
    rate.into_iter().chain(half).collect()
}

/// The line n/t0 over the drawn sizes, up to the best rate.
fn short_messages(model: &Model, sizes_per_unit: f64, curve: &Curve<'_>) -> Option<Series> {
    let t0_us = value(&quoted(model).first()?.parameters, "t0")?;
    let best = value(&model.marks, "best_rate")?;
    let first = curve.points.first()?;
    let from = chart::bytes(first)? / sizes_per_unit;
    let at = |x: f64| Point { x, y: 1e6 * x * sizes_per_unit / t0_us, ..Point::default() };
    let extent = [from, best * t0_us / sizes_per_unit];
    let points = (extent[0] < extent[1]).then(|| law::steps(extent).into_iter().map(at))?;
    let name = format!("n/t0, t0 {} µs", significant(t0_us, DIGITS));
    Some(Series { name, ..law::fit(curve, points.collect()) })
}
