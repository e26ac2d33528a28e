//! By which method times are taken: definitions, rules and starts by command line, and what the
//! record says of them and of how good the numbers are.

use crate::support::{Folder, Output, Records};

#[track_caller]
fn run(line: &str) -> (Output, Records) {
    let folder = Folder::new();
    let output = folder.run(&format!("{line} --out r.jsonl")).success();
    folder.run("validate r.jsonl").success();
    (output, folder.records("r.jsonl"))
}

#[test]
fn times_are_by_the_definition_asked_for_or_by_that_of_the_kernel() {
    for (kernel, asked, expected) in [
        ("comet/broadcast", "D1", "D1 completion"),
        ("comet/broadcast", "max_local", "D2 max_local"),
        ("comet/broadcast", "D3", "D3 test_node"),
        ("comet/broadcast", "d5", "D5 loop_mean"),
        ("comet/broadcast", "D6", "D6 call_mean"),
        ("comet/broadcast", "D7", "D7 closed_by_barrier"),
        ("comet/broadcast", "D8", "D8 barrier_subtracted"),
        ("comet/broadcast", "release", "D9 release"),
        ("matrix/update_guard", "D1", "D1 completion"),
        ("comet/barrier", "D5", "D5 loop_mean"),
        // These do not admit it.
        ("comet/echo", "D5", "D4 half_round_trip"),
        ("comet/barrier", "D7", "D3 test_node"),
    ] {
        let line = format!("{kernel} -t sim -n 2 -s 8 --hops 1 --local-n 4 --samples 3");
        let (output, records) = run(&format!("{line} --definition {asked}"));
        let definitions = records.points().map(|point| &point["value"]["definition"]);
        assert!(definitions.eq([expected]), "{kernel} by {asked}: {output:#?}");
        let keeps_its_own = !expected.to_lowercase().contains(&asked.to_lowercase());
        assert_eq!(output.stderr.contains(kernel), keeps_its_own, "{output:#?}");
    }
}

#[test]
fn raw_samples_tell_what_was_subtracted_and_who_was_late() {
    let (_, records) = run("broadcast -t sim -n 2 -s 8 --samples 5 --definition D8");
    let point = records.points().next().expect("a point");
    let reference = point["reference_ns"].as_array().expect("barriers alone");
    assert_eq!(Some(reference.len()), point["samples"]["data"].as_array().map(Vec::len));
    let line = "reduction --machine ipsc860 -n 4 --vector-lengths 8 --samples 5 --sync window";
    let (_, records) = run(line);
    let point = records.points().next().expect("a point");
    assert_eq!(point["plan"]["sync"], "window");
    let late_ns = point["late_ns"].as_array().expect("windows opened");
    assert_eq!(Some(late_ns.len()), point["samples"]["data"].as_array().map(Vec::len));
}

#[test]
fn rules_are_recorded_with_what_they_quote() {
    for (rules, quote, definition) in [
        ("imb", "mean", "D6 call_mean"),
        ("osu", "mean", "D6 call_mean"),
        ("skampi", "middle_mean", "D2 max_local"),
        ("thesis", "corrected", "D3 test_node"),
    ] {
        let (_, records) =
            run(&format!("reduction -t sim -n 2 --vector-lengths 8 --rules {rules}"));
        let point = records.points().next().expect("a point");
        assert_eq!(records.run()["config"]["rules"], rules);
        assert_eq!(point["value"]["quote"], quote, "{rules}");
        assert_eq!(point["value"]["definition"], definition, "{rules}");
        let quoted = &point["quoted_ns"];
        assert!(quoted.is_null() || quoted.as_f64().is_some_and(|ns| ns > 0.0), "{point}");
    }
}

#[test]
fn a_point_of_the_default_profile_says_how_good_it_is() {
    let (_, records) = run("barrier -n 2 --launches 1");
    let point = records.points().next().expect("a point");
    let quality = &point["quality"];
    let n_slices = quality["slice_medians_ns"].as_array().expect("slices").len();
    assert!((10..=20).contains(&n_slices), "{n_slices} slices");
    let bound = |end: &str| quality["interval_ns"][end].as_f64().expect("an interval");
    let median = point["time_ns"]["median"].as_f64().expect("a median");
    assert!(bound("low") <= bound("high") && median > 0.0, "{quality}");
    assert_eq!(quality["interval_ns"]["method"], "interpolated_order_statistics");
    assert!(quality["converged"].is_boolean() && quality["is_steady"].is_boolean());
    assert!(quality["overhead_ns"]["clock"].as_f64().is_some_and(|ns| ns > 0.0), "{quality}");
    let clock = &records.run()["clock"];
    assert_eq!((clock["domains"].as_u64(), clock["bound_ns"].as_u64()), (Some(1), Some(0)));
    assert!(clock["gaps"]["n"].as_u64().is_some_and(|n| n > 1000), "{clock}");
}

#[test]
fn a_sweep_is_refined_where_it_switches_protocols() {
    let line = "echo --machine ipsc860 -n 2 --hops 1 -s 0,8,32,64,128,256,1Ki,4Ki,16Ki,64Ki \
                --repetitions 1 --refine verified";
    let (_, records) = run(line);
    let lengths: Vec<u64> =
        records.points().filter_map(|point| point["params"]["length_bytes"].as_u64()).collect();
    assert!(lengths.is_sorted_by(|a, b| a < b), "{lengths:?}");
    assert!((10..=140).contains(&lengths.len()), "{lengths:?}");
    assert!(lengths.contains(&100) && lengths.contains(&101), "{lengths:?}");
    assert!(records.points().all(|point| point["status"] == "ok"));
}

#[test]
fn a_warm_up_is_so_many_operations_before_the_samples_of_a_slice() {
    // Two slices of one sample; an echo of 8 bytes takes 168.08 us there and back.
    let line = "echo --machine ipsc860 -n 2 --hops 1 -s 8 --samples 2 --repetitions 10";
    let between_ns = |n: u64| {
        let (_, records) = run(&format!("{line} --warm-up {n}"));
        let starts_ns = &records.points().next().expect("a point")["starts_ns"];
        starts_ns[1].as_u64().expect("a time") - starts_ns[0].as_u64().expect("a time")
    };
    let cold_ns = between_ns(0);
    for n in [1, 5, 25] {
        assert_eq!(between_ns(n), cold_ns + n * 168_080, "--warm-up {n}");
    }
}
