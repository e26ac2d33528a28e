//! A comparison as JUnit XML, which continuous integration shows as tests: a suite for each kernel,
//! a test for each point. What is slower or fails is a failure, what nobody can tell is skipped.

use comet_stats::compare::Verdict;

use super::Renderer;
use super::sections::change;
use crate::compare::{Comparison, FailureRow, MissingRow, PointRow};
use crate::xml::attribute;

/// JUnit XML.
pub(super) struct Junit;

impl Renderer for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn render(&self, comparison: &Comparison) -> String {
        let tests = tests(comparison);
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        text += &format!("<testsuites name=\"comet-run compare\" {}>\n", counts(tests.iter()));
        let mut kernels: Vec<&str> = Vec::new();
        for test in &tests {
            if !kernels.contains(&&*test.kernel) {
                kernels.push(&test.kernel);
            }
        }
        for kernel in kernels {
            text += &suite(kernel, &tests);
        }
        text + "</testsuites>\n"
    }
}

/// One point, or one case that fails.
struct Test {
    kernel: String,
    name: String,
    outcome: Outcome,
}

/// Outcome of a test.
enum Outcome {
    Passed,
    /// Kind and sentence.
    Failed(&'static str, String),
    Skipped(String),
}

fn tests(comparison: &Comparison) -> Vec<Test> {
    let points = comparison.points.iter().map(|row| of_point(row, comparison.is_advisory()));
    let failures = comparison.failures.iter().map(of_failure);
    points.chain(failures).chain(comparison.missing.iter().map(of_missing)).collect()
}

fn of_point(row: &PointRow, is_advisory: bool) -> Test {
    let outcome = match row.verdict {
        Verdict::Slower if is_advisory => Outcome::Skipped(format!("advisory: {}", change(row))),
        Verdict::Slower => Outcome::Failed("slower", change(row)),
        Verdict::Inconclusive => Outcome::Skipped(row.why.clone().unwrap_or_default()),
        Verdict::Faster | Verdict::Same => Outcome::Passed,
    };
    Test { kernel: row.kernel.clone(), name: row.params.to_string(), outcome }
}

fn of_failure(row: &FailureRow) -> Test {
    let message = row.message.clone().unwrap_or_default();
    let outcome = if row.is_regression {
        Outcome::Failed(row.status, message)
    } else {
        Outcome::Skipped(format!("{}, and not only in the new runs: {message}", row.status))
    };
    Test { kernel: row.kernel.clone(), name: row.params.to_string(), outcome }
}

fn of_missing(row: &MissingRow) -> Test {
    let why = row.message.as_ref().map_or(String::new(), |message| format!(" ({message})"));
    let outcome = Outcome::Skipped(format!("not measured in the {} runs{why}", row.missing_in));
    Test { kernel: row.kernel.clone(), name: row.params.to_string(), outcome }
}

fn suite(kernel: &str, tests: &[Test]) -> String {
    let of_kernel: Vec<&Test> = tests.iter().filter(|test| test.kernel == kernel).collect();
    let (name, counts) = (attribute(kernel), counts(of_kernel.iter().copied()));
    let mut text = format!("  <testsuite name=\"{name}\" {counts}>\n");
    of_kernel.iter().for_each(|test| text += &case(test));
    text + "  </testsuite>\n"
}

fn case(test: &Test) -> String {
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\"",
        attribute(&test.kernel),
        attribute(&test.name)
    );
    let inside = match &test.outcome {
        Outcome::Passed => return format!("{head}/>\n"),
        Outcome::Failed(kind, message) => {
            format!("<failure type=\"{kind}\" message=\"{}\"/>", attribute(message))
        }
        Outcome::Skipped(message) => format!("<skipped message=\"{}\"/>", attribute(message)),
    };
    format!("{head}>{inside}</testcase>\n")
}

fn counts<'a>(tests: impl Iterator<Item = &'a Test>) -> String {
    let (mut n, mut n_failed, mut n_skipped) = (0, 0, 0);
    for test in tests {
        n += 1;
        n_failed += u32::from(matches!(test.outcome, Outcome::Failed(..)));
        n_skipped += u32::from(matches!(test.outcome, Outcome::Skipped(_)));
    }
    format!("tests=\"{n}\" failures=\"{n_failed}\" skipped=\"{n_skipped}\"")
}
