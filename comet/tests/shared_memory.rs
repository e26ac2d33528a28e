//! Measurements over shared memory: results reach the caller, and so do failures.
//!
//! Without libtest's harness: ranks are forked, and only a process with one thread may fork.
#![expect(clippy::print_stdout, reason = "this is a test runner")]

use std::process::ExitCode;

use comet::record::PointStatus;
use comet::{Error, Profile, Ranks as _, Result, SharedMemory, Shm, Transport, pattern};
use comet_report::read::parse_records;

const N_BYTES: usize = 1024;

fn message(t: &Shm) -> Result<<Shm as Transport>::Buffer> {
    t.message_buffer(N_BYTES)
}

/// A broadcast among `n_ranks` ranks, whose check looks for the data of stream `stream`.
fn broadcast(n_ranks: usize, stream: u16) -> std::result::Result<comet::Times, Error> {
    let ranks = SharedMemory::new(n_ranks);
    ranks
        .pattern(
            |t| Ok((t.rank() == 0, message(t)?)),
            |t, (_, message)| t.blocked_broadcast(0, message),
        )
        .named("broadcast")
        .moving(N_BYTES as u64)
        .profile(Profile::Quick)
        .checked(
            |(is_root, message), seeds| match is_root {
                true => pattern::fill(message, seeds.of(0, 0)),
                false => pattern::spoil(message, seeds.of(0, 0)),
            },
            move |(_, message), check| {
                let seed = check.seeds().of(stream, 0);
                check.message(message, seed, "the broadcast");
            },
        )
        .measure()
}

fn results_reach_the_caller() {
    let times = broadcast(3, 0).unwrap();
    assert!(times.median_ns > 0.0 && times.bytes_per_s > Some(0.0), "{times}");
    assert!(times.n_samples >= 3, "{times}");
    assert_eq!(times.samples_ns.iter().map(Vec::len).collect::<Vec<_>>(), [times.n_samples; 3]);
    let records = parse_records(times.record.as_bytes()).unwrap();
    assert_eq!((records.problems.len(), records.incomplete_line), (0, None));
    assert!(times.record.contains("\"pid\":"), "the record holds the placement of the ranks");
}

fn wrong_data_is_an_error() {
    let Err(Error::NoTimes { kernel, status, message }) = broadcast(2, 1) else {
        panic!("no error")
    };
    assert_eq!((kernel.as_str(), status), ("own/broadcast", PointStatus::CheckFailed));
    assert!(message.contains(": byte 0 of 1024 of the broadcast: expected 0x"), "{message}");
}

fn a_panic_in_a_rank_is_an_error_with_its_text() {
    let error = comet::measure(2, message, |t, _| match t.rank() {
        1 => panic!("out of luck"),
        _ => t.barrier(),
    });
    let Err(Error::Job(failure)) = error else { panic!("no error") };
    assert_eq!((failure.rank, failure.code), (Some(1), "rank_gave_up"));
    assert!(failure.message.contains("out of luck"), "{}", failure.message);
}

fn a_process_with_threads_starts_no_ranks() {
    std::thread::scope(|threads| {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        threads.spawn(move || wait.recv());
        let error = comet::measure(2, message, |t, _| t.barrier()).unwrap_err().to_string();
        assert!(error.starts_with("cannot fork ranks from a process with 2 threads"), "{error}");
        drop(done);
    });
}

fn a_loop_is_measured_by_another_definition() {
    let barrier = SharedMemory::new(2).pattern(|_| Ok(()), |t, ()| t.barrier());
    let in_loop = barrier.profile(Profile::Quick).definition(comet::Definition::LoopMean);
    let times = in_loop.measure().unwrap();
    let numbers = times.point.numbers().unwrap();
    assert_eq!(numbers.value.definition, "D5 loop_mean");
}

fn main() -> ExitCode {
    for test in [
        results_reach_the_caller,
        wrong_data_is_an_error,
        a_panic_in_a_rank_is_an_error_with_its_text,
        a_loop_is_measured_by_another_definition,
        a_process_with_threads_starts_no_ranks,
    ] {
        test();
    }
    println!("5 tests passed");
    ExitCode::SUCCESS
}
