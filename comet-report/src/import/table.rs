//! Tables of foreign suites: the columns by the titles in their head, and the words of their rows.

use super::{number, printed};
use crate::record::Figure;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Column {
    /// Number of a group of ranks.
    Group,
    /// Length in bytes.
    Size,
    /// The time to quote, in us: the largest of the processes where there are several.
    Time,
    /// The rate, in MB of the version a second.
    Rate,
    /// Messages per second.
    MessageRate,
    /// Errors in the data.
    Defects,
    /// The outcome of a check.
    Validation,
    /// Another number, with the name of its figure and the units of it that make one printed.
    Figure(&'static str, f64),
    /// A number that nothing is made of.
    Other,
}

/// The columns of a table with their titles.
#[derive(Debug, Default)]
pub(super) struct Head(pub(super) Vec<(String, Column)>);

impl Head {
    pub(super) fn has(&self, wanted: Column) -> bool {
        self.0.iter().any(|(_, column)| *column == wanted)
    }

    /// The words of the row `line`.
    ///
    /// # Errors
    /// A sentence, if there are more or fewer than columns.
    pub(super) fn words<'a>(&self, line: &'a str) -> Result<Vec<&'a str>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() == self.0.len() {
            return Ok(words);
        }
        Err(format!(
            "the row has {} columns, the head of its table {} (is it cut off?)",
            words.len(),
            self.0.len()
        ))
    }

    /// The word under the first column `wanted`.
    pub(super) fn word<'a>(&self, words: &[&'a str], wanted: Column) -> Option<&'a str> {
        let mut cells = self.0.iter().zip(words);
        cells.find(|((_, column), _)| *column == wanted).map(|(_, word)| *word)
    }

    /// The figures of a row.
    pub(super) fn figures(&self, words: &[&str]) -> Vec<Figure> {
        let figure = |((title, column), word): (&(String, Column), &&str)| {
            let Column::Figure(name, factor) = column else { return None };
            Some(printed(name, title, number(word)? * factor))
        };
        self.0.iter().zip(words).filter_map(figure).collect()
    }
}
