//! Windows: transfers under each kind of epoch, accumulations, and what is refused.

use super::Check;
use super::toolkit::{Found, checks, next, poll_until, previous};
use crate::collective::{self, Element, Operator, Reducer};
use crate::error::{Result, TransportErrorKind};
use crate::pattern;
use crate::transport::{Rank, Transport};
use crate::window::{Fence, Lock, Memory, Remote, Window};

/// Lengths that take different ways through a transport, in bytes.
const LENGTHS_BYTES: [usize; 6] = [0, 1, 8, 41, 4096, 100_000];
/// Delay of rank 0 before its transfers, in nanoseconds: who does not wait for it sees nothing.
const LATE_NS: u64 = 2_000_000;
/// Pauses between reading and writing a counter, and the length of one in nanoseconds.
const N_PAUSES: usize = 20;
const PAUSE_NS: u64 = 10_000;
/// Updates of a counter by each rank.
const N_UPDATES: usize = 5;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        puts_and_gets_end_at_a_fence,
        puts_and_gets_end_with_a_lock,
        a_flush_shows_a_put_to_its_target,
        accesses_end_with_those_who_started_them,
        a_test_ends_what_was_posted_once_all_have_completed,
        windows_have_memory_of_each_kind,
        parts_may_have_other_lengths_and_be_opened_again,
        exclusive_locks_exclude,
        accumulations_of_all_ranks_add_up,
        fetched_values_are_each_another,
        a_swap_happens_where_the_value_is_as_expected,
        windows_of_a_part_of_the_ranks_stay_within_it,
        what_a_window_refuses_leaves_it_usable,
    ]
}

/// Seed of what `writer` puts into the part of `target`.
fn seed(writer: Rank, target: Rank, round: usize) -> u64 {
    (((writer as u64) << 32) ^ ((target as u64) << 16) ^ round as u64)
        .wrapping_mul(0xd134_2543_de82_ef95)
}

/// An open window with a slot of `slot_bytes` for each rank in each part, and in each origin.
fn slots<T: Transport>(t: &T, slot_bytes: usize, memory: Memory) -> Result<Window<T>> {
    let n_bytes = t.n_ranks() * slot_bytes;
    let mut window = Window::new(t, n_bytes, n_bytes, memory)?;
    window.open()?;
    Ok(window)
}

/// Fills the origin with what this rank puts to each target.
fn fill<T: Transport>(t: &T, window: &mut Window<T>, slot_bytes: usize, round: usize) {
    let rank = t.rank();
    let n_ranks = t.n_ranks();
    for target in 0..n_ranks {
        let slot = &mut window.origin()[target * slot_bytes..][..slot_bytes];
        pattern::fill(slot, seed(rank, target, round));
    }
}

/// Makes rank 0 late.
fn be_late<T: Transport>(t: &T) {
    if t.rank() == 0 {
        t.wait_until_ns(t.now_ns() + LATE_NS);
    }
}

/// Puts this rank's slot into the part of `target`.
fn put<T: Transport>(t: &T, window: &Window<T>, target: Rank, slot_bytes: usize) -> Result<()> {
    let start = target * slot_bytes;
    window.put(start..start + slot_bytes, Remote { rank: target, at: t.rank() * slot_bytes })
}

/// Checks the slots of `writers` in this rank's part.
fn check<T: Transport>(
    t: &T,
    found: &Found,
    window: &Window<T>,
    writers: impl IntoIterator<Item = Rank>,
    (slot_bytes, round): (usize, usize),
) {
    let mut slot = vec![0; slot_bytes];
    for writer in writers {
        window.read(writer * slot_bytes, &mut slot);
        let what = format_args!("{slot_bytes} bytes of rank {writer} in a part");
        found.require_pattern(&slot, seed(writer, t.rank(), round), what);
    }
}

fn puts_and_gets_end_at_a_fence<T: Transport>(t: &T, found: &Found) -> Result<()> {
    fenced(t, found, &LENGTHS_BYTES, Memory::Created)
}

/// Each rank puts into all parts, and gets back what it has put.
fn fenced<T: Transport>(t: &T, found: &Found, lengths: &[usize], memory: Memory) -> Result<()> {
    for (round, n) in lengths.iter().copied().enumerate() {
        let mut window = slots(t, n, memory)?;
        fill(t, &mut window, n, round);
        window.fence(Fence::First)?;
        be_late(t);
        (0..t.n_ranks()).try_for_each(|target| put(t, &window, target, n))?;
        window.fence(Fence::Between)?;
        check(t, found, &window, 0..t.n_ranks(), (n, round));
        window.origin().fill(0);
        for target in 0..t.n_ranks() {
            let from = Remote { rank: target, at: t.rank() * n };
            window.get(target * n..(target + 1) * n, from)?;
        }
        window.fence(Fence::Last)?;
        for target in 0..t.n_ranks() {
            let slot = &window.origin()[target * n..][..n];
            let what = format_args!("{n} bytes that were got from rank {target}");
            found.require_pattern(slot, seed(t.rank(), target, round), what);
        }
        window.close()?;
    }
    Ok(())
}

fn puts_and_gets_end_with_a_lock<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (round, n) in LENGTHS_BYTES.into_iter().enumerate() {
        let mut window = slots(t, n, Memory::Created)?;
        fill(t, &mut window, n, round);
        be_late(t);
        if round % 2 == 0 {
            for target in 0..t.n_ranks() {
                window.lock(target, Lock::Shared)?;
                put(t, &window, target, n)?;
                window.unlock(target)?;
            }
        } else {
            window.lock_all()?;
            (0..t.n_ranks()).try_for_each(|target| put(t, &window, target, n))?;
            window.unlock_all()?;
        }
        t.barrier()?;
        check(t, found, &window, 0..t.n_ranks(), (n, round));
        t.barrier()?;
        window.close()?;
    }
    Ok(())
}

/// A put, a flush of each kind, and then a message that says so.
fn a_flush_shows_a_put_to_its_target<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = 64;
    let mut window = slots(t, n, Memory::Created)?;
    for round in 0..4 {
        fill(t, &mut window, n, round);
        window.lock_all()?;
        let target = next(t);
        put(t, &window, target, n)?;
        match round {
            0 => window.flush(target)?,
            1 => window.flush_all()?,
            // What has ended here may end there later.
            2 => window.flush_local(target).and_then(|()| window.flush(target))?,
            _ => window.flush_local_all().and_then(|()| window.flush_all())?,
        }
        t.barrier()?;
        // The part may be looked at in an epoch of locks once its owner has synchronised it too.
        window.flush_all()?;
        check(t, found, &window, [previous(t)], (n, round));
        t.barrier()?;
        window.unlock_all()?;
    }
    window.close()
}

/// Every rank lets the one before access its part, and accesses that of the next.
fn accesses_end_with_those_who_started_them<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (round, n) in LENGTHS_BYTES.into_iter().enumerate() {
        let mut window = slots(t, n, Memory::Created)?;
        fill(t, &mut window, n, round);
        let (origins, targets) = (window.peers(&[previous(t)])?, window.peers(&[next(t)])?);
        for _ in 0..3 {
            window.post(&origins)?;
            window.start(&targets)?;
            be_late(t);
            put(t, &window, next(t), n)?;
            window.complete()?;
            window.wait()?;
            check(t, found, &window, [previous(t)], (n, round));
        }
        t.barrier()?;
        window.close()?;
    }
    Ok(())
}

/// A test before the access of the origin has ended is false and leaves the part to it: more tests or a wait
/// follow.
fn a_test_ends_what_was_posted_once_all_have_completed<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for (round, n) in LENGTHS_BYTES.into_iter().enumerate() {
        let mut window = slots(t, n, Memory::Created)?;
        fill(t, &mut window, n, round);
        let (origins, targets) = (window.peers(&[previous(t)])?, window.peers(&[next(t)])?);
        for waits in [false, true, false] {
            window.post(&origins)?;
            window.start(&targets)?;
            put(t, &window, next(t), n)?;
            let is_early = window.test()?;
            found.require(!is_early, "a test was true before its origin had completed");
            // No rank completes before all have tested.
            t.barrier()?;
            be_late(t);
            window.complete()?;
            if waits && !is_early {
                window.wait()?;
            } else if !is_early && !poll_until(|| window.test())? {
                found.note("no test was true though its origin had completed");
                window.wait()?;
            }
            check(t, found, &window, [previous(t)], (n, round));
        }
        t.barrier()?;
        window.close()?;
    }
    Ok(())
}

fn windows_have_memory_of_each_kind<T: Transport>(t: &T, found: &Found) -> Result<()> {
    Memory::ALL.into_iter().try_for_each(|memory| fenced(t, found, &[8, 5000], memory))
}

fn parts_may_have_other_lengths_and_be_opened_again<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let bytes_of = |rank| 8 * (rank + 1);
    let mut window = Window::new(t, bytes_of(t.rank()), 8, Memory::Created)?;
    let lengths: Vec<usize> = (0..t.n_ranks()).map(|rank| window.part_bytes(rank)).collect();
    let expected: Vec<usize> = (0..t.n_ranks()).map(bytes_of).collect();
    found.require_eq("lengths of the parts", lengths, expected);
    for round in 0..3 {
        window.open()?;
        let target = next(t);
        pattern::fill(window.origin(), seed(t.rank(), target, round));
        window.fence(Fence::First)?;
        // The last element of the part.
        window.put(0..8, Remote { rank: target, at: bytes_of(target) - 8 })?;
        window.fence(Fence::Last)?;
        let mut last = [0; 8];
        window.read(bytes_of(t.rank()) - 8, &mut last);
        let what = "the end of a part";
        found.require_pattern(&last, seed(previous(t), t.rank(), round), what);
        window.close()?;
    }
    Ok(())
}

/// The counter at the start of the part of rank 0, on rank 0; 0 on the others.
fn counter<T: Transport>(t: &T, window: &Window<T>) -> u64 {
    let mut bytes = [0; 8];
    if t.rank() == 0 {
        window.read(0, &mut bytes);
    }
    u64::from_ne_bytes(bytes)
}

/// Checks on rank 0 that each rank has updated the counter.
fn require_all_updates<T: Transport>(t: &T, found: &Found, window: &Window<T>) {
    if t.rank() == 0 {
        let expected = (t.n_ranks() * N_UPDATES) as u64;
        found.require_eq("updates of a counter", counter(t, window), expected);
    }
}

/// Each rank reads a counter, keeps it for a while, and writes it back.
fn exclusive_locks_exclude<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let mut window = Window::new(t, 8, 8, Memory::Created)?;
    window.open()?;
    let first = Remote { rank: 0, at: 0 };
    t.barrier()?;
    for _ in 0..N_UPDATES {
        window.lock(0, Lock::Exclusive)?;
        window.get(0..8, first)?;
        window.flush_all()?;
        let value = u64::from_ne_bytes(window.origin().try_into().expect("it has 8 bytes"));
        for _ in 0..N_PAUSES {
            // Also where ranks share a CPU another one gets to run.
            std::thread::yield_now();
            t.wait_until_ns(t.now_ns() + PAUSE_NS);
        }
        window.origin().copy_from_slice(&(value + 1).to_ne_bytes());
        window.put(0..8, first)?;
        window.unlock(0)?;
    }
    t.barrier()?;
    require_all_updates(t, found, &window);
    t.barrier()?;
    window.close()
}

/// Sums of each type of elements, under shared locks of all ranks at once.
fn accumulations_of_all_ranks_add_up<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for element in Element::ALL {
        let by = Reducer::new(element, Operator::Sum).expect("each type has sums");
        for n_elements in [1, 5, 1000] {
            let n = n_elements * element.bytes();
            let mut window = Window::new(t, n, n, Memory::Created)?;
            window.open()?;
            let ones = of_value(element, 1, n_elements);
            window.origin().copy_from_slice(&ones);
            window.lock_all()?;
            for _ in 0..N_UPDATES {
                window.accumulate(0..n, Remote { rank: 0, at: 0 }, by)?;
            }
            window.unlock_all()?;
            t.barrier()?;
            if t.rank() == 0 {
                let mut sums = vec![0; n];
                window.read(0, &mut sums);
                let expected = of_value(element, (t.n_ranks() * N_UPDATES) as u64, n_elements);
                let what = format!("{n_elements} sums of type {}", element.name());
                found.require(sums == expected, &format!("{what} differ from what was added"));
            }
            t.barrier()?;
            window.close()?;
        }
    }
    Ok(())
}

/// `n` elements of a small value.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "values are small"
)]
fn of_value(element: Element, value: u64, n: usize) -> Vec<u8> {
    match element {
        Element::U8 | Element::I8 => vec![value as u8; n],
        Element::I32 => (value as i32).to_ne_bytes().repeat(n),
        Element::I64 => (value as i64).to_ne_bytes().repeat(n),
        Element::F32 => (value as f32).to_ne_bytes().repeat(n),
        Element::F64 => (value as f64).to_ne_bytes().repeat(n),
    }
}

fn fetched_values_are_each_another<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let by = Reducer::new(Element::I64, Operator::Sum).expect("whole numbers have sums");
    let mut window = Window::new(t, 16, 32, Memory::Created)?;
    window.open()?;
    window.origin()[..8].copy_from_slice(&1u64.to_ne_bytes());
    let mut fetched = [Vec::new(), Vec::new()];
    window.lock_all()?;
    for _ in 0..N_UPDATES {
        window.fetch_and_op(0, 8, Remote { rank: 0, at: 0 }, by)?;
        window.get_accumulate(0..8, 16, Remote { rank: 0, at: 8 }, by)?;
        window.flush_all()?;
        for (values, at) in fetched.iter_mut().zip([8, 16]) {
            values
                .push(u64::from_ne_bytes(window.origin()[at..at + 8].try_into().expect("8 bytes")));
        }
    }
    window.unlock_all()?;
    for values in fetched {
        let own: [u64; N_UPDATES] = values.try_into().expect("one for each update");
        let mut all = collective::share(t, own)?.concat();
        all.sort_unstable();
        let expected: Vec<u64> = (0..(t.n_ranks() * N_UPDATES) as u64).collect();
        found.require_eq("values of a counter that were fetched", all, expected);
    }
    t.barrier()?;
    require_all_updates(t, found, &window);
    t.barrier()?;
    window.close()
}

/// Each rank adds one by swaps, which fail where another was faster.
fn a_swap_happens_where_the_value_is_as_expected<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for element in [Element::I32, Element::I64] {
        let (n, first) = (element.bytes(), Remote { rank: 0, at: 0 });
        let mut window = Window::new(t, 8, 3 * n, Memory::Created)?;
        window.open()?;
        window.lock_all()?;
        let (mut expected, mut n_updates) = (0, 0);
        'updates: for _ in 0..N_UPDATES {
            loop {
                let [old, new] = [expected, expected + 1].map(|value| of_value(element, value, 1));
                window.origin()[..2 * n].copy_from_slice(&[old.clone(), new].concat());
                match window.compare_and_swap([0, n, 2 * n], first, element) {
                    // A library may lack those with its own rank.
                    Err(error) if error.is_unsupported() && t.rank() == 0 => break 'updates,
                    swapped => swapped?,
                }
                window.flush_all()?;
                let mut bytes = [0; 8];
                bytes[..n].copy_from_slice(&window.origin()[2 * n..]);
                let before = std::mem::replace(&mut expected, u64::from_le_bytes(bytes));
                if before == expected {
                    (expected, n_updates) = (expected + 1, n_updates + 1);
                    break;
                }
            }
        }
        window.unlock_all()?;
        let n_updates = collective::share(t, [n_updates])?.concat().iter().sum();
        if t.rank() == 0 {
            found.require_eq("swaps of a counter", counter(t, &window), n_updates);
        }
        found.require(n_updates > 0, "no swap happened");
        t.barrier()?;
        window.close()?;
    }
    Ok(())
}

fn windows_of_a_part_of_the_ranks_stay_within_it<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let whole = slots(t, 8, Memory::Created)?;
    let part = t.split(Some(u32::from(t.rank() % 2 == 1)), (t.n_ranks() - t.rank()) as u64)?;
    // A library may have none among so few ranks.
    if let Some(part) = part.as_ref().filter(|part| part.promises().has_windows) {
        // Parts of one host make theirs at once.
        for _ in 0..8 {
            fenced(part, found, &[8, 5000], Memory::Created)?;
        }
    }
    let mut zeros = vec![1; whole.part_bytes(t.rank())];
    whole.read(0, &mut zeros);
    found.require(zeros.iter().all(|byte| *byte == 0), "a window of a part writes to another");
    t.barrier()?;
    let mut whole = whole;
    whole.close()
}

fn what_a_window_refuses_leaves_it_usable<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = 8;
    let mut window = slots(t, n, Memory::Created)?;
    let n_bytes = window.part_bytes(0);
    let invalid = TransportErrorKind::InvalidArgument;
    let refused = |what, result| found.require_refused(what, invalid, result);
    let here = Remote { rank: t.rank(), at: 0 };
    refused("a put outside of an epoch", window.put(0..n, here))?;
    refused("the unlock of what is not locked", window.unlock(0))?;
    refused("a flush without a lock", window.flush(0))?;
    refused("an end of what was not started", window.complete())?;
    refused("a wait for what was not posted", window.wait())?;
    refused("a test of what was not posted", window.test().map(drop))?;
    refused("a group with a rank twice", window.peers(&[0, 0]).map(|_| ()))?;
    window.fence(Fence::First)?;
    refused("a put to no rank", window.put(0..n, Remote { rank: t.n_ranks(), at: 0 }))?;
    refused("a put of nothing to no rank", window.put(0..0, Remote { rank: t.n_ranks(), at: 0 }))?;
    refused("a put beyond a part", window.put(0..n, Remote { at: n_bytes - n + 1, ..here }))?;
    refused("a put far beyond a part", window.put(0..n, Remote { at: usize::MAX, ..here }))?;
    refused("a get beyond the origin", window.get(n_bytes - n + 1..n_bytes + 1, here))?;
    let by = Reducer::new(Element::I64, Operator::Sum).expect("whole numbers have sums");
    refused("half an element", window.accumulate(0..4, here, by))?;
    refused("an element between two", window.accumulate(0..8, Remote { at: 1, ..here }, by))?;
    refused("a fetch into what is added", window.get_accumulate(0..8, 0, here, by))?;
    refused("a swap of reals", window.compare_and_swap([0, 8, 16], here, Element::F64))?;
    refused("a lock between fences with transfers", {
        window.put(0..n, Remote { at: t.rank() * n, ..here })?;
        window.lock(0, Lock::Shared)
    })?;
    refused("a first fence behind transfers", window.fence(Fence::First))?;
    window.fence(Fence::Last)?;
    let mut other = slots(t, n, Memory::Created)?;
    refused("a post for peers of another window", window.post(&other.peers(&[t.rank()])?))?;
    refused("an access to peers of another window", window.start(&other.peers(&[t.rank()])?))?;
    other.close()?;
    fill(t, &mut window, n, 1);
    window.fence(Fence::First)?;
    (0..t.n_ranks()).try_for_each(|target| put(t, &window, target, n))?;
    window.fence(Fence::Last)?;
    check(t, found, &window, 0..t.n_ranks(), (n, 1));
    t.barrier()?;
    window.close()
}
