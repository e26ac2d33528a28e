//! Times of the suite `skampi` against formulas of the numbers of the machine: what each mode adds.

use comet_sim::machine::{Machine, Protocol};

use super::closed_forms::message_ns;
use super::machines;
use super::oracle::law;
use super::patterns::time_ns;

/// Copy of a byte, and start and wait of unblocked calls, in nanoseconds, on all of the machines.
const COPY_NS: f64 = 2.0;
const ISEND_NS: f64 = 300.0;
const IRECV_NS: f64 = 200.0;
const WAIT_NS: f64 = 150.0;

/// SK-20: the ping-pong of SKaMPI in its modes (section 3.2 of the paper).
#[track_caller]
fn check(machine: &Machine, n_bytes: u64, synchronous_ns: f64) {
    let message_ns = message_ns(machine, 1, n_bytes);
    let of = law(machine, n_bytes);
    let handshake_ns = of.handshake_ps as f64 / 1000.0;
    // What a synchronous message takes beyond a standard one.
    let more_ns = if of.protocol == Protocol::Eager { synchronous_ns } else { 0.0 };
    let unblocked_ns = 2.0 * ISEND_NS + WAIT_NS;
    for (way, expected_ns) in [
        ("send_recv", 2.0 * message_ns),
        ("send_recv_any_tag", 2.0 * message_ns),
        ("send_irecv", 2.0 * message_ns),
        ("ssend_recv", 2.0 * (message_ns + more_ns)),
        ("isend_recv", 2.0 * message_ns + unblocked_ns),
        ("issend_recv", 2.0 * (message_ns + more_ns) + unblocked_ns),
        ("bsend_recv", 2.0 * (message_ns + COPY_NS * n_bytes as f64)),
        // The answer alone is ready.
        ("rsend_recv", IRECV_NS + 2.0 * message_ns - handshake_ns),
    ] {
        let found_ns = time_ns((machine, 2), &format!("skampi/pingpong_{way}"), &[n_bytes]);
        assert_eq!(found_ns, expected_ns, "{way}, {n_bytes} bytes");
    }
}

#[test]
fn a_mode_adds_what_its_law_says_where_long_messages_wait_for_their_receives() {
    let machine = machines::rendezvous();
    // Those of up to 100 bytes are eager, and have the handshake of longer ones.
    for n_bytes in [0, 8, 100, 101, 1000, 100_000] {
        check(&machine, n_bytes, 9000.0);
    }
}

#[test]
fn a_mode_adds_what_its_law_says_where_no_message_waits() {
    // Of 10 us of a start the CPUs take 5: twice the rest.
    for n_bytes in [0, 8, 1000, 100_000] {
        check(&machines::flat(), n_bytes, 10_000.0);
    }
}
