//! Incomparable points: cases that fail, and points that only one side has.
//!
//! A case that fails is one point that stands for all series of the kernel, and so has a key of its
//! own; it is found by kernel and parameters.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use super::evidence::{Identity, identity, quoted_ns, start};
use crate::record::{Failure, Name, Params, Point, PointStatus};
use crate::runs::RunRecords;
use crate::words;

/// A case that fails in a new run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureRow {
    /// Suite and kernel.
    pub kernel: String,
    /// Its parameters.
    pub params: Params,
    /// Outcome of the case (`check_failed`, `failed`).
    pub status: PointStatus,
    /// One sentence that says why.
    pub message: Option<String>,
    /// True if every run of the base that has the case measured it.
    pub is_regression: bool,
}

/// A point that one side alone has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissingRow {
    /// Key of the point.
    pub key: String,
    /// Suite, kernel and series.
    pub kernel: String,
    /// Its parameters.
    pub params: Params,
    /// The side that lacks it: `base` or `new`.
    pub missing_in: &'static str,
    /// Reason, if that side gives one.
    pub message: Option<String>,
}

/// Name of a case, in all of its series.
pub(super) fn case(point: &Point) -> String {
    format!("{}/{} {}", point.suite, point.kernel, point.params)
}

/// The cases that fail in any of `runs`.
pub(super) fn failed_cases<'a>(runs: impl Iterator<Item = &'a RunRecords>) -> BTreeSet<String> {
    runs.flat_map(|records| &records.points).filter(|point| is_failure(point)).map(case).collect()
}

/// The cases that fail in a `new` run, each once.
pub(super) fn failures(base: &[RunRecords], new: &[RunRecords]) -> Vec<FailureRow> {
    let failed = failed_cases(base.iter());
    let measured: BTreeSet<String> = measured(base).map(case).collect();
    let mut seen = BTreeSet::new();
    let points = points(new).filter(|point| is_failure(point) && seen.insert(case(point)));
    let row = |point: &Point| FailureRow {
        kernel: words::kernel(&point.suite, &point.kernel, None),
        params: point.params.clone(),
        status: point.status(),
        message: point.failure().map(|failure| failure.message.clone()),
        is_regression: measured.contains(&case(point)) && !failed.contains(&case(point)),
    };
    points.map(row).collect()
}

/// The points that one side alone has measured, but for those of cases that fail.
pub(super) fn missing(base: &[RunRecords], new: &[RunRecords]) -> Vec<MissingRow> {
    let failed = failed_cases(base.iter().chain(new));
    let of = |has: &[RunRecords], lacks: &[RunRecords], missing_in| -> Vec<MissingRow> {
        let reasons = reasons(lacks);
        let known: HashSet<Identity<'_>> = measured(lacks).map(identity).collect();
        let mut seen = HashSet::new();
        let is_missing = |point: &&Point| {
            let is_of_one = quoted_ns(point).is_some() && !known.contains(&identity(point));
            let mut is_new = || seen.insert((point.key.clone(), start(point)));
            is_of_one && !failed.contains(&case(point)) && is_new()
        };
        let row = |point: &Point| MissingRow {
            key: point.key.clone(),
            kernel: words::kernel(&point.suite, &point.kernel, point.variant.as_deref()),
            params: point.params.clone(),
            missing_in,
            message: reasons.get(&case(point)).cloned().or_else(|| other_way(point, lacks)),
        };
        points(has).filter(is_missing).map(row).collect()
    };
    [of(base, new, "new"), of(new, base, "base")].concat()
}

/// The reason why `point` has no partner among `runs` that measured it in another way.
fn other_way(point: &Point, runs: &[RunRecords]) -> Option<String> {
    let is_same = |other: &&Point| (case(other), &other.variant) == (case(point), &point.variant);
    let other = measured(runs).find(is_same)?;
    let [here, there] = [point, other].map(|of| start(of).unwrap_or("their start is not known"));
    if here != there {
        return Some(format!(
            "{there} there, and {here} in the other runs: times of two ways of starting are not \
             compared (choose one with --sync)"
        ));
    }
    let [here, there] = [point, other].map(|of| of.value().map_or("unknown", |of| &of.definition));
    Some(match here == there {
        true => {
            "measured there under another key: the options of the runs differ, or one record is \
                 of a minor version before 8, in which windows counted from another moment"
                .into()
        }
        false => format!("measured there by {there}, and in the other runs by {here}"),
    })
}

fn points(runs: &[RunRecords]) -> impl Iterator<Item = &Point> {
    runs.iter().flat_map(|records| &records.points)
}

fn is_failure(point: &Point) -> bool {
    matches!(point.status(), PointStatus::CheckFailed | PointStatus::Failed)
}

fn measured(runs: &[RunRecords]) -> impl Iterator<Item = &Point> {
    points(runs).filter(|point| quoted_ns(point).is_some())
}

/// Reasons of cases without numbers.
fn reasons(runs: &[RunRecords]) -> BTreeMap<String, String> {
    let reason = |point: &Point| {
        let Failure { status, message } = point.failure()?;
        Some((case(point), format!("{}: {message}", Name(status))))
    };
    points(runs).filter_map(reason).collect()
}
