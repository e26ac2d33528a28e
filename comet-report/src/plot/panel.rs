//! A plot area: its frame, its grid and its axes.

use super::figure::{Axis, Quantity, Scale};
use super::scale::Ruler;
use super::svg::{MARGIN_PX, TEXT_PX};
use super::text::{number, px, width_px};
use super::tick::{Ticks, ticks, unit};
use crate::xml::escape;

/// Distance between labels of a horizontal axis; the script of the page has the same.
const X_SPACING_PX: [f64; 2] = [72.0, 44.0];
/// Distance between labels of a vertical axis.
const Y_SPACING_PX: [f64; 2] = [32.0, 26.0];
/// Distance between labels of a low vertical axis.
const LOW_SPACING_PX: [f64; 2] = [21.0, 21.0];
/// Length of a tick, and of a small one.
const TICK_PX: [f64; 2] = [5.0, 3.0];
/// Overhang of marks at the edge of the area.
const OVERHANG_PX: f64 = 5.0;

/// A rectangle of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// From left to right.
    pub(super) fn x_px(&self) -> [f64; 2] {
        [self.left, self.right()]
    }

    /// From the bottom to the top, as values grow.
    pub(super) fn y_px(&self) -> [f64; 2] {
        [self.bottom(), self.top]
    }

    /// The attributes of an element `rect`.
    pub(super) fn rect(&self) -> String {
        let [x, y, width, height] = [self.left, self.top, self.width, self.height].map(px);
        format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
    }

    /// The begin of a panel, and the clip of what lies in it, which may stand out by `out_px`.
    pub(super) fn open_panel(&self, id: &str, name: &str, attributes: &str, out_px: f64) -> String {
        let clip = Self {
            left: self.left - out_px,
            top: self.top - out_px,
            width: self.width + 2.0 * out_px,
            height: self.height + 2.0 * out_px,
        };
        format!(
            "<clipPath id=\"{id}-{name}\"><rect {}/></clipPath>\n\
             <g class=\"panel\" data-panel=\"{name}\"{attributes}>\n",
            clip.rect()
        )
    }
}

/// One axis with its ticks.
pub(super) struct Side<'a> {
    pub(super) axis: &'a Axis,
    pub(super) ruler: Ruler,
    ticks: Ticks,
}

impl<'a> Side<'a> {
    /// A horizontal axis.
    pub(super) fn horizontal(axis: &'a Axis, values: &[f64], ends_px: [f64; 2]) -> Self {
        Self::new(axis, values, ends_px, X_SPACING_PX)
    }

    /// A vertical axis.
    pub(super) fn vertical(axis: &'a Axis, values: &[f64], ends_px: [f64; 2]) -> Self {
        Self::new(axis, values, ends_px, Y_SPACING_PX)
    }

    /// The vertical axis of a strip.
    pub(super) fn low(axis: &'a Axis, values: &[f64], ends_px: [f64; 2]) -> Self {
        Self::new(axis, values, ends_px, LOW_SPACING_PX)
    }

    fn new(axis: &'a Axis, values: &[f64], ends_px: [f64; 2], spacing_px: [f64; 2]) -> Self {
        let ruler = Ruler::new(axis, values, ends_px);
        let spacing_px = spacing_px[usize::from(axis.scale != Scale::Linear)];
        Self { axis, ruler, ticks: ticks(&ruler, axis.quantity, spacing_px) }
    }

    /// Width of its widest label.
    pub(super) fn tick_width_px(&self) -> f64 {
        let labels = self.ticks.major.iter();
        labels.map(|(_, label)| width_px(label, TEXT_PX)).fold(0.0, f64::max)
    }

    /// Label beside the axis: quantity and unit.
    pub(super) fn label(&self) -> String {
        let unit = unit(&self.ruler, self.axis.quantity).name;
        if unit.is_empty() {
            return self.axis.label.clone();
        }
        format!("{} ({unit})", self.axis.label)
    }

    /// Attributes of the axis `name` for the script.
    fn attributes(&self, name: char) -> String {
        let Ruler { scale, range: [from, to], ends_px: [first, last], zero_px, start_px } =
            self.ruler;
        let scale = match scale {
            Scale::Linear => "linear",
            Scale::Log2 => "log2",
            Scale::Log10 => "log10",
        };
        let unit = unit(&self.ruler, self.axis.quantity);
        let quantity = if self.axis.quantity == Quantity::Bytes { "bytes" } else { "number" };
        let pairs = [
            ("scale", scale.into()),
            ("from", number(from)),
            ("to", number(to)),
            ("first", px(first)),
            ("last", px(last)),
            ("start", px(start_px)),
            ("zero", zero_px.map_or(String::new(), px)),
            ("unit", unit.name.into()),
            ("size", number(unit.size)),
            ("quantity", quantity.into()),
        ];
        let shown = pairs.iter().filter(|(_, value)| !value.is_empty());
        shown.map(|(key, value)| format!(" data-{name}-{key}=\"{value}\"")).collect()
    }

    /// Values and labels of its ticks.
    pub(super) fn labelled(&self) -> impl Iterator<Item = (f64, &str)> {
        self.ticks.major.iter().map(|(value, label)| (*value, label.as_str()))
    }

    /// Places and labels of its ticks.
    fn major(&self) -> impl Iterator<Item = (f64, &str)> {
        self.labelled().filter_map(|(value, label)| Some((self.ruler.px(value)?, label)))
    }

    /// Places of all ticks, and how long these are.
    fn all(&self) -> impl Iterator<Item = (f64, f64)> {
        let major = self.major().map(|(at, _)| (at, TICK_PX[0]));
        let minor = self.ticks.minor.iter().filter_map(|value| self.ruler.px(*value));
        major.chain(minor.map(|at| (at, TICK_PX[1])))
    }
}

/// A plot area with its axes.
pub(super) struct Panel<'a> {
    /// Its name among those of the figure.
    pub(super) name: &'static str,
    pub(super) area: Area,
    pub(super) x: &'a Side<'a>,
    pub(super) y: &'a Side<'a>,
    /// True if the labels of the horizontal axis stand below it.
    pub(super) has_x_labels: bool,
}

impl Panel<'_> {
    /// The panel with `contents`, which lie in its area.
    pub(super) fn svg(&self, id: &str, contents: &str) -> String {
        let attributes = self.x.attributes('x') + &self.y.attributes('y');
        let mut svg = self.area.open_panel(id, self.name, &attributes, OVERHANG_PX);
        svg += &format!("<g class=\"grid\">{}</g>\n", self.grid());
        svg += &format!("<rect class=\"frame\" {}/>\n", self.area.rect());
        let bare = if self.has_x_labels { "" } else { " bare" };
        svg += &format!("<g class=\"axis axis-x{bare}\">{}</g>\n", self.x_ticks());
        svg += &format!("<g class=\"axis axis-y\">{}</g>\n", self.y_ticks());
        svg += &format!("<g class=\"area\" clip-path=\"url(#{id}-{})\">\n", self.name);
        svg + contents + "</g>\n" + &self.labels() + "</g>\n"
    }

    fn grid(&self) -> String {
        let Area { left, top, width, height } = self.area;
        let [left, top, width, height] = [left, top, width, height].map(px);
        let vertical = self.x.major().map(|(x, _)| format!("M{} {top}v{height}", px(x)));
        let horizontal = self.y.major().map(|(y, _)| format!("M{left} {}h{width}", px(y)));
        format!("<path d=\"{}\"/>", vertical.chain(horizontal).collect::<String>())
    }

    fn x_ticks(&self) -> String {
        let bottom = self.area.bottom();
        let tick = |(x, length): (f64, f64)| format!("M{} {}v{}", px(x), px(bottom), px(length));
        let mut svg =
            format!("<path class=\"ticks\" d=\"{}\"/>", self.x.all().map(tick).collect::<String>());
        if self.has_x_labels {
            let y = px(bottom + TICK_PX[0] + TEXT_PX + 1.0);
            let label = |(x, label): (f64, &str)| {
                format!("<text class=\"tick middle\" x=\"{}\" y=\"{y}\">{label}</text>", px(x))
            };
            svg += &self.x.major().map(label).collect::<String>();
        }
        svg + &self.x.ruler.gap_px().map_or(String::new(), |x| gap(x, bottom, true))
    }

    fn y_ticks(&self) -> String {
        let left = self.area.left;
        let tick = |(y, length): (f64, f64)| format!("M{} {}h-{}", px(left), px(y), px(length));
        let mut svg =
            format!("<path class=\"ticks\" d=\"{}\"/>", self.y.all().map(tick).collect::<String>());
        let x = px(left - TICK_PX[0] - 4.0);
        let label = |(y, label): (f64, &str)| {
            let y = px(y + TEXT_PX * 0.35);
            format!("<text class=\"tick end\" x=\"{x}\" y=\"{y}\">{label}</text>")
        };
        svg += &self.y.major().map(label).collect::<String>();
        svg + &self.y.ruler.gap_px().map_or(String::new(), |y| gap(left, y, false))
    }

    /// The names of the axes.
    fn labels(&self) -> String {
        let Area { left, top, width, height } = self.area;
        let mut svg = String::new();
        if self.has_x_labels {
            let (x, y) = (px(left + width / 2.0), px(top + height + 40.0));
            let label = escape(&self.x.label());
            svg += &format!("<text class=\"label middle\" x=\"{x}\" y=\"{y}\">{label}</text>\n");
        }
        let (x, y) = (px(MARGIN_PX + 10.0), px(top + height / 2.0));
        let label = escape(&self.y.label());
        svg + &format!(
            "<text class=\"label middle\" transform=\"translate({x} {y}) rotate(-90)\">{label}\
             </text>\n"
        )
    }
}

/// The break of an axis between the place of 0 and the others: two strokes over a gap.
fn gap(x: f64, y: f64, is_horizontal: bool) -> String {
    let (x, y) = (px(x), px(y));
    let [gap, strokes] = if is_horizontal {
        ["m-3 0h6", "m-5 4l4 -8m2 8l4 -8"]
    } else {
        ["m0 -3v6", "m-4 5l8 -4m-8 -2l8 -4"]
    };
    format!(
        "<path class=\"gap\" d=\"M{x} {y}{gap}\"/><path class=\"break\" d=\"M{x} {y}{strokes}\"/>"
    )
}
