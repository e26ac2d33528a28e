//! JUnit XML, which continuous integration shows as tests: suites of tests with their outcomes.

use std::fmt::Write as _;

use crate::xml::{self, escape};

/// One suite.
pub(crate) struct Suite {
    /// Its attributes beside the totals.
    pub(crate) attributes: Vec<(&'static str, String)>,
    pub(crate) tests: Vec<Test>,
}

/// One test.
pub(crate) struct Test {
    /// Its attributes, among them its class and its name.
    pub(crate) attributes: Vec<(&'static str, String)>,
    pub(crate) outcome: Outcome,
    /// Text beside the outcome.
    pub(crate) output: String,
}

/// The outcome of a test; all but the first with their reason.
pub(crate) enum Outcome {
    Passed,
    /// With its kind, where there are several.
    Failure(Option<String>, Reason),
    Error(Reason),
    Skipped(Reason),
}

/// The reason of an outcome: a message, and more text where there is some.
pub(crate) struct Reason {
    message: String,
    text: String,
}

impl From<String> for Reason {
    fn from(message: String) -> Self {
        Self { message, text: String::new() }
    }
}

impl From<Vec<String>> for Reason {
    fn from(lines: Vec<String>) -> Self {
        Self { message: lines.first().cloned().unwrap_or_default(), text: lines.join("\n") }
    }
}

/// The document of `suites`, with the attributes of its root beside the totals.
pub(crate) fn document(attributes: &[(&'static str, String)], suites: &[Suite]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let tests: Vec<&Test> = suites.iter().flat_map(|suite| &suite.tests).collect();
    text += &format!("<testsuites{}{}>\n", written(attributes), totals(&tests));
    suites.iter().for_each(|suite| text += &suite.xml());
    text + "</testsuites>\n"
}

impl Suite {
    fn xml(&self) -> String {
        let totals = totals(&self.tests.iter().collect::<Vec<_>>());
        let tests: String = self.tests.iter().map(Test::xml).collect();
        format!("  <testsuite{}{totals}>\n{tests}  </testsuite>\n", written(&self.attributes))
    }
}

impl Test {
    fn xml(&self) -> String {
        let attributes = written(&self.attributes);
        let inside = self.outcome.xml() + &self.output();
        if inside.is_empty() {
            return format!("    <testcase{attributes}/>\n");
        }
        format!("    <testcase{attributes}>\n{inside}    </testcase>\n")
    }

    fn output(&self) -> String {
        if self.output.is_empty() {
            return String::new();
        }
        format!("      <system-out>{}</system-out>\n", escape(&self.output))
    }
}

impl Outcome {
    fn xml(&self) -> String {
        let (element, kind, reason) = match self {
            Self::Passed => return String::new(),
            Self::Failure(kind, reason) => ("failure", kind.clone(), reason),
            Self::Error(reason) => ("error", None, reason),
            Self::Skipped(reason) => ("skipped", None, reason),
        };
        let kind = kind.map(|kind| ("type", kind));
        let attributes: Vec<_> =
            kind.into_iter().chain([("message", reason.message.clone())]).collect();
        let attributes = written(&attributes);
        match escape(&reason.text) {
            text if text.is_empty() => format!("      <{element}{attributes}/>\n"),
            text => format!("      <{element}{attributes}>{text}</{element}>\n"),
        }
    }
}

fn totals(tests: &[&Test]) -> String {
    let count = |is_counted: fn(&Outcome) -> bool| {
        tests.iter().filter(|test| is_counted(&test.outcome)).count()
    };
    let mut text = format!(" tests=\"{}\"", tests.len());
    let counts = [
        ("failures", count(|outcome| matches!(outcome, Outcome::Failure(..)))),
        ("errors", count(|outcome| matches!(outcome, Outcome::Error(_)))),
        ("skipped", count(|outcome| matches!(outcome, Outcome::Skipped(_)))),
    ];
    for (name, n) in counts {
        write!(text, " {name}=\"{n}\"").expect("a string takes any text");
    }
    text
}

fn written(attributes: &[(&'static str, String)]) -> String {
    let attribute =
        |(name, value): &(&str, String)| format!(" {name}=\"{}\"", xml::attribute(value));
    attributes.iter().map(attribute).collect()
}
