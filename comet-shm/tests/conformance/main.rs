//! The conformance suite over shared memory at several rank counts, and the ends of jobs.
//!
//! Without libtest's harness: ranks are forked, and only a process with one thread may fork.
#![expect(clippy::print_stdout, reason = "this is a test runner")]

mod files;
mod windows;

use std::process::ExitCode;
use std::time::Duration;

use comet_core::collective::{Collective, Kind, Parts};
use comet_core::conformance;
use comet_core::error::Result;
use comet_core::job::JobFailure;
use comet_core::topology::Topology;
use comet_core::transport::{Rank, SendMode, Source, Tag, Transport};
use comet_shm::{Bind, LaunchConfig, LaunchError, Outcome, Shm, launch};

const RANK_COUNTS: [usize; 5] = [1, 2, 3, 5, 8];
const TAG: Tag = Tag::new(1);

/// A test and its name.
type Test = (&'static str, fn() -> bool);

/// A job of `n_ranks` ranks that are not bound.
fn job(n_ranks: usize) -> LaunchConfig {
    let topology = Topology::hypercube(n_ranks);
    let watchdog = Some(Duration::from_secs(30));
    LaunchConfig::new(topology).with_bind(Bind::None).with_watchdog(watchdog)
}

/// True if the ranks of the job end by themselves, the largest of their codes being `code`.
fn ends_with(code: u8, config: &LaunchConfig, rank_main: impl FnOnce(&Shm) -> u8) -> bool {
    let outcome = launch(config, rank_main);
    let is_so = matches!(outcome, Ok(Outcome::Finished { code: found, .. }) if found == code);
    if !is_so {
        println!("  {} ranks ended with {outcome:?}", config.topology.n_ranks());
    }
    is_so
}

/// True if the job fails by the fault of `culprit`, or of any rank, with a message that begins with
/// `start` and holds `part`.
fn fails_with(
    (culprit, start, part): (Option<Rank>, &str, &str),
    config: &LaunchConfig,
    rank_main: impl FnOnce(&Shm) -> u8,
) -> bool {
    let outcome = launch(config, rank_main);
    let is_so = matches!(&outcome, Ok(Outcome::Failed(JobFailure { rank, message, .. }))
        if culprit.is_none_or(|culprit| *rank == Some(culprit))
            && message.starts_with(start)
            && message.contains(part));
    if !is_so {
        println!("  {} ranks ended with {outcome:?}", config.topology.n_ranks());
    }
    is_so
}

/// True if no check fails of those that `run` runs, which gets their report.
fn passes(
    config: &LaunchConfig,
    run: impl FnOnce(&Shm, &mut conformance::Report<'_>) -> usize,
) -> bool {
    ends_with(0, config, |t| {
        let mut report = |name: &str, result: &std::result::Result<(), String>| {
            if let Err(problem) = result {
                println!("  {name} failed: {problem}");
            }
        };
        u8::from(run(t, &mut report) > 0)
    })
}

fn conforms(config: &LaunchConfig) -> bool {
    passes(config, |t, report| conformance::run_all(t, report))
}

/// A rank that panics with messages in flight ends the job for all.
fn a_panic_is_named() -> bool {
    fails_with((Some(1), "", "rank 1 panicked: on purpose"), &job(3), |t| {
        if t.rank() == 1 {
            std::panic::set_hook(Box::new(|_| ()));
            panic!("on purpose");
        }
        u8::from(t.barrier().is_err())
    })
}

/// A rank that never calls ends the job by the watchdog, and is named as silent.
fn a_stuck_rank_is_named() -> bool {
    let part = "rank 1 is not in a transport call that waits during the test";
    let config = job(2).with_watchdog(Some(Duration::from_millis(200)));
    let check = |waits: &str, call: fn(&Shm) -> bool| {
        let start = format!("rank 1 does not answer: rank 0 {waits}");
        fails_with((None, &start, part), &config, |t| {
            t.annotate("the test", 0);
            while t.rank() == 1 {
                std::thread::sleep(Duration::from_secs(1));
            }
            u8::from(call(t))
        })
    };
    check("waits for rank 1 in a collective", |t| t.barrier().is_err())
        && check("probes for a message from rank 1 (tag 1)", |t| {
            t.probe_until(Source::Rank(1), TAG).is_err()
        })
}

/// A request that is leaked ends the process before its buffer is freed.
fn a_leaked_request_ends_the_job() -> bool {
    fails_with((None, "", "leaked"), &job(1), |t| {
        let mut buffer = [0u8; 8];
        let result = t.scope(|s| {
            std::mem::forget(s.unblocked_recv(Source::Any, TAG, &mut buffer)?);
            Ok(())
        });
        u8::from(result.is_err())
    })
}

/// So does a set of requests.
fn a_leaked_set_of_requests_ends_the_job() -> bool {
    fails_with((None, "", "2 unblocked request(s) were leaked"), &job(1), |t| {
        let mut buffers = [[0u8; 8]; 2];
        let result = t.scope(|s| {
            let mut receives = s.requests();
            for buffer in &mut buffers {
                receives.push(s.unblocked_recv(Source::Any, TAG, buffer)?);
            }
            std::mem::forget(receives);
            Ok(())
        });
        u8::from(result.is_err())
    })
}

/// Buffered messages are received though their sender has returned: it leaves when they need it no more.
fn a_rank_that_ends_leaves_its_buffered_messages() -> bool {
    [job(2), job(2).with_single_copy(false)].iter().all(|config| {
        ends_with(0, config, |t| {
            if t.rank() == 0 {
                let send = |i| t.blocked_send_in(SendMode::Buffered, 1, TAG, &[i; 20_000]);
                return u8::from((0..40).try_for_each(send).is_err());
            }
            std::thread::sleep(Duration::from_millis(20));
            let mut buffer = [0; 20_000];
            let arrives = |i| {
                let received = t.blocked_recv(Source::Rank(0), TAG, &mut buffer);
                received.is_ok() && buffer == [i; 20_000]
            };
            u8::from(!(0..40).all(arrives))
        })
    })
}

/// In a part, whose ranks have other numbers, a report names those of the job.
fn a_failure_in_a_part_names_the_ranks_of_the_job() -> bool {
    let waits = "rank 0 waits for up to 8 bytes from rank 2";
    fails_with((Some(2), "rank 2 ended with code 3", waits), &job(3), |t| {
        let part = t.split(Some(0), 2 - t.rank() as u64).ok().flatten();
        match part.map(|part| (part.rank(), part)) {
            // Rank 2 of the job.
            Some((0, _)) => 3,
            Some((_, part)) => {
                u8::from(part.blocked_recv(Source::Rank(0), TAG, &mut [0; 8]).is_err())
            }
            None => 1,
        }
    })
}

/// A missed rank that has ended ends the job at once, with any code and no watchdog.
fn a_rank_that_ends_early_is_named(code: u8) -> bool {
    let config = job(3).with_watchdog(None);
    let start = format!("rank 2 ended with code {code}");
    fails_with((Some(2), &start, ""), &config, |t| {
        if t.rank() == 2 { code } else { u8::from(t.barrier().is_err()) }
    })
}

/// A rank that nobody waits for may end with any code; the others go on.
fn a_code_is_no_failure_in_itself() -> bool {
    ends_with(3, &job(2), |t| {
        let result = t.barrier();
        if t.rank() == 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        if result.is_ok() { 3 * u8::try_from(t.rank()).unwrap_or(0) } else { 1 }
    })
}

/// A sender that helps with one message leaves the next alone, though both use one place.
fn messages_on_their_way_at_once_stay_apart() -> bool {
    let config = job(2).with_bind(Bind::Core);
    ends_with(0, &config, |t| u8::from(!stay_apart(t).is_ok_and(|is_right| is_right)))
}

fn stay_apart(t: &Shm) -> Result<bool> {
    let (mut first, mut second) = (t.message_buffer(64 * 1024)?, t.message_buffer(64 * 1024)?);
    let spin = |n_ns| {
        let end_ns = t.now_ns() + n_ns;
        while t.now_ns() < end_ns {}
    };
    for round in 0..3000 {
        let [low, high] = [2 * round, 2 * round + 1].map(|n| u8::try_from(n % 251).unwrap_or(0));
        if t.rank() == 0 {
            first.fill(low);
            second.fill(high);
        }
        t.barrier()?;
        if t.rank() == 0 {
            t.scope(|s| {
                let one = s.unblocked_send(1, TAG, &first)?;
                // Until the receiver has taken it, and waits for the other.
                spin(50_000);
                let two = s.unblocked_send(1, TAG, &second)?;
                spin(round % 300);
                one.wait()?;
                two.wait()
            })?;
        } else {
            // One after the other without a pause, so that the second follows on the first.
            t.blocked_recv(Source::Rank(0), TAG, &mut first)?;
            t.blocked_recv(Source::Rank(0), TAG, &mut second)?;
            let holds = |message: &[u8], value| message.iter().all(|byte| *byte == value);
            if !holds(&first, low) || !holds(&second, high) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Ranks of a rank would write to its buffers as if they were it.
fn a_rank_cannot_start_ranks() -> bool {
    let config = job(1);
    ends_with(7, &config, |_| match launch(&config, |_| 0) {
        Err(LaunchError::Nested) => 7,
        _ => 0,
    })
}

/// Ranks that disagree about the length of a sum get an error, also where one has nothing to add.
fn ranks_that_disagree_about_a_sum_are_refused() -> bool {
    fails_with((None, "", "disagree about its length"), &job(2), |t| {
        u8::from(t.global_sum_vector(&mut vec![1.0; 3 * t.rank()]).is_err())
    })
}

/// So do those that disagree about what they do: nobody writes to memory that was not lent for it.
fn ranks_that_disagree_about_a_collective_are_refused() -> bool {
    let roots = fails_with((None, "the ranks disagree", ""), &job(2), |t| {
        gather_long(t, t.rank(), 50_000).map_or(1, |()| u8::from(t.barrier().is_err()))
    });
    let lengths = fails_with((None, "", "disagree about its length"), &job(3), |t| {
        u8::from(gather_long(t, 0, 50_000 + t.rank()).is_err())
    });
    let kinds = fails_with((None, "the ranks disagree", "in alltoallv"), &job(2), |t| {
        let parts = Parts::packed(vec![20_000, 30_000]);
        let call = Collective::new([Kind::Alltoall, Kind::Allgather][t.rank()], parts);
        let outcome = t.collective(&call, &[1; 50_000], &mut [0; 50_000]);
        u8::from(outcome.is_err())
    });
    let sent = "rank 0 sends 7 bytes to rank 1, which expects 8";
    let parts = fails_with((Some(1), "", sent), &job(2), |t| {
        let sent = Parts::packed(vec![8, 7 + t.rank()]);
        let call = Collective::new(Kind::Alltoall, Parts::packed(vec![8, 8])).with_sent(sent);
        let outcome = t.collective(&call, &[1; 16], &mut [0; 16]);
        u8::from(outcome.is_err() || t.barrier().is_err())
    });
    // Parts of one total length, which lie elsewhere.
    let places = fails_with((None, "", "disagree about the lengths or places"), &job(2), |t| {
        let lengths = [[10_000, 50_000], [50_000, 10_000]][t.rank()].to_vec();
        let own = lengths[t.rank()];
        let call = Collective::new(Kind::Allgather, Parts::packed(lengths));
        let (Ok(input), Ok(mut output)) = (t.message_buffer(own), t.message_buffer(60_000)) else {
            return 1;
        };
        u8::from(t.collective(&call, &input, &mut output).is_err() || t.barrier().is_err())
    });
    roots && lengths && kinds && parts && places
}

/// A collective that the transport does not carry out itself is known before, so that no rank makes a plan
/// of messages while it is timed.
fn a_collective_of_messages_is_known_before() -> bool {
    ends_with(0, &job(4), |t| {
        let of = |kind, parts| t.has_own(&Collective::new(kind, parts).in_place());
        let all = |length: usize| Parts::packed(vec![length; 4]);
        let own = [
            of(Kind::Alltoall, Parts::Equal(8 << 10)),
            of(Kind::Allgather, Parts::Equal(8 << 10)),
            of(Kind::Allgather, all(8 << 10)),
        ];
        let of_messages = [
            of(Kind::Alltoall, Parts::Equal((8 << 10) + 1)),
            of(Kind::Alltoall, all(8 << 10)),
            of(Kind::Alltoall, all(8)),
        ];
        u8::from(own != [true; 3] || of_messages != [false; 3])
    })
}

/// Gathers parts so long that each rank copies its own into the message of the root.
fn gather_long(t: &Shm, root: Rank, length: usize) -> Result<()> {
    let call = Collective::new(Kind::Gather, Parts::Equal(length)).with_root(root);
    let mut output = t.message_buffer(length * t.n_ranks())?;
    t.collective(&call, &vec![1; length], &mut output)
}

/// A rank that ends while the others copy from each other or combine where vectors lie is named.
fn a_rank_that_ends_between_collectives_is_named() -> bool {
    [Kind::Allgather, Kind::Alltoall, Kind::Allreduce, Kind::Reduce].into_iter().all(|kind| {
        fails_with((Some(2), "rank 2 ended with code 3", ""), &job(3), |t| {
            let call = Collective::new(kind, Parts::Equal(80_000));
            let buffers = (t.message_buffer(240_000), t.message_buffer(240_000));
            let (Ok(input), Ok(mut output)) = buffers else { return 1 };
            let mut calls = (0..).map(|_| t.collective(&call, &input, &mut output));
            match t.rank() {
                2 => 3 * u8::from(calls.take(20).all(|outcome| outcome.is_ok())),
                _ => u8::from(calls.any(|outcome| outcome.is_err())),
            }
        })
    })
}

/// Ranks that disagree about the root of a broadcast get an error, and not another's message.
fn ranks_that_disagree_about_a_root_are_refused() -> bool {
    fails_with((None, "", "disagree about its root"), &job(3), |t| {
        let root = [0, 0, 1][t.rank()];
        // Rank 0 does not wait for the others in a short broadcast.
        u8::from(t.blocked_broadcast(root, &mut [7]).is_err() || t.barrier().is_err())
    })
}

/// Vectors are added up wherever they lie: all in transport buffers, none, or some.
fn vectors_are_added_up_wherever_they_lie() -> bool {
    ends_with(0, &job(3).with_bind(Bind::Core), |t| {
        let is_right = (0..50).all(|round| {
            let lent = [round % 2 == 0, round % 3 == 0, round % 5 == 0][t.rank()];
            let length = [513, 4096, 4097, 5, 20_000, 0, 512][round % 7];
            sum_is_right(t, round, lent, length)
        });
        u8::from(!is_right)
    })
}

/// Adds up products of small integers, one of the rank and one of the place.
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

fn main() -> ExitCode {
    let mut results = Vec::new();
    let mut test = |name: &str, passed: bool| {
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        results.push(passed);
    };
    for n_ranks in RANK_COUNTS {
        let config = job(n_ranks).with_bind(Bind::Core);
        test(&format!("conformance_with_{n_ranks}_ranks"), conforms(&config));
        test(&format!("files_with_{n_ranks}_ranks"), files::conform(&config));
    }
    test("conformance_with_4_unbound_ranks", conforms(&job(4)));
    let twice = job(3).with_bind(Bind::Core).with_single_copy(false);
    test("conformance_without_single_copy", conforms(&twice));
    for code in [0, 3] {
        let name = format!("a_rank_that_ends_early_with_code_{code}_is_named");
        test(&name, a_rank_that_ends_early_is_named(code));
    }
    let tests: [Test; 15] = [
        ("a_panic_is_named", a_panic_is_named),
        ("a_stuck_rank_is_named", a_stuck_rank_is_named),
        ("a_leaked_request_ends_the_job", a_leaked_request_ends_the_job),
        ("a_leaked_set_of_requests_ends_the_job", a_leaked_set_of_requests_ends_the_job),
        (
            "a_rank_that_ends_leaves_its_buffered_messages",
            a_rank_that_ends_leaves_its_buffered_messages,
        ),
        (
            "a_failure_in_a_part_names_ranks_of_the_job",
            a_failure_in_a_part_names_the_ranks_of_the_job,
        ),
        ("a_code_is_no_failure_in_itself", a_code_is_no_failure_in_itself),
        ("messages_on_their_way_at_once_stay_apart", messages_on_their_way_at_once_stay_apart),
        ("a_rank_cannot_start_ranks", a_rank_cannot_start_ranks),
        ("ranks_that_disagree_about_a_sum", ranks_that_disagree_about_a_sum_are_refused),
        (
            "ranks_that_disagree_about_a_collective",
            ranks_that_disagree_about_a_collective_are_refused,
        ),
        (
            "a_rank_that_ends_between_collectives_is_named",
            a_rank_that_ends_between_collectives_is_named,
        ),
        ("a_collective_of_messages_is_known_before", a_collective_of_messages_is_known_before),
        ("ranks_that_disagree_about_a_root", ranks_that_disagree_about_a_root_are_refused),
        ("vectors_are_added_up_wherever_they_lie", vectors_are_added_up_wherever_they_lie),
    ];
    let tests = tests.into_iter().chain(windows::TESTS).chain(files::TESTS);
    tests.for_each(|(name, passes)| test(name, passes()));
    let n_failed = results.iter().filter(|passed| !**passed).count();
    println!("{} passed, {n_failed} failed", results.len() - n_failed);
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
