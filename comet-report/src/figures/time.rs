//! Times over sizes: one figure for each kernel, with the lines that the times follow.

use comet_core::kernel::Class;

use super::caption;
use super::chart::{self, add_lines, axis, figure, series, size};
use super::curve::curves;
use super::sources::{Kernel, Sources};
use crate::plot::{Figure, Scale};
use crate::words;

/// A figure for each kernel that was swept over sizes.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    sources.kernels().iter().filter(|kernel| is_plain(kernel)).filter_map(of_kernel).collect()
}

/// True if the times of `kernel` are those of sizes, and not of the work on each word or of single
/// pairs.
pub(super) fn is_plain(kernel: &Kernel<'_>) -> bool {
    let is_of_work = !kernel.values("order").is_empty();
    // These classes have figures of their own.
    let is_elsewhere =
        matches!(kernel.class(), Some(Class::Overlap | Class::Contention | Class::Compute));
    !(is_elsewhere || is_of_work || kernel.is_of_pairs_in_rounds())
}

/// The points of `kernel` that a figure over sizes shows: where few ranks take part, those among the
/// most.
pub(super) fn shown<'a>(kernel: &Kernel<'a>) -> Kernel<'a> {
    if kernel.is_of_all_ranks() { kernel.clone() } else { kernel.on_most_ranks() }
}

fn of_kernel(kernel: &Kernel<'_>) -> Option<Figure> {
    let kernel = shown(kernel);
    let x = size(&kernel)?;
    let curves = curves(&kernel, x);
    let (x_axis, y_axis) =
        (axis(&kernel, x, Scale::Log2), chart::times(label(&kernel), Scale::Log10));
    let drawn = curves.iter().map(|curve| series(curve, x, chart::time)).collect();
    let mut chart = chart::chart(x_axis, y_axis, drawn);
    add_lines(&mut chart, &curves, x, chart::time);
    let what =
        format!("{} of {} against {}", words::capital(label(&kernel)), kernel.name, chart.x.label);
    let caption = caption::with_fits(caption::of(&what, &kernel), !chart.residuals.is_empty());
    let title = format!("{}: {}", kernel.name, label(&kernel));
    Some(figure(format!("{}-time", kernel.id()), title, caption, chart))
}

/// Label of the times of `kernel`.
pub(super) fn label(kernel: &Kernel<'_>) -> &'static str {
    let quantity = |measured: &super::sources::Measured<'_>| {
        Some(measured.point.value.as_ref()?.quantity == "one_way_time")
    };
    match kernel.points.iter().find_map(quantity) {
        Some(true) => "one-way time",
        _ => "time of an operation",
    }
}
