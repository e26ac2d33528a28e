//! The conformance suite over shared memory, at several rank counts.
//!
//! Without libtest's harness: ranks are forked, and only a process with one thread may fork.
#![expect(clippy::print_stdout, reason = "this is a test runner")]

use std::process::ExitCode;
use std::time::Duration;

use comet_core::conformance;
use comet_core::topology::Topology;
use comet_core::transport::Transport;
use comet_shm::{Bind, LaunchConfig, Outcome, Shm, launch};

const RANK_COUNTS: [usize; 8] = [1, 2, 3, 4, 5, 7, 8, 16];

/// On each rank: the code is 1 if a check failed.
fn rank_main(t: &Shm) -> u8 {
    let mut report = |name: &str, result: &Result<(), String>| {
        if let Err(problem) = result {
            println!("  {name} failed: {problem}");
        }
    };
    let n_failed = conformance::run_all(t, &mut report);
    u8::from(n_failed > 0)
}

fn passes(n_ranks: usize, bind: Bind) -> bool {
    let topology = Topology::hypercube(n_ranks);
    let watchdog = Some(Duration::from_secs(30));
    let outcome = launch(&LaunchConfig { n_ranks, topology, bind, watchdog }, rank_main);
    match outcome {
        Ok(Outcome::Finished { code: 0 }) => true,
        other => {
            println!("  {n_ranks} ranks ended with {other:?}");
            false
        }
    }
}

/// A rank that panics with messages in flight ends the job for all, and is named.
fn a_panic_is_named() -> bool {
    let topology = Topology::hypercube(3);
    let config = LaunchConfig { n_ranks: 3, topology, bind: Bind::None, watchdog: None };
    let outcome = launch(&config, |t| {
        if t.rank() == 1 {
            std::panic::set_hook(Box::new(|_| ()));
            panic!("on purpose");
        }
        u8::from(t.barrier().is_err())
    });
    let named = |message: &str| message.contains("rank 1 panicked: on purpose");
    matches!(outcome, Ok(Outcome::Failed(failure))
        if failure.rank == Some(1) && named(&failure.message))
}

/// A rank that never calls ends the job when the watchdog's time is over, and the report says that
/// it is the one that does not wait.
fn a_stuck_rank_is_named() -> bool {
    let topology = Topology::hypercube(2);
    let watchdog = Some(Duration::from_millis(200));
    let config = LaunchConfig { n_ranks: 2, topology, bind: Bind::None, watchdog };
    let outcome = launch(&config, |t| {
        t.annotate("the test", 0);
        while t.rank() == 1 {
            std::thread::sleep(Duration::from_secs(1));
        }
        u8::from(t.barrier().is_err())
    });
    let named = |message: &str| {
        message.starts_with("rank 1 does not answer: rank 0 waits for rank 1 in a collective")
            && message.contains("rank 1 is not in a transport call that waits during the test")
    };
    matches!(outcome, Ok(Outcome::Failed(failure)) if named(&failure.message))
}

/// A request that is leaked ends the process before its buffer is freed.
fn a_leaked_request_ends_the_job() -> bool {
    use comet_core::transport::{Source, Tag};
    let topology = Topology::hypercube(1);
    let config = LaunchConfig { n_ranks: 1, topology, bind: Bind::None, watchdog: None };
    let outcome = launch(&config, |t| {
        let mut buffer = [0u8; 8];
        let result = t.scope(|s| {
            std::mem::forget(s.unblocked_recv(Source::Any, Tag::new(1), &mut buffer)?);
            Ok(())
        });
        u8::from(result.is_err())
    });
    let named = |message: &str| message.contains("leaked");
    matches!(outcome, Ok(Outcome::Failed(failure)) if named(&failure.message))
}

/// A rank that others wait for, but that has ended, ends the job at once, with any code and without
/// a watchdog.
fn a_rank_that_ends_early_is_named(code: u8) -> bool {
    let topology = Topology::hypercube(3);
    let config = LaunchConfig { n_ranks: 3, topology, bind: Bind::None, watchdog: None };
    let outcome =
        launch(&config, |t| if t.rank() == 2 { code } else { u8::from(t.barrier().is_err()) });
    let named = |message: &str| message.starts_with(&format!("rank 2 ended with code {code}"));
    matches!(outcome, Ok(Outcome::Failed(failure))
        if failure.rank == Some(2) && named(&failure.message))
}

/// A rank that nobody waits for may end with any code; the others go on.
fn a_code_is_no_failure_in_itself() -> bool {
    let topology = Topology::hypercube(2);
    let config = LaunchConfig { n_ranks: 2, topology, bind: Bind::None, watchdog: None };
    let outcome = launch(&config, |t| {
        let result = t.barrier();
        if t.rank() == 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        if result.is_ok() { 3 * u8::try_from(t.rank()).unwrap_or(0) } else { 1 }
    });
    matches!(outcome, Ok(Outcome::Finished { code: 3 }))
}

/// Ranks of a rank would write to its buffers as if they were it.
fn a_rank_cannot_start_ranks() -> bool {
    let topology = Topology::hypercube(1);
    let config = LaunchConfig { n_ranks: 1, topology, bind: Bind::None, watchdog: None };
    let outcome = launch(&config, |_| match launch(&config, |_| 0) {
        Err(comet_shm::LaunchError::Nested) => 7,
        _ => 0,
    });
    matches!(outcome, Ok(Outcome::Finished { code: 7 }))
}

/// Ranks that disagree about the length of a sum are told, also where one has nothing to add.
fn ranks_that_disagree_about_a_sum_are_told() -> bool {
    let topology = Topology::hypercube(2);
    let config = LaunchConfig { n_ranks: 2, topology, bind: Bind::None, watchdog: None };
    let outcome = launch(&config, |t| {
        let mut values = vec![1.0; 3 * t.rank()];
        u8::from(t.global_sum_vector(&mut values).is_err())
    });
    let named = |message: &str| message.contains("disagree about its length");
    matches!(outcome, Ok(Outcome::Failed(failure)) if named(&failure.message))
}

fn main() -> ExitCode {
    let mut results = Vec::new();
    let mut test = |name: String, passed: bool| {
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        results.push(passed);
    };
    for n_ranks in RANK_COUNTS {
        test(format!("conformance_with_{n_ranks}_ranks"), passes(n_ranks, Bind::Core));
    }
    test("conformance_with_4_unbound_ranks".into(), passes(4, Bind::None));
    test("a_panic_is_named".into(), a_panic_is_named());
    test("a_stuck_rank_is_named".into(), a_stuck_rank_is_named());
    test("a_leaked_request_ends_the_job".into(), a_leaked_request_ends_the_job());
    for code in [0, 3] {
        let name = format!("a_rank_that_ends_early_with_code_{code}_is_named");
        test(name, a_rank_that_ends_early_is_named(code));
    }
    test("a_code_is_no_failure_in_itself".into(), a_code_is_no_failure_in_itself());
    test("a_rank_cannot_start_ranks".into(), a_rank_cannot_start_ranks());
    let disagree = ranks_that_disagree_about_a_sum_are_told();
    test("ranks_that_disagree_about_a_sum_are_told".into(), disagree);
    let n_failed = results.iter().filter(|passed| !**passed).count();
    println!("{} passed, {n_failed} failed", results.len() - n_failed);
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
