//! Jobs that do not end as planned: killed and stopped ranks, a killed launcher, signals.
//!
//! The runs are so long that only what a test does to them ends them.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use crate::support::{
    Folder, OBEYS, Output, Process, Records, Running, eventually, send, send_to_group, stop,
    stop_in_computation, through_env,
};

/// Tries of a test that may come too early or too late for what it wants to meet.
const N_TRIES: usize = 20;

/// One case per kernel, and more samples of it than any test waits for. No watchdog ends the run.
const LONG: &str = "-n 4 -s 8 --hops 1 --vector-lengths 100 --local-n 8 --samples 1000000 \
                    --watchdog 0";

/// Like [`LONG`] for contention, whose echoes before it must be short.
const LONG_CONTENTION: &str =
    "-n 8 -s 64Ki,256Ki --hops 1 --samples 3000 --repetitions 1 --watchdog 0";

/// A job in the middle of a case.
struct Job {
    folder: Folder,
    running: Running,
    ranks: Vec<Process>,
}

impl Job {
    /// Starts `line` and waits until rank 0 begins the first case of `kernel`.
    fn start(line: &str, kernel: &str) -> Self {
        Self::start_with(line, kernel, OBEYS, |_| ())
    }

    /// [`start`](Self::start) of a process that `env` starts with `option` and `prepare` changes.
    fn start_with(
        line: &str,
        kernel: &str,
        option: &str,
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let folder = Folder::new();
        let command = folder.command(&format!("{line} --progress plain --out r.jsonl"));
        let mut command = through_env(&command, option);
        prepare(&mut command);
        let mut running = Running::new(command);
        let mark = format!("%] {kernel}");
        eventually("the case", || {
            assert_eq!(running.status(), None, "{}", running.stderr());
            running.stderr().contains(&mark)
        });
        let pids = folder.records("r.jsonl").pids().into_iter();
        let ranks: Vec<_> = pids.map(|pid| Process::find(pid).expect("a rank lives")).collect();
        let named: Vec<_> = ranks.iter().flat_map(|rank| rank.named_memory()).collect();
        assert_eq!(named, [""; 0], "shared memory that would outlive the job");
        Self { folder, running, ranks }
    }

    fn send(&self, name: &str, rank: usize) {
        send(name, self.ranks[rank].pid);
    }

    /// Waits for its end, after which nothing of it must be left but a valid file.
    #[track_caller]
    fn wait(self) -> (Output, Records) {
        let Self { folder, running, ranks } = self;
        let output = running.wait();
        let left: Vec<_> = ranks.into_iter().filter(|rank| rank.is_known()).collect();
        assert_eq!(left, [], "ranks are left: {output:#?}");
        folder.run("validate r.jsonl").well_formed();
        let records = folder.records("r.jsonl");
        (output, records)
    }
}

/// Tries until `attempt` meets what the test is about.
#[track_caller]
fn until(what: &str, mut attempt: impl FnMut() -> bool) {
    assert!((0..N_TRIES).any(|_| attempt()), "{what} was not met in {N_TRIES} tries");
}

/// Kills a rank, another one each time, while each of `kernels` runs: the job ends, says what
/// happened, and leaves nothing behind.
#[track_caller]
fn check_killed(kernels: &[String]) {
    for (number, kernel) in kernels.iter().enumerate() {
        until(kernel, || kill(kernel, number % 4));
    }
}

/// Kills `rank` while `kernel` runs; true if it had begun its case, which rank 0 begins first.
fn kill(kernel: &str, rank: usize) -> bool {
    let options = if kernel == "comet/contention" { LONG_CONTENTION } else { LONG };
    let job = Job::start(&format!("{kernel} {options}"), kernel);
    job.send("KILL", rank);
    let (output, records) = job.wait();
    let sentence = format!("rank {rank} was killed by SIGKILL");
    let output = output.code(1).notes(&format!("error: {sentence}"));
    check_failed(&records, "rank_died", rank, &sentence);
    assert!(!output.stderr.contains("panicked"), "{output:#?}");
    output.stderr.contains(&format!("{sentence} during {kernel}"))
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
    assert_eq!([&end["status"], &end["reason"]], ["failed", "error"]);
}

#[test]
fn a_killed_rank_ends_every_message_kernel() {
    let kernels =
        ["echo", "exchange", "broadcast", "reduction", "barrier", "contention", "overlap"];
    check_killed(&kernels.map(|name| format!("comet/{name}")));
}

#[test]
fn a_killed_rank_ends_every_matrix_kernel() {
    let kernels = ["row_broadcast", "shift", "transpose", "col_broadcast", "update_guard"];
    check_killed(&kernels.map(|name| format!("matrix/{name}")));
}

/// Stops rank 1 of 2 in a computation, and waits for the watchdog; false if the rank was between two
/// looks for a message after all.
fn stop_a_rank() -> bool {
    // Steps are short, because the watchdog waits for longer ones with more patience.
    let line = "overlap -n 2 -s 0..999+1 --vector-lengths 1000000 --samples 5 --watchdog 3s";
    let job = Job::start(line, "comet/overlap");
    stop_in_computation(job.ranks[1].pid);
    let (output, records) = job.wait();
    let output = output.code(1).notes("rank 0 waits for ").notes("; at that moment rank 0 ");
    if !output.stderr.contains("rank 1 is not in a transport call that waits") {
        return false;
    }
    let sentence = "rank 1 is stopped by a signal: rank 0 waits for ";
    output.notes(&format!("error: {sentence}")).notes(" during comet/overlap length_bytes=");
    check_failed(&records, "rank_stalled", 1, sentence);
    true
}

#[test]
fn the_watchdog_says_who_waits_and_who_does_not_answer() {
    until("a rank in its computation", stop_a_rank);
}

/// The samples of a round take minutes, in steps of a tenth of a second.
#[test]
fn the_watchdog_allows_for_the_step_at_hand_and_not_for_the_round() {
    let line = "echo -n 2 -s 1Ki --samples 1000000 --repetitions 2000 --watchdog 3s";
    let job = Job::start(line, "comet/echo");
    std::thread::sleep(Duration::from_millis(1500));
    stop(job.ranks[1].pid);
    let (output, records) = job.wait();
    output.code(1).notes("rank 0 waits for ");
    check_failed(&records, "rank_stalled", 1, "rank 1 is stopped by a signal");
}

#[test]
fn no_rank_outlives_its_launcher() {
    let Job { folder, running, ranks } = Job::start(&format!("echo {LONG}"), "comet/echo");
    send("KILL", running.pid());
    let output = running.wait();
    assert_eq!(output.code, None, "a signal ended it");
    eventually("the end of all ranks", || !ranks.iter().any(|rank| rank.is_alive()));
    let output = folder.run("validate r.jsonl").code(4);
    output.prints("no end: the run was killed or is still running");
    folder.run("show r.jsonl").success().prints("# no end: ");
}

#[test]
fn no_process_outlives_a_launcher_that_is_killed_in_its_first_moments() {
    let folder = Folder::new();
    for _ in 0..30 {
        let running = folder.start("barrier -n 2 --out none");
        let launcher = Process::find(running.pid()).expect("nobody has waited for it");
        let mut children = Vec::new();
        // The first are those that find out what one child may do with another; they are there for
        // so short a time that this loop does not sleep.
        while children.is_empty() && launcher.is_alive() {
            children = launcher.children();
        }
        // Kills it.
        drop(running);
        eventually("the end of its children", || !children.iter().any(|child| child.is_alive()));
    }
}

#[test]
fn no_command_outlives_an_ab_that_is_killed() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_comet-run");
    let running = folder.start(&format!("ab -- {program} echo {LONG} -- true"));
    let ab = Process::find(running.pid()).expect("nobody has waited for it");
    let mut all = Vec::new();
    eventually("the ranks of its command", || {
        let commands = ab.children();
        all = commands.iter().flat_map(|command| command.children()).collect();
        let has_ranks = all.len() == 4;
        all.extend(commands);
        has_ranks
    });
    // Kills it.
    drop(running);
    eventually("the end of the command", || !all.iter().any(|process| process.is_alive()));
}

/// A job of `line` that `env` starts with `option` and `prepare` changes gets a signal by `send`,
/// which ends it between two rounds: what was measured is kept.
#[track_caller]
fn check_interrupted(
    (kernel, option, prepare): (&str, &str, fn(&mut Command)),
    (signal, code): (&str, i32),
    send: fn(&str, u32),
) {
    until("a sample before the signal", || {
        let job = Job::start_with(&format!("{kernel} {LONG}"), kernel, option, prepare);
        send(signal, job.running.pid());
        is_interrupted(job, &format!("SIG{signal}"), code)
    });
}

/// False if nothing had been measured before the signal.
#[track_caller]
fn is_interrupted(job: Job, signal: &str, code: i32) -> bool {
    let (output, records) = job.wait();
    let output = output.code(code).prints(&format!("# stopped early: {signal}"));
    assert!(!output.stderr.contains("error"), "{output:#?}");
    let end = records.end();
    assert_eq!((end["status"].as_str(), end["reason"].as_str()), (Some("partial"), Some(signal)));
    let statuses: Vec<_> = records.points().map(|point| point["status"].as_str()).collect();
    assert!(statuses.iter().all(|status| *status == Some("ok")), "{statuses:?}");
    // A slow machine may still have been at the warm-up of the only case.
    !statuses.is_empty()
}

#[test]
fn a_signal_ends_the_run_in_order() {
    for end in [("HUP", 129), ("INT", 130), ("TERM", 143), ("USR1", 138), ("XCPU", 152)] {
        check_interrupted(("comet/echo", OBEYS, |_| ()), end, send);
    }
}

#[test]
fn a_signal_that_the_parent_blocks_ends_the_run_all_the_same() {
    check_interrupted(("comet/echo", "--block-signal=TERM", |_| ()), ("TERM", 143), send);
}

#[test]
fn a_key_on_the_terminal_reaches_launcher_and_ranks_at_once() {
    let own_group = |command: &mut Command| {
        command.process_group(0);
    };
    check_interrupted(("comet/reduction", OBEYS, own_group), ("INT", 130), send_to_group);
}

#[test]
fn a_parent_that_ignores_its_children_changes_nothing() {
    let folder = Folder::new();
    let script = "echo -n 2 -s 8 --profile quick --format none --out";
    folder.run(&format!("{script} plain.jsonl")).success();
    let ignoring = format!("trap '' CHLD; exec \"$0\" {script} ignored.jsonl");
    folder.start_shell(&ignoring).wait().success();
    let memory = |name: &str| folder.records(name).run()["transport"]["private_memory"].clone();
    assert_eq!(memory("ignored.jsonl"), memory("plain.jsonl"));
}

#[test]
fn a_second_signal_before_there_are_ranks_ends_the_run_at_once() {
    const SIGTERM: u32 = 15;
    let folder = Folder::new();
    until("a run before its ranks", || {
        let command = through_env(&folder.command("barrier -n 2 --out none"), OBEYS);
        let running = Running::new(command);
        let launcher = Process::find(running.pid()).expect("nobody has waited for it");
        eventually("a handler", || launcher.catches(SIGTERM) || !launcher.is_alive());
        stop(running.pid());
        let is_early = launcher.is_alive() && launcher.children().is_empty();
        send("INT", running.pid());
        send("TERM", running.pid());
        send("CONT", running.pid());
        let output = running.wait();
        is_early && matches!(output.code, Some(130 | 143)) && output.stdout.is_empty()
    });
}

#[test]
fn a_signal_ends_ranks_in_a_batch_of_minutes() {
    let batch = "exchange -n 2 -s 4Mi --repetitions 1000000 --samples 1 --watchdog 0";
    until("a run in its batch", || {
        let job = Job::start(batch, "comet/exchange");
        std::thread::sleep(Duration::from_millis(200));
        send("TERM", job.running.pid());
        let (output, records) = job.wait();
        let output = output.code(143);
        assert_eq!(records.end()["reason"], "SIGTERM");
        output.stderr.contains("error: the ranks were ended in the middle of a case by SIGTERM")
    });
}

#[test]
fn a_second_signal_ends_the_run_at_once() {
    let job = Job::start(&format!("barrier {LONG}"), "comet/barrier");
    // A rank that cannot listen: only force ends it.
    job.send("STOP", 0);
    send("INT", job.running.pid());
    send("TERM", job.running.pid());
    let (output, records) = job.wait();
    output.code(143).notes("error: the ranks were ended by a second SIGTERM");
    let event = records.of_type("event").last().expect("there is an event");
    assert_eq!(event["code"], "interrupted");
    let end = records.end();
    assert_eq!((end["status"].as_str(), end["reason"].as_str()), (Some("failed"), Some("SIGTERM")));
}
