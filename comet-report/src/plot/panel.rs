//! A plot area: its frame, its grid and its axes.

use super::curve::pair;
use super::figure::{Axis, Quantity, Scale};
use super::scale::{Ruler, Ticks};
use super::svg::{MARGIN_PX, TEXT_PX, number, px, text, upright, width_px};
use crate::xml::escape;

/// Distance between labels of a horizontal axis, if linear and if not. The script of the
/// page has the same.
pub(super) const X_SPACING_PX: [f64; 2] = [72.0, 44.0];
/// Distance between labels of a vertical axis.
pub(super) const Y_SPACING_PX: [f64; 2] = [32.0, 26.0];
/// Distance between labels of a low vertical axis.
pub(super) const LOW_SPACING_PX: [f64; 2] = [21.0, 21.0];
const TICK_PX: [f64; 2] = [5.0, 3.0];
/// Overhang of marks at the edge of the area.
const OVERHANG_PX: f64 = 5.0;

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

    pub(super) fn x_px(&self) -> [f64; 2] {
        [self.left, self.right()]
    }

    /// From the bottom to the top, as values grow.
    pub(super) fn y_px(&self) -> [f64; 2] {
        [self.bottom(), self.top]
    }

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
pub(super) struct Side {
    label: String,
    pub(super) ruler: Ruler,
    ticks: Ticks,
}

impl Side {
    /// `axis` along `ends_px` with room for `values`; a linear one has the first of `spacing_px`
    /// between its labels.
    pub(super) fn new(
        axis: &Axis,
        values: &[f64],
        ends_px: [f64; 2],
        spacing_px: [f64; 2],
    ) -> Self {
        let ruler = Ruler::new(axis, values, ends_px);
        let ticks = ruler.ticks(spacing_px[usize::from(axis.scale != Scale::Linear)]);
        Self { label: axis.label.clone(), ruler, ticks }
    }

    pub(super) fn tick_width_px(&self) -> f64 {
        let labels = self.labelled().map(|(_, label)| width_px(label, TEXT_PX));
        labels.fold(0.0, f64::max)
    }

    pub(super) fn label(&self) -> String {
        match self.ruler.unit().name {
            "" => self.label.clone(),
            unit => format!("{} ({unit})", self.label),
        }
    }

    /// Attributes of the axis `name` for the script.
    fn attributes(&self, name: char) -> String {
        let Ruler { scale, quantity, range: [from, to], ends_px: [first, last], .. } = self.ruler;
        let scale = match scale {
            Scale::Linear => "linear",
            Scale::Log2 => "log2",
            Scale::Log10 => "log10",
        };
        let unit = self.ruler.unit();
        let quantity = if quantity == Quantity::Bytes { "bytes" } else { "number" };
        let pairs = [
            ("scale", scale.into()),
            ("from", number(from)),
            ("to", number(to)),
            ("first", px(first)),
            ("last", px(last)),
            ("start", px(self.ruler.start_px)),
            ("zero", self.ruler.zero_px.map_or(String::new(), px)),
            ("unit", unit.name.into()),
            ("size", number(unit.size)),
            ("quantity", quantity.into()),
        ];
        let shown = pairs.iter().filter(|(_, value)| !value.is_empty());
        shown.map(|(key, value)| format!(" data-{name}-{key}=\"{value}\"")).collect()
    }

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
    pub(super) name: &'static str,
    pub(super) area: Area,
    pub(super) x: &'a Side,
    pub(super) y: &'a Side,
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
        svg += &format!("<g class=\"axis axis-x{bare}\">{}</g>\n", self.axis(true));
        svg += &format!("<g class=\"axis axis-y\">{}</g>\n", self.axis(false));
        svg += &format!("<g class=\"area\" clip-path=\"url(#{id}-{})\">\n", self.name);
        svg + contents + "</g>\n" + &self.labels() + "</g>\n"
    }

    fn grid(&self) -> String {
        let Area { left, top, width, height } = self.area;
        let vertical = self.x.major().map(|(x, _)| format!("M{}v{}", pair([x, top]), px(height)));
        let horizontal = self.y.major().map(|(y, _)| format!("M{}h{}", pair([left, y]), px(width)));
        format!("<path d=\"{}\"/>", vertical.chain(horizontal).collect::<String>())
    }

    /// Ticks and labels of the horizontal axis, or of the vertical one.
    fn axis(&self, is_x: bool) -> String {
        let side = if is_x { self.x } else { self.y };
        let at = |px: f64| if is_x { [px, self.area.bottom()] } else { [self.area.left, px] };
        let stroke = if is_x { "v" } else { "h-" };
        let tick = |(place, length)| format!("M{}{stroke}{}", pair(at(place)), px(length));
        let ticks: String = side.all().map(tick).collect();
        let label = |(place, label): (f64, &str)| match at(place) {
            [x, y] if is_x => text("tick middle", [x, y + TICK_PX[0] + TEXT_PX + 1.0], label),
            [x, y] => text("tick end", [x - TICK_PX[0] - 4.0, y + TEXT_PX * 0.35], label),
        };
        let mut svg = format!("<path class=\"ticks\" d=\"{ticks}\"/>");
        if !is_x || self.has_x_labels {
            svg += &side.major().map(label).collect::<String>();
        }
        svg + &side.ruler.gap_px().map_or(String::new(), |place| gap(at(place), is_x))
    }

    fn labels(&self) -> String {
        let Area { left, top, width, height } = self.area;
        let mut svg = String::new();
        if self.has_x_labels {
            let at = [left + width / 2.0, top + height + 40.0];
            svg += &(text("label middle", at, &escape(&self.x.label())) + "\n");
        }
        svg + &upright([MARGIN_PX + 10.0, top + height / 2.0], &self.y.label())
    }
}

/// The break of an axis between the place of 0 and the others: two strokes over a gap.
fn gap(at: [f64; 2], is_horizontal: bool) -> String {
    let [gap, strokes] = if is_horizontal {
        ["m-3 0h6", "m-5 4l4 -8m2 8l4 -8"]
    } else {
        ["m0 -3v6", "m-4 5l8 -4m-8 -2l8 -4"]
    };
    let at = pair(at);
    format!("<path class=\"gap\" d=\"M{at}{gap}\"/><path class=\"break\" d=\"M{at}{strokes}\"/>")
}
