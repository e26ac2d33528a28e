//! Laws with one formula: of distances, of numbers of ranks, of the work on each word, and of pairs
//! that share a rate.

use comet_stats::fit::{
    Bounds, Candidate, Growth, HopLine, Intensity, Line, MaxRate, Range, Scaling, StoreAndForward,
    segments, subdomain_edge,
};
use comet_stats::median;

use super::FREE;
use super::sweep::{
    Sweep, Times, extent, fit, half_widths_us, parameter, real, scaled, time_us, weights,
};
use crate::record::{Fit, Model, Over, Parameter, Point, RANKS};

/// Law of a distance: what one more hop costs (thesis section 5.1).
const DISTANCE: &str = "t = t0 + n per_unit + (h - 1) per_hop";
/// Law of a shared rate (Gropp, Olson and Samfass, 2016).
const SHARED: &str = "t = t0 + k n / min(per_node, k per_pair)";
/// Law of a rate that moving words limits (POLY1 to POLY3 of the PARKBENCH report), and the
/// assumption behind the edges: a stencil of `2 d + 1` points has one operation for each, and each
/// point of the surface of a region is a word sent and a word received.
const INTENSITY: &str = "r = r_hat / (1 + f_half / f); edge_2d and edge_3d for 5 and 7 operations \
                         a point, two words a surface point";

/// Warning that messages seem to be stored in each node on their way.
const STORED: &str = "store_and_forward";
/// Warning that the times show no rate that the pairs share.
const NOT_SHARED: &str = "no_shared_rate";
/// Messages of a round trip; the law of a shared rate is one of the way there.
const WAYS: f64 = 2.0;

/// The law of sizes and distances. Where the line of the shortest distance has breaks, each part
/// has a law of its own: a protocol may change the cost of a hop.
pub(super) fn distance(sweep: Sweep<'_>, breakpoints: &[u64]) -> Option<Model> {
    let found = if breakpoints.is_empty() { breaks(&sweep) } else { breakpoints.to_vec() };
    let axis = sweep.axes[0];
    let mut model = sweep.model("hops", [&axis.name, &axis.unit]);
    let mut is_stored = false;
    // The test for a cost of each byte on each hop wants three distances, and so does the law.
    let law = |part: &Sweep<'_>, name: &str, n_segments| {
        let (triples, widths) = (part.triples()?, half_widths_us(&part.points));
        let test = StoreAndForward::test(&triples, weights(widths.as_deref())).ok()?;
        let line = HopLine::fit(&triples, weights(widths.as_deref())).ok()?;
        let is_of_launch = part.times.launch.is_some();
        is_stored |= test.is_likely() && !is_of_launch;
        let parameters = distance_parameters(&line, &test, is_of_launch, &axis.unit);
        Some(fit([name, DISTANCE], part.extent(0), parameters, &line.quality, n_segments))
    };
    model.fits = sweep.fits("hops", &found, law)?;
    model.warnings.extend(is_stored.then(|| STORED.into()));
    Some(model)
}

fn breaks(sweep: &Sweep<'_>) -> Vec<u64> {
    let nearest = sweep.points.iter().map(|point| sweep.at(point, 1)).min();
    let is_nearest = |point: &&&Point| Some(sweep.at(point, 1)) == nearest;
    let pair = |point: &&Point| Some((sweep.at(point, 0), time_us(point)?));
    let mut pairs: Vec<(u64, f64)> =
        sweep.points.iter().filter(is_nearest).filter_map(pair).collect();
    pairs.sort_by_key(|(size, _)| *size);
    let times: Vec<(f64, f64)> = pairs.iter().map(|(size, time)| (real(*size), *time)).collect();
    let found = segments(&times, &Bounds::default()).unwrap_or_default();
    let is_end = |size: u64| found.windows(2).any(|pair| pair[0].to == real(size));
    pairs.into_iter().map(|(size, _)| size).filter(|size| is_end(*size)).collect()
}

/// The parameters, of one launch or of all together.
fn distance_parameters(
    line: &HopLine,
    test: &StoreAndForward,
    is_of_launch: bool,
    unit: &str,
) -> Vec<Parameter> {
    let per_unit = format!("us/{unit}");
    // Where the points do not speak for it, it is nothing but the scatter.
    let stored = (is_of_launch || test.is_likely()).then_some(());
    let range = stored.and(test.range);
    let startup = Some(line.t0).filter(|t0| *t0 > 0.0);
    vec![
        parameter("t0", "us", startup, line.t0_range()),
        parameter("per_unit", &per_unit, Some(line.per_unit), line.per_unit_range()),
        parameter("per_hop", "us", Some(line.per_hop), line.per_hop_range()),
        parameter("per_unit_and_hop", &per_unit, stored.and(Some(test.per_unit_and_hop)), range),
    ]
}

/// Round trip of a middle pair of `point` in us: the median over the ranks that begin, of each one's
/// own time; the time of all pairs where the ranks have none. In a launch it is longer or shorter as
/// that is.
///
/// The ranks that begin are the lower half of those that sampled. The slowest of many pairs takes
/// longer by noise alone, and what precedes its start is in its time.
fn of_a_pair(sweep: &Sweep<'_>, point: &Point, n_pairs: u64) -> Option<f64> {
    let ranks = point.measured().and_then(|measured| measured.ranks_ns.as_ref());
    let times = ranks.map(|ranks| &*ranks.per_rank);
    let times = times.filter(|times| times.len() as u64 == 2 * n_pairs);
    let own_us = times.and_then(|times| median(&times[..times.len() / 2])).map(|ns| ns / 1e3);
    let (all_us, now_us) = (time_us(point)?, sweep.time_us(point)?);
    Some(own_us.unwrap_or(all_us) * now_us / all_us)
}

/// The law of sizes and numbers of pairs, over all sizes and over those between the breakpoints.
pub(super) fn shared_rate(sweep: Sweep<'_>, breakpoints: &[u64]) -> Option<Model> {
    let mut model = sweep.model("max_rate", [&sweep.axes[0].name, "B"]);
    let mut is_shared = None;
    let law = |part: &Sweep<'_>, name: &str, n_segments| {
        let triple = |point: &&Point| {
            let [size, n_pairs] = [0, 1].map(|index| part.at(point, index));
            Some((real(n_pairs), real(size), of_a_pair(part, point, n_pairs)? / WAYS))
        };
        let triples: Vec<(f64, f64, f64)> =
            part.points.iter().map(triple).collect::<Option<_>>()?;
        // The time of a pair is as uncertain, for its length, as that of all of them.
        let widths = half_widths_us(&part.points).and_then(|widths| {
            let of_all = part.points.iter().map(|point| time_us(point));
            let relative = widths.iter().zip(of_all).map(|(width, time)| Some(width / time?));
            let of_pair = relative.zip(&triples).map(|(share, (.., time))| Some(share? * time));
            of_pair.collect::<Option<Vec<f64>>>()
        });
        let law = MaxRate::fit(&triples, weights(widths.as_deref())).ok()?;
        is_shared.get_or_insert(law.is_shared());
        let parameters = shared_parameters(&law, part.times.launch.is_some());
        Some(fit([name, SHARED], part.extent(0), parameters, &law.quality, n_segments))
    };
    model.fits = sweep.fits("max_rate", breakpoints, law)?;
    model.warnings.extend((is_shared == Some(false)).then(|| NOT_SHARED.into()));
    Some(model)
}

fn shared_parameters(law: &MaxRate, is_of_launch: bool) -> Vec<Parameter> {
    let startup = Some(law.t0).filter(|t0| *t0 > 0.0);
    // Where the points do not speak for it, the rate of the node is nothing but their scatter.
    let shared = (is_of_launch || law.is_shared()).then_some(());
    let (per_node, range) = (shared.map(|()| law.per_node), shared.and(law.per_node_range));
    vec![
        parameter("t0", "us", startup, law.t0_range),
        parameter("per_pair", "MB/s", Some(law.per_pair), law.per_pair_range),
        parameter("per_node", "MB/s", per_node, range),
        parameter("shared_from", "pairs", shared.map(|()| law.shared_from), None),
        parameter("bic_drop", "", Some(law.bic_drop), None),
    ]
}

/// The laws of growth with the number of ranks, each with its weight (SYNCH1 and COMMS3 of the
/// PARKBENCH report are to be read so), or that there is no growth.
pub(super) fn growth(points: &[&Point]) -> Option<Model> {
    let sweep =
        Sweep { points: points.to_vec(), axes: Vec::new(), all: &[], times: Times::default() };
    let pairs = |sweep: &Sweep<'_>| -> Option<Vec<(f64, f64)>> {
        let pair = |point: &&Point| Some((real(point.params.ranks()?), sweep.time_us(point)?));
        sweep.points.iter().map(pair).collect()
    };
    let scaling = Scaling::fit(&pairs(&sweep)?).ok()?;
    let extent = extent(pairs(&sweep)?.iter().map(|(n_ranks, _)| *n_ranks));
    let wire = |growth: Growth, line: &Line, weight| -> Fit {
        let mut parameters = vec![parameter("a", "us", Some(line.t0), line.t0_range())];
        if growth != Growth::None {
            parameters.push(parameter("b", "us", Some(line.per_unit), line.per_unit_range()));
            parameters.push(parameter("weight", "", Some(weight), None));
        }
        let law = format!("t = {}", growth.formula());
        fit([growth.name(), &law], extent, parameters, &line.quality, 1)
    };
    // Launches choose no law of their own.
    let candidates = |sweep: &Sweep<'_>| {
        let pairs = pairs(sweep)?;
        let candidate =
            |of: &Candidate| Some(wire(of.growth, &of.growth.fit(&pairs).ok()?, of.weight));
        scaling.candidates.iter().map(candidate).collect()
    };
    let fits = sweep.across_launches(candidates)?;
    let blank = sweep.model("scaling", [RANKS, ""]);
    let params = points[0].params.without(&FREE);
    Some(Model { fits, params, weights: "relative".into(), ..blank })
}

/// The law of the rate over the operations for each word that moves.
pub(super) fn intensity(mut sweep: Sweep<'_>, _: &[u64]) -> Option<Model> {
    let axis = sweep.axes[0];
    sweep.points.sort_by_key(|point| point.number(&axis.name));
    let law = |sweep: &Sweep<'_>| {
        let rate = |point: &&Point| {
            Some((real(point.number(&axis.name)?), operations(point)? / sweep.time_us(point)?))
        };
        let rates: Vec<(f64, f64)> = sweep.points.iter().map(rate).collect::<Option<_>>()?;
        // A rate and its time have the same relative error.
        let widths = half_widths_us(&sweep.points).and_then(|widths| {
            let of_rate = |(width, (point, (_, rate))): (f64, (&&Point, &(f64, f64)))| {
                Some(width / time_us(point)? * rate)
            };
            let points = sweep.points.iter().zip(&rates);
            widths.into_iter().zip(points).map(of_rate).collect::<Option<Vec<_>>>()
        });
        let law = Intensity::fit(&rates, weights(widths.as_deref())).ok()?;
        let parameters = intensity_parameters(&law);
        let names = ["intensity", INTENSITY];
        Some(vec![fit(names, sweep.extent(0), parameters, &law.quality, 1)])
    };
    let mut model = sweep.model("intensity", [&axis.name, "flop/word"]);
    model.fits = sweep.across_launches(law)?;
    Some(model)
}

/// Floating-point operations of one operation of a sweep over the order of a polynomial: Horner's
/// rule does two for each order and element, and each element is a word that comes and one that
/// goes.
pub(crate) fn operations(point: &Point) -> Option<f64> {
    let order = point.on(Over::Kind(comet_core::kernel::AxisKind::Intensity))?;
    Some(2.0 * real(order) * real(point.on(Over::Vector)?))
}

/// The parameters, and the demands that follow: an intensity of `4 f_half`, and the edge of regions
/// that exchange their surfaces.
fn intensity_parameters(law: &Intensity) -> Vec<Parameter> {
    let required = law.required();
    let range = scaled(law.f_half_range, required / law.f_half);
    let edge = |name, n_dimensions: u32| {
        let edge = |f| subdomain_edge(f, n_dimensions, f64::from(2 * n_dimensions + 1));
        let range = range.map(|range| Range { low: edge(range.low), high: edge(range.high) });
        parameter(name, "points", Some(edge(required)), range)
    };
    vec![
        parameter("r_hat", "Mflop/s", Some(law.r_hat), law.r_hat_range),
        parameter("f_half", "flop/word", Some(law.f_half), law.f_half_range),
        parameter("required_intensity", "flop/word", Some(required), range),
        edge("edge_2d", 2),
        edge("edge_3d", 3),
    ]
}
