//! Outputs that are read late, FIFOs, and files of runs that die early.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::processes::send;
use crate::support::{Folder, Running, eventually, forget_launcher};

/// `script` for the shell, in which `$0` is the program.
fn shell(folder: &Folder, script: &str) -> Running {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_comet-run")]).current_dir(&folder.path);
    forget_launcher(&mut command);
    Running::new(command)
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
    let running = shell(
        &folder,
        &format!("{{ \"$0\" {run}; echo \"code $?\" >&2; }} | {{ cat gate > word; cat; }}"),
    );
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
    let running = shell(&folder, script);
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
    let output = shell(&folder, &format!("cat fifo > r.jsonl & \"$0\" {run}; c=$?; wait; exit $c"));
    output.wait().success().prints("run_id,started_at,machine,");
    folder.run("validate r.jsonl").success().prints(": complete (1 points ok");
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
            folder.run("validate r.jsonl").success();
        } else {
            assert_eq!(folder.names(), [""; 0], "after {after_ms} ms");
        }
    }
}
