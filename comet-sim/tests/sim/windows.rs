//! Windows against their laws, to the picosecond: the virtual time from a moment at which all ranks have
//! a window open, and nothing to do, to the end of the last rank.
//!
//! `o`, `L`, `G` and `a` are the numbers of `[rdma]`: the origin's CPU, one way, one byte, one element
//! that the target's interface combines. A message of no bytes takes its receiver, which waits for it,
//! `m = o_send + latency + o_recv`.

use std::cell::Cell;

use comet_core::collective::{Element, Operator, Reducer};
use comet_core::error::Result;
use comet_core::topology::Topology;
use comet_core::transport::{Source, Tag, Transport as _, Work};
use comet_core::window::{Fence, Lock, Memory, Remote, Window};
use comet_sim::machine::{Machine, MachineFile};
use comet_sim::{Outcome, RunConfig, Sim, run};

/// No time of it is a whole number of nanoseconds.
const FLAT: &str = include_str!("machines/odd.toml");

const O: u64 = 100_003;
const L: u64 = 700_001;
const G: u64 = 101;
const A: u64 = 5_003;
/// A message of no bytes: sender, way, receiver.
const M: [u64; 3] = [234_111, 655_234, 345_222];
/// Bytes of parts and origins.
const N: usize = 4096;

fn machine(lines: &str) -> Machine {
    let text = format!("format = 1\nname = \"truth\"\n{lines}");
    MachineFile::parse(&text, "truth").unwrap().machine
}

type Body<'a> = &'a dyn Fn(&Sim, &mut Window<Sim>) -> Result<()>;

/// The moment in nanoseconds, long after the window was opened.
const START_NS: u64 = 1_000_000;

/// Virtual time from that moment to the end of the last rank, in picoseconds.
#[track_caller]
fn end_ps(machine: &Machine, n_ranks: usize, body: Body<'_>) -> u64 {
    let config = RunConfig::new(machine.clone(), Topology::hypercube(n_ranks));
    let program = |t: &Sim| {
        let mut window = Window::new(t, N, N, Memory::Created)?;
        window.open()?;
        t.wait_until_ns(START_NS);
        body(t, &mut window)
    };
    match run(&config, |t| u8::from(program(t).is_err())).unwrap() {
        Outcome::Finished { code: 0, statistics } => statistics.end_ps - START_NS * 1000,
        outcome => panic!("{outcome:?}"),
    }
}

/// Holds the time that `body` takes against `expected_ps`.
#[track_caller]
fn check(lines: &str, n_ranks: usize, expected_ps: u64, body: Body<'_>) {
    assert_eq!(end_ps(&machine(lines), n_ranks, body), expected_ps);
}

/// Holds the time of rank 0 alone, after a lock, against `expected_ps`.
#[track_caller]
fn check_locked(expected_ps: u64, body: impl Fn(&mut Window<Sim>) -> Result<()>) {
    check(FLAT, 2, O + 2 * L + expected_ps, &|t, window| {
        if t.rank() == 0 {
            window.lock(1, Lock::Shared)?;
            body(window)?;
        }
        Ok(())
    });
}

fn sum(element: Element) -> Reducer {
    Reducer::new(element, Operator::Sum).unwrap()
}

const FIRST: Remote = Remote { rank: 1, at: 0 };

#[test]
fn locks_take_a_round_trip() {
    check_locked(0, |_| Ok(()));
    check_locked(0, |window| window.unlock(1));
    for lock in [Lock::Shared, Lock::Exclusive] {
        check(FLAT, 2, O + 2 * L, &|t, window| {
            if t.rank() == 0 { window.lock(1, lock) } else { Ok(()) }
        });
    }
    // The first rank grants the locks of all.
    check(FLAT, 2, O + 2 * L, &|t, window| {
        if t.rank() == 1 { window.lock_all().and_then(|()| window.unlock_all()) } else { Ok(()) }
    });
}

#[test]
fn puts_are_visible_after_one_way_and_flushed_after_an_acknowledgement() {
    for n in [0, 1, 1000, N] {
        let wire_ps = n as u64 * G;
        check_locked(O, |window| window.put(0..n, FIRST));
        check_locked(O + 2 * L + wire_ps, |window| {
            window.put(0..n, FIRST)?;
            window.flush(1)
        });
        check_locked(O + 2 * L + wire_ps, |window| {
            window.put(0..n, FIRST)?;
            window.unlock(1)
        });
        check_locked(O + wire_ps, |window| {
            window.put(0..n, FIRST)?;
            window.flush_local(1)
        });
        // The interface sends one after the other.
        check_locked(O + O.max(wire_ps) + 2 * L + wire_ps, |window| {
            window.put(0..n, FIRST)?;
            window.put(0..n, FIRST)?;
            window.flush_all()
        });
    }
}

#[test]
fn a_put_is_seen_when_it_is_visible_and_not_before() {
    // Whole nanoseconds, so that a rank can wait for each.
    let machine = machine(
        "topology = { kind = \"flat\" }\n[[protocol]]\nkind = \"eager\"\nt0 = \"10 us\"\n\
         per_byte = \"1 ns/B\"\n[rdma]\no = \"3 us\"\nlatency = \"5 us\"",
    );
    let visible_ns = START_NS + 3000 + 3000 + 5000 + 2 * 5000 + 1000;
    for (at_ns, expected) in [(visible_ns - 1, 0), (visible_ns + 1, 7)] {
        let seen = Cell::new(9);
        end_ps(&machine, 2, &|t, window| {
            if t.rank() == 0 {
                window.origin()[..1000].fill(7);
                window.lock(1, Lock::Shared)?;
                window.put(0..1000, FIRST)?;
            } else {
                t.wait_until_ns(at_ns);
                let mut byte = [9];
                window.read(999, &mut byte);
                seen.set(byte[0]);
            }
            Ok(())
        });
        assert_eq!(seen.get(), expected, "at {at_ns} ns");
    }
}

#[test]
fn gets_take_a_request_and_the_data() {
    for n in [0, 1, 1000, N] {
        let get_ps = O + 2 * L + n as u64 * G;
        check_locked(get_ps, |window| {
            window.get(0..n, FIRST)?;
            window.flush(1)
        });
        check_locked(get_ps, |window| {
            window.get(0..n, FIRST)?;
            window.flush_local_all()
        });
    }
}

#[test]
fn accumulations_take_time_at_the_interface_for_each_element() {
    for element in [Element::U8, Element::I64] {
        let (n, by) = (element.bytes() * 10, sum(element));
        let wire_ps = n as u64 * G;
        check_locked(O + 2 * L + wire_ps + 10 * A, |window| {
            window.accumulate(0..n, FIRST, by)?;
            window.flush(1)
        });
        check_locked(O + wire_ps, |window| {
            window.accumulate(0..n, FIRST, by)?;
            window.flush_local(1)
        });
        check_locked(O + 2 * L + 2 * wire_ps + 10 * A, |window| {
            window.get_accumulate(0..n, 160, FIRST, by)?;
            window.flush(1)
        });
        check_locked(O + 2 * L + A, |window| {
            window.fetch_and_op(0, 8, FIRST, by)?;
            window.flush(1)
        });
        check_locked(O + 2 * L + A, |window| {
            window.compare_and_swap([0, 8, 16], FIRST, element)?;
            window.flush(1)
        });
    }
}

#[test]
fn accumulations_of_several_ranks_are_combined_one_after_the_other() {
    // Three come at one time; the last waits for those of the two before.
    check(FLAT, 4, O + 2 * L + O + 2 * L + 80 * G + 30 * A, &|t, window| {
        if t.rank() > 0 {
            window.lock(0, Lock::Shared)?;
            window.accumulate(0..80, Remote { rank: 0, at: 0 }, sum(Element::I64))?;
            window.unlock(0)?;
        }
        Ok(())
    });
}

#[test]
fn exclusive_locks_are_granted_one_after_the_other() {
    // Each unlock goes to the target, and the next grant from there; the first request needs a way more.
    check(FLAT, 4, O + 2 * L + 2 * (2 * L), &|t, window| {
        if t.rank() > 0 {
            window.lock(0, Lock::Exclusive)?;
            window.unlock(0)?;
        }
        Ok(())
    });
    // The lock goes on when the last byte is visible.
    let put_ps = O + 1000 * G + L;
    check(FLAT, 3, O + L + 2 * (L + put_ps) + L, &|t, window| {
        if t.rank() > 0 {
            window.lock(0, Lock::Exclusive)?;
            window.put(0..1000, Remote { rank: 0, at: 0 })?;
            window.unlock(0)?;
        }
        Ok(())
    });
    // Shared ones are granted at once, to one rank or to all.
    check(FLAT, 4, O + 2 * L, &|t, window| {
        if t.rank() > 1 { window.lock(0, Lock::Shared) } else { Ok(()) }
    });
    check(FLAT, 4, O + 2 * L, &|t, window| {
        if t.rank() > 0 { window.lock_all() } else { Ok(()) }
    });
}

#[test]
fn locks_of_all_ranks_exclude_exclusive_ones() {
    // Rank 1 has all, rank 2 asks for one, and rank 3 for all, later: each waits for the one before.
    let n_before = Cell::new(0);
    end_ps(&machine(FLAT), 4, &|t, window| {
        t.wait_until_ns(t.now_ns() + 10_000 * t.rank() as u64);
        match t.rank() {
            1 => {
                window.lock_all()?;
                t.wait_until_ns(t.now_ns() + 50_000);
                assert_eq!(n_before.replace(1), 0);
                window.unlock_all()
            }
            2 => {
                window.lock(3, Lock::Exclusive)?;
                assert_eq!(n_before.replace(2), 1);
                window.unlock(3)
            }
            3 => {
                window.lock_all()?;
                assert_eq!(n_before.replace(3), 2);
                window.unlock_all()
            }
            _ => Ok(()),
        }
    });
    assert_eq!(n_before.get(), 3);
}

#[test]
fn a_fence_is_a_flush_and_a_barrier() {
    let barrier_ps = M[0] + M[1] + M[2];
    check(FLAT, 2, barrier_ps, &|_, window| window.fence(Fence::First));
    check(FLAT, 2, 2 * barrier_ps + O + 1000 * G + 2 * L, &|t, window| {
        window.fence(Fence::First)?;
        window.put(0..1000, Remote { rank: 1 - t.rank(), at: 0 })?;
        window.fence(Fence::Last)
    });
}

#[test]
fn posts_and_completes_are_messages_that_wait_for_nobody() {
    let message_ps = M[0] + M[1] + M[2];
    // Post, put and flush, complete.
    check(FLAT, 2, 2 * message_ps + O + 500 * G + 2 * L, &|t, window| {
        let other = window.peers(&[1 - t.rank()])?;
        if t.rank() == 0 {
            window.start(&other)?;
            window.put(0..500, FIRST)?;
            window.complete()
        } else {
            window.post(&other)?;
            window.wait()
        }
    });
    // Each posts, though all messages of this machine wait for their receives.
    check(FLAT, 2, 2 * message_ps, &|t, window| {
        let other = window.peers(&[1 - t.rank()])?;
        window.post(&other)?;
        window.start(&other)?;
        window.complete()?;
        window.wait()
    });
}

#[test]
fn transfers_to_oneself_are_copies() {
    check(FLAT, 2, O + O + 1000 * 37, &|t, window| {
        if t.rank() == 0 {
            window.lock(0, Lock::Exclusive)?;
            window.put(0..1000, Remote { rank: 0, at: 0 })?;
            window.unlock(0)?;
        }
        Ok(())
    });
}

#[test]
fn a_table_that_is_left_out_means_the_costs_of_messages() {
    let (lines, _) = FLAT.split_once("[rdma]").unwrap();
    let put_ps = M[0] + 1000 * 157 + 2 * M[1];
    check(lines, 2, M[0] + 2 * M[1] + put_ps, &|t, window| {
        if t.rank() == 0 {
            window.lock(1, Lock::Shared)?;
            window.put(0..1000, FIRST)?;
            window.unlock(1)?;
        }
        Ok(())
    });
}

#[test]
fn what_is_got_from_a_rank_takes_its_interface() {
    // Three puts of the target are before the data, of which the last two wait for the interface.
    let puts_ps = O + 3 * 4000 * G;
    check(FLAT, 2, O + 2 * L + puts_ps + 100 * G + L, &|t, window| {
        window.lock(1 - t.rank(), Lock::Shared)?;
        if t.rank() == 0 {
            window.get(0..100, FIRST)?;
            return window.flush(1);
        }
        (0..3).try_for_each(|_| window.put(0..4000, Remote { rank: 0, at: 0 }))
    });
}

#[test]
fn puts_of_all_to_all_leave_one_after_the_other() {
    let n = 500;
    // Of 8 ranks, each puts to 7; the interface is faster than the CPU, and slower.
    for (n_bytes, next_ps) in [(n, O), (2 * n, 2 * n as u64 * G)] {
        let puts_ps = O + 6 * next_ps + n_bytes as u64 * G + 2 * L;
        check(FLAT, 8, START_NS * 1000 + puts_ps, &|t, window| {
            window.lock_all()?;
            t.wait_until_ns(2 * START_NS);
            for ahead in 1..8 {
                window.put(0..n_bytes, Remote { rank: (t.rank() + ahead) % 8, at: 0 })?;
            }
            window.unlock_all()
        });
    }
}

/// A ring whose links take half of the time of an interface.
const RING: &str = include_str!("machines/ring.toml");

#[test]
fn puts_of_all_to_all_on_a_torus_meet_at_links_and_interfaces() {
    // In units of W, the time of 1000 bytes at an interface, after o: puts 1, 2 and 3 of each rank start
    // at 0, 1 and 2, to the next rank, the one after it and the one before. Put 2 needs its second link
    // at 1 (and a hop), which has put 2 of the next rank until 1.5; so it takes the target's interface
    // from 1.5 to 2.5. Put 3 is there at 2 and waits until 2.5. It is there whole at 3.5, and L later.
    let (n, w) = (1000, 202_000);
    let puts = |t: &Sim, window: &mut Window<Sim>| {
        window.origin().fill(u8::try_from(t.rank()).unwrap() + 1);
        window.lock_all()?;
        t.wait_until_ns(2 * START_NS);
        for ahead in 1..4 {
            let target = (t.rank() + ahead) % 4;
            window.put(0..n, Remote { rank: target, at: t.rank() * n })?;
        }
        window.unlock_all()
    };
    check(RING, 4, START_NS * 1000 + O + 7 * w / 2 + 2 * L, &puts);
    end_ps(&machine(RING), 4, &|t, window| {
        puts(t, window)?;
        t.barrier()?;
        for rank in (0..4).filter(|rank| *rank != t.rank()) {
            let mut bytes = vec![0; n];
            window.read(rank * n, &mut bytes);
            assert_eq!(bytes, vec![u8::try_from(rank).unwrap() + 1; n]);
        }
        Ok(())
    });
}

#[test]
fn an_emulated_transfer_waits_for_the_next_call_of_its_target() {
    let emulated = format!("{FLAT}emulated = true\n");
    let us = 1_000_000;
    let put = |window: &mut Window<Sim>| {
        window.lock(1, Lock::Shared)?;
        window.put(0..1000, FIRST)?;
        window.unlock(1)
    };
    let compute = |t: &Sim, n_us: usize| t.compute(Work::Daxpy { n: n_us }, || ());
    let put_ps = O + 1000 * G + 2 * L;
    // The interface serves it, or the end of the computation, which is 100 us after the start.
    for (lines, expected_ps) in [(FLAT, 100 * us), (&emulated, 100 * us + L + put_ps)] {
        check(lines, 2, expected_ps, &|t, window| {
            if t.rank() == 0 {
                return put(window);
            }
            // Both are one computation.
            compute(t, 40);
            compute(t, 60);
            Ok(())
        });
    }
    // The lock is granted in the send, and the put is there in the receive.
    check(&emulated, 2, 100 * us + M[0] + L, &|t, window| {
        if t.rank() == 0 {
            return put(window);
        }
        compute(t, 50);
        t.blocked_send(1, Tag::new(0), &[])?;
        compute(t, 50);
        t.blocked_recv(Source::Rank(1), Tag::new(0), &mut []).map(drop)
    });
    // A rank that waits is in a call.
    check(&emulated, 2, O + 2 * L + put_ps, &|t, window| {
        if t.rank() == 0 { put(window) } else { Ok(()) }
    });
}

#[test]
fn an_origin_is_free_after_a_local_flush_though_its_bytes_are_on_their_way() {
    for flush in [0, 1] {
        end_ps(&machine(FLAT), 2, &|t, window| {
            if t.rank() == 0 {
                window.origin().fill(1);
                window.lock(1, Lock::Shared)?;
                window.put(0..N, FIRST)?;
                if flush == 0 {
                    window.flush_local_all()?
                } else {
                    window.flush_local(1)?
                }
                window.get(0..N, Remote { rank: 1, at: 0 })?;
                window.flush_local_all()?;
                window.accumulate(0..8, FIRST, sum(Element::U8))?;
                window.flush_local_all()?;
                window.origin().fill(3);
                window.unlock(1)?;
            }
            t.barrier()?;
            if t.rank() == 1 {
                let mut part = [0; N];
                window.read(0, &mut part);
                assert_eq!((part[0], part[7], part[8], part[N - 1]), (2, 2, 1, 1));
            }
            t.barrier()
        });
    }
}
