//! Pages for people.

use std::fs;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};
use comet_report::report::{Options, policy, report as page_of};

use super::{Failure, Shared, answer, blocking, cache, place};
use crate::Error;
use crate::alert::{Alert, Number};
use crate::card::{self, time_ms, time_text};
use crate::examine;
use crate::id::{BlobId, Id};
use crate::index::{Cursor, Filter, Index, MAX_ROWS, MachineUse, SeriesUse};
use crate::rows::{LabelRow, MachineRow, RunRow};

/// Type of pages.
const HTML: &str = "text/html; charset=utf-8";
/// Runs on a page.
const RUNS: usize = 50;
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
    let value: String = value.chars().take(40).collect();
    let message = format!("{name} is {value}, expected {expected}");
    Failure(StatusCode::BAD_REQUEST, message, None)
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
        let day = || time_ms(value).ok_or_else(|| wrong("a day, as in 2026-01-31"));
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
            "since" => filter.since_ms = Some(day()?),
            "until" => filter.until_ms = Some(day()?),
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
    time_text(*ms)[..16].replace('T', " ")
}

pub(super) fn or_none(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or("–")
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
struct RunsPage {
    runs: Vec<(RunRow, MachineRow)>,
    /// Names of all machines.
    machines: Vec<String>,
    /// Value of each field of the form.
    fields: Fields,
    next: Option<String>,
    alerts: Vec<Alert>,
}

impl RunsPage {
    fn field(&self, name: &str) -> &str {
        field(&self.fields, name)
    }
}

#[derive(Template)]
#[template(path = "machines.html")]
struct MachinesPage {
    machines: Vec<MachineUse>,
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    run: RunRow,
    machine: MachineRow,
    labels: Vec<LabelRow>,
    series: Vec<SeriesUse>,
    /// Number of the other curves.
    n_more: usize,
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    status: StatusCode,
    message: &'a str,
}

pub(super) type Page = Result<Response, Failure>;

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        failure(self.0, &self.1)
    }
}

/// The page about a request that failed.
pub(super) fn failure(status: StatusCode, message: &str) -> Response {
    let page = FailurePage { status, message }.render();
    (status, answer(HTML, page.unwrap_or_default())).into_response()
}

pub(super) fn html(page: &impl Template) -> Page {
    let failed = |error: askama::Error| {
        Failure(StatusCode::INTERNAL_SERVER_ERROR, format!("the page was not made: {error}"), None)
    };
    Ok(answer(HTML, page.render().map_err(failed)?))
}

/// The list of runs.
pub(super) async fn runs(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let Wanted { filter, after, n } = wanted(&fields)?;
    let reader = site.clone();
    let found = blocking(move || {
        reader.read(|index| Ok((index.runs(&filter, after, n)?, index.machine_names()?)))
    });
    let (page, machines) = found.await?;
    let next = page.next.map(|next| {
        let kept = fields.iter().filter(|(name, value)| name != "after" && !value.is_empty());
        let pairs = kept.map(|(name, value)| format!("{name}={}&", escaped(value)));
        format!("/?{}after={next}", pairs.collect::<String>())
    });
    html(&RunsPage { runs: page.runs, machines, fields, next, alerts: site.open_alerts() })
}

/// The address of the trend that `alert` is about.
pub(super) fn trend_of(alert: &Alert) -> String {
    let Number { series, x, procs, kind } = &alert.worst;
    let number = |name: &str, value: &Option<i64>| {
        value.map(|value| format!("&{name}={value}")).unwrap_or_default()
    };
    let text = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!("&{name}={}", escaped(value)),
    };
    format!(
        "/trends?machine={}&series={}{}{}{}{}",
        escaped(&alert.machine),
        series.id,
        number("length", x),
        number("ranks", procs),
        text("mpi", &kind.mpi),
        text("network", &kind.network)
    )
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
    let machines = blocking(move || site.read(|index| index.machines(card::State::Published)));
    html(&MachinesPage { machines: machines.await? })
}

/// A run with its facts and curves.
pub(super) async fn run(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let page = blocking(move || {
        site.read(|index| {
            let (run, machine) = published(index, &id)?;
            let (labels, (series, n_more)) = (index.labels(run.id)?, index.first_series(run.id)?);
            Ok(RunPage { run, machine, labels, series, n_more })
        })
    });
    html(&page.await?)
}

/// The report of a run, as `comet-run report` makes it; it is made once for each version of CoMet.
pub(super) async fn report(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let known = {
        let site = site.clone();
        blocking(move || {
            let (run, _) = site.read(|index| published(index, &id))?;
            let path = cache::path(&site.folder, run.id);
            Ok((fs::read(&path).ok(), run, path))
        })
    };
    let page = match known.await? {
        (Some(page), ..) => page,
        (None, run, path) => {
            // Waiting requests take no thread, and hold no file.
            let turn = place(&site.reports).await?;
            blocking(move || {
                let _turn = turn;
                if let Ok(page) = fs::read(&path) {
                    return Ok(page);
                }
                let place = usize::try_from(run.place).unwrap_or(usize::MAX);
                let runs = examine::runs(&site.blobs.read(run.blob)?)?;
                let one = runs.get(place..=place).unwrap_or_default();
                let page = page_of(one, &Options::default()).into_bytes();
                cache::keep(&path, &page);
                Ok(page)
            })
            .await?
        }
    };
    let mut answer = answer(HTML, page);
    // The page has styles and a script of its own, each admitted by its hash.
    if let Ok(policy) = HeaderValue::from_str(&format!("{}; frame-ancestors 'none'", policy())) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(answer)
}

/// A result file, packed.
pub(super) async fn file(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let bytes = blocking(move || {
        let unknown = || Error::Unknown("there is no such file".into());
        let id: BlobId =
            id.strip_suffix(".jsonl.gz").unwrap_or(&id).parse().map_err(|_| unknown())?;
        if !site.read(|index| index.is_published(id))? {
            return Err(unknown());
        }
        let mut file = site.blobs.packed(id)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).map_err(Error::io(
            "read",
            id.to_string(),
            "restore it from a backup",
        ))?;
        Ok(bytes)
    });
    let headers = [
        (header::CONTENT_TYPE, "application/gzip"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, Body::from(bytes.await?)).into_response())
}

/// The style sheet of all pages.
pub(super) async fn style() -> Response {
    answer("text/css; charset=utf-8", include_str!("../../templates/style.css"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Card;
    use crate::fixture::{Example, file};
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
        let runs = RunsPage {
            runs: vec![(rows.run.clone(), rows.machine.clone())],
            machines: vec![HOSTILE.into()],
            fields,
            next: None,
            alerts: Vec::new(),
        };
        let machines = MachinesPage { machines: vec![one] };
        let page = RunPage {
            run: rows.run,
            machine: rows.machine,
            labels: rows.labels,
            series: vec![curve],
            n_more: 3,
        };
        let failure = FailurePage { status: StatusCode::NOT_FOUND, message: HOSTILE };
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
        let refusal = |name: &str, value: &str| wanted(&fields(&[(name, value)])).err().unwrap().1;
        assert_eq!(refusal("since", "soon"), "since is soon, expected a day, as in 2026-01-31");
        assert_eq!(refusal("state", "pending"), "state is pending, expected a field of this page");
        assert_eq!(refusal("limit", "0"), "limit is 0, expected a number from 1 to 500");
        assert!(refusal("machine", &"x".repeat(201)).ends_with("expected at most 200 bytes"));
        assert_eq!(escaped("a b/é"), "a%20b%2F%C3%A9");
    }
}
