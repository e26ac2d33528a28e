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
    let rows = "
        --help         => comet-run all|completions|Exit codes:|--watchdog|143  ended early by SIGTERM
        help plan      => --sizes
        run -h         => --out
        list           => all = comet + matrix|thesis|  echo  |  contention  |comet-run help NAME
        list           =>   overlap   |  update_guard |  transpose |  col_broadcast
        help overlap   => vector_length (size, doubles)|Caution
        plan echo -n 4 --hops 0,1 --sizes 8,1Ki,1Mi => 4 ranks on a mesh of 2x2|in all 6 cases, about
        plan echo -n 2 --hops 1 -s 3Gi      => needs 6442450944 bytes of memory|(see --mem)
        plan echo -n 2 --hops 1 -s 3Gi --mem 6Gi => in all 1 cases
        plan imb/alltoallv -n 2 -s 3Gi --mem 6Gi => needs 12884901888 bytes of memory|(see --mem)
        plan contention -n 2                => skips |4 ranks
        plan echo -n 2 --mem 1Ki -s 1Mi     => (see --mem)
        plan contention -n 8 --cast 0,1,2,3 => skips 8: a load from 0 to 1 shares no link with an echo between 2 and 3
        plan echo -n 2,4 --hops 2           => no rank is 2 hops from rank 0
        plan shift -n 4 --axis direction=east --axis local_n=8,16 => 2 cases
        plan */barrier -n 2                 => comet/barrier|naive/barrier
        plan barrier -t sim -n 65536        => in all 1 cases, about 16s, in 1 launch;
        plan barrier -n 2 --over 10m        => in all 1 cases, about 10m 1s, in 12 launches;
        plan barrier -n 2 --profile quick --target 1 => in 5 launches (up to 20 to meet --target);
        completions bash                    => watchdog
        completions zsh                     => watchdog
        completions fish                    => watchdog
        man                                 => .TH comet|EXIT STATUS|COMMAND PLAN
    ";
    for (line, words) in rows_of(rows) {
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
    let rows = r"
        echo -n 0                           => '0' for '--ranks <N>': a run has 1 to 1048576 ranks (write -n 4, or -n 2..16*2 for several runs)
        echo -n -2                          => '-2' is below zero, as no value of an option may be
        echo --budget -1s                   => '-1' is below zero, as no value of an option may be
        echo -n four                        => 'four' for '--ranks <N>'
        echo --mesh 2by2                    => '2by2' for '--mesh <RxC>': a mesh is rows x columns
        echo --time soon                    => 'soon' for '--time <TIME>': a time is a number with a unit
        echo --budget 0s                    => '0s' for '--budget <TIME>': the time must be above zero
        echo --watchdog 5                   => '5' for '--watchdog <TIME>': a time is a number with a unit
        echo --mem lots                     => 'lots' for '--mem <SIZE>'
        echo --samples 0                    => '0' for '--samples <N[..N]>'
        echo --repetitions x                => 'x' for '--repetitions <N>'
        echo --profile slow                 => 'slow' for '--profile <NAME>'
        echo --format pdf                   => 'pdf' for '--format <FORMAT>'
        echo --progress loud                => 'loud' for '--progress <HOW>'
        echo --label machine                => 'machine' for '--label <KEY=VALUE>'
        echo --bind left                    => 'left' for '--bind <WHERE>': ranks are bound to core, none or
        echo -t pigeon                      => 'pigeon' for '--transport <NAME>'
        echo --inject echo                  => write corrupt:KERNEL
        echo --inject corrupt:nothing       => 'nothing' is no kernel
        echo --inject corrupt:naive         => 'naive' means 3 kernels: naive/broadcast,
        echo --mesh 2x2 --topology t.json   => '--mesh <RxC>' cannot be used with
        bcast --algorithm ring              => --algorithm is no option, but an axis of kernels (write --axis algorithm=VALUE)$
        plan bcast -n 2 --first-root=1      => --first-root is no option, but an axis of kernels (write --axis first_root=VALUE)$
        show r.jsonl --algorithm ring       => unexpected argument '--algorithm'
        echo --frobnicate                   => unexpected argument '--frobnicate'
        completions tcsh                    => 'tcsh' for '<SHELL>'
        plan                                => required arguments were not provided
        echo barier                         => did you mean barrier or ibarrier?
        echo -n 1 --bind 60000              => cannot run on cpu 60000
        echo --topology none.json           => none.json
        show none.jsonl                     => none.jsonl
        validate none.jsonl                 => none.jsonl
        plan shift -n 4 --axis direction=up => --axis direction: 'up' is not one of north, east (write some of these)
        plan echo -n 4 --axis hops=9        => --axis hops: 9 is above the largest value here, 2 (write 0..max)
        plan echo -n 4 --hops 9             => --hops: 9 is above the largest value here, 2 (write 0..max)
        plan echo -n 2 --axis pitch=2       => --axis pitch: no kernel varies it
        plan echo -n 2 --axis hops          => write hops=1..max
        echo -s 8..4                        => --sizes: '8..4' runs backwards (write 4..8)$
        echo -s max                         => --sizes: 'max' has no meaning on this axis$
        update_guard --local-n 4Q           => --local-n: '4Q' has an unknown unit (write a count like 4096, 4Ki, 1.5M or 2kB)$
        echo -n 4 --mesh 2x3                => a mesh of 2x3 holds 6 ranks, -n asks for 4 (write -n 6, or leave it out)$
        ecko                                => 'ecko' is no kernel, suite or alias; did you mean echo? (suites are comet, matrix,
        plan echo -n 2000                   => cannot start 2000 ranks: expected 1 to 1024 (take fewer)$
        contention -n 8 --cast 0,1,2,30     => --cast names rank 30, but ranks are 0 to 7 (start 31
        echo --unsteady 10                  => --unsteady 10 is for simulated ranks (add -t sim or --machine
        echo -n 4 --axis procs=99999        => 99999 is above the largest value here, 4 (write 1..max)
        ";
    for (line, sentence) in rows_of(rows) {
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
    folder.refuses(
        r#"
        barrier -n 2 --out old.jsonl         => error: old.jsonl is there already, and nothing is added to it (name another file
        echo --topology t.json               => error: t.json: the mesh of 2 ranks names rank 0 2 times
        show poem.txt                        => line 1
        show empty.jsonl                     => there is no run in empty.jsonl
        plot empty.jsonl                     => there is no run in empty.jsonl
        report empty.jsonl                   => there is no run in empty.jsonl
        validate empty.jsonl                 => there is no run in empty.jsonl
        reduction -n 2 --definition D11      => D9 release
        reduction -n 2 --sync together       => double-barrier
        reduction -n 2 --rules netperf       => skampi
        reduction -n 2 --target 99           => between 0.01 and 50 percent
        reduction -n 2 --skew first          => write last:0.5
        reduction -n 2 --refine all          => verified
        echo --machine cray                  => there is no machine "cray" (choose ipsc860-fit,
        echo --machine ./none.toml           => cannot read the machine file ./none.toml
        echo --machine ./bad.toml            => ./bad.toml, line 9: copy = "5" has no unit
        echo --machine t3e -t shm            => --machine t3e is for simulated ranks, not for -t shm
        echo --unsteady 10 -t shm            => --unsteady 10 is for simulated ranks, not for -t shm
        echo --unsteady 90                   => between 0.01 and 50 percent (write 2.5)
        echo -t sim --bind core              => --bind is for ranks that run on CPUs
        barrier -t sim -n 4 --axis procs=2..max*2,1000000000000 => the largest value here, 4
        machines cray                        => there is no machine "cray"
        echo -n 2 --pause 5s --watchdog 5s   => --pause 5s is as long as --watchdog 5s
        echo -n 4 -t shm --map 2x2           => --map 2x2 is for ranks that a launcher has placed
        echo --machine t3e -n 4 --map 2x2    => --map 2x2 numbers the ranks anew, but distances
        "#,
    );
    folder.run("validate poem.txt").code(3).prints("poem.txt: line 1: ");
    assert_eq!(folder.read("old.jsonl"), "precious");
}
