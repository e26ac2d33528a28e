//! Look of a table: width and colours of the terminal that it is for.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use super::columns::{Column, SPREAD, SPREAD_OF_ONE};
use crate::record::{Name, Verdict, Word};

/// Width and colours of a table; by default all columns, and no colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Letters of a line; `None` for as many as it takes.
    pub width: Option<usize>,
    /// True for a terminal that shows colours (ECMA-48, SGR).
    pub has_color: bool,
}

impl Look {
    /// True if a row of so many letters, and a space, is longer than a line.
    pub(super) fn is_too_narrow_for(self, n_letters: usize) -> bool {
        self.width.is_some_and(|width| n_letters + 1 > width)
    }

    /// The cell of `column`; a mark has a colour.
    pub(super) fn cell(self, column: &Column<'_>) -> String {
        let text = column.filled(&column.cell);
        let is_spread = [SPREAD.0, SPREAD_OF_ONE.0].contains(&column.name);
        let is_marked = is_spread && column.cell.ends_with(['!', '~']);
        if is_marked { self.colored(AnsiColor::Yellow, text) } else { text }
    }

    /// The line `text` about an error.
    pub(super) fn error(self, text: &str) -> String {
        let line = text.trim_end_matches('\n');
        self.colored(AnsiColor::Red, line) + &text[line.len()..]
    }

    /// The verdict on a run, its word in the colour of a traffic light.
    pub(super) fn verdict(self, verdict: &Verdict) -> String {
        let color = match verdict.word {
            Word::Quotable => AnsiColor::Green,
            Word::Rough | Word::Unsure => AnsiColor::Yellow,
            Word::Wrong => AnsiColor::Red,
        };
        format!("{}: {}", self.colored(color, Name(verdict.word)), verdict.reason)
    }

    fn colored(self, color: AnsiColor, text: impl Display) -> String {
        let style = if self.has_color { color.on_default() } else { Style::new() };
        format!("{style}{text}{style:#}")
    }
}
