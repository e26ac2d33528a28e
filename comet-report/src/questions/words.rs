//! Replies in words.

use std::fmt;

use comet_stats::compare::Verdict;

use super::{Cell, Reply};
use crate::order::{distinct, grouped};
use crate::units::{bytes, significant};
use crate::words::{count, list};

/// Place of a cell: a length, or a number of ranks.
type Place = fn(&Cell) -> u64;

impl Reply {
    /// The reply in sentences, first of numbers of ranks with several lengths, then of those with one: the
    /// fastest way where that is asked for, then each way against the first.
    pub fn sentences(&self) -> Vec<String> {
        let cells = self.cells.iter().map(|cell| (cell.n_ranks, cell));
        let has_lengths =
            |cells: &[&Cell]| distinct(cells.iter().map(|cell| cell.length_bytes)).len() > 1;
        let (swept, single): (Vec<_>, Vec<_>) =
            grouped(cells).into_iter().partition(|(_, cells)| has_lengths(cells));
        let all = [swept, single].map(|of| of.into_iter().flat_map(|(_, cells)| cells).collect());
        all.into_iter().flat_map(|cells: Vec<&Cell>| self.sentences_of(&cells)).collect()
    }

    /// The same of `cells`, along what they have more of, lengths or numbers of ranks.
    fn sentences_of(&self, cells: &[&Cell]) -> Vec<String> {
        let n = |place: Place| distinct(cells.iter().map(|cell| place(cell))).len();
        let (length, ranks): (Place, Place) = (|cell| cell.length_bytes, |cell| cell.n_ranks);
        let is_of_ranks = n(ranks) > n(length);
        let (along, at) = if is_of_ranks { (ranks, length) } else { (length, ranks) };
        let words = |value: u64, is_rank: bool| {
            if is_rank { count(value, "rank") } else { bytes(value) }
        };
        let mut sentences = Vec::new();
        let mut places = grouped(cells.iter().map(|cell| (at(cell), *cell)));
        places.sort_by_key(|(value, _)| *value);
        for (value, cells) in places {
            let place = if is_of_ranks { "at" } else { "on" };
            let place = format!("{place} {}", words(value, !is_of_ranks));
            let write = |value| words(value, is_of_ranks);
            if self.question.asks_fastest {
                sentences.extend(fastest(self, &cells, along, &write, &place));
            }
            for (kernel, cells) in grouped(cells.iter().map(|cell| (cell.kernel, *cell))) {
                let first = self.question.kernels[0];
                let (own, other) = match (short(kernel), short(first)) {
                    (own, other) if own == other => (kernel, first),
                    names => names,
                };
                let stretches = stretches(&cells, along, &write);
                sentences.push(format!("{own} against {other}, {place}: {stretches}"));
            }
        }
        sentences
    }
}

/// The name in a kernel's id.
pub(super) fn short(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// Stretches of `cells` with the same verdict.
fn stretches(cells: &[&Cell], along: Place, write: &dyn Fn(u64) -> String) -> String {
    let mut cells = cells.to_vec();
    cells.sort_by_key(|cell| along(cell));
    let same = |a: &&Cell, b: &&Cell| a.compared.verdict == b.compared.verdict;
    let stretch = |cells: &[&Cell]| {
        let (from, to) = (along(cells[0]), along(cells[cells.len() - 1]));
        let places = if from == to {
            format!("at {}", write(from))
        } else {
            format!("from {} to {}", write(from), write(to))
        };
        format!("{}{} {places}", word(cells[0].compared.verdict), ratios(cells))
    };
    cells.chunk_by(same).map(stretch).collect::<Vec<_>>().join("; ")
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "the same",
        other => other.name(),
    }
}

/// The least and the largest ratio of `cells` that differ.
fn ratios(cells: &[&Cell]) -> String {
    if !cells[0].compared.verdict.is_change() {
        return String::new();
    }
    let ratio = |cell: &&Cell| cell.compared.time_ns / cell.compared.bound_ns;
    let all: Vec<f64> = cells.iter().map(ratio).collect();
    let [low, high] = [f64::min, f64::max]
        .map(|pick| significant(all.iter().copied().reduce(pick).unwrap_or(1.0), 3));
    if low == high { format!(" ({low} times)") } else { format!(" ({low} to {high} times)") }
}

/// The fastest ways among `cells` and the first, by stretches.
fn fastest(
    reply: &Reply,
    cells: &[&Cell],
    along: Place,
    write: &dyn Fn(u64) -> String,
    place: &str,
) -> Vec<String> {
    let mut of_places = grouped(cells.iter().map(|cell| (along(cell), *cell)));
    of_places.sort_by_key(|(value, _)| *value);
    let winners: Vec<(u64, Vec<String>)> =
        of_places.iter().map(|(value, cells)| (*value, winners(reply, cells))).collect();
    let stretch = |of: &[(u64, Vec<String>)]| {
        let (from, to) = (write(of[0].0), write(of[of.len() - 1].0));
        let span = if from == to { format!("at {from}") } else { format!("from {from} to {to}") };
        match &of[0].1[..] {
            [] => format!("it is undecided which is the fastest {span}, {place}"),
            [only] => format!("{only} is the fastest {span}, {place}"),
            several => format!("{} are the fastest {span}, {place}", list(several)),
        }
    };
    winners.chunk_by(|a, b| a.1 == b.1).map(stretch).collect()
}

/// The way with the least time, and those whose verdict against the first does not part them from it: the
/// first, if the best of the others is not faster. None where one that is undecided may be faster.
fn winners(reply: &Reply, cells: &[&Cell]) -> Vec<String> {
    let ratio = |cell: &&&Cell| cell.compared.time_ns / cell.compared.bound_ns;
    let faster = cells.iter().filter(|cell| cell.compared.verdict == Verdict::Faster);
    let best = faster.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let high = |best: &&&Cell| best.compared.interval.map_or(ratio(best), |[_, high]| high);
    let bar = best.as_ref().map_or(1.0, high);
    let may_be_faster = |cell: &&&Cell| {
        let low = cell.compared.interval.map_or(0.0, |[low, _]| low);
        cell.compared.verdict == Verdict::Inconclusive && low <= bar
    };
    if cells.iter().any(|cell| may_be_faster(&cell)) {
        return Vec::new();
    }
    if best.is_none() {
        let even = cells.iter().filter(|cell| cell.compared.verdict == Verdict::Same);
        let first = reply.question.kernels[0];
        return std::iter::once(first).chain(even.map(|cell| cell.kernel)).map(name).collect();
    }
    // Those whose interval reaches as low as that of the best.
    let is_close = |cell: &&&Cell| {
        let low = cell.compared.interval.map_or(ratio(cell), |[low, _]| low);
        cell.compared.verdict == Verdict::Faster && low <= bar
    };
    cells.iter().filter(is_close).map(|cell| name(cell.kernel)).collect()
}

fn name(id: &'static str) -> String {
    short(id).to_owned()
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {} (over {})", self.question.text, self.platform)?;
        self.sentences().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}
