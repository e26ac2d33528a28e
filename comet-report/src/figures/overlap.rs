//! Figures of an exchange overlapped with work: the shares that overlapping saves and hides, and the times
//! of the parts.
//!
//! Shares are drawn from -100 to 100 %: a value beyond stands beside an arrow. A share of a part that is
//! shorter than the noise of the clock has no meaning, and is left out.

use comet_core::kernel::Class;

use super::caption::Caption;
use super::chart::{self, along, axis, figure_value, series, values};
use super::curve::{Curve, curves, evenly};
use super::sources::{KernelPoints, Measured};
use crate::models::sweep::quoted_ns;
use crate::plot::{Figure, Quantity, Scale, Trace, Vertex};
use crate::record::{Clock, Over, Point};
use crate::units::bytes;

const MAX_LENGTHS: usize = 4;
/// Ends of the axis of shares, in percent.
const MOST_PERCENT: f64 = 100.0;
/// Series of the two parts, each alone, before those of both.
const PARTS: std::ops::Range<usize> = 0..2;

/// A share of an overlap: its name in figures and in models, percents for each of either, the end
/// of the figure's id, its axis, and what it is.
struct Share {
    figure: (&'static str, f64),
    model: (&'static str, f64),
    id: &'static str,
    label: &'static str,
    meaning: &'static str,
    /// True if it is a share of the shorter part alone.
    is_of_part: bool,
}

const SHARES: [Share; 2] = [
    Share {
        figure: ("improvement_percent", 1.0),
        model: ("improvement", 100.0),
        id: "gain",
        label: "gain by overlapping",
        meaning: "Share of the time of a blocked exchange and a DAXPY, one after the other, that \
                  overlapping saves",
        is_of_part: false,
    },
    Share {
        figure: ("overlap_share", 100.0),
        model: ("overlap_share", 100.0),
        id: "share",
        label: "hidden share",
        meaning: "Share of the shorter of exchange and DAXPY that is hidden behind the other",
        is_of_part: true,
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
    let is_drawn = |of: &Measured<'_>| {
        figure_value(of.point, share.figure.0).is_some()
            && (!share.is_of_part || is_above_noise(kernel, of))
    };
    let with_share = kernel.only_measured(is_drawn);
    let drawn = curves(&with_share, x).iter().map(|curve| share.series(curve, x)).collect();
    let y_axis = axis(share.label, Quantity::Percent, Scale::Linear);
    let chart = chart::chart(along(kernel, x, Scale::Log2), y_axis, drawn);
    let what = format!("{}, against message length", share.meaning);
    let caption = Caption::of_ratio(&what, &with_share).noted(true, BEYOND);
    let caption = caption.noted(share.is_of_part, NOISE);
    kernel.figure(share.id, share.label, caption, chart)
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
        series.points.retain(|share| !self.is_of_part || is_narrow(share));
        series.points.iter_mut().for_each(clamp);
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
    kernel.figure(&format!("time-{length_bytes}"), &title, Caption::of(&what, &kernel), chart)
}

const BEYOND: &str = "An arrow at the edge stands for a share beyond it, whose value is beside it.";
const NOISE: &str = "A share is not drawn where the part that may be hidden takes less than the noise of \
     the clock (a step, the cost of a reading, and half of the interval of the overlapped time), or \
     where its interval is wider than the axis.";

/// True if the interval of a share is no wider than its axis.
fn is_narrow(share: &Vertex) -> bool {
    share.interval.is_none_or(|(low, high)| high - low <= 2.0 * MOST_PERCENT)
}

/// Keeps a share on its axis, with its value beside it where it lies beyond.
fn clamp(share: &mut Vertex) {
    let kept = |percent: f64| percent.clamp(-MOST_PERCENT, MOST_PERCENT);
    let value = share.y;
    share.y = kept(value);
    if share.y != value {
        share.beyond = Some(value);
        share.interval = None;
    }
    share.interval = share.interval.map(|(low, high)| (kept(low), kept(high)));
}

/// True if each part of the case of `of` takes longer than the noise of its times.
fn is_above_noise(kernel: &KernelPoints<'_>, of: &Measured<'_>) -> bool {
    let is_of_case = |other: &&Point| other.params == of.point.params;
    let case: Vec<&Point> = kernel.of(of.source).filter(is_of_case).collect();
    let is_part = |point: &&&Point| point.series().is_some_and(|series| PARTS.contains(&series));
    let parts = case.iter().filter(is_part).filter_map(|point| quoted_ns(point));
    let shortest_ns = parts.reduce(f64::min).unwrap_or(f64::INFINITY);
    let ranks = of.point.params.ranks().and_then(|ranks| usize::try_from(ranks).ok());
    let run = ranks.and_then(|ranks| kernel.run(of.source, ranks));
    let clock_ns = run.map_or(0.0, |run| clock_noise_ns(&run.clock));
    let reps = of.point.measured().map_or(1, |measured| measured.reps.inner.max(1));
    let last = case.iter().max_by_key(|point| point.series());
    let interval = last.and_then(|point| point.interval_ns());
    let half_ns = interval.map_or(0.0, |[low, high]| (high - low) / 2.0);
    shortest_ns > clock_ns / f64::from(reps) + half_ns
}

/// A step of `clock`, and the cost of a reading; 0 for what nobody knows.
fn clock_noise_ns(clock: &Clock) -> f64 {
    let step_ns = clock.resolution_ns.map_or(0.0, |ns| ns as f64);
    step_ns + clock.overhead_ns.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_beyond_the_axis_become_arrows() {
        let check = |y: f64, expected: f64, beyond| {
            let mut share = Vertex { y, interval: Some((y - 40.0, y + 40.0)), ..Vertex::default() };
            clamp(&mut share);
            assert_eq!((share.y, share.beyond), (expected, beyond));
            let inside = |(low, high): (f64, f64)| low >= -100.0 && high <= 100.0;
            assert!(share.interval.is_none_or(inside), "{share:?}");
            assert_eq!(share.value(), y);
        };
        check(97.0, 97.0, None);
        check(-100.0, -100.0, None);
        check(-205_000.0, -100.0, Some(-205_000.0));
        check(130.0, 100.0, Some(130.0));
    }
}
