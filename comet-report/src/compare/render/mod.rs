//! Comparisons as text: each renderer is a function and a line in [`RENDERERS`].

mod junit;
mod sections;
mod text;

use super::Comparison;

/// A way to write a comparison: its name, and the whole text.
pub type Renderer = (&'static str, fn(&Comparison) -> String);

/// Every renderer by its name on the command line, in the order in which help lists them.
#[rustfmt::skip] // One renderer a line, so that additions merge.
pub const RENDERERS: &[Renderer] = &[
    ("text", text::text),
    ("markdown", text::markdown),
    ("json", json),
    ("junit", junit::junit),
];

/// The whole text of `comparison` by the renderer `name`, if there is one.
pub fn render(comparison: &Comparison, name: &str) -> Option<String> {
    let (_, render) = RENDERERS.iter().find(|(known, _)| *known == name)?;
    Some(render(comparison))
}

/// One JSON document: every number that the others round or leave out.
fn json(comparison: &Comparison) -> String {
    let text = serde_json::to_string_pretty(comparison);
    text.expect("a comparison has texts and numbers only") + "\n"
}
