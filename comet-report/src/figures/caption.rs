//! Captions: what is plotted, by which definition, from how many samples, and what bands, bars and
//! hollow marks mean. All of it is read from the points.

use comet_core::definition::Definition;

use super::curve::plotted;
use super::samples::Sampled;
use super::sources::KernelPoints;
use crate::models::sweep::quote;
use crate::order::distinct;
use crate::record::{Point, Quote, RANKS};
use crate::words;

pub(super) fn of(what: &str, kernel: &KernelPoints<'_>) -> String {
    let points: Vec<&Point> = kernel.points.iter().map(|measured| measured.point).collect();
    let parts = [format!("{what}{}.", on_ranks(kernel)), definitions(&points), marks(&points)];
    let parts = parts.into_iter().chain(ranges(&points)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

pub(super) fn of_ratio(what: &str, kernel: &KernelPoints<'_>) -> String {
    format!(
        "{what}{}. Each follows from medians; bars, where there are any, are 95 % intervals.",
        on_ranks(kernel)
    )
}

pub(super) fn of_samples(what: &str, sampled: &[Sampled<'_>]) -> String {
    let points: Vec<&Point> = sampled.iter().map(|sampled| sampled.point).collect();
    let numbers = sampled.iter().map(|sampled| sampled.values_ns.len().to_string());
    let numbers = words::list(&distinct(numbers));
    format!("{what}, for one operation. {} {numbers} samples of each.", definitions(&points))
}

/// Explains in addition the lines through the points.
pub(super) fn with_fits(caption: String, has_fits: bool) -> String {
    if !has_fits {
        return caption;
    }
    caption
        + " Lines without marks are fitted laws; the strip below shows by how many percent the \
           points are off."
}

fn on_ranks(kernel: &KernelPoints<'_>) -> String {
    let numbers: Vec<String> = kernel.values(RANKS).iter().map(u64::to_string).collect();
    if numbers.is_empty() || numbers.len() > 8 {
        return String::new();
    }
    format!(", on {} rank{}", words::list(&numbers), if numbers == ["1"] { "" } else { "s" })
}

fn definitions(points: &[&Point]) -> String {
    let named = |name: &str| match Definition::find(name) {
        Some(definition) => format!("{name}: {}.", definition.summary()),
        None => format!("{name}."),
    };
    let names = points.iter().filter_map(|point| Some(&*point.value.as_ref()?.definition));
    distinct(names).into_iter().map(named).collect::<Vec<_>>().join(" ")
}

fn marks(points: &[&Point]) -> String {
    let names = points.iter().filter_map(|point| plural(point));
    let names: Vec<String> = distinct(names).into_iter().map(Into::into).collect();
    if names.is_empty() {
        return String::new();
    }
    let numbers = || points.iter().filter_map(|point| Some(point.reps.as_ref()?.n));
    let samples = match (numbers().min(), numbers().max()) {
        (Some(least), Some(most)) if least == most => format!("; each has {least} samples"),
        (Some(least), Some(most)) => format!("; each has {least} to {most} samples"),
        _ => String::new(),
    };
    format!("Marks are {}{samples}.", words::list(&names))
}

fn plural(point: &Point) -> Option<&'static str> {
    Some(match quote(point)? {
        // Older files and other programs have the median of all samples alone.
        Quote::Median if point.quoted_ns.is_none() => "medians",
        Quote::Median => "medians of slice medians",
        Quote::Min => "least values",
        Quote::Mean => "means",
        Quote::MiddleMean => "means of the middle half",
        Quote::Corrected => "means less an empty loop",
    })
}

fn ranges(points: &[&Point]) -> Vec<String> {
    let plotted: Vec<_> = points.iter().filter_map(|point| plotted(point, 0.0, Some)).collect();
    let sentences = [
        (plotted.iter().any(|p| p.interval.is_some()), "Bars are 95 % intervals of the median."),
        (plotted.iter().any(|p| p.middle_half.is_some()), "Bands hold the middle half of them."),
        (
            plotted.iter().any(|p| p.is_hollow),
            "Hollow marks were measured in addition to the sweep, have a wider interval than asked \
             for, or the machine changed its speed.",
        ),
    ];
    sentences.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words.into()).collect()
}
