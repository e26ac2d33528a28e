//! Costs of one message of a train: gap and overheads over message lengths.

use super::caption;
use super::chart::{self, axis, figure, figure_value};
use super::sources::{Kernel, Measured, Sources};
use crate::models::sweep::{number, real};
use crate::plot::{Figure, Kind, Point, Scale, Series};

const KERNEL: &str = "model/injection";
const LENGTH: &str = "length_bytes";

/// Names of the figures in the record, and in legends.
const COSTS: [(&str, &str); 3] = [
    ("gap_ns", "gap between messages"),
    ("send_overhead_ns", "overhead of a send"),
    ("receive_overhead_ns", "overhead of a receive"),
];

/// One figure of the gap and both overheads.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let Some(kernel) = sources.kernel(KERNEL) else { return Vec::new() };
    let kernel = kernel.on_most_ranks();
    let drawn = (0..kernel.sources.len()).flat_map(|source| of_source(&kernel, source)).collect();
    let y_axis = chart::times("time of one message", Scale::Log10);
    let chart = chart::chart(axis(&kernel, LENGTH, Scale::Log2), y_axis, drawn);
    let what = "Gap between the messages of a train, and what each costs the CPUs of sender and \
                receiver, against message length";
    let caption = caption::of_ratio(what, &kernel);
    let title = format!("{KERNEL}: gap and overheads");
    vec![figure(format!("{}-costs", kernel.id()), title, caption, chart)]
}

/// A curve for each cost; where several delays tell it, that by the shortest.
fn of_source(kernel: &Kernel<'_>, source: usize) -> Vec<Series> {
    let curve = |(colour, (name, words)): (usize, &(&str, &str))| {
        let cost = |measured: &Measured<'_>| {
            let (length, ns) =
                (number(measured.point, LENGTH)?, figure_value(measured.point, name)?);
            Some(Point { x: real(length), y: ns, ..Point::default() })
        };
        let of_source = kernel.points.iter().filter(|measured| measured.source == source);
        let mut points: Vec<Point> = of_source.filter_map(cost).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points.dedup_by(|later, first| later.x == first.x);
        let is_alone = kernel.sources.len() == 1;
        let name =
            if is_alone { (*words).into() } else { format!("{words}, {}", kernel.sources[source]) };
        Series { name, kind: Kind::Curve, colour, run: source, points }
    };
    let curves = COSTS.iter().enumerate().map(curve);
    curves.filter(|series| !series.points.is_empty()).collect()
}
