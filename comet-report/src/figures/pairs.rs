//! Bandwidths of several pairs of ranks at once, and the law of a shared rate.

use super::bandwidth::rates;
use super::caption;
use super::chart::{self, axis, figure, series};
use super::curve::{Curve, curves, evenly};
use super::law;
use super::sources::Sources;
use crate::models::sweep::{number, real};
use crate::models::value;
use crate::plot::{Figure, Point, Scale, Series};
use crate::record::Point as Record;

const KERNEL: &str = "model/pairs";
const LENGTH: &str = "length_bytes";
const PAIRS: &str = "pairs";

/// The most message lengths that the figure has curves for.
const MAX_LENGTHS: usize = 4;

/// One figure: bandwidths over numbers of pairs.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let Some(all) = sources.kernel(KERNEL) else { return Vec::new() };
    let all = all.on_most_ranks();
    if all.values(PAIRS).len() < 2 {
        return Vec::new();
    }
    let lengths: Vec<u64> = all.values(LENGTH).into_iter().filter(|length| *length > 0).collect();
    let lengths = evenly(&lengths, MAX_LENGTHS);
    let kernel = all.only(|point| number(point, LENGTH).is_some_and(|n| lengths.contains(&n)));
    let curves = curves(&kernel, PAIRS);
    let drawn = curves.iter().map(|curve| series(curve, PAIRS, chart::rate)).collect();
    let mut chart = chart::chart(axis(&kernel, PAIRS, Scale::Log2), rates(), drawn);
    chart.series.extend(curves.iter().filter_map(drawn_law));
    let what = "Bandwidth of all pairs together against the number of pairs";
    let caption = caption::of(what, &kernel)
        + " Lines without marks are the law of a rate that the pairs share.";
    let title = format!("{KERNEL}: shared bandwidth");
    vec![figure(format!("{}-shared", kernel.id()), title, caption, chart)]
}

/// The bandwidth by the law of a shared rate, for the length of `curve`.
fn drawn_law(curve: &Curve<'_>) -> Option<Series> {
    let fit = curve.model("max_rate", &[LENGTH, PAIRS])?.fits.first()?;
    let [t0, per_pair, per_node] =
        ["t0", "per_pair", "per_node"].map(|name| value(&fit.parameters, name));
    let (t0, per_pair, per_node) = (t0?, per_pair?, per_node.unwrap_or(f64::INFINITY));
    let pairs = |point: &&Record| number(point, PAIRS).map(real);
    let length = real(number(curve.points.first()?, LENGTH)?);
    let extent = [curve.points.iter().find_map(pairs)?, curve.points.iter().rev().find_map(pairs)?];
    let time_us = |k: f64| t0 + k * length / per_node.min(k * per_pair);
    let at = |k: f64| Point { x: k, y: k * length / time_us(k) * 1e6, ..Point::default() };
    Some(law::fit(curve, law::steps(extent).into_iter().map(at).collect()))
}
