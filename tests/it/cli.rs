//! The command line: help, lists and plans start no rank, and bad input is one sentence.

use crate::support::Folder;

/// Runs `line`, which is wrong: nothing is printed or made, and one sentence says what is wrong.
#[track_caller]
fn check_refused(line: &str, code: i32, sentence: &str) {
    let folder = Folder::new();
    let output = folder.run(line).code(code);
    let first = output.stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("error: ") && first.contains(sentence), "{line}: {output:#?}");
    assert_eq!(output.stdout, "", "{line}");
    assert!(folder.names().is_empty(), "{line} left {:?}", folder.names());
}

/// Like [`check_refused`] for what this program refuses itself: there is one line only.
#[track_caller]
fn check_sentence(line: &str, code: i32, sentence: &str) {
    let output = Folder::new().run(line);
    assert_eq!(output.stderr, format!("error: {sentence}\n"), "{line}");
    check_refused(line, code, sentence);
}

#[test]
fn help_shows_commands_examples_and_exit_codes() {
    let folder = Folder::new();
    let output = folder.run("--help").success();
    let output = output.prints("comet-run all").prints("completions").prints("Exit codes:");
    output.prints("143  ended early by SIGTERM").prints("--watchdog");
    folder.run("help plan").success().prints("--sizes");
    folder.run("run -h").success().prints("--out");
}

#[test]
fn without_arguments_there_is_help_and_code_2() {
    Folder::new().run("").code(2).notes("Usage:").notes("Examples:");
}

#[test]
fn the_version_is_that_of_the_package() {
    let output = Folder::new().run("--version").success();
    assert_eq!(output.stdout, format!("comet-run {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_list_names_every_kernel_with_its_source_and_axes() {
    let output = Folder::new().run("list").success().prints("all = comet + matrix");
    let output = output.prints("IMB:PingPong").prints("thesis").prints("length_bytes: ");
    for kernel in ["echo", "contention", "overlap", "update_guard", "transpose", "col_broadcast"] {
        assert!(output.stdout.contains(&format!("\n  {kernel} ")), "{kernel}");
    }
}

#[test]
fn the_list_is_json_on_request() {
    let output = Folder::new().run("list --json").success();
    let list: serde_json::Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let kernels = list["kernels"].as_array().expect("a list of kernels");
    let echo = kernels.iter().find(|kernel| kernel["id"] == "comet/echo").expect("echo is there");
    assert_eq!(echo["axes"][1]["name"], "length_bytes");
    assert!(kernels.len() >= 12 && echo["axes"][1]["quick"].is_string(), "{echo}");
}

#[test]
fn a_plan_counts_cases_time_and_memory_and_starts_nothing() {
    let folder = Folder::new();
    let output = folder.run("plan echo -n 4 --hops 0,1 --sizes 8,1Ki,1Mi").success();
    let row = output.stdout.lines().find(|line| line.starts_with("comet/echo"));
    let cells: Vec<&str> = row.expect("a row for echo").split_whitespace().collect();
    assert_eq!(cells[1..3], ["6", "0"]);
    output.prints("4 ranks on a mesh of 2x2").prints("in all 6 cases, about ");
    assert!(folder.names().is_empty());
}

#[test]
fn a_plan_says_what_these_ranks_do_not_admit() {
    let folder = Folder::new();
    folder.run("plan contention -n 2").success().prints("skips ").prints("4 ranks");
    let sharing = folder.run("plan comet/contention -n 8 --cast 0,7,1,3").success();
    assert!(!sharing.stdout.contains("skips "), "{}", sharing.stdout);
    let apart = folder.run("plan contention -n 8 --cast 0,1,2,3").success();
    apart.prints("skips 8: a load from 0 to 1 shares no link with an echo between 2 and 3");
    // Unlike the topology's own cast, four ranks of a table may share links that nobody knows.
    folder.write(
        "t.json",
        r#"{"mesh": [[0, 1, 2, 3]],
        "hops": [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]}"#,
    );
    let given = folder.run("plan contention --topology t.json --cast 0,3,1,2").success();
    assert!(!given.stdout.contains("skips "), "{}", given.stdout);
    folder.run("plan echo -n 2 --mem 1Ki -s 1Mi").success().prints("(see --mem)");
}

#[test]
fn what_a_kernel_needs_is_planned_before_it() {
    let output = Folder::new().run("plan contention -n 4").success();
    let at = |kernel| output.stdout.find(kernel).expect("a row");
    assert!(at("comet/echo") < at("comet/contention"));
    output.notes("note: comet/echo is measured first: comet/contention needs it");
}

#[test]
fn completions_and_the_man_page_know_the_options() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        folder.run(&format!("completions {shell}")).success().prints("watchdog");
    }
    folder.run("man").success().prints(".TH comet").prints("EXIT STATUS").prints("COMMAND PLAN");
}

#[test]
fn the_schema_is_json() {
    let output = Folder::new().run("schema").success();
    let schema: serde_json::Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    assert!(schema["oneOf"].is_array());
}

#[test]
fn values_that_mean_nothing_are_refused_with_the_value_and_a_remedy() {
    for (line, sentence) in [
        (
            "echo -n 0",
            "'0' for '--ranks <N>': a run has 1 to 1048576 ranks (write -n 4, or -n 2..16*2 for several runs)",
        ),
        ("echo -n four", "'four' for '--ranks <N>'"),
        ("echo --mesh 2by2", "'2by2' for '--mesh <RxC>': a mesh is rows x columns"),
        ("echo --time soon", "'soon' for '--time <TIME>': a time is a number with a unit"),
        ("echo --budget 0s", "'0s' for '--budget <TIME>': the time must be above zero"),
        ("echo --watchdog 5", "'5' for '--watchdog <TIME>': a time is a number with a unit"),
        ("echo --mem lots", "'lots' for '--mem <SIZE>'"),
        ("echo --samples 0", "'0' for '--samples <N>'"),
        ("echo --repetitions x", "'x' for '--repetitions <N>'"),
        ("echo --profile slow", "'slow' for '--profile <NAME>'"),
        ("echo --format pdf", "'pdf' for '--format <FORMAT>'"),
        ("echo --progress loud", "'loud' for '--progress <HOW>'"),
        ("echo --label machine", "'machine' for '--label <KEY=VALUE>'"),
        ("echo --bind left", "'left' for '--bind <WHERE>': ranks are bound to core, none or"),
        ("echo -t pigeon", "'pigeon' for '--transport <NAME>'"),
        ("echo --inject echo", "write corrupt:KERNEL"),
        ("echo --mesh 2x2 --topology t.json", "'--mesh <RxC>' cannot be used with"),
        ("echo --frobnicate", "unexpected argument '--frobnicate'"),
        ("completions tcsh", "'tcsh' for '<SHELL>'"),
        ("plan", "required arguments were not provided"),
    ] {
        check_refused(line, 2, sentence);
    }
}

#[test]
fn sweeps_that_mean_nothing_are_refused_with_their_option() {
    check_sentence("echo -s 8..4", 2, "--sizes: '8..4' runs backwards (write 4..8)");
    check_sentence("echo -s max", 2, "--sizes: 'max' has no meaning on this axis");
    check_sentence(
        "update_guard --local-n 4Q",
        2,
        "--local-n: '4Q' has an unknown unit (write a count like 4096, 4Ki, 1.5M or 2kB)",
    );
}

#[test]
fn every_axis_of_a_kernel_takes_values() {
    let folder = Folder::new();
    let output = folder.run("plan shift -n 4 --axis direction=east --axis local_n=8,16").success();
    output.prints("2 cases");
    check_refused(
        "plan shift -n 4 --axis direction=up",
        2,
        "--axis direction: 'up' is not one of north, east (write some of these)",
    );
    let above = "9 is above the largest value here, 2 (write 0..max)";
    check_refused("plan echo -n 4 --axis hops=9", 2, &format!("--axis hops: {above}"));
    check_refused("plan echo -n 4 --hops 9", 2, &format!("--hops: {above}"));
    folder.run("plan echo -n 2,4 --hops 2").success().prints("no rank is 2 hops from rank 0");
    check_refused(
        "plan echo -n 2 --axis stride=2",
        2,
        "--axis stride: no kernel varies it (they vary ",
    );
    check_refused("plan echo -n 2 --axis hops", 2, "write hops=1..max");
}

#[test]
fn a_mesh_must_hold_the_ranks() {
    check_sentence(
        "echo -n 4 --mesh 2x3",
        2,
        "a mesh of 2x3 holds 6 ranks, -n asks for 4 (write -n 6, or leave it out)",
    );
}

#[test]
fn a_topology_file_must_exist_and_be_one() {
    check_refused("echo --topology none.json", 2, "none.json");
    let folder = Folder::new();
    let output = folder.run(&format!(
        "echo --topology {}",
        folder.write("t.json", "{\"mesh\": [[0, 0]]}").display()
    ));
    let output = output.code(2).notes("t.json: the mesh of 2 ranks names rank 0 2 times");
    assert_eq!(output.stderr.lines().count(), 1);
    assert_eq!(folder.names(), ["t.json"]);
}

#[test]
fn an_unknown_kernel_comes_with_the_nearest_names() {
    check_sentence(
        "ecko",
        2,
        "'ecko' is no kernel, suite or alias; did you mean echo? (comet-run list shows all kernels)",
    );
    check_refused("echo barier", 2, "did you mean barrier?");
    check_refused("echo --inject corrupt:nothing", 2, "'nothing' is no kernel");
}

#[test]
fn a_name_in_two_suites_means_the_default_one() {
    let output = Folder::new().run("plan barrier -n 2").success().prints("comet/barrier");
    assert!(!output.stdout.contains("naive/barrier"));
    let output = Folder::new().run("plan */barrier -n 2").success();
    output.prints("comet/barrier").prints("naive/barrier");
}

#[test]
fn a_name_for_several_kernels_lists_them() {
    check_refused("echo --inject corrupt:naive", 2, "'naive' means 3 kernels: naive/broadcast, ");
}

#[test]
fn nothing_selected_is_code_6() {
    check_sentence("zz*", 6, "no kernel matches 'zz*' (comet-run list shows all kernels)");
    check_refused("run -n 2", 6, "nothing is selected");
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    check_refused("echo -n 1 --bind 60000", 2, "cannot run on cpu 60000");
}

#[test]
fn a_result_file_is_never_overwritten() {
    let folder = Folder::new();
    folder.write("old.jsonl", "precious");
    let output = folder.run("barrier -n 2 --out old.jsonl").code(2);
    output.notes(
        "error: old.jsonl is there already, and results are not added to it (name another file",
    );
    assert_eq!(folder.read("old.jsonl"), "precious");
}

#[test]
fn files_that_are_missing_or_hold_something_else_are_refused() {
    check_refused("show none.jsonl", 2, "none.jsonl");
    check_refused("validate none.jsonl", 2, "none.jsonl");
    let folder = Folder::new();
    folder.write("poem.txt", "roses are red\nviolets are blue\n");
    folder.run("show poem.txt").code(2).notes("line 1");
    folder.run("validate poem.txt").code(3).prints("poem.txt: line 1: ");
    folder.write("empty.jsonl", "");
    for command in ["show", "plot", "report", "validate"] {
        folder
            .run(&format!("{command} empty.jsonl"))
            .code(2)
            .notes("there is no run in empty.jsonl");
    }
}
