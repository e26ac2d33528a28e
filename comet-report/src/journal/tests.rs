//! Journals: attempts that count, attempts that are counted, and what differs.

use std::time::Duration;

use super::*;
use crate::fixture::{self, Folder};
use crate::read::{parse_records, validate};
use crate::record::Suite;
use crate::recorder::RunDescription;

/// The suite of all tests, at the attempt `attempt` of `unit`.
fn of(unit: &str, attempt: u32) -> OfSuite {
    let lines = vec!["name = \"small\"".into(), "[[measure]]".into()];
    OfSuite { name: "small".into(), sha256: "5a".into(), lines, unit: unit.into(), attempt }
}

/// Text of a step.
fn line(unit: &str, attempt: u32, run_id: &str, state: UnitState, reason: Option<&str>) -> String {
    let at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let record = step(&of(unit, attempt), run_id, state, reason.map(str::to_owned), at);
    serde_json::to_string(&record).unwrap() + "\n"
}

/// Text of a run that is an attempt of `unit`; without its end unless it `has_end`.
fn run(unit: &str, attempt: u32, run_id: &str, has_end: bool) -> String {
    let folder = Folder::new();
    let text = std::fs::read_to_string(fixture::record_run(&folder)).unwrap();
    let text = text.replace(&fixture::description().run_id, run_id);
    let of = serde_json::to_string(&of(unit, attempt)).unwrap();
    let text =
        text.replacen("{\"type\":\"run\",", &format!("{{\"type\":\"run\",\"of_suite\":{of},"), 1);
    let n = text.lines().count();
    let kept = if has_end { n } else { n - 1 };
    text.split_inclusive('\n').take(kept).collect()
}

/// The end of a run that `reason` has ended early.
fn stopped(unit: &str, attempt: u32, run_id: &str, reason: &str) -> String {
    let text = run(unit, attempt, run_id, true);
    let text = text.replace("\"status\":\"complete\"", "\"status\":\"partial\"");
    let at = text.rfind("\"reason\":null").unwrap();
    text[..at].to_owned() + &format!("\"reason\":\"{reason}\"") + &text[at + 13..]
}

fn journal(text: &str) -> Journal {
    let folder = Folder::new();
    Journal::read(&folder.write("r.jsonl", text)).unwrap()
}

/// Ids of the runs in `text`, whose steps are no records.
fn runs(text: &str) -> Vec<String> {
    let records = parse_records(text.as_bytes()).unwrap().records;
    assert!(!records.iter().any(|record| matches!(record, Record::Unit(_))));
    let ids = records.into_iter().filter_map(|record| match record {
        Record::Run(run) => Some(run.run_id.clone()),
        _ => None,
    });
    ids.collect()
}

use UnitState::{Begun, Done, Gone, Stopped};

#[test]
fn of_each_unit_the_attempt_that_is_done_counts_or_else_the_last_one() {
    let text = [
        line("a", 1, "a1", Begun, None),
        run("a", 1, "a1", false),
        line("b", 1, "b1", Begun, None),
        run("b", 1, "b1", true),
        line("b", 1, "b1", Done, None),
        line("a", 2, "a2", Begun, None),
        run("a", 2, "a2", false),
        // The third one has left nothing.
        line("a", 3, "a3", Begun, None),
    ];
    let text = text.concat();
    assert_eq!(runs(&text), ["b1", "a2"]);
    let done = text.clone() + &run("a", 3, "a3", true) + &line("a", 3, "a3", Done, None);
    assert_eq!(runs(&done), ["b1", "a3"]);
    let folder = Folder::new();
    let found = validate(&folder.write("r.jsonl", &done)).unwrap();
    assert_eq!(found.problems, []);
    let replaced: Vec<bool> = found.runs.iter().map(|run| run.is_replaced).collect();
    assert_eq!(replaced, [true, false, true, false]);
    // Two results of one plan behind each other are two measurements.
    let one =
        line("a", 1, "x", Begun, None) + &run("a", 1, "x", true) + &line("a", 1, "x", Done, None);
    assert_eq!(runs(&(one.clone() + &one.replace("\"x\"", "\"y\""))), ["x", "y"]);
    assert_eq!(
        validate(&folder.write("two.jsonl", &(one.clone() + &one.replace("\"x\"", "\"y\""))))
            .unwrap()
            .problems,
        []
    );
}

/// Merged files, behind each other, are measurements of their own.
#[test]
fn runs_of_units_without_steps_replace_none() {
    let text = run("a", 1, "m1", true) + &run("b", 1, "m2", true) + &run("a", 1, "n1", true);
    assert_eq!(runs(&text), ["m1", "m2", "n1"]);
    let cut = line("a", 1, "a1", Begun, None) + &run("a", 1, "a1", false);
    assert_eq!(runs(&(cut + &text)), ["m1", "m2", "n1"]);
}

#[test]
fn attempts_that_were_cut_off_are_counted_and_those_that_a_signal_ended_are_not() {
    let error = |run_id: &str| {
        let event = "{\"type\":\"event\",\"run_id\":\"ID\",\"t_rel_s\":1.0,\"level\":\"error\",\
                     \"code\":\"rank_died\",\"rank\":1,\"message\":\"rank 1 was killed\",\"hint\":null}\n";
        event.replace("ID", run_id)
    };
    let cut = line("a", 1, "a1", Begun, None) + &run("a", 1, "a1", false) + &error("a1");
    let past = |text: &str| journal(text).units["a"].clone();
    let facts = |past: &Past| (past.state, past.n_begun, past.n_failed);
    assert_eq!(facts(&past(&cut)), (Begun, 1, 1));
    assert_eq!(past(&cut).reason.as_deref(), Some("rank 1 was killed"));
    let again = cut.clone() + &line("a", 2, "a2", Begun, None);
    assert_eq!(facts(&past(&again)), (Begun, 2, 2));
    assert_eq!(past(&again).reason, None, "the second attempt tells nothing");
    let by_signal = stopped("a", 2, "a2", "SIGTERM");
    let with_step = again.clone() + &by_signal + &line("a", 2, "a2", Stopped, Some("SIGTERM"));
    assert_eq!(facts(&past(&with_step)), (Stopped, 2, 1));
    assert_eq!(facts(&past(&(again.clone() + &by_signal))), (Begun, 2, 1), "also without the step");
    let by_guard = by_signal.replace("\"partial\"", "\"failed\"");
    assert_ne!(by_guard, by_signal);
    assert_eq!(facts(&past(&(again.clone() + &by_guard))), (Begun, 2, 1), "and by a guard");
    let by_time = stopped("a", 2, "a2", "time_limit");
    assert_eq!(facts(&past(&(again.clone() + &by_time))), (Begun, 2, 2));
    let done = again.clone() + &run("a", 2, "a2", true) + &line("a", 2, "a2", Done, None);
    assert_eq!(facts(&past(&done)), (Done, 2, 1));
    assert_eq!(
        past(&done).end.map(|(status, points)| (status, points.ok)),
        Some((EndStatus::Complete, 5))
    );
    let gone = again + &line("a", 2, "a2", Gone, Some("it was tried twice"));
    assert_eq!(facts(&past(&gone)), (Gone, 2, 2));
    assert_eq!(past(&gone).reason.as_deref(), Some("it was tried twice"));
    assert_eq!((journal(&gone).n_steps, journal(&gone).last), (3, Some(Gone)));
}

#[test]
fn steps_that_cannot_follow_are_problems() {
    let begun = line("a", 1, "a1", Begun, None);
    let done = line("a", 1, "a1", Done, None);
    let whole = begun.clone() + &run("a", 1, "a1", true) + &done;
    let folder = Folder::new();
    for (text, expected) in [
        (done.clone(), "the unit a ends, but was not begun"),
        (begun + &done, "the unit a is done, but there is no run of it"),
        (whole.clone() + &done, "the unit a is done twice"),
        (whole + &line("a", 2, "a2", Begun, None), "the unit a is begun again, but it is done"),
    ] {
        let problems = validate(&folder.write("r.jsonl", &text)).unwrap().problems;
        assert_eq!(problems.iter().map(|of| &*of.message).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn a_partial_last_line_is_cut_off_and_whole_ones_stay() {
    let folder = Folder::new();
    let text = line("a", 1, "a1", Begun, None) + &run("a", 1, "a1", false);
    let path = folder.write("r.jsonl", &(text.clone() + "{\"type\":\"po"));
    let file = File::options().read(true).append(true).open(&path).unwrap();
    let journal = Journal::resume(&file, &path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(journal.run.unwrap().of_suite, Some(of("a", 1)));
    assert!(Journal::resume(&file, &path).is_ok_and(|journal| !journal.is_empty));
    let path = folder.write("empty.jsonl", "{\"type\"");
    let file = File::options().read(true).append(true).open(&path).unwrap();
    assert!(Journal::resume(&file, &path).is_ok_and(|journal| journal.is_empty));
}

#[test]
fn what_differs_is_named_with_both_values() {
    let records = parse_records(run("a", 1, "a1", true).as_bytes()).unwrap().records;
    let Record::Run(before) = &records[0] else { panic!("the first record is the run") };
    let same = fixture::description();
    assert_eq!(differences(before, &same), []);
    let words = |here: &RunDescription| {
        let found = differences(before, here);
        found.iter().map(|of| (of.to_string(), of.is_environment)).collect::<Vec<_>>()
    };
    let mut here = same.clone();
    here.suite = Suite { version: "9.0.0".into(), ..here.suite };
    here.environment.variables.insert("OMPI_MCA_btl".into(), "tcp".into());
    let version = format!("program version was {}, here it is 9.0.0", same.suite.version);
    let variable = "variable OMPI_MCA_btl was unknown, here it is tcp".to_owned();
    assert_eq!(words(&here), [(version, false), (variable, true)]);
    let mut here = same.clone();
    here.transport.backend = Some("mpi".into());
    assert_eq!(words(&here)[0], ("transport was shm, here it is mpi".into(), false));
    let mut here = same;
    here.environment.machine.os.kernel = Some("9.9".into());
    assert!(words(&here)[0].1, "{:?}", words(&here));
}
