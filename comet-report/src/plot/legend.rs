//! The legend above a chart.

use super::curve::{classes, mark};
use super::figure::{Kind, Trace};
use super::svg::{MARGIN_PX, TEXT_PX, WIDTH_PX, short_text};
use super::text::{px, width_px};

/// Height of one line.
const LINE_PX: f64 = 19.0;
/// Width of the piece of a curve before each name.
const SAMPLE_PX: f64 = 24.0;
/// Names that are wider are cut.
const MOST_PX: f64 = 250.0;

/// Number of the entry that shows and hides `series`: that of its name, or of its colour.
///
/// A law goes with its points, so that it needs no entry of its own.
pub(super) fn number(series: &Trace, all: &[Trace]) -> Option<usize> {
    let of_name = all.iter().position(|other| other.name == series.name);
    let look = (series.colour, series.run);
    let of_look =
        all.iter().position(|other| other.kind != Kind::Fit && (other.colour, other.run) == look);
    if series.kind == Kind::Fit { of_look.or(of_name) } else { of_name.or(of_look) }
}

/// The legend below `top_px`, and where it ends.
pub(super) fn legend(series: &[Trace], top_px: f64) -> (String, f64) {
    let mut svg = String::from("<g class=\"legend\">\n");
    let (mut x, mut y) = (MARGIN_PX, top_px);
    let entries: Vec<_> = series.iter().enumerate().collect();
    let entries = entries.iter().filter(|(index, one)| number(one, series) == Some(*index));
    for (number, series) in entries {
        let width = SAMPLE_PX + 6.0 + width_px(&series.name, TEXT_PX).min(MOST_PX);
        if x > MARGIN_PX && x + width > WIDTH_PX - MARGIN_PX {
            (x, y) = (MARGIN_PX, y + LINE_PX);
        }
        svg += &entry(series, *number, [x, y + LINE_PX / 2.0]);
        x += width + 16.0;
    }
    let bottom = if series.is_empty() { top_px } else { y + LINE_PX };
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
    let name = short_text(&at, &series.name, MOST_PX);
    format!("<g class=\"entry {}\" data-series=\"{number}\">{sample}{name}</g>\n", classes(series))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Vertex;

    fn series(name: &str, kind: Kind, colour: usize) -> Trace {
        Trace { name: name.into(), kind, colour, run: 0, points: vec![Vertex::default()] }
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
        assert_eq!(legend(&all, 0.0).0.matches("class=\"entry").count(), 2);
    }
}
