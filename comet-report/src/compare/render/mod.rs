//! Comparisons as text: each renderer is one file and one line in [`RENDERERS`].

mod json;
mod junit;
mod markdown;
mod sections;
mod text;

use super::Comparison;

/// A way to write a comparison.
pub trait Renderer: Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// The whole text of `comparison`.
    fn render(&self, comparison: &Comparison) -> String;
}

/// Every renderer, in the order in which help lists them.
#[rustfmt::skip] // One renderer a line, so that additions merge.
pub const RENDERERS: &[&dyn Renderer] = &[
    &text::Text,
    &markdown::Markdown,
    &json::Json,
    &junit::Junit,
];

/// The renderer called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Renderer> {
    RENDERERS.iter().copied().find(|renderer| renderer.name() == name)
}
