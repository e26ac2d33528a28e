//! A figure as a script for gnuplot that holds its values, to be changed by hand.

use super::chart::{residual_axis, sides};
use super::figure::{Body, Chart, Figure, HeatMap, Kind, Point, Scale, Series};
use super::grid::Grid;
use super::heat_map::STOPS;
use super::panel::Side;
use super::style::{N_RUNS, colour};
use super::text::{number, slug};

/// How far left of the other values 0 is drawn on a logarithmic axis, in shares of its length.
const ZERO_SHARE: f64 = 0.06;

/// A script that draws `figure` when it is given to gnuplot 5.2 or later.
///
/// It needs no other file, and writes `ID.svg`; with `-e "out='NAME.png'"` before its name it
/// writes a PNG. Values are in base units (ns, bytes, bytes/s), ticks have the units of the figure.
pub fn gnuplot(figure: &Figure) -> String {
    let id = slug(&figure.id);
    let height = match &figure.body {
        Body::Chart(chart) if chart.residuals.is_empty() => 440,
        Body::Chart(_) | Body::HeatMap(_) => 560,
    };
    let head = format!(
        "# {title}\n\
         # `gnuplot {id}.gp` writes {id}.svg; for PNG: gnuplot -e \"out='{id}.png'\" {id}.gp\n\
         # Values are in base units: ns, bytes, bytes/s.\n\
         if (!exists('out')) out = '{id}.svg'\n\
         if (strlen(out) > 4 && out[strlen(out)-3:] eq '.png') \\\n    \
         set terminal pngcairo noenhanced size 1440,{png_height} fontscale 1.6 linewidth 2; \\\n\
         else \\\n    \
         set terminal svg noenhanced size 720,{height} font 'Arial,12'\n\
         set output out\n\
         set datafile missing '?'\n\
         set title {quoted}\n",
        title = one_line(&figure.title).trim_end_matches('\\'),
        png_height = 2 * height,
        quoted = quote(&figure.title),
    );
    let body = match &figure.body {
        Body::Chart(chart) => chart_script(chart),
        Body::HeatMap(map) => map_script(map),
    };
    head + &body + "unset output\n"
}

/// `text` on one line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `text` as gnuplot reads it without looking for anything in it.
fn quote(text: &str) -> String {
    format!("'{}'", one_line(text).replace('\'', "''"))
}

fn chart_script(chart: &Chart) -> String {
    let strip_axis = residual_axis();
    let sides = sides(chart, &strip_axis);
    let (x, y, strip) = (&sides.x, &sides.y, &sides.strip);
    let mut script = String::from(
        "set grid lt 1 lc rgb '#dddddd'\nset tics nomirror\nset key outside top left horizontal Left reverse\n\
         set lmargin at screen 0.13\nset rmargin at screen 0.97\n",
    );
    script += &blocks("s", &chart.series, x, y);
    script += &blocks("r", &chart.residuals, x, strip);
    let has_strip = !chart.residuals.is_empty();
    if has_strip {
        script += "set multiplot\nset tmargin at screen 0.85\nset bmargin at screen 0.34\n";
    }
    script += &axis('x', x, !has_strip);
    script += &axis('y', y, true);
    script += &marks(chart, x, y);
    script += &plot("s", &chart.series, true);
    if has_strip {
        script += "unset title\nunset arrow\nunset label\n\
                   set tmargin at screen 0.30\nset bmargin at screen 0.12\n";
        script += &axis('x', x, true);
        script += &axis('y', strip, true);
        script += &plot("r", &chart.residuals, false);
        script += "unset multiplot\n";
    }
    script
}

/// Where gnuplot draws `value`: 0 has a place below the others on a logarithmic axis.
fn drawn(side: &Side<'_>, value: f64) -> Option<f64> {
    side.ruler.px(value)?;
    let is_zero = value == 0.0 && side.ruler.zero_px.is_some();
    Some(if is_zero { zero_place(side) } else { value })
}

fn zero_place(side: &Side<'_>) -> f64 {
    let [from, to] = side.ruler.range;
    from * (from / to).powf(ZERO_SHARE)
}

fn axis(name: char, side: &Side<'_>, has_labels: bool) -> String {
    let [from, to] = side.ruler.range;
    let from =
        if side.ruler.zero_px.is_some() { zero_place(side) / (to / from).powf(0.03) } else { from };
    let scale = match side.axis.scale {
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
    format!(
        "{scale}\nset {name}range [{}:{}]\nset {name}tics ({})\nset {name}label {label}\n",
        number(from),
        number(to),
        ticks.join(", ")
    )
}

/// The values of all series; an empty line where a curve is interrupted.
fn blocks(name: &str, series: &[Series], x: &Side<'_>, y: &Side<'_>) -> String {
    let row = |point: &Point| {
        let places = drawn(x, point.x).zip(drawn(y, point.y));
        let Some((x, y)) = places else { return "\n".into() };
        let ends = |range: Option<(f64, f64)>| {
            let ends = range.filter(|(low, high)| low.is_finite() && high.is_finite());
            ends.map_or("? ?".into(), |(low, high)| format!("{} {}", number(low), number(high)))
        };
        let (interval, half) = (ends(point.interval), ends(point.middle_half));
        let hollow = u8::from(point.is_hollow);
        format!("{} {} {interval} {half} {hollow}\n", number(x), number(y))
    };
    let block = |(index, series): (usize, &Series)| {
        let rows: String = series.points.iter().map(row).collect();
        format!("${name}{index} << EOD\n# x y low high p25 p75 hollow\n{rows}EOD\n")
    };
    series.iter().enumerate().map(block).collect()
}

/// The command that draws all series; without any it draws nothing, but the axes.
fn plot(name: &str, series: &[Series], has_titles: bool) -> String {
    let mut parts = Vec::new();
    for (index, series) in series.iter().enumerate() {
        if series.points.iter().any(|point| point.x.is_finite() && point.y.is_finite()) {
            let title = if has_titles {
                format!("title {}", quote(&series.name))
            } else {
                "notitle".into()
            };
            parts.extend(elements(&format!("${name}{index}"), series, &title));
        }
    }
    if parts.is_empty() {
        parts.push("NaN notitle".into());
    }
    format!("plot {}\n", parts.join(", \\\n     "))
}

/// What is drawn of one series, from the back to the front.
fn elements(block: &str, series: &Series, title: &str) -> Vec<String> {
    let run = series.run % N_RUNS;
    let colour = format!("lc rgb '{}'", colour(series.colour));
    let (dashes, mark) = (format!("dt {}", run + 1), format!("pt {} ps 0.7", [7, 5, 13, 9][run]));
    let has = |find: fn(&Point) -> bool| series.points.iter().any(find);
    let mut parts = Vec::new();
    if has(|point| point.middle_half.is_some()) {
        parts.push(format!(
            "{block} using 1:5:6 with filledcurves {colour} fs transparent solid 0.15 notitle"
        ));
    }
    if has(|point| point.interval.is_some()) {
        parts.push(format!("{block} using 1:2:3:4 with yerrorbars {colour} pt 0 notitle"));
    }
    parts.push(match series.kind {
        Kind::Curve => {
            format!("{block} using 1:2 with linespoints {colour} {dashes} {mark} {title}")
        }
        Kind::Fit => format!("{block} using 1:2 with lines {colour} {dashes} {title}"),
        Kind::Scatter => format!("{block} using 1:2 with points {colour} {mark} {title}"),
        Kind::Steps => format!("{block} using 1:2 with steps {colour} {dashes} {title}"),
    });
    if has(|point| point.is_hollow) {
        parts.push(format!(
            "{block} using 1:($7 > 0 ? $2 : NaN) with points lc rgb 'white' {mark} notitle"
        ));
        parts.push(format!(
            "{block} using 1:($7 > 0 ? $2 : NaN) with points {colour} pt 6 ps 0.7 notitle"
        ));
    }
    parts
}

fn marks(chart: &Chart, x: &Side<'_>, y: &Side<'_>) -> String {
    let mark = |mark: &super::figure::Mark| {
        let at = number(drawn(if mark.is_at_x { x } else { y }, mark.at)?);
        let (colour, label) = (colour(mark.colour), quote(&mark.label));
        let (from, to, place) = if mark.is_at_x {
            (
                format!("{at}, graph 0"),
                format!("{at}, graph 1"),
                format!("{at}, graph 0.96 left offset 0.5,0"),
            )
        } else {
            (
                format!("graph 0, first {at}"),
                format!("graph 1, first {at}"),
                format!("graph 0.99, first {at} right offset 0,0.6"),
            )
        };
        Some(format!(
            "set arrow from {from} to {to} nohead dt 2 lc rgb '{colour}'\n\
             set label {label} at {place} tc rgb '{colour}'\n"
        ))
    };
    chart.marks.iter().filter_map(mark).collect()
}

fn map_script(map: &HeatMap) -> String {
    let grid = Grid::of(map);
    let n_rows = grid.names.len().max(1);
    let value =
        |value: &Option<f64>| value.filter(|value| value.is_finite()).map_or("NaN".into(), number);
    let row = |row: &[Option<f64>]| row.iter().map(value).collect::<Vec<_>>().join(" ") + "\n";
    let rows: String = grid.values.chunks(n_rows).map(row).collect();
    let step = n_rows.div_ceil(16);
    let ticks = grid.names.iter().enumerate().step_by(step);
    let ticks = ticks
        .map(|(index, name)| format!("{} {index}", quote(name)))
        .collect::<Vec<_>>()
        .join(", ");
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

/// Lines before the first ranks of further nodes.
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
