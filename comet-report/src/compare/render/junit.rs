//! A comparison as JUnit XML, which continuous integration shows as tests: a suite for each kernel,
//! a test for each point. A slower or failing point is a failure, an inconclusive one is skipped.

use comet_stats::compare::Verdict;

use super::sections::change;
use crate::compare::{Comparison, FailureRow, MissingRow, PointRow};
use crate::junit::{self, Outcome, Suite, Test};
use crate::record::{Name, Params};

/// JUnit XML.
pub(super) fn junit(comparison: &Comparison) -> String {
    let mut suites: Vec<Suite> = Vec::new();
    for (kernel, test) in tests(comparison) {
        let attributes = vec![("name", kernel)];
        match suites.iter_mut().find(|suite| suite.attributes == attributes) {
            Some(suite) => suite.tests.push(test),
            None => suites.push(Suite { attributes, tests: vec![test] }),
        }
    }
    junit::document(&[("name", "comet-run compare".into())], &suites)
}

/// The tests, each with its kernel.
fn tests(comparison: &Comparison) -> Vec<(String, Test)> {
    let points = comparison.points.iter().map(|row| of_point(row, comparison.is_advisory()));
    let failures = comparison.failures.iter().map(of_failure);
    points.chain(failures).chain(comparison.missing.iter().map(of_missing)).collect()
}

fn of_point(row: &PointRow, is_advisory: bool) -> (String, Test) {
    let outcome = match row.verdict {
        Verdict::Slower if is_advisory => {
            Some(Outcome::new("skipped", format!("advisory: {}", change(row))))
        }
        Verdict::Slower => Some(failure("slower".into(), change(row))),
        Verdict::Inconclusive => Some(Outcome::new("skipped", row.why.clone().unwrap_or_default())),
        Verdict::Faster | Verdict::Same => None,
    };
    test(&row.kernel, &row.params, outcome)
}

fn of_failure(row: &FailureRow) -> (String, Test) {
    let message = row.message.clone().unwrap_or_default();
    let outcome = if row.is_regression {
        failure(Name(row.status).to_string(), message)
    } else {
        let status = Name(row.status);
        Outcome::new("skipped", format!("{status}, and not only in the new runs: {message}"))
    };
    test(&row.kernel, &row.params, Some(outcome))
}

fn of_missing(row: &MissingRow) -> (String, Test) {
    let why = row.message.as_ref().map_or(String::new(), |message| format!(" ({message})"));
    let why = format!("not measured in the {} runs{why}", row.missing_in);
    test(&row.kernel, &row.params, Some(Outcome::new("skipped", why)))
}

fn failure(kind: String, message: String) -> Outcome {
    let mut failure = Outcome::new("failure", message);
    failure.kind = Some(kind);
    failure
}

fn test(kernel: &str, params: &Params, outcome: Option<Outcome>) -> (String, Test) {
    let attributes = vec![("classname", kernel.to_owned()), ("name", params.to_string())];
    (kernel.to_owned(), Test { attributes, outcome, output: String::new() })
}
