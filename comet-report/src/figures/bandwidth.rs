//! Bandwidths over sizes, with the rate of endless messages and the length that reaches half of it.

use super::caption;
use super::chart::{self, add_lines, axis, figure, level, place, series, size};
use super::curve::{Curve, curves};
use super::law;
use super::sources::{Kernel, Sources};
use super::time::{is_plain, shown};
use crate::models::sweep::number;
use crate::plot::{Axis, Figure, Mark, Quantity, Scale};
use crate::record::{Fit, Model, Verdict};
use crate::words;

/// A figure for each kernel whose operations move bytes.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    sources.kernels().iter().filter(|kernel| is_plain(kernel)).filter_map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Option<Figure> {
    // What a rank sends to itself has the rate of no link.
    let kernel =
        shown(kernel).only(|point| point.rate.is_some() && number(point, "hops") != Some(0));
    let x = size(&kernel)?;
    let curves = curves(&kernel, x);
    let drawn = curves.iter().map(|curve| series(curve, x, chart::rate)).collect();
    let mut chart = chart::chart(axis(x, Scale::Log2), rates(), drawn);
    add_lines(&mut chart, &curves, x, chart::rate);
    chart.residuals.clear();
    let first = curves.first().and_then(|curve| Some((law::model(curve)?, curve)));
    chart.marks = first.map_or(Vec::new(), |(model, curve)| marks(&model, curve, x));
    let what = format!("Bandwidth of {} against {}", kernel.name, chart.x.label);
    let mut caption = caption::of(&what, &kernel);
    if !chart.marks.is_empty() {
        caption += " r_inf is the rate of endless messages by the fitted line, n_half the size at \
                    which half of it is reached.";
    }
    let title = format!("{}: bandwidth", kernel.name);
    Some(figure(format!("{}-bandwidth", kernel.id()), title, caption, chart))
}

/// The axis of bandwidths.
pub(super) fn rates() -> Axis {
    let (label, quantity) = ("bandwidth".into(), Quantity::BytesPerSecond);
    Axis { label, quantity, scale: Scale::Linear }
}

/// The rate of endless messages, and the size at which half of it is reached: of one line, if that
/// describes all points, and else of the last segment and of the points themselves.
fn marks(model: &Model, curve: &Curve<'_>, x: &str) -> Vec<Mark> {
    let is_one = model.fits.first().is_some_and(|fit| fit.quality.verdict != Verdict::Segment);
    let of_name = |name: &str| model.fits.iter().rev().find(|fit| fit.name == name);
    let fit = of_name(if is_one { "line" } else { "segment" });
    let rate = fit.and_then(|fit| value(fit, "r_inf")).map(|rate| 1e6 * rate);
    let of_points = model.marks.iter().find(|mark| mark.name == "n_half_measured");
    let half = match is_one {
        true => fit.and_then(|fit| value(fit, "n_half")),
        false => of_points.and_then(|mark| mark.value),
    };
    let half = half.map(|size| size / law::sizes_per_unit(model, curve, x));
    let rate =
        rate.map(|rate| level(format!("r_inf {}", words::bytes_per_s(rate)), rate, curve.colour));
    let unit = if x == "length_bytes" { " B" } else { "" };
    let half =
        half.map(|size| place(format!("n_half {}{unit}", words::digits(size)), size, curve.colour));
    rate.into_iter().chain(half).collect()
}

fn value(fit: &Fit, name: &str) -> Option<f64> {
    fit.parameters.iter().find(|parameter| parameter.name == name)?.value
}
