//! Figures of kernels whose series make numbers together: an echo beside a load, and the costs of one
//! message of a train.

use comet_core::kernel::{Class, Evaluation};

use super::caption::Caption;
use super::chart::{self, along, axis, figure_value, series, values};
use super::curve::{Curve, curves};
use super::sizes::label;
use super::sources::{KernelPoints, Look};
use crate::models::sweep::real;
use crate::plot::{Figure, Kind, Quantity, Scale, Trace, Vertex};
use crate::record::{Over, Point};

/// Names of the ratios under load in the record, and in legends.
const SLOWDOWNS: [(&str, &str); 2] =
    [("slowdown_at_half_load", "50 % load"), ("slowdown_at_ninety_load", "90 % load")];

const LOADS: [(&str, &str); 2] = [("half load", "50 % load"), ("ninety load", "90 % load")];

/// Names of the costs of a message in the record, and in legends.
const COSTS: [(&str, &str); 3] = [
    ("gap_ns", "gap between messages"),
    ("send_overhead_ns", "overhead of a send"),
    ("receive_overhead_ns", "overhead of a receive"),
];

pub(super) fn contention(kernel: &KernelPoints<'_>) -> Vec<Figure> {
    let x = kernel.over(Over::Message).filter(|_| kernel.class() == Some(Class::Contention));
    let kernel = kernel.on_most_ranks();
    match x.filter(|x| kernel.values(x).len() > 1) {
        Some(x) => vec![loaded(&kernel, x), slowdowns(&kernel, x)],
        None => Vec::new(),
    }
}

fn loaded(kernel: &KernelPoints<'_>, x: &str) -> Figure {
    let mut drawn: Vec<Trace> =
        curves(kernel, x).iter().map(|curve| series(curve, x, chart::time)).collect();
    for series in &mut drawn {
        for (name, words) in LOADS {
            series.name = series.name.replace(name, words);
        }
    }
    let y_axis = chart::times(label(kernel), Scale::Log10);
    let chart = chart::chart(along(kernel, x, Scale::Log2), y_axis, drawn);
    let what = "One-way time of an echo against message length, without load, and while two other \
                ranks load the links with messages that reach 50 % and 90 % of the best bandwidth";
    kernel.figure("time", "one-way time under load", Caption::of(what, kernel), chart)
}

fn slowdowns(kernel: &KernelPoints<'_>, x: &str) -> Figure {
    let with_ratio = kernel.only(|point| !point.figures.is_empty());
    let of_curve = |curve: &Curve<'_>| {
        SLOWDOWNS
            .iter()
            .enumerate()
            .map(|(number, (name, words))| {
                let Look { colour, dashes } = kernel.look(number, curve.source);
                let values = values(curve, x, |point| figure_value(point, name));
                Trace { name: kernel.named(words, curve.source), colour, dashes, ..values }
            })
            .collect::<Vec<_>>()
    };
    let drawn = curves(&with_ratio, x).iter().flat_map(of_curve).collect();
    let y_axis = axis("time under load over time without", Quantity::Ratio, Scale::Linear);
    let mut chart = chart::chart(along(kernel, x, Scale::Log2), y_axis, drawn);
    chart.marks.push(chart::level("no slowdown".into(), 1.0, 0));
    let what = "Ratio of the mean times of an echo with and without load, against message length";
    kernel.figure("slowdown", "slowdown", Caption::of_ratio(what, kernel), chart)
}

pub(super) fn trains(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let x = kernel.over(Over::Message)?;
    if kernel.facts().evaluation != Evaluation::Trains {
        return None;
    }
    let kernel = kernel.on_most_ranks();
    let of_source = |source| costs_of(&kernel, x, source);
    let drawn = (0..kernel.sources.len()).flat_map(of_source).collect();
    let y_axis = chart::times("time of one message", Scale::Log10);
    let chart = chart::chart(along(&kernel, x, Scale::Log2), y_axis, drawn);
    let what = "Gap between the messages of a train, and what each costs the CPUs of sender and \
                receiver, against message length";
    Some(kernel.figure("costs", "gap and overheads", Caption::of_ratio(what, &kernel), chart))
}

/// A curve for each cost; where several delays give it, that by the shortest.
fn costs_of(kernel: &KernelPoints<'_>, x: &str, source: usize) -> Vec<Trace> {
    let curve = |(number, (name, words)): (usize, &(&str, &str))| {
        let cost = |point: &Point| {
            let (x, y) = (real(point.number(x)?), figure_value(point, name)?);
            Some(Vertex { x, y, ..Vertex::default() })
        };
        let mut points: Vec<Vertex> = kernel.of(source).filter_map(cost).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points.dedup_by(|later, first| later.x == first.x);
        let (name, Look { colour, dashes }) =
            (kernel.named(words, source), kernel.look(number, source));
        Trace { name, kind: Kind::Curve, colour, dashes, points }
    };
    let curves = COSTS.iter().enumerate().map(curve);
    curves.filter(|series| !series.points.is_empty()).collect()
}
