//! Figures of runs: from their records to what is plotted.
//!
//! ```text
//!   runs ──► Sources ──► KernelPoints ──► Curve ──► Trace ──► plot::Figure
//!            what is     points     points    what is
//!            overlaid    of one     of one    plotted
//!                        kernel     sweep
//! ```
//!
//! Each kind of figure has its line in `MAKERS`, and chooses kernels by class, axes and evaluation.
//! The figures of the thesis come first, by their numbers, and others in the order of
//! this list.

mod caption;
mod chart;
mod coincidence;
mod curve;
mod growth;
mod nodes;
mod overlap;
mod pairs;
mod parts;
pub mod published;
mod questions;
mod rates;
mod samples;
mod sizes;
mod sources;
mod thesis;

pub(crate) use curve::evenly;
pub(crate) use samples::{WORST, values_ns};

use crate::models::{self, Fitted};
use crate::plot::{Body, Figure};
use crate::runs::RunRecords;
use sources::{KernelPoints, Sources};

/// The kinds of figures: each passes over the kernels that it has nothing to show of.
const MAKERS: [fn(&KernelPoints<'_>) -> Vec<Figure>; 15] = [
    |kernel| Vec::from_iter(sizes::times(kernel)),
    |kernel| Vec::from_iter(sizes::bandwidths(kernel)),
    rates::of_kernel,
    |kernel| Vec::from_iter(growth::scaling(kernel)),
    |kernel| Vec::from_iter(growth::speedup(kernel)),
    overlap::overlap,
    parts::contention,
    |kernel| Vec::from_iter(parts::trains(kernel)),
    |kernel| Vec::from_iter(growth::shared(kernel)),
    |kernel| Vec::from_iter(growth::intensity(kernel)),
    |kernel| Vec::from_iter(growth::asymptotes(kernel)),
    pairs::of_pairs,
    |kernel| Vec::from_iter(nodes::nodes(kernel)),
    |kernel| Vec::from_iter(samples::distribution(kernel)),
    |kernel| Vec::from_iter(samples::in_order(kernel)),
];

/// The figures that the points of `runs` make.
///
/// Runs of one file over different numbers of ranks stand beside each other; others are overlaid,
/// in the same figures, and named by their labels `name` or `machine`, or by their files.
pub fn figures(runs: &[RunRecords]) -> Vec<Figure> {
    with_models(runs, &models::of_runs(runs))
}

pub(crate) fn with_models(runs: &[RunRecords], models: &[Fitted]) -> Vec<Figure> {
    let sources = Sources::of(runs, models);
    let kernels = sources.kernels();
    let made = MAKERS.iter().flat_map(|make| kernels.iter().flat_map(make));
    let of_several =
        [rates::of_collectives(&sources), samples::worst(&sources)].into_iter().flatten();
    let of_several = questions::of_questions(&sources).into_iter().chain(of_several);
    let all = thesis::figures(&sources).into_iter().chain(made).chain(of_several);
    let mut figures: Vec<Figure> = all.filter(shows_something).collect();
    figures.iter_mut().for_each(coincidence::note);
    figures.sort_by_key(place);
    figures
}

/// Order of a figure: figures of the thesis first, by their numbers.
fn place(figure: &Figure) -> (bool, Vec<u32>) {
    let number = figure.number.as_deref().unwrap_or_default();
    let parts = number.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    (figure.number.is_none(), parts.collect())
}

fn shows_something(figure: &Figure) -> bool {
    match &figure.body {
        Body::Chart(chart) => chart.series.iter().any(|series| !series.points.is_empty()),
        Body::HeatMap(map) => map.values.iter().any(Option::is_some),
    }
}

#[cfg(test)]
mod tests;
