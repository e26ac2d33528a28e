//! Figures over other quantities than sizes, with the law of each: times and asymptotic rates over
//! numbers of ranks, rates over the work on each word, and bandwidths of several pairs at once.

use comet_core::kernel::AxisKind;
use comet_stats::fit::Growth;

use super::caption::Caption;
use super::chart::{self, along, axis, ranks, series, series_at};
use super::curve::{self, Curve, curves, evenly, plotted};
use super::sizes::{label, rates as bandwidths};
use super::sources::{KernelPoints, Look};
use crate::models::sweep::{quoted_ns, real};
use crate::models::{FREE, asymptotic, groups_of_lines, operations, value, values};
use crate::plot::{Chart, Figure, Kind, Quantity, Scale, Trace, Vertex};
use crate::record::{Fit, Model, Over, Params, Point, RANKS};
use crate::units::significant;
use crate::words;

const MAX_SIZES: usize = 5;
const MAX_LENGTHS: usize = 4;

/// The times of a kernel of all ranks that was measured on several numbers of them, with the law of
/// growth that describes them best.
pub(super) fn scaling(kernel: &KernelPoints<'_>) -> Option<Figure> {
    if !kernel.is_of_all_ranks() || kernel.values(RANKS).len() < 2 {
        return None;
    }
    let kernel = with_few_sizes(kernel);
    let label = label(&kernel);
    let curves: Vec<Curve<'_>> =
        curves(&kernel, RANKS).into_iter().filter(|curve| curve.points.len() > 1).collect();
    let is_one = curves.iter().all(|curve| curve.kind == 0);
    let y_axis = chart::times(label, if is_one { Scale::Linear } else { Scale::Log10 });
    let drawn = curves.iter().map(|curve| series(curve, RANKS, chart::time)).collect();
    let mut chart = chart::chart(ranks(Scale::Log2), y_axis, drawn);
    for curve in &curves {
        add_growth(&mut chart, curve);
    }
    let what = format!("{} of {} against the number of ranks", words::capital(label), kernel.name);
    let caption = Caption::of(&what, &kernel).with_fits(!chart.residuals.is_empty());
    Some(kernel.figure("scaling", "scaling", caption, chart))
}

/// The speedup of a kernel of all ranks over its time on the fewest of several numbers of them, and the efficiency.
pub(super) fn speedup(kernel: &KernelPoints<'_>) -> Option<Figure> {
    if !kernel.is_of_all_ranks() || kernel.values(RANKS).len() < 2 {
        return None;
    }
    let kernel = with_few_sizes(kernel);
    let curves = curves(&kernel, RANKS).into_iter().filter(|curve| curve.points.len() > 1);
    let drawn: Vec<Trace> = curves.flat_map(|curve| speedups(&curve)).collect();
    if drawn.is_empty() {
        return None;
    }
    let y_axis = axis("speedup and efficiency", Quantity::Ratio, Scale::Log10);
    let chart = chart::chart(ranks(Scale::Log2), y_axis, drawn);
    let what = format!(
        "Speedup of {}: its time on the fewest ranks over its time on more. Efficiency: speedup over the \
         growth of the number of ranks",
        kernel.name
    );
    Some(kernel.figure("speedup", "speedup", Caption::of(&what, &kernel), chart))
}

/// The speedup of `curve` over its first point, and its efficiency.
fn speedups(curve: &Curve<'_>) -> Vec<Trace> {
    let base = curve
        .points
        .first()
        .and_then(|of| Some((quoted_ns(of).filter(|ns| *ns > 0.0)?, real(of.number(RANKS)?))));
    let Some((base_ns, fewest)) = base else { return Vec::new() };
    let trace = |name: String, is_efficiency: bool| {
        let vertex = |point: &&Point| {
            let n_ranks = real(point.number(RANKS)?);
            let growth = if is_efficiency { n_ranks / fewest } else { 1.0 };
            plotted(point, n_ranks, |ns| Some(base_ns / ns / growth).filter(|_| ns > 0.0))
        };
        let points = curve.points.iter().filter_map(vertex).collect();
        curve.trace(name, Kind::Curve, points)
    };
    let efficiency = Trace {
        dashes: curve.look.dashes + 1,
        ..trace(format!("{}, efficiency", curve.name), true)
    };
    vec![trace(curve.name.clone(), false), efficiency]
}

fn with_few_sizes<'a>(kernel: &KernelPoints<'a>) -> KernelPoints<'a> {
    let Some(name) = chart::size(kernel) else { return kernel.clone() };
    let chosen = evenly(&kernel.values(name), MAX_SIZES);
    kernel.only(|point| point.number(name).is_some_and(|size| chosen.contains(&size)))
}

/// Adds the law that describes `curve` best, if there are enough numbers of ranks for one.
fn add_growth(chart: &mut Chart, curve: &Curve<'_>) {
    let best = curve.model("scaling", &FREE).and_then(|model| model.fits.first());
    let Some((fit, law_us)) = best.and_then(|fit| Some((fit, growth_us(fit)?))) else { return };
    let mut drawn = curve::drawn(curve, [fit.from, fit.to], |x| 1e3 * law_us(x));
    let weight = value(&fit.parameters, "weight");
    let weight =
        weight.map_or(String::new(), |weight| format!(", weight {}", significant(weight, 3)));
    drawn.name = format!("{}: {}{weight}", curve.name, fit.name);
    chart.series.push(drawn);
    chart.residuals.extend(curve::residuals(curve, &curve.points, RANKS, |x| 1e3 * law_us(x)));
}

fn growth_us(fit: &Fit) -> Option<impl Fn(f64) -> f64> {
    let growth = Growth::ALL.into_iter().find(|growth| growth.name() == fit.name);
    let growth = growth.unwrap_or(Growth::None);
    let [a, b] = values(fit, ["a", "b"]);
    let (a, b) = (a?, b.unwrap_or(0.0));
    Some(move |n_ranks| a + b * growth.of(n_ranks))
}

/// The rates of a kernel that was swept over the work on each word, with the law of a rate that
/// moving the words limits.
pub(super) fn intensity(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let x = kernel.over(Over::Kind(AxisKind::Intensity))?;
    if kernel.values(x).len() < 2 {
        return None;
    }
    let kernel = kernel.on_most_ranks();
    let curves = curves(&kernel, x);
    let drawn: Vec<Trace> = curves.iter().map(|curve| work_rates(curve, x)).collect();
    let fits: Vec<Trace> = curves.iter().filter_map(|curve| intensity_law(curve, x)).collect();
    let y_axis = axis("floating-point operations", Quantity::PerSecond, Scale::Linear);
    let mut chart = chart::chart(along(&kernel, x, Scale::Log2), y_axis, drawn);
    let what = format!("Rate of {} against the operations for each word moved", kernel.name);
    let law = "Lines without marks over intensities are r̂ / (1 + f½ / f), the law of a rate that \
               moving words limits.";
    let caption = Caption::of(&what, &kernel).noted(!fits.is_empty(), law);
    chart.series.extend(fits);
    Some(kernel.figure("rate", "rate", caption, chart))
}

fn work_rates(curve: &Curve<'_>, x: &str) -> Trace {
    let rate = |point: &&Point| {
        let n_operations = operations(point)?;
        let y = |ns: f64| Some(n_operations / ns * 1e9).filter(|_| ns > 0.0);
        plotted(point, real(point.number(x)?), y)
    };
    let points = curve.points.iter().filter_map(rate).collect();
    Trace { points, ..series_at(curve, |_| None, chart::time) }
}

/// The law of the model; kernels that move no words between ranks have none.
fn intensity_law(curve: &Curve<'_>, x: &str) -> Option<Trace> {
    let fit = curve.model("intensity", &[x])?.fits.first()?;
    let [r_hat, f_half] = values(fit, ["r_hat", "f_half"]);
    let (r_hat, f_half) = (1e6 * r_hat?, f_half?);
    Some(curve::drawn(curve, [fit.from, fit.to], |x| r_hat / (1.0 + f_half / x)))
}

pub(super) fn shared(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let all = kernel.on_most_ranks();
    let [pairs, length] = [Over::Kind(AxisKind::Pairs), Over::Message].map(|over| all.over(over));
    let (pairs, length) = (pairs?, length?);
    if all.values(pairs).len() < 2 {
        return None;
    }
    let lengths: Vec<u64> = all.values(length).into_iter().filter(|length| *length > 0).collect();
    let lengths = evenly(&lengths, MAX_LENGTHS);
    let kernel = all.only(|point| point.number(length).is_some_and(|n| lengths.contains(&n)));
    let curves = curves(&kernel, pairs);
    let drawn = curves.iter().map(|curve| series(curve, pairs, chart::rate)).collect();
    let mut chart = chart::chart(along(&kernel, pairs, Scale::Log2), bandwidths(), drawn);
    chart.series.extend(curves.iter().filter_map(|curve| shared_law(curve, [length, pairs])));
    let what = "Bandwidth of all pairs together against the number of pairs";
    let law = "Lines without marks over pairs are the law of a rate that the pairs share.";
    let caption = Caption::of(what, &kernel).noted(true, law);
    Some(kernel.figure("shared", "shared bandwidth", caption, chart))
}

fn shared_law(curve: &Curve<'_>, axes: [&str; 2]) -> Option<Trace> {
    let fit = curve.model("max_rate", &axes)?.fits.first()?;
    let [t0, per_pair, per_node] = values(fit, ["t0", "per_pair", "per_node"]);
    let (t0, per_pair, per_node) = (t0?, per_pair?, per_node.unwrap_or(f64::INFINITY));
    let pairs = |point: &&Point| point.number(axes[1]).map(real);
    let length = real(curve.points.first()?.number(axes[0])?);
    let extent = [curve.points.iter().find_map(pairs)?, curve.points.iter().rev().find_map(pairs)?];
    let time_us = |k: f64| t0 + k * length / per_node.min(k * per_pair);
    Some(curve::drawn(curve, extent, |k| k * length / time_us(k) * 1e6))
}

/// The asymptotic rates of a kernel with the lines of at least two numbers of ranks: r_inf of each
/// sweep.
pub(super) fn asymptotes(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let of_source = |source| asymptotes_of(kernel, source);
    let drawn: Vec<Trace> = (0..kernel.sources.len()).flat_map(of_source).collect();
    let drawn = Some(drawn).filter(|drawn| !drawn.is_empty())?;
    let chart = chart::chart(ranks(Scale::Log2), bandwidths(), drawn);
    let text = format!(
        "r∞ of {} against the number of ranks: the rate of endless messages by the line that was \
         fitted on each number, with its 95 % interval.",
        kernel.name
    );
    Some(kernel.figure("r-inf", "r∞", Caption { text, notes: Vec::new() }, chart))
}

fn asymptotes_of(kernel: &KernelPoints<'_>, source: usize) -> Vec<Trace> {
    let is_of_kernel = |model: &&Model| {
        format!("{}/{}", model.suite, model.kernel) == kernel.name && model.x_unit == "B"
    };
    let of_source = kernel.models.iter().filter(|fitted| fitted.source == source);
    let groups = groups_of_lines(of_source.map(|fitted| &fitted.model).filter(is_of_kernel));
    let series = |(number, group): (usize, &Vec<(u64, &Model)>)| {
        let Look { colour, dashes } = kernel.look(number, source);
        let points = group.iter().filter_map(|(n_ranks, model)| point(*n_ranks, model)).collect();
        Trace { name: name(kernel, source, group[0].1), kind: Kind::Curve, colour, dashes, points }
    };
    groups.iter().enumerate().map(series).collect()
}

fn point(n_ranks: u64, model: &Model) -> Option<Vertex> {
    let rate = asymptotic(model)?.parameters.iter().find(|of| of.name == "r_inf")?;
    let interval = rate.low.zip(rate.high).map(|(low, high)| (1e6 * low, 1e6 * high));
    let interval = interval.filter(|(low, high)| low < high);
    Some(Vertex { x: real(n_ranks), y: 1e6 * rate.value?, interval, ..Vertex::default() })
}

fn name(kernel: &KernelPoints<'_>, source: usize, model: &Model) -> String {
    let Params(params) = model.params.without(&FREE);
    let params = params.iter().map(|(name, value)| words::parameter(kernel.facts(), name, value));
    let several = Some(&kernel.sources[source]).filter(|_| kernel.sources.len() > 1);
    let parts = model.variant.iter().map(ToString::to_string).chain(params).chain(several.cloned());
    parts.collect::<Vec<_>>().join(", ")
}
