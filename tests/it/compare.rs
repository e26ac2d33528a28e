//! `compare` and `ab`, over runs of simulated machines.

use crate::support::{Folder, OBEYS, Running, eventually, is_alive, machine, send, through_env};

/// The cases of most runs, and the options of all.
const CASES: &str = "echo -n 2 -s 8,1Ki,64Ki";
const OPTIONS: &str = "--hops 1 --format none --quiet";

/// Three machines: the second has slower links by a fifth, messages of the third differ by 20 %.
fn folder() -> Folder {
    let folder = Folder::new();
    let noise = "[noise]\nseed = 1\n[[noise.source]]\nkind = \"log_normal\"\nsigma = \"20 %\"\n";
    folder.write("fast.toml", &machine(1.0, ""));
    folder.write("slow.toml", &machine(1.2, ""));
    folder.write("noisy.toml", &machine(1.0, noise));
    folder
}

/// A folder in which each of these files holds a run: its machine, and what is measured on it.
fn measured(runs: &[(&str, &str, &str)]) -> Folder {
    let folder = folder();
    for (file, machine, cases) in runs {
        let code = if cases.contains("corrupt") { 3 } else { 0 };
        // Intervals need the slices of the default profile.
        let profile = if *machine == "noisy" { "standard" } else { "quick" };
        let options = format!("{OPTIONS} --machine ./{machine}.toml --profile {profile}");
        let line = format!("{cases} {options} -o {file}.jsonl");
        folder.run(&line).code(code);
    }
    folder
}

/// A folder with runs on one machine in `a.jsonl` and `c.jsonl`, and on slower links in `b.jsonl`.
fn slowed() -> Folder {
    measured(&[("a", "fast", CASES), ("b", "slow", CASES), ("c", "fast", CASES)])
}

#[test]
fn two_runs_of_one_machine_are_exactly_the_same() {
    let output = slowed().run("compare a.jsonl --to c.jsonl --strict").success();
    output.prints("1.000-1.000  same").prints("of 3 points 0 slower, 0 faster, 0 changed, 3 same");
}

#[test]
fn slower_links_are_found_and_other_conditions_refused() {
    let folder = slowed();
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
    let (fewer, other) = ("echo -n 2 -s 8,2Ki", "echo -n 2 -s 16");
    let folder = measured(&[("a", "fast", CASES), ("b", "fast", fewer), ("c", "fast", other)]);
    let output = folder.run("compare a.jsonl --to b.jsonl").success().prints("of 1 point ");
    let output = output.prints("length_bytes=1024 procs=2: not in the new runs: not measured");
    output.prints("length_bytes=2048 procs=2: not in the base runs: not measured");
    folder.run("compare a.jsonl --to c.jsonl").code(6).notes("no point was measured on both sides");
}

#[test]
fn launches_that_do_not_tell_fail_a_strict_comparison_only() {
    let [one, two] = [1, 2].map(|seed| format!("{CASES} --samples 20 --seed {seed}"));
    let folder = measured(&[("a", "noisy", &one), ("b", "noisy", &two)]);
    let output = folder.run("compare a.jsonl --to b.jsonl").success();
    output.prints("3 inconclusive").prints("cannot compare single launches");
    folder.run("compare a.jsonl --to b.jsonl --strict").code(11);
    let output = folder.run("compare a.jsonl --to b.jsonl --allow-single").success();
    output.prints("by the samples of single launches");
}

#[test]
fn a_machine_that_differs_from_itself_fails_nothing() {
    let folder = slowed();
    let line = "compare a.jsonl --to b.jsonl --allow-env-diff --control";
    let output = folder.run(&format!("{line} b.jsonl")).success();
    output.prints("ADVISORY: ").notes("the machine is too unsteady for verdicts");
    folder.run(&format!("{line} c.jsonl")).code(10).prints("control: 0 of 3 points");
    folder.run(&format!("{line} a.jsonl")).code(2).notes("hold the same run");
}

#[test]
fn wrong_data_is_a_loss_on_an_unsteady_machine_too() {
    let both = "echo barrier -n 2 -s 8,1Ki,64Ki";
    let spoiled = format!("{both} --inject corrupt:echo");
    let folder =
        measured(&[("a", "fast", both), ("b", "fast", &spoiled), ("control", "slow", CASES)]);
    let output = folder.run("compare a.jsonl --to b.jsonl").code(10);
    output.prints("check_failed: ").prints("of what the base measured 3 cases failed");
    let line = "compare a.jsonl --to b.jsonl --allow-env-diff --control control.jsonl";
    folder.run(line).code(10).prints("ADVISORY: ");
}

#[test]
fn points_that_were_lost_fail_a_strict_comparison_only() {
    let folder = measured(&[("a", "fast", CASES), ("b", "fast", CASES)]);
    let whole = folder.read("b.jsonl");
    let is_kept = |line: &&str| !line.contains("\"length_bytes\":65536");
    let lines: Vec<&str> = whole.lines().filter(is_kept).collect();
    folder.write("b.jsonl", &(lines.join("\n") + "\n"));
    folder.run("compare a.jsonl --to b.jsonl").success().prints("not in the new runs");
    folder.run("compare a.jsonl --to b.jsonl --strict").code(11);
    folder.run("compare b.jsonl --to a.jsonl --strict").success();
}

#[test]
fn runs_with_several_numbers_of_ranks_are_compared_number_by_number() {
    let sweep = "echo -n 2..4 -s 8,1Ki,64Ki";
    let folder = measured(&[("a", "fast", sweep), ("b", "fast", sweep)]);
    let output = folder.run("compare a.jsonl --to b.jsonl --strict").success();
    output
        .prints("3 measurements against 3")
        .prints("of 9 points 0 slower, 0 faster, 0 changed, 9 same");
    folder.run("compare a.jsonl --to b.jsonl --allow-single").success().prints("of 9 points");
}

#[test]
fn files_hold_what_is_printed_in_other_forms() {
    let folder = slowed();
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
        let output = folder.run(&format!("compare a.jsonl --to c.jsonl --format {format}"));
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
fn what_cannot_be_compared_is_refused_in_one_sentence() {
    let folder = measured(&[("a", "fast", CASES)]);
    folder.write("empty.jsonl", "");
    folder.refuses(
        r"
        compare a.jsonl --to none.jsonl         => cannot read none.jsonl
        compare a.jsonl --to empty.jsonl        => there is no run in empty.jsonl
        compare a.jsonl a.jsonl --to a.jsonl    => a.jsonl and a.jsonl hold the same run
        compare a.jsonl --to a.jsonl            => a.jsonl and a.jsonl hold the same run
        export fom a.jsonl a.jsonl              => a.jsonl and a.jsonl hold the same run
        compare a.jsonl --to a.jsonl --margin 5 => write 5% or 0.05
        ab -- true                              => ab takes two commands, got 1 (write ab -- COMMAND_A -- COMMAND_B)
        ab --out . -- true -- true              => . holds something already
        ",
    );
}

fn command(machine: &str) -> String {
    let options = format!("{CASES} {OPTIONS} --profile quick --machine ./{machine}.toml");
    format!("{} {options}", env!("CARGO_BIN_EXE_comet-run"))
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
    let output = folder.run(&format!("ab --launches 3 -- {noisy} -- {noisy}"));
    let output = output.success().prints("of 3 points 0 slower, 0 faster, 0 changed, 3 same");
    assert!(!output.prints("in pairs").stdout.contains("environment differs"));
    assert!(folder.names().contains(&"comet-results".to_owned()));
}

#[test]
fn launches_of_one_seed_are_one_launch() {
    let folder = folder();
    let noisy = command("noisy") + " --samples 20";
    let ab = format!("ab --launches 2 --strict -- {noisy} --seed 1 -- {noisy} --seed 2");
    let output = folder.run(&ab).code(11).prints("note: 2 simulated launches repeat the seed");
    output.prints("cannot compare single seeds");
}

#[test]
fn launches_are_added_until_points_are_decided_or_there_are_enough() {
    let folder = folder();
    let noisy = command("noisy") + " --samples 20";
    let other = format!("{noisy} --unsteady 50");
    let ab = format!("ab --launches 2 --max-launches 5 --out d --strict -- {noisy} -- {other}");
    let output = folder.run(&ab).code(11).notes("after 2 launches of each command: going on to 4");
    let output = output.notes("going on to 5").notes("launch 10 of 10: b");
    output.prints("power: of 3 points a change would have been seen of 10 % at ");
    let seed = |name: &str| -> serde_json::Value {
        let text = folder.read(name);
        serde_json::from_str::<serde_json::Value>(text.lines().next().unwrap()).unwrap()["seed"]
            .clone()
    };
    assert_eq!((seed("d/01-a.jsonl"), seed("d/02-b.jsonl")), (1.into(), 1.into()));
    assert_eq!((seed("d/03-b.jsonl"), seed("d/10-b.jsonl")), (2.into(), 5.into()));
}

#[test]
fn a_command_that_fails_is_named_with_its_last_words() {
    let folder = measured(&[("stored", "fast", CASES)]);
    let check = |line: &str, words: &str| {
        folder.run(&format!("ab --launches 1 {line}")).code(1).notes(words)
    };
    let fast = command("fast");
    let output = check(&format!("-- {fast} -- {fast} --nonsense"), "failed with exit status: 2");
    output.notes("--nonsense").notes("and said last: ");
    check("-- true -- true", "'true' left no results in ");
    check("-- no-such-command -- true", "cannot start 'no-such-command' (is it in PATH?)");
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
