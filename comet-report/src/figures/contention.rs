//! Contention: an echo beside a load, its times and how much slower they are.

use super::caption;
use super::chart::{self, axis, figure, figure_value, series, values};
use super::curve::curves;
use super::sources::{Kernel, Sources};
use super::time::label;
use crate::plot::{Axis, Figure, Quantity, Scale};

const KERNEL: &str = "comet/contention";
const LENGTH: &str = "length_bytes";

/// Names of the ratios in the record, and in legends.
const SLOWDOWNS: [(&str, &str); 2] =
    [("slowdown_at_half_load", "50 % load"), ("slowdown_at_ninety_load", "90 % load")];

/// Series of the record as legends have them, and what they are called beside the ratios.
const LOADS: [(&str, &str); 2] = [("half load", "50 % load"), ("ninety load", "90 % load")];

/// Times, and ratios of them.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let Some(kernel) = sources.kernel(KERNEL) else { return Vec::new() };
    let kernel = kernel.on_most_ranks();
    if kernel.values(LENGTH).len() < 2 {
        return Vec::new();
    }
    vec![times(&kernel), slowdowns(&kernel)]
}

fn times(kernel: &Kernel<'_>) -> Figure {
    let mut drawn: Vec<_> =
        curves(kernel, LENGTH).iter().map(|curve| series(curve, LENGTH, chart::time)).collect();
    for series in &mut drawn {
        for (name, words) in LOADS {
            series.name = series.name.replace(name, words);
        }
    }
    let y_axis = chart::times(label(kernel), Scale::Log10);
    let chart = chart::chart(axis(kernel, LENGTH, Scale::Log2), y_axis, drawn);
    let what = "One-way time of an echo against message length, without load, and while two other \
                ranks load the links with messages that reach 50 % and 90 % of the best bandwidth";
    let title = format!("{KERNEL}: one-way time under load");
    figure(format!("{}-time", kernel.id()), title, caption::of(what, kernel), chart)
}

fn slowdowns(kernel: &Kernel<'_>) -> Figure {
    let with_ratio = kernel.only(|point| !point.figures.is_empty());
    let mut drawn = Vec::new();
    for curve in curves(&with_ratio, LENGTH) {
        for (colour, (name, words)) in SLOWDOWNS.iter().enumerate() {
            let mut series = values(&curve, LENGTH, |point| figure_value(point, name));
            let source = Some(&kernel.sources[curve.source]).filter(|_| kernel.sources.len() > 1);
            series.name = source.map_or((*words).into(), |source| format!("{words}, {source}"));
            series.colour = colour;
            drawn.push(series);
        }
    }
    let (label, quantity) = ("time under load over time without".into(), Quantity::Ratio);
    let y_axis = Axis { label, quantity, scale: Scale::Linear };
    let mut chart = chart::chart(axis(kernel, LENGTH, Scale::Log2), y_axis, drawn);
    chart.marks.push(chart::level("no slowdown".into(), 1.0, 0));
    let what = "Ratio of the median times of an echo with and without load, against message length";
    let title = format!("{KERNEL}: slowdown");
    let caption = caption::of_ratio(what, kernel);
    figure(format!("{}-slowdown", kernel.id()), title, caption, chart)
}
