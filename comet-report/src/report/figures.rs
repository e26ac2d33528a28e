//! The figures, in groups, each as a picture with its numbers to take away.
//!
//! A page is to be small enough to be mailed, so its figures have fewer of the points of which
//! there are many, and fewer digits than can be told apart; `comet-run plot` has all of them.

use comet_core::kernel::Class;

use super::html::{Html, element, tag};
use super::{Content, Section, slug};
use crate::figures::evenly;
use crate::order::distinct;
use crate::plot::{self, Body, Chart, Figure, Kind, Style, Trace, Vertex};
use crate::record::Point;

const MAX_QUANTILES: usize = 25;
const MAX_SCATTERED: usize = 32;
const MAX_OF_LAW: usize = 12;
/// Digits of a value that is not whole.
const DIGITS: usize = 5;
const ALL_SAMPLES: &str = " The record has all samples, and comet-run plot shows more of them.";

/// Groups of figures: the name and the title of the section of each.
const GROUPS: [[&str; 2]; 8] = [
    ["point-to-point", "Point-to-point"],
    ["collectives", "Collectives"],
    ["matrix", "Matrix"],
    ["overlap", "Overlap"],
    ["contention", "Contention"],
    ["pairs", "Pairs of ranks"],
    ["samples", "Samples"],
    ["thesis", "Figures of the thesis"],
];

/// A section for each group that has figures.
pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let class = |(_, point): (usize, &Point)| (slug(&point.id()) + "-", point.facts.class());
    let classes = distinct(content.points().map(class));
    let section = |[id, title]: [&'static str; 2]| {
        let of_group = content.figures.iter().filter(|one| group(one, &classes) == id);
        let figures: Html = of_group.map(figure).collect();
        let is_empty = figures.is_empty();
        let body = element("div", &[("class", "figures")], figures);
        (!is_empty).then_some(Section { id, title, body })
    };
    GROUPS.into_iter().filter_map(section).collect()
}

/// The group of `figure`, by the class of the kernel with whose name its id starts.
fn group(figure: &Figure, classes: &[(String, Option<Class>)]) -> &'static str {
    let class = classes.iter().find(|(start, _)| figure.id.starts_with(start));
    match class.and_then(|(_, class)| *class) {
        _ if figure.number.is_some() => "thesis",
        _ if is_of_samples(figure) => "samples",
        _ if matches!(figure.body, Body::HeatMap(_)) => "pairs",
        Some(Class::Contention) => "contention",
        Some(Class::Overlap) => "overlap",
        Some(Class::Matrix) => "matrix",
        Some(Class::Collective | Class::Synchronisation) => "collectives",
        _ => "point-to-point",
    }
}

fn is_of_samples(figure: &Figure) -> bool {
    ["-distribution", "-samples"].iter().any(|kind| figure.id.ends_with(kind))
}

/// One figure: its picture, what is to be said about it, and its numbers for programs.
fn figure(figure: &Figure) -> Html {
    // What the picture would say for those who cannot see it stands below it already.
    let drawn = Figure { caption: String::new(), ..small(figure) };
    let picture = Html::trusted(plot::svg(&drawn, Style::Page));
    let view = element("div", &[("class", "view")], picture);
    let more = if is_of_samples(figure) { ALL_SAMPLES } else { "" };
    let caption = tag("figcaption", figure.caption.clone() + more);
    let body = view.with(caption).with(numbers(&drawn));
    element("figure", &[("class", "plot"), ("id", &figure.id)], body).with(Html::trusted("\n"))
}

/// Numbers that the script offers as files: the values once, and the rest of a script for gnuplot.
fn numbers(figure: &Figure) -> Html {
    let hidden =
        |class: &str, text: String| element("pre", &[("class", class), ("hidden", "")], text);
    hidden("csv", plot::csv(figure)).with(hidden("gnuplot", plot::gnuplot_frame(figure)))
}

fn small(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    if let Body::Chart(Chart { series, residuals, .. }) = &mut figure.body {
        for series in series.iter_mut().chain(residuals) {
            match series.kind {
                Kind::Steps => thin(series, MAX_QUANTILES),
                Kind::Scatter => thin(series, MAX_SCATTERED),
                Kind::Fit => thin(series, MAX_OF_LAW),
                Kind::Curve => (),
            }
            series.points.iter_mut().for_each(round);
        }
    }
    figure
}

/// Leaves points out evenly, but for the first and the last, so that `most` remain.
fn thin(series: &mut Trace, most: usize) {
    series.points = evenly(&series.points, most);
}

fn round(point: &mut Vertex) {
    let pair = |(low, high)| (rounded(low), rounded(high));
    (point.x, point.y) = pair((point.x, point.y));
    point.interval = point.interval.map(pair);
    point.middle_half = point.middle_half.map(pair);
}

/// `value` with so many digits as can be told apart; whole numbers stay.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.0$e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_points_are_thinned_and_keep_their_ends() {
        let check = |most, expected: &[f64]| {
            let points = (0..9).map(|x| Vertex { x: f64::from(x), ..Vertex::default() }).collect();
            let name = String::new();
            let mut series = Trace { name, kind: Kind::Steps, colour: 0, run: 0, points };
            thin(&mut series, most);
            let kept: Vec<f64> = series.points.iter().map(|point| point.x).collect();
            assert_eq!(kept, expected);
        };
        check(3, &[0.0, 4.0, 8.0]);
        check(9, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    }

    #[test]
    fn whole_numbers_keep_their_digits() {
        let check = |value, expected| assert_eq!(rounded(value), expected);
        check(139.318_181_818, 139.32);
        check(4_194_305.0, 4_194_305.0);
        check(0.012_345_678, 0.012_346);
        assert!(rounded(f64::NAN).is_nan());
    }
}
