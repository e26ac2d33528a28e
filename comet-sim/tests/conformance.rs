//! The conformance suite in virtual time, at odd and large rank counts, with messages that go at
//! once and with messages that wait for their receive.

use std::cell::RefCell;

use comet_core::conformance;
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;
use comet_sim::machine::{MACHINES, Machine, MachineFile, Shape, TorusDims, find};
use comet_sim::{Outcome, RunConfig, run};

/// A machine of this topology, on which all messages go by `protocol`.
fn machine(topology: &str, protocol: &str) -> Machine {
    let handshake = if protocol == "eager" { "0 us" } else { "0.5 us" };
    let text = format!(
        "format = 1\nname = \"test\"\n\
         [topology]\n{topology}\n\
         [[protocol]]\nkind = \"{protocol}\"\nt0 = \"2.2 us\"\nper_byte = \"100 ps/B\"\n\
         hop = \"50 ns\"\nunexpected = \"20 ps/B\"\n\
         split = {{ o_send = \"0.3 us\", o_recv = \"0.4 us\", handshake = \"{handshake}\" }}\n\
         [node]\ndaxpy = \"1 ns\"\n"
    );
    MachineFile::parse(&text, "test").expect("the text describes a machine").machine
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
    let protocols: [(&str, &[usize]); 3] = [
        ("eager", &[1, 2, 3, 4, 7, 16, 33]),
        ("buffered", &[2, 3, 5]),
        ("rendezvous", &[1, 2, 3, 5]),
    ];
    for (protocol, rank_counts) in protocols {
        rank_counts.iter().for_each(|n| check(&machine("kind = \"flat\"", protocol), *n));
    }
}

#[test]
fn messages_that_wait_for_links() {
    for switching in ["circuit", "cut-through"] {
        let topology = format!("kind = \"hypercube\"\nswitching = \"{switching}\"");
        for protocol in ["eager", "buffered", "rendezvous"] {
            [2, 3, 8].into_iter().for_each(|n| check(&machine(&topology, protocol), n));
        }
    }
}

#[test]
fn every_machine_that_comes_along() {
    for (name, _) in MACHINES {
        let machine = find(name).expect("a machine that comes along").machine;
        let n_ranks = match machine.network.shape {
            // Tori of given dimensions have as many ranks as these say.
            Shape::Torus(TorusDims::Given(_)) => continue,
            _ => 4,
        };
        check(&machine, n_ranks);
    }
}
