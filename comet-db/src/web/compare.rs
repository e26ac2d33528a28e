//! The comparison: curves of several runs in one figure, and the verdicts of `compare` on them.
//!
//! The address holds all of it: `run` and `series`, each as often as there are some, `x` (`length`,
//! `ranks`), `y` (`time`, `rate`), `scale` (`loglog`, `loglinear`, `linear`), `from` and `to` on the
//! horizontal axis, and `at`, the value of the other parameter. What else it has chooses runs to list.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use comet_report::compare::{Comparison, Options, Section, compare};
use comet_report::report::comparison_parts;
use comet_report::runs::RunRecords;
use serde_json::json;

use super::figure::{self, Form};
use super::links::Links;
use super::pages::{self, Fields, Page, Wanted, field, html, or_none, query, wrong};
use super::{Failure, Shared, Site, Turn, answer as respond, blocking, lock};
use crate::index::{Index, Later};
use crate::overlay::{self, MAX_CURVES, Of, Overlay, Scales, View, words};
use crate::rows::{RunRow, SeriesRow};
use crate::{Error, answer, examine, id::Id};

/// The most runs of a comparison: the files of all but the first are read in turn.
const MAX_RUNS: usize = 10;
/// The most comparisons that are kept.
const MAX_COMPARED: usize = 64;
/// Names of the fields that are not for the list of runs.
const OWN: [&str; 9] = ["run", "series", "x", "y", "scale", "from", "to", "at", "dark"];

/// Choice that an address names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Choice {
    runs: Vec<Id>,
    series: Vec<Id>,
    /// True for ranks on the horizontal axis, false for lengths; `None`: those that there are more of.
    is_over_ranks: Option<bool>,
    view: View,
    is_dark: bool,
}

/// The runs and series of a choice, and their figure.
struct Chosen {
    runs: Vec<Of>,
    /// The series that all runs share.
    shared: Vec<SeriesRow>,
    series: Vec<SeriesRow>,
    /// Ids of series that no chosen run has.
    absent: Vec<Id>,
    /// Lengths and numbers of ranks of the points of the series, in words.
    reach: String,
    overlay: Option<Overlay>,
}

/// The first source against another.
struct Against {
    runs: Vec<Id>,
    title: String,
    comparison: Comparison,
}

/// The choice that `fields` name, and the fields for the list of runs.
fn choice(fields: &Fields) -> Result<(Choice, Fields), Failure> {
    let (own, rest): (Fields, Fields) =
        fields.iter().cloned().partition(|(name, _)| OWN.contains(&&**name));
    let mut choice = Choice::default();
    for (name, value) in own.iter().filter(|(_, value)| !value.is_empty()) {
        let wrong = |expected: &str| wrong(name, value, expected);
        let id = || value.parse::<Id>().map_err(|_| wrong("an id of 16 hex digits"));
        let number = || size(value).ok_or_else(|| wrong("a number, as in 4096 or 4Ki"));
        let add = |ids: &mut Vec<Id>, id: Id| {
            if !ids.contains(&id) {
                ids.push(id);
            }
        };
        match (&**name, &**value) {
            ("run", _) => add(&mut choice.runs, id()?),
            ("series", _) => add(&mut choice.series, id()?),
            ("x", "length") => choice.is_over_ranks = Some(false),
            ("x", "ranks") => choice.is_over_ranks = Some(true),
            ("x", _) => return Err(wrong("length or ranks")),
            ("y", "time") => choice.view.is_rate = false,
            ("y", "rate") => choice.view.is_rate = true,
            ("y", _) => return Err(wrong("time or rate")),
            ("scale", "loglog") => choice.view.scales = Scales::LogLog,
            ("scale", "loglinear") => choice.view.scales = Scales::LogLinear,
            ("scale", "linear") => choice.view.scales = Scales::Linear,
            ("scale", _) => return Err(wrong("loglog, loglinear or linear")),
            ("from", _) => choice.view.from = Some(number()?),
            ("to", _) => choice.view.to = Some(number()?),
            ("at", _) => choice.view.at = Some(number()?),
            _ => choice.is_dark = value == "1",
        }
    }
    for (name, n, most) in
        [("run", choice.runs.len(), MAX_RUNS), ("series", choice.series.len(), MAX_CURVES)]
    {
        if n > most {
            return Err(wrong(name, &format!("there {n} times"), &format!("at most {most}")));
        }
    }
    Ok((choice, rest))
}

/// A length or a number of ranks, with the letters of powers of two (`4Ki`).
fn size(text: &str) -> Option<i64> {
    let units = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
    let unit = units.iter().find_map(|(end, unit)| Some((text.strip_suffix(end)?, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<i64>().ok().filter(|_| is_plain)?.checked_mul(unit)
}

impl Choice {
    /// The fields that decide about its comparisons.
    fn key(&self) -> String {
        let Self { runs, series, is_over_ranks, view, is_dark: _ } = self;
        format!("{runs:?} {series:?} {view:?} {is_over_ranks:?}")
    }

    /// The runs that it names in `index`; those that are not published are unknown.
    fn find(&self, index: &mut Index) -> Result<Chosen, Error> {
        let found = self.runs.iter().map(|id| pages::published(index, &id.to_string()));
        let runs: Vec<Of> = found.collect::<Result<_, _>>()?;
        let all = overlay::distinct(&index.series(&self.runs)?);
        let shared = all.iter().filter(|(_, n_runs)| *n_runs == runs.len());
        let shared: Vec<SeriesRow> = shared.map(|(series, _)| series.clone()).collect();
        let is_chosen = |of: &&(SeriesRow, usize)| self.series.contains(&of.0.id);
        let series = all.iter().filter(is_chosen).map(|(series, _)| series.clone());
        let series: Vec<SeriesRow> = series.collect();
        let is_absent = |id: &&Id| !all.iter().any(|(series, _)| series.id == **id);
        let absent = self.series.iter().filter(is_absent).copied().collect();
        let (mut overlay, mut reach) = (None, String::new());
        if !series.is_empty() {
            let ids: Vec<Id> = series.iter().map(|series| series.id).collect();
            let points = index.points(&self.runs, &ids)?;
            let values = |of: fn(&crate::rows::PointRow) -> Option<i64>| {
                points.iter().filter_map(of).collect::<BTreeSet<_>>()
            };
            let (lengths, ranks) = (values(|point| point.x), values(|point| point.procs));
            reach = pages::reach(&lengths, &ranks);
            let has_more_ranks = lengths.len() < 2 && ranks.len() > lengths.len();
            let is_over_ranks = self.is_over_ranks.unwrap_or(has_more_ranks);
            let view = View { is_over_ranks, ..self.view };
            overlay = Some(overlay::overlay(&runs, &series, points, &view));
        }
        Ok(Chosen { runs, shared, series, absent, reach, overlay })
    }
}

impl Against {
    fn sections(&self) -> Vec<Section> {
        comparison_parts(&self.comparison)
    }
}

impl Chosen {
    /// The series that no chosen run has, in words.
    fn absence(&self) -> Option<String> {
        let ids: Vec<String> = self.absent.iter().map(ToString::to_string).collect();
        let words = format!("no chosen run has the series {} (choose others)", ids.join(", "));
        (!ids.is_empty()).then_some(words)
    }

    /// The first source against each other, by the points that the figure shows.
    fn compare(&self, site: &Site) -> Result<Vec<Against>, Error> {
        let Some(overlay) = self.overlay.as_ref().filter(|overlay| !overlay.points.is_empty())
        else {
            return Ok(Vec::new());
        };
        let (sources, names) = (overlay::sources(&self.runs), overlay::source_names(&self.runs));
        let ids = |source: usize| {
            let of = self.runs.iter().zip(&sources).filter(move |(_, number)| **number == source);
            of.map(|((run, _), _)| run)
        };
        let records = |source: usize| {
            ids(source).map(|run| self.records(site, run, overlay)).collect::<Result<Vec<_>, _>>()
        };
        if names.len() < 2 {
            return Ok(Vec::new());
        }
        let base = records(0)?;
        let against = |number: usize| {
            let comparison = compare(&base, &records(number)?, &Options::default());
            let title = format!("{} against {}", names[number], names[0]);
            let runs = ids(number).map(|run| run.id).collect();
            Ok(Against { runs, title, comparison })
        };
        (1..names.len()).map(against).collect()
    }

    /// The records of `run` that are in `overlay`, with those that failed of the same kernels, and the
    /// models of these.
    fn records(&self, site: &Site, run: &RunRow, overlay: &Overlay) -> Result<RunRecords, Error> {
        let place = usize::try_from(run.place).unwrap_or(usize::MAX);
        let kernels: Vec<&str> = self.series.iter().map(|of| &*of.kernel).collect();
        let runs = examine::excerpt(&site.blobs.read(run.blob)?, &kernels)?;
        let unknown = || Error::Unknown("there is no such run".into());
        let mut records = runs.into_iter().nth(place).ok_or_else(unknown)?;
        let keys: BTreeSet<&str> = overlay.points.iter().map(|point| &*point.key).collect();
        let has = |suite: &str, kernel: &str, variant: Option<&str>| {
            let is_it = |of: &SeriesRow| {
                (&*of.suite, &*of.kernel) == (suite, kernel)
                    && (variant.is_none() || of.variant.as_deref() == variant)
            };
            self.series.iter().any(is_it)
        };
        records.points.retain(|point| {
            keys.contains(&*point.key)
                || point.numbers().is_none() && has(&point.suite, &point.kernel, None)
        });
        records.launches.retain(|point| keys.contains(&*point.key));
        records.models.retain(|of| has(&of.suite, &of.kernel, of.variant.as_deref()));
        Ok(records)
    }
}

/// The latest comparisons by what they compare: runs that are published never change.
#[derive(Default)]
pub(super) struct Compared(VecDeque<(String, Arc<Vec<Against>>)>);

impl Compared {
    fn get(&self, key: &str) -> Option<Arc<Vec<Against>>> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, against)| against.clone())
    }

    fn keep(&mut self, key: String, against: Arc<Vec<Against>>) {
        self.0.truncate(MAX_COMPARED - 1);
        self.0.push_front((key, against));
    }
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    links: Links,
    fields: Fields,
    /// Runs that others supersede.
    superseded: BTreeMap<Id, Later>,
    machines: Vec<String>,
    /// Runs to choose from, the chosen ones first.
    runs: Vec<Of>,
    choice: Choice,
    chosen: Chosen,
    against: Arc<Vec<Against>>,
    /// The fields of the choice, as the end of an address.
    query: String,
    /// Address of the page with the runs before those to choose from.
    next: Option<String>,
}

impl ComparePage {
    fn field(&self, name: &str) -> &str {
        field(&self.fields, name)
    }

    /// The part of the curves that the address names, in words.
    fn part(&self) -> String {
        let has_value = |name: &&str| !self.field(name).is_empty();
        let fields = ["from", "to", "at"].into_iter().filter(has_value);
        fields.map(|name| format!(" {name} {}", self.field(name))).collect()
    }

    /// The kernels of the chosen series, each once, with the addresses of their meanings.
    fn kernels(&self) -> BTreeMap<String, Option<String>> {
        let name = |of: &SeriesRow| format!("{}/{}", of.suite, of.kernel);
        let meaning = |of: &SeriesRow| self.links.kernel(&of.suite, &of.kernel);
        self.chosen.series.iter().map(|of| (name(of), meaning(of))).collect()
    }
}

/// A turn for the files of a choice, if it compares any that were not compared lately: waiting requests take
/// no thread, and hold none.
async fn turn(site: &Site, choice: &Choice) -> Result<Option<Turn>, Failure> {
    let is_known = lock(&site.compared).get(&choice.key()).is_some();
    if is_known || choice.runs.len() < 2 || choice.series.is_empty() {
        return Ok(None);
    }
    site.reports.turn().await.map(Some)
}

/// The comparisons of `chosen`, which `choice` names, from those that are kept if they are there.
fn compared(site: &Site, choice: &Choice, chosen: &Chosen) -> Result<Arc<Vec<Against>>, Error> {
    let known = lock(&site.compared).get(&choice.key());
    known.map_or_else(
        || {
            let against = Arc::new(chosen.compare(site)?);
            lock(&site.compared).keep(choice.key(), against.clone());
            Ok(against)
        },
        Ok,
    )
}

/// The page.
pub(super) async fn page(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let (choice, rest) = choice(&fields)?;
    let Wanted { filter, after, n } = pages::wanted(&rest)?;
    let turn = turn(&site, &choice).await?;
    let page = blocking(move || {
        let _turn = turn;
        let (chosen, listed, machines) = site.read(|index| {
            let listed = index.runs(&filter, after, n)?;
            Ok((choice.find(index)?, listed, index.machine_names()?))
        })?;
        let other = |(run, _): &Of| !choice.runs.contains(&run.id);
        let runs = chosen.runs.iter().cloned().chain(listed.runs.into_iter().filter(other));
        let runs: Vec<Of> = runs.collect();
        let superseded = site.read(|index| index.superseded(&pages::ids(&runs)))?;
        let against = compared(&site, &choice, &chosen)?;
        let (links, query) = (site.links(), query(&fields, &OWN));
        let next = listed.next.map(|next| pages::earlier("/compare", &fields, next));
        let page = ComparePage {
            links,
            fields,
            superseded,
            machines,
            runs,
            choice,
            chosen,
            against,
            query,
            next,
        };
        Ok(page)
    });
    html(&page.await?)
}

/// The figure alone.
pub(super) async fn figure(
    State(site): State<Shared>,
    Query(fields): Query<Fields>,
    form: Form,
) -> Page {
    let (choice, _) = choice(&fields)?;
    let answer = blocking(move || {
        let chosen = site.read(|index| choice.find(index))?;
        let nothing = || {
            let words = chosen.absence();
            Error::Unknown(
                words.unwrap_or_else(|| "the address names no series (choose some)".into()),
            )
        };
        let overlay = chosen.overlay.as_ref().ok_or_else(nothing)?;
        figure::figure(&overlay.figure, form, choice.is_dark)
    });
    answer.await
}

/// Runs, series, points and comparisons as JSON.
pub(super) async fn data(State(site): State<Shared>, Query(fields): Query<Fields>) -> Page {
    let (choice, _) = choice(&fields)?;
    let turn = turn(&site, &choice).await?;
    let value = blocking(move || {
        let _turn = turn;
        let (chosen, runs) = site.read(|index| {
            let chosen = choice.find(index)?;
            let runs = pages::answers(index, &chosen.runs)?;
            Ok((chosen, runs))
        })?;
        if let (None, Some(words)) = (&chosen.overlay, chosen.absence()) {
            return Err(Error::Unknown(words));
        }
        let points = chosen.overlay.iter().flat_map(|of| &of.points).map(answer::point);
        let against = compared(&site, &choice, &chosen)?;
        let against = against.iter().map(|of| {
            let runs: Vec<String> = of.runs.iter().map(ToString::to_string).collect();
            json!({ "runs": runs, "comparison": of.comparison })
        });
        Ok(json!({
            "runs": runs,
            "series": chosen.series.iter().map(answer::curve).collect::<Vec<_>>(),
            "absent_series": chosen.absent.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "points": points.collect::<Vec<_>>(),
            "comparisons": against.collect::<Vec<_>>(),
        }))
    });
    Ok(respond("application/json", format!("{}\n", value.await?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(fields: &[(&str, &str)]) -> String {
        choice(&own(fields)).err().unwrap().message
    }

    fn own(fields: &[(&str, &str)]) -> Fields {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_address_names_a_choice_and_wrong_ones_are_refused() {
        let id = "0123456789abcdef";
        let fields = own(&[
            ("machine", "hawk"),
            ("run", id),
            ("run", id),
            ("series", id),
            ("x", "ranks"),
            ("y", "rate"),
            ("scale", "linear"),
            ("from", "2"),
            ("to", ""),
            ("at", "4Ki"),
        ]);
        let (found, rest) = choice(&fields).ok().unwrap();
        let id: Id = id.parse().unwrap();
        let (scales, from, at) = (Scales::Linear, Some(2), Some(4096));
        let view = View { is_rate: true, scales, from, at, ..View::default() };
        let is_over_ranks = Some(true);
        let (runs, series) = (vec![id], vec![id]);
        assert_eq!(found, Choice { runs, series, is_over_ranks, view, is_dark: false });
        assert_eq!(rest, own(&[("machine", "hawk")]));
        let end =
            format!("run={id}&run={id}&series={id}&x=ranks&y=rate&scale=linear&from=2&at=4Ki");
        assert_eq!(query(&fields, &OWN), end);
        assert_eq!(refusal(&[("run", "x")]), "run is x, expected an id of 16 hex digits");
        assert_eq!(refusal(&[("y", "mood")]), "y is mood, expected time or rate");
        assert_eq!(refusal(&[("from", "-1")]), "from is -1, expected a number, as in 4096 or 4Ki");
        let ids: Vec<String> = (0..11).map(|n| format!("{n:016x}")).collect();
        let many: Vec<(&str, &str)> = ids.iter().map(|id| ("run", &**id)).collect();
        assert_eq!(refusal(&many), "run is there 11 times, expected at most 10");
    }

    #[test]
    fn the_latest_comparisons_are_kept() {
        let mut compared = Compared::default();
        for number in 0..=MAX_COMPARED {
            let title = number.to_string();
            let comparison = compare(&[], &[], &Options::default());
            let against = Against { runs: Vec::new(), title, comparison };
            compared.keep(number.to_string(), Arc::new(vec![against]));
        }
        assert_eq!(compared.0.len(), MAX_COMPARED);
        assert!(compared.get("0").is_none(), "the earliest is gone");
        assert_eq!(compared.get("7").unwrap()[0].title, "7");
    }

    #[test]
    fn sizes_have_letters_of_powers_of_two() {
        assert_eq!(["0", "64Ki", "1Gi"].map(size), [0, 65_536, 1 << 30].map(Some));
        assert_eq!(["", "Ki", "+1", "-1", "1.5", "9223372036854775807Ki"].map(size), [None; 6]);
    }
}
