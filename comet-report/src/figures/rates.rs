//! Rates beside bytes per second, over sizes: a figure of each for each kernel, and the bus bandwidths
//! of all collectives in one.

use comet_core::kernel::RateKind;

use super::caption::Caption;
use super::chart::{self, along, axis, rate, size};
use super::curve::{Curve, MAX_CURVES, MAX_OVERLAID, curves, evenly, plotted};
use super::sources::{KernelPoints, Look, Sources};
use crate::models::sweep::real;
use crate::order::{distinct, grouped};
use crate::plot::{Axis, Body, Figure, Kind, Quantity, Scale, Trace, Vertex};
use crate::record::{Point, RANKS};
use crate::words;

/// Id of the figure with the bus bandwidths of all collectives.
const OF_ALL: &str = "bus-bandwidth";

/// The figures of the rates of `kernel`, of which the algorithm bandwidth stands in the caption of the
/// bus bandwidth where there is one: they differ by a factor.
pub(super) fn of_kernel(kernel: &KernelPoints<'_>) -> Vec<Figure> {
    let has = |kind| kernel.points.iter().any(|measured| measured.point.rate(kind).is_some());
    let is_shown = |kind| kind != RateKind::Algorithm || !has(RateKind::Bus);
    let kinds = RateKind::ALL.into_iter().filter(|kind| has(*kind) && is_shown(*kind));
    kinds.filter_map(|kind| of_kind(kernel, kind)).collect()
}

fn of_kind(kernel: &KernelPoints<'_>, kind: RateKind) -> Option<Figure> {
    let kernel = if kernel.is_of_all_ranks() { kernel.clone() } else { kernel.on_most_ranks() };
    let x = size(&kernel)?;
    let drawn = curves(&kernel, x).into_iter().map(|curve| {
        traced(&curve, |point| Some((real(point.number(x)?), point.rate(kind)?.per_op)))
    });
    let chart = chart::chart(along(&kernel, x, Scale::Log2), y_axis(kind), drawn.collect());
    let of_algorithm = (kind == RateKind::Bus).then(|| formula(&kernel, RateKind::Algorithm));
    let of_algorithm = of_algorithm.flatten().map_or(String::new(), |formula| {
        format!("; the {} is {formula}", RateKind::Algorithm.words())
    });
    let what = format!(
        "{} of {} against {}: {}{of_algorithm}",
        words::capital(kind.words()),
        kernel.name,
        chart.x.label,
        formula(&kernel, kind)?,
    );
    let caption = Caption::of(&what, &kernel);
    Some(kernel.figure(&kind.words().replace(' ', "-"), kind.words(), caption, chart))
}

/// The formulas of the rate of `kind` of `kernel`, which has one for all series or one for each.
fn formula(kernel: &KernelPoints<'_>, kind: RateKind) -> Option<String> {
    let formulas = kernel.points.iter().filter_map(|of| Some(&*of.point.rate(kind)?.formula));
    Some(distinct(formulas).join(", ")).filter(|formulas| !formulas.is_empty())
}

fn y_axis(kind: RateKind) -> Axis {
    let is_of_bytes = kind.unit() == "bytes";
    let quantity = if is_of_bytes { Quantity::BytesPerSecond } else { Quantity::PerSecond };
    axis(kind.words(), quantity, Scale::Linear)
}

/// The rates of `curve`, each at the place and of the amount of an operation that `at` finds.
fn traced(curve: &Curve<'_>, at: impl Fn(&Point) -> Option<(f64, f64)>) -> Trace {
    let vertex = |point: &&Point| -> Option<Vertex> {
        let (x, per_op) = at(point)?;
        plotted(point, x, |ns| rate(Some(per_op), ns))
    };
    curve.trace(curve.name.clone(), Kind::Curve, curve.points.iter().filter_map(vertex).collect())
}

/// The bus bandwidths of several collectives and numbers of ranks of one source, over the size that
/// their algorithm bandwidth counts; of other algorithms, roots and elements the first.
pub(super) fn of_collectives(all: &Sources<'_>) -> Option<Figure> {
    let has_bus = |point: &Point| point.rate(RateKind::Bus).is_some();
    let kernels = all.kernels().into_iter().map(|kernel| kernel.only(has_bus));
    let kernels: Vec<_> = kernels.filter(|kernel| !kernel.points.is_empty()).collect();
    if kernels.len() < 2 || kernels[0].sources.len() > 1 {
        return None;
    }
    let kernels = evenly(&kernels, MAX_CURVES);
    let n_ranks = MAX_OVERLAID / kernels.len();
    let of_kernel = |(number, kernel)| first_curves(number, kernel, n_ranks);
    let drawn: Vec<Trace> = kernels.iter().enumerate().flat_map(of_kernel).collect();
    let x_axis = axis("longest buffer of a rank", Quantity::Bytes, Scale::Log2);
    let chart = chart::chart(x_axis, y_axis(RateKind::Bus), drawn);
    let formulas = kernels
        .iter()
        .filter_map(|kernel| Some((formula(kernel, RateKind::Bus)?, kernel.name.clone())));
    let of_each = grouped(formulas).into_iter();
    let of_each = of_each.map(|(formula, names)| format!("{formula} ({})", words::list(&names)));
    let text = format!(
        "Bus bandwidth of collectives against the length of the longest buffer of a rank: {}.",
        of_each.collect::<Vec<_>>().join("; ")
    );
    Some(Figure {
        id: OF_ALL.into(),
        number: None,
        title: "bus bandwidth of collectives".into(),
        caption: text,
        notes: Caption::of("", &kernels[0]).notes,
        body: Body::Chart(chart),
    })
}

/// The first curve of `kernel` on each of at most `most` numbers of ranks.
fn first_curves(number: usize, kernel: &KernelPoints<'_>, most: usize) -> Vec<Trace> {
    let Some(x) = size(kernel) else { return Vec::new() };
    let sizes_and_amounts = |point: &Point| {
        Some((point.rate(RateKind::Algorithm)?.per_op, point.rate(RateKind::Bus)?.per_op))
    };
    let of_ranks = |(dashes, n_ranks): (usize, &u64)| {
        let curve = curves(&kernel.on(*n_ranks), x).into_iter().next()?;
        let name = format!("{}, P = {n_ranks}", kernel.name);
        Some(traced(
            &Curve { name, look: Look { colour: number, dashes }, ..curve },
            sizes_and_amounts,
        ))
    };
    evenly(&kernel.values(RANKS), most).iter().enumerate().filter_map(of_ranks).collect()
}
