//! `compare` and `ab`, over runs of simulated machines.

use crate::processes::{is_alive, send};
use crate::support::{Folder, OBEYS, Output, Running, eventually, through_env};

/// The cases of all runs.
const CASES: &str = "echo -n 2 -s 8,1Ki,64Ki --hops 1 --format none --quiet";

/// A machine whose messages take so long for each byte, with what a test adds.
fn machine(per_byte_ns: f64, more: &str) -> String {
    format!(
        "format = 1\nname = \"mine\"\ntopology = {{ kind = \"flat\" }}\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"2 us\"\nper_byte = \"{per_byte_ns} ns/B\"\n{more}"
    )
}

/// Messages of one machine differ by 20 %.
const NOISE: &str =
    "[noise]\nseed = 1\n[[noise.source]]\nkind = \"log_normal\"\nsigma = \"20 %\"\n";

/// A folder with machines: one, one whose links are a fifth slower, and one with noise.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("fast.toml", &machine(1.0, ""));
    folder.write("slow.toml", &machine(1.2, ""));
    folder.write("noisy.toml", &machine(1.0, NOISE));
    folder
}

/// Measures on `machine` into `file`, with further words.
fn measure(folder: &Folder, machine: &str, file: &str, more: &str) {
    folder.run(&format!("{CASES} --machine ./{machine}.toml -o {file} {more}")).success();
}

/// A command for `ab` that measures on `machine`.
fn command(machine: &str) -> String {
    format!("{} {CASES} --machine ./{machine}.toml", env!("CARGO_BIN_EXE_comet-run"))
}

#[test]
fn two_runs_of_one_machine_are_exactly_the_same() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    measure(&folder, "fast", "b.jsonl", "");
    let output = folder.run("compare a.jsonl --to b.jsonl --strict").success();
    output.prints("1.000-1.000  same").prints("of 3 points 0 slower, 0 faster, 3 same");
}

#[test]
fn a_sweep_over_numbers_of_ranks_can_be_compared() {
    let folder = Folder::new();
    folder.run("barrier -t sim -n 2,4 --format none --quiet --out a.jsonl").success();
    let output = folder.run("compare a.jsonl --to a.jsonl --allow-single").success();
    output.prints("of 2 points");
}

#[test]
fn slower_links_are_found_and_other_conditions_refused() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    measure(&folder, "slow", "b.jsonl", "");
    let refused = folder.run("compare a.jsonl --to b.jsonl").code(2);
    refused.notes("taken under different conditions: transport sim machine sha256 (");
    let output = folder.run("compare a.jsonl --to b.jsonl --allow-env-diff").code(10);
    let output = output.prints("comet/echo hops=1 length_bytes=65536 procs=2");
    output.prints("of 3 points 3 slower").prints("environment differs:");
    folder.run("compare b.jsonl --to a.jsonl --allow-env-diff").success().prints("3 faster");
    let wide = "compare a.jsonl --to b.jsonl --allow-env-diff --margin 30%";
    folder.run(wide).success().prints("3 same");
}

#[test]
fn points_of_one_side_are_listed_and_none_in_common_are_an_exit_code() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    let fewer = CASES.replace("8,1Ki,64Ki", "8,2Ki");
    folder.run(&format!("{fewer} --machine ./fast.toml -o b.jsonl")).success();
    let output = folder.run("compare a.jsonl --to b.jsonl").success().prints("of 1 points");
    let output = output.prints("length_bytes=1024 procs=2: not in the new runs: not measured");
    output.prints("length_bytes=2048 procs=2: not in the base runs: not measured");
    let other = CASES.replace("8,1Ki,64Ki", "16");
    folder.run(&format!("{other} --machine ./fast.toml -o c.jsonl")).success();
    folder.run("compare a.jsonl --to c.jsonl").code(6).notes("no point was measured on both sides");
}

#[test]
fn launches_that_do_not_tell_fail_a_strict_comparison_only() {
    let folder = folder();
    measure(&folder, "noisy", "a.jsonl", "--samples 20 --seed 1");
    measure(&folder, "noisy", "b.jsonl", "--samples 20 --seed 2");
    let output = folder.run("compare a.jsonl --to b.jsonl").success();
    output.prints("3 inconclusive").prints("cannot compare single launches");
    folder.run("compare a.jsonl --to b.jsonl --strict").code(11);
    let output = folder.run("compare a.jsonl --to b.jsonl --allow-single").success();
    output.prints("by the samples of single launches");
}

#[test]
fn a_case_that_fails_now_is_a_loss() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    let spoiled = format!("{CASES} --machine ./fast.toml -o b.jsonl --inject corrupt:echo");
    folder.run(&spoiled).code(3);
    let output = folder.run("compare a.jsonl --to b.jsonl").code(10);
    output.prints("check_failed: ").prints("3 cases fail that the base measured");
}

#[test]
fn a_machine_that_differs_from_itself_fails_nothing() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    measure(&folder, "slow", "b.jsonl", "");
    let line = "compare a.jsonl --to b.jsonl --allow-env-diff --control";
    let output = folder.run(&format!("{line} b.jsonl")).success();
    output.prints("ADVISORY: ").notes("the machine is too unsteady for verdicts");
    measure(&folder, "fast", "c.jsonl", "");
    folder.run(&format!("{line} c.jsonl")).code(10).prints("control: 0 of 3 points");
    folder.run(&format!("{line} a.jsonl")).code(2).notes("hold the same run");
}

#[test]
fn wrong_data_fails_on_an_unsteady_machine_too() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    measure(&folder, "slow", "control.jsonl", "");
    let cases = CASES.replace("echo", "echo barrier");
    folder.run(&format!("{cases} --machine ./fast.toml -o all.jsonl")).success();
    let spoiled = format!("{cases} --machine ./fast.toml -o b.jsonl --inject corrupt:echo");
    folder.run(&spoiled).code(3);
    let line = "compare all.jsonl --to b.jsonl --allow-env-diff --control control.jsonl";
    folder.run(line).code(10).prints("ADVISORY: ");
}

#[test]
fn points_that_were_lost_fail_a_strict_comparison_only() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    let whole = folder.read("a.jsonl");
    let is_kept = |line: &&str| !line.contains("\"length_bytes\":65536");
    let lines: Vec<&str> = whole.lines().filter(is_kept).collect();
    folder.write("b.jsonl", &(lines.join("\n") + "\n"));
    folder.run("compare a.jsonl --to b.jsonl").success().prints("not in the new runs");
    folder.run("compare a.jsonl --to b.jsonl --strict").code(11);
    folder.run("compare b.jsonl --to a.jsonl --strict").success();
}

#[test]
fn runs_with_several_numbers_of_ranks_are_compared_number_by_number() {
    let folder = folder();
    let cases = CASES.replace("-n 2", "-n 2..4");
    for file in ["a.jsonl", "b.jsonl"] {
        folder.run(&format!("{cases} --machine ./fast.toml -o {file}")).success();
    }
    let output = folder.run("compare a.jsonl --to b.jsonl --strict").success();
    output.prints("3 runs against 3").prints("of 9 points 0 slower, 0 faster, 9 same");
}

#[test]
fn files_hold_what_is_printed_in_other_forms() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    measure(&folder, "slow", "b.jsonl", "");
    let files = "--json c.json --markdown c.md --junit c.xml";
    let line = format!("compare a.jsonl --to b.jsonl --allow-env-diff {files}");
    folder.run(&line).code(10).prints("verdict: of 3 points 3 slower");
    let json: serde_json::Value = serde_json::from_str(&folder.read("c.json")).unwrap();
    assert_eq!(json["points"].as_array().unwrap().len(), 3);
    assert_eq!(json["points"][0]["verdict"], "slower");
    assert!(folder.read("c.md").contains("| comet/echo | 3 | 1."));
    let xml = folder.read("c.xml");
    check_xml(&xml);
    assert_eq!(xml.matches("<failure type=\"slower\"").count(), 3);
    for format in ["json", "markdown", "junit"] {
        let output = folder.run(&format!("compare a.jsonl --to a.jsonl --format {format}"));
        assert!(!output.success().stdout.is_empty());
    }
}

/// Checks that every element of `xml` ends where it should.
#[track_caller]
fn check_xml(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a head");
    for tag in body.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("a tag ends");
        assert!(text.trim().is_empty(), "text between elements: {text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0], "elements without an end");
}

#[test]
fn files_that_cannot_be_compared_are_refused_in_one_sentence() {
    let folder = folder();
    measure(&folder, "fast", "a.jsonl", "");
    folder.write("empty.jsonl", "");
    for (line, words) in [
        ("compare a.jsonl --to none.jsonl", "cannot read none.jsonl"),
        ("compare a.jsonl --to empty.jsonl", "there is no run in empty.jsonl"),
        ("compare a.jsonl a.jsonl --to a.jsonl", "a.jsonl and a.jsonl hold the same run"),
        ("compare a.jsonl --to a.jsonl --margin 5", "write 5% or 0.05"),
        ("ab -- true", "ab takes two commands, got 1 (write ab -- COMMAND_A -- COMMAND_B)"),
        ("ab --out . -- true -- true", ". holds something already"),
    ] {
        folder.run(line).code(2).notes(words);
    }
}

#[test]
fn two_commands_take_turns_and_a_change_is_looked_for_twice() {
    let folder = folder();
    let (fast, slow) = (command("fast"), command("slow"));
    let output = folder.run(&format!("ab --launches 2 --out d -- {fast} -o {{out}} -- {slow}"));
    let output = output.code(10).prints("of 3 points 3 slower").prints("again: ratio 1.");
    output.notes("launch 2 of 4: b").notes("again: launch 4 of 4: a").notes("results: ");
    let names = folder.run("validate d/01-a.jsonl d/02-b.jsonl d/03-b.jsonl d/08-a.jsonl");
    names.success().prints("complete");
    let again = "compare d/01-a.jsonl d/04-a.jsonl --to d/02-b.jsonl d/03-b.jsonl --allow-env-diff";
    folder.run(again).code(10).prints("3 slower");
}

#[test]
fn a_command_against_itself_is_the_same() {
    let folder = folder();
    let noisy = command("noisy") + " --samples 20";
    let output = folder.run(&format!("ab --launches 3 -- {noisy} --seed 1 -- {noisy} --seed 1"));
    let output = output.success().prints("of 3 points 0 slower, 0 faster, 3 same");
    assert!(!output.prints("in pairs").stdout.contains("environment differs"));
    assert!(folder.names().contains(&"comet-results".to_owned()));
}

#[test]
fn a_command_that_fails_is_named_with_its_last_words() {
    let folder = folder();
    let check = |line: &str, words: &str| -> Output {
        folder.run(&format!("ab --launches 1 {line}")).code(1).notes(words)
    };
    let fast = command("fast");
    let output = check(&format!("-- {fast} -- {fast} --nonsense"), "failed with exit status: 2");
    output.notes("--nonsense").notes("and said last: ");
    check("-- true -- true", "'true' left no results in ");
    check("-- no-such-command -- true", "cannot start 'no-such-command' (is it in PATH?)");
    measure(&folder, "fast", "stored.jsonl", "");
    let stored = "-- cp stored.jsonl {out} -- cp stored.jsonl {out}";
    folder.run(&format!("ab --launches 1 {stored}")).code(2).notes("hold the same run");
    check("--timeout 100ms -- sleep 100 -- true", "'sleep 100' took longer than 100ms");
}

#[test]
fn a_launcher_stands_in_the_commands_and_not_before_ab() {
    let folder = folder();
    let mut ab = folder.command("ab -- true -- true");
    ab.envs([("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")]);
    Running::new(ab).wait().code(5).notes("started ab, which starts jobs itself");
}

#[test]
fn a_signal_ends_the_commands_and_keeps_the_files() {
    let folder = folder();
    folder.write("wait.sh", "echo $$\nsleep 100\n");
    let ab = folder.command("ab --out d -- sh wait.sh -- true");
    let ab = Running::new(through_env(&ab, OBEYS));
    let log = folder.path.join("d/01-a.log");
    let pid = || std::fs::read_to_string(&log).ok().and_then(|text| text.trim().parse().ok());
    eventually("the command", || pid().is_some_and(is_alive));
    send("INT", ab.pid());
    ab.wait().code(130).notes("error: ended by SIGINT; files are in ");
    assert!(pid().is_some_and(|pid| !is_alive(pid)), "the command goes on");
}
