//! Figures for the tests, with made-up values that look like measured ones.

use super::{
    Axis, Body, Chart, Figure, HeatMap, Kind, Mark, Quantity, Scale, Style, Trace, Vertex, csv,
    gnuplot, gnuplot_frame, svg,
};
use crate::fixture::check_golden;

fn time_ns(length_bytes: f64) -> f64 {
    410.0 + 0.12 * length_bytes
}

/// A number that is drawn anew from `index`, within 1 of 0.
fn wobble(index: usize) -> f64 {
    (index as f64 * 12.9898).sin() * 43_758.545 % 1.0
}

fn axis(label: &str, quantity: Quantity, scale: Scale) -> Axis {
    Axis { label: label.into(), quantity, scale }
}

fn series(name: &str, kind: Kind, colour: usize, points: Vec<Vertex>) -> Trace {
    Trace { name: name.into(), kind, colour, dashes: 0, points }
}

fn point(x: f64, y: f64) -> Vertex {
    Vertex { x, y, ..Vertex::default() }
}

fn mark(label: &str, is_at_x: bool, at: f64, colour: usize) -> Mark {
    Mark { label: label.into(), is_at_x, at, colour }
}

fn figure(id: &str, title: &str, body: Body) -> Figure {
    let caption = "Median of 100 samples; bars are 95 % intervals, bands the middle half.".into();
    Figure { id: id.into(), number: None, title: title.into(), caption, notes: Vec::new(), body }
}

fn lengths() -> impl Iterator<Item = f64> {
    std::iter::once(0.0).chain((0..=20).map(|power| 2_f64.powi(power)))
}

fn sweep(factor: f64, seed: usize) -> Vec<Vertex> {
    let point = |(index, x): (usize, f64)| {
        let y = time_ns(x) * factor * (1.0 + 0.06 * wobble(seed + index));
        Vertex {
            x,
            y,
            interval: Some((y * 0.97, y * 1.04)),
            middle_half: Some((y * 0.86, y * 1.2)),
            is_hollow: index % 7 == 6,
            note: if index == 9 { "machine changed its speed".into() } else { String::new() },
            beyond: None,
        }
    };
    lengths().enumerate().map(point).collect()
}

fn chart(x: Axis, y: Axis, series: Vec<Trace>) -> Chart {
    Chart { x, y, series, marks: Vec::new(), residuals: Vec::new() }
}

pub(crate) fn latency() -> Figure {
    let points = sweep(1.0, 0);
    let fit = lengths().map(|x| point(x, time_ns(x))).collect();
    let residual = |at: &Vertex| point(at.x, 100.0 * (at.y / time_ns(at.x) - 1.0));
    let residuals = points.iter().map(residual).collect();
    let x = axis("message length", Quantity::Bytes, Scale::Log2);
    let y = axis("one-way time", Quantity::TimeNs, Scale::Log10);
    let curve = series("echo", Kind::Curve, 0, points);
    let chart = Chart {
        marks: vec![mark("n_half 3.4 kB", true, 3417.0, 0), mark("t0 0.41 us", false, 410.0, 0)],
        residuals: vec![series("echo", Kind::Scatter, 0, residuals)],
        ..chart(x, y, vec![curve, series("echo: t0 + n / r_inf", Kind::Fit, 0, fit)])
    };
    figure("echo-time", "Time of a message against its length", Body::Chart(chart))
}

/// Rates of kernels in two runs, distributions, and many samples, with lines close to each other.
fn busy() -> Figure {
    let names = ["echo", "exchange", "naive/broadcast over a long name of a variant"];
    let rates = |(index, name): (usize, &&str)| {
        let rate = |p: Vertex| point(p.x, p.x / p.y * 1e9);
        let points = sweep(1.0 + index as f64 * 0.35, index).into_iter().map(rate).collect();
        let one = series(name, Kind::Curve, index, points);
        let other = Trace { dashes: 1, name: format!("{name}, second machine"), ..one.clone() };
        [one, other]
    };
    let quantile = |q: i32| point(5e9 / (1.005 - f64::from(q) / 100.0), f64::from(q) * 1e8);
    let steps = series("8 B", Kind::Steps, 4, (0..=100).map(quantile).collect());
    let sample = |index: usize| point(index as f64, 5e9 * (1.0 + 0.1 * wobble(index).powi(3)));
    let samples = series("samples", Kind::Scatter, 5, (0..300).map(sample).collect());
    let x = axis("message length", Quantity::Bytes, Scale::Log2);
    let y = axis("rate", Quantity::BytesPerSecond, Scale::Linear);
    let rates = names.iter().enumerate().flat_map(rates);
    let chart = Chart {
        marks: vec![
            mark("r_inf 8.3 GB/s", false, 8.33e9, 0),
            mark("r_inf 6.2 GB/s", false, 6.2e9, 1),
            mark("r_inf 6.4 GB/s", false, 6.4e9, 2),
            mark("break 16 KiB", true, 16384.0, 1),
            mark("break 20 KiB", true, 20480.0, 2),
        ],
        ..chart(x, y, rates.chain([steps, samples]).collect())
    };
    figure("rates", "Rate against message length, two machines", Body::Chart(chart))
}

fn scaling() -> Figure {
    let ranks = [2.0_f64, 4.0, 8.0, 16.0, 32.0, 64.0];
    let curve = |factor: f64| ranks.map(|p| point(p, 1e3 * factor * (1.0 + p.log2()))).to_vec();
    let series = vec![
        series("barrier", Kind::Curve, 1, curve(1.04)),
        series("a + b log2 P", Kind::Fit, 1, curve(1.0)),
        series("broadcast", Kind::Curve, 2, curve(0.4)),
    ];
    let x = axis("ranks", Quantity::Count, Scale::Log2);
    let chart = chart(x, axis("time of a barrier", Quantity::TimeNs, Scale::Linear), series);
    figure("scaling", "Time of collectives against the number of ranks", Body::Chart(chart))
}

pub(crate) fn pairs(n_ranks: usize) -> Figure {
    let value = |index: usize| {
        let (from, to) = (index / n_ranks, index % n_ranks);
        let time_ns = if from / 4 == to / 4 { 240.0 } else { 1900.0 };
        (from != to).then_some(time_ns * (1.0 + 0.2 * wobble(index)))
    };
    let map = Body::HeatMap(HeatMap {
        names: (0..n_ranks).map(|rank| format!("{rank} node{:03}", rank / 4)).collect(),
        quantity: Quantity::TimeNs,
        values: (0..n_ranks * n_ranks).map(value).collect(),
        borders: (4..n_ranks).step_by(4).collect(),
        axes: ["from rank".into(), "to rank".into()],
    });
    figure(&format!("pairs-{n_ranks}"), "Time of 8 bytes between each two ranks", map)
}

/// Everything that may be wrong with what is shown.
fn odd() -> Vec<Figure> {
    let odd = |id: &str, title: &str, series: Vec<Trace>, scale: Scale| {
        let [x, y] = [("x", Quantity::Bytes), ("y", Quantity::TimeNs)]
            .map(|(label, quantity)| axis(label, quantity, scale));
        let residuals = if series.len() > 1 { series.clone() } else { Vec::new() };
        let marks = vec![mark("nowhere", true, f64::NAN, 9), mark("below", false, -1.0, 90)];
        figure(id, title, Body::Chart(Chart { marks, residuals, ..chart(x, y, series) }))
    };
    let values = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e308, -1e308, 1e-320, 5.0];
    let strange = values.map(|value| Vertex {
        interval: Some((-value, f64::INFINITY)),
        middle_half: Some((f64::NAN, value)),
        ..point(value, value)
    });
    let strange = series("<b>&\"'\n\u{0}", Kind::Curve, 77, strange.to_vec());
    let steps = Trace { kind: Kind::Steps, ..strange.clone() };
    let all = [strange, steps, series("none", Kind::Fit, 1, Vec::new())];
    let one = series("one", Kind::Curve, 3, vec![point(64.0, 900.0)]);
    let of_scale = |scale| {
        let (id, title) = ("\"/><script>alert(1)</script>", "</title><script>' \\");
        [
            odd("empty", "Nothing was measured", Vec::new(), scale),
            odd("one", "A single point", vec![one.clone()], scale),
            odd(id, title, all.to_vec(), scale),
        ]
    };
    [Scale::Linear, Scale::Log2, Scale::Log10].into_iter().flat_map(of_scale).collect()
}

fn all() -> Vec<Figure> {
    let mut figures = vec![latency(), busy(), scaling()];
    figures.extend([2, 8, 33, 512].map(pairs));
    figures.extend(odd());
    figures
}

#[test]
fn pictures_look_as_they_did() {
    check_golden("plot-echo-time.svg", &svg(&latency(), Style::Light));
    check_golden("plot-scaling.svg", &svg(&scaling(), Style::Dark));
    check_golden("plot-pairs.svg", &svg(&pairs(8), Style::Light));
    check_golden("plot-echo-time.csv", &csv(&latency()));
    check_golden("plot-echo-time.gp", &gnuplot(&latency()));
    check_golden("plot-pairs.gp", &gnuplot(&pairs(8)));
}

#[test]
fn pictures_are_well_formed_and_hold_only_numbers() {
    for figure in all() {
        for style in [Style::Page, Style::Wide, Style::Light] {
            let svg = svg(&figure, style);
            let wrong = ["NaN", " inf", "-inf", "\"inf", "Minf", "Linf", "<b>", "<script", "\u{0}"];
            let found = wrong.into_iter().find(|text| svg.contains(text));
            assert_eq!(found, None, "{}: {svg}", figure.title);
            for [open, close] in [["<g", "</g>"], ["<text", "</text>"], ["<title", "</title>"]] {
                assert_eq!(svg.matches(open).count(), svg.matches(close).count(), "{svg}");
            }
            assert_eq!(svg.matches('"').count() % 2, 0, "{svg}");
        }
    }
}

#[test]
fn pictures_are_small() {
    assert!(svg(&latency(), Style::Page).len() < 15_000);
    assert!(svg(&pairs(512), Style::Page).len() < 150_000);
}

#[test]
fn every_curve_has_its_entry_and_its_marks() {
    let svg = svg(&latency(), Style::Page);
    assert_eq!(svg.matches("class=\"entry").count(), 1);
    // The curve, and one in the legend; the residuals are dots of one path.
    assert_eq!(svg.matches("<circle").count(), 22 + 1);
    assert_eq!(svg.matches("class=\"dots\"").count(), 1);
    assert_eq!(svg.matches("hollow").count(), 3);
    assert!(svg.contains("<title>0 B: "));
}

#[test]
fn scripts_hold_what_they_draw() {
    let script = gnuplot(&odd().pop().unwrap());
    assert!(script.contains("'</title><script>'' \\'"), "{script}");
    assert!(script.lines().next().unwrap().ends_with("' "), "{script}");
    assert!(!script.contains("NaN ") && !script.contains("inf "), "{script}");
}

#[test]
fn the_values_of_a_page_complete_its_script() {
    let line = "$data << EOD\n";
    let whole = gnuplot_frame(&latency()).replace(line, &(line.to_owned() + &csv(&latency())));
    assert_eq!(whole, gnuplot(&latency()));
}
