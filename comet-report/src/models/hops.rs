//! Times over sizes and distances: what one more hop costs (thesis section 5.1).

use comet_stats::fit::{HopLine, Rules, StoreAndForward, segments};

use super::sweep::{SIZES, groups, half_widths_us, number, real, time_us, weights};
use super::wire::{blank, fit, parameter, with_intercept};
use crate::record::{Fit, Model, Parameter, Point};

const LAW: &str = "t = t0 + n per_unit + (h - 1) per_hop";

/// Warns that messages seem to be stored in each node on their way.
const STORED: &str = "store_and_forward";

/// The models of all kernels that were measured over at least three distances.
pub(super) fn models(points: &[&Point], breakpoints: &[u64]) -> Vec<Model> {
    let of_axis = |&(axis, unit): &(&'static str, &'static str)| {
        let has_both = |point: &&Point| {
            number(point, axis).is_some() && number(point, "hops").is_some_and(|hops| hops > 0)
        };
        let swept: Vec<&Point> = points.iter().copied().filter(has_both).collect();
        let sweeps = groups(&swept, &[axis, "hops"], true).into_iter();
        let model = |points: Vec<&Point>| model(&points, [axis, unit], breakpoints);
        sweeps.filter_map(model).collect::<Vec<_>>()
    };
    SIZES.iter().flat_map(of_axis).collect()
}

/// The law over all sizes, and, where a line has breaks, over those between them: a protocol may
/// change what a hop costs.
fn model(points: &[&Point], x: [&str; 2], breakpoints: &[u64]) -> Option<Model> {
    let found = if breakpoints.is_empty() { breaks(points, x[0]) } else { breakpoints.to_vec() };
    let ends: Vec<u64> = found.into_iter().chain([u64::MAX]).collect();
    let mut model = blank(points, &[x[0], "hops"], "hops", x);
    model.fits.push(law(points, "hops", x, &mut model.warnings, ends.len())?);
    if half_widths_us(points).is_some() {
        model.weights = "interval".into();
    }
    let mut above = None;
    for end in ends.iter().filter(|_| ends.len() > 1) {
        let is_inside = |point: &&&Point| {
            let size = number(point, x[0]);
            size > above && size <= Some(*end)
        };
        let part: Vec<&Point> = points.iter().filter(is_inside).copied().collect();
        let fit = law(&part, "segment", x, &mut model.warnings, 1);
        model.fits.extend(fit.map(|fit| if above.is_none() { fit } else { with_intercept(fit) }));
        above = Some(*end);
    }
    Some(model)
}

/// The sizes after which the times over the shortest distance follow another line.
fn breaks(points: &[&Point], axis: &str) -> Vec<u64> {
    let nearest = points.iter().filter_map(|point| number(point, "hops")).min();
    let mut pairs: Vec<(u64, f64)> = points
        .iter()
        .filter(|point| number(point, "hops") == nearest)
        .filter_map(|point| Some((number(point, axis)?, time_us(point)?)))
        .collect();
    pairs.sort_by_key(|(size, _)| *size);
    let times: Vec<(f64, f64)> = pairs.iter().map(|(size, time)| (real(*size), *time)).collect();
    let found = segments(&times, &Rules::default()).unwrap_or_default();
    let is_end = |size: u64| found.windows(2).any(|pair| pair[0].to == real(size));
    pairs.into_iter().map(|(size, _)| size).filter(|size| is_end(*size)).collect()
}

/// The law of `points`; the test for a cost of each byte on each hop wants three distances, and so
/// does the law.
fn law(
    points: &[&Point],
    name: &str,
    [axis, unit]: [&str; 2],
    warnings: &mut Vec<String>,
    n_segments: usize,
) -> Option<Fit> {
    let triple = |point: &&Point| {
        let [size, hops] = [axis, "hops"].map(|name| number(point, name).map(real));
        Some((size?, hops?, time_us(point)?))
    };
    let triples: Vec<(f64, f64, f64)> = points.iter().map(triple).collect::<Option<_>>()?;
    let widths = half_widths_us(points);
    let test = StoreAndForward::test(&triples, weights(widths.as_deref())).ok()?;
    let line = HopLine::fit(&triples, weights(widths.as_deref())).ok()?;
    if test.is_likely() && !warnings.iter().any(|warning| warning == STORED) {
        warnings.push(STORED.into());
    }
    let sizes = || triples.iter().map(|(size, _, _)| *size);
    let extent = [sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max)];
    Some(fit([name, LAW], extent, parameters(&line, &test, unit), &line.quality, n_segments))
}

fn parameters(line: &HopLine, test: &StoreAndForward, unit: &str) -> Vec<Parameter> {
    let per_unit = format!("us/{unit}");
    // Where the points do not speak for it, it is nothing but the scatter.
    let stored = test.is_likely().then_some(());
    let range = stored.and(test.range);
    let startup = Some(line.t0).filter(|t0| *t0 > 0.0);
    vec![
        parameter("t0", "us", startup, line.t0_range()),
        parameter("per_unit", &per_unit, Some(line.per_unit), line.per_unit_range()),
        parameter("per_hop", "us", Some(line.per_hop), line.per_hop_range()),
        parameter("per_unit_and_hop", &per_unit, stored.and(Some(test.per_unit_and_hop)), range),
    ]
}
