//! Trends: one number of one machine over time.
//!
//! The address holds `machine`, `series`, `length`, `ranks`, and `kind` for one of the histories of the number,
//! otherwise that of the latest run; what else it has chooses runs.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::{Query, State};
use comet_report::plot::Quantity;
use comet_stats::steps::Step;
use serde_json::json;

use super::figure::{self, Form};
use super::links::Links;
use super::pages::{self, Fields, Page, field, html, minute, query, wrong};
use super::{Failure, Shared, answer as respond, blocking};
use crate::alert::{Alert, Kind, Number};
use crate::index::{Filter, Index, MAX_VALUES};
use crate::overlay::words;
use crate::rows::SeriesRow;
use crate::trend::{self, Trend};
use crate::{Error, answer, card, id::Id};

/// Names of the fields of the choice.
const OWN: [&str; 10] =
    ["machine", "series", "length", "ranks", "kind", "mpi", "network", "label", "since", "until"];

/// Choice that an address names.
#[derive(Default)]
pub(super) struct Choice {
    filter: Filter,
    series: Option<Id>,
    length: Option<i64>,
    ranks: Option<i64>,
    /// Id of the MPI library, network and setting of the runs.
    kind: Option<Id>,
    is_dark: bool,
}

/// Values to choose from, and the trend of the choice.
#[derive(Default)]
pub(super) struct Chosen {
    series: Vec<SeriesRow>,
    lengths: BTreeSet<i64>,
    ranks: BTreeSet<i64>,
    /// Kinds of the values, each of which has a history of its own.
    kinds: BTreeSet<Kind>,
    /// The length and the number of ranks of the trend.
    at: [Option<i64>; 2],
    /// The kind of the trend.
    kind: Option<Kind>,
    title: String,
    /// True if there may be earlier values, which were not read.
    is_cut: bool,
    trend: Option<Trend>,
    /// The reason why there is no trend.
    lack: String,
}

/// The choice that `fields` name.
fn choice(fields: &Fields) -> Result<Choice, Failure> {
    let is_own = |name: &str| ["series", "length", "ranks", "kind", "dark"].contains(&name);
    let rest: Fields = fields.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
    let number = |name| match field(fields, name) {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| wrong(name, text, "a whole number")),
    };
    let id = |name| match field(fields, name) {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| wrong(name, text, "an id of 16 hex digits")),
    };
    Ok(Choice {
        filter: pages::wanted(&rest)?.filter,
        series: id("series")?,
        length: number("length")?,
        ranks: number("ranks")?,
        kind: id("kind")?,
        is_dark: field(fields, "dark") == "1",
    })
}

impl Choice {
    /// The trend that it names in `index`, and the values to choose from.
    fn find(&self, index: &mut Index) -> Result<Chosen, Error> {
        let lack = "the address names no number (choose a machine, a series and a length)".into();
        let mut chosen = Chosen { lack, ..Chosen::default() };
        let Some(machine) = &self.filter.machine else { return Ok(chosen) };
        chosen.series = index.curves(&self.filter)?;
        let Some(id) = self.series else { return Ok(chosen) };
        // Steps and levels are those of the whole history, of which a part is shown.
        let whole = Filter { since_ms: None, until_ms: None, ..self.filter.clone() };
        let places = index.places(id, &whole)?;
        let is_wanted = |wanted: Option<i64>, found| wanted.is_none() || wanted == found;
        let is_it =
            |[x, procs]: &&[_; 2]| is_wanted(self.length, *x) && is_wanted(self.ranks, *procs);
        let (false, Some(series)) = (places.is_empty(), index.curve(id)?) else {
            chosen.lack = format!("no such run of {machine} has the series {id} (choose another)");
            return Ok(chosen);
        };
        chosen.lengths = places.iter().filter_map(|[x, _]| *x).collect();
        chosen.ranks = places.iter().filter_map(|[_, procs]| *procs).collect();
        if !chosen.series.contains(&series) {
            // Runs of these days have no point of it.
            chosen.series.push(series.clone());
        }
        let Some(at) = places.iter().find(is_it) else {
            let reach = pages::reach(&chosen.lengths, &chosen.ranks);
            let [length, ranks] = [("length", self.length), ("ranks", self.ranks)].map(of_field);
            chosen.lack = format!("this series has no point at{length}{ranks} (it has {reach})");
            return Ok(chosen);
        };
        chosen.at = *at;
        let mut history = index.history(id, chosen.at, &whole)?;
        chosen.is_cut = history.len() == MAX_VALUES;
        let kinds: Vec<Kind> =
            history.iter().map(|(run, point)| Kind::of(run, &point.setting)).collect();
        let is_it = |kind: &&Kind| self.kind.is_none_or(|id| kind.id() == id);
        chosen.kind = kinds.iter().rfind(is_it).cloned();
        let mut of_values = kinds.iter();
        history.retain(|_| of_values.next() == chosen.kind.as_ref());
        chosen.kinds = kinds.into_iter().collect();
        chosen.title = chosen.title_of(&series, machine);
        let marks = index.marks()?.into_iter().filter(|mark| mark.is_of(machine));
        let days = [self.filter.since_ms, self.filter.until_ms];
        let trend = Trend::of(history, marks.collect(), days);
        if trend.shown_looks().is_empty() {
            chosen.lack = self.lack_of(&trend);
        } else {
            chosen.trend = Some(trend);
        }
        Ok(chosen)
    }

    /// The reason why no run of `trend` is shown.
    fn lack_of(&self, trend: &Trend) -> String {
        let [Some(first), Some(last)] = [trend.looks.first(), trend.looks.last()] else {
            let kind = of_field(("kind", self.kind));
            if trend.n_undated > 0 {
                let n = trend.n_undated;
                return format!(
                    "no run of this number{kind} has a start: {n} without one left out (import --date tells it)"
                );
            }
            return format!("no run has a time of this number{kind} (choose another)");
        };
        let day = |ms: i64| card::time_text(ms)[..10].to_owned();
        let since = of_field(("since", self.filter.since_ms.map(day)));
        let until = of_field(("until", self.filter.until_ms.map(|ms| day(ms - 1))));
        let [first, last] = [first, last].map(trend::day);
        let n = trend.looks.len();
        format!("no run of this number started{since}{until} (it has {n}, from {first} to {last})")
    }
}

impl Chosen {
    /// Title of the trend of a number on the curve `series`; with its kind, if there are others.
    fn title_of(&self, series: &SeriesRow, machine: &str) -> String {
        let setting = self.kind.as_ref().map_or("", |kind| &kind.setting);
        let [setting, kind] = match &self.kind {
            Some(kind) if self.kinds.len() > 1 => ["", &format!(", {}", kind.name())],
            _ => [setting, ""],
        };
        format!("{}{kind}, on {machine}", trend::title(series, self.at, setting))
    }
}

/// The field with this name and value in words; nothing without a value.
fn of_field<T: std::fmt::Display>((name, value): (&str, Option<T>)) -> String {
    value.map(|value| format!(" {name} {value}")).unwrap_or_default()
}

#[derive(Template)]
#[template(path = "trends.html")]
pub(super) struct TrendsPage {
    links: Links,
    fields: Fields,
    machines: Vec<String>,
    choice: Choice,
    chosen: Chosen,
    query: String,
    alerts: Vec<Alert>,
}

impl TrendsPage {
    /// The page of a site about `alerts`.
    pub(super) fn of_alerts(alerts: Vec<Alert>, links: Links) -> Self {
        let (choice, chosen) = (Choice::default(), Chosen::default());
        let (fields, machines, query) = (Fields::new(), Vec::new(), String::new());
        Self { links, fields, machines, choice, chosen, query, alerts }
    }

    /// The page of a site about the number that `alert` is about.
    pub(super) fn of_alert(index: &mut Index, alert: &Alert, links: Links) -> Result<Self, Error> {
        let Number { series, x, procs, kind } = &alert.worst;
        let (machine, state) = (Some(alert.machine.clone()), Some(card::State::Published));
        let filter = Filter { machine, state, ..Filter::default() };
        let (series, kind) = (Some(series.id), Some(kind.id()));
        let choice = Choice { filter, series, length: *x, ranks: *procs, kind, is_dark: false };
        let chosen = choice.find(index)?;
        Ok(Self { choice, chosen, ..Self::of_alerts(Vec::new(), links) })
    }

    /// The kernel of the trend, and the address of its meaning.
    fn kernel(&self) -> Option<(String, String)> {
        let of = self.chosen.series.iter().find(|of| Some(of.id) == self.choice.series)?;
        let at = self.links.kernel(&of.suite, &of.kernel)?;
        Some((format!("{}/{}", of.suite, of.kernel), at))
    }

    /// The figure of `trend`.
    fn drawn(&self, trend: &Trend) -> figure::Inline {
        figure::inline(&trend.figure(&self.chosen.title))
    }

    /// The comparison of the runs before and after `step`.
    fn before_and_after(&self, trend: &Trend, step: &Step) -> String {
        let [before, after] = [step.at - 1, step.at].map(|at| trend.looks[at].run.id);
        let series = self.choice.series.map(|id| format!("&series={id}")).unwrap_or_default();
        self.links.compare(&format!("run={before}&run={after}{series}"))
    }

    fn field(&self, name: &str) -> &str {
        field(&self.fields, name)
    }

    fn is_series(&self, id: &Id) -> bool {
        self.choice.series == Some(*id)
    }

    /// The change that starts with the run number `index`, in words.
    fn change(&self, index: &usize) -> String {
        let step = self.chosen.trend.as_ref().and_then(|trend| trend.step_at(*index));
        step.map(trend::words).unwrap_or_default()
    }

    fn is_kind(&self, kind: &Kind) -> bool {
        self.chosen.kind.as_ref() == Some(kind)
    }

    fn is_at(&self, place: usize, value: &i64) -> bool {
        self.chosen.at[place] == Some(*value)
    }

    fn time(ns: &f64) -> String {
        Quantity::TimeNs.write(*ns)
    }
}

/// The page.
pub(super) async fn page(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let choice = choice(&fields)?;
    let page = blocking(move || {
        site.read(|index| {
            let chosen = choice.find(index)?;
            let machines = index.machine_names()?;
            let query = query(&fields, &OWN);
            let alerts = site.open_alerts();
            let links = site.links();
            Ok(TrendsPage { links, fields, machines, choice, chosen, query, alerts })
        })
    });
    html(&page.await?)
}

/// The figure alone.
pub(super) async fn figure(
    State(site): State<Shared>,
    Query(fields): Query<Fields>,
    form: Form,
) -> Page {
    let choice = choice(&fields)?;
    let answer = blocking(move || {
        let chosen = site.read(|index| choice.find(index))?;
        let trend = chosen.trend.ok_or(Error::Unknown(chosen.lack))?;
        figure::figure(&trend.figure(&chosen.title), form, choice.is_dark)
    });
    answer.await
}

/// Numbers and steps as JSON.
pub(super) async fn data(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let choice = choice(&fields)?;
    let value = blocking(move || {
        let chosen = site.read(|index| choice.find(index))?;
        let trend = chosen.trend.ok_or(Error::Unknown(chosen.lack))?;
        let series = chosen.series.iter().find(|of| Some(of.id) == choice.series);
        let look = |look: &trend::Look| {
            json!({
                "run": look.run.id.to_string(),
                "started_at": card::time_text(look.run.started_ms),
                "median_ns": look.ns,
                "interval_ns": look.interval_ns.map(|(low, high)| [low, high]),
                "launches": look.n_launches,
            })
        };
        let kind = |kind: &Kind| {
            json!({
                "id": kind.id().to_string(),
                "mpi": kind.mpi,
                "network": kind.network,
                "setting": kind.setting,
            })
        };
        let step = |step: &Step| {
            json!({
                "run": trend.looks[step.at].run.id.to_string(),
                "before_ns": step.before.exp(),
                "after_ns": step.after.exp(),
                "ratio": (step.after - step.before).exp(),
            })
        };
        Ok(json!({
            "series": series.map(answer::curve),
            "x": chosen.at[0],
            "procs": chosen.at[1],
            "kind": chosen.kind.as_ref().map(kind),
            "runs": trend.shown_looks().iter().map(look).collect::<Vec<_>>(),
            "changes": trend.shown_steps().into_iter().map(step).collect::<Vec<_>>(),
        }))
    });
    Ok(respond("application/json", format!("{}\n", value.await?)))
}
