//! Tables of foreign suites: the columns by the titles in their head, and the words of their rows.

use std::str::FromStr;

use comet_core::layout::DATA_BYTES;

use super::printed;
use crate::format::foreign::{
    RANKS_AVG_NS, RANKS_MAX_NS, RANKS_MIN_NS, REPETITIONS, percentile_figure,
};
use crate::record::Derived;

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
    /// The rate of windows of so many messages.
    Window(u64),
    /// Errors in the data.
    Defects,
    /// The outcome of a check.
    Validation,
    /// Another number, with the name of its figure and the units of it that make one printed.
    Derived(&'static str, f64),
    /// A percentile of times in us, or of rates in MB of the version a second where that is true.
    Percentile(u8, bool),
    /// A number that nothing is made of.
    Other,
}

use Column::{Defects, Group, MessageRate, Other, Rate, Size, Time, Validation};

/// Starts of the titles of columns, in the order of trial; a title goes on to the next blank.
const COLUMNS: &[(&str, Column)] = &[
    // OSU
    ("Size", Size),
    ("Avg Latency(us)", Time),
    ("Latency (us)", Time),
    ("Overall(us)", Time),
    ("Latency(us)", Time),
    ("Bandwidth (MB/s)", Rate),
    ("Bi-Bandwidth (MB/s)", Rate),
    ("MB/s", Rate),
    ("Messages/s", MessageRate),
    ("Min Latency(us)", Column::Derived(RANKS_MIN_NS, 1e3)),
    ("Max Latency(us)", Column::Derived(RANKS_MAX_NS, 1e3)),
    ("Iterations", Column::Derived(REPETITIONS, 1.0)),
    ("Compute(us)", Column::Derived("compute_ns", 1e3)),
    ("Coll. Init(us)", Column::Derived("start_ns", 1e3)),
    ("MPI_Test(us)", Column::Derived("test_ns", 1e3)),
    ("MPI_Wait(us)", Column::Derived("wait_ns", 1e3)),
    ("Pure Comm.(us)", Column::Derived("pure_ns", 1e3)),
    ("Min Comm.(us)", Column::Derived("pure_min_ns", 1e3)),
    ("Max Comm.(us)", Column::Derived("pure_max_ns", 1e3)),
    ("Overlap(%)", Column::Derived("overlap_percent", 1.0)),
    ("Validation", Validation),
    ("Transmit Size", Column::Derived(DATA_BYTES, 1.0)),
    // IMB
    ("Group", Group),
    ("#bytes", Size),
    ("bytes", Size),
    ("#rep", Column::Derived(REPETITIONS, 1.0)),
    ("t[", Time),
    ("t_min", Column::Derived(RANKS_MIN_NS, 1e3)),
    ("t_max", Time),
    ("t_avg", Column::Derived(RANKS_AVG_NS, 1e3)),
    ("t_ovrl", Column::Derived("overlapped_ns", 1e3)),
    ("t_pure", Time),
    ("t_CPU", Column::Derived("compute_ns", 1e3)),
    ("overlap", Column::Derived("overlap_percent", 1.0)),
    ("Mbytes/sec", Rate),
    ("Mb/sec", Rate),
    ("Msg/sec", MessageRate),
    ("defects", Defects),
];

/// Fact in the title of IMB-HALO, whose rows name their columns themselves.
const OF_GRID: &str = "; dimensions: ";
/// Characters of a number.
const NUMBER: &str = "0123456789.+-e";

/// True if `word` is a number, or stands for one that is missing.
fn is_cell(word: &str) -> bool {
    let is_missing = word == "N/A" || word.chars().all(|c| c.is_ascii_punctuation());
    word.parse::<f64>().is_ok() || is_missing
}

/// True if `word` of such characters has a digit.
fn is_number(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// The columns of a table with their titles.
#[derive(Clone, Debug, Default)]
pub(super) struct Head(Vec<(String, Column)>);

impl Head {
    /// The head that `line` is, if it is one.
    pub(super) fn of(line: &str) -> Option<Self> {
        if let Some(windows) = line.strip_prefix("# ").and_then(of_windows) {
            return Some(windows);
        }
        if line.contains(OF_GRID) {
            let columns = [("(bytes)", Size), ("(x)", Other), ("(usec)", Time), ("(Mb/s)", Rate)];
            return Some(Self(columns.map(|(title, column)| (title.to_owned(), column)).into()));
        }
        let mut columns = Vec::new();
        let mut rest = line.strip_prefix("# ").unwrap_or(line).trim();
        while !rest.is_empty() {
            let (n_start, column) = match percentile(rest) {
                Some((n_start, number)) => {
                    (n_start, Column::Percentile(number, rest[n_start..].starts_with("BW")))
                }
                None => {
                    let known = COLUMNS.iter().find(|(start, _)| rest.starts_with(start))?;
                    (known.0.len(), known.1)
                }
            };
            let n_more = rest[n_start..].find(char::is_whitespace);
            let (title, after) = rest.split_at(n_more.map_or(rest.len(), |n| n_start + n));
            columns.push((title.to_owned(), column));
            rest = after.trim_start();
        }
        let starts_row =
            |column| matches!(column, Group | Size | Time | Rate | Column::Derived(REPETITIONS, _));
        columns.first().is_some_and(|(_, first)| starts_row(*first)).then_some(Self(columns))
    }

    /// True before the first head of a text.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Windows that have columns of their own, if there are any.
    pub(super) fn windows(&self) -> Option<impl Iterator<Item = u64>> {
        let is_window = |(_, column): &(String, Column)| matches!(column, Column::Window(_));
        self.0.iter().any(is_window).then(|| {
            self.0.iter().filter_map(|(_, column)| match column {
                Column::Window(n_messages) => Some(*n_messages),
                _ => None,
            })
        })
    }

    /// True if there is such a column.
    pub(super) fn has(&self, wanted: Column) -> bool {
        self.0.iter().any(|(_, column)| *column == wanted)
    }

    /// The title of the first column `wanted`.
    pub(super) fn title(&self, wanted: Column) -> Option<&str> {
        self.0.iter().find(|(_, column)| *column == wanted).map(|(title, _)| title.as_str())
    }

    /// The words of `line`, if it is a row: a number first, a whole one but of times, and as many words
    /// as columns that stand for numbers. Words of others may follow, as two processes print into one line.
    ///
    /// # Errors
    /// A sentence, if there are more or fewer than columns, or others.
    pub(super) fn words<'a>(&self, line: &'a str) -> Result<Option<Vec<&'a str>>, String> {
        let is_of_grid = self.title(Size) == Some("(bytes)");
        let mut words: Vec<&str> = match is_of_grid {
            // 64(x8)(bytes) 2.5(usec) 204.8(Mb/s)
            true if line.contains("(bytes)") => {
                line.split(|c: char| !NUMBER.contains(c)).filter(|word| is_number(word)).collect()
            }
            true => return Ok(None),
            false => line.split_whitespace().collect(),
        };
        let is_timed = self.0.first().is_some_and(|(_, column)| matches!(column, Time | Rate));
        let is_first = |word: &&str| is_cell(word) && (is_timed || word.parse::<u64>().is_ok());
        let is_second =
            |word: &&str| is_cell(word) || word.starts_with(|c: char| c.is_ascii_digit());
        if !words.first().is_some_and(is_first) || !words.get(1).is_none_or(&is_second) {
            return Ok(None);
        }
        let n_columns = self.0.len();
        let is_fit = |((_, column), word): (&(String, Column), &&str)| {
            is_cell(word) || *column == Validation
        };
        let fits = self.0.iter().zip(&words).take_while(|cell| is_fit(*cell)).count();
        if fits < n_columns && fits < words.len() {
            return Err(format!(
                "'{}' is no number, expected digits and a decimal point (is the row cut off?)",
                words[fits]
            ));
        }
        if fits < n_columns || words.get(n_columns).is_some_and(is_second) {
            return Err(format!(
                "the row has {} columns, the head of its table {n_columns} (is it cut off?)",
                words.len(),
            ));
        }
        words.truncate(n_columns);
        Ok(Some(words))
    }

    /// The word under the first column `wanted`.
    pub(super) fn word<'a>(&self, words: &[&'a str], wanted: Column) -> Option<&'a str> {
        let mut cells = self.0.iter().zip(words);
        cells.find(|((_, column), _)| *column == wanted).map(|(_, word)| *word)
    }

    /// The `noun` that `word` is.
    ///
    /// # Errors
    /// A sentence, if the word there is none.
    fn parsed<V: FromStr>(word: Option<&str>, noun: &str) -> Result<Option<V>, String> {
        let wrong = |word| format!("'{word}' is no {noun} (is it cut off?)");
        word.map(|word| word.parse().map_err(|_| wrong(word))).transpose()
    }

    /// The whole number under `wanted`; an error of [`Self::parsed`].
    pub(super) fn count(&self, words: &[&str], wanted: Column) -> Result<Option<u64>, String> {
        Self::parsed(self.word(words, wanted), "whole number")
    }

    /// The number under `wanted`; none where the word has no digits, as after a division by 0.
    pub(super) fn number(&self, words: &[&str], wanted: Column) -> Result<Option<f64>, String> {
        let has_digits = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
        let word = self.word(words, wanted).filter(has_digits);
        Ok(Self::parsed(word, "number")?.filter(|number: &f64| number.is_finite()))
    }

    /// The figures of a row.
    pub(super) fn figures(&self, words: &[&str]) -> Vec<Derived> {
        let figure = |((title, column), word): (&(String, Column), &&str)| {
            let (name, factor) = match column {
                Column::Derived(name, factor) => ((*name).to_owned(), *factor),
                Column::Percentile(number, is_rate) => percentile_figure(*number, *is_rate),
                _ => return None,
            };
            let number: f64 = word.parse().ok()?;
            Some(printed(&name, title, Some(number * factor).filter(|n| n.is_finite())?))
        };
        self.0.iter().zip(words).filter_map(figure).collect()
    }
}

/// The head of a table with a column for each window, if `titles` are nothing but numbers.
fn of_windows(titles: &str) -> Option<Head> {
    let window = |title: &str| Some((title.to_owned(), Column::Window(title.parse().ok()?)));
    let windows: Vec<_> = titles.split_whitespace().map(window).collect::<Option<_>>()?;
    let size = ("#".to_owned(), Size);
    (windows.len() > 1).then(|| Head(std::iter::once(size).chain(windows).collect()))
}

/// The length of the title at the start of `rest` up to its unit, if it is that of a percentile
/// (`P50 Tail Lat(us)`), and its number.
fn percentile(rest: &str) -> Option<(usize, u8)> {
    let (number, _) = rest.strip_prefix('P')?.split_once(" Tail ")?;
    Some((1 + number.len() + " Tail ".len(), number.parse().ok()?))
}
