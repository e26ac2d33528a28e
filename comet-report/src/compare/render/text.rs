//! A comparison for a terminal, with aligned columns, and for a summary of continuous integration,
//! in GitHub's flavour of Markdown.

use super::sections::{Section, sections};
use crate::compare::Comparison;
use crate::words::capital;

/// Text with aligned columns.
pub(super) fn text(comparison: &Comparison) -> String {
    sections(comparison).iter().map(text_block).collect::<Vec<_>>().join("\n")
}

/// Markdown.
pub(super) fn markdown(comparison: &Comparison) -> String {
    let blocks: Vec<String> = sections(comparison).iter().map(markdown_block).collect();
    format!("## Comparison\n\n{}", blocks.join("\n"))
}

fn text_block(section: &Section) -> String {
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
