//! Algorithms of collectives against formulas, to the picosecond: virtual time from the start of the
//! ranks to the end of the last one, on a flat machine whose times are no whole nanoseconds.
//!
//! One message of `n` bytes and its envelope keeps its sender busy for `s(n)` and the wire for `w(n)`,
//! arrives `L` after its last byte has left, and keeps its receiver busy for `r(n)`:
//! `m(n) = s(n) + w(n) + L + r(n)`. A rank that does not wait in an exchange, because the message of
//! its partner is there, spends `s + r < m`. Of two messages that a rank sends one after the other the
//! second leaves `d(n) = max(s(n), w(n))` after the first, if both have one length: when its CPU has
//! handed it over, and the interface has sent the first.

use comet_core::collective::{Collective, Kind, Parts, Reducer, Running, algorithm};
use comet_core::transport::{Transport as _, Work};
use comet_sim::machine::{Machine, Segment};

use super::bench::{Bench, machine};

/// No time of it is a whole number of nanoseconds.
const ODD: &str = include_str!("machines/odd.toml");

/// Terms of the formulas, in picoseconds.
struct Terms {
    machine: Machine,
}

impl Terms {
    fn law(&self) -> &Segment {
        &self.machine.segments[0]
    }

    /// `n` bytes with their envelope.
    fn sent(&self, n: u64) -> u64 {
        n + self.machine.envelope_bytes
    }

    /// `s(n)`: the sender is busy.
    fn send(&self, n: u64) -> u64 {
        self.law().o_send_ps + self.law().send.times(self.sent(n))
    }

    /// `w(n)`: the wire is busy.
    fn wire(&self, n: u64) -> u64 {
        self.law().wire.times(self.sent(n))
    }

    /// `r(n)`: the receiver is busy.
    fn recv(&self, n: u64) -> u64 {
        self.law().o_recv_ps + self.law().recv.times(self.sent(n))
    }

    /// `m(n)`: one message.
    fn message(&self, n: u64) -> u64 {
        self.send(n) + self.wire(n) + self.law().latency_ps + self.recv(n)
    }

    /// `d(n)`: from one message of a rank to its next.
    fn next(&self, n: u64) -> u64 {
        self.send(n).max(self.wire(n))
    }

    /// `c(n)`: a copy; nothing without bytes.
    fn copy(&self, n: u64) -> u64 {
        let bytes = usize::try_from(n).expect("a length in memory");
        let work = Work::Copy { bytes, piece_bytes: bytes, stride_bytes: bytes };
        if n == 0 { 0 } else { self.machine.node.work_ps(work) }
    }

    /// `a(n)`: a combination, charged by doubles.
    fn combine(&self, n: u64) -> u64 {
        self.machine.node.reduce_ps * n.div_ceil(8)
    }
}

/// Virtual time of `kind` by the algorithm `name` on `n_ranks` ranks with parts of `n` bytes, from 0 to
/// the end of the last rank.
fn virtual_ps(terms: &Terms, (kind, name): (Kind, &str), n_ranks: u64, n: u64) -> u64 {
    let n_ranks = usize::try_from(n_ranks).expect("a number of ranks");
    let length = usize::try_from(n).expect("a length in memory");
    let by = algorithm::find(kind, name).expect("the library has it");
    let call = Collective::new(kind, Parts::Equal(length)).with_reducer(Reducer::SUM);
    by.admit(&call, n_ranks).expect("the ranks fit");
    let statistics = Bench::new(&terms.machine, n_ranks).run(|t| {
        let rank = t.rank();
        let mut running = Running::new(t, by.plan(&call, rank, n_ranks)).expect("there is memory");
        let input = vec![0; call.input_bytes(rank, n_ranks)];
        let mut output = vec![0; call.output_bytes(rank, n_ranks)];
        running.run(t, &input, &mut output).expect("no rank fails");
    });
    statistics.end_ps
}

/// Holds an algorithm against `expected_ps`, of the number of ranks and the length in bytes.
#[track_caller]
fn check(
    algorithm: (Kind, &str),
    ranks: &[u64],
    lengths: impl Fn(u64) -> Vec<u64>,
    expected_ps: impl Fn(&Terms, u64, u64) -> u64,
) {
    let terms = Terms { machine: machine(ODD) };
    for n_ranks in ranks {
        for n in lengths(*n_ranks) {
            let found_ps = virtual_ps(&terms, algorithm, *n_ranks, n);
            let expected_ps = expected_ps(&terms, *n_ranks, n);
            assert_eq!(found_ps, expected_ps, "{algorithm:?} of {n} B on {n_ranks} ranks");
        }
    }
}

/// Lengths of which each rank has an equal part of doubles.
fn divisible(n_ranks: u64) -> Vec<u64> {
    [0, 1, 3, 128, 1000].map(|n_doubles| 8 * n_ranks * n_doubles).to_vec()
}

fn any(_: u64) -> Vec<u64> {
    vec![0, 1, 8, 1000, 4096, 100_000]
}

/// Whole doubles.
fn vectors(_: u64) -> Vec<u64> {
    vec![0, 8, 1000, 4096, 100_000]
}

/// The logarithm of a power of two, rounded down.
fn log(n_ranks: u64) -> u64 {
    u64::from(n_ranks.ilog2())
}

/// Each rank copies its vector to its result. A ring of `P` ranks passes on parts of `n / P` bytes,
/// all ranks at once: `P - 1` times with a combination, and `P - 1` times without.
///
/// `T = c(n) + 2 (P - 1) m(n / P) + (P - 1) a(n / P)`
#[test]
fn allreduce_by_ring_takes_twice_the_way_around() {
    check((Kind::Allreduce, "ring"), &[2, 3, 4, 5, 7, 8, 16, 33], divisible, |of, n_ranks, n| {
        let part = n / n_ranks;
        of.copy(n) + (n_ranks - 1) * (2 * of.message(part) + of.combine(part))
    });
}

/// Each rank copies its vector. On `P = 2^k` ranks all exchange whole vectors `k` times, and combine:
///
/// `T = c(n) + k (m(n) + a(n))`
#[test]
fn allreduce_by_recursive_doubling_takes_a_message_for_each_bit() {
    let ranks = [2, 4, 8, 16, 32];
    check((Kind::Allreduce, "recursive_doubling"), &ranks, vectors, |of, n_ranks, n| {
        of.copy(n) + log(n_ranks) * (of.message(n) + of.combine(n))
    });
}

/// On `P = 3 * 2^j` ranks `2^j` pairs fold first: half of the `2^(j + 1)` active ranks, those without
/// the highest bit, begin `m + a` late. Of each round the time of a rank is the later of its own,
/// `s + r` further, and of its partner, `m` further; so the time after some rounds is the largest over
/// all ranks from which it may come, with `m` for each bit that differs, and `a` for each round. A rank
/// that folded waits for its active neighbour, which has come to the last round by the latest way:
/// `m + a` late, and `j` bits that differ. There its partner is early, so it takes `s + r + a`, and then
/// sends the result, as soon as its interface has sent the message of that round, `w` after it started.
///
/// `T = c(n) + (j + 1) (m(n) + a(n)) + max(s(n) + r(n) + a(n), w(n)) + m(n)`
#[test]
fn allreduce_by_recursive_doubling_folds_ranks_above_a_power_of_two() {
    let ranks = [3, 6, 12, 24];
    check((Kind::Allreduce, "recursive_doubling"), &ranks, vectors, |of, n_ranks, n| {
        let before_last = (log(n_ranks / 3) + 1) * (of.message(n) + of.combine(n));
        let last = (of.send(n) + of.recv(n) + of.combine(n)).max(of.wire(n));
        of.copy(n) + before_last + last + of.message(n)
    });
}

/// Each rank copies its own part, and exchanges one with each other rank in turn:
///
/// `T = c(n) + (P - 1) m(n)`
#[test]
fn alltoall_by_pairs_takes_a_message_for_each_other_rank() {
    check((Kind::Alltoall, "pairwise"), &[2, 4, 8, 16, 32], any, |of, n_ranks, n| {
        of.copy(n) + (n_ranks - 1) * of.message(n)
    });
}

/// A rank sends to the half of its tree that is farthest first. On `P = 2^k` ranks the latest way is
/// that of first messages, `k` of them, since `d <= m`. On any other number, with `k` the logarithm
/// rounded down, the first child has less than a full tree of `2^k` ranks, and the second, `d` later,
/// a full one of `2^(k - 1)`: `d + m + (k - 1) m`. The first child is no later, by the same argument.
///
/// `T = k m(n)` for a power of two, else `k m(n) + d(n)`
#[test]
fn broadcast_along_a_binomial_tree_takes_its_depth() {
    let ranks = [2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 21, 32, 33];
    check((Kind::Broadcast, "binomial"), &ranks, any, |of, n_ranks, n| {
        let second = if n_ranks.is_power_of_two() { 0 } else { of.next(n) };
        log(n_ranks) * of.message(n) + second
    });
}

/// Each rank sends to its first child, and `d` later to its second one, which is the later on each level of a
/// full tree of `P = 2^(k + 1) - 1` ranks.
///
/// `T = k (d(n) + m(n))`
#[test]
fn broadcast_along_a_binary_tree_takes_its_second_children() {
    check((Kind::Broadcast, "binary"), &[3, 7, 15, 31], any, |of, n_ranks, n| {
        log(n_ranks) * (of.next(n) + of.message(n))
    });
}

/// Parts of `n / P` bytes go down the binomial tree, half of what is left each time, and then `P - 1`
/// steps around a ring. In a step a rank is `s + r` after its own last step or `m` after that of its
/// neighbour, so the latest of the ring comes from the latest of the tree, `P - 1` messages later.
/// The tree takes the way of first messages on `P = 2^k` ranks. On `P = 3 * 2^j` the first and the
/// second message of the root have the same length `n / 3`, and the second is `d` later.
///
/// `T = sum of m(n / 2^i), i = 1 .. k, + (P - 1) m(n / P)`, or
/// `T = d(n / 3) + sum of m(n / 3 / 2^i), i = 0 .. j, + (P - 1) m(n / P)`
#[test]
fn broadcast_by_scatter_and_ring_takes_a_tree_and_the_way_around() {
    let ranks = [2, 3, 4, 6, 8, 12, 16, 24, 32];
    check((Kind::Broadcast, "scatter_ring"), &ranks, divisible, |of, n_ranks, n| {
        let ring = (n_ranks - 1) * of.message(n / n_ranks);
        let (second, first) = match n_ranks.is_power_of_two() {
            true => (0, n / 2),
            false => (of.next(n / 3), n / 3),
        };
        let tree: u64 = (0..log(n_ranks)).map(|depth| of.message(first >> depth)).sum();
        second + tree + ring
    });
}
