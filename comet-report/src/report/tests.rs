//! Contents of a page, and texts that it must not hold.

use super::*;
use crate::compare;
use crate::fixture;
use crate::format::is_unsteady;
use crate::models::tests::thesis;
use crate::record::{Numbers, Outcome, Quality};
use crate::runs::split;

fn runs() -> Vec<RunRecords> {
    split(fixture::records())
}

fn page_of(runs: &[RunRecords]) -> String {
    report(runs, &Options::default())
}

fn titled(title: &str) -> Options {
    Options { title: Some(title.into()), ..Options::default() }
}

/// The texts between each `open` and the `close` after it.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0)).collect()
}

#[track_caller]
fn check_holds(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part} is not in the page");
    }
}

#[test]
fn a_run_makes_a_page_with_all_of_its_parts() {
    let page = page_of(&runs());
    check_holds(
        &page,
        &[
            "<!doctype html>\n<html lang=\"en\">",
            "2001-09-09 01:46:40 UTC · 2 ranks on 1 node · shm · example · comet 0.1.0",
            "The run ended complete after 2.5 s.",
            "needs 4 ranks, there are 2",
            "rank 1: byte 3 of 8: expected 0x01, found 0x00",
            "<th>command</th><td>comet-run all</td>",
            "D4 half_round_trip",
            "time (t_quoted_ns of the CSV) is the one that the kernel is known by, for most the median \
             of slice medians",
            "<td>the median of slice medians<td>",
            "run 00000000-0000-7000-8000-000000000001, comet.record/1.13",
        ],
    );
    for id in ["figures", "laws", "points", "left-out", "environment", "method"] {
        check_holds(&page, &[&format!("<section id=\"{id}\">"), &format!("href=\"#{id}\"")]);
    }
}

#[test]
fn cases_that_were_left_out_for_one_reason_share_a_row() {
    let mut runs = runs();
    let is_left_out = |point: &&Point| point.numbers().is_none();
    let point = runs[0].points.iter().find(is_left_out).expect("one was skipped").clone();
    let cell = |cases: &str| format!("<td>{cases}<td>");
    let params = super::points::params(&point.params);
    check_holds(&report(&runs, &Options::default()), &[&cell(&params)]);
    runs[0].points.extend([point.clone(), point]);
    let cases = format!("3 cases, the first {params}");
    check_holds(&report(&runs, &Options::default()), &[&cell(&cases)]);
}

#[test]
fn a_few_figures_are_open_and_the_index_leads_to_all() {
    let mut runs = runs();
    runs[0].points.extend(thesis());
    let page = report(&runs, &Options { has_thesis: true, ..Options::default() });
    let figures = between(&page, "<figure class=\"plot\" id=\"", "\"");
    let index = between(&page, "<nav", "</nav>")[0];
    for id in &figures {
        assert!(index.contains(&format!("href=\"#{id}\"")), "{id} is not in the index");
    }
    let main = between(&page, "<main", "</main>")[0];
    let open = main.split("<details>").next().unwrap();
    let open = between(open, "<figure class=\"plot\" id=\"", "\"");
    assert_eq!(open[..2], ["comet-echo-time", "comet-echo-bandwidth"]);
    assert!(open.len() <= 8 && open.len() < figures.len(), "{open:?} of {figures:?}");
    check_holds(&page, &["<summary>Figures of the thesis (2)</summary>", "href=\"#main\""]);
}

#[test]
fn figures_of_the_thesis_stand_on_pages_of_its_machine() {
    let mut runs = runs();
    runs[0].points.extend(thesis());
    assert!(!page_of(&runs).contains("id=\"figure-5.1\""));
    let all = Options { has_thesis: true, ..Options::default() };
    check_holds(&report(&runs, &all), &["id=\"figure-5.1\"", "published peak 2.5 MB/s"]);
}

#[test]
fn sets_of_runs_have_the_verdicts_of_a_comparison() {
    let runs = [runs(), runs()].concat();
    let (base, new) = runs.split_at(1);
    let comparison = Some(compare::compare(base, new, &compare::Options::default()));
    let page = report(&runs, &Options { comparison, ..Options::default() });
    check_holds(&page, &["<section id=\"comparison\">", "verdict: of ", "1 measurement against 1"]);
    assert!(!page_of(&runs).contains("id=\"comparison\""));
}

#[test]
fn notes_of_figures_stand_once_under_method() {
    let page = page_of(&runs());
    for note in ["Marks are medians of slice medians.", "Bands hold the middle half"] {
        assert_eq!(page.matches(note).count(), 1, "{note}");
    }
    assert!(!between(&page, "<figcaption>", "</figcaption>").concat().contains("Marks are"));
}

#[test]
fn equal_runs_make_equal_pages() {
    assert_eq!(page_of(&runs()), page_of(&runs()));
}

#[test]
fn the_policy_allows_what_the_page_holds_and_nothing_else() {
    let page = page_of(&runs());
    let policies = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let policy = policies[0];
    for (directive, open, close, count) in
        [("style-src", "<style", "</style>", 2), ("script-src", "<script", "</script>", 2)]
    {
        let elements = between(&page, open, close);
        let sources: Vec<String> =
            elements.iter().map(|text| policy::source(text.split_once('>').unwrap().1)).collect();
        let allowed = between(policy, directive, ";")[0].trim();
        assert_eq!((sources.len(), sources.join(" ")), (count, allowed.to_owned()));
    }
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    let markup = page.split("<script>").next().unwrap();
    assert!(!markup.contains(" style=\"") && !markup.contains(" onclick"));
}

#[test]
fn the_page_loads_nothing() {
    let page = page_of(&runs());
    for attribute in ["src", "href"] {
        for target in between(&page, &format!(" {attribute}=\""), "\"") {
            assert!(target.starts_with('#'), "{attribute} leads to {target}");
        }
    }
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
}

#[test]
fn what_a_record_holds_stays_text() {
    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let mut runs = runs();
    let run = runs[0].run.as_mut().unwrap();
    run.labels = [("name".into(), HOSTILE.into()), (HOSTILE.into(), "\"'".into())].into();
    run.argv = vec![HOSTILE.into()];
    for point in &mut runs[0].points {
        point.kernel = HOSTILE.into();
        if let Outcome::Failed(failure) = &mut point.outcome {
            failure.message = HOSTILE.into();
        }
    }
    runs[0].events[0].hint = Some(HOSTILE.into());
    let page = report(&runs, &titled(HOSTILE));
    assert_eq!(page.matches("<script>").count(), 2);
    assert!(!page.contains("<img"));
    check_holds(&page, &["&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x"]);
}

#[test]
fn a_killed_run_says_so() {
    let mut runs = runs();
    runs[0].end = None;
    runs[0].models.clear();
    check_holds(
        &page_of(&runs),
        &[
            "There is no end: the run was killed or is still running.",
            "verdict bad",
            "<section id=\"points\">",
        ],
    );
    runs[0].points.retain(|point| point.numbers().is_some());
    // What was measured before has intervals of a single launch.
    check_holds(&page_of(&runs), &["verdict warn", "? unsure</strong>: ", "; no end; "]);
}

#[test]
fn a_file_without_its_run_makes_a_page() {
    let mut runs = runs();
    runs[0].run = None;
    let page = page_of(&runs);
    check_holds(&page, &["The record that says what was run is missing", "records without a run"]);
    assert!(!page.contains("<section id=\"environment\">"));
    runs[0] = RunRecords::default();
    check_holds(&page_of(&runs), &["0 points ok"]);
    check_holds(&page_of(&[]), &["CoMet report"]);
}

#[test]
fn a_simulated_run_is_on_no_processor_of_this_machine() {
    let mut runs = runs();
    let run = runs[0].run.as_mut().unwrap();
    run.machines[0].cpu.model = Some("Example CPU".into());
    let is_named = |runs: &[RunRecords]| page_of(runs).contains(" · Example CPU");
    assert!(is_named(&runs));
    runs[0].run.as_mut().unwrap().clock.is_virtual = true;
    assert!(!is_named(&runs));
}

#[test]
fn several_runs_stand_side_by_side() {
    let mut runs = [runs(), runs()].concat();
    let second = runs[1].run.as_mut().unwrap();
    second.labels.insert("name".into(), "second".into());
    second.clock.source = Some("other clock".into());
    let page = report(&runs, &titled("Two"));
    check_holds(
        &page,
        &[
            "<title>Two</title>",
            "<tr><th>source</th><td>CLOCK_MONOTONIC</td><td>other clock</td></tr>",
            "<tr><th>monotonic</th><td>yes</td></tr>",
            "<th>Fact<th>example<th>second",
            "<th>Wide<th>Unsteady",
            "<tr><td>second<td>",
        ],
    );
}

#[test]
fn runs_of_one_name_are_told_apart() {
    let mut runs = [runs(), runs(), runs()].concat();
    runs[1].run.as_mut().unwrap().world.size = 4;
    assert_eq!(names(&runs), ["example, P = 2, run 1", "example, P = 4", "example, P = 2, run 3"]);
    assert_eq!(names(&runs[..1]), ["example"]);
}

#[test]
fn missing_numbers_are_dashes() {
    let mut runs = runs();
    runs[0].models.clear();
    for point in &mut runs[0].points {
        let Some(numbers) = point.numbers() else { continue };
        let numbers = Numbers { quoted_ns: None, rate: None, ..numbers.clone() };
        point.outcome = Outcome::Imported(Box::new(numbers));
    }
    let page = page_of(&runs);
    let rows = between(&page, "sortable points", "</table>")[0];
    let cells = between(rows, "<tr><td>comet/barrier", "<tr>")[0];
    assert_eq!(cells.matches("<td>—").count(), 5, "{cells}");
}

#[test]
fn each_change_of_speed_marks_a_point() {
    let mut run = runs().remove(0);
    let points = run.points.iter_mut();
    let point = points.filter(|point| point.quality().is_some()).last().unwrap();
    let check = |change: fn(&mut Quality), expected| {
        let mut point = point.clone();
        let quality = point.measured_mut().unwrap().quality.as_mut().unwrap();
        (quality.is_bimodal, quality.cores_moved) = (false, Some(false));
        (quality.has_regimes, quality.drifts) = (Some(false), Some(false));
        change(quality);
        assert_eq!(is_unsteady(&point), expected);
    };
    check(|_| (), false);
    check(|quality| quality.has_regimes = Some(true), true);
    check(|quality| quality.drifts = Some(true), true);
    check(|quality| quality.cores_moved = Some(true), true);
    check(|quality| quality.is_bimodal = true, true);
}
