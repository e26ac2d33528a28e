//! Curves over two axes: where the parts of a chart stand.

use super::curve::{DrawnCurve, places};
use super::figure::{Axis, Chart, Quantity, Scale, Trace, Vertex};
use super::legend::{legend, number};
use super::panel::{Area, Panel, Side};
use super::rule::rules;
use super::svg::{Drawing, MARGIN_PX, WIDTH_PX};
use super::text::px;

/// Height of the plot area, and of the strip with residuals.
const HEIGHT_PX: [f64; 2] = [320.0, 84.0];
/// Space between these two.
const BETWEEN_PX: f64 = 16.0;
/// Room for ticks and names of the horizontal axis.
const X_LABELS_PX: f64 = 40.0;
/// Room for the name of the vertical axis, and for its ticks.
const Y_LABEL_PX: f64 = MARGIN_PX + 28.0;

/// The axes of a chart, and of its strip.
pub(super) struct Sides<'a> {
    pub(super) x: Side<'a>,
    pub(super) y: Side<'a>,
    pub(super) strip: Side<'a>,
    area: Area,
    strip_area: Area,
}

/// The vertical axis of a strip with residuals.
pub(super) fn residual_axis() -> Axis {
    Axis { label: "residual".into(), quantity: Quantity::Percent, scale: Scale::Linear }
}

/// The axes of `chart` when nothing stands above it.
pub(super) fn sides<'a>(chart: &'a Chart, strip_axis: &'a Axis) -> Sides<'a> {
    sides_below(chart, strip_axis, 0.0)
}

/// The axes of `chart` from `top_px` downwards; what is widest of the ticks sets the left edge.
fn sides_below<'a>(chart: &'a Chart, strip_axis: &'a Axis, top_px: f64) -> Sides<'a> {
    let mut area = Area { left: 0.0, top: top_px, width: WIDTH_PX, height: HEIGHT_PX[0] };
    let mut strip_area = Area { top: area.bottom() + BETWEEN_PX, height: HEIGHT_PX[1], ..area };
    let y = Side::vertical(&chart.y, &y_values(chart), area.y_px());
    let strip = Side::low(strip_axis, &residual_values(chart), strip_area.y_px());
    let left = Y_LABEL_PX + y.tick_width_px().max(strip.tick_width_px()).max(24.0);
    for area in [&mut area, &mut strip_area] {
        (area.left, area.width) = (left, WIDTH_PX - MARGIN_PX - 4.0 - left);
    }
    let x = Side::horizontal(&chart.x, &x_values(chart), area.x_px());
    Sides { x, y, strip, area, strip_area }
}

/// Draws `chart` from `top_px` downwards; ids of elements begin with `id`.
pub(super) fn draw(id: &str, chart: &Chart, top_px: f64) -> Drawing {
    let (legend, legend_bottom_px) = legend(&chart.series, top_px);
    let strip_axis = residual_axis();
    let sides = sides_below(chart, &strip_axis, legend_bottom_px + 10.0);
    let Sides { x, y, strip, area, strip_area } = &sides;
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

/// Curves and lines of the plot area.
fn contents(chart: &Chart, panel: &Panel<'_>) -> String {
    let (x, y) = (panel.x, panel.y);
    let curve = |series| DrawnCurve { series, x, y }.svg(number(series, &chart.series));
    let mut svg: String = chart.series.iter().map(curve).collect();
    let dots = |series: &Trace| {
        let places = places(&series.points, &x.ruler, &y.ruler);
        places.into_iter().map(|(_, _, at)| at).collect::<Vec<_>>()
    };
    let dots: Vec<_> = chart.series.iter().flat_map(dots).collect();
    svg += &rules(&chart.marks, &panel.area, [&x.ruler, &y.ruler], &dots);
    if dots.is_empty() {
        let Area { left, top, width, height } = panel.area;
        let (x, y) = (px(left + width / 2.0), px(top + height / 2.0));
        svg += &format!("<text class=\"quiet middle\" x=\"{x}\" y=\"{y}\">no values</text>\n");
    }
    svg
}

/// Errors of curves around a line at 0; each is shown and hidden with the curve of its name.
fn residuals(chart: &Chart, panel: &Panel<'_>) -> String {
    let (x, y) = (panel.x, panel.y);
    let zero = y.ruler.px(0.0).map_or(String::new(), |at| {
        let [left, right] = panel.area.x_px().map(px);
        format!("<path class=\"zero\" d=\"M{left} {0}L{right} {0}\"/>\n", px(at))
    });
    let curve = |series: &Trace| DrawnCurve { series, x, y }.svg(number(series, &chart.series));
    zero + &chart.residuals.iter().map(curve).collect::<String>()
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

/// The value of a point, and the ends of its ranges.
fn with_ranges(point: &Vertex) -> impl Iterator<Item = f64> {
    let ranges = [point.interval, point.middle_half].into_iter().flatten();
    std::iter::once(point.y).chain(ranges.flat_map(|(low, high)| [low, high]))
}
