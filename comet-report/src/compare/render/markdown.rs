//! A comparison for a summary of continuous integration: GitHub's flavour of Markdown.

use super::Renderer;
use super::sections::{Section, sections};
use crate::compare::Comparison;
use crate::words::capital;

/// Markdown.
pub(super) struct Markdown;

impl Renderer for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn render(&self, comparison: &Comparison) -> String {
        let blocks: Vec<String> = sections(comparison).iter().map(block).collect();
        format!("## Comparison\n\n{}", blocks.join("\n"))
    }
}

fn block(section: &Section) -> String {
    let mut text = String::new();
    if !section.title.is_empty() {
        text += &format!("### {}\n\n", capital(&section.title));
    }
    for (index, row) in section.table.iter().enumerate() {
        text += &line(row);
        if index == 0 {
            text += &line(&vec!["---".to_owned(); row.len()]);
        }
    }
    if !section.table.is_empty() && !section.lines.is_empty() {
        text.push('\n');
    }
    for line in &section.lines {
        text += &format!("- {}\n", escaped(line));
    }
    text
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// `text` without what Markdown reads as a mark of its own.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if matches!(c, '|' | '_' | '*' | '`' | '<' | '\\') {
            escaped.push('\\');
        }
        // A line that ends within a cell would end the table.
        escaped.push(if c.is_control() { ' ' } else { c });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_in_its_row() {
        assert_eq!(line(&["a|b\r\nc".into(), "_d_".into()]), "| a\\|b  c | \\_d\\_ |\n");
    }
}
