//! Laws over sizes: the lines of a sweep's model, as curves to draw and as errors of the points.
//!
//! A model publishes no startup time that is not positive, so its lines are put through the points
//! once more, over the ranges that the model has.

use comet_stats::fit::Line;

use super::chart::{Y, bytes};
use super::curve::Curve;
use crate::models::models;
use crate::models::sweep::{half_widths_us, number, quoted_ns, real, weights};
use crate::plot::{Kind, Point, Series};
use crate::record::{Model, Point as Record};

/// Steps in which a law is drawn.
const N_STEPS: u32 = 32;

/// A line over a range of sizes.
#[derive(Clone, Debug)]
pub(super) struct SizeLine<'a> {
    /// The line; times in us.
    line: Line,
    /// The points that it was put through, ascending.
    points: Vec<&'a Record>,
    /// The first and the last size.
    extent: [f64; 2],
    /// Bytes that an operation moves for each unit of size.
    bytes_per_unit: Option<f64>,
}

/// The model of the line through `curve` over the size `x`.
pub(super) fn model(curve: &Curve<'_>) -> Option<Model> {
    models(&curve.points, &[]).into_iter().find(|model| model.model == "line")
}

/// Bytes that an operation moves for each unit of the size `x`; `None` if it moves none.
pub(super) fn bytes_per_unit(curve: &Curve<'_>, x: &str) -> Option<f64> {
    let of = |point: &&Record| {
        let length = number(point, x).filter(|length| *length > 0)?;
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
pub(super) fn lines<'a>(curve: &Curve<'a>, x: &str) -> Vec<SizeLine<'a>> {
    let Some(model) = model(curve) else { return Vec::new() };
    let factor = sizes_per_unit(&model, curve, x);
    let is_segmented = model.fits.iter().any(|fit| fit.name == "segment");
    let name = if is_segmented { "segment" } else { "line" };
    let line = |fit: &crate::record::Fit| {
        let is_inside = |point: &&&Record| {
            let size = number(point, x).map(|size| real(size) * factor);
            size.is_some_and(|size| (fit.from..=fit.to).contains(&size))
        };
        let points: Vec<&Record> = curve.points.iter().filter(is_inside).copied().collect();
        SizeLine::through(points, x, bytes_per_unit(curve, x))
    };
    model.fits.iter().filter(|fit| fit.name == name).filter_map(line).collect()
}

impl<'a> SizeLine<'a> {
    fn through(points: Vec<&'a Record>, x: &str, bytes_per_unit: Option<f64>) -> Option<Self> {
        let pair = |point: &&Record| Some((real(number(point, x)?), quoted_ns(point)? / 1e3));
        let pairs: Vec<(f64, f64)> = points.iter().map(pair).collect::<Option<_>>()?;
        let widths = half_widths_us(&points);
        let line = Line::fit_robust(&pairs, weights(widths.as_deref())).ok()?;
        let extent = [pairs.first()?.0, pairs.last()?.0];
        Some(Self { line, points, extent, bytes_per_unit })
    }

    /// The line as a curve: `y` of its times.
    pub(super) fn series(&self, curve: &Curve<'_>, y: Y) -> Series {
        let at = |x: f64| {
            let bytes = self.bytes_per_unit.map(|each| x * each);
            Some(Point { x, y: y(bytes, 1e3 * self.line.at(x))?, ..Point::default() })
        };
        let points: Vec<Point> = steps(self.extent).into_iter().filter_map(at).collect();
        fit(curve, points)
    }

    /// How far each point is from the line, in percent of it.
    pub(super) fn residuals(&self, curve: &Curve<'_>, x: &str) -> Option<Series> {
        residuals(curve, &self.points, x, |size| 1e3 * self.line.at(size))
    }
}

/// A law that `curve` follows, drawn through `points`. All parts of a law have one name.
pub(super) fn fit(curve: &Curve<'_>, points: Vec<Point>) -> Series {
    let name = format!("fit of {}", curve.name);
    let (colour, run) = (curve.colour, curve.source);
    Series { name, kind: Kind::Fit, colour, run, points }
}

/// How far the times of `points` are from those of a law in ns, in percent of it.
pub(super) fn residuals(
    curve: &Curve<'_>,
    points: &[&Record],
    x: &str,
    law_ns: impl Fn(f64) -> f64,
) -> Option<Series> {
    let residual = |point: &&Record| {
        let size = real(number(point, x)?);
        let percent = 100.0 * (quoted_ns(point)? / law_ns(size) - 1.0);
        // What rounding left behind is no error of the law.
        let percent = (percent * 1e6).round() / 1e6;
        percent.is_finite().then(|| Point { x: size, y: percent, ..Point::default() })
    };
    let points: Vec<Point> = points.iter().filter_map(residual).collect();
    let (name, colour, run) = (curve.name.clone(), curve.colour, curve.source);
    (!points.is_empty()).then_some(Series { name, kind: Kind::Scatter, colour, run, points })
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
