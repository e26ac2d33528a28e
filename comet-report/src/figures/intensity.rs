//! Rates over the work on each word: how much of it pays for moving the words.

use comet_stats::fit::{Intensity, Weights};

use super::caption;
use super::chart::{self, axis, figure, series_at};
use super::curve::{Curve, curves, plotted};
use super::law;
use super::sources::{Kernel, Sources};
use crate::models::sweep::{number, real};
use crate::plot::{Axis, Figure, Point, Quantity, Scale, Series};

const ORDER: &str = "order";

/// A figure for each kernel that was swept over the order of a polynomial.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let kernels = sources.kernels();
    kernels.iter().filter(|kernel| kernel.values(ORDER).len() > 1).map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Figure {
    let kernel = kernel.on_most_ranks();
    let curves = curves(&kernel, ORDER);
    let drawn: Vec<Series> = curves.iter().map(rates).collect();
    let fits: Vec<Series> =
        curves.iter().zip(&drawn).filter_map(|(curve, rates)| fit(curve, rates)).collect();
    let (label, quantity) = ("floating-point operations".into(), Quantity::PerSecond);
    let y_axis = Axis { label, quantity, scale: Scale::Linear };
    let mut chart = chart::chart(axis(ORDER, Scale::Log2), y_axis, drawn);
    chart.series.extend(fits);
    let what = format!("Rate of {} against the operations for each word moved", kernel.name);
    let caption = caption::of(&what, &kernel)
        + " Lines without marks are r_hat / (1 + f_half / f), the law of a rate that moving words \
           limits.";
    let title = format!("{}: rate", kernel.name);
    figure(format!("{}-rate", kernel.id()), title, caption, chart)
}

/// The rates of `curve` in operations per second: Horner's rule does two for each order and element.
fn rates(curve: &Curve<'_>) -> Series {
    let mut series = series_at(curve, |_| None, chart::time);
    let of = |point: &&crate::record::Point| {
        let [order, n_words] = [ORDER, "vector_length"].map(|name| number(point, name).map(real));
        let n_operations = 2.0 * order? * n_words?;
        plotted(point, order?, |ns| Some(n_operations / ns * 1e9).filter(|_| ns > 0.0))
    };
    series.points = curve.points.iter().filter_map(of).collect();
    series
}

fn fit(curve: &Curve<'_>, rates: &Series) -> Option<Series> {
    let pairs: Vec<(f64, f64)> = rates.points.iter().map(|point| (point.x, point.y)).collect();
    let law = Intensity::fit(&pairs, Weights::Relative).ok()?;
    let extent = [pairs.first()?.0, pairs.last()?.0];
    let at = |x: f64| Point { x, y: law.at(x), ..Point::default() };
    Some(law::fit(curve, law::steps(extent).into_iter().map(at).collect()))
}
