//! Curves over two axes: the parts of a chart, the legend above it, and the lines through it, whose
//! names are placed where they hide least.

use super::curve::{DrawnCurve, classes, mark, pair, places};
use super::figure::{Axis, Chart, Kind, Mark, Quantity, Scale, Trace, Vertex};
use super::panel::{Area, LOW_SPACING_PX, Panel, Side, X_SPACING_PX, Y_SPACING_PX};
use super::scale::Ruler;
use super::style::{Frame, N_COLOURS};
use super::svg::{Drawing, MARGIN_PX, TEXT_PX, cut, px, short_text, text, width_px};
use crate::xml::escape;

const BETWEEN_PX: f64 = 16.0;
const X_LABELS_PX: f64 = 40.0;
const Y_LABEL_PX: f64 = MARGIN_PX + 28.0;

const LEGEND_LINE_PX: f64 = 19.0;
const SAMPLE_PX: f64 = 24.0;
const MOST_NAME_PX: f64 = 250.0;
/// Largest number of lines of names at the top before they are put over each other.
const N_LINES: u32 = 8;

/// The axes of a chart, and of its strip.
pub(super) struct Sides {
    pub(super) x: Side,
    pub(super) y: Side,
    pub(super) strip: Side,
    area: Area,
    strip_area: Area,
}

/// The axes of `chart` from `top_px` downwards; what is widest of the ticks sets the left edge.
pub(super) fn sides(chart: &Chart, top_px: f64, frame: &Frame) -> Sides {
    let [height, strip_height] = frame.heights;
    let mut area = Area { left: 0.0, top: top_px, width: frame.width, height };
    let mut strip_area = Area { top: area.bottom() + BETWEEN_PX, height: strip_height, ..area };
    let (quantity, scale) = (Quantity::Percent, Scale::Linear);
    let strip_axis = Axis { label: "residual".into(), quantity, scale };
    let residuals = residual_values(chart);
    let y = Side::new(&chart.y, &y_values(chart), area.y_px(), Y_SPACING_PX);
    let strip = Side::new(&strip_axis, &residuals, strip_area.y_px(), LOW_SPACING_PX);
    let left = Y_LABEL_PX + y.tick_width_px().max(strip.tick_width_px()).max(24.0);
    for area in [&mut area, &mut strip_area] {
        (area.left, area.width) = (left, frame.width - MARGIN_PX - 4.0 - left);
    }
    let x = Side::new(&chart.x, &x_values(chart), area.x_px(), X_SPACING_PX);
    Sides { x, y, strip, area, strip_area }
}

/// Draws `chart` from `top_px` downwards; ids of elements begin with `id`.
pub(super) fn draw(id: &str, chart: &Chart, top_px: f64, frame: &Frame) -> Drawing {
    let (legend, legend_bottom_px) = legend(&chart.series, top_px, frame.width - MARGIN_PX);
    let Sides { x, y, strip, area, strip_area } = &sides(chart, legend_bottom_px + 10.0, frame);
    let has_strip = !chart.residuals.is_empty();
    let main = Panel { name: "main", area: *area, x, y, has_x_labels: !has_strip };
    let mut svg = legend + &main.svg(id, &contents(chart, &main));
    let mut bottom_px = area.bottom();
    if has_strip {
        let area = *strip_area;
        let panel = Panel { name: "residuals", area, x, y: strip, has_x_labels: true };
        svg += &panel.svg(id, &residuals(chart, &panel));
        bottom_px = area.bottom();
    }
    Drawing { svg, bottom_px: bottom_px + X_LABELS_PX }
}

/// Curves of `chart`, each with the number of its entry in the legend.
fn curves(all: &[Trace], chart: &Chart, panel: &Panel<'_>) -> String {
    let (x, y) = (panel.x, panel.y);
    let curve = |series| DrawnCurve { series, x, y }.svg(number(series, &chart.series));
    all.iter().map(curve).collect()
}

fn contents(chart: &Chart, panel: &Panel<'_>) -> String {
    let rulers = [&panel.x.ruler, &panel.y.ruler];
    let of_series = |series| places(series, rulers[0], rulers[1]).into_iter().map(|(_, _, at)| at);
    let dots: Vec<_> = chart.series.iter().flat_map(|series| of_series(&series.points)).collect();
    let svg =
        curves(&chart.series, chart, panel) + &rules(&chart.marks, &panel.area, rulers, &dots);
    if !dots.is_empty() {
        return svg;
    }
    let Area { left, top, width, height } = panel.area;
    svg + &text("quiet middle", [left + width / 2.0, top + height / 2.0], "no values") + "\n"
}

/// Errors of curves around a line at 0; each is shown and hidden with the curve of its name.
fn residuals(chart: &Chart, panel: &Panel<'_>) -> String {
    let zero = panel.y.ruler.px(0.0).map_or(String::new(), |at| {
        let [left, right] = panel.area.x_px().map(px);
        format!("<path class=\"zero\" d=\"M{left} {0}L{right} {0}\"/>\n", px(at))
    });
    zero + &curves(&chart.residuals, chart, panel)
}

fn points(series: &[Trace]) -> impl Iterator<Item = &Vertex> {
    series.iter().flat_map(|series| &series.points)
}

fn x_values(chart: &Chart) -> Vec<f64> {
    let points = points(&chart.series).chain(points(&chart.residuals)).map(|point| point.x);
    points.chain(marked(chart, true)).collect()
}

fn y_values(chart: &Chart) -> Vec<f64> {
    points(&chart.series).flat_map(with_ranges).chain(marked(chart, false)).collect()
}

/// Residuals, and as much on the other side of 0.
fn residual_values(chart: &Chart) -> Vec<f64> {
    points(&chart.residuals).flat_map(with_ranges).flat_map(|value| [value, -value]).collect()
}

fn marked(chart: &Chart, is_at_x: bool) -> impl Iterator<Item = f64> {
    chart.marks.iter().filter(move |mark| mark.is_at_x == is_at_x).map(|mark| mark.at)
}

fn with_ranges(point: &Vertex) -> impl Iterator<Item = f64> {
    let ranges = [point.interval, point.middle_half].into_iter().flatten();
    std::iter::once(point.y).chain(ranges.flat_map(|(low, high)| [low, high]))
}

/// Number of the entry that shows and hides `series`: that of its name, or of its colour.
///
/// A law goes with its points, so that it needs no entry of its own.
fn number(series: &Trace, all: &[Trace]) -> Option<usize> {
    let of_name = all.iter().position(|other| other.name == series.name);
    let look = (series.colour, series.dashes);
    let of_look = all
        .iter()
        .position(|other| other.kind != Kind::Fit && (other.colour, other.dashes) == look);
    if series.kind == Kind::Fit { of_look.or(of_name) } else { of_name.or(of_look) }
}

/// The entries of `series` in lines up to `right_px`, and the end of their room.
fn legend(series: &[Trace], top_px: f64, right_px: f64) -> (String, f64) {
    let mut svg = String::from("<g class=\"legend\">\n");
    let (mut x, mut y) = (MARGIN_PX, top_px);
    let entries: Vec<_> = series.iter().enumerate().collect();
    let entries = entries.iter().filter(|(index, one)| number(one, series) == Some(*index));
    for (number, series) in entries {
        let width = SAMPLE_PX + 6.0 + width_px(&series.name, TEXT_PX).min(MOST_NAME_PX);
        if x > MARGIN_PX && x + width > right_px {
            (x, y) = (MARGIN_PX, y + LEGEND_LINE_PX);
        }
        svg += &entry(series, *number, [x, y + LEGEND_LINE_PX / 2.0]);
        x += width + 16.0;
    }
    let bottom = if series.is_empty() { top_px } else { y + LEGEND_LINE_PX };
    (svg + "</g>\n", bottom)
}

fn entry(series: &Trace, number: usize, [x, y]: [f64; 2]) -> String {
    let line =
        |class: &str| format!("<path class=\"{class}\" d=\"M{} {}h{SAMPLE_PX}\"/>", px(x), px(y));
    let mark = || mark(series, [x + SAMPLE_PX / 2.0, y], false, "");
    let sample = match series.kind {
        Kind::Curve => line("line") + &mark(),
        Kind::Fit => line("fit"),
        Kind::Scatter => mark(),
        Kind::Steps => line("line"),
    };
    let at = format!("x=\"{}\" y=\"{}\"", px(x + SAMPLE_PX + 6.0), px(y + TEXT_PX * 0.35));
    let name = short_text(&at, &series.name, MOST_NAME_PX);
    format!("<g class=\"entry {}\" data-series=\"{number}\">{sample}{name}</g>\n", classes(series))
}

/// A rectangle that a name takes: left, top, right, bottom.
type Box = [f64; 4];

/// The lines of `marks` in `area`; `dots` are the places of points, which names keep free.
fn rules(marks: &[Mark], area: &Area, [x, y]: [&Ruler; 2], dots: &[[f64; 2]]) -> String {
    let place = |mark: &Mark| if mark.is_at_x { x.px(mark.at) } else { y.px(mark.at) };
    let placed: Vec<_> = marks.iter().filter_map(|mark| Some((mark, place(mark)?))).collect();
    let mut taken = Vec::new();
    let mut svg = String::new();
    for (mark, at) in &placed {
        let others = placed.iter().filter(|(other, _)| other != mark);
        let mut dots = dots.to_vec();
        dots.extend(others.flat_map(|(other, at)| dots_of(other.is_at_x, *at, area)));
        let label = cut(&mark.label, TEXT_PX, area.width * 0.6);
        let width = width_px(&label, TEXT_PX);
        let boxes = if mark.is_at_x { beside(*at, width, area) } else { along(*at, width, area) };
        let place = best(&boxes, &taken, area, &dots);
        taken.push(place);
        svg += &rule(mark, *at, area, &format!("{}>{}", begin_of(place), escape(&label)));
    }
    svg
}

/// Places along a line, which names of other lines keep free, too.
fn dots_of(is_at_x: bool, at: f64, area: &Area) -> impl Iterator<Item = [f64; 2]> {
    let (from, length) = if is_at_x { (area.top, area.height) } else { (area.left, area.width) };
    (0..=40).map(move |step| {
        let along = from + length * f64::from(step) / 40.0;
        if is_at_x { [at, along] } else { [along, at] }
    })
}

fn begin_of([left, _, _, bottom]: Box) -> String {
    format!("transform=\"translate({} {})\"", px(left), px(bottom - 4.0))
}

fn rule(mark: &Mark, at: f64, area: &Area, label: &str) -> String {
    let [from, to] = if mark.is_at_x {
        [[at, area.top], [at, area.bottom()]]
    } else {
        [[area.left, at], [area.right(), at]]
    };
    let axis = if mark.is_at_x { 'x' } else { 'y' };
    let colour = mark.colour % N_COLOURS;
    let whole = escape(&mark.label);
    format!(
        "<g class=\"c{colour}\" data-axis=\"{axis}\"><title>{whole}</title>\
         <path class=\"rule\" d=\"M{}L{}\"/><text class=\"name\" {label}</text></g>\n",
        pair(from),
        pair(to)
    )
}

/// Places of a name above and below a horizontal line: at its end, its begin, its middle.
fn along(y: f64, width: f64, area: &Area) -> Vec<Box> {
    let right = area.right() - width - 6.0;
    let lefts = [right, area.left + 6.0, (right + area.left) / 2.0];
    let tops = [y - 18.0, y + 2.0];
    let place = |left: f64| tops.map(|top| [left, top, left + width, top + 16.0]);
    lefts.into_iter().flat_map(place).collect()
}

/// Places of a name right and left of a vertical line, from the top downwards.
fn beside(x: f64, width: f64, area: &Area) -> Vec<Box> {
    let tops = (0..N_LINES).map(|line| area.top + 3.0 + 17.0 * f64::from(line));
    let lefts = [x + 4.0, x - 4.0 - width];
    tops.flat_map(|top| lefts.map(|left| [left, top, left + width, top + 16.0])).collect()
}

/// The first place that hides fewest points, among those that are free and inside.
fn best(boxes: &[Box], taken: &[Box], area: &Area, dots: &[[f64; 2]]) -> Box {
    let is_inside = |place: &Box| {
        let [left, top, right, bottom] = *place;
        left >= area.left && right <= area.right() && top >= area.top && bottom <= area.bottom()
    };
    let is_free = |place: &Box| !taken.iter().any(|other| overlap(place, other));
    let n_hidden = |place: &Box| {
        let [left, top, right, bottom] = *place;
        let is_hidden = |[x, y]: &&[f64; 2]| {
            (left - 4.0..=right + 4.0).contains(x) && (top - 4.0..=bottom + 4.0).contains(y)
        };
        dots.iter().filter(is_hidden).count()
    };
    let good = boxes.iter().filter(|place| is_inside(place) && is_free(place));
    *good.min_by_key(|place| n_hidden(place)).unwrap_or(&boxes[0])
}

fn overlap(a: &Box, b: &Box) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { left: 0.0, top: 0.0, width: 400.0, height: 300.0 };

    fn series(name: &str, kind: Kind, colour: usize) -> Trace {
        Trace { name: name.into(), kind, colour, dashes: 0, points: vec![Vertex::default()] }
    }

    #[test]
    fn a_law_is_shown_and_hidden_with_its_points() {
        let all = [
            series("fit", Kind::Fit, 0),
            series("echo", Kind::Curve, 0),
            series("a line", Kind::Fit, 5),
            series("a line", Kind::Fit, 6),
        ];
        assert_eq!(
            all.each_ref().map(|one| number(one, &all)),
            [Some(1), Some(1), Some(2), Some(2)]
        );
        assert_eq!(number(&series("echo", Kind::Scatter, 9), &all), Some(1));
        assert_eq!(number(&series("other", Kind::Scatter, 9), &all), None);
        assert_eq!(legend(&all, 0.0, 700.0).0.matches("class=\"entry").count(), 2);
    }

    #[test]
    fn names_keep_apart_from_each_other_and_from_points() {
        let boxes = along(100.0, 80.0, &AREA);
        let first = best(&boxes, &[], &AREA, &[]);
        assert_eq!(first, boxes[0]);
        let second = best(&boxes, &[first], &AREA, &[]);
        assert!(!overlap(&first, &second));
        let dot = [first[0] + 10.0, first[1] + 5.0];
        assert_ne!(best(&boxes, &[], &AREA, &[dot]), first);
    }

    #[test]
    fn names_stay_inside() {
        let place = best(&beside(390.0, 80.0, &AREA), &[], &AREA, &[]);
        assert!(place[2] <= 390.0);
        let place = best(&along(4.0, 80.0, &AREA), &[], &AREA, &[]);
        assert!(place[1] > 4.0);
    }
}
