//! A value for each pair of ranks, as coloured cells.

use std::fmt::Write;

use super::figure::{Axis, HeatMap, Quantity, Scale};
use super::grid::{Grid, MOST_ROWS, first_word};
use super::panel::Area;
use super::scale::Ruler;
use super::svg::{Drawing, MARGIN_PX, TEXT_PX, WIDTH_PX, short_text};
use super::text::{cut, decimals, px, width_px};
use super::tick::{ticks, unit};
use crate::units::significant;
use crate::xml::escape;

/// Up to this many rows, values are written into their cells.
const MOST_WRITTEN: usize = 12;
/// Side of the map, and the most of a cell.
const SIDE_PX: f64 = 400.0;
const CELL_PX: f64 = 72.0;
/// The most of a row's name.
const NAME_PX: f64 = 110.0;
/// Room for the names of columns.
const NAMES_PX: f64 = 40.0;
/// Width of the colour bar, and what it keeps from the map.
const BAR_PX: [f64; 2] = [16.0, 26.0];
/// Room for the ticks of the colour bar.
const BAR_LABELS_PX: f64 = 66.0;
/// Nodes that are narrower get no borders, which would hide their values.
const DENSE_PX: f64 = 20.0;
/// From the first colour to the last, values grow by no less: what differs less looks the same.
const LEAST_GROWTH: f64 = 1.1;
/// A wider range than this is coloured by its logarithm.
const WIDE: f64 = 20.0;
/// Number of colours.
const N_LEVELS: usize = 32;
/// Colours from the smallest to the largest value: viridis, in even steps of what is seen.
pub(super) const STOPS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// Draws `map` from `top_px` downwards; ids of elements begin with `id`.
pub(super) fn draw(id: &str, map: &HeatMap, top_px: f64) -> Drawing {
    let view = View::new(map, top_px);
    let mut svg = view.note();
    svg += &hatch(id);
    svg += &view.area.open_panel(id, "pairs", &view.attributes(), 0.0);
    svg += &format!("<rect fill=\"url(#{id}-hatch)\" {}/>\n", view.area.rect());
    svg += &format!("<g class=\"axis axis-x\">{}</g>\n", view.column_names());
    svg += &format!("<g class=\"axis axis-y\">{}</g>\n", view.row_names());
    svg += &format!("<g class=\"area\" clip-path=\"url(#{id}-pairs)\">\n");
    svg += &(view.cells() + &view.written() + &view.borders() + "</g>\n");
    svg += &format!("<rect class=\"frame\" {}/>\n", view.area.rect());
    svg += &(view.labels() + "</g>\n" + &view.bar() + &view.missing(id));
    Drawing { svg, bottom_px: view.area.bottom() + NAMES_PX }
}

/// Positions of all parts.
struct View<'a> {
    map: &'a HeatMap,
    grid: Grid,
    area: Area,
    /// Places of values along the colour bar.
    ruler: Ruler,
    names_px: f64,
}

impl<'a> View<'a> {
    fn new(map: &'a HeatMap, top_px: f64) -> Self {
        let grid = Grid::of(map, MOST_ROWS);
        let n_rows = grid.n_rows().max(1) as f64;
        let side = (n_rows * CELL_PX).min(SIDE_PX);
        let widths = grid.names.iter().map(|name| width_px(name, TEXT_PX));
        let names_px = widths.fold(20.0, f64::max).min(NAME_PX);
        let whole = 30.0 + names_px + side + BAR_PX[0] + BAR_PX[1] + BAR_LABELS_PX;
        let left = (WIDTH_PX - whole) / 2.0 + 30.0 + names_px;
        let top = top_px + if grid.n_together > 1 { 24.0 } else { 6.0 };
        let area = Area { left, top, width: side, height: side };
        let ruler = colour_ruler(&grid, area.y_px());
        Self { map, grid, area, ruler, names_px }
    }

    fn pitch_px(&self) -> f64 {
        self.area.width / self.grid.n_rows().max(1) as f64
    }

    /// Note above a map whose cells are medians.
    fn note(&self) -> String {
        let n = self.grid.n_together;
        if n == 1 {
            return String::new();
        }
        let y = px(self.area.top - 10.0);
        let text = format!("each cell is the median of up to {n} x {n} pairs");
        format!("<text class=\"quiet\" x=\"{}\" y=\"{y}\">{text}</text>\n", px(MARGIN_PX))
    }

    /// Attributes for the script.
    fn attributes(&self) -> String {
        let unit = unit(&self.ruler, self.map.quantity);
        let text = |value: &Option<f64>| {
            value.map_or(String::new(), |value| significant(value / unit.size, 4))
        };
        let values = self.grid.values.iter().map(text).collect::<Vec<_>>().join(",");
        let names = self.grid.names.iter().map(|name| name.replace('|', "/"));
        let names = escape(&names.collect::<Vec<_>>().join("|"));
        let [left, right] = self.area.x_px().map(px);
        let [bottom, top] = self.area.y_px().map(px);
        format!(
            " data-x-scale=\"names\" data-x-first=\"{left}\" data-x-last=\"{right}\" \
             data-y-scale=\"names\" data-y-first=\"{top}\" data-y-last=\"{bottom}\" \
             data-unit=\"{}\" data-names=\"{names}\" data-values=\"{values}\"",
            unit.name
        )
    }

    /// One path for each colour, in units of cells.
    fn cells(&self) -> String {
        let mut paths = vec![String::new(); N_LEVELS];
        for (row, column, value) in self.grid.cells() {
            let path = &mut paths[self.level(value)];
            write!(path, "M{column} {row}h1v1h-1z").expect("strings can be written");
        }
        let (pitch, left, top) = (self.pitch_px(), px(self.area.left), px(self.area.top));
        let pitch = decimals(pitch, 4);
        let mut svg = format!(
            "<g class=\"cells\" shape-rendering=\"crispEdges\" \
             transform=\"matrix({pitch} 0 0 {pitch} {left} {top})\">\n"
        );
        for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            svg += &format!("<path fill=\"{}\" d=\"{path}\"/>\n", colour(level));
        }
        svg + "</g>\n"
    }

    /// The values in the cells, where these are large enough.
    fn written(&self) -> String {
        if self.grid.n_rows() > MOST_WRITTEN {
            return String::new();
        }
        let (unit, pitch) = (unit(&self.ruler, self.map.quantity), self.pitch_px());
        let text = |(row, column, value): (usize, usize, f64)| {
            let x = px(self.area.left + pitch * (column as f64 + 0.5));
            let y = px(self.area.top + pitch * (row as f64 + 0.5) + 4.0);
            let ground = if self.level(value) < N_LEVELS * 5 / 8 { "dark" } else { "light" };
            let value = significant(value / unit.size, 3);
            format!(
                "<text class=\"value on-{ground}\" transform=\"translate({x} {y})\">{value}</text>"
            )
        };
        self.grid.cells().map(text).collect::<String>() + "\n"
    }

    /// Lines before the first ranks of further nodes.
    fn borders(&self) -> String {
        let Area { left, top, .. } = self.area;
        let line = |border: &usize| {
            let at = self.pitch_px() * *border as f64 / self.grid.n_together as f64;
            let [x, y] = [left + at, top + at].map(px);
            let ([left, right], [bottom, top]) =
                (self.area.x_px().map(px), self.area.y_px().map(px));
            format!("M{x} {top}L{x} {bottom}M{left} {y}L{right} {y}")
        };
        let n_ranks = self.map.names.len();
        let inner = self.map.borders.iter().filter(|border| (1..n_ranks).contains(*border));
        let is_dense = self.area.width / (inner.clone().count() + 1) as f64 <= DENSE_PX;
        let path: String = inner.map(line).collect();
        if path.is_empty() || is_dense {
            return String::new();
        }
        format!("<path class=\"border\" d=\"{path}\"/>\n")
    }

    /// Every so many of the names, so that they keep `spacing_px` apart, and where they stand.
    fn shown(&self, spacing_px: f64) -> impl Iterator<Item = (f64, &str)> {
        let pitch = self.pitch_px();
        let fits = |step: &usize| *step as f64 * pitch >= spacing_px;
        let step = [1, 2, 4, 8, 16, 32].into_iter().find(fits).unwrap_or(MOST_ROWS);
        let names = self.grid.names.iter().enumerate().step_by(step);
        names.map(move |(index, name)| (pitch * (index as f64 + 0.5), name.as_str()))
    }

    fn column_names(&self) -> String {
        let names = self.grid.names.iter().map(|name| first_word(name));
        let widest = names.map(|name| width_px(name, TEXT_PX)).fold(0.0, f64::max);
        let y = px(self.area.bottom() + 16.0);
        let text = |(at, name): (f64, &str)| {
            let x = px(self.area.left + at);
            let name = escape(&cut(first_word(name), TEXT_PX, NAME_PX));
            format!("<text class=\"tick middle\" x=\"{x}\" y=\"{y}\">{name}</text>")
        };
        self.shown(widest.min(NAME_PX) + 6.0).map(text).collect()
    }

    fn row_names(&self) -> String {
        let x = px(self.area.left - 6.0);
        let text = |(at, name): (f64, &str)| {
            let y = px(self.area.top + at + TEXT_PX * 0.35);
            short_text(&format!("class=\"tick end\" x=\"{x}\" y=\"{y}\""), name, NAME_PX)
        };
        self.shown(TEXT_PX + 2.0).map(text).collect()
    }

    /// Labels of rows and columns.
    fn labels(&self) -> String {
        let Area { left, top, width, height } = self.area;
        let [rows, columns] = self.map.axes.each_ref().map(|label| escape(label));
        let (x, y) = (px(left + width / 2.0), px(top + height + 36.0));
        let row_x = px(left - self.names_px - 18.0);
        format!(
            "<text class=\"label middle\" x=\"{x}\" y=\"{y}\">{columns}</text>\n\
             <text class=\"label middle\" transform=\"translate({row_x} {}) rotate(-90)\">{rows}\
             </text>\n",
            px(top + height / 2.0)
        )
    }

    /// Number of the colour of `value`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    fn level(&self, value: f64) -> usize {
        let at = self.ruler.px(value).unwrap_or(self.area.bottom());
        let share = (self.area.bottom() - at) / self.area.height;
        ((share * N_LEVELS as f64) as usize).min(N_LEVELS - 1)
    }

    /// The colour bar with its ticks.
    fn bar(&self) -> String {
        let Area { top, height, .. } = self.area;
        if self.grid.cells().next().is_none() {
            return String::new();
        }
        let left = self.area.right() + BAR_PX[1];
        let step = height / N_LEVELS as f64;
        let level = |level: usize| {
            let y = px(top + height - step * (level as f64 + 1.0));
            let at = format!("x=\"{}\" y=\"{y}\" width=\"{}\"", px(left), px(BAR_PX[0]));
            format!("<rect {at} height=\"{}\" fill=\"{}\"/>", px(step), colour(level))
        };
        let levels: String = (0..N_LEVELS).map(level).collect();
        let x = left + BAR_PX[0];
        let tick = |(value, label): (f64, String)| {
            let y = self.ruler.px(value)?;
            let (from, to, base) = (px(x), px(x + 8.0), px(y + TEXT_PX * 0.35));
            Some(format!(
                "<path class=\"ticks\" d=\"M{from} {}h5\"/>\
                 <text class=\"tick\" x=\"{to}\" y=\"{base}\">{label}</text>",
                px(y)
            ))
        };
        let ticks = ticks(&self.ruler, self.map.quantity, 34.0).major;
        let ticks: String = ticks.into_iter().filter_map(tick).collect();
        let unit = unit(&self.ruler, self.map.quantity).name;
        let (x, y) = (px(x + 8.0), px(top + height + 16.0));
        let unit = format!("<text class=\"quiet\" x=\"{x}\" y=\"{y}\">{unit}</text>");
        format!(
            "<g class=\"bar\"><g shape-rendering=\"crispEdges\">{levels}</g>\n{ticks}{unit}</g>\n"
        )
    }

    /// Explanation of hatched cells, if there are any.
    fn missing(&self, id: &str) -> String {
        if self.grid.cells().count() == self.grid.n_rows().pow(2) && self.grid.n_rows() > 0 {
            return String::new();
        }
        let (x, y) = (self.area.right() + BAR_PX[1], self.area.bottom() + 26.0);
        format!(
            "<rect class=\"frame\" x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\"/>\
             <rect fill=\"url(#{id}-hatch)\" x=\"{0}\" y=\"{1}\" width=\"12\" height=\"12\"/>\
             <text class=\"quiet\" x=\"{2}\" y=\"{3}\">not measured</text>\n",
            px(x),
            px(y),
            px(x + 18.0),
            px(y + 10.0)
        )
    }
}

/// From the smallest to the largest value.
fn colour_ruler(grid: &Grid, ends_px: [f64; 2]) -> Ruler {
    let values: Vec<f64> = grid.cells().map(|(_, _, value)| value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_wide = low > 0.0 && high > low * WIDE;
    let scale = if is_wide { Scale::Log10 } else { Scale::Linear };
    let axis = Axis { label: String::new(), quantity: Quantity::Count, scale };
    let ruler = Ruler::new(&axis, &values, ends_px);
    let high = high.max(low * LEAST_GROWTH);
    if low < high { Ruler { range: [low, high], ..ruler } } else { ruler }
}

/// The pattern of cells without a value.
fn hatch(id: &str) -> String {
    format!(
        "<pattern id=\"{id}-hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
         <path class=\"hatch\" d=\"M-1 6L6 -1M-1 1L1 -1M4 6L6 4\"/></pattern>\n"
    )
}

/// A colour between those of [`STOPS`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn colour(level: usize) -> String {
    let at = level as f64 / (N_LEVELS - 1) as f64 * (STOPS.len() - 1) as f64;
    let stop = (at as usize).min(STOPS.len() - 2);
    let share = at - stop as f64;
    let mix = |part: usize| {
        let [from, to] = [STOPS[stop][part], STOPS[stop + 1][part]].map(f64::from);
        (from + share * (to - from)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::super::grid::tests::map;
    use super::*;

    #[test]
    fn maps_of_many_ranks_stay_small() {
        let svg = draw("map", &map(512), 30.0).svg;
        assert!(svg.len() < 150_000, "{} bytes", svg.len());
        assert!(svg.contains("median of up to 8 x 8 pairs"));
    }

    #[test]
    fn colours_run_from_the_first_stop_to_the_last() {
        assert_eq!((colour(0), colour(N_LEVELS - 1)), ("#440154".into(), "#fde725".into()));
    }

    #[test]
    fn values_that_hardly_differ_have_one_colour() {
        let colours = |high| {
            let mut map = map(2);
            map.values = [100.0, high, 100.0, 100.0].map(Some).into();
            let svg = draw("map", &map, 30.0).svg;
            let cells = svg.split("<g class=\"cells\"").nth(1).unwrap();
            cells.split("</g>").next().unwrap().matches("<path").count()
        };
        assert_eq!((colours(100.01), colours(120.0)), (1, 2));
    }

    #[test]
    fn values_that_are_missing_or_equal_are_drawn() {
        let mut equal = map(3);
        equal.values.fill(Some(5.0));
        assert!(!draw("map", &equal, 30.0).svg.contains("not measured"));
        let empty = HeatMap { names: Vec::new(), values: Vec::new(), ..map(1) };
        assert!(!draw("map", &empty, 30.0).svg.contains("class=\"bar\""));
        let short = HeatMap { values: vec![Some(f64::NAN)], ..map(2) };
        assert!(!draw("map", &short, 30.0).svg.contains("NaN"));
    }
}
