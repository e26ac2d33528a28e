//! Times over sizes and numbers of pairs: what one pair of ranks can move, and what all of them
//! together (Gropp, Olson and Samfass, 2016).

use comet_stats::fit::MaxRate;

use super::sweep::{groups, half_widths_us, number, parts, real, time_us, weights};
use super::wire::{blank, fit, parameter, with_intercept};
use crate::record::{Fit, Model, Parameter, Point};

const SIZE: &str = "length_bytes";
const PAIRS: &str = "pairs";
const LAW: &str = "t = t0 + k n / min(per_node, k per_pair)";

/// Warns that the times do not tell a rate that the pairs share.
const NOT_SHARED: &str = "no_shared_rate";

/// An operation is a round trip; the law is one of the way there.
const WAYS: f64 = 2.0;

/// The models of all sweeps over at least two numbers of pairs.
pub(super) fn models(points: &[&Point], breakpoints: &[u64]) -> Vec<Model> {
    let has_both = |point: &&Point| [SIZE, PAIRS].iter().all(|axis| number(point, axis).is_some());
    let swept: Vec<&Point> = points.iter().copied().filter(has_both).collect();
    let sweeps = groups(&swept, &[SIZE, PAIRS], true).into_iter();
    sweeps.filter_map(|points| model(&points, breakpoints)).collect()
}

/// The law over all sizes, and over those between the breakpoints.
fn model(points: &[&Point], breakpoints: &[u64]) -> Option<Model> {
    let mut model = blank(points, &[SIZE, PAIRS], "max_rate", [SIZE, "B"]);
    let parts = parts(points, SIZE, breakpoints);
    let whole = law(points)?;
    if !whole.is_shared() {
        model.warnings.push(NOT_SHARED.into());
    }
    model.fits.push(wire("max_rate", points, &whole, parts.len().max(1)));
    if half_widths_us(points).is_some() {
        model.weights = "interval".into();
    }
    let segment = |points: &Vec<&Point>| Some(wire("segment", points, &law(points)?, 1));
    let first = parts.first().and_then(segment);
    let others = parts.iter().skip(1).filter_map(segment).map(with_intercept);
    model.fits.extend(first.into_iter().chain(others));
    Some(model)
}

fn law(points: &[&Point]) -> Option<MaxRate> {
    let triple = |point: &&Point| {
        let [pairs, size] = [PAIRS, SIZE].map(|axis| number(point, axis).map(real));
        Some((pairs?, size?, time_us(point)? / WAYS))
    };
    let triples: Vec<(f64, f64, f64)> = points.iter().map(triple).collect::<Option<_>>()?;
    let mut widths = half_widths_us(points);
    widths.iter_mut().flatten().for_each(|width| *width /= WAYS);
    MaxRate::fit(&triples, weights(widths.as_deref())).ok()
}

fn wire(name: &str, points: &[&Point], law: &MaxRate, n_segments: usize) -> Fit {
    let sizes = || points.iter().filter_map(|point| number(point, SIZE)).map(real);
    let extent = [sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max)];
    fit([name, LAW], extent, parameters(law), &law.quality, n_segments)
}

fn parameters(law: &MaxRate) -> Vec<Parameter> {
    let startup = Some(law.t0).filter(|t0| *t0 > 0.0);
    // Where the points do not speak for it, the rate of the node is nothing but their scatter.
    let shared = law.is_shared().then_some(());
    let (per_node, range) = (shared.map(|()| law.per_node), shared.and(law.per_node_range));
    vec![
        parameter("t0", "us", startup, law.t0_range),
        parameter("per_pair", "MB/s", Some(law.per_pair), law.per_pair_range),
        parameter("per_node", "MB/s", per_node, range),
        parameter("shared_from", "pairs", shared.map(|()| law.shared_from), None),
        parameter("bic_drop", "", Some(law.bic_drop), None),
    ]
}
