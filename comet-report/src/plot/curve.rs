//! The curves of a chart: lines, bands, bars and marks.

use super::figure::{Kind, Trace, Vertex};
use super::panel::Side;
use super::scale::Ruler;
use super::style::{N_COLOURS, N_DASHES};
use super::svg::{TEXT_PX, px, width_px};
use crate::xml::escape;

/// With more points than this, marks become dots of one path, and bars a band.
const MOST_MARKS: usize = 64;
/// The same for marks without lines: single samples and errors are looked at together.
const MOST_SCATTERED: usize = 4;
/// Half of the width of the box that shows the middle half of a point that stands alone.
const BOX_PX: f64 = 4.0;

/// A point and where it lies.
type Place<'a> = (usize, &'a Vertex, [f64; 2]);

pub(super) struct DrawnCurve<'a> {
    pub(super) series: &'a Trace,
    pub(super) x: &'a Side,
    pub(super) y: &'a Side,
}

pub(super) fn classes(series: &Trace) -> String {
    format!("c{} r{}", series.colour % N_COLOURS, dashes(series))
}

/// Number of its dashes: colours that are used again have others.
pub(super) fn dashes(series: &Trace) -> usize {
    (series.dashes + series.colour / N_COLOURS) % N_DASHES
}

/// Marks by colour: a circle, a square, a diamond, triangles, crosses and bars.
pub(super) const MARKS: [&str; N_COLOURS] = [
    "circle r=\"3\"",
    "path d=\"M-3 -3h6v6h-6z\"",
    "path d=\"M0 -4L4 0L0 4L-4 0z\"",
    "path d=\"M0 -4L4 3H-4z\"",
    "path d=\"M0 4L4 -3H-4z\"",
    "path d=\"M-4 -1h3v-3h2v3h3v2h-3v3h-2v-3h-3z\"",
    "path d=\"M-4 -2.5l1.5 -1.5L0 -1.5L2.5 -4l1.5 1.5L1.5 0L4 2.5l-1.5 1.5L0 1.5L-2.5 4l-1.5 -1.5L-1.5 0z\"",
    "path d=\"M-5 -1.5h10v3h-10z\"",
    "path d=\"M-1.5 -5h3v10h-3z\"",
    "path d=\"M-3 -4L4 0L-3 4z\"",
];

/// Places of the points that can be drawn.
pub(super) fn places<'a>(points: &'a [Vertex], x: &Ruler, y: &Ruler) -> Vec<Place<'a>> {
    let place = |(index, point): (usize, &'a Vertex)| {
        Some((index, point, [x.px(point.x)?, y.px(point.y)?]))
    };
    points.iter().enumerate().filter_map(place).collect()
}

/// The mark of a series at a place, with what it contains.
pub(super) fn mark(series: &Trace, [x, y]: [f64; 2], is_hollow: bool, contents: &str) -> String {
    let hollow = if is_hollow { " hollow" } else { "" };
    let shape = MARKS[series.colour % N_COLOURS];
    let name = if shape.starts_with("circle") { "circle" } else { "path" };
    let at = format!("transform=\"translate({} {})\"", px(x), px(y));
    format!("<{shape} class=\"mark{hollow}\" {at}>{contents}</{name}>")
}

impl DrawnCurve<'_> {
    /// The curve; `number` is that of its entry in the legend, if it has one.
    pub(super) fn svg(&self, number: Option<usize>) -> String {
        let places = places(&self.series.points, &self.x.ruler, &self.y.ruler);
        let key = number.map_or(String::new(), |number| format!(" data-series=\"{number}\""));
        let (classes, name) = (classes(self.series), escape(&self.series.name));
        let mut svg = format!("<g class=\"series {classes}\"{key}><title>{name}</title>\n");
        svg += &self.spreads(&places);
        svg += &match self.series.kind {
            Kind::Curve => path("line", &self.line(&places)) + &self.marks(&places, MOST_MARKS),
            Kind::Fit => path("fit", &self.line(&places)),
            Kind::Scatter => self.marks(&places, self.most_scattered()),
            Kind::Steps => path("line", &steps(&places)),
        };
        svg + "</g>\n"
    }

    /// The most points without lines that have marks: more of them where each has a remark to show.
    fn most_scattered(&self) -> usize {
        let has_remarks = self.series.points.iter().all(|point| !point.note.is_empty());
        if has_remarks { MOST_MARKS } else { MOST_SCATTERED }
    }

    /// Joins the points, but for those between which there is one without a place, or the break
    /// of an axis.
    fn line(&self, places: &[Place<'_>]) -> String {
        let is_zero = |point: &Vertex| {
            (self.x.ruler.zero_px.is_some() && point.x == 0.0)
                || (self.y.ruler.zero_px.is_some() && point.y == 0.0)
        };
        let mut path = String::new();
        let mut last: Option<&Place<'_>> = None;
        for place in places {
            let is_joined = last.is_some_and(|(index, point, _)| {
                index + 1 == place.0 && is_zero(point) == is_zero(place.1)
            });
            path += &format!("{}{}", if is_joined { 'L' } else { 'M' }, pair(place.2));
            last = Some(place);
        }
        path
    }

    /// The middle half of the samples as a light band, and the interval as bars or as a band.
    fn spreads(&self, places: &[Place<'_>]) -> String {
        let half = self.band(places, |point| point.middle_half);
        let interval = |point: &Vertex| point.interval;
        path("half", &half)
            + &if places.len() > MOST_MARKS {
                path("band", &self.band(places, interval))
            } else {
                path("bars", &self.bars(places, interval))
            }
    }

    fn range_px(&self, range: Option<(f64, f64)>) -> Option<[f64; 2]> {
        let (low, high) = range?;
        Some([self.y.ruler.lower_px(low)?, self.y.ruler.px(high)?])
    }

    fn bars(&self, places: &[Place<'_>], range: impl Fn(&Vertex) -> Option<(f64, f64)>) -> String {
        let bar = |(_, point, [x, _]): &Place<'_>| {
            let [low, high] = self.range_px(range(point))?;
            Some(format!("M{}L{}", pair([*x, low]), pair([*x, high])))
        };
        places.iter().filter_map(bar).collect()
    }

    /// An outline around ranges of points that follow each other; one alone becomes a box.
    fn band(&self, places: &[Place<'_>], range: impl Fn(&Vertex) -> Option<(f64, f64)>) -> String {
        let of_place = |(index, point, [x, _]): &Place<'_>| {
            let is_zero = self.x.ruler.zero_px.is_some() && point.x == 0.0;
            self.range_px(range(point)).map(|ends| (*index, is_zero, *x, ends))
        };
        let ends: Vec<_> = places.iter().filter_map(of_place).collect();
        let groups = ends.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1);
        groups
            .map(|group| outline(&group.iter().map(|end| (end.2, end.3)).collect::<Vec<_>>()))
            .collect()
    }

    fn marks(&self, places: &[Place<'_>], most: usize) -> String {
        if places.len() > most {
            let dots = places.iter().map(|(_, _, at)| format!("M{}h0", pair(*at)));
            return path("dots", &dots.collect::<String>());
        }
        places.iter().map(|place| self.mark(place) + "\n").collect()
    }

    fn mark(&self, (_, point, at): &Place<'_>) -> String {
        let words = format!("<title>{}</title>", escape(&self.words(point)));
        match point.beyond {
            Some(value) => self.arrow(*at, value > point.y, &words) + &self.beside(*at, value),
            None => mark(self.series, *at, point.is_hollow, &words),
        }
    }

    /// The mark of a point beyond the axis.
    fn arrow(&self, [x, y]: [f64; 2], is_up: bool, contents: &str) -> String {
        let shape = if is_up { "M-4 -2L0 -9L4 -2z" } else { "M-4 2L0 9L4 2z" };
        let at = format!("transform=\"translate({} {})\"", px(x), px(y));
        format!("<path d=\"{shape}\" class=\"mark\" {at}>{contents}</path>")
    }

    /// The value of a point beyond the axis, on the side of its arrow that has room.
    fn beside(&self, [x, y]: [f64; 2], value: f64) -> String {
        let text = self.y.ruler.quantity.write(value);
        let has_room = x + 8.0 + width_px(&text, TEXT_PX) < self.x.ruler.ends_px[1];
        let (class, x) = if has_room { ("name", x + 8.0) } else { ("name end", x - 8.0) };
        let at = format!("transform=\"translate({} {})\"", px(x), px(y + TEXT_PX * 0.35));
        format!("<text class=\"{class}\" {at}>{}</text>", escape(&text))
    }

    fn words(&self, point: &Vertex) -> String {
        let [x, y] = [self.x.ruler.quantity, self.y.ruler.quantity];
        let mut words = format!("{}: {}", x.write(point.x), y.write(point.value()));
        let interval = point.interval.filter(|(low, high)| low.is_finite() && high.is_finite());
        if let Some((low, high)) = interval {
            words += &format!("\n95 % {} to {}", y.write(low), y.write(high));
        }
        if !point.note.is_empty() {
            words += &format!("\n{}", point.note);
        }
        words
    }
}

pub(super) fn pair([x, y]: [f64; 2]) -> String {
    px(x) + " " + &px(y)
}

/// An element of `class`, unless there is nothing to draw.
fn path(class: &str, data: &str) -> String {
    if data.is_empty() {
        return String::new();
    }
    format!("<path class=\"{class}\" d=\"{data}\"/>\n")
}

/// Each value holds until the next.
fn steps(places: &[Place<'_>]) -> String {
    let Some((_, _, first)) = places.first() else { return String::new() };
    let step = |two: &[Place<'_>]| {
        let ([_, low], [x, high]) = (two[0].2, two[1].2);
        format!("L{}L{}", pair([x, low]), pair([x, high]))
    };
    format!("M{}", pair(*first)) + &places.windows(2).map(step).collect::<String>()
}

/// Along the upper ends, and back along the lower ones.
fn outline(ends: &[(f64, [f64; 2])]) -> String {
    let ends = match ends {
        [(x, ends)] => vec![(x - BOX_PX, *ends), (x + BOX_PX, *ends)],
        _ => ends.to_vec(),
    };
    let upper = ends.iter().map(|(x, [_, high])| pair([*x, *high]));
    let lower = ends.iter().rev().map(|(x, [low, _])| pair([*x, *low]));
    format!("M{}Z", upper.chain(lower).collect::<Vec<_>>().join("L"))
}
