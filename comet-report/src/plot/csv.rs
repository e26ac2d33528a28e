//! The values of a figure as CSV, for spreadsheets and data frames.

use super::figure::{Body, Chart, Figure, HeatMap, Quantity, Trace, Vertex};
use super::svg::{number, one_line};

/// The columns of a chart that hold values along its vertical axis.
const Y_COLUMNS: [&str; 5] = ["y", "low", "high", "p25", "p75"];

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
    head.extend(Y_COLUMNS.map(|name| format!("{name}{y}")));
    head.extend(["residual_percent", "hollow", "note"].map(String::from));
    let mut rows = vec![head];
    let point_row = |series: &Trace, point: &Vertex, is_residual: bool| {
        let ends = |range: Option<(f64, f64)>| range.map_or([None; 2], |(a, b)| [Some(a), Some(b)]);
        let ([low, high], [p25, p75]) = (ends(point.interval), ends(point.middle_half));
        let mut y = [Some(point.y), low, high, p25, p75, None];
        if is_residual {
            y = [None, None, None, None, None, Some(point.y)];
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
