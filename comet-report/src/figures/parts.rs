//! Figures of kernels whose series make numbers together: an echo beside a load, an exchange beside
//! work, and the costs of one message of a train; and a value for each pair of ranks, with borders
//! between nodes.

use comet_core::kernel::{Class, Evaluation};

use super::chart::{self, along, axis, figure_value, series, values};
use super::curve::{Curve, curves, evenly};
use super::sizes::label;
use super::sources::KernelPoints;
use crate::models::sweep::real;
use crate::pairs::{PairMatrix, matrices};
use crate::plot::{Body, Figure, HeatMap, Kind, Quantity, Scale, Trace, Vertex};
use crate::record::{Over, Point, Run};
use crate::units::bytes;
use crate::words;

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

const MAX_LENGTHS: usize = 4;

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
    kernel.figure("time", "one-way time under load", chart::caption(what, kernel), chart)
}

fn slowdowns(kernel: &KernelPoints<'_>, x: &str) -> Figure {
    let with_ratio = kernel.only(|point| !point.figures.is_empty());
    let of_curve = |curve: &Curve<'_>| {
        SLOWDOWNS
            .iter()
            .enumerate()
            .map(|(colour, (name, words))| {
                let name_of = kernel.named(words, curve.source);
                Trace {
                    name: name_of,
                    colour,
                    ..values(curve, x, |point| figure_value(point, name))
                }
            })
            .collect::<Vec<_>>()
    };
    let drawn = curves(&with_ratio, x).iter().flat_map(of_curve).collect();
    let y_axis = axis("time under load over time without", Quantity::Ratio, Scale::Linear);
    let mut chart = chart::chart(along(kernel, x, Scale::Log2), y_axis, drawn);
    chart.marks.push(chart::level("no slowdown".into(), 1.0, 0));
    let what = "Ratio of the median times of an echo with and without load, against message length";
    kernel.figure("slowdown", "slowdown", chart::caption_of_ratio(what, kernel), chart)
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
    Some(kernel.figure("costs", "gap and overheads", chart::caption_of_ratio(what, &kernel), chart))
}

/// A curve for each cost; where several delays give it, that by the shortest.
fn costs_of(kernel: &KernelPoints<'_>, x: &str, source: usize) -> Vec<Trace> {
    let curve = |(colour, (name, words)): (usize, &(&str, &str))| {
        let cost = |point: &Point| {
            let (x, y) = (real(point.number(x)?), figure_value(point, name)?);
            Some(Vertex { x, y, ..Vertex::default() })
        };
        let mut points: Vec<Vertex> = kernel.of(source).filter_map(cost).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points.dedup_by(|later, first| later.x == first.x);
        let name = kernel.named(words, source);
        Trace { name, kind: Kind::Curve, colour, run: source, points }
    };
    let curves = COSTS.iter().enumerate().map(curve);
    curves.filter(|series| !series.points.is_empty()).collect()
}

/// A share of an overlap: its name in figures and in models, percents for each of either, the end
/// of the figure's id, its axis, and what it is.
struct Share {
    figure: (&'static str, f64),
    model: (&'static str, f64),
    id: &'static str,
    label: &'static str,
    meaning: &'static str,
}

const SHARES: [Share; 2] = [
    Share {
        figure: ("improvement_percent", 1.0),
        model: ("improvement", 100.0),
        id: "gain",
        label: "gain by overlapping",
        meaning: "By how much of the time of a blocked exchange and a DAXPY one after the other \
                  the overlapped ones take less",
    },
    Share {
        figure: ("overlap_share", 100.0),
        model: ("overlap_share", 100.0),
        id: "share",
        label: "hidden share",
        meaning: "Which share of the shorter of exchange and DAXPY is hidden behind the other",
    },
];

/// Both shares of an overlap, and the times with messages of a few lengths.
pub(super) fn overlap(kernel: &KernelPoints<'_>) -> Vec<Figure> {
    let kernel = kernel.on_most_ranks();
    let [length, work] = [Over::Message, Over::Vector].map(|over| kernel.over(over));
    let axes = length.zip(work).filter(|_| kernel.class() == Some(Class::Overlap));
    let Some((length, work)) = axes else { return Vec::new() };
    let shares = SHARES.iter().map(|share| of_share(&kernel, length, share));
    let lengths = evenly(&kernel.values(length), MAX_LENGTHS);
    let times = lengths.iter().map(|bytes| beside_work(&kernel, [length, work], *bytes));
    shares.chain(times.filter(|_| kernel.values(work).len() > 1)).collect()
}

fn of_share(kernel: &KernelPoints<'_>, x: &str, share: &Share) -> Figure {
    let with_share = kernel.only(|point| figure_value(point, share.figure.0).is_some());
    let drawn = curves(&with_share, x).iter().map(|curve| share.series(curve, x)).collect();
    let y_axis = axis(share.label, Quantity::Percent, Scale::Linear);
    let chart = chart::chart(along(kernel, x, Scale::Log2), y_axis, drawn);
    let what = format!("{}, against message length", share.meaning);
    kernel.figure(share.id, share.label, chart::caption_of_ratio(&what, &with_share), chart)
}

impl Share {
    fn series(&self, curve: &Curve<'_>, x: &str) -> Trace {
        let (name, factor) = self.figure;
        let value = |point: &Point| Some(factor * figure_value(point, name)?);
        let mut series = values(curve, x, value);
        let with_value = curve.points.iter().filter(|point| value(point).is_some());
        for (plotted, point) in series.points.iter_mut().zip(with_value) {
            plotted.interval = self.interval(curve, point);
        }
        series
    }

    fn interval(&self, curve: &Curve<'_>, point: &Point) -> Option<(f64, f64)> {
        let (name, factor) = self.model;
        let model = Curve { points: vec![point], ..curve.clone() }.model("overlap", &[])?;
        let mark = model.marks.iter().find(|mark| mark.name == name)?;
        Some((factor * mark.low?, factor * mark.high?)).filter(|(low, high)| low < high)
    }
}

fn beside_work(kernel: &KernelPoints<'_>, [length, x]: [&str; 2], length_bytes: u64) -> Figure {
    let kernel = kernel.only(|point| point.number(length) == Some(length_bytes));
    let drawn = curves(&kernel, x).iter().map(|curve| series(curve, x, chart::time)).collect();
    let y_axis = chart::times("time of an operation", Scale::Log10);
    let chart = chart::chart(along(&kernel, x, Scale::Log2), y_axis, drawn);
    let messages = bytes(length_bytes);
    let what = format!(
        "Times of an exchange of {messages}, of a DAXPY, and of both, one after the other \
         (synchronous) and overlapped (asynchronous), against vector length"
    );
    let title = format!("times with messages of {messages}");
    kernel.figure(&format!("time-{length_bytes}"), &title, chart::caption(&what, &kernel), chart)
}

/// A figure for each message length of each source of a kernel that takes each two ranks in rounds.
pub(super) fn of_pairs(kernel: &KernelPoints<'_>) -> Vec<Figure> {
    let of_source = |source: usize| {
        let figure = |matrix: PairMatrix| {
            let PairMatrix { n_ranks, length_bytes, .. } = matrix;
            let id = format!("{}-{n_ranks}-{length_bytes}-{source}", kernel.id());
            heat_map(&id, &matrix, kernel.run(source, n_ranks))
        };
        let points: Vec<&Point> = kernel.of(source).collect();
        matrices(&points).into_iter().map(figure).collect::<Vec<_>>()
    };
    (0..kernel.sources.len()).flat_map(of_source).collect()
}

/// The figure `id` of `matrix`; the hosts of ranks are those of `run`.
pub(super) fn heat_map(id: &str, matrix: &PairMatrix, run: Option<&Run>) -> Figure {
    let nodes: Vec<Option<&str>> = (0..matrix.n_ranks).map(|rank| node(run, rank)).collect();
    let starts_node = |rank: &usize| nodes[*rank] != nodes[rank - 1];
    let name = |(rank, node): (usize, &Option<&str>)| {
        node.map_or_else(|| rank.to_string(), |node| format!("{rank} ({node})"))
    };
    let map = HeatMap {
        names: nodes.iter().enumerate().map(name).collect(),
        quantity: matrix.quantity,
        values: matrix.values.clone(),
        borders: (1..matrix.n_ranks).filter(starts_node).collect(),
        axes: ["from rank".into(), "to rank".into()],
    };
    let n_missing = matrix.values.iter().filter(|value| value.is_none()).count();
    let caption = format!(
        "{} from the rank of each row to that of each column, on {} ranks. Lines are borders of \
         nodes; {n_missing} of {} pairs have no value.",
        words::capital(&matrix.title),
        matrix.n_ranks,
        matrix.values.len(),
    );
    let title = matrix.title.clone();
    Figure { id: id.into(), number: None, title, caption, body: Body::HeatMap(map) }
}

fn node(run: Option<&Run>, rank: usize) -> Option<&str> {
    run?.world.ranks.iter().find(|entry| entry.rank == rank)?.node.as_deref()
}
