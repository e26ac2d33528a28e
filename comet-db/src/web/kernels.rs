//! Kernels with their meaning. The texts are those of `comet-run help NAME`, and come from the program:
//! the database knows no kernel.

use askama::Template;
use axum::extract::{Path, State};

use super::links::Links;
use super::pages::{Page, html};
use super::{Failure, Shared};

/// A suite of kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Name.
    pub name: String,
    /// Subject, in a few words.
    pub about: String,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
}

/// A kernel with its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name, without the suite.
    pub name: String,
    /// Subject of its measurement, in a few words.
    pub summary: String,
    /// Its page as Markdown, as `comet-run list --markdown` has it.
    pub page: String,
}

impl Kernel {
    /// The sections of its page behind the title: headings and texts.
    fn sections(&self) -> Vec<(String, String)> {
        let mut sections: Vec<(String, String)> = Vec::new();
        for line in self.page.lines() {
            let heading = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
            if let Some((name, rest)) = heading {
                let (more, text) = rest.split_once(':').unwrap_or(("", rest));
                sections
                    .push((format!("{name}{more}"), text.trim_start_matches([',', ' ']).into()));
            } else if let Some((_, text)) = sections.last_mut()
                && !line.starts_with("```")
            {
                text.push('\n');
                text.push_str(line);
            }
        }
        for (_, text) in &mut sections {
            *text = text.trim_matches('\n').replace('`', "");
        }
        sections
    }
}

#[derive(Template)]
#[template(path = "kernels.html")]
pub(super) struct KernelsPage<'a> {
    pub(super) links: Links,
    pub(super) suites: &'a [Suite],
}

#[derive(Template)]
#[template(path = "suite.html")]
pub(super) struct SuitePage<'a> {
    pub(super) links: Links,
    pub(super) suite: &'a Suite,
}

/// The list of kernels.
pub(super) async fn list(State(site): State<Shared>) -> Page {
    html(&KernelsPage { links: site.links(), suites: &site.kernels })
}

/// The kernels of a suite.
pub(super) async fn suite(State(site): State<Shared>, Path(name): Path<String>) -> Page {
    let suite = site.kernels.iter().find(|of| of.name == name);
    let suite = suite.ok_or_else(|| Failure::unknown("there is no such suite of kernels"))?;
    html(&SuitePage { links: site.links(), suite })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_sections_of_lines() {
        let page = "### comet/echo\n\nOne way.\n\n**Timed** (rank 0): a call,\nalone\n\n**Pattern**\n\
                    ```text\n  a -> b\n```\n\n- `x`: one\n  - two\n\n**Rate**, of all\n";
        let kernel = Kernel { name: "echo".into(), summary: String::new(), page: page.into() };
        let own = |(heading, text): (&str, &str)| (heading.to_owned(), text.to_owned());
        let expected = [
            ("Timed (rank 0)", "a call,\nalone"),
            ("Pattern", "  a -> b\n\n- x: one\n  - two"),
            ("Rate", "of all"),
        ];
        assert_eq!(kernel.sections(), expected.map(own));
    }
}
