//! A figure as a picture in SVG, and texts and numbers in pictures: measured, cut and rounded.

use super::figure::{Body, Figure};
use super::scale::whole;
use super::style::{Frame, Style};
use super::{chart, heat_map};
use crate::xml::escape;

pub(super) const MARGIN_PX: f64 = 16.0;
pub(super) const TEXT_PX: f64 = 12.0;
/// Room for a title of one line.
const TITLE_PX: f64 = 34.0;
const TITLE_LINE_PX: f64 = 19.0;
/// Size of a title, whose letters are wide.
const TITLE_TEXT_PX: f64 = 15.0 * 1.05;

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
    let (id, frame) = (slug(&figure.id), style.frame());
    let (heading, top_px) = match style {
        Style::Wide => (String::new(), MARGIN_PX),
        Style::Page | Style::Light | Style::Dark => heading(&figure.title, &frame),
    };
    let drawing = match &figure.body {
        Body::Chart(chart) => chart::draw(&id, chart, top_px, &frame),
        Body::HeatMap(map) => heat_map::draw(&id, map, top_px, &frame),
    };
    let (width, height) = (px(frame.width), px((drawing.bottom_px + MARGIN_PX).ceil()));
    let size = match style {
        Style::Page | Style::Wide => String::new(),
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
        caption = escape(&figure.description()),
        style = style.element(),
        body = drawing.svg,
    )
}

/// The title in as many lines as it needs, and the end of their room.
fn heading(title: &str, frame: &Frame) -> (String, f64) {
    let lines = wrapped(title, TITLE_TEXT_PX, frame.width - 2.0 * MARGIN_PX);
    let place = |number: usize| TITLE_LINE_PX * number as f64;
    let line = |(number, line): (usize, &String)| {
        text("title", [MARGIN_PX, 22.0 + place(number)], &escape(line))
    };
    let svg = lines.iter().enumerate().map(line).collect();
    (svg, TITLE_PX + place(lines.len().saturating_sub(1)))
}

/// The words of `text` in lines of at most `limit_px`; a longer word is cut.
fn wrapped(text: &str, size_px: f64, limit_px: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if line.is_empty() || width_px(&longer, size_px) <= limit_px {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| cut(line, size_px, limit_px)).collect()
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

pub(super) fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// `id` with nothing but letters, digits, dots and dashes, for ids and names of files.
pub(super) fn slug(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

/// A length in pixels, to one decimal: nobody sees a tenth.
///
/// # Panics
///
/// With a number that is not finite, which only a mistake in this module can make.
pub(super) fn px(value: f64) -> String {
    assert!(value.is_finite(), "a place in a picture is a number, got {value}");
    // Whole tenths are written in a fraction of the time; what lies between two of them is rounded as it is.
    let tenths = whole((value * 10.0).round());
    if (value * 10.0 - f64::from(tenths)).abs() > 0.499 {
        return decimals(value, 1);
    }
    let sign = if tenths < 0 { "-" } else { "" };
    let (pixels, tenths) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    if tenths == 0 { format!("{sign}{pixels}") } else { format!("{sign}{pixels}.{tenths}") }
}

pub(super) fn decimals(value: f64, n: usize) -> String {
    let mut text = format!("{value:.n$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "-0" { "0".into() } else { text }
}

/// `value` so that it is read back as it was, and short.
pub(super) fn number(value: f64) -> String {
    let is_common = value == 0.0 || (1e-5..1e15).contains(&value.abs());
    if is_common { value.to_string() } else { format!("{value:e}") }
}

/// Width of `text` in a common font without serifs of `size_px`; rather too wide than not.
pub(super) fn width_px(text: &str, size_px: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '|' | '\'' => 0.25,
        ' ' | 'f' | 't' | 'r' | 'I' | '.' | ',' | ':' | ';' | '!' | '/' | '-' | '(' | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' => 0.69,
        _ if c.is_ascii() => 0.57,
        _ => 0.75,
    };
    text.chars().map(em).sum::<f64>() * size_px
}

/// `text`, or its begin and its end around an ellipsis, so that it is at most `limit_px` wide.
pub(super) fn cut(text: &str, size_px: f64, limit_px: f64) -> String {
    if width_px(text, size_px) <= limit_px {
        return text.into();
    }
    let (mut begin, mut end): (Vec<char>, Vec<char>) = (Vec::new(), Vec::new());
    let mut chars = text.chars();
    let mut free_px = limit_px - size_px;
    while let Some(c) = if begin.len() > end.len() { chars.next_back() } else { chars.next() } {
        free_px -= width_px(c.encode_utf8(&mut [0; 4]), size_px);
        if free_px < 0.0 {
            break;
        }
        if begin.len() > end.len() { end.insert(0, c) } else { begin.push(c) }
    }
    let [begin, end] = [begin, end].map(|part| part.into_iter().collect::<String>());
    format!("{}…{}", begin.trim_end(), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_harmless() {
        assert_eq!(slug("echo-time.2 \"/../x\""), "echo-time.2---..-x-");
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let check = |value: f64, expected: &str| assert_eq!(px(value), expected);
        check(1.0, "1");
        check(100.0, "100");
        check(1.255, "1.3");
        check(-0.01, "0");
        check(-12.3, "-12.3");
        for number in -4000..4000 {
            // A quarter of them lie between two tenths.
            for value in [f64::from(number) / 80.0, f64::from(number) * 1e6 + 0.05] {
                check(value, &decimals(value, 1));
            }
        }
        let check = |value: f64, expected: &str| assert_eq!(number(value), expected);
        check(65_536.0, "65536");
        check(1e300, "1e300");
        check(-0.5, "-0.5");
    }

    #[test]
    fn titles_are_wrapped_between_words() {
        let title = "comet/overlap: times with messages of 85000 B and vectors of 20000 doubles";
        let lines = wrapped(title, TITLE_TEXT_PX, 400.0);
        assert_eq!(lines.join(" "), title);
        assert!(lines.len() > 1 && lines.iter().all(|line| width_px(line, TITLE_TEXT_PX) <= 400.0));
        assert_eq!(wrapped("", TITLE_TEXT_PX, 400.0), [""]);
        assert_eq!(wrapped(&"w".repeat(99), TITLE_TEXT_PX, 400.0).len(), 1);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(cut("echo", 12.0, 100.0), "echo");
        let long = cut("parkbench/comms1 of the second machine", 12.0, 150.0);
        assert_eq!(long, "parkbench/c…nd machine");
        assert!(width_px(&long, 12.0) <= 150.0);
        assert_eq!(cut("name", 12.0, 0.0), "…");
    }
}
