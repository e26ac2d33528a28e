//! JUnit XML for the test tabs of continuous integration: one suite for each run, one test for each
//! kernel and one for the run itself.
//!
//! A test fails if data arrived wrong, has an error if a case could not be run, and is skipped if
//! these ranks admit none of its cases; what else was skipped stands in its output.
//! The run has an error if it ended early or was killed.

use std::io::{self, Write};

use comet_core::words::count;

use crate::junit::{self, Outcome, Suite, Test};
use crate::read::NO_END;
use crate::record::{End, EndStatus, Failure, Level, Name, Point, PointStatus, Record};
use crate::runs::{RunRecords, split};
use crate::verdict::verdict;

/// Writes the document of `records`.
pub(super) fn write(records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    let records: Vec<Record> = records.to_vec();
    let runs = split(records);
    let suites: Vec<Suite> = runs.iter().map(suite).collect();
    out.write_all(junit::document(&[], &suites).as_bytes())
}

fn suite(of: &RunRecords) -> Suite {
    // By its name a CI system knows a test again.
    let place = of.run.as_ref().map_or("of an unknown run".into(), |run| {
        format!("on {} over {}", count(run.world.size, "rank"), run.transport.name())
    });
    let mut tests = Vec::new();
    let mut start_s = 0.0;
    for kernel in of.points.chunk_by(|a, b| (&a.suite, &a.kernel) == (&b.suite, &b.kernel)) {
        let end_s = kernel[kernel.len() - 1].t_rel_s;
        // Launches measure all kernels in turn, each in an order of its own.
        let is_of_launches = kernel.iter().any(|point| point.launches.is_some());
        tests.push(of_kernel(kernel, &place, (!is_of_launches).then_some(end_s - start_s)));
        start_s = end_s;
    }
    tests.push(of_run(of, &place));
    let mut attributes = vec![("name", format!("comet-run {place}"))];
    if let Some(run) = &of.run {
        attributes.push(("timestamp", run.started_at.clone()));
        let node = run.machines.first().and_then(|machine| machine.nodes.first());
        attributes.push(("hostname", node.map_or_else(|| "unknown".into(), ToString::to_string)));
    }
    if let Some(wall_s) = of.end.as_ref().and_then(|end| end.wall_s) {
        attributes.push(("time", format!("{wall_s:.3}")));
    }
    Suite { attributes, tests }
}

fn of_kernel(points: &[Point], place: &str, time_s: Option<f64>) -> Test {
    let [failures, errors, skipped] = [
        lines(points, &[PointStatus::CheckFailed]),
        lines(points, &[PointStatus::Failed, PointStatus::Interrupted]),
        lines(points, &[PointStatus::Skipped]),
    ];
    let is_skipped = skipped.len() == points.len();
    let output = if is_skipped { String::new() } else { skipped.join("\n") };
    let skipped = if is_skipped { skipped } else { Vec::new() };
    let reasons = [("failure", failures), ("error", errors), ("skipped", skipped)];
    let outcome = reasons.into_iter().find(|(_, lines)| !lines.is_empty());
    let outcome = outcome.map(|(element, lines)| Outcome::of_lines(element, &lines));
    let mut attributes = vec![
        ("classname", format!("comet-run.{}", points[0].suite)),
        ("name", format!("{} {place}", points[0].kernel)),
    ];
    attributes.extend(time_s.map(|time_s| ("time", format!("{time_s:.3}"))));
    Test { attributes, outcome, output }
}

/// The test of the run as a whole.
fn of_run(of: &RunRecords, place: &str) -> Test {
    let errors = of.events.iter().filter(|event| event.level == Level::Error);
    let why = match &of.end {
        None => Some(NO_END.to_owned()),
        Some(End { status: EndStatus::Complete, .. }) => None,
        Some(End { status, reason, .. }) => {
            let reasons = reason.iter().chain(errors.map(|event| &event.message));
            let reasons: Vec<&str> = reasons.map(String::as_str).collect();
            Some(format!("{}: {}", Name(status), reasons.join(": ")))
        }
    };
    let attributes =
        vec![("classname", "comet-run".into()), ("name", format!("the whole run {place}"))];
    let outcome = why.map(|why| Outcome::of_lines("error", &[why]));
    let output = verdict(of).map_or(String::new(), |found| found.to_string());
    Test { attributes, outcome, output }
}

/// A line for each of `points` that has one of these statuses.
fn lines(points: &[Point], statuses: &[PointStatus]) -> Vec<String> {
    let line = |point: &Point| {
        let Failure { status, message } = point.failure()?;
        statuses.contains(status).then(|| format!("{}: {message}", point.params))
    };
    points.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, render};

    #[test]
    fn every_run_is_a_suite_and_one_without_an_end_has_an_error() {
        let mut records = fixture::records();
        records.extend(records.clone());
        assert_eq!(render("junit", &records).matches("<testsuite ").count(), 2);
        assert!(!render("junit", &records).contains("<error"));
        records.pop();
        assert_eq!(render("junit", &records).matches("<error message=\"no end: ").count(), 1);
        assert_eq!(render("junit", &[]).matches("<testsuite").count(), 1, "the root alone");
    }

    #[test]
    fn a_kernel_without_any_admitted_case_is_skipped() {
        let mut records = fixture::records();
        records.retain(|record| match record {
            Record::Point(point) => point.status() == PointStatus::Skipped,
            _ => true,
        });
        let text = render("junit", &records);
        assert!(text.contains("<skipped message=\"hops=3 length_bytes=8 procs=2: needs 4 ranks"));
        assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\""), "{text}");
    }
}
