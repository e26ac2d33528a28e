//! A comparison as one JSON document: every number that the others round or leave out.

use super::Renderer;
use crate::compare::Comparison;

/// JSON.
pub(super) struct Json;

impl Renderer for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn render(&self, comparison: &Comparison) -> String {
        let text = serde_json::to_string_pretty(comparison);
        text.expect("a comparison has texts and numbers only") + "\n"
    }
}
