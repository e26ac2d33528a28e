//! The comparison of two sets of runs: the verdicts of `compare`, in its sections.

use super::html::{Html, row, table, tag};
use super::{Content, Section};
use crate::compare::{self, Comparison};
use crate::words::capital;

/// Parts of a page about `comparison`, in the words of `compare`: the verdict, which is read first, and
/// what it follows from.
pub fn comparison_parts(comparison: &Comparison) -> Vec<compare::Section> {
    let mut parts = compare::sections(comparison);
    let n_verdicts = parts.len().min(1);
    parts.rotate_right(n_verdicts);
    for part in &mut parts {
        part.title = capital(&part.title);
        part.lines.iter_mut().for_each(|line| *line = with_letters(line));
        let heads = part.table.first_mut().into_iter().flatten();
        heads.for_each(|head| *head = in_letters(head));
    }
    parts
}

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let Some(comparison) = content.comparison else { return Vec::new() };
    let body = comparison_parts(comparison).iter().map(part).collect();
    vec![Section { id: "comparison", title: "Comparison", body, ..Section::default() }]
}

fn part(part: &compare::Section) -> Html {
    let mut body = Html::new();
    if !part.title.is_empty() {
        body = body.with(tag("h3", &*part.title));
    }
    if let [heads, rows @ ..] = &part.table[..] {
        let rows = rows.iter().map(|cells| row("td", cells));
        body = body.with(table("", heads.iter().map(String::as_str), rows));
    }
    let lines = part.lines.iter().map(|line| tag("li", &**line));
    let lines: Html = lines.collect();
    if lines.is_empty() { body } else { body.with(tag("ul", lines)) }
}

/// `line` with its units as pages write them.
fn with_letters(line: &str) -> String {
    let word = |word: &str| match word.trim_end_matches([')', ',', ';', ':']) {
        "us" => word.replacen("us", "µs", 1),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The head of a column with its unit as pages write it (`base µs`).
fn in_letters(head: &str) -> String {
    head.strip_suffix("_us").map_or_else(|| head.to_owned(), |name| format!("{name} µs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_written_out_and_words_that_begin_like_one_are_not() {
        assert_eq!(with_letters("2.1 us (1.9 us) is used"), "2.1 µs (1.9 µs) is used");
    }
}
