//! Modes of sends in virtual time: their laws, to the picosecond.

use std::cell::RefCell;

use comet_core::error::{Result, TransportErrorKind};
use comet_core::topology::Topology;
use comet_core::transport::{SendMode, Source, Tag, Transport, Work};
use comet_sim::machine::{Machine, PerByte, Protocol, Segment, Shape};
use comet_sim::{Outcome, RunConfig, Sim, run};

use crate::conformance::machine;

const TAG: Tag = Tag::new(1);
const LENGTH: usize = 1000;
/// CPU time of the sender and of the receiver, request and grant, the wire, its bytes, and a copy, in ns.
const SEND: u64 = 300;
const RECV: u64 = 400;
const HANDSHAKE: u64 = 500;
const LATENCY: u64 = 1000;
const BYTES: u64 = 100;
const COPY: u64 = 50;

/// The machine of [`machine`] with a copy rate.
fn copying(protocol: Protocol) -> Machine {
    let mut machine = machine(Shape::Flat, None, protocol);
    machine.node.copy = PerByte(50 << 20);
    machine
}

/// Ends of a send on rank 0 at time 0, and of its receive, which rank 1 posts after `late_ns`.
fn ends(machine: Machine, mode: SendMode, late_ns: u64) -> [u64; 2] {
    let ends = RefCell::new([0; 2]);
    let one = |t: &Sim| -> Result<()> {
        let mut buffer = [0; LENGTH];
        if t.rank() == 0 {
            t.blocked_send_in(mode, 1, TAG, &[7; LENGTH])?;
        } else {
            t.compute(Work::Busy { ns: late_ns }, || ());
            t.blocked_recv(Source::Rank(0), TAG, &mut buffer)?;
            assert_eq!(buffer, [7; LENGTH]);
        }
        ends.borrow_mut()[t.rank()] = t.now_ns();
        Ok(())
    };
    let outcome =
        run(&RunConfig::new(machine, Topology::hypercube(2)), |t| u8::from(one(t).is_err()));
    assert!(matches!(outcome, Ok(Outcome::Finished { code: 0, .. })), "{outcome:?}");
    ends.into_inner()
}

#[test]
fn a_synchronous_send_takes_request_and_grant_and_waits_for_its_receive() {
    // The request is there half a handshake after the send, and the grant takes the other half.
    let late = 20_000;
    for (protocol, handshake) in [
        (Protocol::Rendezvous, HANDSHAKE),
        (Protocol::Buffered, HANDSHAKE),
        // No piece of the machine has one: two ways over the wire.
        (Protocol::Eager, 2 * LATENCY),
    ] {
        let start = SEND + handshake;
        let expected = [start + BYTES, start + BYTES + LATENCY + RECV];
        assert_eq!(ends(copying(protocol), SendMode::Synchronous, 0), expected, "{protocol:?}");
        let start = late + handshake / 2;
        // Its request came before the receive: 20 ps for each byte more.
        let expected = [start + BYTES, start + BYTES + LATENCY + RECV + 20];
        let found = ends(copying(protocol), SendMode::Synchronous, late);
        assert_eq!(found, expected, "{protocol:?}, late");
    }
}

#[test]
fn a_synchronous_send_of_an_eager_length_has_the_handshake_of_longer_ones() {
    let mut both = copying(Protocol::Eager);
    let mut rendezvous = copying(Protocol::Rendezvous).segments[0];
    rendezvous.handshake_ps = 700_000;
    both.segments = vec![Segment { up_to_bytes: Some(8192), ..both.segments[0] }, rendezvous];
    let expected = [SEND + 700 + BYTES, SEND + 700 + BYTES + LATENCY + RECV];
    assert_eq!(ends(both, SendMode::Synchronous, 0), expected);
}

#[test]
fn a_buffered_send_ends_after_a_copy_and_its_message_goes_as_a_standard_one() {
    let sent = SEND + COPY;
    for (protocol, handshake) in
        [(Protocol::Eager, 0), (Protocol::Buffered, HANDSHAKE), (Protocol::Rendezvous, HANDSHAKE)]
    {
        let arrival = sent + handshake + BYTES + LATENCY;
        let found = ends(copying(protocol), SendMode::Buffered, 0);
        assert_eq!(found, [sent, arrival + RECV], "{protocol:?}");
    }
    // The send ends long before the receive is posted.
    let late = 20_000;
    let arrival = late + HANDSHAKE / 2 + BYTES + LATENCY;
    let found = ends(copying(Protocol::Rendezvous), SendMode::Buffered, late);
    assert_eq!(found, [sent, arrival + RECV + 20]);
}

#[test]
fn a_ready_send_has_no_handshake() {
    for (protocol, sent) in [
        (Protocol::Eager, SEND),
        (Protocol::Buffered, SEND + BYTES),
        (Protocol::Rendezvous, SEND + BYTES),
    ] {
        let found = ends(copying(protocol), SendMode::Ready, 0);
        assert_eq!(found, [sent, SEND + BYTES + LATENCY + RECV], "{protocol:?}");
    }
}

#[test]
fn a_ready_send_without_a_posted_receive_is_refused() {
    let kinds = RefCell::new(Vec::new());
    let one = |t: &Sim| -> Result<()> {
        if t.rank() == 0 {
            // Too early, and then in time.
            for _ in 0..2 {
                let sent = t.blocked_send_in(SendMode::Ready, 1, TAG, &[1]);
                kinds.borrow_mut().push(sent.map_err(|error| (error.kind, error.to_string())));
                t.compute(Work::Busy { ns: 2000 }, || ());
            }
            return Ok(());
        }
        t.compute(Work::Busy { ns: 1000 }, || ());
        t.blocked_recv(Source::Rank(0), TAG, &mut [0]).map(drop)
    };
    let config = RunConfig::new(copying(Protocol::Eager), Topology::hypercube(2));
    let outcome = run(&config, |t| u8::from(one(t).is_err()));
    assert!(matches!(outcome, Ok(Outcome::Finished { code: 0, .. })), "{outcome:?}");
    let text = "a ready send found no posted receive (post it before, or send in another mode) (on rank 0, \
                peer rank 1, tag 1)";
    let refused = Err((TransportErrorKind::InvalidArgument, text.to_string()));
    assert_eq!(kinds.into_inner(), [refused, Ok(())]);
}

#[test]
fn messages_sent_after_a_buffered_one_do_not_wait_for_its_handshake() {
    let ends = RefCell::new(Vec::new());
    let one = |t: &Sim| -> Result<()> {
        let (mut buffer, mut short) = ([0; LENGTH], [0; 8]);
        if t.rank() == 0 {
            t.blocked_send_in(SendMode::Buffered, 1, TAG, &[7; LENGTH])?;
            return t.blocked_send(1, Tag::new(2), &[8; 8]);
        }
        t.blocked_recv(Source::Rank(0), Tag::new(2), &mut short)?;
        ends.borrow_mut().push(t.now_ns());
        t.blocked_recv(Source::Rank(0), TAG, &mut buffer)?;
        assert_eq!((buffer, short), ([7; LENGTH], [8; 8]));
        Ok(())
    };
    // Short messages are eager, and longer ones wait for their receive.
    let mut both = copying(Protocol::Rendezvous);
    let eager = Segment { up_to_bytes: Some(8), ..copying(Protocol::Eager).segments[0] };
    both.segments.insert(0, eager);
    let config = RunConfig::new(both, Topology::hypercube(2));
    let outcome = run(&config, |t| u8::from(one(t).is_err()));
    assert!(matches!(outcome, Ok(Outcome::Finished { code: 0, .. })), "{outcome:?}");
    // Two sends and a copy, and then the way of 8 bytes, which take 0.8 ns: readings are whole.
    assert_eq!(ends.into_inner(), [2 * SEND + COPY + LATENCY + RECV]);
}
