//! What several pairs of ranks move at once, and the law of a shared rate.

use comet_stats::fit::{MaxRate, Weights};

use super::bandwidth::rates;
use super::caption;
use super::chart::{self, axis, figure, series};
use super::curve::{Curve, curves, evenly};
use super::law;
use super::sources::Sources;
use crate::models::sweep::{number, quoted_ns, real};
use crate::plot::{Figure, Point, Scale, Series};

const KERNEL: &str = "model/pairs";
const LENGTH: &str = "length_bytes";
const PAIRS: &str = "pairs";

/// The most message lengths that the figure has curves for.
const MAX_LENGTHS: usize = 4;
/// A point is the time of a round trip; the law is one of the way there.
const WAYS: f64 = 2.0;

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
    let mut chart = chart::chart(axis(PAIRS, Scale::Log2), rates(), drawn);
    for source in 0..kernel.sources.len() {
        let of_source = all.points.iter().filter(|measured| measured.source == source);
        let points: Vec<_> = of_source.map(|measured| measured.point).collect();
        if let Some(law) = law_of(&points) {
            let curves = curves.iter().filter(|curve| curve.source == source);
            chart.series.extend(curves.filter_map(|curve| drawn_law(&law, curve)));
        }
    }
    let what = "Bandwidth of all pairs together against the number of pairs";
    let caption = caption::of(what, &kernel)
        + " Lines without marks are the law of a rate that the pairs share.";
    let title = format!("{KERNEL}: shared bandwidth");
    vec![figure(format!("{}-shared", kernel.id()), title, caption, chart)]
}

/// The law of all sizes and numbers of pairs; times in us.
fn law_of(points: &[&crate::record::Point]) -> Option<MaxRate> {
    let triple = |point: &&crate::record::Point| {
        let [pairs, size] = [PAIRS, LENGTH].map(|name| number(point, name).map(real));
        Some((pairs?, size?, quoted_ns(point)? / 1e3 / WAYS))
    };
    MaxRate::fit(&points.iter().filter_map(triple).collect::<Vec<_>>(), Weights::Relative).ok()
}

/// The bandwidth by `law` for the length of `curve`.
fn drawn_law(law: &MaxRate, curve: &Curve<'_>) -> Option<Series> {
    let pairs = |point: &&crate::record::Point| number(point, PAIRS).map(real);
    let length = real(number(curve.points.first()?, LENGTH)?);
    let extent = [curve.points.iter().find_map(pairs)?, curve.points.iter().rev().find_map(pairs)?];
    let at = |k: f64| Point { x: k, y: k * length / law.at(k, length) * 1e6, ..Point::default() };
    Some(law::fit(curve, law::steps(extent).into_iter().map(at).collect()))
}
