//! Merges: runs that are launches of one, and those that are not.

use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::fixture;
use crate::runs::split;

/// A file with a run of this id, whose figures are `factor` times those of the fixture.
fn file_of(id: &str, factor: f64) -> Vec<RunRecords> {
    let mut run = split(fixture::records()).remove(0);
    run.points.retain(|point| point.measured().is_some());
    for point in &mut run.points {
        let quoted_ns = &mut point.measured_mut().unwrap().numbers.quoted_ns;
        *quoted_ns = quoted_ns.map(|ns| factor * ns);
    }
    run.path = Some(PathBuf::from(format!("{id}.jsonl")));
    let facts = run.run.as_mut().unwrap();
    (facts.run_id, facts.seed) = (id.into(), None);
    vec![run]
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

#[test]
fn sk_62_files_make_medians_with_the_interval_from_one_to_the_next() {
    let files = [("a", 1.0), ("b", 3.0), ("c", 2.0)].map(|(id, factor)| file_of(id, factor));
    let of_one = split(fixture::records()).remove(0);
    let records = merge(files.into(), &["comet-run".into()], now()).unwrap();
    let [merged] = &split(records)[..] else { panic!("one run") };
    let config = &merged.run.as_ref().unwrap().config;
    assert_eq!((&config["merged"][1]["file"], &config["launches"]), (&json!("b.jsonl"), &json!(3)));
    for point in &merged.points {
        let own = of_one.points.iter().find(|of| of.key == point.key).unwrap();
        let median_ns = 2.0 * own.quoted_ns().unwrap();
        assert!((point.quoted_ns().unwrap() / median_ns - 1.0).abs() < 1e-9);
        let [low, high] = point.interval_ns().unwrap();
        assert!(low < median_ns && median_ns < high, "{low} {high}");
        assert_eq!(point.launches.as_ref().unwrap().quoted_ns.len(), 3);
    }
    assert_eq!(merged.launches.len(), 3 * merged.points.len());
    // What was merged is merged again, and keeps its launches.
    let mut again = vec![merged.clone()];
    again[0].path = Some("m.jsonl".into());
    let records =
        merge(vec![again, file_of("d", 4.0)], &[], now() + Duration::from_secs(1)).unwrap();
    let points = &split(records)[0].points;
    assert_eq!(points[0].launches.as_ref().unwrap().quoted_ns.len(), 4);
}

#[test]
fn runs_of_other_plans_are_refused() {
    let check = |files: Vec<Vec<RunRecords>>, expected: &str| {
        let error = merge(files, &[], now()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let other = |change: fn(&mut Run)| {
        let mut file = file_of("b", 1.0);
        change(file[0].run.as_mut().unwrap());
        vec![file_of("a", 1.0), file]
    };
    check(
        other(|run| drop(run.config.insert("sizes".into(), json!("16")))),
        "b.jsonl differs from a.jsonl: sizes is \"16\" there, and ",
    );
    check(other(|run| run.run_id = "a".into()), "b.jsonl: it left the results of the first");
    check(other(|run| run.world.size = 3), "b.jsonl: it ran on 3 ranks over ");
    check(
        other(|run| drop(run.config.insert("imported_from".into(), json!("osu")))),
        "b.jsonl is no measurement of comet-run",
    );
    let two = [file_of("b", 1.0), file_of("c", 1.0)].concat();
    check(
        vec![file_of("a", 1.0), two],
        "b.jsonl holds 2 runs outside of suites, a.jsonl 1 run outside of suites (merge",
    );
    let mut nameless = file_of("b", 1.0);
    nameless[0].run = None;
    check(vec![file_of("a", 1.0), nameless], "b.jsonl is no measurement of comet-run");
}

#[test]
fn the_end_is_that_of_all_runs_in_any_order() {
    let merged = |files: Vec<Vec<RunRecords>>| split(merge(files, &[], now()).unwrap()).remove(0);
    // One that is partial, or has no end, makes all partial.
    for order in [[0, 1], [1, 0]] {
        let mut files = [file_of("a", 1.0), file_of("b", 1.0)];
        files[0][0].end = None;
        let end = merged(order.map(|index| files[index].clone()).into()).end.unwrap();
        assert_eq!(
            (end.status, end.reason.as_deref()),
            (EndStatus::Partial, Some("a run without an end"))
        );
    }
    // Here the second one ends 60 s after the first began.
    let mut files = [file_of("a", 1.0), file_of("b", 1.0)];
    let start = instant(files[0][0].run.as_ref().unwrap());
    for (file, (late_s, steal)) in files.iter_mut().zip([(0, 100), (50, 1000)]) {
        let at =
            |s: u64| humantime::format_rfc3339_millis(start + Duration::from_secs(s)).to_string();
        let RunRecords { run: Some(run), end: Some(end), .. } = &mut file[0] else { panic!() };
        (run.started_at, end.ended_at) = (at(late_s), at(late_s + 10));
        (end.wall_s, end.virtual_s) = (Some(10.0), Some(1.5));
        let noise = |ticks| Noise { steal_ticks: Some(ticks), ..Noise::default() };
        (run.noise, end.noise) = (Some(noise(steal)), Some(noise(steal + 7)));
    }
    for order in [[0, 1], [1, 0]] {
        let all = merged(order.map(|index| files[index].clone()).into());
        let (run, end) = (all.run.unwrap(), all.end.unwrap());
        assert_eq!((end.wall_s, end.virtual_s), (Some(60.0), Some(3.0)));
        assert_eq!(end.ended_at, files[1][0].end.as_ref().unwrap().ended_at);
        assert_eq!(run.started_at, files[0][0].run.as_ref().unwrap().started_at);
        // What happened between two files was in none of them.
        let steal = [run.noise, end.noise].map(|noise| noise.unwrap().steal_ticks.unwrap());
        assert_eq!(steal[1] - steal[0], 14);
    }
}

/// A suite that was cut short, or went on with its suspects last, has other units in other places.
#[test]
fn runs_of_a_suite_belong_together_by_their_units() {
    let suite = |units: &[(&str, &str)]| {
        let of_unit = |(unit, id): &(&str, &str)| {
            let mut run = file_of(id, 1.0).remove(0);
            run.path = Some(PathBuf::from(format!("{}.jsonl", &id[..1])));
            run.run.as_mut().unwrap().of_suite = Some(OfSuite {
                name: "small".into(),
                sha256: "5a".into(),
                lines: Vec::new(),
                unit: (*unit).into(),
                attempt: 1,
            });
            run
        };
        units.iter().map(of_unit).collect::<Vec<_>>()
    };
    let files = vec![
        suite(&[("x", "a1"), ("y", "a2")]),
        suite(&[("y", "b1"), ("x", "b2"), ("z", "b3")]),
        suite(&[("x", "c1")]),
    ];
    let merged = split(merge(files, &[], now()).unwrap());
    let sources = |run: &RunRecords| {
        let facts = run.run.as_ref().unwrap();
        let sources = facts.config["merged"].as_array().unwrap();
        let ids: Vec<&str> = sources.iter().map(|of| of["run_id"].as_str().unwrap()).collect();
        format!("{}: {}", facts.of_suite.as_ref().unwrap().unit, ids.join(" "))
    };
    let found: Vec<String> = merged.iter().map(sources).collect();
    assert_eq!(found, ["x: a1 b2 c1", "y: a2 b1", "z: b3"]);
    let refused = |files: Vec<Vec<RunRecords>>, expected: &str| {
        let error = merge(files, &[], now()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let mixed = || vec![suite(&[("x", "a1")]), file_of("b", 1.0)];
    refused(
        mixed(),
        "b.jsonl holds 1 run outside of suites, a.jsonl 0 runs outside of suites (merge",
    );
    // Runs outside of suites have their places among themselves.
    let mixed = mixed().concat();
    let placed = vec![[&mixed[..], &file_of("c", 1.0)[..]].concat(), {
        [file_of("d", 1.0), suite(&[("x", "b1")]), file_of("e", 1.0)].concat()
    }];
    assert_eq!(split(merge(placed, &[], now()).unwrap()).len(), 3);
    // The seed is that of a start, not of the plan.
    let with = |line: &str| {
        let mut other = suite(&[("x", "b1")]);
        let of_suite = other[0].run.as_mut().unwrap().of_suite.as_mut().unwrap();
        (of_suite.sha256, of_suite.lines) = ("6b".into(), vec![line.into()]);
        vec![suite(&[("x", "a1")]), other]
    };
    assert_eq!(split(merge(with("seed = \"2\""), &[], now()).unwrap()).len(), 1);
    refused(
        with("samples = \"9\""),
        "b.jsonl differs from a.jsonl: suite is small of SHA-256 6b there, and small of SHA-256 5a",
    );
    refused(vec![suite(&[("x", "a1")]), Vec::new()], "file 2 of those to merge holds no run");
}
