//! Curves that coincide, of which the figure shows only the last: its caption names them.

use crate::plot::{Body, Figure, Kind, Trace};
use crate::words;

/// Share of a value by which curves differ that look like one.
const NEAR: f64 = 0.01;

/// Adds to the caption of `figure` which curves coincide.
pub(super) fn note(figure: &mut Figure) {
    let Body::Chart(chart) = &figure.body else { return };
    let is_curve = |series: &&Trace| series.kind == Kind::Curve && series.points.len() > 1;
    let mut groups: Vec<Vec<&Trace>> = Vec::new();
    for series in chart.series.iter().filter(is_curve) {
        match groups.iter_mut().find(|group| coincide(group[0], series)) {
            Some(group) => group.push(series),
            None => groups.push(vec![series]),
        }
    }
    let sentence = |group: &Vec<&Trace>| {
        let names: Vec<String> = group.iter().map(|series| series.name.clone()).collect();
        (names.len() > 1).then(|| format!(" The curves of {} coincide.", words::list(&names)))
    };
    let sentences: String = groups.iter().filter_map(sentence).collect();
    figure.caption += &sentences;
}

/// True if two curves have nearly equal values at the same places.
fn coincide(a: &Trace, b: &Trace) -> bool {
    let is_near = |a: f64, b: f64| (a - b).abs() <= NEAR * a.abs().max(b.abs());
    a.points.len() == b.points.len()
        && a.points.iter().zip(&b.points).all(|(a, b)| a.x == b.x && is_near(a.value(), b.value()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Chart, Quantity, Scale, Vertex};

    #[test]
    fn curves_that_hide_each_other_are_named() {
        let curve = |name: &str, factor: f64| Trace {
            name: name.into(),
            kind: Kind::Curve,
            colour: 0,
            dashes: 0,
            points: [1.0, 2.0].map(|x| Vertex { x, y: factor * x, ..Vertex::default() }).to_vec(),
        };
        let axis = Axis { label: "x".into(), quantity: Quantity::Count, scale: Scale::Linear };
        let (x, y) = (axis.clone(), axis);
        let series = vec![curve("1 hop", 1.0), curve("2 hops", 1.001), curve("3 hops", 1.1)];
        let body = Body::Chart(Chart { x, y, series, marks: Vec::new(), residuals: Vec::new() });
        let mut figure = Figure {
            id: "id".into(),
            number: None,
            title: "title".into(),
            caption: "Caption.".into(),
            notes: Vec::new(),
            body,
        };
        note(&mut figure);
        assert_eq!(figure.caption, "Caption. The curves of 1 hop and 2 hops coincide.");
    }
}
