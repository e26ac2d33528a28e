//! Samples in the order in which they were taken: drifts, modes and what came first.

use super::caption;
use super::chart::{self, figure, times};
use super::curve::evenly;
use super::samples::{Sampled, representative};
use super::sources::{Kernel, Sources};
use super::time::label;
use crate::models::sweep::real;
use crate::plot::{Axis, Figure, Kind, Point, Quantity, Scale, Series};

/// The most samples that are shown, of all points together.
const MAX_SAMPLES: usize = 400;

/// A figure for each kernel with samples that vary.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    sources.kernels().iter().filter_map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Option<Figure> {
    let sampled = representative(kernel);
    if sampled.is_empty() {
        return None;
    }
    let (x_label, quantity) = ("number of the sample".into(), Quantity::Count);
    let x_axis = Axis { label: x_label, quantity, scale: Scale::Linear };
    let n_each = MAX_SAMPLES / sampled.len();
    let drawn = sampled.iter().map(|sampled| samples(sampled, n_each)).collect();
    let chart = chart::chart(x_axis, times(label(kernel), Scale::Log10), drawn);
    let what = format!("Samples of {} in the order in which they were taken", kernel.name);
    let caption = caption::of_samples(&what, &sampled)
        + " The first sample of each is hollow; of many samples some are shown, evenly chosen.";
    let title = format!("{}: samples in order", kernel.name);
    Some(figure(format!("{}-samples", kernel.id()), title, caption, chart))
}

/// At most `n_most` marks of `sampled`.
fn samples(sampled: &Sampled<'_>, n_most: usize) -> Series {
    let numbered: Vec<(u64, f64)> = (1..).zip(sampled.values_ns.iter().copied()).collect();
    let mark = |(number, ns): (u64, f64)| Point {
        x: real(number),
        y: ns,
        is_hollow: number == 1,
        note: if number == 1 { "first sample".into() } else { String::new() },
        ..Point::default()
    };
    Series {
        name: sampled.name.clone(),
        kind: Kind::Scatter,
        colour: sampled.colour,
        run: sampled.source,
        points: evenly(&numbered, n_most).into_iter().map(mark).collect(),
    }
}
