//! Distribution of samples: the share of them below each time.

use comet_stats::{quantile, sorted};

use super::caption;
use super::chart::{self, figure, times};
use super::samples::{Sampled, representative};
use super::sources::{Kernel, Sources};
use super::time::label;
use crate::plot::{Axis, Figure, Kind, Point, Quantity, Scale, Series};

/// The most steps of a curve.
const MAX_STEPS: u32 = 200;

/// A figure for each kernel with samples that vary.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    sources.kernels().iter().filter_map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Option<Figure> {
    let sampled = representative(kernel);
    if sampled.is_empty() {
        return None;
    }
    let (label_y, quantity) = ("samples that take less".into(), Quantity::Percent);
    let y_axis = Axis { label: label_y, quantity, scale: Scale::Linear };
    let mut chart = chart::chart(
        times(label(kernel), Scale::Log10),
        y_axis,
        sampled.iter().map(steps).collect(),
    );
    if chart.series.iter().flat_map(|series| &series.points).any(|point| point.x < 0.0) {
        chart.x.scale = Scale::Linear;
    }
    let what = format!("Which share of the samples of {} takes less than a time", kernel.name);
    let caption = caption::of_samples(&what, &sampled);
    let title = format!("{}: distribution of samples", kernel.name);
    Some(figure(format!("{}-distribution", kernel.id()), title, caption, chart))
}

/// The steps of `sampled`: one for each sample, or for each of so many quantiles.
fn steps(sampled: &Sampled<'_>) -> Series {
    let values = sorted(&sampled.values_ns);
    let n_steps = u32::try_from(values.len()).unwrap_or(u32::MAX).min(MAX_STEPS);
    let step = |index: u32| {
        let share = f64::from(index) / f64::from(n_steps.saturating_sub(1).max(1));
        Point { x: quantile(&values, share), y: 100.0 * share, ..Point::default() }
    };
    Series {
        name: sampled.name.clone(),
        kind: Kind::Steps,
        colour: sampled.colour,
        run: sampled.source,
        points: (0..n_steps).map(step).collect(),
    }
}
