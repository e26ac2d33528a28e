//! Facts about pages that show a part of what there is, or nothing: they say so, with what there is.

use super::*;

const UNKNOWN: &str = "0000000000000001";

/// A machine that became a fifth slower on the 13th of January, and the start of the address of its trend.
fn slower() -> (Served, String) {
    let time_ns = |number| if number < 12 { 100.0 } else { 120.0 };
    let files: Vec<Vec<u8>> = (0..20).map(|number| night(number, time_ns(number))).collect();
    let served = Served::new(&files);
    let series = served.series(&served.runs()[..1])[0].series.id;
    (served, format!("machine=hawk&series={series}"))
}

#[test]
fn a_part_of_a_trend_has_the_changes_of_all_of_it() {
    let (served, query) = slower();
    for days in ["since=2026-01-12&until=2026-01-14", "since=2026-01-13"] {
        let page = served.get(&format!("/trends?{query}&{days}"), 200);
        assert!(page.contains("<strong>20.0 % slower</strong> since 2026-01-13"), "{page}");
        let data = served.get(&format!("/trends.json?{query}&{days}"), 200);
        let data: serde_json::Value = serde_json::from_str(&data).unwrap();
        assert_eq!(data["changes"][0]["run"], served.runs()[12].to_string());
        assert_eq!(data["runs"][0]["started_at"].as_str().unwrap()[..10], days[6..16]);
    }
    let page = served.get(&format!("/trends?{query}&since=2026-01-14"), 200);
    assert!(page.contains("<p>None.</p>"), "{page}");
}

#[test]
fn a_trend_without_a_run_says_which_runs_there_are() {
    let (served, query) = slower();
    for (end, words) in [
        (
            "&length=7&ranks=3",
            "this series has no point at length 7 ranks 3 (it has lengths 1 to 2, ranks 2)",
        ),
        (
            "&since=2030-01-01&until=2030-02-01",
            "no run of this number started since 2030-01-01 until 2030-02-01 (it has 20, from 2026-01-01 to 2026-01-20)",
        ),
        (
            &format!("&kind={UNKNOWN}"),
            "no run has a time of this number kind 0000000000000001 (choose another)",
        ),
    ] {
        let page = served.get(&format!("/trends?{query}{end}"), 200);
        assert!(page.contains(&format!("There is no trend: {words}.")), "{page}");
        assert!(served.get(&format!("/trends.svg?{query}{end}"), 404).contains(words));
    }
    let page = served.get(&format!("/trends?machine=hawk&series={UNKNOWN}"), 200);
    assert!(page.contains("no such run of hawk has the series 0000000000000001"), "{page}");
}

#[test]
fn a_comparison_without_a_point_says_which_points_there_are() {
    let served = Served::new(&[Example::default().file()]);
    let (runs, query) = (served.runs(), served.query(&served.runs()));
    let page = served.get(&format!("/compare?{query}&from=64Ki&to=1Ki&at=77"), 200);
    let words = "is there from 64Ki to 1Ki at 77: they have lengths 1 to 4, ranks 2.";
    assert!(page.contains(words), "{page}");
    let words = "no chosen run has the series 0000000000000001 (choose others)";
    let page = served.get(&format!("/compare?{query}&series={UNKNOWN}"), 200);
    assert!(page.contains(words) && page.contains("<svg"), "{page}");
    let query = format!("run={}&series={UNKNOWN}", runs[0]);
    assert!(served.get(&format!("/compare?{query}"), 200).contains(words));
    assert!(served.get(&format!("/compare.svg?{query}"), 404).contains(words));
}

#[test]
fn earlier_runs_are_on_a_further_page_of_the_comparison() {
    let (served, _) = slower();
    let runs = served.runs();
    let page = served.get(&format!("/compare?run={}&limit=19", runs[19]), 200);
    let is_listed = |page: &str| page.contains(&format!("value=\"{}\"", runs[0]));
    assert!(!is_listed(&page));
    let link = page.split('"').find(|text| text.contains("&#38;after=")).unwrap();
    let page = served.get(&link.replace("&#38;", "&"), 200);
    assert!(is_listed(&page) && !page.contains("Earlier runs"), "{page}");
    assert!(page.contains(&format!("value=\"{}\" checked", runs[19])), "{page}");
}

#[test]
fn series_that_no_chosen_run_has_are_named() {
    let served = Served::new(&[Example::default().file()]);
    let run = served.runs()[0];
    for end in [".json", ".csv"] {
        let answer = served.get(&format!("/compare{end}?run={run}&series={UNKNOWN}"), 404);
        let words = format!("no chosen run has the series {UNKNOWN} (choose others)");
        assert!(answer.contains(&words), "{end}: {answer}");
    }
    let query = format!("{}&series={UNKNOWN}", served.query(&[run]));
    let data = served.get(&format!("/compare.json?{query}"), 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["absent_series"], serde_json::json!([UNKNOWN]));
    assert_eq!(data["series"].as_array().unwrap().len(), 1);
}
