//! The figures: those that answer first, open, and the others folded in groups; each is a picture with
//! its numbers to take away.
//!
//! A page is to be small enough to be mailed, so its figures have fewer of the points of which
//! there are many, and fewer digits than can be told apart; `comet-run plot` has all of them.

use comet_core::kernel::Class;

use super::html::{Html, details, element, tag};
use super::{Content, Group, Section, answers, slug};
use crate::figures::evenly;
use crate::health::{FACTOR, Health};
use crate::order::distinct;
use crate::plot::{self, Body, Chart, Figure, Kind, Style, Trace, Vertex};
use crate::record::Point;

/// The most quantiles, and the most samples, of all curves of a figure together, but for a few of each.
const MAX_QUANTILES: usize = 80;
const MAX_SCATTERED: usize = 80;
const LEAST_OF_CURVE: usize = 12;
const MAX_OF_LAW: usize = 12;
/// Digits of a value that is not whole.
const DIGITS: usize = 5;

/// Groups of folded figures: the name and the title of each.
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

/// Begins of the ids of the figures of each kernel, with its class.
pub(super) type Classes = [(String, Option<Class>)];

/// The figures that answer, and a section of the others.
pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let class = |(_, point): (usize, &Point)| (slug(&point.id()) + "-", point.facts.class());
    let classes = distinct(content.points().map(class));
    let open = answers::chosen(&content.figures, &classes);
    let is_folded = |one: &&Figure| !open.iter().any(|known| known.id == one.id);
    let of_group = |[id, title]: [&'static str; 2]| {
        let folded = content.figures.iter().filter(is_folded);
        let figures: Vec<&Figure> = folded.filter(|one| group(one, &classes) == id).collect();
        (!figures.is_empty()).then_some((id, title, figures))
    };
    let groups: Vec<_> = GROUPS.into_iter().filter_map(of_group).collect();
    let folded = groups.iter().map(|(id, title, figures)| {
        details(&format!("{title} ({})", figures.len()), grid(id, figures))
    });
    let answers = if open.is_empty() { Html::new() } else { grid("answers", &open) };
    vec![
        Section {
            id: "figures",
            title: "Figures",
            body: health(content).with(answers),
            figures: vec![titled("Figures", &open)],
        },
        Section {
            id: "more-figures",
            title: "More figures",
            body: folded.collect(),
            figures: groups.iter().map(|(_, title, figures)| titled(title, figures)).collect(),
        },
    ]
}

/// `figures` side by side. A link to `id` opens what is folded around it.
fn grid(id: &str, figures: &[&Figure]) -> Html {
    let figures: Html = figures.iter().map(|one| figure(one)).collect();
    element("div", &[("class", "figures"), ("id", id)], figures)
}

fn titled(title: &'static str, figures: &[&Figure]) -> Group {
    (title, figures.iter().map(|figure| [figure.id.clone(), figure.title.clone()]).collect())
}

/// The verdict on each run of the suite `health`; what stands out is among the oddities.
fn health(content: &Content<'_>) -> Html {
    let found = content.runs.iter().filter_map(|run| Health::of(run, FACTOR));
    let verdict = |health: Health| {
        let class = if health.is_suspicious() { "verdict warn" } else { "verdict good" };
        element("div", &[("class", class)], format!("verdict: {}", health.verdict()))
    };
    found.map(verdict).collect()
}

/// The class of the kernel with whose name the id of `figure` starts.
pub(super) fn class_of(figure: &Figure, classes: &Classes) -> Option<Class> {
    classes.iter().find(|(start, _)| figure.id.starts_with(start)).and_then(|(_, class)| *class)
}

fn group(figure: &Figure, classes: &Classes) -> &'static str {
    match class_of(figure, classes) {
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

pub(super) fn is_of_samples(figure: &Figure) -> bool {
    ["-distribution", "-samples"].iter().any(|kind| figure.id.ends_with(kind))
}

/// One figure: its picture, what is to be said about it, and its numbers for programs.
fn figure(figure: &Figure) -> Html {
    // What the picture would say for those who cannot see it stands below it already.
    let drawn = Figure { caption: String::new(), notes: Vec::new(), ..small(figure) };
    let picture = Html::trusted(plot::svg(&drawn, Style::Page));
    let view = element("div", &[("class", "view")], picture);
    let body = view.with(tag("figcaption", figure.caption.as_str())).with(numbers(&drawn));
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
        let share = |most: usize| (most / series.len().max(1)).max(LEAST_OF_CURVE);
        let [quantiles, scattered] = [MAX_QUANTILES, MAX_SCATTERED].map(share);
        for series in series.iter_mut().chain(residuals) {
            match series.kind {
                Kind::Steps => thin(series, quantiles),
                Kind::Scatter => thin(series, scattered),
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
            let mut series = Trace { name, kind: Kind::Steps, colour: 0, dashes: 0, points };
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
