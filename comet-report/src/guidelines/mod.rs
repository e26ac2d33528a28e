//! Performance guidelines: operations that take no longer than others that do the same, held against
//! the times of one run.
//!
//! ```text
//!   points of each launch ──► times by kernel and length ──► time / bound, launch by launch
//!                                                                │
//!                table, sentences and JSON ◄── factor, interval, verdict
//! ```
//!
//! Both sides of a guideline are of one launch, so that what changes from launch to launch is in the
//! interval of the factor and not in the factor. A guideline is violated where that interval lies
//! beyond the margin of a comparison, and where it is no chance among so many lengths.

pub(crate) mod sides;
mod table;
mod text;
pub(crate) mod times;

use std::collections::BTreeSet;

use comet_stats::compare::{FALSE_SHARE, Verdict, adjusted};
use sides::{Compared, Sides};
pub use table::{Bound, GUIDELINES, Guideline, Length, Source, Term};
use times::{Times, by_world};

use crate::runs::{Platform, RunRecords};

/// The guidelines on one number of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Transport and machine.
    pub platform: Platform,
    /// Number of ranks.
    pub n_ranks: u64,
    /// The most launches of any finding.
    pub n_launches: usize,
    /// A finding for each guideline and length, in the order of the table.
    pub findings: Vec<Finding>,
    /// Guidelines without a finding, and the reason.
    pub unjudged: Vec<(&'static Guideline, String)>,
}

/// One guideline at one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The guideline.
    pub guideline: &'static Guideline,
    /// Length of the bounded operation in bytes.
    pub length_bytes: u64,
    /// Its time in ns: geometric mean over the launches, as in a comparison.
    pub time_ns: f64,
    /// The bound in ns, likewise.
    pub bound_ns: f64,
    /// Time over bound, of pairs the mean of their ratios.
    pub factor: f64,
    /// Its 95 % interval from launch to launch; `None` for a single launch that varies.
    pub interval: Option<[f64; 2]>,
    /// Excess that is of no interest, as a share.
    pub margin: f64,
    /// Number of launches that have both sides.
    pub n_launches: usize,
    /// Verdict on it.
    pub verdict: Holds,
    /// Reason of an open verdict.
    pub why: Option<String>,
}

/// Verdict on a guideline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The interval lies below the bound and its margin.
    Yes,
    /// The interval lies above.
    No,
    /// The launches do not tell.
    Open,
}

impl Holds {
    /// Its name in tables and files.
    pub const fn name(self) -> &'static str {
        ["holds", "violated", "undecided"][self as usize]
    }
}

/// Holds the guidelines of `operations`, or all, against the points of `runs`, whose launches count
/// together where ranks and platform are the same. Excess below `margin`, a share, is of no interest;
/// `None`: as in a comparison.
pub fn judge(runs: &[RunRecords], operations: &[String], margin: Option<f64>) -> Vec<Judgement> {
    let is_wanted = |guideline: &&Guideline| {
        operations.is_empty() || operations.iter().any(|name| name == guideline.operation())
    };
    let wanted: Vec<&'static Guideline> = GUIDELINES.iter().filter(is_wanted).collect();
    let of_world = |((platform, n_ranks), times): ((Platform, u64), Times<'_>)| {
        let world = World { runs, times, n_ranks, margin };
        let (mut findings, mut unjudged) = (Vec::new(), Vec::new());
        for guideline in &wanted {
            match world.findings(guideline) {
                Ok(found) => findings.extend(found),
                Err(reason) => unjudged.push((*guideline, reason)),
            }
        }
        doubt_chance(&mut findings);
        let n_launches = findings.iter().map(|(of, _)| of.n_launches).max().unwrap_or(0);
        let findings = findings.into_iter().map(|(finding, _)| finding).collect();
        Judgement { platform, n_ranks, n_launches, findings, unjudged }
    };
    let known: BTreeSet<&str> = wanted.iter().flat_map(|of| of.kernels()).collect();
    let all = by_world(runs, &known).into_iter().map(of_world);
    all.filter(|judgement| !judgement.findings.is_empty()).collect()
}

impl Judgement {
    /// The violations.
    pub fn violations(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.verdict == Holds::No)
    }

    /// True if no finding is decided.
    pub fn is_open(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict == Holds::Open)
    }
}

/// Times on one number of ranks.
struct World<'a> {
    runs: &'a [RunRecords],
    times: Times<'a>,
    n_ranks: u64,
    margin: Option<f64>,
}

/// A finding, and the probability of such a factor by chance if the true one is just the margin.
type WithChance = (Finding, f64);

/// Operations of a bound: each with its length, and how often it is done.
type Terms = Vec<(&'static str, u64, u64)>;

impl World<'_> {
    /// The findings of `guideline`, by length.
    fn findings(&self, guideline: &'static Guideline) -> Result<Vec<WithChance>, String> {
        if let Some(missing) = guideline.kernels().find(|id| !self.times.has(id)) {
            return Err(format!("{missing} was not measured: {}", self.reason(missing)));
        }
        let lengths: Vec<u64> = self.times.lengths(guideline.left).collect();
        let mut findings = Vec::new();
        for length in &lengths {
            let Some(terms) = self.terms(guideline, *length, &lengths) else { continue };
            findings.extend(self.finding(guideline, *length, &terms)?);
        }
        if findings.is_empty() {
            return Err(format!(
                "no length has both sides on {} ranks (take lengths whose multiples by that are among \
                 them)",
                self.n_ranks
            ));
        }
        Ok(findings)
    }

    /// The reason why the operation `id` has no times.
    fn reason(&self, id: &str) -> &str {
        let points = self.runs.iter().flat_map(|run| &run.points);
        let mut points = points.filter(|point| {
            point.operation() == id && point.params.ranks().is_none_or(|n| n == self.n_ranks)
        });
        match points.find_map(|point| point.failure()) {
            Some(failure) => &failure.message,
            None if id.contains(' ') => "its layout is about a library (measure over MPI)",
            None => "no run has it",
        }
    }

    /// The operations of the bound at `length`, which is one of `lengths`; `None` if one has no times.
    fn terms(&self, guideline: &Guideline, length: u64, lengths: &[u64]) -> Option<Terms> {
        let left = guideline.left;
        match guideline.right {
            Bound::Longer => {
                let longer = lengths.iter().find(|other| **other > length)?;
                Some(vec![(left, *longer, 1)])
            }
            Bound::Pieces => {
                let is_piece = |other: &&u64| **other > 0 && **other < length;
                let piece = lengths.iter().rev().filter(is_piece);
                let piece = piece.copied().find(|other| length.is_multiple_of(*other))?;
                Some(vec![(left, piece, length / piece)])
            }
            Bound::Sum(terms) => {
                let term = |term: &Term| {
                    let length = term.length.of(length, self.n_ranks)?;
                    self.times.of(term.kernel, length).map(|_| (term.kernel, length, 1))
                };
                terms.iter().map(term).collect()
            }
        }
    }

    /// The finding of `guideline` at `length`, if a launch has both sides.
    fn finding(
        &self,
        guideline: &'static Guideline,
        length: u64,
        terms: &Terms,
    ) -> Result<Option<WithChance>, String> {
        let left = self.times.of(guideline.left, length).unwrap_or_default();
        let mut sides = Sides::default();
        for reading in left {
            let same = |(kernel, length, n): &(&'static str, u64, u64)| {
                let of_term = self.times.of(kernel, *length)?;
                Some((of_term.iter().find(|other| other.launch == reading.launch)?, *n))
            };
            let Some(bound) = terms.iter().map(same).collect::<Option<Vec<_>>>() else { continue };
            if let Some((other, _)) = bound.iter().find(|(other, _)| !reading.is_comparable(other))
            {
                return Err(format!("{} and {}", reading.way(), other.way()));
            }
            sides.push(reading, &bound);
        }
        let compared = sides.compared(self.margin);
        Ok(compared.map(|compared| (Finding::of(guideline, length, compared), compared.p_slower)))
    }
}

impl Finding {
    fn of(guideline: &'static Guideline, length_bytes: u64, compared: Compared) -> Self {
        let Compared { time_ns, bound_ns, interval, margin, n_launches, verdict, .. } = compared;
        let is_below = interval.is_some_and(|[_, high]| high <= 1.0 + margin);
        let verdict = match verdict {
            Verdict::Slower => Holds::No,
            _ if is_below => Holds::Yes,
            _ => Holds::Open,
        };
        let why = (verdict == Holds::Open).then(|| match interval {
            Some(_) => "the interval holds the bound with its margin (more launches)".into(),
            None => "a single launch has no interval (more launches)".into(),
        });
        let factor = time_ns / bound_ns;
        Self {
            guideline,
            length_bytes,
            time_ns,
            bound_ns,
            factor,
            interval,
            margin,
            n_launches,
            verdict,
            why,
        }
    }
}

/// Takes back violations that are chance among the findings.
fn doubt_chance(findings: &mut [WithChance]) {
    let p: Vec<f64> = findings.iter().map(|(_, p)| *p).collect();
    let n = p.len();
    for ((finding, _), q) in findings.iter_mut().zip(adjusted(&p)) {
        if finding.verdict == Holds::No && q > FALSE_SHARE {
            finding.verdict = Holds::Open;
            finding.why = Some(format!("may be chance among {n} findings (q = {q:.3})"));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
