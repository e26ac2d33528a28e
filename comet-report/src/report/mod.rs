//! The page: everything about one or several runs in one HTML file that needs nothing else.
//!
//! ```text
//!   runs ──┬──► header, comparison, points, environment, method ──┬──► one page
//!          └──► figures (answers first) ──► plot::svg ────────────┘
//! ```
//!
//! Equal runs make equal pages, to the byte. Without scripts all of it can be read; the script
//! adds zoom, values under the pointer, sorting and downloads. A few figures are open, and the index
//! leads to all others: a link opens what it leads into.

mod answers;
mod comparison;
mod environment;
mod figures;
mod header;
mod html;
mod method;
mod points;
mod policy;
mod questions;

pub use comparison::comparison_parts;
use html::{Html, details, element, row, section, table, tag};
pub use policy::policy_of_pictures;

use crate::compare::Comparison;
use crate::models::{self, Fitted};
use crate::plot::{self, Figure};
use crate::record::{EndStatus, Point, Run};
use crate::runs::RunRecords;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Options of a page.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Title; `None`: what was run.
    pub title: Option<String>,
    /// True if the figures of the thesis are shown for runs on other machines than its own.
    pub has_thesis: bool,
    /// The runs held against each other, where they are two sets.
    pub comparison: Option<Comparison>,
}

struct Content<'a> {
    runs: &'a [RunRecords],
    comparison: Option<&'a Comparison>,
    names: Vec<String>,
    models: Vec<Fitted>,
    figures: Vec<Figure>,
}

#[derive(Default)]
struct Section {
    /// Name for links.
    id: &'static str,
    title: &'static str,
    body: Html,
    /// Its figures, in groups.
    figures: Vec<Group>,
}

/// Figures of the index: a title and, of each figure, the id and the title.
type Group = (&'static str, Vec<[String; 2]>);

/// The sections, in the order of the page; those without content are left out.
const SECTIONS: &[fn(&Content<'_>) -> Vec<Section>] = &[
    comparison::sections,
    questions::sections,
    figures::sections,
    points::laws,
    points::sections,
    environment::sections,
    method::sections,
];

/// The page about `runs`.
///
/// It is a whole HTML document that loads nothing. Text from the records stands in it as text,
/// whatever it holds.
pub fn report(runs: &[RunRecords], options: &Options) -> String {
    let content = Content::of(runs, options);
    let title = options.title.clone().unwrap_or_else(|| header::title(&content));
    let sections = SECTIONS.iter().flat_map(|make| make(&content));
    let sections: Vec<Section> = sections.filter(|section| !section.body.is_empty()).collect();
    let contents = contents(&sections);
    let main = sections.into_iter().map(|part| section(part.id, part.title, part.body));
    let skip = element("a", &[("class", "skip"), ("href", "#main")], "Skip to the figures");
    let body = skip
        .with(header::header(&content, &title))
        .with(contents)
        .with(element("main", &[("id", "main")], main.collect::<Html>()))
        .with(footer(&content));
    page(&title, body)
}

impl<'a> Content<'a> {
    fn of(runs: &'a [RunRecords], options: &'a Options) -> Self {
        let models = models::of_runs(runs);
        let mut figures = crate::figures::with_models(runs, &models);
        let has_thesis = options.has_thesis || runs.iter().any(is_of_thesis);
        figures.retain(|figure| has_thesis || figure.number.is_none());
        let comparison = options.comparison.as_ref();
        Self { runs, comparison, names: names(runs), models, figures }
    }

    fn points(&self) -> impl Iterator<Item = (usize, &'a Point)> {
        let runs = self.runs.iter().enumerate();
        runs.flat_map(|(index, run)| run.points.iter().map(move |point| (index, point)))
    }

    fn starts(&self) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter_map(|run| run.run.as_deref())
    }

    /// A table of `rows`, each with the number of its run, which has a column where there are several;
    /// nothing without a row.
    fn table<'h>(
        &self,
        class: &str,
        heads: impl IntoIterator<Item = &'h str>,
        rows: impl IntoIterator<Item = (usize, Vec<Html>)>,
    ) -> Html {
        let is_shared = self.runs.len() > 1;
        let name = |index: usize| is_shared.then(|| Html::from(&self.names[index]));
        let rows = rows.into_iter();
        let mut rows =
            rows.map(|(index, cells)| row("td", name(index).into_iter().chain(cells))).peekable();
        if rows.peek().is_none() {
            return Html::new();
        }
        table(class, is_shared.then_some("Run").into_iter().chain(heads), rows)
    }
}

/// Names of the runs: a label or the name of the file, with the number of ranks and the number of
/// the run if needed to tell it from others.
fn names(runs: &[RunRecords]) -> Vec<String> {
    let mut names: Vec<String> =
        runs.iter().map(|run| run.label().unwrap_or_else(|| run.file())).collect();
    let is_shared =
        |names: &[String], name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let plain = names.clone();
    for (name, run) in names.iter_mut().zip(runs).filter(|(name, _)| is_shared(&plain, name)) {
        *name += &run.run.as_ref().map_or(String::new(), |run| format!(", P = {}", run.world.size));
    }
    let with_ranks = names.clone();
    for (index, name) in
        names.iter_mut().enumerate().filter(|(_, name)| is_shared(&with_ranks, name))
    {
        *name += &format!(", run {}", index + 1);
    }
    names
}

/// The beginning of the ids of the figures of the kernel `id`.
fn slug(id: &str) -> String {
    id.replace(['/', '_'], "-")
}

/// Begin of the names of the machine of the thesis.
const MACHINE_OF_THESIS: &str = "ipsc860";

/// True if `run` simulates the machine of the thesis.
fn is_of_thesis(run: &RunRecords) -> bool {
    let machine = run.run.as_deref().and_then(|run| run.transport.fact("machine"));
    machine.is_some_and(|name| name.starts_with(MACHINE_OF_THESIS))
}

fn is_complete(run: &RunRecords) -> bool {
    run.end.as_ref().is_some_and(|end| end.status == EndStatus::Complete)
}

fn contents(sections: &[Section]) -> Html {
    let link = |section: &Section| {
        let target = format!("#{}", section.id);
        tag("li", element("a", &[("href", &target)], section.title))
    };
    let links: Html = sections.iter().map(link).collect();
    let groups: Html = sections.iter().flat_map(|section| &section.figures).map(titles).collect();
    let index = element("div", &[("class", "titles")], groups);
    element("nav", &[("aria-label", "Contents")], tag("ul", links).with(details(INDEX, index)))
}

const INDEX: &str = "All figures by title";

/// The links to the figures of a group.
fn titles((group, figures): &Group) -> Html {
    let link = |[id, title]: &[String; 2]| {
        tag("li", element("a", &[("href", &format!("#{id}"))], title.as_str()))
    };
    let links: Html = figures.iter().map(link).collect();
    tag("div", tag("b", *group).with(tag("ul", links)))
}

fn footer(content: &Content<'_>) -> Html {
    let formats: Vec<String> = content
        .starts()
        .map(|run| format!("run {}, {}.{}", run.run_id, run.schema, run.schema_minor))
        .collect();
    let made_of =
        if formats.is_empty() { "records without a run".into() } else { formats.join("; ") };
    let version = env!("CARGO_PKG_VERSION");
    tag("footer", tag("p", format!("Made by comet-run {version} of {made_of}.")))
}

/// Content policy of every page: its own styles and scripts, and nothing else.
pub fn policy() -> String {
    policy::policy(&[&plot::css(), STYLE], &[plot::script(), SCRIPT])
}

fn page(title: &str, body: Html) -> String {
    let (figures, policy) = (plot::css(), policy());
    let style = |id: &str, text: &str| element("style", &[("id", id)], Html::trusted(text));
    let script = |text: &str| tag("script", Html::trusted(text));
    let head = Html::trusted("<meta charset=\"utf-8\">\n")
        .with(meta("http-equiv", "Content-Security-Policy", &policy))
        .with(meta("name", "viewport", "width=device-width, initial-scale=1"))
        .with(meta("name", "color-scheme", "light dark"))
        .with(tag("title", title))
        .with(style("plot-css", &figures))
        .with(style("page-css", STYLE));
    let body = tag("body", body.with(script(plot::script())).with(script(SCRIPT)));
    let html = element("html", &[("lang", "en")], tag("head", head).with(body));
    format!("<!doctype html>\n{}\n", html.into_string())
}

fn meta(key: &str, name: &str, content: &str) -> Html {
    let attributes = element("meta", &[(key, name), ("content", content)], "").into_string();
    Html::trusted(attributes.replace("</meta>", "\n"))
}

#[cfg(test)]
mod tests;
