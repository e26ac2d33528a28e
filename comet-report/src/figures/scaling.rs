//! Times over numbers of ranks, with the law of growth that describes them best.

use comet_stats::fit::Growth;

use super::caption;
use super::chart::{self, figure, series};
use super::curve::{Curve, curves, evenly};
use super::law;
use super::sources::{Kernel, Sources};
use super::time::label;
use crate::models::procs::FREE;
use crate::models::sweep::number;
use crate::models::value;
use crate::plot::{Chart, Figure, Point, Scale};
use crate::record::Fit;
use crate::units::significant;
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
    let mut chart = chart::chart(chart::ranks(Scale::Log2), y_axis, drawn);
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

/// Adds the law that describes `curve` best, if there are enough numbers of ranks for one.
fn add_growth(chart: &mut Chart, curve: &Curve<'_>) {
    let best = curve.model("scaling", FREE).and_then(|model| model.fits.first());
    let Some((fit, law_us)) = best.and_then(|fit| Some((fit, growth_us(fit)?))) else { return };
    let at = |x: f64| Point { x, y: 1e3 * law_us(x), ..Point::default() };
    let mut drawn = law::fit(curve, law::steps([fit.from, fit.to]).into_iter().map(at).collect());
    let weight = value(&fit.parameters, "weight");
    let weight =
        weight.map_or(String::new(), |weight| format!(", weight {}", significant(weight, 3)));
    drawn.name = format!("{}: {}{weight}", curve.name, fit.name);
    chart.series.push(drawn);
    chart.residuals.extend(law::residuals(curve, &curve.points, RANKS, |x| 1e3 * law_us(x)));
}

/// The law `a + b f(P)` of `fit`, in us.
fn growth_us(fit: &Fit) -> Option<impl Fn(f64) -> f64> {
    let growth = Growth::ALL.into_iter().find(|growth| growth.name() == fit.name);
    let growth = growth.unwrap_or(Growth::None);
    let [a, b] = ["a", "b"].map(|name| value(&fit.parameters, name));
    let (a, b) = (a?, b.unwrap_or(0.0));
    Some(move |n_ranks| a + b * growth.of(n_ranks))
}

/// `figure` with its number in the thesis, if it is one of those.
fn numbered(figure: Figure, kernel: &Kernel<'_>) -> Figure {
    let (name, number) = OF_THESIS;
    if kernel.name != name {
        return figure;
    }
    let title = format!("Figure {number} of the thesis: barrier time");
    Figure { id: format!("figure-{number}"), number: Some(number.into()), title, ..figure }
}
