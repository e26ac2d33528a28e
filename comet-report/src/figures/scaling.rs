//! Times over numbers of ranks, with the law of growth that describes them best.

use comet_stats::fit::Scaling;

use super::caption;
use super::chart::{self, axis, figure, series};
use super::curve::{Curve, curves, evenly};
use super::law;
use super::sources::{Kernel, Sources};
use super::time::label;
use crate::models::sweep::{number, quoted_ns, real};
use crate::plot::{Chart, Figure, Point, Scale};
use crate::words;

const RANKS: &str = "procs";

/// The most sizes that a figure has curves for.
const MAX_SIZES: usize = 5;

/// The thesis's figure that is this one of a kernel.
const OF_THESIS: (&str, &str) = ("comet/barrier", "5.6");

/// A figure for each kernel of all ranks that was measured on several numbers of them.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let kernels = sources.kernels();
    let scaled = kernels.iter().filter(|kernel| kernel.is_of_all_ranks());
    scaled.filter(|kernel| kernel.values(RANKS).len() > 1).map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Figure {
    let kernel = with_few_sizes(kernel);
    let curves: Vec<Curve<'_>> =
        curves(&kernel, RANKS).into_iter().filter(|curve| curve.points.len() > 1).collect();
    let is_one = curves.iter().all(|curve| curve.colour == 0);
    let y_axis = chart::times(label(&kernel), if is_one { Scale::Linear } else { Scale::Log10 });
    let drawn = curves.iter().map(|curve| series(curve, RANKS, chart::time)).collect();
    let mut chart = chart::chart(axis(RANKS, Scale::Log2), y_axis, drawn);
    for curve in &curves {
        add_growth(&mut chart, curve);
    }
    let what = format!(
        "{} of {} against the number of ranks",
        words::capital(label(&kernel)),
        kernel.name
    );
    let caption = caption::with_fits(caption::of(&what, &kernel), !chart.residuals.is_empty());
    let title = format!("{}: scaling", kernel.name);
    numbered(figure(format!("{}-scaling", kernel.id()), title, caption, chart), &kernel)
}

/// The kernel at few sizes, evenly chosen.
fn with_few_sizes<'a>(kernel: &Kernel<'a>) -> Kernel<'a> {
    let Some(name) = chart::size(kernel) else { return kernel.clone() };
    let chosen = evenly(&kernel.values(name), MAX_SIZES);
    kernel.only(|point| number(point, name).is_some_and(|size| chosen.contains(&size)))
}

/// Adds the law that describes `curve` best, if there are enough numbers of ranks to tell.
fn add_growth(chart: &mut Chart, curve: &Curve<'_>) {
    let pair =
        |point: &&crate::record::Point| Some((real(number(point, RANKS)?), quoted_ns(point)?));
    let pairs: Vec<(f64, f64)> = curve.points.iter().filter_map(pair).collect();
    let Ok(scaling) = Scaling::fit(&pairs) else { return };
    let (first, last) = (pairs[0].0, pairs[pairs.len() - 1].0);
    let at = |x: f64| Some(Point { x, y: scaling.at(x)?, ..Point::default() });
    let mut fit = law::fit(curve, law::steps([first, last]).into_iter().filter_map(at).collect());
    if let Some(best) = scaling.candidates.first() {
        let weight = words::digits(best.weight);
        fit.name = format!("{}: {}, weight {weight}", curve.name, best.growth.formula());
    }
    chart.series.push(fit);
    let law_ns = |n_ranks| scaling.at(n_ranks).unwrap_or(f64::NAN);
    chart.residuals.extend(law::residuals(curve, &curve.points, RANKS, law_ns));
}

/// `figure` with its number in the thesis, if it is one of those.
fn numbered(figure: Figure, kernel: &Kernel<'_>) -> Figure {
    let (name, number) = OF_THESIS;
    if kernel.name != name {
        return figure;
    }
    let title = format!("Figure {number} of the thesis: barrier time");
    Figure { number: Some(number.into()), title, ..figure }
}
