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

mod table;
mod text;
mod times;

use comet_stats::compare::{Launches, MARGIN, Scale, Verdict, adjusted, margin};
pub use table::{Bound, GUIDELINES, Guideline, Length, Source, Term};
use times::{Reading, Times, by_world};

use crate::runs::RunRecords;

/// Of what is called a violation, this share is chance at most.
const FALSE_SHARE: f64 = 0.05;
/// Exact times that differ by less than this share differ by rounding.
const ROUNDING: f64 = 1e-9;

/// The guidelines on one number of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Name of the transport; empty where the file does not say.
    pub transport: String,
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
/// together where ranks and transport are the same. Excess below `margin`, a share, is of no interest;
/// `None`: as in a comparison.
pub fn judge(runs: &[RunRecords], operations: &[String], margin: Option<f64>) -> Vec<Judgement> {
    let is_wanted = |guideline: &&Guideline| {
        operations.is_empty() || operations.iter().any(|name| name == guideline.operation())
    };
    let wanted: Vec<&'static Guideline> = GUIDELINES.iter().filter(is_wanted).collect();
    let of_world = |((transport, n_ranks), times): ((String, u64), Times<'_>)| {
        let world = World { times, n_ranks, margin };
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
        Judgement { transport, n_ranks, n_launches, findings, unjudged }
    };
    let all = by_world(runs).into_iter().map(of_world);
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
    times: Times<'a>,
    n_ranks: u64,
    margin: Option<f64>,
}

/// A finding, and the probability of such a factor by chance.
type WithChance = (Finding, f64);

/// Operations of a bound: each with its length, and how often it is done.
type Terms = Vec<(&'static str, u64, u64)>;

impl World<'_> {
    /// The findings of `guideline`, by length.
    fn findings(&self, guideline: &'static Guideline) -> Result<Vec<WithChance>, String> {
        if let Some(missing) = guideline.kernels().find(|id| !self.times.has(id)) {
            return Err(format!("{missing} was not measured"));
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
            // A simulated machine may have operations that take no time.
            let is_positive = bound.iter().any(|(other, _)| other.ns > 0.0) && reading.ns > 0.0;
            if is_positive {
                sides.push(reading, &bound);
            }
        }
        Ok((sides.n() > 0).then(|| sides.finding(guideline, length, self.margin)))
    }
}

/// Times of both sides in each launch.
#[derive(Default)]
struct Sides {
    /// Logarithms of the bound (base) and of the bounded time (new).
    launches: Launches,
    /// Least and greatest samples of both sides, bound first.
    ranges_ns: Vec<[[f64; 2]; 2]>,
    /// True while every time is one of a simulation.
    are_virtual: bool,
    clock_ns: f64,
    repetitions: u32,
}

impl Sides {
    fn n(&self) -> usize {
        self.ranges_ns.len()
    }

    fn push(&mut self, left: &Reading<'_>, bound: &[(&Reading<'_>, u64)]) {
        let sum = |time: &dyn Fn(&Reading<'_>) -> f64| -> f64 {
            bound.iter().map(|(reading, n)| time(reading) * *n as f64).sum()
        };
        let is_first = self.n() == 0;
        let all = || bound.iter().map(|(reading, _)| *reading).chain([left]);
        self.launches.is_paired = true;
        self.launches.base.push(sum(&|reading| reading.ns).ln());
        self.launches.new.push(left.ns.ln());
        let of_bound = [sum(&|reading| reading.range_ns[0]), sum(&|reading| reading.range_ns[1])];
        self.ranges_ns.push([of_bound, left.range_ns]);
        self.are_virtual = (is_first || self.are_virtual) && all().all(|of| of.is_virtual());
        self.clock_ns = all().map(Reading::clock_ns).fold(self.clock_ns, f64::max);
        let fewest = all().map(Reading::repetitions).min().unwrap_or(1);
        self.repetitions = if is_first { fewest } else { self.repetitions.min(fewest) };
    }

    /// Logarithms of the ends of the interval, and the probability of such a factor by chance.
    fn difference(&self) -> Option<(f64, f64, f64)> {
        let [first, others @ ..] = &self.ranges_ns[..] else { return None };
        if self.are_virtual && others.iter().all(|other| other == first) {
            let [bound, left] = first;
            let round = |log_ratio: f64| if log_ratio.abs() < ROUNDING { 0.0 } else { log_ratio };
            return Some((round((left[0] / bound[1]).ln()), round((left[1] / bound[0]).ln()), 0.0));
        }
        self.launches.difference().map(|found| (found.low, found.high, found.p))
    }

    fn is_exact(&self) -> bool {
        self.are_virtual && self.ranges_ns.iter().all(|ranges| *ranges == self.ranges_ns[0])
    }

    fn finding(
        &self,
        guideline: &'static Guideline,
        length_bytes: u64,
        of_user: Option<f64>,
    ) -> WithChance {
        let [bound_ns, time_ns] =
            self.launches.means().map_or([f64::NAN; 2], |of| of.map(f64::exp));
        let found = self.difference();
        let scale =
            Scale { time_ns: bound_ns, clock_ns: self.clock_ns, repetitions: self.repetitions };
        let margin = match of_user {
            of_user if self.is_exact() => of_user.unwrap_or(0.0),
            of_user => margin(of_user.unwrap_or(MARGIN), scale),
        };
        let verdict = match found.map(|(low, high, _)| Verdict::of(low, high, margin)) {
            Some(Verdict::Slower) => Holds::No,
            Some(Verdict::Faster | Verdict::Same) => Holds::Yes,
            Some(Verdict::Inconclusive) if found.is_some_and(|of| of.1 <= margin.ln_1p()) => {
                Holds::Yes
            }
            _ => Holds::Open,
        };
        let why = (verdict == Holds::Open).then(|| match found {
            Some(_) => "the interval holds the bound with its margin (more launches)".into(),
            None => "a single launch has no interval (more launches)".into(),
        });
        let finding = Finding {
            guideline,
            length_bytes,
            time_ns,
            bound_ns,
            factor: time_ns / bound_ns,
            interval: found.map(|(low, high, _)| [low.exp(), high.exp()]),
            margin,
            n_launches: self.n(),
            verdict,
            why,
        };
        (finding, found.map_or(1.0, |(_, _, p)| p))
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
mod tests;
