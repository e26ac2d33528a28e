//! JUnit XML, which continuous integration shows as tests: suites of tests with their outcomes.

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
    /// None of a test that has passed.
    pub(crate) outcome: Option<Outcome>,
    /// Text beside the outcome.
    pub(crate) output: String,
}

/// The outcome of a test that has not passed: `failure`, `error` or `skipped`.
pub(crate) struct Outcome {
    element: &'static str,
    /// Kind of a failure, where there are several.
    pub(crate) kind: Option<String>,
    message: String,
    /// More about the reason than the message.
    text: String,
}

impl Outcome {
    /// The outcome `element` for the reason `message`.
    pub(crate) fn new(element: &'static str, message: String) -> Self {
        Self { element, kind: None, message, text: String::new() }
    }

    /// The outcome `element` for the reasons `lines`, the first of which is the message.
    pub(crate) fn of_lines(element: &'static str, lines: &[String]) -> Self {
        let message = lines.first().cloned().unwrap_or_default();
        Self { text: lines.join("\n"), ..Self::new(element, message) }
    }
}

/// The document of `suites`, with the attributes of its root beside the totals.
pub(crate) fn document(attributes: &[(&'static str, String)], suites: &[Suite]) -> String {
    let tests: Vec<&Test> = suites.iter().flat_map(|suite| &suite.tests).collect();
    let (written, totals) = (written(attributes), totals(&tests));
    let suites: String = suites.iter().map(Suite::xml).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites{written}{totals}>\n{suites}\
         </testsuites>\n"
    )
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
        let mut inside = self.outcome.as_ref().map_or(String::new(), Outcome::xml);
        if !self.output.is_empty() {
            inside += &format!("      <system-out>{}</system-out>\n", escape(&self.output));
        }
        if inside.is_empty() {
            return format!("    <testcase{attributes}/>\n");
        }
        format!("    <testcase{attributes}>\n{inside}    </testcase>\n")
    }
}

impl Outcome {
    fn xml(&self) -> String {
        let kind = self.kind.iter().map(|kind| ("type", kind.clone()));
        let attributes: Vec<_> = kind.chain([("message", self.message.clone())]).collect();
        let (element, attributes) = (self.element, written(&attributes));
        match escape(&self.text) {
            text if text.is_empty() => format!("      <{element}{attributes}/>\n"),
            text => format!("      <{element}{attributes}>{text}</{element}>\n"),
        }
    }
}

fn totals(tests: &[&Test]) -> String {
    let count = |element: &str| {
        let is_one = |test: &&&Test| test.outcome.as_ref().is_some_and(|of| of.element == element);
        tests.iter().filter(is_one).count()
    };
    format!(
        " tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        tests.len(),
        count("failure"),
        count("error"),
        count("skipped")
    )
}

fn written(attributes: &[(&'static str, String)]) -> String {
    let attribute =
        |(name, value): &(&str, String)| format!(" {name}=\"{}\"", xml::attribute(value));
    attributes.iter().map(attribute).collect()
}
