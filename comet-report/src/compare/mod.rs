//! Comparisons: what became slower or faster between two sets of runs.
//!
//! The mathematics is in `comet_stats::compare`. One run of a file is one launch, and what a launch
//! says of a point is its figure to quote.

mod admission;
mod environment;
mod evidence;
mod failures;
mod judge;
mod parameters;
mod render;
#[cfg(test)]
mod tests;
mod units;

pub use environment::Change;
pub use failures::{FailureRow, MissingRow};
pub use judge::{Confirmation, KernelRow, PointRow};
pub use parameters::{ParameterRow, Spread};
pub(crate) use render::sections;
pub use render::{RENDERERS, Renderer, Section, render};

use std::collections::BTreeMap;

use comet_stats::compare::{MARGIN, Verdict};
use serde::{Serialize, Serializer};

use crate::places;
use crate::record::Point;
use crate::runs::RunRecords;

/// Name and major version of a comparison as JSON.
pub const SCHEMA: &str = "comet.comparison/1";
/// Share of points that may change in a control before verdicts are hints.
const MAX_CONTROL_SHARE: f64 = 0.05;

/// Changes whose power is told.
const CHANGES: [f64; 3] = [0.10, 0.20, 0.50];

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Changes below this share are of no interest; `None`: 5 %, and nothing where times are exact.
    pub margin: Option<f64>,
    /// True if launches are pairs, in the order of their files, even if they did not alternate.
    pub is_paired: bool,
    /// True if a single launch a side is judged by its samples.
    pub allows_single: bool,
    /// Points to look at, by their keys, and the time of a cache line in nanoseconds at which each was
    /// seen to change; `None`: all points, each at the time that most launches have.
    pub changes: Option<BTreeMap<String, Option<f64>>>,
}

impl Options {
    /// The time of a cache line at which `point` is looked at, if that is given.
    fn line_of(&self, point: &Point) -> Option<f64> {
        *self.changes.as_ref()?.get(&point.key)?
    }
}

/// Two sets of runs held against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// `comet.comparison/1`.
    pub schema: &'static str,
    /// Number of runs that the others are held against, or of launches where each number of ranks has one
    /// run.
    pub n_base_runs: usize,
    /// Number of runs that are judged, or likewise of launches.
    pub n_new_runs: usize,
    /// Changes below this share are of no interest; more where times are short.
    pub margin: f64,
    /// Number of points at which a change of 10, 20 and 50 % would have been seen; none where times
    /// are exact.
    pub power: Vec<Power>,
    /// Sentences about launches that do not count.
    pub notes: Vec<String>,
    /// Conditions in which runs differ.
    pub environment: Vec<Change>,
    /// One row for each kernel.
    pub kernels: Vec<KernelRow>,
    /// One row for each point that both sides measured.
    pub points: Vec<PointRow>,
    /// Cases that fail in a new run.
    pub failures: Vec<FailureRow>,
    /// Points that one side alone has.
    pub missing: Vec<MissingRow>,
    /// Parameters of models that both sides have.
    pub parameters: Vec<ParameterRow>,
    /// Comparison of the base with itself, if there was one.
    pub control: Option<Control>,
    /// True if changes were looked for a second time, in launches of their own.
    pub is_confirmed: bool,
}

/// True if further launches may find another verdict, slower or faster.
fn is_open(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Inconclusive | Verdict::Changed)
}

/// Number of points at which a change of one size would have been seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// The change, as a share.
    pub change: f64,
    /// Number of points at which it is seen in four of five comparisons.
    pub n_points: usize,
}

/// Comparison of the base with itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Control {
    /// Number of runs of the base that were held against it.
    pub n_runs: usize,
    /// Number of points that were compared.
    pub n_points: usize,
    /// Number of points that seem to have changed, though nothing has.
    pub n_changed: usize,
    /// True if they are so many that verdicts on this machine are advisory, and fail nothing.
    pub is_advisory: bool,
}

/// Compares `new` runs with `base` runs.
pub fn compare(base: &[RunRecords], new: &[RunRecords], options: &Options) -> Comparison {
    let is_hasty = [base, new].into_iter().any(units::are_hasty);
    let (base, new) = (&units::of(base)[..], &units::of(new)[..]);
    let gathered = evidence::gather(base, new, options);
    let (points, launches) = judge::rows(&gathered, options, is_hasty);
    Comparison {
        schema: SCHEMA,
        n_base_runs: base.len(),
        n_new_runs: new.len(),
        margin: options.margin.unwrap_or(MARGIN),
        power: power(&points),
        notes: notes(&points, gathered.iter().any(evidence::Evidence::is_imported)),
        environment: environment::changes(base.iter().chain(new)),
        kernels: judge::kernels(&points, &launches),
        points,
        failures: failures::failures(base, new),
        missing: failures::missing(base, new),
        parameters: parameters::rows(base, new),
        control: None,
        is_confirmed: false,
    }
}

/// The power of launches that vary.
fn power(points: &[PointRow]) -> Vec<Power> {
    if points.iter().all(|row| row.method == Some("exact")) {
        return Vec::new();
    }
    let is_seen = |row: &&PointRow, change| row.smallest_detectable.is_some_and(|of| of <= change);
    let n_points = |change| points.iter().filter(|row| is_seen(row, change)).count();
    CHANGES.map(|change| Power { change, n_points: n_points(change) }).into()
}

/// Sentences about launches of `points` that do not count; imported ones repeat others in another way.
fn notes(points: &[PointRow], are_imported: bool) -> Vec<String> {
    let n_repeated = points.iter().map(|row| row.n_repeated).max().filter(|n| *n > 0);
    let repeated = n_repeated.map(|n| match are_imported {
        true => format!(
            "{n} imported outputs have all numbers of another, and count as one with it (import each \
             once)"
        ),
        false => format!(
            "{n} simulated launches repeat the seed of another, and count as one with it (give each \
             its own with --seed)"
        ),
    });
    let moved: Vec<&PointRow> = points.iter().filter(|row| row.n_moved > 0).collect();
    let lines: Vec<[f64; 2]> = moved.iter().filter_map(|row| row.lines_ns).collect();
    let moved = places::around(&lines).map(|[low, high]| {
        format!(
            "at {} of {} points launches are left out: a cache line takes {low:.0} to {high:.0} ns \
             between ranks 0 and 1, and times of two places are not compared",
            moved.len(),
            points.len()
        )
    });
    repeated.into_iter().chain(moved).collect()
}

impl Comparison {
    /// The points that seem to have changed, as [`Options::changes`] has them.
    pub fn changes(&self) -> BTreeMap<String, Option<f64>> {
        let changed = self.points.iter().filter(|row| row.verdict.is_change());
        changed.map(|row| (row.key.clone(), row.line_ns)).collect()
    }

    /// Keeps only those changes that `again`, a comparison of other launches, shows as well.
    pub fn confirm(&mut self, again: &Comparison) {
        self.is_confirmed = true;
        for row in self.points.iter_mut().filter(|row| row.verdict.is_change()) {
            let is_same = |other: &&PointRow| (&other.key, other.start) == (&row.key, row.start);
            row.confirm(again.points.iter().find(is_same));
        }
    }

    /// Takes note of `control`, which held runs of the base against the base.
    pub fn set_control(&mut self, control: &Comparison) {
        let (n_points, n_changed) = (control.points.len(), control.changes().len());
        let is_advisory = n_changed as f64 > MAX_CONTROL_SHARE * n_points as f64;
        let n_runs = control.n_new_runs;
        self.control = Some(Control { n_runs, n_points, n_changed, is_advisory });
    }

    /// True if verdicts are advisory only.
    pub fn is_advisory(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.is_advisory)
    }

    /// Number of points with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.points.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Number of points that are inconclusive or changed near the margin, and that further launches may decide.
    pub fn n_undecided(&self) -> usize {
        self.undecided().count()
    }

    /// True if launches at other line times were left out of such a point.
    pub fn lacks_launches(&self) -> bool {
        self.undecided().any(|row| row.n_moved > 0)
    }

    fn undecided(&self) -> impl Iterator<Item = &PointRow> {
        let is_open = |row: &&PointRow| is_open(row.verdict) && row.n_repeated == 0;
        self.points.iter().filter(is_open)
    }

    /// True if a point is slower, or fails though it was measured before.
    pub fn is_worse(&self) -> bool {
        self.count(Verdict::Slower) > 0 || self.fails_anew()
    }

    /// True if a case fails though it was measured before, which no unsteady machine excuses.
    pub fn fails_anew(&self) -> bool {
        self.failures.iter().any(|row| row.is_regression)
    }

    /// True if points are inconclusive or changed near the margin, or missing in the new launches.
    pub fn is_open(&self) -> bool {
        let is_lost = self.missing.iter().any(|row| row.missing_in == "new");
        is_lost || self.points.iter().any(|row| is_open(row.verdict))
    }

    /// True if the sides have no point in common.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && !self.fails_anew()
    }
}

/// Writes a verdict by its name.
fn name<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}
