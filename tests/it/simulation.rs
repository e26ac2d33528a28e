//! Simulated machines: the same commands in virtual time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Folder, machine};

#[test]
fn everything_runs_on_a_simulated_machine_and_is_verified() {
    let folder = Folder::new();
    folder.run("all -t sim -n 16 --profile quick -o a.jsonl --format none").success();
    folder.run("validate a.jsonl").success();
    let records = folder.records("a.jsonl");
    assert_eq!(records.run()["transport"]["backend"], "sim");
    assert_eq!(records.run()["seed"], 0);
    assert!(records.points().count() > 50);
    assert!(records.points().all(|point| point["status"] == "ok"));
}

#[test]
fn a_case_without_noise_is_measured_once_more_than_it_takes_to_see_its_value() {
    let folder = Folder::new();
    folder.run("barrier reduction -t sim -n 4 --sync barrier -o a.jsonl -q").success();
    for point in folder.records("a.jsonl").points() {
        // Two operations bring the ranks into step, and nothing is probed.
        let numbers = ["n", "rounds", "warmup"].map(|name| &point["reps"][name]);
        assert_eq!(numbers, [2, 1, 2], "{point}");
    }
}

#[test]
fn nothing_precedes_samples_that_start_in_windows() {
    let folder = Folder::new();
    folder.run("imb/alltoall imb/allreduce -t sim -n 4 -s 8 -o a.jsonl -q").success();
    for point in folder.records("a.jsonl").points() {
        assert_eq!(point["plan"]["sync"], "window", "{point}");
        let numbers = ["n", "rounds", "warmup"].map(|name| &point["reps"][name]);
        assert_eq!(numbers, [2, 1, 0], "{point}");
        assert_eq!(point["quality"]["warm_up_ns"]["operation"], Value::Null, "no probe: {point}");
        assert_eq!(point["time_ns"]["min"], point["time_ns"]["max"], "{point}");
    }
    // Links are idle when a window opens, whatever precedes it.
    let times = |file: &str, warm_up: &str| {
        let run = "imb/alltoall -t sim -n 64 -s 1Ki --axis algorithm=pairwise";
        folder.run(&format!("{run} {warm_up} -o {file} -q")).success();
        let records = folder.records(file);
        records.points().map(|point| point["time_ns"]["median"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(times("b.jsonl", ""), times("c.jsonl", "--warm-up 3"));
}

#[test]
fn the_same_simulation_gives_the_same_values_and_another_seed_others() {
    let folder = Folder::new();
    let noise = "[noise]\nseed = 1\n[[noise.source]]\nkind = \"log_normal\"\nsigma = \"5 %\"\n";
    folder.write("noisy.toml", &machine(1.0, noise));
    // All lines but the last, which has the time that the run took.
    let values = |line: &str| {
        let output = folder.run(&format!("{line} -o none -s 8 --samples 20")).success().stdout;
        let (values, _) = output.split_once("done: ").expect("a run ends");
        values.to_owned()
    };
    let first = values("echo --machine ./noisy.toml -n 2");
    assert_eq!(first, values("echo --machine ./noisy.toml -n 2"));
    assert_ne!(first, values("echo --machine ./noisy.toml -n 2 --seed 2"));
}

/// A machine on which a message of n bytes takes 1370 ns + 0.8 n ns, and a reading of the clock 23 ns.
const CLOCKED: &str = "format = 1\nname = \"clocked\"\ntopology = { kind = \"flat\" }\n\
                       [[protocol]]\nkind = \"eager\"\nt0 = \"1370 ns\"\nper_byte = \"0.8 ns/B\"\n\
                       [clock]\ncall_cost = \"23 ns\"\n\
                       [[noise.source]]\nkind = \"log_normal\"\nsigma = \"3 %\"\n";

#[test]
fn intervals_and_ranges_hold_the_truth_where_a_clock_takes_time() {
    let folder = Folder::new();
    folder.write("clocked.toml", CLOCKED);
    let (mut n_points, mut n_held, mut n_starts_held) = (0, 0, 0);
    for seed in 1..=60 {
        let machine = format!("--machine ./clocked.toml -n 2 --seed {seed}");
        let line = format!("echo {machine} --hops 1 -s 0,1..4Ki*4 --time 20ms -q -o {seed}.jsonl");
        folder.run(&line).success();
        let records = folder.records(&format!("{seed}.jsonl"));
        for point in records.points() {
            let interval = &point["quality"]["interval_ns"];
            let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
            let true_ns = 1370.0 + 0.8 * point["params"]["length_bytes"].as_f64().unwrap();
            n_points += 1;
            n_held += usize::from(low <= true_ns && true_ns <= high);
        }
        let model = records.of_type("model").next().expect("a line");
        let t0 = &model["fits"][0]["parameters"][0];
        assert_eq!(t0["name"], "t0");
        let [low, high] = ["low", "high"].map(|end| t0[end].as_f64().expect("a range"));
        n_starts_held += usize::from(low <= 1.37 && 1.37 <= high);
    }
    // Without the clock in their lower ends they held about half of the times, and no startup time.
    assert!(n_held * 100 >= n_points * 93, "{n_held} of {n_points}");
    assert!(n_starts_held >= 54, "{n_starts_held} of 60");
}

#[test]
fn one_run_measures_cases_on_several_numbers_of_ranks() {
    let folder = Folder::new();
    for transport in ["sim", "shm"] {
        let ranks = format!("-t {transport} -n 4 --axis procs=2..4*2 --samples 3 --repetitions 1");
        let run =
            folder.run(&format!("barrier transpose --local-n 8 {ranks} -o {transport}.jsonl"));
        let is_noted = run.stderr.contains("algorithms, as in suite naive");
        assert_eq!(is_noted, transport == "shm", "{run:#?}");
        let run = run.success().prints("# comet/barrier, 2 ranks\n");
        run.prints("# comet/barrier, 4 ranks\n").prints("# matrix/transpose, 4 ranks\n");
        folder.run(&format!("validate {transport}.jsonl")).success();
        let records = folder.records(&format!("{transport}.jsonl"));
        let params = |name: &'static str| records.points().map(move |point| &point["params"][name]);
        assert_eq!(Vec::from_iter(params("procs")), [2, 4, 2, 4], "{transport}");
        // The mesh of two ranks has one row, on which transpose sends nothing.
        assert_eq!(Vec::from_iter(params("mesh_rows").skip(2)), [1, 2], "{transport}");
        let status = records.points().map(|point| &point["status"]);
        assert_eq!(Vec::from_iter(status), ["ok", "ok", "skipped", "ok"], "{transport}");
    }
}

#[test]
fn distances_are_kept_of_as_many_ranks_as_a_person_reads() {
    let folder = Folder::new();
    folder.run("barrier --machine t3e -n 128,129 --profile quick -o r.jsonl").success();
    let records = folder.records("r.jsonl");
    let tables: Vec<_> = records.of_type("run").map(|run| &run["world"]["hops"]["table"]).collect();
    assert!(matches!(tables[..], [Value::Array(_), Value::Null]), "{tables:?}");
}

#[test]
fn groups_of_ranks_run_a_case_at_once() {
    let folder = Folder::new();
    for transport in ["sim", "shm"] {
        let groups = "--axis procs=2,4 --axis groups=1,max --samples 3 --repetitions 1 --hops 1";
        let run = folder.run(&format!("exchange -s 8 -t {transport} -n 5 {groups} -o {transport}"));
        run.success().prints("# comet/exchange, 2 groups of 2 ranks\n");
        folder.run(&format!("validate {transport}")).success();
        let records = folder.records(transport);
        let params = |point: &Value| {
            [&point["params"]["procs"], &point["params"]["groups"]].map(Value::as_u64)
        };
        let found: Vec<_> = records.points().map(params).collect();
        let expected = [[Some(2), None], [Some(2), Some(2)], [Some(4), None]];
        assert_eq!(found, expected, "{transport}");
        let ranks = records.points().map(|point| point["samples"]["ranks"].clone());
        let expected = [json!([0]), json!([0, 2]), json!([0])];
        assert_eq!(Vec::from_iter(ranks), expected, "{transport}");
        // What does not fit is skipped, with its reason.
        let run = folder
            .run(&format!("plan exchange -s 8 -t {transport} -n 5 --axis groups=3 --axis procs=2"));
        run.prints("skips").prints("needs at least 6 ranks, there are 5");
    }
}

#[test]
fn a_check_runs_with_and_without_buffers() {
    let output = Folder::new().run("check -t sim -n 3 --machine hbv2-hdr").success();
    let output = output.prints("3 ranks over sim, all messages buffered");
    output.prints("3 ranks over sim, no message buffered");
}

#[test]
fn a_dead_rank_ends_a_simulation_as_it_ends_a_job() {
    let folder = Folder::new();
    folder.write(
        "deadly.toml",
        &machine(1.0, "[fault]\ndead_rank = [{ rank = 2, at = \"10 us\" }]\n"),
    );
    let output = folder.run("barrier --machine ./deadly.toml -n 4 -o a.jsonl").code(1);
    output.notes("rank 2 died at t = 10.000 us");
    folder.run("validate a.jsonl").code(4);
    assert_eq!(folder.records("a.jsonl").end()["status"], "failed");
    // Nobody takes leave of the outputs where rank 0 is the one.
    folder.write(
        "headless.toml",
        &machine(1.0, "[fault]\ndead_rank = [{ rank = 0, at = \"20 ms\" }]\n"),
    );
    folder
        .run("barrier echo --sizes 1Mi --samples 3 --repetitions 1 --machine ./headless.toml -n 4 -o b.jsonl")
        .code(1)
        .notes("rank 0 died");
    folder.run("validate b.jsonl").code(4);
    let records = folder.records("b.jsonl");
    assert_eq!(
        (records.end()["status"].as_str(), records.points().count() > 0),
        (Some("failed"), true)
    );
}

#[test]
fn the_machines_are_listed_with_their_numbers() {
    let output = Folder::new().run("machines").success();
    output.prints("ipsc860-fit      hypercube      16     79.00       2.4");
    Folder::new().run("machines t3e").success().prints("cites    ");
}

#[test]
fn times_that_vary_take_an_echo_out_of_step_with_its_load() {
    let folder = Folder::new();
    let line = "contention -t sim -n 8 --sizes 0..100+4 --profile quick -q";
    let n_distinct = |option: &str, name: &str| {
        let output = folder.run(&format!("{line} {option} --out {name}")).success();
        let records = folder.records(name);
        let loaded = records.points().filter(|point| point["variant"] == "ninety_load");
        let times = Vec::from_iter(loaded.map(|point| point["time_ns"]["median"].to_string()));
        (output, times.len(), BTreeSet::from_iter(times).len())
    };
    let (output, n_points, n_times) = n_distinct("", "a.jsonl");
    assert!(n_times < n_points, "without noise, {n_times} of {n_points} are distinct");
    assert!(output.stderr.is_empty(), "a quiet run notes nothing: {}", output.stderr);
    let (_, n_points, n_times) = n_distinct("--unsteady 10", "b.jsonl");
    assert_eq!(n_times, n_points, "distinct times with noise");
    folder.run("contention -t sim -n 8 --sizes 8").success().notes("phase-locked");
}

/// A network on whose links long messages of a load hold up short echoes.
const SHARED: &str = include_str!("machines/shared.toml");

/// Times of an empty echo without load and at ninety per cent load, and the lengths of both loads.
fn under_load(more: &str, options: &str) -> ([f64; 2], [Value; 2]) {
    let folder = Folder::new();
    folder.write("shared.toml", &format!("{SHARED}{more}"));
    let line = "contention --machine ./shared.toml -n 15 -s 0,64,4Ki,64Ki -q --format none";
    folder.run(&format!("{line} {options} -o r.jsonl")).success();
    let records = folder.records("r.jsonl");
    let of = |series: &str| {
        let is_meant =
            |point: &&Value| point["variant"] == series && point["params"]["length_bytes"] == 0;
        records.points_of("comet/contention").find(is_meant).expect("a point").clone()
    };
    let [idle, loaded] = ["idle", "ninety_load"].map(of);
    assert_eq!(loaded["value"]["quote"], "slice_mean", "{loaded}");
    let loads = ["load_50_bytes", "load_90_bytes"].map(|name| loaded["params"][name].clone());
    ([idle, loaded].map(|point| point["quoted_ns"].as_f64().expect("a time")), loads)
}

#[test]
fn the_slowdown_under_load_follows_from_no_number_of_repetitions_and_no_clock() {
    let costly = "[clock]\ncall_cost = \"31 ns\"\n";
    let mut factors = Vec::new();
    for (clock, options) in [
        ("", "--profile quick --repetitions 1"),
        ("", "--profile quick --repetitions 2"),
        ("", "--repetitions 1"),
        ("", "--repetitions 8"),
        ("", "--profile quick"),
        (costly, "--profile quick"),
    ] {
        let ([idle_ns, loaded_ns], loads) = under_load(clock, options);
        assert_eq!(loads, [4096, 65_536], "{options}");
        factors.push((loaded_ns / idle_ns, options));
    }
    let [least, most] = [f64::min, f64::max].map(|of| factors.iter().map(|f| f.0).reduce(of));
    assert!(most < least.map(|least| 1.1 * least), "{factors:?}");
}
