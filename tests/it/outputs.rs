//! Files and pipes: outputs that are read late or not at all, FIFOs, files of runs that die early,
//! and files that are strange: no measurement is lost, and no terminal obeys a file.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use nix::pty::{Winsize, openpty};

use crate::support::{Folder, Output, Running, eventually, send};

/// A run in virtual time in `a.jsonl`, and another in `b.jsonl`.
fn two_runs() -> Folder {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let line = format!("echo -t sim -n 2 --sizes 0..400+100 --quiet --out {name}.jsonl");
        folder.run(&line).success();
    }
    folder
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
    let output =
        folder.start_shell("ulimit -f 8; \"$0\" report a.jsonl b.jsonl -o page.html").wait();
    output.code(1).notes("error: cannot write page.html (name another file): File too large");
    assert_eq!((folder.read("page.html"), folder.names()), (page, names));
}

#[test]
fn a_limit_of_file_sizes_ends_a_run_with_a_sentence() {
    let output =
        Folder::new().start_shell("ulimit -f 100; \"$0\" echo -n 2 --profile quick").wait();
    output.code(5).notes("error: cannot").notes("ulimit -f");
}

#[test]
fn a_stack_that_would_overflow_is_refused_and_the_least_one_is_enough() {
    let on_stack = |kib: u32| {
        let script =
            format!("ulimit -s {kib}; exec \"$0\" echo -n 2 -s 8 --profile quick --launches 1");
        Folder::new().start_shell(&script).wait()
    };
    for kib in [128, 1023] {
        let sentence =
            format!("error: the stack may grow to {kib} KiB, and this program needs 1024 (");
        on_stack(kib).code(2).notes(&sentence).notes("ulimit -s 8192");
    }
    on_stack(1024).success();
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
fn help_that_cannot_be_written_is_a_failure() {
    let output = Folder::new().start_shell("\"$0\" --help > /dev/full").wait();
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

fn make_fifo(folder: &Folder, name: &str) {
    let made = Command::new("mkfifo").arg(folder.path.join(name)).status();
    assert!(made.expect("mkfifo is there").success());
}

#[test]
fn a_reader_that_pauses_for_longer_than_the_watchdog_ends_no_run() {
    let folder = Folder::new();
    make_fifo(&folder, "gate");
    let run = "echo -n 2 --hops 1 -s 0..100+1 --samples 100 --repetitions 1 --format jsonl \
               --watchdog 1s --out r.jsonl";
    // More than a pipe holds waits until the gate is opened.
    let running = folder.start_shell(&format!(
        "{{ \"$0\" {run}; echo \"code $?\" >&2; }} | {{ cat gate > word; cat; }}"
    ));
    let path = folder.path.join("r.jsonl");
    eventually("all points in the file", || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.matches("\n{\"type\":\"point\"").count() == 101
    });
    thread::sleep(Duration::from_millis(2500));
    folder.write("gate", "open\n");
    let output = running.wait().notes("code 0");
    assert!(output.stdout == folder.read("r.jsonl"), "every record is printed: {}", output.stderr);
    assert_eq!(folder.records("r.jsonl").end()["status"], "complete");
}

#[test]
fn a_reader_that_pauses_ends_no_check() {
    let folder = Folder::new();
    make_fifo(&folder, "gate");
    // The line of the launcher fits into the pipe, the checks of the ranks do not.
    let script = "{ head -c 65436 /dev/zero; \"$0\" check echo -n 2 --watchdog 2s; \
                  echo \"code $?\" >&2; } | { cat gate > word; tr -d '\\000'; }";
    let running = folder.start_shell(script);
    thread::sleep(Duration::from_secs(5));
    folder.write("gate", "open\n");
    let output = running.wait().notes("code 0");
    output.prints("2 ranks over shm\nok       transport: ").prints("ok       kernel comet/echo: ");
}

#[test]
fn a_fifo_gets_every_record_of_a_run_with_a_format() {
    let folder = Folder::new();
    make_fifo(&folder, "fifo");
    let run = "barrier -n 2 --samples 2 --format csv --out fifo";
    let output =
        folder.start_shell(&format!("cat fifo > r.jsonl & \"$0\" {run}; c=$?; wait; exit $c"));
    output.wait().success().prints("run_id,started_at,machine,");
    folder.run("validate r.jsonl").success().prints(": complete (1 point ok");
}

#[test]
fn a_launcher_that_is_killed_early_leaves_no_empty_file() {
    for after_ms in [0, 20, 60, 150, 300, 600] {
        let folder = Folder::new();
        let running = folder.start("barrier -n 2 --out r.jsonl");
        thread::sleep(Duration::from_millis(after_ms));
        send("KILL", running.pid());
        running.wait();
        if folder.names() == ["r.jsonl"] {
            folder.run("validate r.jsonl").well_formed();
        } else {
            assert_eq!(folder.names(), [""; 0], "after {after_ms} ms");
        }
    }
}

/// All that the program writes to a terminal of 80 columns and 40 rows, run with the words of `line`.
fn on_terminal(folder: &Folder, line: &str) -> String {
    let size = Winsize { ws_row: 40, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).expect("Linux has terminals");
    let mut command = folder.command(line);
    let of_program = || Stdio::from(terminal.slave.try_clone().expect("a descriptor is left"));
    command.stdout(of_program()).stderr(of_program()).env("TERM", "xterm");
    let mut child = command.spawn().expect("the program can be started");
    // Its own ends are the last ones then, so that the terminal closes with the program.
    drop((command, terminal.slave));
    let (mut screen, mut bytes, mut piece) = (File::from(terminal.master), Vec::new(), [0; 4096]);
    while let Ok(n_bytes @ 1..) = screen.read(&mut piece) {
        bytes.extend(&piece[..n_bytes]);
    }
    assert!(child.wait().expect("it is a child of this process").success());
    String::from_utf8(bytes).expect("the program writes UTF-8")
}

#[test]
fn a_terminal_shows_rows_after_each_launch_until_they_are_final() {
    let folder = Folder::new();
    let line = "echo -n 2 --hops 1 --sizes 8,1Ki --samples 9 --launches 3 --out none";
    let screen = on_terminal(&folder, line);
    let (so_far, last) = screen.rsplit_once("\u{1b}[J").expect("the last block is cleared");
    for n in ["1 launch", "2 launches", "3 launches"] {
        let (_, block) = so_far.split_once(&format!("so far, of {n}\r\n")).expect(n);
        let (block, _) = block.split_once('\u{1b}').expect("the next block takes its place");
        assert!(block.contains("\r\n         1         1024 "), "{block}");
        assert!(block.split("\r\n").all(|row| row.len() < 80), "{block}");
    }
    assert!(last.contains("\r\n         1         1024 ") && !last.contains("so far"), "{last}");
}
