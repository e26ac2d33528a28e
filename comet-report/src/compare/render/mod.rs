//! Comparisons as text: for a terminal, for a summary of continuous integration in GitHub's flavour
//! of Markdown, as JSON, and as JUnit XML.

mod junit;
mod sections;

use super::Comparison;
use crate::words::{aligned, capital};
use sections::{Section, sections};

/// A way to write a comparison: its name, and the whole text.
pub type Renderer = (&'static str, fn(&Comparison) -> String);

/// Every renderer by its name on the command line, in the order in which help lists them.
pub const RENDERERS: &[Renderer] =
    &[("text", text), ("markdown", markdown), ("json", json), ("junit", junit::junit)];

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

/// Text with aligned columns.
fn text(comparison: &Comparison) -> String {
    sections(comparison).iter().map(text_block).collect::<Vec<_>>().join("\n")
}

/// Markdown.
fn markdown(comparison: &Comparison) -> String {
    let blocks: Vec<String> = sections(comparison).iter().map(markdown_block).collect();
    format!("## Comparison\n\n{}", blocks.join("\n"))
}

fn text_block(section: &Section) -> String {
    let mut text = String::new();
    if !section.title.is_empty() {
        text += &format!("{}:\n", section.title);
    }
    for row in &section.table {
        text += &format!("{}\n", aligned(row, &section.table, |_| false).trim_end());
    }
    for line in &section.lines {
        text += &format!("{line}\n");
    }
    text
}

fn markdown_block(section: &Section) -> String {
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
