//! The machines of the truth tests: each has something that the others have not, and all their
//! times are whole nanoseconds, so that clocks of whole nanoseconds tell them exactly.

use comet_sim::machine::{self, Machine, NoiseSource};

use super::bench::machine;

/// Costs of computations and unblocked calls, on all of them.
const NODE: &str = include_str!("machines/node.toml");

const FLAT: &str = include_str!("machines/flat.toml");

const BUSY: &str = include_str!("machines/busy.toml");

const RENDEZVOUS: &str = include_str!("machines/rendezvous.toml");

const BUFFERED: &str = include_str!("machines/buffered.toml");

const CUT_THROUGH: &str = include_str!("machines/cut-through.toml");

const CIRCUITS: &str = include_str!("machines/circuits.toml");

/// Links as fast as interfaces, so that a link of several ways is the limit.
const TORUS: &str = include_str!("machines/torus.toml");

/// Computations of whole microseconds, and so of whole nanoseconds on ranks that are slower by some
/// thousandths.
const WHOLE_NODE: &str = include_str!("machines/whole-node.toml");

/// By how many thousandths ranks are slower, so that no few steps of one take as long as others.
const PRIMES: [f64; 15] =
    [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0, 41.0, 43.0, 47.0];

/// A crossbar on which messages go at once.
pub(crate) fn flat() -> Machine {
    machine(&(FLAT.to_owned() + NODE))
}

/// A crossbar without latency, where nobody waits for a message that is on its way. Ranks leave a
/// barrier together then, whoever was the last, and each sample starts as all others do.
pub(crate) fn prompt() -> Machine {
    let mut machine = flat();
    machine.segments[0].latency_ps = 0;
    machine.segments[0].send = std::mem::take(&mut machine.segments[0].wire);
    machine
}

/// All costs of a message: CPU time for each byte, a gap between messages that is longer than most
/// of them, envelopes, a copy of what came too early, and a clock that takes time to read.
pub(crate) fn busy() -> Machine {
    machine(&(BUSY.to_owned() + NODE))
}

/// A machine on which a message above 100 bytes waits for its receive.
pub(crate) fn rendezvous() -> Machine {
    machine(&(RENDEZVOUS.to_owned() + NODE))
}

/// A machine on which a message above 100 bytes starts as soon as its receive is posted.
pub(crate) fn instant_rendezvous() -> Machine {
    let mut machine = rendezvous();
    machine.segments[1].handshake_ps = 0;
    machine
}

/// A hypercube on which a message above 100 bytes waits for a buffer, and none for a link.
pub(crate) fn buffered() -> Machine {
    machine(&(BUFFERED.to_owned() + NODE))
}

/// A hypercube with switches that pass a message on before it is there whole: messages of all three
/// protocols take links one after the other.
pub(crate) fn cut_through() -> Machine {
    unequal(machine(&(CUT_THROUGH.to_owned() + WHOLE_NODE)))
}

/// A torus of these dimensions with switches that pass a message on before it is there whole.
pub(crate) fn torus(dims: &[usize]) -> Machine {
    machine(&(TORUS.replace("DIMS", &format!("{dims:?}")) + NODE))
}

/// A hypercube with switches and links as fast as those of [`torus`].
pub(crate) fn hypercube() -> Machine {
    let shape = r#"kind = "hypercube""#;
    machine(&(TORUS.replace(r#"kind = "torus", dims = DIMS"#, shape) + NODE))
}

/// A hypercube like that of the thesis, whose circuits messages wait for.
pub(crate) fn circuits() -> Machine {
    unequal(machine(&(CIRCUITS.to_owned() + WHOLE_NODE)))
}

/// `machine` with ranks of which each is slower than the one before, so that no two do the same
/// thing at the same time: which of two messages that ask for a link together is first, no law
/// says.
pub(crate) fn unequal(mut machine: Machine) -> Machine {
    let slow_ranks = PRIMES.iter().zip(1..).map(|(prime, rank)| (rank, 1.0 + prime / 1000.0));
    machine.faults.slow_ranks = slow_ranks.collect();
    machine
}

/// `machine` with these sources of noise.
pub(crate) fn noisy(mut machine: Machine, seed: u64, sources: &[NoiseSource]) -> Machine {
    machine.noise.seed = seed;
    machine.noise.sources = sources.to_vec();
    machine
}

pub(crate) fn ipsc860() -> Machine {
    machine::find("ipsc860").expect("it comes with the program").machine
}
