//! Files that are written and files that are strange: no measurement is lost, and no terminal obeys
//! a file.

use std::fs;
use std::process::Command;

use crate::support::{Folder, Output, Running, forget_launcher};

/// A run in virtual time in `a.jsonl`, and another in `b.jsonl`.
fn two_runs() -> Folder {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let line = format!("echo -t sim -n 2 --sizes 0..400+100 --quiet --out {name}.jsonl");
        folder.run(&line).success();
    }
    folder
}

/// Output of `script` in a shell in `folder`, with the program as `$0`.
fn shell(folder: &Folder, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_comet-run")]).current_dir(&folder.path);
    forget_launcher(&mut command);
    Running::new(command).wait()
}

#[test]
fn a_comparison_does_not_overwrite_what_it_compares() {
    let folder = two_runs();
    fs::hard_link(folder.path.join("b.jsonl"), folder.path.join("link.xml")).unwrap();
    let before = ["a.jsonl", "b.jsonl"].map(|name| folder.read(name));
    for option in ["--json a.jsonl", "--markdown ./b.jsonl", "--junit link.xml"] {
        let line = format!("compare a.jsonl --to b.jsonl --allow-single {option}");
        folder.run(&line).code(2).notes("is one of the result files, and would be overwritten");
    }
    assert_eq!(["a.jsonl", "b.jsonl"].map(|name| folder.read(name)), before);
}

#[test]
fn a_hard_link_to_a_result_file_is_not_overwritten() {
    let folder = two_runs();
    let before = folder.read("b.jsonl");
    for (command, name) in [("report", "h.html"), ("export csv", "h.csv"), ("plot", "h.svg")] {
        fs::hard_link(folder.path.join("b.jsonl"), folder.path.join(name)).unwrap();
        folder.run(&format!("{command} b.jsonl -o {name}")).code(2).notes("would be overwritten");
    }
    assert_eq!(folder.read("b.jsonl"), before);
}

#[test]
fn a_page_that_cannot_be_written_leaves_the_old_one_and_nothing_else() {
    let folder = two_runs();
    folder.run("report a.jsonl -o page.html").success();
    let (page, names) = (folder.read("page.html"), folder.names());
    let output = shell(&folder, "ulimit -f 8; \"$0\" report a.jsonl b.jsonl -o page.html");
    output.code(1).notes("error: cannot write page.html (name another file): File too large");
    assert_eq!((folder.read("page.html"), folder.names()), (page, names));
}

#[test]
fn a_limit_of_file_sizes_ends_a_run_with_a_sentence() {
    let output = shell(&Folder::new(), "ulimit -f 100; \"$0\" echo -n 2 --profile quick");
    output.code(5).notes("error: cannot").notes("ulimit -f");
}

#[test]
fn no_terminal_obeys_a_file() {
    let folder = two_runs();
    let text = folder.read("a.jsonl");
    let run = folder.records("a.jsonl");
    let run_id = run.of_type("run").next().expect("there is a run")["run_id"].clone();
    let trap = r"\u001b]0;PWN\u0007\u001b[2J\nFAKE LINE: complete";
    let text = text.replace(run_id.as_str().expect("an id is text"), &format!("{trap}1"));
    let text = text.replace(r#""kernel":"echo""#, &format!(r#""kernel":"{trap}2""#));
    folder.write("trap.jsonl", &text);
    let lines = [
        "validate trap.jsonl",
        "show trap.jsonl",
        "fit trap.jsonl",
        "plot --list trap.jsonl",
        "export csv trap.jsonl",
        "export imb trap.jsonl",
        "export osu trap.jsonl",
        "health trap.jsonl",
        "compare trap.jsonl --to b.jsonl --allow-single",
    ];
    for line in lines {
        let Output { stdout, stderr, .. } = folder.run(line);
        let all = stdout + &stderr;
        let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!all.contains(is_obeyed) && !all.contains("\nFAKE"), "{line}: {all:?}");
    }
}

#[test]
fn no_terminal_obeys_a_name() {
    let folder = two_runs();
    let name = "x\u{1b}[2J\nFAKE: complete";
    folder.write(name, &folder.read("a.jsonl"));
    let mut command = folder.command("validate");
    command.arg(name);
    let output = Running::new(command).wait().success();
    assert!(output.stdout.starts_with("x\\u{1b}[2J\\nFAKE: complete: run "), "{output:#?}");
    let mut command = folder.command("show");
    command.arg(format!("{name}.jsonl"));
    let output = Running::new(command).wait().code(2);
    assert!(
        !output.stderr.contains(['\u{1b}']) && !output.stderr.contains("\nFAKE"),
        "{output:#?}"
    );
}

#[test]
fn devices_are_refused_before_they_are_read() {
    let folder = Folder::new();
    for line in [
        "show /dev/zero",
        "validate /dev/zero",
        "import osu /dev/zero",
        "echo --machine /dev/zero",
        "echo --topology /dev/zero",
    ] {
        folder.run(line).code(2).notes("/dev/zero is a device, expected a file or a pipe");
    }
}

#[test]
fn an_import_to_a_dash_goes_to_standard_output() {
    let folder = Folder::new();
    folder.write("osu.txt", "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n8 1.50\n");
    let output = folder.run("import osu osu.txt -n 2 -o -").success();
    assert!(output.stdout.starts_with("{\"type\":\"run\""), "{output:#?}");
    assert_eq!(folder.names(), ["osu.txt"]);
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let output = shell(&Folder::new(), "\"$0\" --help > /dev/full");
    output.code(1).notes("error: ");
}

#[test]
fn values_of_an_option_without_effect_are_parsed_all_the_same() {
    let folder = Folder::new();
    for line in ["echo --vector-lengths=-5%", "matrix/transpose --sizes x2", "barrier --hops ,"] {
        let output = folder.run(&format!("{line} -t sim -n 4 --out none")).code(2);
        assert!(!output.stderr.contains("has no effect"), "{output:#?}");
    }
}
