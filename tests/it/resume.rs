//! Suites that go on where they were cut off: what is measured again, what is refused, and who is told.

use serde_json::Value;

use crate::support::{Folder, OBEYS, Running, eventually, send, through_env};

/// Three units in virtual time.
const SMALL: &str = include_str!("suites/units.toml");

/// A short unit, one of some seconds, and a short one, over shared memory.
const LONG: &str = include_str!("suites/long.toml");

/// The steps of `r.jsonl`: unit, attempt and state of each.
fn steps(folder: &Folder) -> Vec<String> {
    let records = folder.records("r.jsonl");
    let steps = records.of_type("unit").map(|step| {
        let text = |name: &str| step[name].as_str().expect("a text").to_owned();
        format!("{} {} {}", text("unit"), step["attempt"], text("state"))
    });
    steps.collect()
}

/// Ids of the runs of `r.jsonl` with their units.
fn runs(folder: &Folder) -> Vec<(String, String)> {
    let records = folder.records("r.jsonl");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let runs = records.of_type("run");
    runs.map(|run| (text(&run["of_suite"]["unit"]), text(&run["run_id"]))).collect()
}

const UNITS: [&str; 3] =
    ["a, 4 ranks", "b, varied: length_bytes, 4 ranks", "b, varied: procs, 4 ranks"];

/// SK-60, and SK-61: the same command goes on, or begins another file.
#[test]
fn a_suite_that_was_cut_off_goes_on_and_measures_nothing_again() {
    let folder = Folder::new();
    folder.write("a.toml", SMALL);
    let output = folder.run("suite run a.toml -o r.jsonl").success();
    assert!(!output.stderr.contains("over already"), "{}", output.stderr);
    let whole = folder.read("r.jsonl");
    let of_each = UNITS.map(|unit| [format!("{unit} 1 begun"), format!("{unit} 1 done")]);
    assert_eq!(steps(&folder), of_each.concat());
    let first = runs(&folder)[0].clone();
    let points = folder.run("show r.jsonl --format csv").success().stdout;
    // In the middle of a line of the second unit.
    let cut = whole.match_indices("{\"type\":\"point\"").nth(3).expect("a point").0 + 50;
    folder.write("r.jsonl", &whole[..cut]);
    folder.run("validate r.jsonl").code(4);
    let output = folder.run("suite run a.toml -o r.jsonl").success();
    output.notes("note: 1 of 3 units are over already (all anew: --again)").notes("attempt 2");
    let text = folder.read("r.jsonl");
    let kept = whole[..cut].rfind('\n').expect("whole lines");
    assert!(text.starts_with(&whole[..=kept]), "whole lines stay");
    let [_, second, third] = UNITS;
    let expected = [
        format!("{} 1 begun", UNITS[0]),
        format!("{} 1 done", UNITS[0]),
        format!("{second} 1 begun"),
        // Suspects come last.
        format!("{third} 1 begun"),
        format!("{third} 1 done"),
        format!("{second} 2 begun"),
        format!("{second} 2 done"),
    ];
    assert_eq!(steps(&folder), expected);
    assert_eq!(runs(&folder).iter().filter(|(unit, _)| unit == UNITS[0]).count(), 1);
    assert_eq!(runs(&folder)[0], first);
    folder.run("validate r.jsonl").success().prints(", replaced by a later attempt (");
    let sorted = |text: &str| {
        let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
        rows.sort();
        rows.len()
    };
    assert_eq!(sorted(&folder.run("show r.jsonl --format csv").stdout), sorted(&points));
    // Once more there is nothing to do.
    let output = folder.run("suite run a.toml -o r.jsonl").success();
    output.notes("note: 3 of 3 units are over already");
    assert_eq!(folder.read("r.jsonl"), text);
    folder.run("suite run a.toml -o r.jsonl --again -q").success();
    assert_eq!(folder.names(), ["a.toml", "r-2.jsonl", "r.jsonl"]);
    assert_eq!(folder.records("r-2.jsonl").of_type("run").count(), 3);
}

#[test]
fn a_result_can_be_measured_again_without_its_file() {
    let folder = Folder::new();
    folder.write("more.toml", SMALL);
    folder.write(
        "a.toml",
        "include = 'more.toml'\n[machine]\nnetwork = 'cube'\n[defaults]\nranks = 2\n",
    );
    folder.run("suite run a.toml -o r.jsonl -q --hops 1 --axis length_bytes=32").success();
    let records = folder.records("r.jsonl");
    let run = records.of_type("run").next().expect("a run");
    let lines = run["of_suite"]["lines"].as_array().expect("lines").iter();
    let text: String = lines.map(|line| line.as_str().expect("a line").to_owned() + "\n").collect();
    assert!(
        text.contains("network = \"cube\"") && text.contains("length_bytes = \"32\""),
        "{text}"
    );
    folder.write("again.toml", &text);
    // It is the same plan, of which nothing is left.
    folder.run("suite run again.toml -o r.jsonl").success().notes("note: 2 of 2 units are over");
}

#[test]
fn another_plan_program_or_transport_is_refused_with_the_difference() {
    let folder = Folder::new();
    folder.write("a.toml", SMALL);
    folder.run("suite run a.toml -o r.jsonl -q").success();
    let whole = folder.read("r.jsonl");
    let refused = |line: &str, difference: &str| {
        let before = folder.read("r.jsonl");
        let stderr = folder.run(line).code(2).stderr;
        assert!(stderr.contains(difference), "{line}: {stderr}");
        assert_eq!(folder.read("r.jsonl"), before);
    };
    let line = "suite run a.toml -o r.jsonl";
    let start = "error: cannot go on with r.jsonl: ";
    let plan = "it is of another plan, which has 'ranks = \"4\"' in line";
    refused(&format!("{line} -n 2"), &format!("{start}{plan}"));
    refused(&format!("{line} --machine t3e"), "it is of another plan, which has 'ranks");
    let change = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        folder.write("r.jsonl", &whole.replace(from, to));
    };
    change("\"backend\":\"sim\"", "\"backend\":\"mpi\"");
    refused(line, &format!("{start}transport was mpi, here it is sim (measure as before, or into"));
    change("\"machine_sha256\":\"", "\"machine_sha256\":\"0");
    refused(line, &format!("{start}transport machine_sha256 was 0"));
    change("\"profile\":\"debug\"", "\"profile\":\"release\"");
    refused(line, &format!("{start}program profile was release, here it is debug"));
    change("a, 4 ranks", "a, 8 ranks");
    refused(line, &format!("{start}its unit 'a, 8 ranks' is none of these ranks"));
    folder.run("run echo -n 2 -t sim -o run.jsonl -q --profile quick --repetitions 1").success();
    let sentence = "run.jsonl is there already, and holds no suite that can go on (name another";
    refused("suite run a.toml -o run.jsonl", sentence);
    folder.write("text.jsonl", "no record\n");
    refused("suite run a.toml -o text.jsonl", "text.jsonl, line 1: ");
    // Nor is anything of another's file cut off.
    let torn = folder.read("run.jsonl") + "{\"type\":\"poi";
    for (name, text) in [("bare.jsonl", "no record"), ("torn.jsonl", &*torn)] {
        folder.write(name, text);
        refused(&format!("suite run a.toml -o {name}"), &format!("{name} is there already, and"));
        assert_eq!(folder.read(name), text);
    }
}

/// A suite in the middle of its long unit, with `words` of its command line.
fn at_the_long_unit(folder: &Folder, words: &str) -> Running {
    let command =
        folder.command(&format!("suite run long.toml -o r.jsonl --progress plain {words}"));
    let mut running = Running::new(through_env(&command, OBEYS));
    eventually("the long unit", || {
        assert_eq!(running.status(), None, "{}", running.stderr());
        running.stderr().contains("%] comet/exchange")
    });
    running
}

/// Process numbers of the ranks of the last run in `r.jsonl`.
fn last_pids(folder: &Folder) -> Vec<u64> {
    let text = folder.read("r.jsonl");
    let run = text.lines().rfind(|line| line.starts_with("{\"type\":\"run\"")).expect("a run");
    let run: Value = serde_json::from_str(run).expect("a record");
    let ranks = run["world"]["ranks"].as_array().expect("ranks");
    ranks.iter().map(|rank| rank["pid"].as_u64().expect("a number")).collect()
}

fn kill_rank(folder: &Folder, rank: usize) {
    send("KILL", u32::try_from(last_pids(folder)[rank]).expect("a process number"));
}

#[test]
fn the_launcher_goes_on_after_a_rank_has_died_and_gives_up_what_fails_too_often() {
    let folder = Folder::new();
    folder.write("long.toml", LONG);
    let running = at_the_long_unit(&folder, "--attempts 1");
    kill_rank(&folder, 1);
    let output = running.wait().code(4);
    let reason = "rank 1 was killed by SIGKILL during comet/exchange";
    let note = "note: unit long, 2 ranks is given up after 1 failed attempt:";
    output.notes(&format!("{note} {reason}"));
    let [first, long, last] = ["first, 2 ranks", "long, 2 ranks", "last, 2 ranks"];
    let mut expected = vec![
        format!("{first} 1 begun"),
        format!("{first} 1 done"),
        format!("{long} 1 begun"),
        format!("{last} 1 begun"),
        format!("{last} 1 done"),
        format!("{long} 1 gone"),
    ];
    // The last unit is over before the failed one is looked at again.
    let mut found = steps(&folder);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    let records = folder.records("r.jsonl");
    let gone = records.of_type("unit").find(|step| step["state"] == "gone").expect("a step");
    assert!(gone["reason"].as_str().expect("a reason").starts_with(reason), "{gone}");
    // What is gone stays so, and what the others had to tell is not lost.
    folder.run("suite run long.toml -o r.jsonl --attempts 1").code(4);
    assert_eq!(steps(&folder).len(), 6);
    // With another attempt it is measured; the environment is the same.
    let output = folder.run("suite run long.toml -o r.jsonl").success();
    output.notes("note: 2 of 3 units are over already").notes("attempt 2");
    folder.run("validate r.jsonl").success();
}

#[test]
fn a_second_process_is_told_who_writes_the_file() {
    let folder = Folder::new();
    folder.write("long.toml", &LONG.replace("50000", "1000000"));
    let running = at_the_long_unit(&folder, "");
    let output = folder.run("suite run long.toml -o r.jsonl").code(2);
    let holder = format!("error: r.jsonl is being written by process {} (", running.pid());
    output
        .notes(&holder)
        .notes(" suite run long.toml -o r.jsonl --progress plain) (wait for its end");
    send("TERM", running.pid());
    running.wait().code(143);
}

#[test]
fn a_signal_ends_a_unit_whose_attempt_does_not_count() {
    let folder = Folder::new();
    folder.write("long.toml", LONG);
    let running = at_the_long_unit(&folder, "--attempts 1");
    send("TERM", running.pid());
    running.wait().code(143);
    let [.., last] = &steps(&folder)[..] else { panic!("there are steps") };
    assert_eq!(last, "long, 2 ranks 1 stopped");
    let text = folder.read("r.jsonl");
    // In another environment it does not go on.
    let kernel = |text: &str| {
        let at = text.find("\"clocksource\":").expect("a setting");
        text[at..].split(',').next().expect("a value").to_owned()
    };
    let other = text.replace(&kernel(&text), "\"clocksource\":\"sundial\"");
    folder.write("r.jsonl", &other);
    let line = "suite run long.toml -o r.jsonl --attempts 1";
    let output = folder.run(line).code(2).notes("machine clocksource was sundial, here it is ");
    output.notes("; or allow it with --allow-env-diff (measure as before, or into another file");
    folder.run(&format!("{line} --allow-env-diff -q")).success();
    let records = folder.records("r.jsonl");
    let last = records.of_type("unit").filter(|step| step["state"] == "begun").last();
    let last = last.expect("a step");
    assert_eq!((last["unit"].as_str(), last["attempt"].as_u64()), (Some("long, 2 ranks"), Some(2)));
    assert!(
        last["reason"].as_str().expect("a reason").starts_with("machine clocksource was sundial")
    );
    assert_eq!(steps(&folder).last().map(String::as_str), Some("long, 2 ranks 2 done"));
}

#[test]
fn a_command_is_started_again_while_units_are_left() {
    let folder = Folder::new();
    folder.write("a.toml", SMALL);
    // Each start is killed behind its first unit, until none is left.
    folder.write(
        "once.sh",
        "[ -e r.jsonl ] && n=$(grep -c '\"done\"' r.jsonl) || n=0\n\"$@\" & pid=$!\n\
         while kill -0 $pid 2>/dev/null; do\n  m=$(grep -c '\"done\"' r.jsonl 2>/dev/null)\n  \
         [ ${m:-0} -gt $n ] && kill -KILL $pid 2>/dev/null\n  sleep 0.01\ndone\nwait $pid\n",
    );
    let mut command = folder.command("suite run a.toml -o r.jsonl --attempts 9 --launch");
    command.arg("sh once.sh {comet}");
    let output = Running::new(command).wait();
    assert_eq!(output.code, Some(0), "{output:#?}");
    let done: Vec<String> =
        steps(&folder).into_iter().filter(|step| step.ends_with("done")).collect();
    assert_eq!(done.len(), 3);
    folder.run("validate r.jsonl").success();
    let refused = |launch: &str, code: i32, sentence: &str| {
        let mut command = folder.command("suite run a.toml -o other.jsonl --launch");
        command.arg(launch);
        Running::new(command).wait().code(code).notes(sentence);
    };
    refused(" ", 2, "error: --launch names no command (write --launch 'mpirun -n 4', or");
    refused("sh -c 'exit 78'", 5, "error: 'sh -c 'exit 78'' ended with exit status: 78 before");
    refused(
        "false {comet}",
        5,
        "error: 'false {comet}' ended with exit status: 1 before it began a unit",
    );
    refused("sh -c 'exit 77' {comet}", 5, "ended with exit status: 77 before it began a unit");
    assert_eq!(folder.names(), ["a.toml", "once.sh", "r.jsonl"]);
}

/// An attempt that a signal has stopped says nothing about starts after it.
#[test]
fn a_command_is_started_again_behind_a_unit_that_was_stopped_before() {
    let folder = Folder::new();
    folder.write("long.toml", LONG);
    let running = at_the_long_unit(&folder, "");
    send("INT", running.pid());
    running.wait().code(130);
    assert!(steps(&folder).last().expect("a step").ends_with("stopped"));
    folder.write("count.sh", "echo >> starts\nexit 1\n");
    let mut command = folder.command("suite run long.toml -o r.jsonl --attempts 2 --launch");
    command.arg("sh count.sh {comet}");
    Running::new(command).wait().code(5).notes("ended with exit status: 1 before it began a unit");
    assert_eq!(folder.read("starts").lines().count(), 2);
}
