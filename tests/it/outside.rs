//! `launches`: a command that is started several times, as the launches of one run.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Folder, OBEYS, Running, eventually, rows_of, send, through_env};

const PROGRAM: &str = env!("CARGO_BIN_EXE_comet-run");
/// A measurement of one point on two ranks.
const BARRIER: &str = "barrier -n 2 --profile quick";
/// A simulated one, of times that vary.
const NOISY: &str = "echo --machine ipsc860 -n 2 --hops 1 -s 8 --unsteady 50";

/// A command that does the first of `commands` at its first launch, and the last from then on.
fn in_turn(folder: &Folder, commands: [&str; 2]) -> &'static str {
    let [first, then] = commands;
    folder.write("turn.sh", &format!("[ -e turned ] && exec {then}\ntouch turned\nexec {first}\n"));
    "sh turn.sh"
}

/// Starts `launches` of `command` with `options`, in a process that obeys signals.
fn start(folder: &Folder, options: &str, command: &str) -> Running {
    let command = folder.command(&format!("launches {options} -- {command}"));
    Running::new(through_env(&command, OBEYS))
}

#[test]
fn jobs_make_the_file_and_the_table_of_a_run_with_launches() {
    let folder = Folder::new();
    let echo = format!("{PROGRAM} echo -n 2 --hops 1 -s 8,1Ki --profile quick");
    let output = folder.run(&format!("launches -n 3 --out r.jsonl -- {echo}")).success();
    output.prints("median_us    +-%").prints("\ndone: 2 ok, ").notes("launch 3 of 3\n");
    assert_eq!(folder.names(), ["r.jsonl"], "the files of the launches are gone");
    folder.assert_three_launches("r.jsonl");
    let records = folder.records("r.jsonl");
    assert_eq!(records.of_type("run").count(), 1);
    let run = records.run();
    assert_eq!((&run["config"]["launches"], &run["argv"][1]), (&3.into(), &"launches".into()));
    for point in records.points() {
        assert_eq!(point["quality"]["interval_ns"]["method"], "student_t_of_logarithms");
        assert_eq!((&point["launch"], &point["samples"]), (&Value::Null, &Value::Null));
    }
    let has_samples = |line: &Value| line["samples"]["data"].is_array();
    assert!(records.of_type("launch").all(has_samples), "they stay with the launches");
    let times = records.of_type("launch").map(|line| line["t_rel_s"].as_f64().expect("a time"));
    let times: Vec<f64> = times.chain(records.end()["wall_s"].as_f64()).collect();
    assert!(times.is_sorted(), "{times:?} since the start of the first launch");
    folder.run("validate r.jsonl").success().prints(": complete (2 points ok");
    folder.run("show r.jsonl").success().prints("median_us    +-%");
}

#[test]
fn the_records_on_standard_output_are_those_of_the_file() {
    let folder = Folder::new();
    let line = format!("launches -n 2 --out r.jsonl --format jsonl -- {PROGRAM} {NOISY}");
    let output = folder.run(&line).success();
    assert_eq!(output.stdout, folder.read("r.jsonl"));
    let line = format!("launches -n 2 --out none --format csv -- {PROGRAM} {NOISY}");
    folder.run(&line).success().prints("kernel");
    assert_eq!(folder.names(), ["r.jsonl"]);
}

#[test]
fn launches_of_a_simulation_have_seeds_of_their_own_and_more_follow_for_a_target() {
    let folder = Folder::new();
    let options = "launches -n 3 --target";
    folder.run(&format!("{options} 50 -o narrow.jsonl -- {PROGRAM} {NOISY}")).success();
    assert_eq!(folder.launches("narrow.jsonl").len(), 3, "they suffice");
    let line = format!("{options} 0.01 -o wide.jsonl -- {PROGRAM} {NOISY}");
    folder.run(&line).success().prints("short of --target");
    assert_eq!(folder.launches("wide.jsonl").len(), 12, "four times as many at the most");
    let records = folder.records("wide.jsonl");
    let point = records.points().next().expect("a point");
    let figures = point["launches"]["quoted_ns"].as_array().expect("figures");
    let figures: BTreeSet<String> = figures.iter().map(ToString::to_string).collect();
    assert_eq!(figures.len(), 12, "{figures:?}");
}

#[test]
fn each_launch_counts_in_a_comparison() {
    let folder = Folder::new();
    for (name, per_byte_ns) in [("base", 1.0), ("slower", 1.5)] {
        folder.write(&format!("{name}.toml"), &crate::support::machine(per_byte_ns, ""));
        let echo = "-n 2 --hops 1 -s 64Ki --unsteady 2 -q";
        let command = format!("{PROGRAM} echo --machine ./{name}.toml {echo}");
        folder.run(&format!("launches --format none --out {name}.jsonl -- {command}")).success();
    }
    let line = "compare base.jsonl --to slower.jsonl --allow-env-diff";
    folder.run(&format!("{line} --json c.json")).code(10).prints("slower");
    folder.run("compare base.jsonl --to base.jsonl").code(2).notes("hold the same run");
    let json: Value = serde_json::from_str(&folder.read("c.json")).expect("it is JSON");
    let point = &json["points"][0];
    assert_eq!((&point["n_base"], &point["n_new"]), (&5.into(), &5.into()), "{json}");
}

#[test]
fn a_signal_ends_the_run_with_the_launches_so_far() {
    let folder = Folder::new();
    let running = start(&folder, "--over 1h -o between.jsonl", &format!("{PROGRAM} {BARRIER}"));
    folder.await_launch("between.jsonl");
    send("INT", running.pid());
    running.wait().code(130).prints("stopped early: SIGINT");
    let slow = format!("{PROGRAM} echo --profile full -n 2 --time 20s");
    let command = in_turn(&folder, [&format!("{PROGRAM} {BARRIER}"), &slow]);
    let running = start(&folder, "-o within.jsonl", command);
    folder.await_launch("within.jsonl");
    let has_log = || folder.path.join("within.launches/2.log").exists();
    eventually("the second launch", has_log);
    send("TERM", running.pid());
    running.wait().code(143).prints("stopped early: SIGTERM");
    for (name, reason) in [("between", "SIGINT"), ("within", "SIGTERM")] {
        let records = folder.records(&format!("{name}.jsonl"));
        assert_eq!(
            (&records.end()["status"], &records.end()["reason"]),
            (&"partial".into(), &reason.into())
        );
        assert_eq!(records.points_of("comet/barrier").count(), 1);
        folder.run(&format!("validate {name}.jsonl")).code(4).prints(": partial (");
        assert!(!folder.path.join(format!("{name}.launches")).exists());
    }
    let command = start(&folder, "-o none", "sleep 100");
    eventually("the first launch", || command.stderr().contains("launch 1 of 5"));
    send("INT", command.pid());
    command.wait().code(130).notes("launch 1: ended by SIGINT, with no results");
}

#[test]
fn a_run_that_is_killed_has_the_points_of_its_launches() {
    let folder = Folder::new();
    let running = start(&folder, "--over 1h -o r.jsonl", &format!("{PROGRAM} {BARRIER}"));
    folder.await_launch("r.jsonl");
    send("KILL", running.pid());
    running.wait();
    folder.run("validate r.jsonl").code(4);
    folder.run("show r.jsonl").success().prints("# comet/barrier").prints("# no end: ");
}

#[test]
fn a_launch_that_fails_leaves_the_points_of_those_before() {
    let folder = Folder::new();
    let barrier = format!("{PROGRAM} {BARRIER}");
    let command = in_turn(&folder, [&barrier, &format!("{PROGRAM} --nonsense")]);
    let output = folder.run(&format!("launches -o r.jsonl -- {command}")).code(1);
    let output =
        output.prints("# comet/barrier, 2 ranks").notes("error: launch 2: 'sh turn.sh' failed");
    output
        .notes("exit status: 2, and said last: ")
        .notes("r.launches/2.log")
        .notes("the files of the launches are in ");
    assert!(folder.path.join("r.launches/1.jsonl").exists());
    let records = folder.records("r.jsonl");
    assert_eq!((&records.end()["status"], records.points().count()), (&"failed".into(), 1));
    let failed = records.of_type("event").find(|event| event["code"] == "launch_failed");
    let message = failed.and_then(|event| event["message"].as_str()).expect("an event");
    assert!(message.contains("exit status: 2"), "{message}");
    folder.run("validate r.jsonl").code(4).prints(": failed (1 point ok");
}

#[test]
fn what_is_no_launch_is_refused() {
    let folder = Folder::new();
    folder.run(&format!("{NOISY} -q --format none -o stored.jsonl")).success();
    let rows = "
        true                                 => 'true' left no results in
        no-such-command                      => cannot start 'no-such-command' (is it in PATH?)
        cp stored.jsonl {out}                => it made several launches itself, expected 1
        PROGRAM barrier -t sim -n 2..4*2     => it measured 2 runs, expected 1
        PROGRAM NOISY --launches 2           => it made several launches itself, expected 1
        PROGRAM NOISY --seed 7               => launch 2: it repeated the seed 7 of the first launch
    ";
    for (command, words) in rows_of(rows) {
        let command = command.replace("PROGRAM", PROGRAM).replace("NOISY", NOISY);
        let output = folder.run(&format!("launches -n 2 --out none -- {command}"));
        assert!(matches!(output.code, Some(1 | 2)), "{output:#?}");
        output.notes(words).notes("error: launch ").notes("the files of the launches are in ");
    }
    let on = |n_ranks: u32| format!("{PROGRAM} barrier -t sim -n {n_ranks} --launches 1");
    let command = in_turn(&folder, [&on(2), &on(3)]);
    let output = folder.run(&format!("launches -n 2 --out none -- {command}")).code(2);
    output.notes("it ran on 3 ranks over sim").notes("the first launch on 2 ranks over sim");
    let output = folder.run("launches --timeout 100ms --out none -- sleep 100").code(1);
    output.notes("'sleep 100' took longer than 100ms");
    folder.refuses(
        "launches                                 => COMMAND
         launches --out stored.jsonl -- true      => stored.jsonl is there already
         launches --format junit -- true          => is made of whole runs
         launches -n 0 -- true                    => 0",
    );
    let mut command = folder.command("launches -- true");
    command.envs([("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")]);
    Running::new(command).wait().code(5).notes("started launches, which starts jobs itself");
}

#[test]
fn sk_62_files_of_one_command_line_are_merged() {
    let folder = Folder::new();
    for seed in 1..=3 {
        folder
            .run(&format!("{NOISY} --seed {seed} --launches 1 --out {seed}.jsonl --quiet"))
            .success();
    }
    let merged = folder.run("merge 1.jsonl 2.jsonl 3.jsonl -o m.jsonl").success();
    merged.notes("note: 3 launches from 3 files");
    folder.run("validate m.jsonl").success();
    let point = |name: &str| {
        folder.records(name).of_type("point").next().expect("there is a point").clone()
    };
    let mut figures: Vec<f64> = (1..=3)
        .map(|seed| point(&format!("{seed}.jsonl"))["quoted_ns"].as_f64().expect("a figure"))
        .collect();
    figures.sort_by(f64::total_cmp);
    let of_all = point("m.jsonl");
    assert_eq!(of_all["quoted_ns"].as_f64(), Some(figures[1]));
    assert_eq!(of_all["launches"]["quoted_ns"].as_array().map(Vec::len), Some(3));
    let merged = folder.records("m.jsonl");
    assert_eq!(merged.run()["config"]["merged"][2]["file"], "3.jsonl");
    folder.run("barrier -t sim -n 2 --out other.jsonl --quiet").success();
    folder.refuses(
        r#"
        merge 1.jsonl 2.jsonl -o 2.jsonl      => 2.jsonl is one of the result files, and would be overwritten
        merge 1.jsonl 2.jsonl -o 3.jsonl      => 3.jsonl is there already
        merge 1.jsonl 1.jsonl -o new.jsonl    => hold the same run
        merge 1.jsonl other.jsonl -o new.jsonl => other.jsonl differs from 1.jsonl:
        merge 1.jsonl -o new.jsonl            => 2 values required
        "#,
    );
}

/// Every start of a suite in simulation has a seed of its own, which is in its effective suite.
#[test]
fn sk_62_suites_of_several_seeds_are_merged() {
    let folder = Folder::new();
    let measure = "measure = [{ kernel = 'echo', hops = 1, length_bytes = 8 }]\n";
    folder.write("a.toml", measure);
    let run = format!("suite run a.toml {}", NOISY.split_once(' ').expect("options").1);
    for seed in 1..=3 {
        folder.run(&format!("{run} --seed {seed} -o {seed}.jsonl")).success();
    }
    folder
        .run("merge 1.jsonl 2.jsonl 3.jsonl -o m.jsonl")
        .success()
        .notes("note: 36 launches from 3 files");
    folder.run(&format!("{run} --seed 1 -o again.jsonl")).success();
    folder.refuses(
        "merge 1.jsonl again.jsonl -o new.jsonl => again.jsonl simulates seed 1 once more, as a \
         file before it (measure each with its own --seed NUMBER)",
    );
}
