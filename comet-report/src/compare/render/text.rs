//! A comparison for a terminal: tables with aligned columns.

use super::Renderer;
use super::sections::{Section, sections};
use crate::compare::Comparison;

/// Text with aligned columns.
pub(super) struct Text;

impl Renderer for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn render(&self, comparison: &Comparison) -> String {
        let blocks: Vec<String> = sections(comparison).iter().map(block).collect();
        blocks.join("\n")
    }
}

fn block(section: &Section) -> String {
    let mut text = String::new();
    if !section.title.is_empty() {
        text += &format!("{}:\n", section.title);
    }
    for row in &section.table {
        text += &format!("{}\n", aligned(row, &section.table));
    }
    for line in &section.lines {
        text += &format!("{line}\n");
    }
    text
}

/// The cells of `row`, each as wide as the widest of its column in `rows`; the last is not filled
/// up.
fn aligned(row: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let cell = |(column, cell): (usize, &String)| {
        let width = width(column).unwrap_or(0);
        format!("{cell:<width$}")
    };
    let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
    cells.join("  ").trim_end().to_owned()
}
