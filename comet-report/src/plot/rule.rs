//! Lines through a chart with their names, placed where they hide least.

use super::curve::pair;
use super::figure::Mark;
use super::panel::Area;
use super::scale::Ruler;
use super::style::N_COLOURS;
use super::svg::TEXT_PX;
use super::text::{cut, px, width_px};
use crate::xml::escape;

/// Largest number of lines of names at the top before they are put over each other.
const N_LINES: u32 = 8;

/// A rectangle that a name takes: left, top, right, bottom.
type Box = [f64; 4];

/// The lines of `marks` in `area`; `dots` are the places of points, which names keep free.
pub(super) fn rules(marks: &[Mark], area: &Area, [x, y]: [&Ruler; 2], dots: &[[f64; 2]]) -> String {
    let place = |mark: &Mark| if mark.is_at_x { x.px(mark.at) } else { y.px(mark.at) };
    let placed: Vec<_> = marks.iter().filter_map(|mark| Some((mark, place(mark)?))).collect();
    let mut taken = Vec::new();
    let mut svg = String::new();
    for (mark, at) in &placed {
        let others = placed.iter().filter(|(other, _)| other != mark);
        let mut dots = dots.to_vec();
        dots.extend(others.flat_map(|(other, at)| dots_of(other.is_at_x, *at, area)));
        let label = cut(&mark.label, TEXT_PX, area.width * 0.6);
        let width = width_px(&label, TEXT_PX);
        let boxes = if mark.is_at_x { beside(*at, width, area) } else { along(*at, width, area) };
        let place = best(&boxes, &taken, area, &dots);
        taken.push(place);
        svg += &rule(mark, *at, area, &format!("{}>{}", begin_of(place), escape(&label)));
    }
    svg
}

/// Places along a line, which names of other lines keep free, too.
fn dots_of(is_at_x: bool, at: f64, area: &Area) -> impl Iterator<Item = [f64; 2]> {
    let (from, length) = if is_at_x { (area.top, area.height) } else { (area.left, area.width) };
    (0..=40).map(move |step| {
        let along = from + length * f64::from(step) / 40.0;
        if is_at_x { [at, along] } else { [along, at] }
    })
}

/// Start of the letters of a name.
fn begin_of([left, _, _, bottom]: Box) -> String {
    format!("transform=\"translate({} {})\"", px(left), px(bottom - 4.0))
}

fn rule(mark: &Mark, at: f64, area: &Area, label: &str) -> String {
    let [from, to] = if mark.is_at_x {
        [[at, area.top], [at, area.bottom()]]
    } else {
        [[area.left, at], [area.right(), at]]
    };
    let axis = if mark.is_at_x { 'x' } else { 'y' };
    let colour = mark.colour % N_COLOURS;
    let whole = escape(&mark.label);
    format!(
        "<g class=\"c{colour}\" data-axis=\"{axis}\"><title>{whole}</title>\
         <path class=\"rule\" d=\"M{}L{}\"/><text class=\"name\" {label}</text></g>\n",
        pair(from),
        pair(to)
    )
}

/// Places of a name above and below a horizontal line: at its end, its begin, its middle.
fn along(y: f64, width: f64, area: &Area) -> Vec<Box> {
    let right = area.right() - width - 6.0;
    let lefts = [right, area.left + 6.0, (right + area.left) / 2.0];
    let tops = [y - 18.0, y + 2.0];
    let place = |left: f64| tops.map(|top| [left, top, left + width, top + 16.0]);
    lefts.into_iter().flat_map(place).collect()
}

/// Places of a name right and left of a vertical line, from the top downwards.
fn beside(x: f64, width: f64, area: &Area) -> Vec<Box> {
    let tops = (0..N_LINES).map(|line| area.top + 3.0 + 17.0 * f64::from(line));
    let lefts = [x + 4.0, x - 4.0 - width];
    tops.flat_map(|top| lefts.map(|left| [left, top, left + width, top + 16.0])).collect()
}

/// The first place that hides fewest points, among those that are free and inside.
fn best(boxes: &[Box], taken: &[Box], area: &Area, dots: &[[f64; 2]]) -> Box {
    let is_inside = |place: &Box| {
        let [left, top, right, bottom] = *place;
        left >= area.left && right <= area.right() && top >= area.top && bottom <= area.bottom()
    };
    let is_free = |place: &Box| !taken.iter().any(|other| overlap(place, other));
    let n_hidden = |place: &Box| {
        let [left, top, right, bottom] = *place;
        let is_hidden = |[x, y]: &&[f64; 2]| {
            (left - 4.0..=right + 4.0).contains(x) && (top - 4.0..=bottom + 4.0).contains(y)
        };
        dots.iter().filter(is_hidden).count()
    };
    let good = boxes.iter().filter(|place| is_inside(place) && is_free(place));
    *good.min_by_key(|place| n_hidden(place)).unwrap_or(&boxes[0])
}

fn overlap(a: &Box, b: &Box) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { left: 0.0, top: 0.0, width: 400.0, height: 300.0 };

    #[test]
    fn names_keep_apart_from_each_other_and_from_points() {
        let boxes = along(100.0, 80.0, &AREA);
        let first = best(&boxes, &[], &AREA, &[]);
        assert_eq!(first, boxes[0]);
        let second = best(&boxes, &[first], &AREA, &[]);
        assert!(!overlap(&first, &second));
        let dot = [first[0] + 10.0, first[1] + 5.0];
        assert_ne!(best(&boxes, &[], &AREA, &[dot]), first);
    }

    #[test]
    fn names_stay_inside() {
        let place = best(&beside(390.0, 80.0, &AREA), &[], &AREA, &[]);
        assert!(place[2] <= 390.0);
        let place = best(&along(4.0, 80.0, &AREA), &[], &AREA, &[]);
        assert!(place[1] > 4.0);
    }
}
