//! The top of the page: what was run, when and where, how it went, and what to be careful about.

use super::html::{Html, NONE, details, element, or_none, row, table, tag};
use super::{Content, is_complete};
use crate::format::{is_unsteady, misses_target};
use crate::glance::glance;
use crate::odd;
use crate::order::distinct;
use crate::record::{Event, Level, Name, Point, PointCounts, Run, Verdict, Word};
use crate::runs::RunRecords;
use crate::verdict;
use crate::words::count;

pub(super) fn title(content: &Content<'_>) -> String {
    match content.names.as_slice() {
        [] => "CoMet report".into(),
        [name] => format!("CoMet report: {name}"),
        names => format!("CoMet report: {} runs", names.len()),
    }
}

pub(super) fn header(content: &Content<'_>, title: &str) -> Html {
    let theme = element("button", &[("id", "theme"), ("type", "button")], "Light or dark");
    let bar = element("div", &[("class", "bar")], tag("h1", title).with(theme));
    let runs = match content.runs {
        [run] => about_one(run),
        _ => about_several(content),
    };
    tag("header", bar.with(runs).with(warnings(content)))
}

fn about_one(run: &RunRecords) -> Html {
    let facts = match &run.run {
        Some(start) => facts(start).join(" · "),
        None => "The record that says what was run is missing from this file.".into(),
    };
    element("p", &[("class", "facts")], facts)
        .with(outcome(run))
        .with(at_a_glance(run))
        .with(oddities(run))
}

fn facts(run: &Run) -> Vec<String> {
    let ranks = count(run.world.size, "rank");
    // Simulated ranks are on none.
    let nodes = match run.world.nodes {
        None | Some(0) => String::new(),
        Some(n_nodes) => format!(" on {}", count(n_nodes, "node")),
    };
    // The ranks of a simulation run on no processor of this machine.
    let host = run.machines.first().filter(|_| !run.clock.is_virtual);
    let processor = host.and_then(|machine| machine.cpu.model.clone());
    let facts = [
        Some(date(&run.started_at)),
        Some(format!("{ranks}{nodes}")),
        Some(transport(run)),
        processor,
        run.labels.get("machine").cloned(),
        Some(format!("{} {}", run.suite.name, run.suite.version)),
        (run.suite.profile != "release").then(|| format!("{} build", run.suite.profile)),
    ];
    facts.into_iter().flatten().collect()
}

/// The backend with what it runs on: the MPI library or the simulated machine, where it says.
fn transport(run: &Run) -> String {
    let backend = run.transport.name();
    let detail = ["library", "machine"].into_iter().find_map(|name| run.transport.fact(name));
    detail.map_or_else(|| backend.to_owned(), |detail| format!("{backend}: {detail}"))
}

/// A date of the record to the second (`2026-11-22 06:30:55 UTC`); anything else as it is.
fn date(text: &str) -> String {
    match (text.get(..10), text.get(10..11), text.get(11..19), text.ends_with('Z')) {
        (Some(day), Some("T"), Some(time), true) => format!("{day} {time} UTC"),
        _ => text.into(),
    }
}

fn outcome(run: &RunRecords) -> Html {
    let counts = counts(run);
    let parts = [
        format!("{} ok", count(counts.ok, "point")),
        format!("{} skipped", counts.skipped),
        format!("{} failed", counts.failed),
        count(counts.check_failed, "wrong result"),
    ];
    let text = format!("{}. {}", parts.join(", "), ending(run));
    let found = verdict::verdict(run);
    let class = format!("verdict {}", level(run, found.as_ref()));
    let lead = found.map_or(Html::new(), |found| {
        let word = tag("strong", format!("{} {}", icon(found.word), Name(found.word)));
        word.with(format!(": {}. ", found.reason))
    });
    element("p", &[("class", &class)], lead.with(text))
}

/// The figures of `run` at a glance, each with half of its interval.
fn at_a_glance(run: &RunRecords) -> Html {
    let rows = glance(run.run.as_deref(), &run.points).into_iter().map(|answer| {
        let half = answer.half_width().map_or(NONE.into(), |of| format!("±{of}"));
        row("td", [answer.what.clone(), answer.value(), half])
    });
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Html::new();
    }
    table("glance", ["At a glance", "Figure", "Half of the interval"], rows)
}

/// The oddities of `run`, a sentence each.
fn oddities(run: &RunRecords) -> Html {
    let items = odd::of_run(run).into_iter().map(|of| tag("li", of.what));
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Html::new();
    }
    let list = tag("ul", items.collect::<Html>());
    element("section", &[("class", "odd")], tag("h2", "Odd").with(list))
}

fn icon(word: Word) -> &'static str {
    match word {
        Word::Quotable => "✓",
        Word::Rough => "≈",
        Word::Unsure => "?",
        Word::Wrong => "✗",
    }
}

/// Numbers of points of `run` by status, counted here, because a killed run has no end that holds
/// them.
fn counts(run: &RunRecords) -> PointCounts {
    let mut counts = PointCounts::default();
    run.points.iter().for_each(|point| counts.add(point.status()));
    counts
}

fn ending(run: &RunRecords) -> String {
    let Some(end) = &run.end else {
        return "There is no end: the run was killed or is still running.".into();
    };
    let length = end.wall_s.map_or(String::new(), |wall_s| format!(" after {wall_s:.1} s"));
    let reason = end.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    format!("The run ended {}{length}{reason}.", Name(end.status))
}

/// Severity of the verdict `found` on a run, or of its end where it is imported: the name of a class.
fn level(run: &RunRecords, found: Option<&Verdict>) -> &'static str {
    match found.map(|found| found.word) {
        Some(Word::Quotable) => "good",
        Some(Word::Rough | Word::Unsure) => "warn",
        Some(Word::Wrong) => "bad",
        None if is_complete(run) => "good",
        None => "warn",
    }
}

fn about_several(content: &Content<'_>) -> Html {
    let heads = "Run|Verdict|Points ok|Wide|Unsteady|Skipped|Failed|Failed checks|Ranks|Nodes|Transport|\
         Started|End";
    let runs = content.runs.iter().zip(&content.names);
    table("runs", heads.split('|'), runs.map(|(run, name)| about(run, name)))
}

fn about(run: &RunRecords, name: &str) -> Html {
    let of = |text: fn(&Run) -> String| or_none(run.run.as_deref().map(text));
    let PointCounts { ok, check_failed, failed, skipped } = counts(run);
    let end = run.end.as_ref();
    let length = end.and_then(|end| end.wall_s).map_or(NONE.into(), |s| format!("{s:.1} s"));
    let end =
        end.map_or("no end: killed or still running".into(), |end| Name(end.status).to_string());
    let marked = |is_so: fn(&Point) -> bool| run.points.iter().filter(|of| is_so(of)).count();
    let word = verdict::verdict(run);
    let word = word.map(|found| format!("{} {}", icon(found.word), Name(found.word)));
    row(
        "td",
        [
            name.into(),
            or_none(word),
            ok.to_string(),
            marked(misses_target).to_string(),
            marked(is_unsteady).to_string(),
            skipped.to_string(),
            failed.to_string(),
            check_failed.to_string(),
            of(|run| run.world.size.to_string()),
            of(|run| match run.world.nodes {
                None | Some(0) => String::new(),
                Some(n_nodes) => n_nodes.to_string(),
            }),
            of(transport),
            of(|run| date(&run.started_at)),
            format!("{end}, {length}"),
        ],
    )
}

/// Warnings of the runs, each sentence once.
fn warnings(content: &Content<'_>) -> Html {
    let runs = content.runs.iter().enumerate();
    let sentences = distinct(runs.flat_map(|(index, run)| {
        let events = run.events.iter().filter(|event| event.level != Level::Info);
        events.map(move |event| whose(content, index).with(warning(event)))
    }));
    if sentences.is_empty() {
        return Html::new();
    }
    let items: Html = sentences.into_iter().map(|sentence| tag("li", sentence)).collect();
    let list = element("ul", &[("class", "warnings")], items);
    let list = match content.runs {
        [_] => list,
        _ => details("Warnings of the runs", list),
    };
    element("aside", &[("aria-label", "Warnings")], list)
}

/// Of which run a sentence is, where there are several.
fn whose(content: &Content<'_>, index: usize) -> Html {
    if content.runs.len() < 2 {
        return Html::new();
    }
    element("span", &[("class", "of")], &content.names[index]).with(": ")
}

fn warning(event: &Event) -> Html {
    let rank = event.rank.map_or(String::new(), |rank| format!("rank {rank}: "));
    let level = tag("strong", format!("{}:", Name(event.level)));
    let hint = event.hint.as_ref().map(|hint| tag("em", format!(" ({hint})")));
    level.with(format!(" {rank}{}", event.message)).with(hint.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_lose_their_fractions_and_keep_what_is_no_date() {
        assert_eq!(date("2026-11-22T06:30:55.451Z"), "2026-11-22 06:30:55 UTC");
        assert_eq!(date("yesterday"), "yesterday");
        assert_eq!(date("2026-11-2é T06:30:55Z"), "2026-11-2é T06:30:55Z");
    }
}
