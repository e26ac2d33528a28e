//! Pages for people.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::links::Links;
use super::{Failure, Shared, answer, blocking};
use crate::alert::Alert;
use crate::card::{self, end_ms, time_ms};
use crate::id::Id;
use crate::index::{Cursor, Filter, Index, Later, MAX_ROWS, MachineUse, SeriesUse};
use crate::rows::{LabelRow, MachineRow, RunRow};
use crate::{Error, answer as answers_of};

/// Type of pages.
pub(super) const HTML: &str = "text/html; charset=utf-8";
/// Runs on a page.
pub(super) const RUNS: usize = 50;
/// The most bytes of the value of a field.
const MAX_FIELD: usize = 200;

/// Fields of an address, in their order.
pub(super) type Fields = Vec<(String, String)>;

/// The part of the list of runs that an address names.
pub(super) struct Wanted {
    pub(super) filter: Filter,
    pub(super) after: Option<Cursor>,
    pub(super) n: usize,
}

/// Failure of a request whose field `name` has this `value`.
pub(super) fn wrong(name: &str, value: &str, expected: &str) -> Failure {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let value: String = value.chars().take(40).map(shown).collect();
    Failure::new(StatusCode::BAD_REQUEST, format!("{name} is {value}, expected {expected}"))
}

/// The value of the field `name`, the first if there are several; empty if there is none.
pub(super) fn field<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
}

/// The part that `fields` name, of published runs.
pub(super) fn wanted(fields: &Fields) -> Result<Wanted, Failure> {
    let state = Some(card::State::Published);
    let mut wanted = Wanted { filter: Filter { state, ..Filter::default() }, after: None, n: RUNS };
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        let wrong = |expected: &str| wrong(name, value, expected);
        if value.len() > MAX_FIELD {
            return Err(wrong("at most 200 bytes"));
        }
        // No text of an index has one, and engines differ in what they find for it.
        if value.chars().any(char::is_control) {
            return Err(wrong("no control character"));
        }
        let day = |ms: Option<i64>| ms.ok_or_else(|| wrong("a day, as in 2026-01-31"));
        let filter = &mut wanted.filter;
        match name.as_str() {
            "machine" => filter.machine = Some(value.clone()),
            "mpi" => filter.mpi = Some(value.clone()),
            "network" => filter.network = Some(value.clone()),
            "title" => filter.title = Some(value.clone()),
            "label" if filter.labels.len() < 8 => filter.labels.push(match value.split_once('=') {
                Some((name, value)) => (name.into(), Some(value.into())),
                None => (value.clone(), None),
            }),
            "label" => return Err(wrong("at most 8 labels")),
            "since" => filter.since_ms = Some(day(time_ms(value))?),
            "until" => filter.until_ms = Some(day(end_ms(value))?),
            "superseded" if value == "hide" => filter.is_latest = true,
            "superseded" => return Err(wrong("hide")),
            "after" => wanted.after = Some(value.parse().map_err(|_| wrong("a cursor"))?),
            "limit" => {
                let n = value.parse().ok().filter(|n| (1..=MAX_ROWS).contains(n));
                wanted.n = n.ok_or_else(|| wrong("a number from 1 to 500"))?;
            }
            _ => return Err(wrong("a field of this page")),
        }
    }
    Ok(wanted)
}

/// The published run `id` with its machine. One that is pending is as unknown as one that is not there.
pub(super) fn published(index: &mut Index, id: &str) -> Result<(RunRow, MachineRow), Error> {
    let unknown = || Error::Unknown("there is no such run".into());
    let id: Id = id.parse().map_err(|_| unknown())?;
    let run = index.run(id)?.filter(|run| run.state == card::State::Published);
    let run = run.ok_or_else(unknown)?;
    let machine = index.machine(run.machine)?.ok_or_else(unknown)?;
    Ok((run, machine))
}

/// A time to the minute.
pub(super) fn minute(ms: &i64) -> String {
    crate::trend::minute(*ms)
}

pub(super) fn or_none(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or("–")
}

/// Lengths and numbers of ranks that there are, in words.
pub(super) fn reach(lengths: &BTreeSet<i64>, ranks: &BTreeSet<i64>) -> String {
    let of = |all: &BTreeSet<i64>| range(&all.first().copied(), &all.last().copied());
    format!("lengths {}, ranks {}", of(lengths), of(ranks))
}

fn range(least: &Option<i64>, most: &Option<i64>) -> String {
    match (least, most) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "–".into(),
    }
}

#[derive(Template)]
#[template(path = "runs.html")]
pub(super) struct RunsPage {
    pub(super) links: Links,
    pub(super) title: String,
    pub(super) runs: Vec<(RunRow, MachineRow)>,
    /// Superseded runs among them, each with the run that supersedes it.
    pub(super) superseded: BTreeMap<Id, Later>,
    /// Names of all machines.
    pub(super) machines: Vec<String>,
    /// Value of each field of the form.
    pub(super) fields: Fields,
    pub(super) next: Option<String>,
    pub(super) alerts: Vec<Alert>,
}

impl RunsPage {
    fn field(&self, name: &str) -> &str {
        field(&self.fields, name)
    }
}

#[derive(Template)]
#[template(path = "machines.html")]
pub(super) struct MachinesPage {
    pub(super) links: Links,
    pub(super) machines: Vec<MachineUse>,
}

#[derive(Template)]
#[template(path = "run.html")]
pub(super) struct RunPage {
    links: Links,
    pub(super) superseded: Option<Later>,
    run: RunRow,
    machine: MachineRow,
    labels: Vec<LabelRow>,
    series: Vec<SeriesUse>,
    /// Number of the other curves.
    n_more: usize,
}

impl RunPage {
    /// The page of the published run `id`.
    pub(super) fn of(index: &mut Index, id: &str, links: Links) -> Result<Self, Error> {
        let (run, machine) = published(index, id)?;
        let (labels, (series, n_more)) = (index.labels(run.id)?, index.first_series(run.id)?);
        let superseded = index.superseded(&[run.id])?.remove(&run.id);
        Ok(Self { links, superseded, run, machine, labels, series, n_more })
    }

    /// The comparison that begins with this run.
    fn compare(&self) -> String {
        self.links.compare(&format!("run={}", self.run.id))
    }
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    links: Links,
    status: StatusCode,
    message: &'a str,
}

pub(super) type Page = Result<Response, Failure>;

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        self.headed(failure(self.status, &self.message))
    }
}

/// The page about a request that failed.
pub(super) fn failure(status: StatusCode, message: &str) -> Response {
    let page = FailurePage { links: Links::served(&Arc::default()), status, message }.render();
    (status, answer(HTML, page.unwrap_or_default())).into_response()
}

pub(super) fn html(page: &impl Template) -> Page {
    let failed = |error: askama::Error| {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the page was not made: {error}"))
    };
    Ok(answer(HTML, page.render().map_err(failed)?))
}

/// The list of runs.
pub(super) async fn runs(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let Wanted { filter, after, n } = wanted(&fields)?;
    let reader = site.clone();
    let found = blocking(move || {
        reader.read(|index| {
            let page = index.runs(&filter, after, n)?;
            let superseded = index.superseded(&ids(&page.runs))?;
            Ok((page, superseded, index.machine_names()?))
        })
    });
    let (page, superseded, machines) = found.await?;
    let next = page.next.map(|next| earlier("/", &fields, next));
    let (links, alerts, runs) = (site.links(), site.open_alerts(), page.runs);
    let title = "Runs".into();
    html(&RunsPage { links, title, runs, superseded, machines, fields, next, alerts })
}

/// The address of the page at `path` with `fields` whose list of runs goes on at `next`.
pub(super) fn earlier(path: &str, fields: &Fields, next: Cursor) -> String {
    let kept = fields.iter().filter(|(name, value)| name != "after" && !value.is_empty());
    let pairs = kept.map(|(name, value)| format!("{name}={}&", escaped(value)));
    format!("{path}?{}after={next}", pairs.collect::<String>())
}

/// The ids of `runs`.
pub(super) fn ids(runs: &[(RunRow, MachineRow)]) -> Vec<Id> {
    runs.iter().map(|(run, _)| run.id).collect()
}

/// `runs` as JSON, with their labels and the runs that supersede them.
pub(super) fn answers(
    index: &mut Index,
    runs: &[(RunRow, MachineRow)],
) -> Result<Vec<Value>, Error> {
    let superseded = index.superseded(&ids(runs))?;
    let answer = |(run, machine): &(RunRow, MachineRow)| {
        let mut value = answers_of::run(run, machine, &index.labels(run.id)?);
        let later = superseded.get(&run.id).map(|(id, _)| id.to_string());
        value["superseded_by"] = later.into();
        Ok(value)
    };
    runs.iter().map(answer).collect()
}

/// Those of `fields` that are called as one of `names`, as the end of an address.
pub(super) fn query(fields: &Fields, names: &[&str]) -> String {
    let is_one = |(name, value): &&(String, String)| names.contains(&&**name) && !value.is_empty();
    let pairs = fields.iter().filter(is_one);
    pairs.map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
}

/// `text` as the value of a field of an address.
pub(super) fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(letter).collect()
}

/// The list of machines.
pub(super) async fn machines(State(site): State<Shared>) -> Page {
    let links = site.links();
    let machines = blocking(move || site.read(|index| index.machines(card::State::Published)));
    html(&MachinesPage { links, machines: machines.await? })
}

/// A run with its facts and curves.
pub(super) async fn run(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let page = blocking(move || {
        let links = site.links();
        site.read(|index| RunPage::of(index, &id, links))
    });
    html(&page.await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Card;
    use crate::examine;
    use crate::fixture::{Example, file};
    use crate::id::BlobId;
    use comet_report::record::Record;

    const HOSTILE: &str = "\"><script>alert(1)</script>";

    #[test]
    fn texts_of_records_are_text_on_every_page() {
        let mut records = Example::default().records();
        let Record::Run(facts) = &mut records[0] else { panic!("a run comes first") };
        for name in ["name", "machine", "mpi", "network", "site", HOSTILE] {
            facts.labels.insert(name.into(), HOSTILE.into());
        }
        for record in &mut records {
            if let Record::Point(point) = record {
                (point.variant, point.kernel) = (Some(HOSTILE.into()), HOSTILE.into());
            }
        }
        let bytes = file(&records);
        let card =
            Card { received_ms: 0, submitter: HOSTILE.into(), state: card::State::Published };
        let rows = examine::rows(BlobId::of(&bytes), &bytes, &card).unwrap().remove(0);
        let fields = vec![("title".to_owned(), HOSTILE.to_owned())];
        let one = MachineUse { machine: rows.machine.clone(), n_runs: 1, latest_ms: 0 };
        let curve = SeriesUse {
            run: rows.run.id,
            series: rows.series[0].clone(),
            n_points: 1,
            least_x: None,
            most_x: None,
            least_procs: Some(1),
            most_procs: Some(2),
        };
        let links = || Links::served(&Arc::default());
        let runs = RunsPage {
            links: links(),
            title: HOSTILE.into(),
            superseded: [(rows.run.id, (rows.run.id, 0))].into(),
            runs: vec![(rows.run.clone(), rows.machine.clone())],
            machines: vec![HOSTILE.into()],
            fields,
            next: None,
            alerts: Vec::new(),
        };
        let machines = MachinesPage { links: links(), machines: vec![one] };
        let page = RunPage {
            links: links(),
            superseded: None,
            run: rows.run,
            machine: rows.machine,
            labels: rows.labels,
            series: vec![curve],
            n_more: 3,
        };
        let failure =
            FailurePage { links: links(), status: StatusCode::NOT_FOUND, message: HOSTILE };
        assert!(page.render().unwrap().contains("<p>and 3 more</p>"));
        let pages = [runs.render(), machines.render(), page.render(), failure.render()];
        for page in pages.map(Result::unwrap) {
            assert!(!page.contains("<script"), "{page}");
            assert!(!page.contains(HOSTILE), "{page}");
            assert!(page.contains("script"), "{page}");
        }
    }

    #[test]
    fn fields_of_an_address_choose_published_runs_and_wrong_ones_are_refused() {
        let fields = |pairs: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(own).collect::<Fields>()
        };
        let found = wanted(&fields(&[("machine", "hawk"), ("label", "a=b=c"), ("since", "")]));
        let filter = found.ok().unwrap().filter;
        assert_eq!(filter.state, Some(card::State::Published));
        assert_eq!(filter.labels, [("a".to_owned(), Some("b=c".to_owned()))]);
        let refusal =
            |name: &str, value: &str| wanted(&fields(&[(name, value)])).err().unwrap().message;
        assert_eq!(refusal("since", "soon"), "since is soon, expected a day, as in 2026-01-31");
        assert_eq!(refusal("state", "pending"), "state is pending, expected a field of this page");
        assert_eq!(refusal("limit", "0"), "limit is 0, expected a number from 1 to 500");
        assert!(refusal("machine", &"x".repeat(201)).ends_with("expected at most 200 bytes"));
        let expected = "title is \u{fffd}x, expected no control character";
        assert_eq!(refusal("title", "\0x"), expected);
        assert_eq!(escaped("a b/é"), "a%20b%2F%C3%A9");
    }
}
