//! A figure as a picture in SVG.

use super::figure::{Body, Figure};
use super::style::Style;
use super::text::{cut, px, slug, width_px};
use super::{chart, heat_map};
use crate::xml::escape;

pub(super) const WIDTH_PX: f64 = 720.0;
pub(super) const MARGIN_PX: f64 = 16.0;
pub(super) const TEXT_PX: f64 = 12.0;
const TITLE_PX: f64 = 34.0;
const TITLE_TEXT_PX: f64 = 15.0;

pub(super) struct Drawing {
    pub(super) svg: String,
    pub(super) bottom_px: f64,
}

/// `figure` as one element `svg`, which is a valid file of its own.
///
/// Whatever names and notes hold is shown as text, and values without a place on their axis, such
/// as those that are not finite, are left out. What the page's script needs stands in attributes
/// `data-…`.
pub fn svg(figure: &Figure, style: Style) -> String {
    let id = slug(&figure.id);
    let drawing = match &figure.body {
        Body::Chart(chart) => chart::draw(&id, chart, TITLE_PX),
        Body::HeatMap(map) => heat_map::draw(&id, map, TITLE_PX),
    };
    let (width, height) = (px(WIDTH_PX), px((drawing.bottom_px + MARGIN_PX).ceil()));
    let size = match style {
        Style::Page => String::new(),
        Style::Light | Style::Dark => format!(" width=\"{width}\" height=\"{height}\""),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"comet\" data-figure=\"{id}\" \
         viewBox=\"0 0 {width} {height}\"{size} role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\">\n\
         <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{caption}</desc>\n\
         {style}<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         {heading}\n{body}</svg>\n",
        title = escape(&figure.title),
        caption = escape(&figure.caption),
        style = style.element(),
        heading = heading(&figure.title),
        body = drawing.svg,
    )
}

fn heading(title: &str) -> String {
    let shown = cut(title, TITLE_TEXT_PX * 1.05, WIDTH_PX - 2.0 * MARGIN_PX);
    text("title", [MARGIN_PX, 22.0], &escape(&shown))
}

/// A text of at most `limit_px`, with the whole as its tooltip where it had to be cut.
pub(super) fn short_text(attributes: &str, text: &str, limit_px: f64) -> String {
    let tooltip = if width_px(text, TEXT_PX) > limit_px {
        format!("<title>{}</title>", escape(text))
    } else {
        String::new()
    };
    format!("<text {attributes}>{}{tooltip}</text>", escape(&cut(text, TEXT_PX, limit_px)))
}

/// A text of the class `class` at a place; `content` is markup.
pub(super) fn text(class: &str, [x, y]: [f64; 2], content: &str) -> String {
    format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{content}</text>", px(x), px(y))
}

/// The name of a vertical axis, written upwards.
pub(super) fn upright([x, y]: [f64; 2], label: &str) -> String {
    let at = format!("transform=\"translate({} {}) rotate(-90)\"", px(x), px(y));
    format!("<text class=\"label middle\" {at}>{}</text>\n", escape(label))
}
