//! Curves: the points that differ in one parameter alone, with names and colours that tell them
//! from each other; and the laws of their models, drawn from the published parameters, with the errors
//! of the points. A law that is not published has no line.

use super::chart::{Y, bytes};
use super::sources::{KernelPoints, Look, Measured};
use crate::format::has_changed;
use crate::models::sweep::{quoted_ns, real};
use crate::models::{Fitted, quoted, sweep, value};
use crate::order::grouped;
use crate::plot::{Kind, Trace, Vertex};
use crate::record::{Fit, Model, Point, Quality, Quote, RANKS};
use crate::{plot, words};

/// Steps in which a law is drawn.
const N_STEPS: u32 = 32;

/// A line over a range of sizes.
#[derive(Clone, Debug)]
pub(super) struct SizeLine {
    /// Time at size 0, in ns.
    start_ns: f64,
    /// Time for each unit of size, in ns.
    per_unit_ns: f64,
    extent: [f64; 2],
    /// Bytes that an operation moves for each unit of size.
    bytes_per_unit: Option<f64>,
}

/// Bytes that an operation moves for each unit of the size `x`; `None` if it moves none.
fn bytes_per_unit(curve: &Curve<'_>, x: &str) -> Option<f64> {
    let of = |point: &&Point| {
        let length = point.number(x).filter(|length| *length > 0)?;
        Some(bytes(point)? / real(length))
    };
    curve.points.iter().find_map(of)
}

/// Sizes of `model` for each unit of the size `x`: it may count all bytes that an operation moves.
pub(super) fn sizes_per_unit(model: &Model, curve: &Curve<'_>, x: &str) -> f64 {
    let factor = bytes_per_unit(curve, x).filter(|_| model.x == "bytes_per_op");
    factor.unwrap_or(1.0)
}

/// The lines of `curve` over the size `x`: its segments, or the one over all of it.
pub(super) fn lines(curve: &Curve<'_>, x: &str) -> Vec<SizeLine> {
    let Some(model) = curve.model("line", &[x]) else { return Vec::new() };
    let factor = sizes_per_unit(model, curve, x);
    let bytes_per_unit = bytes_per_unit(curve, x);
    // The least size that is drawn.
    let first = curve.points.first().and_then(|point| point.number(x)).map_or(0.0, real);
    let line = |fit: &Fit| {
        let of = |name| value(&fit.parameters, name);
        Some(SizeLine {
            start_ns: 1e3 * of("t0").or_else(|| of("intercept"))?,
            per_unit_ns: 1e3 * factor / of("r_inf")?,
            extent: [(fit.from / factor).max(first), fit.to / factor],
            bytes_per_unit,
        })
    };
    let lines = quoted(model).into_iter().filter_map(line);
    lines.filter(|line| line.extent[0] < line.extent[1]).collect()
}

impl SizeLine {
    fn ns(&self, size: f64) -> f64 {
        self.start_ns + size * self.per_unit_ns
    }

    pub(super) fn series(&self, curve: &Curve<'_>, y: Y) -> Trace {
        let at = |x: f64| {
            let bytes = self.bytes_per_unit.map(|each| x * each);
            Some(Vertex { x, y: y(bytes, self.ns(x))?, ..Vertex::default() })
        };
        fit(curve, steps(self.extent).into_iter().filter_map(at).collect())
    }

    /// The errors of the points of `curve` in its range, in percent of the line.
    pub(super) fn residuals(&self, curve: &Curve<'_>, x: &str) -> Option<Trace> {
        let [from, to] = self.extent;
        let is_inside =
            |point: &&&Point| point.number(x).is_some_and(|size| (from..=to).contains(&real(size)));
        let points: Vec<&Point> = curve.points.iter().filter(is_inside).copied().collect();
        residuals(curve, &points, x, |size| self.ns(size))
    }
}

/// The law `y` that `curve` follows, drawn over `extent`.
pub(super) fn drawn(curve: &Curve<'_>, extent: [f64; 2], y: impl Fn(f64) -> f64) -> Trace {
    let at = |x: f64| Vertex { x, y: y(x), ..Vertex::default() };
    fit(curve, steps(extent).into_iter().map(at).collect())
}

/// A law that `curve` follows, drawn through `points`. All parts of a law have one name.
pub(super) fn fit(curve: &Curve<'_>, points: Vec<Vertex>) -> Trace {
    let name = format!("fit of {}", curve.name);
    curve.trace(name, Kind::Fit, points)
}

/// The differences of the times of `points` from those of a law in ns, in percent of it.
pub(super) fn residuals(
    curve: &Curve<'_>,
    points: &[&Point],
    x: &str,
    law_ns: impl Fn(f64) -> f64,
) -> Option<Trace> {
    let residual = |point: &&Point| {
        let size = real(point.number(x)?);
        let percent = 100.0 * (quoted_ns(point)? / law_ns(size) - 1.0);
        // Rounding is no error of the law.
        let percent = (percent * 1e6).round() / 1e6;
        percent.is_finite().then(|| Vertex { x: size, y: percent, ..Vertex::default() })
    };
    let points: Vec<Vertex> = points.iter().filter_map(residual).collect();
    (!points.is_empty()).then(|| curve.trace(curve.name.clone(), Kind::Scatter, points))
}

/// Places from the first to the last of `extent` at which a law is drawn, in equal ratios; 0 comes
/// before the ratios.
pub(super) fn steps([from, to]: [f64; 2]) -> Vec<f64> {
    let first = if from > 0.0 { from } else { to.min(1.0) };
    let ratio = (to / first).max(1.0);
    let step = |index: u32| first * ratio.powf(f64::from(index) / f64::from(N_STEPS));
    let before = (from <= 0.0).then_some(from);
    let inside = (0..N_STEPS).map(step).filter(|x| *x < to);
    before.into_iter().chain(inside).chain([to]).collect()
}

/// The most curves of a source in a figure: there are as many colours.
pub(super) const MAX_CURVES: usize = 8;
/// The most curves of a figure, but for two of each source.
pub(super) const MAX_OVERLAID: usize = 20;

/// The points of one sweep in one source.
#[derive(Clone, Debug)]
pub(super) struct Curve<'a> {
    pub(super) source: usize,
    pub(super) name: String,
    /// Number of its kind, which is the same in all sources.
    pub(super) kind: usize,
    pub(super) look: Look,
    pub(super) points: Vec<&'a Point>,
    pub(super) models: &'a [Fitted],
}

impl<'a> Curve<'a> {
    /// The model `kind` of its sweep, over the parameters `free`.
    pub(super) fn model(&self, kind: &str, free: &[&str]) -> Option<&'a Model> {
        let point = self.points.first()?;
        let params = point.params.without(free);
        let is_it = |fitted: &&Fitted| {
            let Fitted { source, model, .. } = fitted;
            (*source, &*model.model) == (self.source, kind)
                && (&model.suite, &model.kernel) == (&point.suite, &point.kernel)
                && (model.variant.is_none() || model.variant == point.variant)
                && model.params == params
        };
        self.models.iter().find(is_it).map(|fitted| &fitted.model)
    }

    /// `points` in the look of this curve.
    pub(super) fn trace(&self, name: String, kind: Kind, points: Vec<Vertex>) -> Trace {
        let Look { colour, dashes } = self.look;
        Trace { name, kind, colour, dashes, points }
    }
}

/// Distinguishing traits of a curve, beside its source: the series and the parameters that are not
/// swept, in words.
type Traits = Vec<(String, String)>;

/// The curves of `kernel` over the parameter `x`, source by source; of each the same few kinds, evenly
/// chosen.
pub(super) fn curves<'a>(kernel: &KernelPoints<'a>, x: &str) -> Vec<Curve<'a>> {
    let has_ranks = kernel.is_on_several_numbers_of_ranks();
    let traits = |point: &Point| traits(point, x, has_ranks);
    let of_kind = |measured: &Measured<'a>| Some((traits(measured.point)?, *measured));
    let n_kinds = (MAX_OVERLAID / kernel.sources.len().max(1)).clamp(2, MAX_CURVES);
    let shown = kernel.points.iter().filter(|measured| kernel.shows(measured.point));
    let kinds = evenly(&grouped(shown.filter_map(of_kind)), n_kinds);
    let curve = |source: usize, number: usize| {
        let (kind, measured) = &kinds[number];
        let of_source = measured.iter().filter(|measured| measured.source == source);
        let mut points: Vec<&Point> = of_source.map(|measured| measured.point).collect();
        points.sort_by_key(|point| point.number(x));
        let source_name = Some(&kernel.sources[source]).filter(|_| kernel.sources.len() > 1);
        let name = name(kind, kinds.iter().map(|(kind, _)| kind), source_name);
        let look = kernel.look(number, source);
        Curve { source, name, kind: number, look, points, models: kernel.models }
    };
    let all = (0..kernel.sources.len())
        .flat_map(|source| (0..kinds.len()).map(move |number| (source, number)));
    let curves = all.map(|(source, number)| curve(source, number));
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

/// The traits of the curve over `x` that `point` lies on, its number of ranks among them if that is
/// `with_ranks`; `None` if it has no parameter `x`.
fn traits(point: &Point, x: &str, with_ranks: bool) -> Option<Traits> {
    point.number(x)?;
    let series = point.variant.clone().unwrap_or_default().replace('_', " ");
    let is_asked = |name: &str| point.facts.axis(name).is_some() && !point.facts.is_found(name);
    let is_trait = |name: &str| name != x && (is_asked(name) || with_ranks && name == RANKS);
    let kept = point.params.0.iter().filter(|(name, _)| is_trait(name));
    let words =
        kept.map(|(name, value)| (name.clone(), words::parameter(&point.facts, name, value)));
    Some(std::iter::once(("series".to_owned(), series)).chain(words).collect())
}

/// The traits of `kind` in which the `kinds` differ, or its series if there is no other, and its
/// source where there are several.
fn name<'t>(
    kind: &Traits,
    kinds: impl Iterator<Item = &'t Traits> + Clone,
    source: Option<&String>,
) -> String {
    let differs = |name: &str| {
        let of = |kind: &Traits| kind.iter().find(|(other, _)| other == name).cloned();
        kinds.clone().any(|other| of(other) != of(kind))
    };
    let mut parts: Vec<&str> =
        kind.iter().filter(|(name, _)| differs(name)).map(|(_, words)| &**words).collect();
    match source {
        Some(source) => parts.push(source),
        None if parts.is_empty() => parts.push(&kind[0].1),
        None => {}
    }
    parts.join(", ")
}

/// At most `n` of `items`, the first and the last among them.
pub(crate) fn evenly<T: Clone>(items: &[T], n: usize) -> Vec<T> {
    if items.len() <= n {
        return items.to_vec();
    }
    (0..n)
        .map(|index| items[index * (items.len() - 1) / n.saturating_sub(1).max(1)].clone())
        .collect()
}

/// `point` at `x`, with `y` of its time in ns, and of the ends of its ranges; `None` if it has no
/// such value.
pub(super) fn plotted(
    point: &Point,
    x: f64,
    y: impl Fn(f64) -> Option<f64>,
) -> Option<plot::Vertex> {
    let range = |ends: [f64; 2]| {
        let [a, b] = [y(ends[0])?, y(ends[1])?];
        Some((a.min(b), a.max(b))).filter(|(low, high)| low < high)
    };
    let is_median = sweep::quote(point) == Some(Quote::Median);
    let time = point.time_ns().filter(|_| is_median);
    let mut doubts = doubts(point.quality());
    if point.measured().is_some_and(|measured| measured.plan.is_refined) {
        doubts.push("measured in addition to the sweep");
    }
    let middle_half = time.and_then(|time| range([time.p25, time.p75]));
    Some(plot::Vertex {
        x,
        y: y(sweep::quoted_ns(point)?).filter(|y| y.is_finite())?,
        interval: point.interval_ns().and_then(range),
        middle_half,
        is_hollow: !doubts.is_empty(),
        note: doubts.join("; "),
        beyond: None,
    })
}

fn doubts(quality: Option<&Quality>) -> Vec<&'static str> {
    let Some(quality) = quality else { return Vec::new() };
    let has_changed = has_changed(quality);
    let doubts = [
        (quality.converged == Some(false), "interval wider than asked for"),
        (has_changed, "the machine changed its speed"),
    ];
    doubts.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words).collect()
}
