//! Figures in letters, for terminals: marks as letters, lines as dots between them.
//!
//! ```text
//!   comet/echo: one-way time
//!      10 ┤                        .·b
//!         │               ..·b····'
//!       1 ┤a···a···b···b'
//!         └┬─────┬──────┬──────┬────
//!          0     16    1Ki    64Ki
//!   us over message length in B      a 1 hop   b 4 hops
//! ```
//!
//! A letter cell counts as a few pixels, so that axes and ticks are those of the other forms. Fitted
//! laws are left out: they would hide the points.

use super::figure::{Body, Chart, Figure, HeatMap, Kind, Trace};
use super::heat_map::Grid;
use super::panel::Side;
use super::scale::{Ruler, extremes};

const CELL_PX: [f64; 2] = [8.0, 16.0];
const DOTS: [usize; 2] = [2, 4];
/// Distance between ticks in pixels, across and down.
const SPACING_PX: [f64; 2] = [64.0, 44.0];
/// Steps of a distribution between two letters of it.
const STEPS_PER_LETTER: usize = 25;
const LEAST: [usize; 2] = [40, 8];

/// The letters that a figure is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// Braille dots and lines of Unicode.
    Unicode,
    /// Nothing but ASCII.
    Ascii,
}

impl Letters {
    /// Upright of the vertical axis, a tick on it, the corner, a tick on the horizontal axis, and
    /// what it consists of.
    fn axes(self) -> [char; 5] {
        match self {
            Self::Unicode => ['│', '┤', '└', '┬', '─'],
            Self::Ascii => ['|', '+', '+', '+', '-'],
        }
    }

    fn dots(self, dots: u8) -> char {
        match self {
            _ if dots == 0 => ' ',
            Self::Unicode => char::from_u32(0x2800 + u32::from(dots)).unwrap_or('?'),
            Self::Ascii => '.',
        }
    }

    fn shades(self) -> &'static [char] {
        match self {
            Self::Unicode => &['░', '▒', '▓', '█'],
            Self::Ascii => &['.', '-', '+', '*', '#', '@'],
        }
    }

    /// `text` in these letters, without those that a terminal would obey.
    fn write(self, text: &str) -> String {
        let mut written = String::new();
        for c in text.chars() {
            match c {
                c if !c.is_control() && (self == Self::Unicode || c.is_ascii()) => written.push(c),
                'µ' => written.push('u'),
                '∞' => written += "_inf",
                '½' => written += "_half",
                '₀' => written.push('0'),
                _ => written.push('?'),
            }
        }
        written
    }

    fn write_tick(self, label: &str) -> String {
        match (self, label.strip_prefix("10")) {
            (Self::Ascii, Some(power)) if !label.is_ascii() => format!("10^{}", plain(power)),
            _ => self.write(label),
        }
    }
}

fn plain(exponent: &str) -> String {
    const RAISED: &str = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹";
    let plain =
        |c: char| RAISED.chars().zip("-0123456789".chars()).find(|(raised, _)| *raised == c);
    exponent.chars().map(|c| plain(c).map_or(c, |(_, plain)| plain)).collect()
}

/// `figure` in `width` times `height` letters, at least 40 times 8, without the lines of its title
/// and its legend; each line ends with a line feed.
pub fn terminal(figure: &Figure, width: usize, height: usize, letters: Letters) -> String {
    let [width, height] = [width.max(LEAST[0]), height.max(LEAST[1])];
    let lines = match &figure.body {
        Body::Chart(chart) => of_chart(chart, [width, height], letters),
        Body::HeatMap(map) => of_heat_map(map, [width, height], letters),
    };
    let title = letters.write(&figure.title);
    let lines = std::iter::once(title).chain(lines).map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

fn of_chart(chart: &Chart, [width, height]: [usize; 2], letters: Letters) -> Vec<String> {
    let shown: Vec<&Trace> =
        chart.series.iter().filter(|series| series.kind != Kind::Fit).collect();
    let points = || shown.iter().flat_map(|series| &series.points);
    let values: Vec<f64> = points().map(|point| point.y).collect();
    let down = Side::new(&chart.y, &values, [pixels(height, 1), 0.0], [SPACING_PX[1]; 2]);
    let widths = down.labelled().map(|(_, label)| letters.write_tick(label).chars().count());
    let margin = widths.max().unwrap_or(0) + 1;
    let columns = width.saturating_sub(margin + 1).max(1);
    let values: Vec<f64> = points().map(|point| point.x).collect();
    let across = Side::new(&chart.x, &values, [0.0, pixels(columns, 0)], [SPACING_PX[0]; 2]);
    let mut canvas = Canvas::new([columns, height], letters);
    for (series, letter) in shown.iter().zip(NAMES.chars().cycle()) {
        canvas.draw(series, letter, [&across.ruler, &down.ruler]);
    }
    let mut lines = left_axis(&canvas, &down, margin);
    lines.extend(bottom_axis(&across, [margin, columns], letters));
    let [y, x] = [(&chart.y, down), (&chart.x, across)].map(|(axis, side)| {
        let unit = side.ruler.unit().name;
        if unit.is_empty() { axis.label.clone() } else { format!("{} in {unit}", axis.label) }
    });
    lines.push(letters.write(&format!("{y}, against {x}")));
    lines.extend(legend(&shown, chart, width).iter().map(|line| letters.write(line)));
    lines
}

const NAMES: &str = "abcdefghijklmnopqrstuvwxyz";

/// Letter cells in pixels, across (0) or down (1).
fn pixels(cells: usize, direction: usize) -> f64 {
    real(cells) * CELL_PX[direction]
}

fn real(number: usize) -> f64 {
    number as f64
}

/// The number of the cell or dot at `px`, each of `size_px`, if it is among the first `n`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
fn index(px: f64, size_px: f64, n: usize) -> Option<usize> {
    let index = (px / size_px).floor();
    // The end of an axis belongs to its last cell.
    let is_near = index >= 0.0 && px <= size_px * real(n) + 1e-6;
    is_near.then(|| (index as usize).min(n.saturating_sub(1)))
}

struct Canvas {
    size: [usize; 2],
    letters: Letters,
    dots: Vec<u8>,
    marks: Vec<Option<char>>,
}

impl Canvas {
    fn new(size: [usize; 2], letters: Letters) -> Self {
        let n_cells = size[0] * size[1];
        Self { size, letters, dots: vec![0; n_cells], marks: vec![None; n_cells] }
    }

    fn draw(&mut self, series: &Trace, letter: char, [across, down]: [&Ruler; 2]) {
        let places: Vec<[f64; 2]> = series
            .points
            .iter()
            .filter_map(|point| Some([across.px(point.x)?, down.px(point.y)?]))
            .collect();
        if series.kind != Kind::Scatter {
            places.windows(2).for_each(|pair| self.line(pair[0], pair[1]));
        }
        let step = if series.kind == Kind::Steps { STEPS_PER_LETTER } else { 1 };
        for place in places.iter().step_by(step) {
            if let Some(cell) = self.cell(*place) {
                self.marks[cell] = Some(letter);
            }
        }
    }

    fn cell(&self, [x, y]: [f64; 2]) -> Option<usize> {
        let [columns, rows] = self.size;
        Some(index(y, CELL_PX[1], rows)? * columns + index(x, CELL_PX[0], columns)?)
    }

    fn line(&mut self, from: [f64; 2], to: [f64; 2]) {
        let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        let n_steps = dx.abs().max(dy.abs()).ceil().max(1.0);
        let mut step = 0.0;
        while step <= n_steps {
            let share = step / n_steps;
            self.dot([from[0] + share * dx, from[1] + share * dy]);
            step += 1.0;
        }
    }

    fn dot(&mut self, [x, y]: [f64; 2]) {
        /// Bits of Braille by row and column of the dot.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let [columns, rows] = self.size;
        let column = index(x, CELL_PX[0] / 2.0, columns * DOTS[0]);
        let row = index(y, CELL_PX[1] / 4.0, rows * DOTS[1]);
        if let (Some(column), Some(row)) = (column, row) {
            let cell = row / DOTS[1] * columns + column / DOTS[0];
            self.dots[cell] |= BITS[row % DOTS[1]][column % DOTS[0]];
        }
    }

    fn row(&self, row: usize) -> String {
        let cells = row * self.size[0]..(row + 1) * self.size[0];
        cells.map(|cell| self.marks[cell].unwrap_or(self.letters.dots(self.dots[cell]))).collect()
    }
}

fn left_axis(canvas: &Canvas, side: &Side, margin: usize) -> Vec<String> {
    let [upright, tick, ..] = canvas.letters.axes();
    let rows = canvas.size[1];
    let row_of = |value: f64| index(side.ruler.px(value)?, CELL_PX[1], rows);
    let row = |row: usize| {
        let label = side.labelled().find(|(value, _)| row_of(*value) == Some(row));
        let (label, axis) = label.map_or(("", upright), |(_, label)| (label, tick));
        let label = canvas.letters.write_tick(label);
        format!("{label:>0$} {axis}{1}", margin - 1, canvas.row(row))
    };
    (0..rows).map(row).collect()
}

/// The horizontal axis, and the line of its labels.
fn bottom_axis(side: &Side, [margin, columns]: [usize; 2], letters: Letters) -> [String; 2] {
    let [_, _, corner, tick, line] = letters.axes();
    let mut axis = vec![line; columns];
    let mut labels = vec![' '; margin + 1 + columns + 8];
    let mut free_from = 0;
    for (value, label) in side.labelled() {
        let column = side.ruler.px(value).and_then(|px| index(px, CELL_PX[0], columns));
        let Some(column) = column else { continue };
        axis[column] = tick;
        let label = letters.write_tick(label);
        let first = (margin + 1 + column).saturating_sub(label.chars().count() / 2);
        if first >= free_from && first + label.chars().count() <= labels.len() {
            free_from = first + label.chars().count() + 1;
            labels[first..].iter_mut().zip(label.chars()).for_each(|(cell, c)| *cell = c);
        }
    }
    let axis: String = axis.into_iter().collect();
    [format!("{:margin$}{corner}{axis}", ""), labels.into_iter().collect()]
}

/// The names of the curves, and of the single values worth a line, in lines of at most `width`
/// letters.
fn legend(shown: &[&Trace], chart: &Chart, width: usize) -> Vec<String> {
    let named = shown.iter().zip(NAMES.chars().cycle());
    let curves = named.map(|(series, letter)| format!("{letter} {}", series.name));
    let marks = chart.marks.iter().map(|mark| mark.label.clone());
    let mut lines: Vec<String> = Vec::new();
    for entry in curves.chain(marks) {
        let fits = |line: &String| line.chars().count() + entry.chars().count() + 3 <= width;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => *line += &format!("   {entry}"),
            None => lines.push(entry),
        }
    }
    lines
}

/// A cell of shades for each pair, or for several pairs where there are more than cells.
fn of_heat_map(map: &HeatMap, [width, height]: [usize; 2], letters: Letters) -> Vec<String> {
    let grid = Grid::of(map, (width / 2).min(height * 2));
    let known = map.values.iter().flatten().copied().filter(|value| value.is_finite());
    let ends = extremes(known);
    let [low, high] = ends.unwrap_or_default();
    let shades = letters.shades();
    let shade = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        shades[index(share * real(shades.len()), 1.0, shades.len()).unwrap_or(0)]
    };
    let row =
        |row: &[Option<f64>]| row.iter().flat_map(|cell| [cell.map_or(' ', shade); 2]).collect();
    let mut lines: Vec<String> = grid.values.chunks(grid.n_rows().max(1)).map(row).collect();
    let per_cell = grid.n_together;
    lines.push(format!("{} down, {} across, {per_cell} a cell", map.axes[0], map.axes[1]));
    if let Some(ends) = ends {
        let [low, high] = ends.map(|value| map.quantity.write(value));
        lines.push(format!("{low} {} {high}", shades.iter().collect::<String>()));
    }
    lines.into_iter().map(|line| letters.write(&line)).collect()
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::fixture::check_golden;
    use crate::plot::example;

    fn examples() -> [Figure; 2] {
        [example::latency(), example::pairs(8)]
    }

    #[test]
    fn figures_look_as_they_did() {
        let drawn = |letters| -> String {
            examples().iter().map(|figure| terminal(figure, 79, 16, letters) + "\n").collect()
        };
        check_golden("plot-terminal.txt", &(drawn(Letters::Unicode) + &drawn(Letters::Ascii)));
    }

    #[test]
    fn lines_fit_into_the_terminal() {
        for width in [0, 40, 79, 200] {
            for figure in examples() {
                let text = terminal(&figure, width, 10, Letters::Unicode);
                let is_short = |line: &str| line.chars().count() <= width.max(LEAST[0]);
                let plot = text.lines().filter(|line| line.contains(['│', '┤', '└']));
                assert!(plot.clone().count() == 0 || plot.clone().all(is_short), "{text}");
            }
        }
    }

    #[test]
    fn letters_that_a_terminal_would_obey_are_left_out() {
        let mut figure = example::latency();
        figure.title = "\u{1b}[2J10⁵".into();
        assert!(terminal(&figure, 79, 16, Letters::Unicode).starts_with("?[2J10⁵\n"));
        assert!(terminal(&figure, 79, 16, Letters::Ascii).is_ascii());
        assert_eq!(Letters::Ascii.write_tick("10⁻⁵"), "10^-5");
    }

    #[test]
    fn a_figure_without_values_has_its_axes() {
        let mut figure = example::latency();
        if let Body::Chart(chart) = &mut figure.body {
            chart.series.clear();
        }
        assert!(terminal(&figure, 79, 16, Letters::Ascii).lines().count() > 16);
        let figure = example::pairs(0);
        assert!(terminal(&figure, 79, 16, Letters::Unicode).starts_with(&figure.title));
    }
}
