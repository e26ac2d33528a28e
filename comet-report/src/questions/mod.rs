//! Questions that a suite answers: which mode of a message is the fastest, whether datatypes beat packing,
//! collectives of the library those by hand, and compounds the calls that they join.
//!
//! ```text
//!   points of each launch ──► times by kernel and length ──► each kernel against the first of its question
//!                                                                  │
//!                     a sentence for each kernel, number of ranks or length ◄── verdicts of `compare`
//! ```
//!
//! They are those of SKaMPI (R. Reussner, P. Sanders, J. L. Traff, Scientific Programming 10, 2002,
//! sections 2 and 6). Verdicts follow the rules of a comparison; both sides are of one launch.

mod across;
mod table;
mod words;

use std::collections::BTreeSet;

pub use across::{Orders, across};
use comet_stats::compare::{FALSE_SHARE, Verdict, adjusted};
pub use table::QUESTIONS;

use crate::guidelines::sides::{Compared, Sides};
use crate::guidelines::times::{Times, by_world};
use crate::runs::{Platform, RunRecords};

/// A question about several ways to do one thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// Name for links and figures.
    pub id: &'static str,
    /// The question.
    pub text: &'static str,
    /// The ways, each a kernel's id with a layout of its messages behind a blank if it has one; the others are
    /// held against the first.
    pub kernels: &'static [&'static str],
    /// True if the fastest way is asked for.
    pub asks_fastest: bool,
}

/// The answers of runs to one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The question.
    pub question: &'static Question,
    /// Transport and machine.
    pub platform: Platform,
    /// Each way but the first at each number of ranks and length, in the order of the ways.
    cells: Vec<Cell>,
}

/// One way against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    kernel: &'static str,
    n_ranks: u64,
    length_bytes: u64,
    compared: Compared,
}

/// The replies of `runs`, whose launches count together where ranks and platform are the same.
pub fn replies(runs: &[RunRecords]) -> Vec<Reply> {
    let known: BTreeSet<&str> = QUESTIONS.iter().flat_map(|of| of.kernels).copied().collect();
    let worlds = by_world(runs, &known);
    let mut replies: Vec<Reply> = Vec::new();
    for question in QUESTIONS {
        for ((platform, n_ranks), times) in &worlds {
            let cells = cells(question, *n_ranks, times);
            let known = replies
                .iter_mut()
                .find(|reply| reply.question == question && reply.platform == *platform);
            match known {
                _ if cells.is_empty() => (),
                Some(reply) => reply.cells.extend(cells),
                None => replies.push(Reply { question, platform: platform.clone(), cells }),
            }
        }
    }
    replies.iter_mut().for_each(Reply::doubt_chance);
    replies
}

/// The ways of `question` against the first, in `times`.
fn cells(question: &Question, n_ranks: u64, times: &Times<'_>) -> Vec<Cell> {
    let Some((first, others)) = question.kernels.split_first() else { return Vec::new() };
    let mut cells = Vec::new();
    for kernel in others {
        for length_bytes in times.lengths(kernel) {
            let (Some(left), Some(right)) =
                (times.of(kernel, length_bytes), times.of(first, length_bytes))
            else {
                continue;
            };
            let mut sides = Sides::default();
            for reading in left {
                let other = right.iter().find(|other| other.launch == reading.launch);
                if let Some(other) = other.filter(|other| reading.is_comparable(other)) {
                    sides.push(reading, &[(other, 1)]);
                }
            }
            let compared = sides.compared(None);
            cells.extend(compared.map(|compared| Cell { kernel, n_ranks, length_bytes, compared }));
        }
    }
    cells
}

impl Reply {
    /// Takes back differences that are chance among the cells.
    fn doubt_chance(&mut self) {
        let p: Vec<f64> = self.cells.iter().map(|cell| cell.compared.p).collect();
        for (cell, q) in self.cells.iter_mut().zip(adjusted(&p)) {
            if q > FALSE_SHARE && cell.compared.verdict.is_change() {
                cell.compared.verdict = Verdict::Inconclusive;
            }
        }
    }
}

#[cfg(test)]
mod tests;
