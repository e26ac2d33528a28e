//! The comparison of two sets of runs: the verdicts of `compare`, in its sections.

use super::html::{Html, row, table, tag};
use super::{Content, Section};
use crate::compare;
use crate::words::capital;

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let Some(comparison) = content.comparison else { return Vec::new() };
    let parts = compare::sections(comparison);
    // The last part is the verdict, which is read first.
    let (last, others) = parts.split_last().map_or((None, &parts[..]), |(l, o)| (Some(l), o));
    let body = last.into_iter().chain(others).map(part).collect();
    vec![Section { id: "comparison", title: "Comparison", body, ..Section::default() }]
}

fn part(part: &compare::Section) -> Html {
    let mut body = Html::new();
    if !part.title.is_empty() {
        body = body.with(tag("h3", capital(&part.title)));
    }
    if let [heads, rows @ ..] = &part.table[..] {
        let heads: Vec<String> = heads.iter().map(|head| in_letters(head)).collect();
        let rows = rows.iter().map(|cells| row("td", cells));
        body = body.with(table("", heads.iter().map(String::as_str), rows));
    }
    let lines = part.lines.iter().map(|line| tag("li", with_letters(line)));
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
