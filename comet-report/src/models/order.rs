//! Rates over the order of a polynomial: how much work pays for moving a word (POLY1 to POLY3 of the
//! PARKBENCH report).

use comet_stats::fit::{Intensity, Range, subdomain_edge};

use super::sweep::{groups, half_widths_us, number, real, time_us, weights};
use super::wire::{blank, fit, parameter, scaled};
use crate::record::{Model, Parameter, Point};

const AXIS: &str = "order";
/// The law, and the assumption behind the edges: a stencil of `2 d + 1` points has one operation for
/// each, and each point of the surface of a region is a word sent and a word received.
const LAW: &str = "r = r_hat / (1 + f_half / f); edge_2d and edge_3d for 5 and 7 operations a \
                   point, two words a surface point";
/// Class of kernels that move nothing between ranks.
const LOCAL: &str = "compute";

/// The models of all sweeps over orders by kernels that move words between ranks; without words that
/// move, there is no intensity that pays for them.
pub(super) fn models(points: &[&Point], _breakpoints: &[u64]) -> Vec<Model> {
    let swept: Vec<&Point> = points.iter().copied().filter(|point| moves_words(point)).collect();
    groups(&swept, &[AXIS], true).into_iter().filter_map(model).collect()
}

fn moves_words(point: &Point) -> bool {
    point.class != LOCAL && number(point, AXIS).is_some()
}

fn model(mut points: Vec<&Point>) -> Option<Model> {
    points.sort_by_key(|point| number(point, AXIS));
    let rates: Vec<(f64, f64)> = points.iter().map(|point| rate(point)).collect::<Option<_>>()?;
    // A rate and its time have the same relative error.
    let widths = half_widths_us(&points).and_then(|widths| {
        let of_rate = |(width, (point, (_, rate))): (f64, (&&Point, &(f64, f64)))| {
            Some(width / time_us(point)? * rate)
        };
        widths.into_iter().zip(points.iter().zip(&rates)).map(of_rate).collect::<Option<Vec<_>>>()
    });
    let law = Intensity::fit(&rates, weights(widths.as_deref())).ok()?;
    let mut model = blank(&points, &[AXIS], "intensity", [AXIS, "flop/word"]);
    if widths.is_some() {
        model.weights = "interval".into();
    }
    let extent = [rates[0].0, rates[rates.len() - 1].0];
    model.fits = vec![fit(["intensity", LAW], extent, parameters(&law), &law.quality, 1)];
    Some(model)
}

/// Operations for each word that is moved, and operations over us: Horner's rule does two for each
/// order and element, and each element is a word that comes and a word that goes.
fn rate(point: &Point) -> Option<(f64, f64)> {
    let [order, n_words] = [AXIS, "vector_length"].map(|name| number(point, name).map(real));
    Some((order?, 2.0 * order? * n_words? / time_us(point)?))
}

/// The parameters, and the demands that follow: an intensity of `4 f_half`, and the edge of regions
/// that exchange their surfaces.
fn parameters(law: &Intensity) -> Vec<Parameter> {
    let required = law.required();
    let factor = required / law.f_half;
    let edge = |name, n_dimensions: u32| {
        let edge = |f| subdomain_edge(f, n_dimensions, f64::from(2 * n_dimensions + 1));
        let range = scaled(law.f_half_range, factor)
            .map(|range| Range { low: edge(range.low), high: edge(range.high) });
        parameter(name, "points", Some(edge(required)), range)
    };
    vec![
        parameter("r_hat", "Mflop/s", Some(law.r_hat), law.r_hat_range),
        parameter("f_half", "flop/word", Some(law.f_half), law.f_half_range),
        parameter(
            "required_intensity",
            "flop/word",
            Some(required),
            scaled(law.f_half_range, factor),
        ),
        edge("edge_2d", 2),
        edge("edge_3d", 3),
    ]
}
