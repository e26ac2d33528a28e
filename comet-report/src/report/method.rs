//! Method of the numbers of the page: the facts of the runs, in tables. `METHODOLOGY.md` has the
//! rest.

use std::collections::BTreeSet;

use comet_core::definition::Definition;
use serde_json::Value;

use super::html::{Html, or_none, range, row, table, tag};
use super::{Content, Section};
use crate::order::{distinct, grouped};
use crate::record::{CheckStatus, Clock, Launches, Plan, Point, Quality, Quote, Run};
use crate::units::time;
use crate::words::count;

/// A fact: its name, and its text from the page's measured points.
type Fact = (&'static str, fn(&Content<'_>, &[&Point]) -> String);

/// Facts of the page in the order of their table, each empty where nothing is known.
const FACTS: [Fact; 10] = [
    ("Verification", verification),
    ("Warm-up", warm_up),
    ("Samples", samples),
    ("Order of cases", |content, _| text(content, "order")),
    ("Start of the ranks", starts),
    ("Stop rule", stop_rule),
    ("Clock", clock),
    ("Outliers", |_, points| named(points, |plan| vec![&plan.outliers])),
    ("Corrections", |_, points| {
        named(points, |plan| plan.correct.iter().map(String::as_str).collect())
    }),
    ("95 % intervals", intervals),
];

/// Readings of the page, with the sections that define its numbers.
const READING: &str = "METHODOLOGY.md, which comes with CoMet, defines every number: definitions \
     D1 to D9 under Points and definitions, bandwidths under Rates, intervals and flags under \
     Statistics, t₀, r∞, n½ and verdicts under Models, errors under Known biases, and the twelve \
     rules of Hoefler and Belli (2015) under Figures. The schema of the record explains its fields \
     (comet-run schema).";

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    if content.runs.is_empty() {
        return Vec::new();
    }
    let points = content.points().map(|(_, point)| point);
    let measured: Vec<&Point> = points.filter(|point| point.numbers().is_some()).collect();
    let facts = FACTS.iter().map(|(name, of)| (*name, of(content, &measured)));
    let known = facts.filter(|(_, text)| !text.is_empty());
    let rows = known.map(|(name, text)| tag("tr", tag("th", name).with(tag("td", text))));
    let body = definitions(&measured).with(table("facts", [], rows));
    let body = body.with(figures(content)).with(tag("p", READING));
    vec![Section { id: "method", title: "Method", body, ..Section::default() }]
}

/// Figures of samples hold some of them.
const SAMPLES: &str = "Figures of samples show some of them: the record has all, and comet-run plot \
     shows more.";

/// Notes that figures have in common, once; definitions have their table.
fn figures(content: &Content<'_>) -> Html {
    let notes = distinct(content.figures.iter().flat_map(|figure| &figure.notes));
    let is_definition = |note: &str| Definition::all().any(|one| note.starts_with(one.name()));
    let notes = notes.into_iter().filter(|note| !is_definition(note)).map(String::as_str);
    let notes: Html = notes.chain([SAMPLES]).map(|note| tag("li", note)).collect();
    if content.figures.is_empty() {
        return Html::new();
    }
    tag("h3", "Reading of the figures").with(tag("ul", notes))
}

fn definitions(points: &[&Point]) -> Html {
    fn named(point: &Point) -> Option<&str> {
        Some(&point.value()?.definition)
    }
    let names: BTreeSet<&str> = points.iter().filter_map(|point| named(point)).collect();
    let of_name = |name: &str| {
        let of_it = || points.iter().filter(|point| named(point) == Some(name));
        let kernels = of_it().map(|point| point.id());
        let quotes = of_it().filter_map(|point| Some(quote(point.value()?.quote).into()));
        let known = Definition::all().find(|known| known.name() == name);
        let meaning = known.map(|known| format!("{}, for one operation", known.summary()));
        row("td", [name.to_owned(), or_none(meaning), list(quotes), list(kernels)])
    };
    if names.is_empty() {
        return Html::new();
    }
    let heads = ["Definition", "The value of a sample", "Quoted", "Kernels"];
    table("", heads, names.into_iter().map(of_name))
}

/// Different `items`, in ascending order, with commas between them.
fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

fn quote(quote: Quote) -> &'static str {
    match quote {
        Quote::Median => "the median of slice medians",
        Quote::Min => "the least value",
        Quote::LeastOf20 => "the least of 20 samples, the median over the slices",
        Quote::SliceMean => "the mean of a slice, the median over the slices",
        Quote::Mean => "the mean",
        Quote::MiddleMean => "the mean of the middle half",
        Quote::Corrected => "the mean less an empty loop",
    }
}

fn verification(content: &Content<'_>, _: &[&Point]) -> String {
    let of = |status| content.points().filter(|(_, point)| point.check.status == status).count();
    match [CheckStatus::Pass, CheckStatus::Fail].map(of) {
        [0, 0] => String::new(),
        [passed, failed] => {
            format!("the data of {} was right, of {failed} wrong", count(passed, "point"))
        }
    }
}

fn warm_up(_: &Content<'_>, points: &[&Point]) -> String {
    let operations = range(points.iter().filter_map(|point| Some(point.measured()?.reps.warmup)));
    let n_warming = qualities(points).filter(|quality| !quality.is_steady).count();
    let warming = count(n_warming, "point");
    operations.map_or(String::new(), |operations| {
        format!("{operations} operations; no steady state before the first slice: {warming}")
    })
}

fn samples(_: &Content<'_>, points: &[&Point]) -> String {
    let reps = || points.iter().filter_map(|point| Some(&point.measured()?.reps));
    let samples = range(reps().map(|reps| reps.n));
    let inner = range(reps().map(|reps| reps.inner));
    let slices = range(reps().map(|reps| reps.rounds));
    let all = samples.zip(inner).zip(slices);
    all.map_or(String::new(), |((samples, inner), slices)| {
        format!("{samples} for each point, each over {inner} operations, in {slices} slices")
    })
}

fn starts(_: &Content<'_>, points: &[&Point]) -> String {
    let ways = grouped(plans(points).map(|plan| (plan.sync.words(), ()))).into_iter();
    let mut ways: Vec<(&str, usize)> = ways.map(|(way, all)| (way, all.len())).collect();
    let n_skewed = plans(points).filter(|plan| plan.skew_ns.is_some()).count();
    ways.extend((n_skewed > 0).then_some(("ranks start late on purpose", n_skewed)));
    let of_way = |(way, n): &(&str, usize)| format!("{way} ({})", count(*n, "point"));
    let mut facts: Vec<String> = ways.iter().map(of_way).collect();
    let n_invalid: usize = qualities(points).map(|quality| quality.invalid.len()).sum();
    let invalid = count(n_invalid, "sample");
    facts.extend((n_invalid > 0).then(|| format!("{invalid} late in a window, without a value")));
    facts.join("; ")
}

fn stop_rule(content: &Content<'_>, points: &[&Point]) -> String {
    let number = |name| config(content, name).and_then(|value| value.as_f64());
    let rules = text(content, "rules");
    let slices = config(content, "slices").unwrap_or_default();
    let [least, most] = [0, 1].map(|index| slices.get(index).and_then(Value::as_u64));
    let launches = config(content, "launches").and_then(|n| n.as_u64()).filter(|n| *n > 1);
    let is_target_of_launches = qualities(points).any(|quality| quality.converged.is_some());
    let target = number("target").map(|target| target * 100.0).zip(least);
    let facts = [
        (!["", "comet"].contains(&&*rules)).then(|| format!("rules of {rules}")),
        target.filter(|_| launches.is_none()).map(|(percent, least)| {
            format!("half of the 95 % interval within {percent} % after {least} slices at least")
        }),
        launches.map(|n| format!("{n} launches with a part of the slices each")),
        target.filter(|_| launches.is_some() && is_target_of_launches).map(|(percent, _)| {
            format!("more until half of the 95 % interval is within {percent} %")
        }),
        most.filter(|_| launches.is_none()).map(|most| format!("at most {most} slices")),
        number("case_budget_ns").map(|ns| format!("at most {} for a case", time(ns))),
        number("gap_ns").filter(|ns| *ns > 0.0).map(|ns| format!("slices {} apart", time(ns))),
    ];
    let mut facts: Vec<String> = facts.into_iter().flatten().collect();
    let n_missed = points.iter().filter(|point| crate::format::misses_target(point)).count();
    let missed = count(n_missed, "point");
    facts.extend((!facts.is_empty()).then(|| format!("target missed: {missed}")));
    facts.join("; ")
}

fn clock(content: &Content<'_>, _: &[&Point]) -> String {
    distinct(content.starts().map(|run| of_clock(run, &run.clock))).join("; ")
}

fn of_clock(run: &Run, clock: &Clock) -> String {
    if clock.is_virtual {
        return "that of a simulated machine: nothing was measured on this one".into();
    }
    let step = clock.resolution_ns.map_or("unknown".into(), |step| format!("{step} ns"));
    let cost = clock.overhead_ns.map_or("an unknown time".into(), time);
    let ranks = match (run.world.size, clock.bound_ns) {
        (1, _) => "one rank".to_owned(),
        (_, None) => "clocks of different ranks cannot be compared".to_owned(),
        (_, Some(0)) => "one clock for all ranks".to_owned(),
        (_, Some(bound)) => format!("clocks of all ranks known to {bound} ns"),
    };
    format!(
        "{}: a reading costs {cost}, step {step}, {ranks}",
        clock.source.as_deref().unwrap_or("unknown")
    )
}

/// Names in a field of the plans of `points`; `none` without any.
fn named(points: &[&Point], field: fn(&Plan) -> Vec<&str>) -> String {
    let names = plans(points).flat_map(field).filter(|name| *name != "none");
    let names = list(names.map(Into::into));
    if names.is_empty() && !points.is_empty() { "none".into() } else { names }
}

fn intervals<'a>(_: &Content<'_>, points: &[&'a Point]) -> String {
    let of = |point: &&'a Point| {
        let method = point.quality()?.interval_ns.as_ref()?.method.replace('_', " ");
        Some((point.launches.as_ref(), method))
    };
    let all: Vec<(Option<&Launches>, String)> = points.iter().filter_map(of).collect();
    let of_one = all.iter().filter(|(launches, _)| launches.is_none());
    let of_several = all.iter().filter_map(|(launches, method)| Some(((*launches)?, method)));
    let mut facts = Vec::new();
    if !points.is_empty() {
        facts.push(format!("{} of {}", all.len(), count(points.len(), "point")));
    }
    facts.extend(from_launch_to_launch(&of_several.collect::<Vec<_>>()));
    let methods = list(of_one.map(|(_, method)| method.clone()));
    facts.extend(
        (!methods.is_empty())
            .then(|| format!("within this launch, and no other, from slice medians ({methods})")),
    );
    facts.join("; ")
}

/// Intervals of several launches, with their number and period.
fn from_launch_to_launch(all: &[(&Launches, &String)]) -> Option<String> {
    let words = Launches::words(all.iter().map(|(launches, _)| *launches))?;
    let methods = list(all.iter().map(|(_, method)| (*method).clone()));
    Some(format!("from one launch to the next, {words} ({methods})"))
}

/// The setting `name` of the first run, where it is the same for all.
fn config(content: &Content<'_>, name: &str) -> Option<Value> {
    let mut values = content.starts().map(|run| run.config.get(name));
    let first = values.next()??;
    values.all(|value| value == Some(first)).then(|| first.clone())
}

fn text(content: &Content<'_>, name: &str) -> String {
    config(content, name).and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

fn plans<'a>(points: &[&'a Point]) -> impl Iterator<Item = &'a Plan> {
    points.iter().filter_map(|point| Some(&point.measured()?.plan))
}

fn qualities<'a>(points: &[&'a Point]) -> impl Iterator<Item = &'a Quality> {
    points.iter().filter_map(|point| point.quality())
}
