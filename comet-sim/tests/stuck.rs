//! Messages about jobs that cannot go on, and about their requirements.

use std::cell::Cell;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use comet_core::error::Result;
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Source, Tag, Transport, Work};
use comet_core::window::{Fence, Lock, Memory, Window};
use comet_sim::machine::{self, Machine};
use comet_sim::{JobFailure, Outcome, RunConfig, Sim, run};
use nix::sys::signal::{Signal, raise};

const TAG: Tag = Tag::new(3);
const OTHER: Tag = Tag::new(4);
/// Says in a child process which rank is to overflow its stack.
const CHILD: &str = "COMET_SIM_TEST_CHILD";

/// A machine on which no message waits for its receive.
fn buffered() -> Machine {
    machine::find("ipsc860").unwrap().machine
}

/// The same, on which every message does.
fn unbuffered() -> Machine {
    buffered().unbuffered()
}

fn outcome(machine: Machine, n_ranks: usize, kernel: impl Fn(&Sim) -> Result<()>) -> Outcome {
    let config = RunConfig::new(machine, Topology::hypercube(n_ranks));
    let rank_main = |t: &Sim| {
        t.annotate("the test", 0);
        u8::from(kernel(t).is_err_and(|error| error.ends_job()))
    };
    run(&config, rank_main).unwrap()
}

fn failure(machine: Machine, n_ranks: usize, kernel: impl Fn(&Sim) -> Result<()>) -> JobFailure {
    match outcome(machine, n_ranks, kernel) {
        Outcome::Failed(failure) => failure,
        finished @ Outcome::Finished { .. } => panic!("it ended with {finished:?}"),
    }
}

/// The report without the numbers of the lines of this file, which change too often.
fn report(failure: &JobFailure) -> String {
    let mut parts = failure.message.split("comet-sim/tests/stuck.rs:");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    parts.fold(first, |text, part| text + "HERE" + &rest(part))
}

/// A deadlock of `n_ranks` ranks is reported by the lines of `expected` after the first.
#[track_caller]
fn check(machine: Machine, n_ranks: usize, kernel: impl Fn(&Sim) -> Result<()>, expected: &str) {
    let failure = failure(machine, n_ranks, kernel);
    assert_eq!(report(&failure), expected[1..].replace('\n', "\n  "));
    assert_eq!((failure.rank, failure.code), (None, "deadlock"));
}

fn receive(t: &Sim, source: Rank, tag: Tag) -> Result<()> {
    t.blocked_recv(Source::Rank(source), tag, &mut [0; 8]).map(drop)
}

/// Receives from the next rank what nobody sends.
fn ring(t: &Sim) -> Result<()> {
    receive(t, (t.rank() + 1) % t.n_ranks(), TAG)
}

/// Two ranks that both send `length_bytes` bytes, and then receive.
fn send_first(t: &Sim, length_bytes: usize) -> Result<()> {
    let (other, mut buffer) = (1 - t.rank(), vec![0; length_bytes]);
    t.blocked_send(other, TAG, &buffer)?;
    t.blocked_recv(Source::Rank(other), TAG, &mut buffer).map(drop)
}

#[test]
fn a_few_ranks_have_a_line_each() {
    let expected = "
ranks 0-3 wait for each other for ever during the test
cycle: 0 -> 1 -> 2 -> 3 -> 0: each waits for up to 8 bytes from the next (tag 3)
rank 0 waits for up to 8 bytes from rank 1 (tag 3) at HERE, t = 0.000 us
rank 1 waits for up to 8 bytes from rank 2 (tag 3) at HERE, t = 0.000 us
rank 2 waits for up to 8 bytes from rank 3 (tag 3) at HERE, t = 0.000 us
rank 3 waits for up to 8 bytes from rank 0 (tag 3) at HERE, t = 0.000 us";
    check(buffered(), 4, ring, expected);
}

#[test]
fn many_ranks_that_do_the_same_have_one_line() {
    let expected = "
ranks 0-65535 wait for each other for ever during the test
cycle: 0 -> 1 -> 2 -> ... -> 65534 -> 65535 -> 0 (65536 ranks): each waits for up to 8 bytes from the next (tag 3)
ranks 0-65535 wait for up to 8 bytes from rank r+1 (mod 65536) (tag 3) at HERE, t = 0.000 us";
    check(buffered(), 65_536, ring, expected);
}

#[test]
fn ranks_that_all_do_something_else_have_few_lines() {
    let kernel = |t: &Sim| {
        let (rank, n_ranks) = (t.rank(), t.n_ranks());
        let tag = |rank: Rank| Tag::new(u16::try_from(rank % n_ranks % 1000).unwrap());
        (1..4).try_for_each(|i| t.blocked_send((rank + i) % n_ranks, tag(rank), &[]))?;
        receive(t, (rank * 7919 + 13) % n_ranks, tag(rank + n_ranks - 1))
    };
    let failure = failure(buffered(), 65_536, kernel);
    assert!(failure.message.lines().count() <= 60, "{}", failure.message);
    assert!(failure.message.contains("near misses"), "{}", failure.message);
}

#[test]
fn the_shortest_of_several_cycles_is_told() {
    let kernel = |t: &Sim| match t.rank() {
        rank @ (0 | 1) => receive(t, (rank + 1) % 3, TAG),
        2 => receive(t, 0, OTHER),
        3 => t.blocked_send(4, OTHER, &[0; 200]),
        _ => receive(t, 3, TAG),
    };
    let expected = "
ranks 3,4 wait for each other for ever during the test
cycle: 3 -[send, tag 4, 200 bytes]-> 4 -[receive, tag 3, up to 8 bytes]-> 3
a send waits for its receive, because ipsc860-fit does not buffer 200 bytes; other machines may
rank 0 waits for up to 8 bytes from rank 1 (tag 3) at HERE, t = 0.000 us
rank 1 waits for up to 8 bytes from rank 2 (tag 3) at HERE, t = 0.000 us
rank 2 waits for up to 8 bytes from rank 0 (tag 4) at HERE, t = 0.000 us
rank 4 waits for up to 8 bytes from rank 3 (tag 3) at HERE, t = 0.000 us
rank 3 waits to send 200 bytes to rank 4 (tag 4) at HERE, t = 35.200 us
near miss: rank 4 waits for a message from rank 3 (tag 3), and there is one from rank 3 (tag 4) of 200 bytes, sent at t = 0.000 us, by a send that waits";
    check(unbuffered(), 5, kernel, expected);
}

#[test]
fn ranks_that_wait_for_any_rank_wait_for_each_other() {
    let kernel = |t: &Sim| t.blocked_recv(Source::Any, TAG, &mut []).map(drop);
    let expected = "
ranks 0,1 wait for each other for ever during the test
cycle: 0 -> 1 -> 0: each waits for up to 0 bytes from any rank (tag 3)
ranks 0-5 wait for up to 0 bytes from any rank (tag 3) at HERE, t = 0.000 us";
    check(buffered(), 6, kernel, expected);
}

#[test]
fn a_rank_that_waits_for_itself_is_a_cycle() {
    let expected = "
rank 0 waits for itself for ever during the test
cycle: 0 -[receive, tag 3, up to 8 bytes]-> 0
rank 0 waits for up to 8 bytes from rank 0 (tag 3) at HERE, t = 0.000 us";
    check(buffered(), 1, |t| receive(t, 0, TAG), expected);
}

#[test]
fn sends_that_wait_for_each_other_blame_the_missing_buffers() {
    let expected = "
ranks 0,1 wait for each other for ever during the test
cycle: 0 -> 1 -> 0: each waits to send 8 bytes to the next (tag 3)
a send waits for its receive, because ipsc860-fit does not buffer 8 bytes; other machines may
rank 0 waits to send 8 bytes to rank 1 (tag 3) at HERE, t = 30.000 us
rank 1 waits to send 8 bytes to rank 0 (tag 3) at HERE, t = 30.000 us";
    check(unbuffered(), 2, |t| send_first(t, 8), expected);
}

#[test]
fn a_message_with_another_tag_is_a_near_miss() {
    let kernel = |t: &Sim| match t.rank() {
        0 => receive(t, 1, TAG),
        _ => t.blocked_send(0, OTHER, &[0; 8]).and_then(|()| receive(t, 0, TAG)),
    };
    let expected = "
ranks 0,1 wait for each other for ever during the test
cycle: 0 -> 1 -> 0: each waits for up to 8 bytes from the next (tag 3)
rank 0 waits for up to 8 bytes from rank 1 (tag 3) at HERE, t = 0.000 us
rank 1 waits for up to 8 bytes from rank 0 (tag 3) at HERE, t = 30.000 us
near miss: rank 0 waits for a message from rank 1 (tag 3), and there is one from rank 1 (tag 4) of 8 bytes, sent at t = 0.000 us";
    check(buffered(), 2, kernel, expected);
}

#[test]
fn a_message_from_another_rank_is_a_near_miss() {
    let kernel = |t: &Sim| match t.rank() {
        0 => receive(t, 1, TAG),
        1 => Ok(()),
        _ => t.blocked_send(0, TAG, &[0; 8]),
    };
    let expected = "
rank 0 waits for ever for rank 1, which has returned, during the test
rank 0 waits for up to 8 bytes from rank 1 (tag 3) at HERE, t = 0.000 us
rank 1, for which rank 0 waits, has returned at t = 0.000 us
near miss: rank 0 waits for a message from rank 1 (tag 3), and there is one from rank 2 (tag 3) of 8 bytes, sent at t = 0.000 us";
    check(buffered(), 3, kernel, expected);
}

#[test]
fn a_posted_receive_that_a_waiting_send_misses_is_a_near_miss() {
    let kernel = |t: &Sim| {
        if t.rank() == 0 {
            return t.blocked_send(1, TAG, &[0; 8]);
        }
        let mut buffer = [0; 8];
        t.scope(|s| {
            let posted = s.unblocked_recv(Source::Rank(0), OTHER, &mut buffer)?;
            receive(t, 0, Tag::new(5))?;
            posted.wait().map(drop)
        })
    };
    let message = failure(unbuffered(), 2, kernel).message;
    let expected = "near miss: rank 1 has posted a receive from rank 0 (tag 4), and there is one \
                    from rank 0 (tag 3) of 8 bytes, sent at t = 0.000 us, by a send that waits";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_truncated_message_is_remembered() {
    let kernel = |t: &Sim| match t.rank() {
        0 => t.blocked_send(1, TAG, &[0; 16]).and_then(|()| receive(t, 1, TAG)),
        _ => receive(t, 0, TAG),
    };
    let expected = "
rank 0 waits for ever for rank 1, which has returned, during the test
rank 0 waits for up to 8 bytes from rank 1 (tag 3) at HERE, t = 30.000 us
rank 1, for which rank 0 waits, has returned at t = 89.080 us
truncated: rank 1 received 16 bytes from rank 0 (tag 3) into 8 bytes at HERE, t = 89.080 us";
    check(buffered(), 2, kernel, expected);
}

#[test]
fn collectives_in_another_order_differ() {
    let kernel = |t: &Sim| {
        t.barrier()?;
        if t.rank() == 3 { t.blocked_broadcast(0, &mut [0; 8]) } else { t.barrier() }
    };
    let expected = "
ranks 2,3 wait for each other for ever during the test
cycle: 2 -[barrier]-> 3 -[broadcast]-> 2
rank 0 waits in barrier, its 2nd collective, for rank 2 at HERE, t = 267.000 us
rank 1 waits in barrier, its 2nd collective, for rank 3 at HERE, t = 267.000 us
rank 2 waits in barrier, its 2nd collective, for rank 3 at HERE, t = 188.000 us
rank 3 waits in broadcast, its 2nd collective, for rank 2 at HERE, t = 158.000 us
collectives differ: the 2nd is barrier on ranks 0-2, broadcast on rank 3";
    check(buffered(), 4, kernel, expected);
}

#[test]
fn a_collective_that_a_rank_has_left_differs_too() {
    let kernel = |t: &Sim| match t.rank() {
        0 => t.barrier(),
        _ => t.blocked_broadcast(1, &mut [0; 8]),
    };
    let expected = "
rank 0 waits for ever for rank 1, which has returned, during the test
rank 0 waits in barrier, its 1st collective, for rank 1 at HERE, t = 30.000 us
collectives differ: the 1st is barrier on rank 0, broadcast on rank 1
rank 1, for which rank 0 waits, has returned at t = 30.000 us, after 1 collective";
    check(buffered(), 2, kernel, expected);
}

#[test]
fn a_lost_message_is_named() {
    let mut machine = buffered();
    machine.faults.drop_probability = 1.0;
    let kernel = |t: &Sim| match t.rank() {
        0 => t.blocked_send(1, TAG, &[0; 8]),
        _ => receive(t, 0, TAG),
    };
    let expected = "
rank 1 waits for ever for rank 0, which has returned, during the test
rank 1 waits for up to 8 bytes from rank 0 (tag 3) at HERE, t = 0.000 us
lost (injected): the message of 8 bytes from rank 0 to rank 1 (tag 3), sent at t = 0.000 us
rank 0, for which rank 1 waits, has returned at t = 30.000 us";
    check(machine, 2, kernel, expected);
}

#[test]
fn the_line_of_the_call_is_named() {
    let line = Cell::new(0);
    let kernel = |t: &Sim| {
        line.set(line!() + 1);
        t.blocked_recv(Source::Any, TAG, &mut []).map(drop)
    };
    let message = failure(buffered(), 1, kernel).message;
    let expected = format!("(tag 3) at comet-sim/tests/stuck.rs:{}, t = ", line.get());
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn ranks_that_probe_for_ever_are_a_livelock() {
    let kernel = |t: &Sim| match t.rank() {
        0 => receive(t, 1, TAG),
        _ => {
            while t.probe(Source::Rank(0), OTHER)?.is_none() {}
            Ok(())
        }
    };
    let failure = failure(buffered(), 2, kernel);
    let message = report(&failure);
    let expected = "rank 1 probes for a message from rank 0 (tag 4) in vain for ever during the \
                    test\n  rank 0 waits for up to 8 bytes from rank 1 (tag 3) at HERE, t = 0.000 us";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!((failure.rank, failure.code), (Some(1), "livelock"));
}

#[test]
fn ranks_that_test_for_what_is_still_to_come_are_none() {
    let mut machine = buffered();
    // Ten million tests take 80 us; the computation and the message take 99.
    machine.node.poll_ps = 8;
    machine.node.daxpy_ps = 20_000_000;
    let kernel = |t: &Sim| {
        if t.rank() == 0 {
            t.compute(Work::Daxpy { n: 1 }, || ());
            return t.blocked_send(1, TAG, &[]);
        }
        t.scope(|s| {
            let mut receive = s.unblocked_recv(Source::Rank(0), TAG, &mut [])?;
            while !receive.test() {}
            receive.wait().map(drop)
        })
    };
    let outcome = outcome(machine, 2, kernel);
    assert!(matches!(outcome, Outcome::Finished { code: 0, .. }), "{outcome:?}");
}

/// Runs `body` with an open window, from 1 ms on.
fn windowed(t: &Sim, body: impl Fn(&Window<Sim>) -> Result<()>) -> Result<()> {
    let mut window = Window::new(t, 8, 8, Memory::Created)?;
    window.open()?;
    t.wait_until_ns(1_000_000);
    body(&window)
}

#[test]
fn locks_that_ranks_have_of_each_other_are_a_cycle_with_their_places() {
    let kernel = |t: &Sim| {
        windowed(t, |window| {
            window.lock(t.rank(), Lock::Exclusive)?;
            window.lock((t.rank() + 1) % 3, Lock::Shared)
        })
    };
    let expected = "
ranks 0-2 wait for each other for ever during the test
cycle: 0 -[lock of rank 1]-> 1 -[lock of rank 2]-> 2 -[lock of rank 0]-> 0
rank 0 waits to lock rank 1 at HERE, which rank 1 has locked at HERE, t = 1060.000 us
rank 1 waits to lock rank 2 at HERE, which rank 2 has locked at HERE, t = 1060.000 us
rank 2 waits to lock rank 0 at HERE, which rank 0 has locked at HERE, t = 1060.000 us";
    check(buffered(), 3, kernel, expected);
}

#[test]
fn a_lock_that_a_rank_keeps_is_named() {
    let kernel = |t: &Sim| {
        windowed(t, |window| match t.rank() {
            5 => window.lock(0, Lock::Exclusive),
            3 => {
                t.wait_until_ns(2_000_000);
                window.lock(0, Lock::Exclusive)
            }
            4 => {
                t.wait_until_ns(3_000_000);
                window.lock_all()
            }
            _ => Ok(()),
        })
    };
    let expected = "
rank 3 waits for ever for rank 5, which has returned, during the test
rank 3 waits to lock rank 0 at HERE, which rank 5 has locked at HERE, t = 2030.000 us
rank 4 waits to lock all ranks at HERE, one of which rank 5 has locked at HERE, t = 3030.000 us
rank 5, for which ranks 3,4 wait, has returned at t = 1084.666 us";
    check(buffered(), 6, kernel, expected);
}

#[test]
fn a_post_and_a_complete_that_are_missing_are_named() {
    let kernel = |t: &Sim| {
        windowed(t, |window| {
            let others = window.peers(&[(t.rank() + 1) % 3])?;
            match t.rank() {
                // Rank 1 has posted for rank 2 only.
                0 => window.start(&others),
                1 => window.post(&others).and_then(|()| window.wait()),
                _ => Ok(()),
            }
        })
    };
    let expected = "
rank 1 waits for ever for rank 2, which has returned, during the test
rank 0 waits for rank 1 to post the part of a window at HERE, t = 1000.000 us
rank 1 waits for rank 2 to complete the access to its part at HERE, t = 1030.000 us
rank 2, for which rank 1 waits, has returned at t = 1000.000 us";
    check(buffered(), 3, kernel, expected);
}

#[test]
fn a_complete_that_is_tested_for_in_vain_is_named() {
    let kernel = |t: &Sim| {
        windowed(t, |window| match t.rank() {
            0 => {
                window.post(&window.peers(&[1])?)?;
                while !window.test()? {}
                Ok(())
            }
            _ => window.start(&window.peers(&[0])?),
        })
    };
    let failure = failure(buffered(), 2, kernel);
    let expected = "rank 0 waits for any rank to complete the access to its part in vain for ever during the test";
    assert!(report(&failure).starts_with(expected), "{}", report(&failure));
    assert_eq!((failure.rank, failure.code), (Some(0), "livelock"));
}

#[test]
fn a_fence_that_a_rank_leaves_out_is_named() {
    let kernel = |t: &Sim| {
        windowed(t, |window| if t.rank() < 3 { window.fence(Fence::First) } else { Ok(()) })
    };
    let failure = failure(buffered(), 4, kernel);
    let message = report(&failure);
    assert!(message.contains("waits in fence, its 2nd collective, for rank 3"), "{message}");
}

#[test]
fn a_panic_is_named_with_the_last_call() {
    let kernel = |t: &Sim| match t.rank() {
        2 => t.blocked_send(1, TAG, &[0; 8]).map(|()| panic!("on purpose")),
        _ => ring(t),
    };
    let failure = failure(buffered(), 4, kernel);
    let expected =
        "rank 2 panicked at t = 30.000 us during the test: on purpose\n  its last call is at HERE";
    assert_eq!(report(&failure), expected);
    assert_eq!((failure.rank, failure.code), (Some(2), "rank_panicked"));
}

#[test]
fn a_dead_rank_is_named_with_those_that_wait_for_it() {
    let mut machine = buffered();
    machine.faults.dead_ranks = vec![(2, 5_000_000)];
    let failure = failure(machine, 4, ring);
    let expected = [
        "rank 2 died at t = 5.000 us (injected) during the test",
        "rank 1 waits for up to 8 bytes from rank 2 (tag 3) at HERE, t = 0.000 us",
        "rank 2 waits for up to 8 bytes from rank 3 (tag 3) at HERE, t = 0.000 us",
    ];
    assert_eq!(report(&failure), expected.join("\n  "));
    assert_eq!((failure.rank, failure.code), (Some(2), "rank_died"));
}

#[test]
fn the_verdict_names_the_buffers_that_are_enough() {
    let check = |kernel: &dyn Fn(&Sim) -> Result<()>, expected: &str| {
        let completes = |machine: &Machine| {
            matches!(outcome(machine.clone(), 2, kernel), Outcome::Finished { .. })
        };
        assert_eq!(buffered().buffering_needed(completes), expected);
    };
    for length_bytes in [0, 8, 100, 101, 8192] {
        check(
            &|t| send_first(t, length_bytes),
            &format!(
                "depends on buffering: completes when messages of up to {length_bytes} bytes are \
                 buffered, deadlocks otherwise"
            ),
        );
    }
    let exchange = |t: &Sim| {
        let source = Source::Rank(1 - t.rank());
        t.blocked_exchange(1 - t.rank(), &[0; 8], source, &mut [0; 8], TAG).map(drop)
    };
    check(&exchange, "completes, whatever messages are buffered");
    check(&ring, "deadlocks, even when all messages are buffered");
}

/// Runs the test `name` of this file in a process of its own.
fn child(name: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap()
}

#[test]
fn a_fault_that_is_no_overflow_is_handled_as_before() {
    if std::env::var_os(CHILD).is_some() {
        // The handler of Rust's runtime ends the process when the fault comes again.
        let kernel = |_: &Sim| {
            raise(Signal::SIGSEGV).unwrap();
            raise(Signal::SIGSEGV).unwrap();
            Ok(())
        };
        unreachable!("it went on: {:?}", outcome(buffered(), 2, kernel));
    }
    let output = child("a_fault_that_is_no_overflow_is_handled_as_before");
    assert_eq!(output.status.signal(), Some(Signal::SIGSEGV as i32), "{output:?}");
}

#[test]
fn a_rank_that_overflows_its_stack_is_named() {
    fn sum(values: &mut dyn FnMut() -> u64, n_left: u64) -> u64 {
        let kept = std::hint::black_box([values(); 64]);
        if n_left == 0 { 0 } else { kept[7] + sum(values, n_left - 1) }
    }
    if std::env::var_os(CHILD).is_some() {
        let kernel = |t: &Sim| {
            t.barrier()?;
            std::hint::black_box(if t.rank() == 3 { sum(&mut || 1, 1 << 30) } else { 0 });
            t.barrier()
        };
        unreachable!("it went on: {:?}", outcome(buffered(), 5, kernel));
    }
    let output = child("a_rank_that_overflows_its_stack_is_named");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("error: rank 3 overflowed its stack of "), "{text}");
    assert_eq!(output.status.code(), Some(1));
}
