//! Overlap of an exchange with work: what it gains, which share it hides, and the times themselves.

use super::caption;
use super::chart::{self, axis, figure, figure_value, series, values};
use super::curve::{Curve, curves, evenly};
use super::sources::{Kernel, Sources};
use crate::models::sweep::number;
use crate::plot::{Axis, Figure, Quantity, Scale, Series};
use crate::record::Point;
use crate::units::bytes;

const KERNEL: &str = "comet/overlap";
const LENGTH: &str = "length_bytes";
const WORK: &str = "vector_length";

/// The most message lengths that get a figure of their times.
const MAX_LENGTHS: usize = 4;

/// A share of the overlap: its name in figures and in models, percents for each of either, the end
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

/// The figures of both shares, and of the times with messages of a few lengths.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let Some(kernel) = sources.kernel(KERNEL) else { return Vec::new() };
    let kernel = kernel.on_most_ranks();
    let shares = SHARES.iter().map(|share| of_share(&kernel, share));
    let lengths = evenly(&kernel.values(LENGTH), MAX_LENGTHS);
    let times = lengths.iter().map(|length| of_length(&kernel, *length));
    shares.chain(times.filter(|_| kernel.values(WORK).len() > 1)).collect()
}

fn of_share(kernel: &Kernel<'_>, share: &Share) -> Figure {
    let with_share = kernel.only(|point| figure_value(point, share.figure.0).is_some());
    let drawn = curves(&with_share, LENGTH).iter().map(|curve| share.series(curve)).collect();
    let (label, quantity) = (share.label.into(), Quantity::Percent);
    let y_axis = Axis { label, quantity, scale: Scale::Linear };
    let chart = chart::chart(axis(kernel, LENGTH, Scale::Log2), y_axis, drawn);
    let what = format!("{}, against message length", share.meaning);
    let caption = caption::of_ratio(&what, &with_share);
    let title = format!("{KERNEL}: {}", share.label);
    figure(format!("{}-{}", kernel.id(), share.id), title, caption, chart)
}

impl Share {
    /// The share of each point of `curve`, with its interval by its model.
    fn series(&self, curve: &Curve<'_>) -> Series {
        let (name, factor) = self.figure;
        let value = |point: &Point| Some(factor * figure_value(point, name)?);
        let mut series = values(curve, LENGTH, value);
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

/// The four times over the work, with messages of `length` bytes.
fn of_length(kernel: &Kernel<'_>, length: u64) -> Figure {
    let kernel = kernel.only(|point| number(point, LENGTH) == Some(length));
    let drawn =
        curves(&kernel, WORK).iter().map(|curve| series(curve, WORK, chart::time)).collect();
    let y_axis = chart::times("time of an operation", Scale::Log10);
    let chart = chart::chart(axis(&kernel, WORK, Scale::Log2), y_axis, drawn);
    let messages = bytes(length);
    let what = format!(
        "Times of an exchange of {messages}, of a DAXPY, and of both, one after the other \
         (synchronous) and overlapped (asynchronous), against vector length"
    );
    let title = format!("{KERNEL}: times with messages of {messages}");
    figure(format!("{}-time-{length}", kernel.id()), title, caption::of(&what, &kernel), chart)
}
