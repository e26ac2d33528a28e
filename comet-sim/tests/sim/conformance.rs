//! The conformance suite in virtual time, at odd and large rank counts, with messages that go at
//! once and with messages that wait for their receive.

use std::cell::RefCell;

use comet_core::conformance;
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;
use comet_sim::machine::{
    Clock, Faults, MACHINES, Machine, Network, Node, Noise, PerByte, Protocol, Rdma, Segment,
    Shape, Switching, TorusDims, find,
};
use comet_sim::{Outcome, RunConfig, run};

/// A machine on which all messages go by `protocol`.
pub(crate) fn machine(shape: Shape, switching: Option<Switching>, protocol: Protocol) -> Machine {
    let segment = Segment {
        protocol,
        o_send_ps: 300_000,
        o_recv_ps: 400_000,
        handshake_ps: if protocol == Protocol::Eager { 0 } else { 500_000 },
        latency_ps: 1_000_000,
        hop_ps: 50_000,
        wire: PerByte(100 << 20),
        unexpected: PerByte(20 << 20),
        ..Segment::default()
    };
    Machine {
        name: "test".into(),
        network: Network { shape, switching, link_per_byte: PerByte(100 << 20) },
        segments: vec![segment],
        rdma: Rdma::default(),
        node: Node { poll_ps: 100_000, daxpy_ps: 1000, ..Node::default() },
        clock: Clock { resolution_ps: 1000, call_cost_ps: 0, offset_spread_ps: 0, drift_ppm: 0.0 },
        noise: Noise::default(),
        faults: Faults::default(),
        envelope_bytes: 0,
    }
}

fn check(machine: &Machine, n_ranks: usize) {
    let problems = RefCell::new(Vec::new());
    let config = RunConfig::new(machine.clone(), Topology::hypercube(n_ranks));
    let outcome = run(&config, |t| {
        let mut report = |name: &str, result: &Result<(), String>| {
            if let Err(problem) = result {
                problems.borrow_mut().push(format!("{name} on rank {}: {problem}", t.rank()));
            }
        };
        u8::from(conformance::run_all(t, &mut report) > 0)
    });
    assert_eq!(*problems.borrow(), [""; 0], "{n_ranks} ranks");
    assert!(matches!(outcome, Ok(Outcome::Finished { code: 0, .. })), "{n_ranks}: {outcome:?}");
}

#[test]
fn messages_of_every_protocol() {
    for (protocol, rank_counts) in [
        (Protocol::Eager, &[1, 3, 6, 8, 16][..]),
        (Protocol::Buffered, &[3]),
        (Protocol::Rendezvous, &[2, 5]),
    ] {
        let machine = machine(Shape::Flat, None, protocol);
        rank_counts.iter().for_each(|n_ranks| check(&machine, *n_ranks));
    }
}

#[test]
fn messages_that_wait_for_links() {
    for switching in [Switching::Circuit, Switching::CutThrough] {
        for protocol in [Protocol::Eager, Protocol::Buffered, Protocol::Rendezvous] {
            check(&machine(Shape::Hypercube, Some(switching), protocol), 4);
        }
    }
}

#[test]
fn every_machine_that_comes_along() {
    for (name, _) in MACHINES {
        let machine = find(name).expect("a machine that comes along").machine;
        // Tori of given dimensions have as many ranks as these say.
        if !matches!(machine.network.shape, Shape::Torus(TorusDims::Given(_))) {
            check(&machine, 2);
        }
    }
}

#[test]
fn transfers_that_the_target_serves_in_its_calls() {
    let mut machine = machine(Shape::Flat, None, Protocol::Eager);
    machine.rdma = Rdma { is_emulated: true, atomic_ps: Some(5000), ..Rdma::default() };
    [1, 2, 4, 7, 8].iter().for_each(|n_ranks| check(&machine, *n_ranks));
}
