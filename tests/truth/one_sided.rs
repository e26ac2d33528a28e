//! Times of the one-sided calls of the suite `skampi` against formulas of the numbers of the machine.
//!
//! `O`, `L`, `G` and `A` are those of its table `[rdma]`: the origin's CPU, one way, one byte, one element that the
//! target combines. Posts, completes and the rounds of a fence are messages of no bytes.

use comet_sim::machine::Machine;

use super::bench::machine;
use super::patterns::{time_ns, times_ns};

/// All times are whole nanoseconds.
const LINES: &str = include_str!("machines/one-sided.toml");

const O: f64 = 130.0;
const L: f64 = 1700.0;
const G: f64 = 3.0;
const A: f64 = 11.0;
/// A message of no bytes, and the parts of it that its sender and its receiver take.
const MESSAGE: f64 = 10_000.0;
const SEND: f64 = 3000.0;
const RECV: f64 = 2000.0;
/// A look at what has come, where a machine says nothing else.
const POLL: f64 = 100.0;

/// Values of the axis `element`: integers of 4 bytes.
const I32: u64 = 2;

/// A put of so many bytes and its acknowledgement.
fn put(n_bytes: u64) -> f64 {
    O + G * n_bytes as f64 + 2.0 * L
}

/// Puts in a row, which follow each other as fast as the origin or the network takes them.
fn puts(n_puts: u64, n_bytes: u64) -> f64 {
    put(n_bytes) + (n_puts - 1) as f64 * O.max(G * n_bytes as f64)
}

fn found(machine: &Machine, n_ranks: usize, name: &str, values: &[u64]) -> f64 {
    time_ns((machine, n_ranks), &format!("skampi/{name}"), values)
}

/// Calls of a pair, whose rank 0 puts.
#[test]
fn a_put_takes_its_way_and_what_ends_its_epoch() {
    let machine = machine(LINES);
    for n_bytes in [0, 8, 1000, 64_000] {
        // Nothing is put of no bytes.
        let (put, call) = if n_bytes == 0 { (0.0, 0.0) } else { (put(n_bytes), O) };
        let of_elements = A * (n_bytes / 4) as f64;
        for (name, values, expected) in [
            ("put_call", &[n_bytes][..], call),
            ("put_passive", &[n_bytes], put),
            ("put_fence", &[n_bytes], put + MESSAGE),
            ("put_dedicated", &[1, n_bytes], put + MESSAGE),
            ("accumulate_dedicated", &[I32, 0, n_bytes], put + of_elements + MESSAGE),
            ("pingpong_put", &[n_bytes], 2.0 * (put + MESSAGE)),
        ] {
            let found = found(&machine, 2, name, values);
            assert_eq!(found, expected, "{name}, {n_bytes} bytes");
        }
    }
}

#[test]
fn puts_in_a_row_share_the_end_of_their_epoch() {
    let machine = machine(LINES);
    for n_bytes in [8, 1000, 64_000] {
        for n_puts in [1, 2, 7, 16] {
            let whole = puts(n_puts, n_bytes) + MESSAGE;
            let dedicated = found(&machine, 2, "put_dedicated", &[n_puts, n_bytes]);
            assert_eq!(dedicated, whole, "{n_puts} puts of {n_bytes} bytes");
            // The fence of rank 1, which puts nothing, begins with the puts of rank 0.
            let id = "skampi/put_fence_behind";
            let times = times_ns((&machine, 2), id, &[n_puts, n_bytes]);
            assert_eq!(times, [whole, n_puts as f64 * O, whole], "{n_puts} of {n_bytes} bytes");
        }
    }
}

/// Calls about epochs, in which the puts before are over.
#[test]
fn the_ends_of_an_epoch_take_their_messages() {
    let machine = machine(LINES);
    for n_ranks in [2, 3, 4, 5, 8] {
        let others = (n_ranks - 1) as f64;
        let rounds = (n_ranks as f64).log2().ceil();
        for (name, expected) in [
            ("win_fence_open", rounds * MESSAGE),
            ("win_fence_close", rounds * MESSAGE),
            ("win_fence_both", rounds * MESSAGE),
            ("win_free", rounds * MESSAGE),
            // Each sends to all others, and does not wait for them.
            ("win_post", others * SEND),
        ] {
            assert_eq!(
                found(&machine, n_ranks, name, &[1000]),
                expected,
                "{name}, {n_ranks} ranks"
            );
        }
        // The messages of all others are there.
        for late_rank in 0..n_ranks as u64 {
            let start = found(&machine, n_ranks, "win_start", &[0, late_rank, 1000]);
            assert_eq!(start, others * RECV, "{n_ranks} ranks");
        }
        assert_eq!(found(&machine, n_ranks, "win_test", &[0, 1000]), POLL + others * RECV);
        for delay_us in [0, 50, 700] {
            let delay = 1000.0 * delay_us as f64;
            // Rank 0 sends to all others and does not wait for them.
            let complete = found(&machine, n_ranks, "win_complete", &[delay_us, 1000]);
            assert_eq!(complete, others * SEND, "{n_ranks} ranks, {delay_us} us late");
            // It waits for the last of them, whose messages come at once and are taken one after the other.
            let wait = found(&machine, n_ranks, "win_wait", &[delay_us, 1000]);
            let expected = delay + MESSAGE + (others - 1.0) * RECV;
            assert_eq!(wait, expected, "{n_ranks} ranks, {delay_us} us late");
        }
        for delay_us in [50, 700] {
            let delay = 1000.0 * delay_us as f64;
            // No access has ended when the test looks.
            assert_eq!(found(&machine, n_ranks, "win_test", &[delay_us, 1000]), POLL);
            for late_rank in 0..n_ranks as u64 {
                // Those behind the first late one are there, and are taken after it.
                let n_behind = n_ranks as u64 - 1 - late_rank.max(1);
                let start = found(&machine, n_ranks, "win_start", &[delay_us, late_rank, 1000]);
                let expected = delay + MESSAGE + n_behind as f64 * RECV;
                assert_eq!(start, expected, "{n_ranks} ranks, {late_rank} is {delay_us} us late");
            }
        }
    }
}
