//! Output of `SKaMPI` 5 and 6 (`.sko`): a result is a kernel, and a row of it a point.

use comet_core::definition::{Definition, Quantity};
use comet_core::kernel::Class;

use super::sections::ending;
use super::{ImportError, Part, RANKS, SKAMPI, Surroundings, printed, require_measured, single};
use crate::format::foreign::REPETITIONS;
use crate::format::{COUNT, ERROR_NS, MISSING, NODE_NS, SKAMPI_MARKS as MARKS};
use crate::record::{
    Check, CheckStatus, Derived, Numbers, Outcome, Param, Params, Point, Quote, RankStat, Value,
};
use crate::{fingerprint, older};

/// Start of the first line of the original.
const VERSION: &str = "# SKaMPI Version ";
/// Start of the names of results between two ranks.
const PAIR: &str = "Pingpong";
/// Half of the last digit of its times.
const ROUNDING_NS: f64 = 50.0;
/// Names of a loop over ranks.
const PROCS: [&str; 2] = ["procs", "nodes"];

/// The name of the result that `line` begins, or an empty one if it ends one; in files of older versions
/// without the mark of a comment.
pub(super) fn mark(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(['#', ' ', '\t']);
    let [begin, end] = MARKS.map(|mark| mark.trim_start_matches(['#', ' ']));
    let name = bare.strip_prefix(begin).filter(|name| name.trim_start().starts_with('"'));
    let name = name.or_else(|| bare.starts_with(end).then_some(""));
    name.map(|name| name.trim().trim_matches('"'))
}

/// The results in `text`. The last row of one without an end is left out if it is shorter than the row
/// before it.
///
/// # Errors
/// If a row is none, or if nobody says how many ranks there were.
pub(super) fn parse(text: &str, around: &Surroundings) -> Result<Part, ImportError> {
    let version = text.lines().find_map(|line| line.strip_prefix(VERSION));
    let (mut name, mut doubt): (Option<String>, Option<String>) = (None, None);
    let (mut points, mut notes) = (Vec::new(), Vec::new());
    let mut n_words = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(title) = mark(line) {
            name = Some(title.to_owned()).filter(|title| !title.is_empty());
            n_words.clear();
            continue;
        }
        let wrong = |message| ImportError::Line { line: index + 1, message };
        let is_row = !line.trim().is_empty() && !line.starts_with('#');
        let ending = ending(index + 1, line).filter(|_| is_row);
        doubt = doubt.or(ending.clone());
        if let Some(name) = name.as_ref().filter(|_| is_row && ending.is_none()) {
            n_words.push(line.split_whitespace().count());
            points.push(Row::of(line).map_err(wrong)?.point(name, around)?);
        }
    }
    if let Some(name) = name {
        let is_short = matches!(n_words[..], [.., whole, last] if last < whole);
        if is_short {
            points.pop();
            notes.push("the last row is shorter than the one before it, and is left out".into());
        }
        doubt = doubt.or(Some(format!("the text lacks the end of the result '{name}'")));
    }
    let mut run = super::run(SKAMPI, version.unwrap_or_default().trim(), around);
    if version.is_some() {
        run.transport.backend = Some("mpi".into());
        run.clock.source = Some("MPI_Wtime".into());
    }
    Ok(Part { run, points, doubt, notes })
}

/// A row of a result.
struct Row {
    /// Names and values of loops.
    loops: Vec<(String, u64)>,
    length_bytes: u64,
    time_ns: f64,
    /// `None` where the program printed none.
    error_ns: Option<f64>,
    n_samples: f64,
    nodes_ns: Vec<f64>,
}

impl Row {
    fn of(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace().peekable();
        let mut loops = Vec::new();
        while let Some(name) = words.next_if(|word| word.ends_with('=')) {
            let value = words.next().unwrap_or_default();
            let number = value.parse().map_err(|_| {
                format!("'{value}' is no value of {name} expected a whole number (correct the row)")
            })?;
            loops.push((name.trim_end_matches('=').to_owned(), number));
        }
        let numbers: Vec<&str> = words.collect();
        require_measured(&numbers)?;
        let ns = |word: &&str| number(word).map(|us| us * 1e3);
        let [_, time_us, error_us, n_samples, nodes_us @ ..] = &numbers[..] else {
            return Err(format!(
                "there are {} numbers, expected bytes, time, error and number of samples (is the row cut \
                 off?)",
                numbers.len()
            ));
        };
        let length_bytes = numbers[0].parse().map_err(|_| {
            format!(
                "'{}' is no length in bytes, expected a whole number (correct the row)",
                numbers[0]
            )
        })?;
        Ok(Self {
            loops,
            length_bytes,
            time_ns: ns(time_us)?,
            error_ns: Some(error_us).filter(|word| **word != MISSING).map(ns).transpose()?,
            n_samples: number(n_samples)?,
            nodes_ns: nodes_us.iter().map(ns).collect::<Result<_, _>>()?,
        })
    }

    /// The ranks: those of a loop, those with a time, or those that the user names.
    fn n_ranks(&self, name: &str, around: &Surroundings) -> Result<u64, ImportError> {
        let of_loop = self.loops.iter().find(|(name, _)| PROCS.contains(&name.as_str()));
        let of_nodes = Some(self.nodes_ns.len() as u64).filter(|n| *n > 0);
        let n = of_loop.map(|(_, n)| *n).or(of_nodes).filter(|n| RANKS.contains(n));
        n.or(around.n_ranks).ok_or_else(|| ImportError::Ranks { kernel: name.into() })
    }

    fn point(self, name: &str, around: &Surroundings) -> Result<Point, ImportError> {
        let n_ranks = self.n_ranks(name, around)?;
        let is_pair = name.starts_with(PAIR);
        let has_length = self.length_bytes > 0 || self.loops.iter().any(|(name, _)| name == COUNT);
        let class = match (is_pair, has_length) {
            (true, _) => Class::PointToPoint,
            (false, true) => Class::Collective,
            (false, false) => Class::Synchronisation,
        };
        let (definition, rank_stat) = if is_pair {
            (Definition::TestNode, RankStat::Root)
        } else {
            (Definition::Completion, RankStat::Max)
        };
        let value = Value {
            quantity: Quantity::OpTime.name().into(),
            definition: definition.name().into(),
            divisor: 1,
            rank_stat,
            bytes_per_op: None,
            better: "lower".into(),
            quote: Quote::MiddleMean,
        };
        let loops = self.loops.iter().filter(|(name, _)| name != PROCS[0]);
        let own = [("length_bytes", self.length_bytes)].into_iter().filter(|_| has_length);
        let all =
            loops.map(|(name, n)| (name.as_str(), *n)).chain(own).chain([(PROCS[0], n_ranks)]);
        let params = all.map(|(name, n)| (name.to_owned(), Param::Number(n))).collect();
        let mut point = Point {
            suite: SKAMPI.into(),
            kernel: name.to_owned().into(),
            variant: Some(name.to_owned().into()),
            class: class.as_str().into(),
            params: Params(params),
            check: Check { status: CheckStatus::Skipped },
            figures: self.figures(),
            outcome: Outcome::Imported(Box::new(Numbers {
                value,
                time_ns: single(self.time_ns),
                quoted_ns: Some(self.time_ns),
                rounding_ns: Some(ROUNDING_NS),
                rate: None,
                rates: Vec::new(),
            })),
            ..Point::default()
        };
        point.key = fingerprint::key(&point, None);
        point.facts = older::facts(&point).into();
        Ok(point)
    }

    /// Figures beside the time.
    fn figures(&self) -> Vec<Derived> {
        let nodes = self.nodes_ns.iter().enumerate();
        let node =
            |(number, ns): (usize, &f64)| printed(&format!("{NODE_NS}{number}"), "node", *ns);
        let error = self.error_ns.map(|ns| printed(ERROR_NS, "standard error", ns));
        let own = [printed(REPETITIONS, "number of samples", self.n_samples)];
        error.into_iter().chain(own).chain(nodes.map(node)).collect()
    }
}

fn number(word: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("'{word}' is no number (correct the row)"))
}
