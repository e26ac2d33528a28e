//! A value for each pair of ranks, as coloured cells; where there are too many to be drawn, rows and
//! columns are put together.

use std::fmt::Write;

use super::curve::pair;
use super::figure::{Axis, HeatMap, Scale};
use super::panel::Area;
use super::scale::{Ruler, extremes};
use super::style::Frame;
use super::svg::{
    Drawing, MARGIN_PX, TEXT_PX, cut, decimals, px, short_text, text, upright, width_px,
};
use crate::units::significant;
use crate::xml::escape;

/// More rows than this are put together, so that pictures of many ranks stay small.
pub(super) const MOST_ROWS: usize = 64;
/// Cells of at least this width have their values written into them.
const LEAST_WRITTEN_PX: f64 = 33.0;
const SIDE_PX: f64 = 400.0;
const CELL_PX: f64 = 72.0;
const NAME_PX: f64 = 110.0;
/// Width of a picture in the widest names of its rows.
const NAMES_PER_WIDTH: f64 = 6.5;
const NAMES_PX: f64 = 40.0;
/// Width of the colour bar, and what it keeps from the map.
const BAR_PX: [f64; 2] = [16.0, 26.0];
const BAR_LABELS_PX: f64 = 84.0;
/// Nodes that are narrower get no borders, which would hide their values.
const DENSE_PX: f64 = 20.0;
/// From the first colour to the last, values grow by no less: what differs less looks the same.
const LEAST_GROWTH: f64 = 1.1;
/// A wider range than this is coloured by its logarithm.
const WIDE: f64 = 20.0;
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

/// A map whose rows are few enough to be drawn.
#[derive(Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) names: Vec<String>,
    /// Row by row.
    pub(super) values: Vec<Option<f64>>,
    /// Number of ranks of each row.
    pub(super) n_together: usize,
}

impl Grid {
    /// `map` as it is, or with medians of so many ranks that it has at most `most_rows` rows.
    pub(super) fn of(map: &HeatMap, most_rows: usize) -> Self {
        let n_together = map.names.len().div_ceil(most_rows).max(1);
        let ranks: Vec<usize> = (0..map.names.len()).collect();
        let groups: Vec<_> = ranks.chunks(n_together).collect();
        let pairs =
            groups.iter().flat_map(|rows| groups.iter().map(move |columns| (rows, columns)));
        let value = |(rows, columns): (&&[usize], &&[usize])| median_of(map, rows, columns);
        let values = pairs.map(value).collect();
        let name = |ranks: &&[usize]| match ranks {
            [only] => map.names[*only].clone(),
            [first, .., last] => format!("{}–{}", first_word(&map.names[*first]), map.names[*last]),
            [] => String::new(),
        };
        Self { names: groups.iter().map(name).collect(), values, n_together }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.names.len()
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let n_rows = self.n_rows().max(1);
        let cells = self.values.iter().enumerate();
        cells.filter_map(move |(index, value)| Some((index / n_rows, index % n_rows, (*value)?)))
    }
}

fn median_of(map: &HeatMap, rows: &[usize], columns: &[usize]) -> Option<f64> {
    let cells = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
    let value = |(row, column)| *map.values.get(row * map.names.len() + column)?;
    let values: Vec<f64> = cells.filter_map(value).filter(|value| value.is_finite()).collect();
    comet_stats::median(&values)
}

/// The number of a rank, without its host.
pub(super) fn first_word(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or(name)
}

pub(super) fn draw(id: &str, map: &HeatMap, top_px: f64, frame: &Frame) -> Drawing {
    let view = View::new(map, top_px, frame);
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

struct View<'a> {
    map: &'a HeatMap,
    grid: Grid,
    area: Area,
    ruler: Ruler,
    names_px: f64,
}

impl<'a> View<'a> {
    fn new(map: &'a HeatMap, top_px: f64, frame: &Frame) -> Self {
        let grid = Grid::of(map, MOST_ROWS);
        let n_rows = grid.n_rows().max(1) as f64;
        let widths = grid.names.iter().map(|name| width_px(name, TEXT_PX));
        let most_px = NAME_PX.min(frame.width / NAMES_PER_WIDTH);
        let names_px = widths.fold(20.0, f64::max).min(most_px);
        let around = 30.0 + names_px + BAR_PX[0] + BAR_PX[1] + BAR_LABELS_PX;
        let side = (n_rows * CELL_PX).min(SIDE_PX).min(frame.width - around - MARGIN_PX);
        let left = (frame.width - around - side) / 2.0 + 30.0 + names_px;
        let top = top_px + if grid.n_together > 1 { 24.0 } else { 6.0 };
        let area = Area { left, top, width: side, height: side };
        let ruler = colour_ruler(map, &grid, area.y_px());
        Self { map, grid, area, ruler, names_px }
    }

    fn pitch_px(&self) -> f64 {
        self.area.width / self.grid.n_rows().max(1) as f64
    }

    fn note(&self) -> String {
        let n = self.grid.n_together;
        if n == 1 {
            return String::new();
        }
        let words = format!("each cell is the median of up to {n} x {n} pairs");
        text("quiet", [MARGIN_PX, self.area.top - 10.0], &words) + "\n"
    }

    fn attributes(&self) -> String {
        let unit = self.ruler.unit();
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

    fn written(&self) -> String {
        let (unit, pitch) = (self.ruler.unit(), self.pitch_px());
        if pitch < LEAST_WRITTEN_PX {
            return String::new();
        }
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
        let label = |(at, name): (f64, &str)| {
            let name = escape(&cut(first_word(name), TEXT_PX, NAME_PX));
            text("tick middle", [self.area.left + at, self.area.bottom() + 16.0], &name)
        };
        self.shown(widest.min(NAME_PX) + 6.0).map(label).collect()
    }

    fn row_names(&self) -> String {
        let x = px(self.area.left - 6.0);
        let text = |(at, name): (f64, &str)| {
            let y = px(self.area.top + at + TEXT_PX * 0.35);
            short_text(&format!("class=\"tick end\" x=\"{x}\" y=\"{y}\""), name, self.names_px)
        };
        self.shown(TEXT_PX + 2.0).map(text).collect()
    }

    fn labels(&self) -> String {
        let Area { left, top, width, height } = self.area;
        let [rows, columns] = &self.map.axes;
        let at = [left + width / 2.0, top + height + 36.0];
        let columns = text("label middle", at, &escape(columns)) + "\n";
        columns + &upright([left - self.names_px - 18.0, top + height / 2.0], rows)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    fn level(&self, value: f64) -> usize {
        let at = self.ruler.px(value).unwrap_or(self.area.bottom());
        let share = (self.area.bottom() - at) / self.area.height;
        ((share * N_LEVELS as f64) as usize).min(N_LEVELS - 1)
    }

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
            let label = text("tick", [x + 8.0, y + TEXT_PX * 0.35], &label);
            Some(format!("<path class=\"ticks\" d=\"M{}h5\"/>{label}", pair([x, y])))
        };
        let ticks = self.ruler.ticks(34.0).major;
        let ticks: String = ticks.into_iter().filter_map(tick).collect();
        let unit = text("quiet", [x + 8.0, top + height + 16.0], self.ruler.unit().name);
        format!(
            "<g class=\"bar\"><g shape-rendering=\"crispEdges\">{levels}</g>\n{ticks}{unit}</g>\n"
        )
    }

    fn missing(&self, id: &str) -> String {
        if self.grid.cells().count() == self.grid.n_rows().pow(2) && self.grid.n_rows() > 0 {
            return String::new();
        }
        let (left, top) = (self.area.right() + BAR_PX[1], self.area.bottom() + 26.0);
        let at = Area { left, top, width: 12.0, height: 12.0 }.rect();
        let words = text("quiet", [left + 18.0, top + 10.0], "not measured");
        format!("<rect class=\"frame\" {at}/><rect fill=\"url(#{id}-hatch)\" {at}/>{words}\n")
    }
}

fn colour_ruler(map: &HeatMap, grid: &Grid, ends_px: [f64; 2]) -> Ruler {
    let values: Vec<f64> = grid.cells().map(|(_, _, value)| value).collect();
    let [low, high] = extremes(values.iter().copied()).unwrap_or_default();
    let is_wide = low > 0.0 && high > low * WIDE;
    let scale = if is_wide { Scale::Log10 } else { Scale::Linear };
    let axis = Axis { label: String::new(), quantity: map.quantity, scale };
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
    use super::*;
    use crate::plot::Quantity;

    fn map(n_ranks: usize) -> HeatMap {
        let value = |index: usize| (index / n_ranks != index % n_ranks).then_some(index as f64);
        HeatMap {
            names: (0..n_ranks).map(|rank| format!("{rank} node{}", rank / 8)).collect(),
            quantity: Quantity::TimeNs,
            values: (0..n_ranks * n_ranks).map(value).collect(),
            borders: (8..n_ranks).step_by(8).collect(),
            axes: ["from rank".into(), "to rank".into()],
        }
    }

    #[test]
    fn many_ranks_are_put_together_by_medians() {
        let grid = Grid::of(&map(130), MOST_ROWS);
        assert_eq!((grid.n_together, grid.n_rows()), (3, 44));
        assert_eq!(grid.names[0], "0–2 node0");
        // Of the pairs 0-3, 0-4, 0-5, 1-3 … 2-5.
        assert_eq!(grid.values[1], Some(134.0));
        // The last group has one rank, which was not measured with itself.
        assert_eq!(grid.values.last(), Some(&None));
    }

    #[test]
    fn few_ranks_stay_as_they_are() {
        let grid = Grid::of(&map(4), MOST_ROWS);
        assert_eq!((grid.n_together, grid.names.len(), grid.values[0]), (1, 4, None));
    }

    #[test]
    fn maps_of_many_ranks_stay_small() {
        let svg = draw("map", &map(512), 30.0, &Frame::FILE).svg;
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
            let svg = draw("map", &map, 30.0, &Frame::FILE).svg;
            let cells = svg.split("<g class=\"cells\"").nth(1).unwrap();
            cells.split("</g>").next().unwrap().matches("<path").count()
        };
        assert_eq!((colours(100.01), colours(120.0)), (1, 2));
    }

    #[test]
    fn values_that_are_missing_or_equal_are_drawn() {
        let mut equal = map(3);
        equal.values.fill(Some(5.0));
        assert!(!draw("map", &equal, 30.0, &Frame::FILE).svg.contains("not measured"));
        let empty = HeatMap { names: Vec::new(), values: Vec::new(), ..map(1) };
        assert!(!draw("map", &empty, 30.0, &Frame::FILE).svg.contains("class=\"bar\""));
        let short = HeatMap { values: vec![Some(f64::NAN)], ..map(2) };
        assert!(!draw("map", &short, 30.0, &Frame::FILE).svg.contains("NaN"));
    }
}
