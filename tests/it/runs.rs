//! Runs that go through: what is measured where, what the record says, what the options change.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Folder, Records, kernel_id};

/// The twelve kernels of 1993, in alphabetical order.
const KERNELS: &str = "comet/barrier comet/broadcast comet/contention comet/echo comet/exchange \
                       comet/overlap comet/reduction matrix/col_broadcast matrix/row_broadcast \
                       matrix/shift matrix/transpose matrix/update_guard";

/// Definitions that a number may have.
const DEFINITIONS: [&str; 4] =
    ["D1 completion", "D3 test_node", "D4 half_round_trip", "D7 closed_by_barrier"];

/// Runs `line` to its end with `code`; the record must be valid and sound.
#[track_caller]
fn run(line: &str, code: i32) -> Records {
    let folder = Folder::new();
    folder.run(&format!("{line} --out r.jsonl")).code(code);
    folder.run("validate r.jsonl").well_formed();
    let records = folder.records("r.jsonl");
    check_shape(&records);
    records
}

/// One run, its points and its end, in this order, and nothing in a point that was not measured.
#[track_caller]
fn check_shape(records: &Records) {
    assert_eq!(records.of_type("run").count(), 1);
    assert_eq!(records.of_type("end").count(), 1);
    let (run, end) = (records.run(), records.end());
    assert_eq!(run["schema"], "comet.record/1");
    assert_eq!(run["run_id"], end["run_id"]);
    for (seq, point) in records.points().enumerate() {
        assert_eq!(point["seq"], seq, "{point}");
        assert_eq!(point["params"]["procs"], run["world"]["size"], "{point}");
        match point["status"].as_str() {
            Some("ok") => check_measured(point),
            _ => check_unmeasured(point),
        }
    }
}

/// A point with numbers: verified, defined, with all of its samples.
#[track_caller]
fn check_measured(point: &Value) {
    assert_eq!(point["check"]["status"], "pass", "{point}");
    assert_eq!(point["message"], Value::Null, "{point}");
    let value = &point["value"];
    let definition = value["definition"].as_str().expect("a number has a definition");
    assert!(DEFINITIONS.contains(&definition) && value["divisor"].as_u64() >= Some(1), "{point}");
    let samples = &point["samples"];
    let n_ranks = samples["ranks"].as_array().expect("a list of ranks").len();
    // Samples that were late for their window are kept, and make no value.
    let n_invalid = point["quality"]["invalid"].as_array().map_or(0, Vec::len);
    let n_of_rank = integer(&point["reps"]["n"]) + n_invalid;
    let n_samples = n_ranks * n_of_rank;
    assert_eq!(samples["shape"], json!([n_ranks, n_of_rank]), "{point}");
    assert_eq!(array(&samples["data"]).len(), n_samples, "{point}");
    assert_eq!(array(&point["starts_ns"]).len(), n_samples, "{point}");
    assert!(array(&samples["data"]).iter().all(|ns| ns.as_u64() > Some(0)), "{point}");
    let time = &point["time_ns"];
    assert!(time["min"].as_f64() > Some(0.0) && time["median"].as_f64() > Some(0.0), "{point}");
    let moves_bytes = value["bytes_per_op"].as_u64().is_some_and(|bytes| bytes > 0);
    assert_eq!(point["rate"].is_object(), moves_bytes, "{point}");
}

/// A point without numbers: none at all, and a sentence that says why.
#[track_caller]
fn check_unmeasured(point: &Value) {
    for name in ["variant", "value", "reps", "time_ns", "ranks_ns", "rate", "samples", "starts_ns"]
    {
        assert_eq!(point[name], Value::Null, "{name} in {point}");
    }
    assert_ne!(point["check"]["status"], "pass", "{point}");
    let message = point["message"].as_str().expect("there is a reason");
    let starts_small = message.starts_with(|c: char| c.is_lowercase());
    let is_sentence = starts_small && message.split_whitespace().count() > 2;
    assert!(is_sentence && !message.contains('\n'), "'{message}' is no sentence");
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn integer(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a count")).expect("it fits into memory")
}

/// Values that the points take for a field given as a path (`/params/hops`).
fn values<'a>(records: &'a Records, pointer: &'a str) -> BTreeSet<String> {
    let value = |point: &Value| point.pointer(pointer).map_or(String::new(), Value::to_string);
    records.points().map(value).collect()
}

fn statuses(records: &Records) -> BTreeSet<String> {
    values(records, "/status")
}

/// All kernels on `n_ranks` ranks: each is measured, unless these ranks do not admit it.
#[track_caller]
fn check_all(n_ranks: usize, expected_skipped: &str) {
    let options = "--profile quick -s 0,8,100,5000,70000 --samples 3";
    let records = run(&format!("all {options} -n {n_ranks}"), 0);
    assert!(records.kernels().iter().eq(KERNELS.split(' ')), "{:?}", records.kernels());
    assert_eq!(records.end()["status"], "complete");
    let is_ok = |point: &Value| point["status"] == "ok";
    let skipped = KERNELS.split(' ').filter(|id| !records.points_of(id).any(is_ok));
    assert_eq!(Vec::from_iter(skipped).join(" "), expected_skipped, "{n_ranks} ranks");
    let only = |status: &String| ["\"ok\"", "\"skipped\""].contains(&&**status);
    assert!(statuses(&records).iter().all(only), "{n_ranks} ranks: {:?}", statuses(&records));
    let pids: BTreeSet<u32> = records.pids().into_iter().collect();
    assert_eq!((pids.len(), integer(&records.run()["world"]["size"])), (n_ranks, n_ranks));
}

#[test]
fn a_single_rank_measures_what_needs_no_other() {
    let own = ["comet/barrier ", "comet/echo ", " matrix/update_guard"];
    let others = own.iter().fold(KERNELS.to_owned(), |others, own| others.replace(own, ""));
    check_all(1, &others);
}

#[test]
fn all_kernels_run_where_the_mesh_admits_them() {
    check_all(2, "comet/contention matrix/row_broadcast matrix/transpose");
    check_all(5, "matrix/row_broadcast matrix/transpose");
}

#[test]
fn all_kernels_run_on_any_mesh_of_rows_and_columns() {
    check_all(4, "comet/contention");
    check_all(9, "");
}

#[test]
fn other_suites_run_on_request() {
    for (suite, n_ranks, expected) in [
        ("naive", 5, "barrier broadcast reduction"),
        ("parkbench", 4, "comms1 comms2 comms3 poly1 poly3 synch1"),
    ] {
        let records = run(&format!("{suite} -n {n_ranks} --profile quick --samples 3"), 0);
        let expected = expected.split(' ').map(|name| format!("{suite}/{name}"));
        assert!(records.kernels().into_iter().eq(expected), "{:?}", records.kernels());
        assert_eq!(statuses(&records), BTreeSet::from(["\"ok\"".to_owned()]), "{suite}");
        if let Some(saturation) = records.points_of("parkbench/comms3").last() {
            assert_eq!(saturation["value"]["bytes_per_op"], 4 * 3 * (16 << 10));
        }
    }
}

#[test]
fn messages_longer_than_any_ring_are_measured() {
    let records = run("echo exchange broadcast -n 3 -s 9Mi --samples 1", 0);
    assert_eq!(records.kernels().len(), 3);
    assert_eq!(statuses(&records), BTreeSet::from(["\"ok\"".to_owned()]));
    assert_eq!(values(&records, "/params/length_bytes"), BTreeSet::from([(9 << 20).to_string()]));
}

#[test]
fn matrix_kernels_follow_the_mesh() {
    let check = |mesh: &str, rows: usize, cols: usize, skipped: &[&str]| {
        let records = run(&format!("matrix --mesh {mesh} --local-n 1,8 --samples 2"), 0);
        let found = &records.run()["world"]["mesh"];
        assert_eq!((integer(&found["rows"]), integer(&found["cols"])), (rows, cols));
        assert_eq!(values(&records, "/params/mesh_rows"), BTreeSet::from([rows.to_string()]));
        assert_eq!(values(&records, "/params/mesh_cols"), BTreeSet::from([cols.to_string()]));
        let left_out = records.points().filter(|point| point["status"] == "skipped");
        let left_out: BTreeSet<String> = left_out.map(kernel_id).collect();
        assert!(left_out.iter().eq(skipped), "{mesh}: {left_out:?}");
    };
    check("2x2", 2, 2, &[]);
    check("1x4", 1, 4, &["matrix/row_broadcast", "matrix/shift", "matrix/transpose"]);
    check("4x1", 4, 1, &["matrix/col_broadcast", "matrix/shift", "matrix/transpose"]);
}

#[test]
fn a_topology_file_sets_mesh_and_distances() {
    let folder = Folder::new();
    let hops = "[[0, 4, 2, 1], [4, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]";
    folder.write("t.json", &format!("{{\"mesh\": [[1, 0, 2, 3]], \"hops\": {hops}}}"));
    folder.run("echo shift --topology t.json -s 8 --local-n 2 --samples 2 --out r.jsonl").success();
    let records = folder.records("r.jsonl");
    check_shape(&records);
    let world = &records.run()["world"];
    assert_eq!(world["mesh"], json!({"rows": 1, "cols": 4, "order": "file", "map": [1, 0, 2, 3]}));
    let table: Value = serde_json::from_str(hops).expect("the table is JSON");
    assert_eq!(world["hops"], json!({"metric": "table", "diameter": 4, "table": table}));
    let echo: Vec<_> = records
        .points_of("comet/echo")
        .map(|point| (integer(&point["params"]["hops"]), point["status"].as_str()))
        .collect();
    let (ok, skipped) = (Some("ok"), Some("skipped"));
    assert_eq!(echo, [(0, ok), (1, ok), (2, ok), (3, skipped), (4, ok)]);
}

#[test]
fn ranks_run_where_they_are_bound() {
    let cpus = |bind: &str| -> Vec<String> {
        let records = run(&format!("barrier -n 3 --samples 1 --bind {bind}"), 0);
        assert_eq!(records.run()["config"]["bind"], bind);
        let ranks = array(&records.run()["world"]["ranks"]).iter();
        ranks.map(|rank| rank["cpus"].as_str().expect("Linux says it").to_owned()).collect()
    };
    let (bound, free) = (cpus("core"), cpus("none"));
    assert!(bound.iter().all(|cpu| cpu.parse::<usize>().is_ok()), "{bound:?}");
    assert!(free.iter().all(|cpus| *cpus == free[0]), "{free:?}");
    assert_eq!(cpus(&bound[0]), vec![bound[0].clone(); 3]);
    let list = format!("{},{}", bound[1], bound[0]);
    assert_eq!(cpus(&list), [&bound[1], &bound[0], &bound[1]].map(Clone::clone));
}

#[test]
fn labels_and_the_command_line_are_kept() {
    let line = "barrier -n 2 --samples 1 --label machine=tiger --label note=a=b";
    let records = run(line, 0);
    assert_eq!(records.run()["labels"], json!({"machine": "tiger", "note": "a=b"}));
    let argv: Vec<_> = array(&records.run()["argv"]).iter().filter_map(Value::as_str).collect();
    assert_eq!(argv[1..].join(" "), format!("{line} --out r.jsonl"));
}

#[test]
fn repetitions_and_samples_are_those_of_the_user() {
    let options = "-s 8 --hops 1 --local-n 4 --vector-lengths 10 --repetitions 7 --samples 4";
    let records = run(&format!("echo reduction transpose -n 4 {options}"), 0);
    let counts = |id| -> Vec<[usize; 2]> {
        let reps = records.points_of(id).map(|point| &point["reps"]);
        reps.map(|reps| [integer(&reps["n"]), integer(&reps["inner"])]).collect()
    };
    assert_eq!(counts("comet/echo"), [[4, 7]]);
    // One operation between two barriers, whatever the user asks for.
    assert_eq!(counts("comet/reduction"), [[4, 1]]);
    assert_eq!(counts("matrix/transpose"), [[4, 1]]);
}

#[test]
fn a_spent_budget_leaves_a_readable_part() {
    let records = run("all -n 2 --budget 1ns", 4);
    assert_eq!([&records.end()["status"], &records.end()["reason"]], ["partial", "time_limit"]);
    assert_eq!(records.points().count(), 0);
}

#[test]
fn spoiled_data_gives_no_numbers_and_spares_the_other_kernels() {
    let options = "-s 8,100 --local-n 2 --hops 1 --samples 2 --inject corrupt:comet/echo";
    let records = run(&format!("echo barrier transpose -n 4 {options}"), 3);
    let messages: Vec<_> =
        records.points_of("comet/echo").map(|point| point["message"].as_str()).collect();
    assert_eq!(messages.len(), 2);
    for (message, length_bytes) in messages.into_iter().zip([8, 100]) {
        let message = message.expect("there is a reason");
        let place = format!("byte {} of {length_bytes} of the echo", length_bytes - 1);
        assert!(message.starts_with("rank 0: ") && message.contains(&place), "{message}");
    }
    let failed = |point: &&Value| point["check"]["status"] == "fail";
    assert_eq!(records.points().filter(failed).count(), 2);
    for id in ["comet/barrier", "matrix/transpose"] {
        assert!(records.points_of(id).all(|point| point["status"] == "ok"), "{id}");
    }
    assert_eq!(records.end()["status"], "complete");
    assert_eq!(records.end()["points"]["check_failed"], 2);
}

#[test]
fn cases_beyond_the_memory_are_skipped_with_both_numbers() {
    let records = run("echo -n 2 -s 8,4Ki --hops 1 --samples 2 --mem 1Ki", 0);
    assert_eq!(statuses(&records), ["\"ok\"", "\"skipped\""].map(str::to_owned).into());
    let reason = records.points().find_map(|point| point["message"].as_str());
    let reason = reason.expect("a case was skipped");
    assert!(reason.ends_with("bytes of memory on each rank, 1024 are allowed (see --mem)"));
}

#[test]
fn contention_alone_measures_the_echo_that_it_needs() {
    let records = run("contention -n 8 --cast 0,7,1,3 --profile quick -s 100,5000 --samples 3", 0);
    assert!(records.kernels().iter().eq(["comet/contention", "comet/echo"]));
    for point in records.points_of("comet/contention") {
        assert_eq!(point["status"], "ok", "{point}");
        assert!(integer(&point["params"]["load_90_bytes"]) >= 100, "{point}");
    }
}

#[test]
fn ranks_that_admit_nothing_are_code_6() {
    // The echo that contention needs would run on one rank, but was not asked for.
    let records = run("exchange contention broadcast -n 1 --samples 2 -s 0", 6);
    assert_eq!(statuses(&records), BTreeSet::from(["\"skipped\"".to_owned()]));
    assert_eq!(records.end()["status"], "complete");
}

#[test]
fn nothing_is_left_behind_if_nothing_is_to_be_kept() {
    let folder = Folder::new();
    for format in ["table", "csv", "none"] {
        let line = format!("barrier -n 2 --samples 2 --quiet --out none --format {format}");
        let output = folder.run(&line).success();
        assert_eq!((folder.names(), output.stderr), (vec![], String::new()), "{format}");
        assert_eq!(output.stdout.is_empty(), format == "none", "{format}");
    }
    let kept = folder.run("barrier -n 2 --samples 2 --format none --out r.jsonl").success();
    assert_eq!((kept.stdout, folder.records("r.jsonl").points().count()), (String::new(), 1));
}

#[test]
fn results_go_to_a_new_file_in_the_results_folder() {
    let folder = Folder::new();
    let output = folder.run("barrier -n 2 --samples 2").success();
    let name = output.stderr.lines().find_map(|line| line.strip_prefix("results: "));
    let name = name.expect("the name is told");
    assert!(name.starts_with("comet-results/") && name.ends_with(".jsonl"), "{name}");
    check_shape(&folder.records(name));
}
