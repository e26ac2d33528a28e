//! The values of a figure as CSV, for spreadsheets and data frames, and as a script for gnuplot that
//! holds them, to be changed by hand.

use super::chart::sides;
use super::curve::dashes;
use super::figure::{Body, Chart, Figure, HeatMap, Kind, Quantity, Scale, Trace, Vertex};
use super::heat_map::{Grid, MOST_ROWS, STOPS};
use super::panel::Side;
use super::style::{Frame, N_COLOURS, colour};
use super::svg::{number, one_line, slug};
use crate::units::significant;

/// Distance of 0 from the other values on a logarithmic axis, in shares of its length.
const ZERO_SHARE: f64 = 0.06;
/// The line before the values of a chart; the script of the page looks for it.
const DATA: &str = "$data << EOD\n";

/// A script that draws `figure` when it is given to gnuplot 5.2 or later.
///
/// It needs no other file, and writes `ID.svg`; with `-e "out='NAME.pdf'"` before its name it
/// writes a PDF, and with `.png` a PNG. Values are in base units (ns, bytes, bytes/s), ticks have the units of the figure.
pub fn gnuplot(figure: &Figure) -> String {
    around(figure, &csv(figure))
}

/// The script without the values of charts: a page has these as [`csv()`] already, and its script
/// puts them in.
pub fn gnuplot_frame(figure: &Figure) -> String {
    around(figure, "")
}

fn around(figure: &Figure, data: &str) -> String {
    let id = slug(&figure.id);
    let height = match &figure.body {
        Body::Chart(chart) if chart.residuals.is_empty() => 440,
        Body::Chart(_) | Body::HeatMap(_) => 560,
    };
    let head = format!(
        "# {title}\n\
         # `gnuplot {id}.gp` writes {id}.svg; for PDF or PNG: gnuplot -e \"out='{id}.pdf'\" {id}.gp\n\
         # Values are in base units: ns, bytes, bytes/s.\n\
         if (!exists('out')) out = '{id}.svg'\n\
         if (strlen(out) > 4 && out[strlen(out)-3:] eq '.png') \\\n    \
         set terminal pngcairo noenhanced size 1440,{png_height} fontscale 1.6 linewidth 2; \\\n\
         else if (strlen(out) > 4 && out[strlen(out)-3:] eq '.pdf') \\\n    \
         set terminal pdfcairo noenhanced size 6,{pdf_height:.2} fontscale 0.6; \\\n\
         else \\\n    \
         set terminal svg noenhanced size 720,{height} font 'Arial,12'\n\
         set output out\n\
         set encoding utf8\n\
         set title {quoted}\n",
        title = one_line(&figure.title).trim_end_matches('\\'),
        png_height = 2 * height,
        pdf_height = 6.0 * f64::from(height) / 720.0,
        quoted = quote(&figure.title),
    );
    let body = match &figure.body {
        Body::Chart(chart) => chart_script(chart, data),
        Body::HeatMap(map) => map_script(map),
    };
    head + &body + "unset output\n"
}

/// `text` as gnuplot reads it without looking for anything in it.
fn quote(text: &str) -> String {
    format!("'{}'", one_line(text).replace('\'', "''"))
}

fn chart_script(chart: &Chart, data: &str) -> String {
    let sides = sides(chart, 0.0, &Frame::FILE);
    let (x, y, strip) = (&sides.x, &sides.y, &sides.strip);
    let mut script = String::from(
        "set grid lt 1 lc rgb '#dddddd'\nset tics nomirror\nset key outside top left horizontal Left reverse\n\
         set lmargin at screen 0.13\nset rmargin at screen 0.97\n",
    );
    script +=
        &format!("set datafile separator comma\nset datafile commentschars ''\n{DATA}{data}EOD\n");
    let at = [value_of(2, 'x', x), value_of(Y_COLUMNS[0], 'y', y)];
    let curves = Rows { series: &chart.series, first: 1, at, has_titles: true };
    let has_strip = !chart.residuals.is_empty();
    if has_strip {
        script += "set multiplot\nset tmargin at screen 0.85\nset bmargin at screen 0.34\n";
    }
    script += &axis('x', x, !has_strip);
    script += &axis('y', y, true);
    script += &marks(chart, x, y);
    script += &plot(&curves);
    if has_strip {
        script += "unset title\nunset arrow\nunset label\n\
                   set tmargin at screen 0.30\nset bmargin at screen 0.12\n";
        script += &axis('x', x, true);
        script += &axis('y', strip, true);
        let first = 1 + chart.series.iter().map(|series| series.points.len()).sum::<usize>();
        let at = [value_of(2, 'x', x), value_of(Y_COLUMNS[1], 'y', strip)];
        script += &plot(&Rows { series: &chart.residuals, first, at, has_titles: false });
        script += "unset multiplot\n";
    }
    script
}

/// Position of `value` in gnuplot: 0 has a place below the others on a logarithmic axis.
fn drawn(side: &Side, value: f64) -> Option<f64> {
    side.ruler.px(value)?;
    let is_zero = value == 0.0 && side.ruler.zero_px.is_some();
    Some(if is_zero { zero_place(side) } else { value })
}

fn zero_place(side: &Side) -> f64 {
    let [from, to] = side.ruler.range;
    from * (from / to).powf(ZERO_SHARE)
}

/// An axis, with a function of its name that gives 0 the place it has on a logarithmic one.
fn axis(name: char, side: &Side, has_labels: bool) -> String {
    let [from, to] = side.ruler.range;
    let from =
        if side.ruler.zero_px.is_some() { zero_place(side) / (to / from).powf(0.03) } else { from };
    let scale = match side.ruler.scale {
        Scale::Linear => format!("unset logscale {name}"),
        Scale::Log2 => format!("set logscale {name} 2"),
        Scale::Log10 => format!("set logscale {name} 10"),
    };
    let tick = |(value, label): (f64, &str)| {
        let label = if has_labels { label } else { "" };
        Some(format!("{} {}", quote(label), number(drawn(side, value)?)))
    };
    let ticks: Vec<_> = side.labelled().filter_map(tick).collect();
    let label = if has_labels { quote(&side.label()) } else { quote("") };
    let zero = side.ruler.zero_px.map_or(String::new(), |_| {
        format!("{name}(v) = v==0 ? {} : v\n", significant(zero_place(side), 6))
    });
    format!(
        "{zero}{scale}\nset {name}range [{}:{}]\nset {name}tics ({})\nset {name}label {label}\n",
        significant(from, 6),
        significant(to, 6),
        ticks.join(", ")
    )
}

fn value_of(column: usize, name: char, side: &Side) -> String {
    if side.ruler.zero_px.is_some() { format!("{name}(${column})") } else { format!("${column}") }
}

const Y_COLUMNS: [usize; 2] = [3, 8];

/// Curves that stand in rows of the data that follow each other.
struct Rows<'a> {
    series: &'a [Trace],
    first: usize,
    /// Their place along both axes, as gnuplot computes it.
    at: [String; 2],
    has_titles: bool,
}

fn plot(rows: &Rows<'_>) -> String {
    let mut parts = Vec::new();
    let mut first = rows.first;
    for series in rows.series {
        let end = first + series.points.len();
        if series.points.iter().any(|point| point.x.is_finite() && point.y.is_finite()) {
            let title = if rows.has_titles {
                format!("title {}", quote(&series.name))
            } else {
                "notitle".into()
            };
            let data = format!("$data every ::{first}::{}", end - 1);
            parts.extend(elements(&data, &rows.at, series, &title));
        }
        first = end;
    }
    if parts.is_empty() {
        parts.push("NaN notitle".into());
    }
    format!("plot {}\n", parts.join(", \\\n     "))
}

/// Numbers of point types by colour.
const MARKS: [usize; N_COLOURS] = [7, 5, 13, 9, 11, 1, 2, 15, 3, 4];

fn elements(data: &str, [x, y]: &[String; 2], series: &Trace, title: &str) -> Vec<String> {
    let mark = format!("pt {} ps 0.7", MARKS[series.colour % N_COLOURS]);
    let colour = format!("lc rgb '{}'", colour(series.colour));
    let dashes = format!("dt {}", dashes(series) + 1);
    let has = |find: fn(&Vertex) -> bool| series.points.iter().any(find);
    let with = |values: &str, style: &str| format!("{data} using {values} with {style}");
    let at = format!("({x}):({y})");
    let mut parts = Vec::new();
    if has(|point| point.middle_half.is_some()) {
        let style = format!("filledcurves {colour} fs transparent solid 0.15 notitle");
        parts.push(with(&format!("({x}):6:7"), &style));
    }
    if has(|point| point.interval.is_some()) {
        parts.push(with(&format!("{at}:4:5"), &format!("yerrorbars {colour} pt 0 notitle")));
    }
    let style = match series.kind {
        Kind::Curve => format!("linespoints {colour} {dashes} {mark}"),
        Kind::Fit => format!("lines {colour} {dashes}"),
        Kind::Scatter => format!("points {colour} {mark}"),
        Kind::Steps => format!("steps {colour} {dashes}"),
    };
    parts.push(with(&at, &format!("{style} {title}")));
    if has(|point| point.is_hollow) {
        let hollow = format!("({x}):($9==1 ? ({y}) : NaN)");
        parts.push(with(&hollow, &format!("points lc rgb 'white' {mark} notitle")));
        parts.push(with(&hollow, &format!("points {colour} pt 6 ps 0.7 notitle")));
    }
    parts
}

fn marks(chart: &Chart, x: &Side, y: &Side) -> String {
    let mark = |mark: &super::figure::Mark| {
        let at = number(drawn(if mark.is_at_x { x } else { y }, mark.at)?);
        let (colour, label) = (colour(mark.colour), quote(&mark.label));
        let [ends, place] = if mark.is_at_x {
            ["@, graph 0 to @, graph 1", "@, graph 0.96 left offset 0.5,0"]
        } else {
            ["graph 0, first @ to graph 1, first @", "graph 0.99, first @ right offset 0,0.6"]
        }
        .map(|place| place.replace('@', &at));
        Some(format!(
            "set arrow from {ends} nohead dt 2 lc rgb '{colour}'\n\
             set label {label} at {place} tc rgb '{colour}'\n"
        ))
    };
    chart.marks.iter().filter_map(mark).collect()
}

fn map_script(map: &HeatMap) -> String {
    let grid = Grid::of(map, MOST_ROWS);
    let n_rows = grid.names.len().max(1);
    let value =
        |value: &Option<f64>| value.filter(|value| value.is_finite()).map_or("NaN".into(), number);
    let row = |row: &[Option<f64>]| row.iter().map(value).collect::<Vec<_>>().join(" ") + "\n";
    let rows: String = grid.values.chunks(n_rows).map(row).collect();
    let step = n_rows.div_ceil(16);
    let ticks = grid.names.iter().enumerate().step_by(step);
    let ticks: Vec<_> = ticks.map(|(index, name)| format!("{} {index}", quote(name))).collect();
    let ticks = ticks.join(", ");
    let stop = |(index, [red, green, blue]): (usize, &[u8; 3])| {
        format!("{index} '#{red:02x}{green:02x}{blue:02x}'")
    };
    let stops = STOPS.iter().enumerate().map(stop).collect::<Vec<_>>().join(", ");
    let end = n_rows as f64 - 0.5;
    let [y, x] = map.axes.each_ref().map(|label| quote(label));
    let unit = quote(map.quantity.units()[0].name);
    let image = if grid.values.iter().any(Option::is_some) {
        "plot $pairs matrix using 1:2:3 with image notitle"
    } else {
        "plot NaN notitle"
    };
    format!(
        "$pairs << EOD\n{rows}EOD\nset palette defined ({stops})\nset cblabel {unit}\n\
         set size square\nset xlabel {x}\nset ylabel {y}\nset xtics rotate by 90 right ({ticks})\n\
         set ytics ({ticks})\nset xrange [-0.5:{end}]\nset yrange [{end}:-0.5]\n{}{image}\n",
        borders(map, &grid)
    )
}

fn borders(map: &HeatMap, grid: &Grid) -> String {
    let line = |border: &usize| {
        let at = number(*border as f64 / grid.n_together as f64 - 0.5);
        format!(
            "set arrow from {at}, graph 0 to {at}, graph 1 nohead front\n\
             set arrow from graph 0, first {at} to graph 1, first {at} nohead front\n"
        )
    };
    map.borders.iter().map(line).collect()
}

/// The values of `figure`, with units in the names of columns and what is missing left empty.
///
/// A chart has a row a point: `series,x,y,low,high,p25,p75,residual_percent,hollow,note`,
/// where `low` and `high` are the ends of the 95 % interval, `p25` and `p75` those of the middle
/// half, and `hollow` is 1 for hollow marks. Lines through the chart follow as rows with an `x` or a `y` only, and the note `line`.
/// A heat map has a row a pair of ranks that was measured: `row,col,value`.
pub fn csv(figure: &Figure) -> String {
    let rows = match &figure.body {
        Body::Chart(chart) => chart_rows(chart),
        Body::HeatMap(map) => map_rows(map),
    };
    written(&rows)
}

/// `rows` with quotes where they are needed; each stands on one line, so that scripts for gnuplot
/// can count them.
fn written(rows: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row.iter().map(|field| one_line(field)))
            .expect("rows of a figure are equally long");
    }
    let bytes = writer.into_inner().expect("memory can be written");
    String::from_utf8(bytes).expect("texts were written")
}

fn chart_rows(chart: &Chart) -> Vec<Vec<String>> {
    let [x, y] = [&chart.x, &chart.y].map(|axis| axis.quantity.suffix());
    let mut head = vec!["series".into(), format!("x{x}")];
    head.extend(["y", "low", "high", "p25", "p75"].map(|name| format!("{name}{y}")));
    head.extend(["residual_percent", "hollow", "note"].map(String::from));
    let mut rows = vec![head];
    let point_row = |series: &Trace, point: &Vertex, is_residual: bool| {
        let ends = |range: Option<(f64, f64)>| range.map_or([None; 2], |(a, b)| [Some(a), Some(b)]);
        let ([low, high], [p25, p75]) = (ends(point.interval), ends(point.middle_half));
        let mut y = [Some(point.value()), low, high, p25, p75, None];
        if is_residual {
            y = [None, None, None, None, None, Some(point.value())];
        }
        let hollow = if point.is_hollow { "1" } else { "" };
        row(&series.name, Some(point.x), y, [hollow, &point.note])
    };
    for (all, is_residual) in [(&chart.series, false), (&chart.residuals, true)] {
        for series in all {
            rows.extend(series.points.iter().map(|point| point_row(series, point, is_residual)));
        }
    }
    rows.extend(chart.marks.iter().map(|mark| {
        let (x, y) = if mark.is_at_x { (Some(mark.at), None) } else { (None, Some(mark.at)) };
        row(&mark.label, x, [y, None, None, None, None, None], ["", "line"])
    }));
    rows
}

/// A row of a chart: `y` holds the columns from that of the value to that of the residual.
fn row(name: &str, x: Option<f64>, y: [Option<f64>; 6], more: [&str; 2]) -> Vec<String> {
    let numbers = [x].into_iter().chain(y).map(|value| value.map_or(String::new(), number));
    let name = std::iter::once(name.to_owned());
    name.chain(numbers).chain(more.map(String::from)).collect()
}

fn map_rows(map: &HeatMap) -> Vec<Vec<String>> {
    let suffix = Quantity::suffix(map.quantity);
    let mut rows = vec![vec!["row".into(), "col".into(), format!("value{suffix}")]];
    let n_ranks = map.names.len().max(1);
    for (index, value) in map.values.iter().enumerate() {
        let names = [index / n_ranks, index % n_ranks].map(|rank| map.names.get(rank));
        if let ([Some(from), Some(to)], Some(value)) = (names, value) {
            rows.push(vec![from.clone(), to.clone(), number(*value)]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::example;

    #[test]
    fn a_chart_has_a_row_a_point() {
        let text = csv(&example::latency());
        let mut lines = text.lines();
        let head = "series,x_bytes,y_ns,low_ns,high_ns,p25_ns,p75_ns,\
                    residual_percent,hollow,note";
        assert_eq!(lines.next(), Some(head));
        assert!(lines.any(|line| line.starts_with("echo,0,")), "{text}");
        assert!(text.ends_with(",line\n"), "{text}");
    }

    #[test]
    fn a_map_has_a_row_a_pair() {
        let text = csv(&example::pairs(2));
        assert_eq!(text.lines().next(), Some("row,col,value_ns"));
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn names_are_quoted_and_on_one_line() {
        let mut figure = example::latency();
        let Body::Chart(chart) = &mut figure.body else { unreachable!() };
        chart.series[0].name = "a,\"b\"\nc".into();
        let text = csv(&figure);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(&reader.records().next().unwrap().unwrap()[0], "a,\"b\" c");
    }
}
