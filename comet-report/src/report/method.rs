//! Method of the numbers of the page, in words that follow from the records.

use std::collections::BTreeSet;

use comet_core::definition::Definition;
use serde_json::Value;

use super::html::{Html, details, element, row, table, tag};
use super::number::{counted, or_none, range};
use super::{Content, Section, rules};
use crate::record::{CheckStatus, Clock, Plan, Point, PointStatus, Quality, Quote, Run};
use crate::units::time;

/// A step of measuring, and what is said about it.
type Step = (&'static str, fn(&Content<'_>) -> String);

/// The steps, in the order of the page; those of which nothing is said are left out.
const STEPS: &[Step] = &[
    ("Verified", verified),
    ("Warmed up", warmed_up),
    ("Sampled", sampled),
    ("Started together", started),
    ("Stopped", stopped),
    ("Clock", clock),
    ("Left out and subtracted", corrected),
    ("Summarised", summarised),
    ("Bands and bars", bands),
    ("Rates", rates),
    ("Models", models),
];

/// Sections of `METHODOLOGY.md` that define numbers, by the text looked for.
const DEFINED: &[(&str, &str)] = &[
    ("Definitions D1 to D9, quoted values", "What a number is"),
    ("Bandwidths, bytes of one operation", "Rates"),
    ("Cost and step of the clock, several clocks", "The clock"),
    ("Windows, barriers, skew", "Starting together"),
    ("Operations in a sample", "Intervals: how many operations between two clock reads"),
    ("Slices, warm-up, stop rule, verification", "One kernel, from the first to the last step"),
    ("Medians, intervals, flags", "Statistics"),
    ("t₀, r∞, n½, π₀, verdicts, LogGP, growth", "Models"),
    ("Hidden shares", "Overlap"),
    ("Loads and slowdowns", "Contention"),
    ("CPUs of ranks, hops", "Where ranks run"),
    ("Which way numbers are biased", "Known biases"),
];

/// The one section.
pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    if content.runs.is_empty() {
        return Vec::new();
    }
    let body = definitions(content)
        .with(steps(content))
        .with(details("The twelve rules of Hoefler and Belli (2015)", rules::list(content)))
        .with(details("Where each number is defined", defined()));
    vec![Section { id: "method".into(), title: "Method".into(), body }]
}

/// The points with numbers.
pub(super) fn measured<'a>(content: &Content<'a>) -> Vec<&'a Point> {
    let points = content.points().map(|(_, point)| point);
    points.filter(|point| point.status == PointStatus::Ok).collect()
}

/// Definitions in use, one row each.
fn definitions(content: &Content<'_>) -> Html {
    let points = measured(content);
    let names: BTreeSet<&str> =
        points.iter().filter_map(|point| Some(&*point.value.as_ref()?.definition)).collect();
    if names.is_empty() {
        return Html::new();
    }
    let rows: Html = names.into_iter().map(|name| definition(name, &points)).collect();
    let text = "One case of one series makes one point. Each point names the definition by which \
                the samples of the ranks make its value; values of different definitions are not \
                to be compared.";
    let heads = ["Definition", "The value of a sample", "Quoted", "Kernels"];
    tag("p", text).with(table("", &heads, rows))
}

fn definition(name: &str, points: &[&Point]) -> Html {
    let is_so = |point: &&&Point| point.value.as_ref().is_some_and(|of| of.definition == name);
    let of_it = || points.iter().filter(is_so);
    let kernels: BTreeSet<String> =
        of_it().map(|point| format!("{}/{}", point.suite, point.kernel)).collect();
    let quotes: BTreeSet<&str> =
        of_it().filter_map(|point| Some(quote(point.value.as_ref()?.quote))).collect();
    let join = |words: Vec<String>| words.join(", ");
    let known = Definition::all().find(|known| known.name() == name);
    let meaning = known.map(|definition| format!("{}, for one operation", definition.summary()));
    row(
        "td",
        [
            name.to_owned(),
            or_none(meaning),
            join(quotes.into_iter().map(Into::into).collect()),
            join(kernels.into_iter().collect()),
        ],
    )
}

/// Reported statistic, in words.
fn quote(quote: Quote) -> &'static str {
    match quote {
        Quote::Median => "the median of the medians of slices",
        Quote::Min => "the least value",
        Quote::Mean => "the mean",
        Quote::MiddleMean => "the mean of the middle half",
        Quote::Corrected => "the mean less an empty loop",
    }
}

fn steps(content: &Content<'_>) -> Html {
    let step = |(name, words): &Step| {
        let words = words(content);
        if words.is_empty() {
            return Html::new();
        }
        tag("dt", *name).with(tag("dd", words))
    };
    element("dl", &[("class", "steps")], STEPS.iter().map(step).collect::<Html>())
}

fn defined() -> Html {
    let rows = DEFINED.iter().map(|(what, place)| row("td", [*what, *place]));
    let text = "Sections of METHODOLOGY.md, which comes with CoMet; the fields of the record are \
                explained in its schema (comet-run schema).";
    tag("p", text).with(table("", &["Number", "Section"], rows.collect::<Html>()))
}

fn verified(content: &Content<'_>) -> String {
    let of = |status| content.points().filter(|(_, point)| point.check.status == status).count();
    let [passed, failed] = [CheckStatus::Pass, CheckStatus::Fail].map(of);
    if passed + failed == 0 {
        return String::new();
    }
    let has = if passed == 1 { "has" } else { "have" };
    let passed = counted(passed, "point", "points");
    format!(
        "The operation of each case ran with test data before and after it was timed, and each \
         rank checked contents, source and length. {passed} passed and {has} numbers; of {failed} \
         the data was wrong."
    )
}

fn warmed_up(content: &Content<'_>) -> String {
    let points = measured(content);
    let operations = range(points.iter().filter_map(|point| Some(point.reps.as_ref()?.warmup)));
    let n_warming = qualities(&points).filter(|quality| !quality.is_steady).count();
    operations.map_or(String::new(), |operations| {
        format!(
            "Before and between its samples each case ran {operations} operations that do not \
             count. {} no steady state before the first slice.",
            counted(n_warming, "point saw", "points saw")
        )
    })
}

fn sampled(content: &Content<'_>) -> String {
    let points = measured(content);
    let reps = || points.iter().filter_map(|point| point.reps.as_ref());
    let samples = range(reps().map(|reps| reps.n));
    let inner = range(reps().map(|reps| reps.inner));
    let slices = range(reps().map(|reps| reps.rounds));
    let (Some(samples), Some(inner), Some(slices)) = (samples, inner, slices) else {
        return String::new();
    };
    let order = match config(content, "order").as_ref().and_then(Value::as_str) {
        Some("shuffled") => " in an order shuffled by a recorded seed",
        _ => "",
    };
    format!(
        "Each point has {samples} samples; a sample is the interval between two clock readings, \
         over {inner} operations, divided by their number. Samples were taken in {slices} slices \
         for each case, and the cases of a kernel were visited in turn{order}, so that the slices \
         of one case are spread over the time of all."
    )
}

fn started(content: &Content<'_>) -> String {
    let points = measured(content);
    let mut ways: Vec<(&str, usize)> = Vec::new();
    for plan in plans(&points) {
        match ways.iter_mut().find(|(way, _)| *way == plan.sync.words()) {
            Some((_, count)) => *count += 1,
            None => ways.push((plan.sync.words(), 1)),
        }
    }
    let n_invalid: usize = qualities(&points).map(|quality| quality.invalid.len()).sum();
    let n_skewed = plans(&points).filter(|plan| plan.skew_ns.is_some()).count();
    let mut sentences: Vec<String> = ways
        .into_iter()
        .map(|(way, count)| format!("{}: {way}.", counted(count, "point", "points")))
        .collect();
    if n_invalid > 0 {
        let samples = counted(n_invalid, "sample", "samples");
        sentences.push(format!("{samples} started too late in a window and make no value."));
    }
    if n_skewed > 0 {
        let points = counted(n_skewed, "point", "points");
        sentences.push(format!("At {points} ranks started late on purpose."));
    }
    sentences.join(" ")
}

fn stopped(content: &Content<'_>) -> String {
    let slices = config(content, "slices").unwrap_or_default();
    let bounds = (slices.get(0).and_then(Value::as_u64), slices.get(1).and_then(Value::as_u64));
    let budget = number(content, "case_budget_ns").map(time);
    let mut text = match (bounds, number(content, "target"), budget) {
        ((Some(least), Some(most)), Some(target), Some(budget)) => format!(
            "A case was done when half of the 95 % interval of each of its series was at most \
             {} % of the median, after {least} slices at least, or when {most} slices or {budget} \
             were used up.",
            target * 100.0
        ),
        ((Some(_), Some(most)), None, Some(budget)) => {
            format!("A case was done when {most} slices or {budget} were used up.")
        }
        _ => return String::new(),
    };
    let gap = number(content, "gap_ns").filter(|ns| *ns > 0.0).map(time);
    text += &gap.map_or(String::new(), |gap| format!(" Its slices are at least {gap} apart."));
    let rules = config(content, "rules");
    if let Some(rules) = rules.as_ref().and_then(Value::as_str).filter(|rules| *rules != "comet") {
        text = format!("How often to repeat, and what is quoted, followed the rules of {rules}.");
    }
    let points = measured(content);
    let n_missed = points.iter().filter(|point| crate::format::misses_target(point)).count();
    let missed = counted(n_missed, "point", "points");
    text + &format!(" {missed} did not reach the target, which their intervals show.")
}

fn clock(content: &Content<'_>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for run in content.starts() {
        let text = of_clock(run, &run.clock);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(" ")
}

fn of_clock(run: &Run, clock: &Clock) -> String {
    if clock.is_virtual {
        return "Time is that of a simulated machine: nothing was measured on this one.".into();
    }
    let step = clock.resolution_ns.map_or("unknown".into(), |step| format!("{step} ns"));
    let cost = clock.overhead_ns.map_or("an unknown time".into(), time);
    let ranks = match (run.world.size, clock.bound_ns) {
        (1, _) => "there is one rank".to_owned(),
        (_, None) => "clocks of different ranks cannot be compared".to_owned(),
        (_, Some(0)) => "all ranks read the same clock".to_owned(),
        (_, Some(bound)) => format!("the clocks of all ranks are known to {bound} ns"),
    };
    format!("{}: a reading costs {cost}, its step is {step}, and {ranks}.", clock.source)
}

fn corrected(content: &Content<'_>) -> String {
    let points = measured(content);
    if points.is_empty() {
        return String::new();
    }
    let named = |field: fn(&Plan) -> Vec<&str>| -> BTreeSet<&str> {
        plans(&points).flat_map(field).filter(|name| *name != "none").collect()
    };
    let outliers = named(|plan| vec![&plan.outliers]);
    let subtracted = named(|plan| plan.correct.iter().map(String::as_str).collect());
    let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    let outliers = if outliers.is_empty() {
        "No sample was left out for its value".to_owned()
    } else {
        format!("Outliers were treated by {}", list(outliers))
    };
    let subtracted = if subtracted.is_empty() { "nothing".to_owned() } else { list(subtracted) };
    format!("{outliers}; {subtracted} was subtracted from the times.")
}

fn summarised(content: &Content<'_>) -> String {
    let points = measured(content);
    let methods: BTreeSet<&str> = qualities(&points)
        .filter_map(|quality| Some(quality.interval_ns.as_ref()?.method.as_str()))
        .collect();
    let n_with = qualities(&points).filter(|quality| quality.interval_ns.is_some()).count();
    let n_without = points.len() - n_with;
    let mut text = "Quantiles interpolate between neighbours. ".to_owned();
    if !methods.is_empty() {
        let methods: Vec<String> = methods.iter().map(|method| method.replace('_', " ")).collect();
        let with = counted(n_with, "point has", "points have");
        text += &format!(
            "{with} a 95 % interval of the median, from the medians of its slices ({}). ",
            methods.join(", ")
        );
    }
    if n_without > 0 {
        text += &format!(
            "{} none, for want of slices. ",
            counted(n_without, "point has", "points have")
        );
    }
    text + "Intervals speak of one launch: the variance between launches is often larger."
}

fn bands(_: &Content<'_>) -> String {
    "In figures a bar is the 95 % interval of the value, and a band the middle half of the \
     samples; a point without bar has no interval. Lines between points lead the eye, lines \
     without marks are models. What is special about hollow marks, the caption says."
        .into()
}

fn rates(content: &Content<'_>) -> String {
    let has_rates = measured(content).iter().any(|point| point.rate.is_some());
    let text = "A bandwidth is the bytes that one operation moves, divided by the quoted time, or \
                by the median where the least value is quoted. MB are 10^6 bytes.";
    if has_rates { text.into() } else { String::new() }
}

fn models(content: &Content<'_>) -> String {
    if content.models.is_empty() {
        return String::new();
    }
    "Lines are fitted robustly to relative errors; points with intervals weigh by them. Good: the \
     law describes the points; segment: several pieces of it do; poor: none does, so its numbers \
     are not to be used. The worst error is the largest relative distance of a point from its law."
        .into()
}

/// The setting `name` of the first run, where it is the same for all.
pub(super) fn config(content: &Content<'_>, name: &str) -> Option<Value> {
    let mut values = content.starts().map(|run| run.config.get(name));
    let first = values.next()??;
    values.all(|value| value == Some(first)).then(|| first.clone())
}

fn number(content: &Content<'_>, name: &str) -> Option<f64> {
    config(content, name)?.as_f64()
}

fn plans<'a>(points: &[&'a Point]) -> impl Iterator<Item = &'a Plan> {
    points.iter().filter_map(|point| point.plan.as_ref())
}

/// Qualities of the points that have them.
pub(super) fn qualities<'a>(points: &[&'a Point]) -> impl Iterator<Item = &'a Quality> {
    points.iter().filter_map(|point| point.quality.as_ref())
}
