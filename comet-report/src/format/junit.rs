//! JUnit XML for the test tabs of continuous integration: one suite for each run, one test for each
//! kernel and one for the run itself.
//!
//! A test fails if data arrived wrong, has an error if a case could not be run, and is skipped if
//! these ranks admit none of its cases; what else was skipped stands in its output.
//! The run has an error if it ended early or was killed.

use std::io::{self, Write};

use super::Format;
use crate::record::{End, EndStatus, Point, PointStatus, Record, Run};
use crate::sink::{Document, RecordSink};
use crate::xml::{self, escape};

/// JUnit XML.
#[derive(Clone, Copy, Debug)]
pub struct Junit;

impl Format for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn summary(&self) -> &'static str {
        "JUnit XML, a test for each kernel: for the test tabs of CI systems"
    }

    fn is_document(&self) -> bool {
        true
    }

    fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
        Document::boxed(out, write)
    }
}

fn write(records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    let suites: Vec<Suite> =
        records.chunk_by(|_, next| !matches!(next, Record::Run(_))).map(Suite::of).collect();
    let tests: Vec<&Test> = suites.iter().flat_map(|suite| &suite.tests).collect();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites{}>", totals(&tests))?;
    suites.iter().try_for_each(|suite| suite.write(out))?;
    writeln!(out, "</testsuites>")
}

/// One run.
struct Suite {
    /// Its attributes, but for the totals.
    attributes: String,
    tests: Vec<Test>,
}

/// One kernel, or the run itself.
struct Test {
    attributes: String,
    outcome: Outcome,
    /// Skipped cases beside cases with numbers, a line each.
    output: String,
}

/// Outcome of a test; all but the first with the events, a line each.
enum Outcome {
    Passed,
    Failure(Vec<String>),
    Error(Vec<String>),
    Skipped(Vec<String>),
}

impl Suite {
    /// The run that `records` hold.
    fn of(records: &[Record]) -> Self {
        let (mut run, mut end, mut points) = (None, None, Vec::new());
        for record in records {
            match record {
                Record::Run(found) => run = Some(&**found),
                Record::Point(point) => points.push(&**point),
                Record::End(found) => end = Some(found),
                Record::Model(_) | Record::Event(_) => (),
            }
        }
        let place = place(run);
        let mut tests = Vec::new();
        let mut start_s = 0.0;
        for kernel in points.chunk_by(|a, b| (&a.suite, &a.kernel) == (&b.suite, &b.kernel)) {
            let end_s = kernel[kernel.len() - 1].t_rel_s;
            tests.push(Test::of_kernel(kernel, &place, end_s - start_s));
            start_s = end_s;
        }
        tests.push(Test::of_run(end, &place));
        Self { attributes: suite_attributes(run, end, &place), tests }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let totals = totals(&self.tests.iter().collect::<Vec<_>>());
        writeln!(out, "  <testsuite{}{totals}>", self.attributes)?;
        self.tests.iter().try_for_each(|test| test.write(out))?;
        writeln!(out, "  </testsuite>")
    }
}

impl Test {
    fn of_kernel(points: &[&Point], place: &str, time_s: f64) -> Self {
        let [failures, errors, skipped] = [
            lines(points, &[PointStatus::CheckFailed]),
            lines(points, &[PointStatus::Failed, PointStatus::Interrupted]),
            lines(points, &[PointStatus::Skipped]),
        ];
        let is_skipped = skipped.len() == points.len();
        let output = if is_skipped { String::new() } else { skipped.join("\n") };
        let outcome = if !failures.is_empty() {
            Outcome::Failure(failures)
        } else if !errors.is_empty() {
            Outcome::Error(errors)
        } else if is_skipped {
            Outcome::Skipped(skipped)
        } else {
            Outcome::Passed
        };
        let [class, name] =
            [format!("comet-run.{}", points[0].suite), format!("{} {place}", points[0].kernel)];
        let attributes = attribute("classname", &class)
            + &attribute("name", &name)
            + &attribute("time", &format!("{time_s:.3}"));
        Self { attributes, outcome, output }
    }

    fn of_run(end: Option<&End>, place: &str) -> Self {
        let why = match end {
            None => Some("no end: the run was killed or is still running".to_owned()),
            Some(End { status: EndStatus::Complete, .. }) => None,
            Some(End { status, reason, .. }) => {
                Some(format!("{}: {}", status.name(), reason.as_deref().unwrap_or("no reason")))
            }
        };
        let name = format!("the whole run {place}");
        let attributes = attribute("classname", "comet-run") + &attribute("name", &name);
        let outcome = why.map_or(Outcome::Passed, |why| Outcome::Error(vec![why]));
        Self { attributes, outcome, output: String::new() }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { attributes, outcome, output } = self;
        let (element, lines) = match outcome {
            Outcome::Passed if output.is_empty() => {
                return writeln!(out, "    <testcase{attributes}/>");
            }
            Outcome::Passed => ("", &Vec::new()),
            Outcome::Failure(lines) => ("failure", lines),
            Outcome::Error(lines) => ("error", lines),
            Outcome::Skipped(lines) => ("skipped", lines),
        };
        writeln!(out, "    <testcase{attributes}>")?;
        if let Some(first) = lines.first() {
            let message = attribute("message", first);
            let text = escape(&lines.join("\n"));
            writeln!(out, "      <{element}{message}>{text}</{element}>")?;
        }
        if !output.is_empty() {
            writeln!(out, "      <system-out>{}</system-out>", escape(output))?;
        }
        writeln!(out, "    </testcase>")
    }
}

/// Place of a run, as part of names: a CI system recognises a test by its name.
fn place(run: Option<&Run>) -> String {
    match run {
        Some(run) => format!("on {} ranks over {}", run.world.size, run.transport.backend),
        None => "of an unknown run".into(),
    }
}

fn suite_attributes(run: Option<&Run>, end: Option<&End>, place: &str) -> String {
    let mut attributes = attribute("name", &format!("comet-run {place}"));
    if let Some(run) = run {
        attributes += &attribute("timestamp", &run.started_at);
        let node = run.machines.first().and_then(|machine| machine.nodes.first());
        attributes += &attribute("hostname", node.map_or("unknown", |node| node));
    }
    if let Some(wall_s) = end.and_then(|end| end.wall_s) {
        attributes += &attribute("time", &format!("{wall_s:.3}"));
    }
    attributes
}

fn totals(tests: &[&Test]) -> String {
    let count = |is_counted: fn(&Outcome) -> bool| {
        tests.iter().filter(|test| is_counted(&test.outcome)).count().to_string()
    };
    attribute("tests", &tests.len().to_string())
        + &attribute("failures", &count(|outcome| matches!(outcome, Outcome::Failure(_))))
        + &attribute("errors", &count(|outcome| matches!(outcome, Outcome::Error(_))))
        + &attribute("skipped", &count(|outcome| matches!(outcome, Outcome::Skipped(_))))
}

/// A line for each of `points` that has one of these statuses.
fn lines(points: &[&Point], statuses: &[PointStatus]) -> Vec<String> {
    let line = |point: &&Point| {
        let message = point.message.as_deref().unwrap_or("no reason was given");
        format!("{}: {message}", point.params)
    };
    points.iter().filter(|point| statuses.contains(&point.status)).map(line).collect()
}

fn attribute(name: &str, value: &str) -> String {
    format!(" {name}=\"{}\"", xml::attribute(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::read_records;

    fn text(records: &[Record]) -> String {
        let mut text = Vec::new();
        Junit.write(records, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_run_is_a_suite_and_one_without_an_end_has_an_error() {
        let mut records = read_records(&fixture::record_run(&Folder::new())).unwrap().records;
        records.extend(records.clone());
        assert_eq!(text(&records).matches("<testsuite ").count(), 2);
        assert!(!text(&records).contains("<error"));
        records.pop();
        assert_eq!(text(&records).matches("<error message=\"no end: ").count(), 1);
        assert_eq!(text(&[]).matches("<testsuite").count(), 1, "the root alone");
    }

    #[test]
    fn a_kernel_without_any_admitted_case_is_skipped() {
        let mut records = read_records(&fixture::record_run(&Folder::new())).unwrap().records;
        records.retain(|record| match record {
            Record::Point(point) => point.status == PointStatus::Skipped,
            _ => true,
        });
        let text = text(&records);
        assert!(text.contains("<skipped message=\"hops=3 length_bytes=8 procs=2: needs 4 ranks"));
        assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\""), "{text}");
    }
}
