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

fn passes(n_ranks: usize, bind: Bind, single_copy: bool) -> bool {
    let topology = Topology::hypercube(n_ranks);
    let watchdog = Some(Duration::from_secs(30));
    let config = LaunchConfig { n_ranks, topology, bind, watchdog, single_copy };
    let outcome = launch(&config, rank_main);
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
    let config =
        LaunchConfig { n_ranks: 3, topology, bind: Bind::None, watchdog: None, single_copy: true };
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
    let config =
        LaunchConfig { n_ranks: 2, topology, bind: Bind::None, watchdog, single_copy: true };
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
    let config =
        LaunchConfig { n_ranks: 1, topology, bind: Bind::None, watchdog: None, single_copy: true };
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
    let config =
        LaunchConfig { n_ranks: 3, topology, bind: Bind::None, watchdog: None, single_copy: true };
    let outcome =
        launch(&config, |t| if t.rank() == 2 { code } else { u8::from(t.barrier().is_err()) });
    let named = |message: &str| message.starts_with(&format!("rank 2 ended with code {code}"));
    matches!(outcome, Ok(Outcome::Failed(failure))
        if failure.rank == Some(2) && named(&failure.message))
}

/// A rank that nobody waits for may end with any code; the others go on.
fn a_code_is_no_failure_in_itself() -> bool {
    let topology = Topology::hypercube(2);
    let config =
        LaunchConfig { n_ranks: 2, topology, bind: Bind::None, watchdog: None, single_copy: true };
    let outcome = launch(&config, |t| {
        let result = t.barrier();
        if t.rank() == 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        if result.is_ok() { 3 * u8::try_from(t.rank()).unwrap_or(0) } else { 1 }
    });
    matches!(outcome, Ok(Outcome::Finished { code: 3 }))
}

/// A sender that helps with a message only after it has sent another leaves that one alone, though
/// both met their receiver in the same place.
fn messages_on_their_way_at_once_stay_apart() -> bool {
    use comet_core::transport::{Source, Tag};
    const N_ROUNDS: usize = 3000;
    let topology = Topology::hypercube(2);
    let config =
        LaunchConfig { n_ranks: 2, topology, bind: Bind::Core, watchdog: None, single_copy: true };
    let outcome = launch(&config, |t| {
        let buffer = || t.message_buffer(64 * 1024);
        let (Ok(mut first), Ok(mut second)) = (buffer(), buffer()) else { return 2 };
        let spin = |n_ns| {
            let end_ns = t.now_ns() + n_ns;
            while t.now_ns() < end_ns {}
        };
        for round in 0..N_ROUNDS {
            let [low, high] =
                [2 * round, 2 * round + 1].map(|n| u8::try_from(n % 251).unwrap_or(0));
            let (tag, other) = (Tag::new(1), Source::Rank(0));
            if t.rank() == 0 {
                first.fill(low);
                second.fill(high);
                let sent = t.barrier().and_then(|()| {
                    t.scope(|s| {
                        let one = s.unblocked_send(1, tag, &first)?;
                        // Until the receiver has taken it, and waits for the other.
                        spin(50_000);
                        let two = s.unblocked_send(1, tag, &second)?;
                        spin(round as u64 % 300);
                        one.wait()?;
                        two.wait()
                    })
                });
                if sent.is_err() {
                    return 3;
                }
            } else {
                // One after the other without a pause, so that the second follows on the first.
                let received = t.barrier().is_ok()
                    && t.blocked_recv(other, tag, &mut first).is_ok()
                    && t.blocked_recv(other, tag, &mut second).is_ok();
                if !received {
                    return 3;
                }
                let holds = |message: &[u8], value| message.iter().all(|byte| *byte == value);
                if !holds(&first, low) || !holds(&second, high) {
                    return 1;
                }
            }
        }
        0
    });
    matches!(outcome, Ok(Outcome::Finished { code: 0 }))
}

/// Ranks of a rank would write to its buffers as if they were it.
fn a_rank_cannot_start_ranks() -> bool {
    let topology = Topology::hypercube(1);
    let config =
        LaunchConfig { n_ranks: 1, topology, bind: Bind::None, watchdog: None, single_copy: true };
    let outcome = launch(&config, |_| match launch(&config, |_| 0) {
        Err(comet_shm::LaunchError::Nested) => 7,
        _ => 0,
    });
    matches!(outcome, Ok(Outcome::Finished { code: 7 }))
}

/// Ranks that disagree about the length of a sum are told, also where one has nothing to add.
fn ranks_that_disagree_about_a_sum_are_told() -> bool {
    let topology = Topology::hypercube(2);
    let config =
        LaunchConfig { n_ranks: 2, topology, bind: Bind::None, watchdog: None, single_copy: true };
    let outcome = launch(&config, |t| {
        let mut values = vec![1.0; 3 * t.rank()];
        u8::from(t.global_sum_vector(&mut values).is_err())
    });
    let named = |message: &str| message.contains("disagree about its length");
    matches!(outcome, Ok(Outcome::Failed(failure)) if named(&failure.message))
}

/// Vectors are added up wherever they lie: all in transport buffers, none, or some.
fn vectors_are_added_up_wherever_they_lie() -> bool {
    let topology = Topology::hypercube(3);
    let watchdog = Some(Duration::from_secs(30));
    let config =
        LaunchConfig { n_ranks: 3, topology, bind: Bind::Core, watchdog, single_copy: true };
    let outcome = launch(&config, |t| {
        let is_right = (0..50).all(|round| {
            let lent = [round % 2 == 0, round % 3 == 0, round % 5 == 0][t.rank()];
            let length = [513, 4096, 4097, 5, 20_000, 0, 512][round % 7];
            sum_is_right(t, round, lent, length)
        });
        u8::from(!is_right)
    });
    matches!(outcome, Ok(Outcome::Finished { code: 0 }))
}

/// Adds up products of small integers, one of the rank and one of the place.
#[expect(clippy::cast_precision_loss, reason = "small integers")]
fn sum_is_right(t: &Shm, round: usize, lent: bool, length: usize) -> bool {
    let of_rank = |rank: usize| (rank + round + 1) as f64;
    let of_place = |place: usize| (place % 127 + 1) as f64;
    let mut private = vec![0.0; length];
    let mut shared = t.message_buffer(length * size_of::<f64>()).expect("there is memory");
    let values = if lent { bytemuck::cast_slice_mut(&mut shared) } else { &mut private[..] };
    for (place, value) in values.iter_mut().enumerate() {
        *value = of_rank(t.rank()) * of_place(place);
    }
    let of_ranks: f64 = (0..t.n_ranks()).map(of_rank).sum();
    let sum = |place: usize| of_ranks * of_place(place);
    t.global_sum_vector(values).is_ok()
        && values.iter().enumerate().all(|(place, value)| *value == sum(place))
}

/// Ranks that disagree about the root of a broadcast are told, and not given another's message.
fn ranks_that_disagree_about_a_root_are_told() -> bool {
    let topology = Topology::hypercube(3);
    let watchdog = Some(Duration::from_secs(30));
    let config =
        LaunchConfig { n_ranks: 3, topology, bind: Bind::None, watchdog, single_copy: true };
    let outcome = launch(&config, |t| {
        let root = [0, 0, 1][t.rank()];
        // Rank 0 does not wait for the others in a short broadcast.
        let told = t.blocked_broadcast(root, &mut [7]).is_err() || t.barrier().is_err();
        u8::from(told)
    });
    let named = |message: &str| message.contains("disagree about its root");
    matches!(outcome, Ok(Outcome::Failed(failure)) if named(&failure.message))
}

fn main() -> ExitCode {
    let mut results = Vec::new();
    let mut test = |name: String, passed: bool| {
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        results.push(passed);
    };
    for n_ranks in RANK_COUNTS {
        test(format!("conformance_with_{n_ranks}_ranks"), passes(n_ranks, Bind::Core, true));
    }
    test("conformance_with_4_unbound_ranks".into(), passes(4, Bind::None, true));
    test("conformance_without_single_copy".into(), passes(3, Bind::Core, false));
    test("a_panic_is_named".into(), a_panic_is_named());
    test("a_stuck_rank_is_named".into(), a_stuck_rank_is_named());
    test("a_leaked_request_ends_the_job".into(), a_leaked_request_ends_the_job());
    for code in [0, 3] {
        let name = format!("a_rank_that_ends_early_with_code_{code}_is_named");
        test(name, a_rank_that_ends_early_is_named(code));
    }
    test("a_code_is_no_failure_in_itself".into(), a_code_is_no_failure_in_itself());
    let stay_apart = messages_on_their_way_at_once_stay_apart();
    test("messages_on_their_way_at_once_stay_apart".into(), stay_apart);
    test("a_rank_cannot_start_ranks".into(), a_rank_cannot_start_ranks());
    let disagree = ranks_that_disagree_about_a_sum_are_told();
    test("ranks_that_disagree_about_a_sum_are_told".into(), disagree);
    let wherever = vectors_are_added_up_wherever_they_lie();
    test("vectors_are_added_up_wherever_they_lie".into(), wherever);
    let disagree = ranks_that_disagree_about_a_root_are_told();
    test("ranks_that_disagree_about_a_root_are_told".into(), disagree);
    let n_failed = results.iter().filter(|passed| !**passed).count();
    println!("{} passed, {n_failed} failed", results.len() - n_failed);
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
