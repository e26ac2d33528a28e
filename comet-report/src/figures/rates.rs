//! Asymptotic rates over numbers of ranks: r_inf of each sweep that was fitted on several of them.

use super::bandwidth;
use super::chart::{chart, figure, ranks};
use super::sources::{Kernel, Sources};
use crate::models::procs::FREE;
use crate::models::rates::{asymptotic, groups};
use crate::models::sweep::{real, without};
use crate::plot::{Figure, Kind, Point, Scale, Series};
use crate::record::{Model, Params};
use crate::words;

/// A figure for each kernel with the lines of at least two numbers of ranks.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    sources.kernels().iter().filter_map(of_kernel).collect()
}

fn of_kernel(kernel: &Kernel<'_>) -> Option<Figure> {
    let drawn: Vec<Series> =
        (0..kernel.sources.len()).flat_map(|source| of_source(kernel, source)).collect();
    if drawn.is_empty() {
        return None;
    }
    let chart = chart(ranks(Scale::Log2), bandwidth::rates(), drawn);
    let caption = format!(
        "r_inf of {} against the number of ranks: the rate of endless messages by the line that \
         was fitted on each number. Bars are 95 % intervals.",
        kernel.name
    );
    let title = format!("{}: r_inf", kernel.name);
    Some(figure(format!("{}-r-inf", kernel.id()), title, caption, chart))
}

fn of_source(kernel: &Kernel<'_>, source: usize) -> Vec<Series> {
    let is_of_kernel = |model: &&Model| {
        format!("{}/{}", model.suite, model.kernel) == kernel.name && model.x_unit == "B"
    };
    let of_source = kernel.models.iter().filter(|fitted| fitted.source == source);
    let groups = groups(of_source.map(|fitted| &fitted.model).filter(is_of_kernel));
    let series = |(colour, group): (usize, &Vec<(u64, &Model)>)| Series {
        name: name(kernel, source, group[0].1),
        kind: Kind::Curve,
        colour,
        run: source,
        points: group.iter().filter_map(|(n_ranks, model)| point(*n_ranks, model)).collect(),
    };
    groups.iter().enumerate().map(series).collect()
}

fn point(n_ranks: u64, model: &Model) -> Option<Point> {
    let rate = asymptotic(model)?.parameters.iter().find(|of| of.name == "r_inf")?;
    let interval = rate.low.zip(rate.high).map(|(low, high)| (1e6 * low, 1e6 * high));
    let interval = interval.filter(|(low, high)| low < high);
    Some(Point { x: real(n_ranks), y: 1e6 * rate.value?, interval, ..Point::default() })
}

/// The series, its parameters beside the number of ranks, and the source where there are several.
fn name(kernel: &Kernel<'_>, source: usize, model: &Model) -> String {
    let Params(params) = without(&model.params, FREE);
    let params = params.iter().map(|(name, value)| words::parameter(name, value));
    let several = Some(&kernel.sources[source]).filter(|_| kernel.sources.len() > 1);
    let parts = model.variant.clone().into_iter().chain(params).chain(several.cloned());
    parts.collect::<Vec<_>>().join(", ")
}
