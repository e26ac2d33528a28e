//! The command line: help, lists and plans start no rank, and bad input is one sentence.

use crate::support::{Folder, machine, rows_of};

/// Runs `line`, which is wrong: nothing is printed or made, and the first line of standard error
/// has `sentence`, or is all of it where the sentence ends a line.
#[track_caller]
fn check_refused(line: &str, code: i32, sentence: &str) {
    let folder = Folder::new();
    let output = folder.run(line).code(code);
    let first = output.stderr.split_inclusive('\n').next().unwrap_or_default();
    assert!(first.starts_with("error: ") && first.contains(sentence), "{line}: {output:#?}");
    let is_all = output.stderr == format!("error: {sentence}");
    assert!(is_all || !sentence.ends_with('\n'), "{line}: {output:#?}");
    assert_eq!(output.stdout, "", "{line}");
    assert!(folder.names().is_empty(), "{line} left {:?}", folder.names());
}

#[test]
fn help_lists_and_plans_say_what_there_is_and_make_no_file() {
    let folder = Folder::new();
    for (line, words) in rows_of(include_str!("rows/shown.txt")) {
        let output = folder.run(line).success();
        for word in words.split('|') {
            assert!(output.stdout.contains(word), "no '{word}' by {line}");
        }
        assert!(folder.names().is_empty(), "{line} left {:?}", folder.names());
    }
}

#[test]
fn without_arguments_there_is_help_and_code_2() {
    Folder::new().run("").code(2).notes("Usage:").notes("Examples:");
}

#[test]
fn the_version_is_that_of_the_package() {
    let first = format!("comet-run {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Folder::new().run("-V").success().stdout, first);
    let whole = Folder::new().run("--version").success().stdout;
    assert!(whole.starts_with(&first) && whole.contains("\nfeatures: "), "{whole}");
}

#[test]
fn the_list_and_the_schema_are_json() {
    let json = |line: &str| -> serde_json::Value {
        serde_json::from_str(&Folder::new().run(line).success().stdout).expect("it is JSON")
    };
    let list = json("list --json");
    let kernels = list["kernels"].as_array().expect("a list of kernels");
    let echo = kernels.iter().find(|kernel| kernel["id"] == "comet/echo").expect("echo is there");
    assert_eq!(echo["axes"][1]["name"], "length_bytes");
    assert!(kernels.len() >= 12 && echo["axes"][1]["quick"].is_string(), "{echo}");
    assert!(json("schema")["oneOf"].is_array());
}

#[test]
fn a_plan_counts_cases() {
    let output = Folder::new().run("plan echo -n 4 --hops 0,1 --sizes 8,1Ki,1Mi").success();
    let row = output.stdout.lines().find(|line| line.starts_with("comet/echo"));
    let cells: Vec<&str> = row.expect("a row for echo").split_whitespace().collect();
    assert_eq!(cells[1..3], ["6", "0"]);
}

#[test]
fn contention_is_measured_by_what_its_refusals_advise() {
    let folder = Folder::new();
    // Unlike the topology's own cast, four ranks of a table may share links that nobody knows.
    let hops = "[[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]";
    folder.write("t.json", &format!("{{\"mesh\": [[0, 1, 2, 3]], \"hops\": {hops}}}"));
    // Each refusal beside what it advises.
    for (refused, remedy, line) in [
        ("-n 4", "at least 8 ranks", "-n 8"),
        ("-n 4", "--topology and --cast 0,3,1,2", "--topology t.json --cast 0,3,1,2"),
        ("-n 8 --cast 0,1,2,3", "--cast 0,7,1,3", "-n 8 --cast 0,7,1,3"),
        ("--machine t3e -n 9", "a torus of at least 10 ranks", "--machine t3e -n 10"),
        ("--machine cm5 -n 16", "--cast SOURCE", "--machine cm5 -n 16 --cast 0,4,1,8"),
        ("--machine hbv2-hdr -n 16", "--cast SOURCE", "--machine hbv2-hdr -n 16 --cast 0,4,1,8"),
        ("--machine sp2 -n 16", "--cast 0,3,1,2", "--machine sp2 -n 16 --cast 0,3,1,2"),
    ] {
        let plan = |line| folder.run(&format!("plan comet/contention {line}")).success().stdout;
        let (without, with) = (plan(refused), plan(line));
        assert!(without.contains(remedy), "{without}");
        assert!(!with.contains(" link with an echo"), "{with}");
    }
}

#[test]
fn what_a_kernel_needs_is_planned_before_it() {
    let output = Folder::new().run("plan contention -n 4").success();
    let at = |kernel| output.stdout.find(kernel).expect("a row");
    assert!(at("comet/echo") < at("comet/contention"));
    output.notes("note: comet/echo is measured first: comet/contention needs it");
}

#[test]
fn a_name_in_two_suites_means_the_default_one() {
    let output = Folder::new().run("plan barrier -n 2").success().prints("comet/barrier");
    assert!(!output.stdout.contains("naive/barrier"));
}

#[test]
fn values_that_mean_nothing_are_refused_with_the_value_and_a_remedy() {
    // A sentence that ends in a dollar sign is all that is said.
    for (line, sentence) in rows_of(include_str!("rows/values-refused.txt")) {
        check_refused(line, 2, &sentence.replace('$', "\n"));
    }
    check_refused("zz*", 6, "no kernel matches 'zz*' (comet-run list shows all kernels)\n");
    check_refused("run -n 2", 6, "nothing is selected");
}

#[test]
fn a_run_that_falls_short_says_why_even_if_it_is_quiet() {
    let folder = Folder::new();
    for (line, code, sentence) in [
        ("contention -n 4", 6, "error: nothing that was asked for was measured: "),
        ("exchange -n 1", 6, "error: nothing that was asked for was measured: "),
        ("all -n 2 --budget 1ns", 4, "error: the budget was spent before the last case (give "),
        ("echo -n 2 --inject corrupt:echo", 3, "error: data arrived wrong in "),
    ] {
        let line = format!("{line} --profile quick -q --format none --out none");
        folder.run(&line).code(code).notes(sentence);
    }
    let output = folder.run("contention -n 4 --profile quick --out none").code(6);
    assert!(!output.stdout.contains("comet/echo") && !output.stderr.contains("comet/echo"));
}

#[test]
fn methods_machines_and_files_that_cannot_be_are_refused_and_files_are_kept() {
    let folder = Folder::new();
    folder.write("old.jsonl", "precious");
    folder.write("poem.txt", "roses are red\nviolets are blue\n");
    folder.write("empty.jsonl", "");
    folder.write("t.json", "{\"mesh\": [[0, 0]]}");
    folder.write("bad.toml", &machine(1.0, "[node]\ncopy = \"5\"\n"));
    folder.refuses(include_str!("rows/methods-refused.txt"));
    folder.run("validate poem.txt").code(3).prints("poem.txt: line 1: ");
    assert_eq!(folder.read("old.jsonl"), "precious");
}
