//! Rates over the work on each word, with the law of a rate that moving the words limits.

use super::caption;
use super::chart::{self, axis, figure, series_at};
use super::curve::{Curve, curves, plotted};
use super::law;
use super::sources::{Kernel, Sources};
use crate::models::sweep::{number, real};
use crate::models::value;
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
    let fits: Vec<Series> = curves.iter().filter_map(fit).collect();
    let (label, quantity) = ("floating-point operations".into(), Quantity::PerSecond);
    let y_axis = Axis { label, quantity, scale: Scale::Linear };
    let mut chart = chart::chart(axis(&kernel, ORDER, Scale::Log2), y_axis, drawn);
    let what = format!("Rate of {} against the operations for each word moved", kernel.name);
    let mut caption = caption::of(&what, &kernel);
    if !fits.is_empty() {
        caption += " Lines without marks are r_hat / (1 + f_half / f), the law of a rate that \
                    moving words limits.";
    }
    chart.series.extend(fits);
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

/// The law of the model; kernels that move no words between ranks have none.
fn fit(curve: &Curve<'_>) -> Option<Series> {
    let fit = curve.model("intensity", &[ORDER])?.fits.first()?;
    let [r_hat, f_half] = ["r_hat", "f_half"].map(|name| value(&fit.parameters, name));
    let (r_hat, f_half) = (1e6 * r_hat?, f_half?);
    let at = |x: f64| Point { x, y: r_hat / (1.0 + f_half / x), ..Point::default() };
    Some(law::fit(curve, law::steps([fit.from, fit.to]).into_iter().map(at).collect()))
}
