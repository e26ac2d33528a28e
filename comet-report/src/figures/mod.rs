//! Figures of runs: from their records to what is plotted.
//!
//! ```text
//!   runs ──► Sources ──► Kernel ──► Curve ──► Series ──► plot::Figure
//!            what is     points     points    what is
//!            overlaid    of one     of one    plotted
//!                        kernel     sweep
//! ```
//!
//! Each kind of figure has its file and its line in `MAKERS`; a kind passes over what it has no
//! points for. The figures of the thesis come first, by their numbers, and others in the order of
//! this list.

mod bandwidth;
mod caption;
mod chart;
mod contention;
mod curve;
mod distribution;
mod heat_map;
mod injection;
mod intensity;
mod law;
mod overlap;
mod pairs;
mod rates;
mod run_order;
mod samples;
mod scaling;
mod sources;
mod thesis;
mod time;

use crate::models::{self, Fitted};
use crate::plot::{Body, Figure};
use crate::runs::RunRecords;
use sources::Sources;

/// Makes the figures of one kind.
type Maker = fn(&Sources<'_>) -> Vec<Figure>;

/// The kinds of figures.
const MAKERS: &[Maker] = &[
    thesis::figures,
    time::figures,
    bandwidth::figures,
    scaling::figures,
    overlap::figures,
    contention::figures,
    injection::figures,
    pairs::figures,
    intensity::figures,
    rates::figures,
    heat_map::figures,
    distribution::figures,
    run_order::figures,
];

/// The figures that the points of `runs` make.
///
/// Runs of one file over different numbers of ranks stand beside each other; others are overlaid,
/// in the same figures, and named by their labels `name` or `machine`, or by their files.
#[must_use]
pub fn figures(runs: &[RunRecords]) -> Vec<Figure> {
    with_models(runs, &models::of_runs(runs))
}

/// The figures of `runs`, with the laws of `models`.
pub(crate) fn with_models(runs: &[RunRecords], models: &[Fitted]) -> Vec<Figure> {
    let sources = Sources::of(runs, models);
    let made = MAKERS.iter().flat_map(|make| make(&sources));
    let mut figures: Vec<Figure> = made.filter(shows_something).collect();
    figures.sort_by_key(place);
    figures
}

/// Order of a figure: figures of the thesis first, by their numbers.
fn place(figure: &Figure) -> (bool, Vec<u32>) {
    let number = figure.number.as_deref().unwrap_or_default();
    let parts = number.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    (figure.number.is_none(), parts.collect())
}

/// True if there is at least one mark to see.
fn shows_something(figure: &Figure) -> bool {
    match &figure.body {
        Body::Chart(chart) => chart.series.iter().any(|series| !series.points.is_empty()),
        Body::HeatMap(map) => map.values.iter().any(Option::is_some),
    }
}

#[cfg(test)]
mod tests;
