//! Laws of models, as curves to draw and as errors of the points. Each is drawn from the published
//! parameters of its model; a law that is not published has no line.

use super::chart::{Y, bytes};
use super::curve::Curve;
use crate::models::sweep::{quoted_ns, real};
use crate::models::{quoted, value};
use crate::plot::{Kind, Trace, Vertex};
use crate::record::{Fit, Model, Point};

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
    let (colour, run) = (curve.colour, curve.source);
    Trace { name, kind: Kind::Fit, colour, run, points }
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
    let (name, colour, run) = (curve.name.clone(), curve.colour, curve.source);
    (!points.is_empty()).then_some(Trace { name, kind: Kind::Scatter, colour, run, points })
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
