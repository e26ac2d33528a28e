//! Jobs that do not end as planned: killed and stopped ranks, a killed launcher, signals.
//!
//! The runs are so long that only what a test does to them ends them.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::processes::{
    is_alive, is_known, send, send_to_group, shared_memory, stop_in_computation,
};
use crate::records::Records;
use crate::support::{Folder, Output, Running, eventually};

/// How long a job that has failed may take to end, with room for slow machines.
const PATIENCE: Duration = Duration::from_secs(10);

/// One case per kernel, and more samples of it than any test waits for. No watchdog ends the run.
const LONG: &str = "-n 4 -s 8 --hops 1 --vector-lengths 100 --local-n 8 --samples 1000000 \
                    --watchdog 0";

/// Like [`LONG`] for contention, whose echoes before it must be short.
const LONG_CONTENTION: &str =
    "-n 4 -s 64Ki,256Ki --hops 1 --samples 3000 --repetitions 1 --watchdog 0";

/// A job in the middle of a case.
struct Job {
    folder: Folder,
    running: Running,
    /// Processes of the ranks.
    pids: Vec<u32>,
}

impl Job {
    /// Starts `line` and waits until the first case of `kernel` is under way on all ranks.
    fn start(line: &str, kernel: &str) -> Self {
        Self::start_with(line, kernel, |_| ())
    }

    /// Like [`start`](Self::start), of a process that is `prepared`.
    fn start_with(line: &str, kernel: &str, prepare: impl FnOnce(&mut Command)) -> Self {
        let folder = Folder::new();
        let mut command = folder.command(&format!("{line} --progress plain --out r.jsonl"));
        prepare(&mut command);
        let mut running = Running::new(command);
        let mark = format!("%] {kernel}");
        eventually("the case", || {
            assert_eq!(running.status(), None, "{}", running.stderr());
            running.stderr().contains(&mark)
        });
        // Rank 0 tells what comes before the others hear of it.
        thread::sleep(Duration::from_millis(100));
        let pids = folder.records("r.jsonl").pids();
        Self { folder, running, pids }
    }

    /// Waits for its end, after which nothing of it must be left but a valid file.
    #[track_caller]
    fn wait(self) -> (Output, Records) {
        let Self { folder, running, pids } = self;
        let output = running.wait_at_most(PATIENCE);
        let left: Vec<u32> = pids.into_iter().filter(|pid| is_known(*pid)).collect();
        assert_eq!(left, [0; 0], "ranks are left: {output:#?}");
        assert_eq!(shared_memory(), [""; 0]);
        folder.run("validate r.jsonl").success();
        let records = folder.records("r.jsonl");
        (output, records)
    }
}

/// Kills `rank` while `kernel` runs: the job ends, says what happened, and leaves nothing behind.
#[track_caller]
fn check_killed(kernel: &str, rank: usize) {
    let options = if kernel == "comet/contention" { LONG_CONTENTION } else { LONG };
    let job = Job::start(&format!("{kernel} {options}"), kernel);
    send("KILL", job.pids[rank]);
    let (output, records) = job.wait();
    let sentence = format!("rank {rank} was killed by SIGKILL during {kernel}");
    let output = output.code(1).notes(&format!("error: {sentence}"));
    check_failed(&records, "rank_died", rank, &sentence);
    assert!(!output.stderr.contains("panicked"), "{output:#?}");
}

/// The record of a failed job ends with an event that says what happened, and an end.
#[track_caller]
fn check_failed(records: &Records, code: &str, rank: usize, sentence: &str) {
    let event = records.of_type("event").last().expect("there is an event");
    assert_eq!((event["level"].as_str(), event["code"].as_str()), (Some("error"), Some(code)));
    assert_eq!(event["rank"], rank);
    let message = event["message"].as_str().expect("an event has a message");
    assert!(message.starts_with(sentence), "{message}");
    let end = records.end();
    assert_eq!((end["status"].as_str(), end["reason"].as_str()), (Some("failed"), Some("error")));
}

#[test]
fn a_killed_rank_ends_every_message_kernel() {
    check_killed("comet/echo", 0);
    check_killed("comet/exchange", 1);
    check_killed("comet/broadcast", 2);
    check_killed("comet/reduction", 3);
    check_killed("comet/barrier", 0);
    check_killed("comet/contention", 1);
    check_killed("comet/overlap", 2);
}

#[test]
fn a_killed_rank_ends_every_matrix_kernel() {
    check_killed("matrix/update_guard", 3);
    check_killed("matrix/shift", 0);
    check_killed("matrix/transpose", 1);
    check_killed("matrix/row_broadcast", 2);
    check_killed("matrix/col_broadcast", 3);
}

/// Stops rank 1 of 2 in a computation, and waits for the watchdog; whether the rank was not between
/// two looks for a message after all.
fn stop_a_rank() -> bool {
    // Rounds are short, because the watchdog waits for longer ones with more patience.
    let line = "overlap -n 2 -s 0..999+1 --vector-lengths 1000000 --samples 5 --watchdog 1s";
    let job = Job::start(line, "comet/overlap");
    stop_in_computation(job.pids[1]);
    let (output, records) = job.wait();
    let output = output.code(1).notes("rank 0 waits for ").notes("; at that moment rank 0 ");
    if !output.stderr.contains("rank 1 is not in a transport call that waits") {
        return false;
    }
    let sentence = "rank 1 does not answer: rank 0 waits for ";
    output.notes(&format!("error: {sentence}")).notes(" during comet/overlap length_bytes=");
    check_failed(&records, "rank_stalled", 1, sentence);
    true
}

#[test]
fn the_watchdog_says_who_waits_and_who_does_not_answer() {
    assert!((0..6).any(|_| stop_a_rank()), "no rank was stopped in its computation");
}

#[test]
fn no_rank_outlives_its_launcher() {
    let Job { folder, running, pids } = Job::start(&format!("echo {LONG}"), "comet/echo");
    send("KILL", running.pid());
    let output = running.wait_at_most(PATIENCE);
    assert_eq!(output.code, None, "a signal ended it");
    eventually("the end of all ranks", || !pids.iter().any(|pid| is_alive(*pid)));
    let output = folder.run("validate r.jsonl").success();
    output.prints("no end: the run was killed or is still running");
    folder.run("show r.jsonl").success().prints("# no end: ");
    assert_eq!(shared_memory(), [""; 0]);
}

/// A signal ends the run between two rounds: what was measured is kept.
#[track_caller]
fn check_interrupted(job: Job, signal: &str, code: i32) {
    let (output, records) = job.wait();
    let output = output.code(code).prints(&format!("# stopped early: {signal}"));
    assert!(!output.stderr.contains("error"), "{output:#?}");
    let end = records.end();
    assert_eq!((end["status"].as_str(), end["reason"].as_str()), (Some("partial"), Some(signal)));
    let statuses: Vec<_> = records.points().map(|point| point["status"].as_str()).collect();
    assert_eq!(statuses, [Some("ok")], "the samples so far make a point");
}

#[test]
fn a_signal_ends_the_run_in_order() {
    for (signal, code) in [("HUP", 129), ("INT", 130), ("TERM", 143)] {
        let job = Job::start(&format!("echo {LONG}"), "comet/echo");
        send(signal, job.running.pid());
        check_interrupted(job, &format!("SIG{signal}"), code);
    }
}

#[test]
fn a_key_on_the_terminal_reaches_launcher_and_ranks_at_once() {
    let own_group = |command: &mut Command| {
        command.process_group(0);
    };
    let job = Job::start_with(&format!("reduction {LONG}"), "comet/reduction", own_group);
    send_to_group("INT", job.running.pid());
    check_interrupted(job, "SIGINT", 130);
}

#[test]
fn a_second_signal_ends_the_run_at_once() {
    let job = Job::start(&format!("barrier {LONG}"), "comet/barrier");
    // A rank that cannot listen: only force ends it.
    send("STOP", job.pids[0]);
    send("INT", job.running.pid());
    send("TERM", job.running.pid());
    let (output, records) = job.wait();
    output.code(143).notes("error: the ranks were ended by a second SIGTERM");
    let event = records.of_type("event").last().expect("there is an event");
    assert_eq!(event["code"], "interrupted");
    let end = records.end();
    assert_eq!((end["status"].as_str(), end["reason"].as_str()), (Some("failed"), Some("SIGTERM")));
}
