//! Comparisons as text: for a terminal, for a summary of continuous integration in GitHub's flavour
//! of Markdown, as JSON, and as JUnit XML.

mod sections;

use comet_stats::compare::Verdict;

use super::{Comparison, FailureRow, MissingRow, PointRow};
use crate::junit::{self, Outcome, Suite, Test};
use crate::record::{Name, Params};
use crate::words::{aligned, capital};
pub use sections::Section;
use sections::change;
pub(crate) use sections::sections;

/// A way to write a comparison: its name, and the whole text.
pub type Renderer = (&'static str, fn(&Comparison) -> String);

/// Every renderer by its name on the command line, in the order in which help lists them.
pub const RENDERERS: &[Renderer] =
    &[("text", text), ("markdown", markdown), ("json", json), ("junit", junit)];

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

/// JUnit XML.
fn junit(comparison: &Comparison) -> String {
    let mut suites: Vec<Suite> = Vec::new();
    for (kernel, test) in tests(comparison) {
        let attributes = vec![("name", kernel)];
        match suites.iter_mut().find(|suite| suite.attributes == attributes) {
            Some(suite) => suite.tests.push(test),
            None => suites.push(Suite { attributes, tests: vec![test] }),
        }
    }
    junit::document(&[("name", "comet-run compare".into())], &suites)
}

/// The tests, each with its kernel.
fn tests(comparison: &Comparison) -> Vec<(String, Test)> {
    let points = comparison.points.iter().map(|row| of_point(row, comparison.is_advisory()));
    let failures = comparison.failures.iter().map(of_failure);
    points.chain(failures).chain(comparison.missing.iter().map(of_missing)).collect()
}

fn of_point(row: &PointRow, is_advisory: bool) -> (String, Test) {
    let outcome = match row.verdict {
        Verdict::Slower if is_advisory => {
            Some(Outcome::new("skipped", format!("advisory: {}", change(row))))
        }
        Verdict::Slower => Some(failure("slower".into(), change(row))),
        Verdict::Changed => {
            Some(Outcome::new("skipped", format!("changed near the margin: {}", change(row))))
        }
        Verdict::Inconclusive => Some(Outcome::new("skipped", row.why.clone().unwrap_or_default())),
        Verdict::Faster | Verdict::Same => None,
    };
    test(&row.kernel, &row.params, outcome)
}

fn of_failure(row: &FailureRow) -> (String, Test) {
    let message = row.message.clone().unwrap_or_default();
    let outcome = if row.is_regression {
        failure(Name(row.status).to_string(), message)
    } else {
        let status = Name(row.status);
        Outcome::new("skipped", format!("{status}, and not only in the new runs: {message}"))
    };
    test(&row.kernel, &row.params, Some(outcome))
}

fn of_missing(row: &MissingRow) -> (String, Test) {
    let why = row.message.as_ref().map_or(String::new(), |message| format!(" ({message})"));
    let why = format!("not measured in the {} runs{why}", row.missing_in);
    test(&row.kernel, &row.params, Some(Outcome::new("skipped", why)))
}

fn failure(kind: String, message: String) -> Outcome {
    let mut failure = Outcome::new("failure", message);
    failure.kind = Some(kind);
    failure
}

fn test(kernel: &str, params: &Params, outcome: Option<Outcome>) -> (String, Test) {
    let attributes = vec![("classname", kernel.to_owned()), ("name", params.to_string())];
    (kernel.to_owned(), Test { attributes, outcome, output: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_in_its_row() {
        assert_eq!(line(&["a|b\r\nc".into(), "_d_".into()]), "| a\\|b  c | \\_d\\_ |\n");
    }
}
