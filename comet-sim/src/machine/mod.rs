//! A simulated machine in the numbers that the engine calculates with.
//!
//! ```text
//!   file (TOML, units, sources) ──► Machine ──► engine
//! ```
//!
//! Times are whole picoseconds; see [`PerByte`] for what one byte takes. A message of `n` bytes
//! over `h` links takes, one way and with nothing in its way,
//!
//! ```text
//!   t(n, h) = t0 + n · per_byte + (h - 1) · hop        with the numbers of its Segment
//!   t0       = o_send + handshake + latency + o_recv
//!   per_byte = send + wire + recv                      sender's CPU, network, receiver's CPU
//! ```

mod catalogue;
mod disturbance;
mod file;
mod limit;
mod network;
mod rdma;
mod reader;
mod units;

pub use catalogue::{ALIASES, MACHINES, find, names};
pub use file::{MachineError, MachineFile, SOURCES};

use comet_core::topology::{Mesh, Topology};
use comet_core::transport::Work;
use serde::Deserialize;

use crate::route::Routes;

/// A simulated machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name, as in its file.
    pub name: String,
    /// Connections of the ranks.
    pub network: Network,
    /// Costs of messages by length: ascending, the last without a bound.
    pub segments: Vec<Segment>,
    /// Costs of transfers of windows, as far as they are not those of messages.
    pub rdma: Rdma,
    /// Other operations of a rank, and their times.
    pub node: Node,
    /// Clocks of the ranks.
    pub clock: Clock,
    /// Disturbances of the ranks.
    pub noise: Noise,
    /// Injected faults.
    pub faults: Faults,
    /// Bytes beside those of each message (SMPI: 16); they count for segment and time.
    pub envelope_bytes: u64,
}

/// Time of one byte, in units of 2^-20 ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerByte(pub u64);

impl PerByte {
    /// The time of `n_bytes` bytes in picoseconds, rounded to the nearest.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "2^64 ps are seven months")]
    pub fn times(self, n_bytes: u64) -> u64 {
        ((u128::from(self.0) * u128::from(n_bytes) + (1 << 19)) >> 20) as u64
    }
}

/// Connections of the ranks, and waiting of messages for links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Arrangement of the links.
    pub shape: Shape,
    /// Occupation of the links by a message; `None` if it never waits for one.
    pub switching: Option<Switching>,
    /// Time of a byte on a link that is not the first or the last (cut-through).
    pub link_per_byte: PerByte,
}

/// Arrangement of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A crossbar: one hop between any two ranks.
    Flat,
    /// A hypercube with a corner for each rank; e-cube routes, lowest dimension first.
    Hypercube,
    /// A torus of these dimensions (their product is the number of ranks), or of two or three
    /// near-equal ones; routes by dimension order, the shorter way, ties upwards.
    Torus(TorusDims),
    /// A k-ary n-tree with `radix` children per switch and as many levels as the ranks need; the
    /// up port is chosen by the destination (D-mod-k).
    FatTree {
        /// Children of one switch.
        radix: usize,
    },
}

/// Dimensions of a torus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "dims is neither a number such as 3 nor a list such as [8, 8, 8]")]
pub enum TorusDims {
    /// So many, as equal as the number of ranks allows.
    Auto(usize),
    /// These.
    Given(Vec<usize>),
}

/// Occupation of links by a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switching {
    /// The header keeps each link while it waits; all are free when the tail has passed.
    Circuit,
    /// Each link is busy while the message passes it; the header goes ahead.
    CutThrough,
}

/// Costs of messages of a range of lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The longest message of the segment, in bytes; `None` in the last.
    pub up_to_bytes: Option<u64>,
    /// Waiting of sender and receiver for each other.
    pub protocol: Protocol,
    /// CPU time of the sender, in picoseconds.
    pub o_send_ps: u64,
    /// CPU time of the receiver.
    pub o_recv_ps: u64,
    /// Request and grant before the data, half each.
    pub handshake_ps: u64,
    /// Wire: the rest of the startup time.
    pub latency_ps: u64,
    /// Each link beyond the first.
    pub hop_ps: u64,
    /// Least time between two messages of one sender.
    pub gap_ps: u64,
    /// CPU time of the sender for a byte.
    pub send: PerByte,
    /// Time of a byte in the network.
    pub wire: PerByte,
    /// CPU time of the receiver for a byte.
    pub recv: PerByte,
    /// Additional time of a byte in a message whose request came before its receive was posted.
    pub unexpected: PerByte,
}

/// Waiting of sender and receiver for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The message goes at once; the send returns when the sender's CPU is done with it.
    #[default]
    Eager,
    /// The receiving system grants a buffer, posted receive or not (NX/2 above 100 bytes); the
    /// send returns when the network has taken the bytes.
    Buffered,
    /// The message waits for its receive; the send returns when the network has taken the bytes.
    Rendezvous,
}

/// Costs of the transfers of windows: remote access to memory, in which the target's CPU has no part.
///
/// A field that is `None` is that of the protocol of the transfer's length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rdma {
    /// CPU time of the origin, in picoseconds; else `o_send`.
    pub o_ps: Option<u64>,
    /// Way to the target or back.
    pub latency_ps: Option<u64>,
    /// Each link beyond the first.
    pub hop_ps: Option<u64>,
    /// Least time between two transfers or messages of one rank.
    pub gap_ps: Option<u64>,
    /// Time of a byte in the network; else the protocol's without the CPUs of sender and receiver.
    pub per_byte: Option<PerByte>,
    /// An element that the target's interface combines or compares; else an element of a sum of two
    /// vectors ([`Node::reduce_ps`]).
    pub atomic_ps: Option<u64>,
    /// True if the library makes transfers of messages, which the target serves while it is in a call.
    pub is_emulated: bool,
}

/// Operations of a rank other than sending and receiving, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Start of an unblocked send, beyond what a blocked one takes.
    pub isend_ps: u64,
    /// Start of an unblocked receive, beyond what a blocked one takes.
    pub irecv_ps: u64,
    /// Each wait for an unblocked call.
    pub wait_ps: u64,
    /// Each probe and each test; at least 1, or a loop of them would never end.
    pub poll_ps: u64,
    /// Copy of a byte.
    pub copy: PerByte,
    /// Each contiguous piece of a strided copy, beyond its bytes.
    pub copy_piece_ps: u64,
    /// One element of `y = a x + y`.
    pub daxpy_ps: u64,
    /// One element of a sum of two vectors.
    pub reduce_ps: u64,
}

/// Clocks of the ranks: `(1 + drift) t + offset`, in whole steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Step, in picoseconds; at least 1000, since readings are whole nanoseconds.
    pub resolution_ps: u64,
    /// Time of a reading.
    pub call_cost_ps: u64,
    /// Offsets are spread evenly over `0..offset_spread_ps`, by rank and seed.
    pub offset_spread_ps: u64,
    /// Drifts are spread evenly over `-drift_ppm..=drift_ppm`, by rank and seed.
    pub drift_ppm: f64,
}

/// Disturbances of the ranks; each draw is a function of seed, rank and operation alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noise {
    /// Seed of all draws, those of the clocks too.
    pub seed: u64,
    /// Disturbances, which add up.
    pub sources: Vec<NoiseSource>,
}

/// One kind of disturbance: a share of the undisturbed time of an operation, or a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseSource {
    /// Each operation's time is multiplied by a log-normal factor of median 1.
    LogNormal {
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// With `probability`, an operation takes longer by an exponentially distributed time.
    Spike {
        /// Share of the operations that are hit, 0 to 1.
        probability: f64,
        /// Mean of the additional time.
        mean_ps: u64,
    },
    /// With `probability`, an operation takes `scale` times as long.
    Outlier {
        /// Share of the operations that are hit, 0 to 1.
        probability: f64,
        /// Factor, at least 1.
        scale: f64,
    },
    /// Log-normal factors of which each resembles the one before.
    Ar1 {
        /// Correlation of successive logarithms, below 1.
        phi: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Each rank changes between two speeds; it stays at one for `sojourn` operations on average.
    Regimes {
        /// Mean number of operations at one speed, at least 1.
        sojourn: f64,
        /// Factor of the slow regime, at least 1.
        ratio: f64,
    },
    /// The first operations are slower: by `amplitude · exp(-i / tau)` for operation `i`.
    StartUp {
        /// Factor beyond 1 of the very first operation.
        amplitude: f64,
        /// Operations until it has fallen by e.
        tau: f64,
    },
    /// Every `period` of virtual time, each rank (at a phase of its own) does nothing for `length`.
    Detour {
        /// Time from one to the next.
        period_ps: u64,
        /// Length of each.
        length_ps: u64,
    },
}

/// Injected faults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Ranks whose computation and CPU time is multiplied by a factor.
    pub slow_ranks: Vec<(usize, f64)>,
    /// A rank stands still for a time before its operation of that number (counted from 0).
    pub delays: Vec<Delay>,
    /// A rank dies at that virtual time, in picoseconds.
    pub dead_ranks: Vec<(usize, u64)>,
    /// Share of the messages that are lost, 0 to 1.
    pub drop_probability: f64,
}

/// A rank stands still before one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The rank.
    pub rank: usize,
    /// Number of the operation among those of this rank, from 0.
    pub operation: u64,
    /// For how long.
    pub delay_ps: u64,
}

impl Segment {
    /// The whole startup time between neighbours, in picoseconds.
    pub fn startup_ps(&self) -> u64 {
        self.o_send_ps + self.handshake_ps + self.latency_ps + self.o_recv_ps
    }

    /// Time of a byte in all, in picoseconds.
    pub fn per_byte_ps(&self) -> f64 {
        (self.send.0 + self.wire.0 + self.recv.0) as f64 / f64::from(1 << 20)
    }
}

impl Rdma {
    /// The numbers for a transfer of a length of which `messages` has those of a message.
    fn segment(&self, messages: &Segment) -> Segment {
        Segment {
            up_to_bytes: messages.up_to_bytes,
            protocol: Protocol::Eager,
            o_send_ps: self.o_ps.unwrap_or(messages.o_send_ps),
            latency_ps: self.latency_ps.unwrap_or(messages.latency_ps),
            hop_ps: self.hop_ps.unwrap_or(messages.hop_ps),
            gap_ps: self.gap_ps.unwrap_or(messages.gap_ps),
            wire: self.per_byte.unwrap_or(messages.wire),
            ..Segment::default()
        }
    }
}

impl Node {
    /// Time of `work`, in picoseconds.
    pub fn work_ps(&self, work: Work) -> u64 {
        match work {
            Work::Daxpy { n } => self.daxpy_ps * n as u64,
            Work::Reduce { n } => self.reduce_ps * n as u64,
            Work::Busy { ns } => ns.saturating_mul(1000),
            Work::Copy { bytes, piece_bytes, .. } => {
                let n_pieces = bytes.div_ceil(piece_bytes.max(1)) as u64;
                self.copy.times(bytes as u64) + self.copy_piece_ps * n_pieces
            }
        }
    }
}

impl Faults {
    /// A rank from `n_ranks` on for which there is a fault.
    pub fn beyond(&self, n_ranks: usize) -> Option<usize> {
        let slow = self.slow_ranks.iter().map(|(rank, _)| *rank);
        let dead = self.dead_ranks.iter().map(|(rank, _)| *rank);
        let delayed = self.delays.iter().map(|delay| delay.rank);
        slow.chain(dead).chain(delayed).find(|rank| *rank >= n_ranks)
    }
}

impl Machine {
    /// True if every message is taken without its receive.
    pub fn buffers_sends(&self) -> bool {
        self.segments.iter().all(|segment| segment.protocol != Protocol::Rendezvous)
    }

    /// True if an operation takes the same time whenever it is done, and clocks show it.
    pub fn is_exact(&self) -> bool {
        let Clock { resolution_ps, drift_ppm, .. } = self.clock;
        let is_fine = resolution_ps <= 1000 && drift_ppm == 0.0;
        is_fine && self.noise.sources.is_empty() && self.faults == Faults::default()
    }

    /// `mesh` with the distances of this machine.
    ///
    /// # Errors
    /// One sentence, if the ranks of the mesh do not fit onto the machine, or if there is a fault of a
    /// rank beyond them.
    pub fn topology(&self, mesh: Mesh) -> Result<Topology, String> {
        let n_ranks = mesh.ranks().len();
        if let Some(rank) = self.faults.beyond(n_ranks) {
            return Err(format!(
                "{} has a fault of rank {rank}, but ranks are 0 to {} (take more ranks)",
                self.name,
                n_ranks - 1
            ));
        }
        let routes = Routes::new(&self.network.shape, n_ranks)?;
        Topology::with_metric(mesh, routes.metric().clone())
    }

    /// The numbers for a message of `length_bytes` bytes.
    ///
    /// # Panics
    /// Never: the last segment has no bound.
    #[inline]
    pub fn segment(&self, length_bytes: u64) -> &Segment {
        &self.segments[self.segment_index(length_bytes)]
    }

    /// Number of that segment.
    #[inline]
    pub(crate) fn segment_index(&self, length_bytes: u64) -> usize {
        let n_bytes = length_bytes + self.envelope_bytes;
        let holds = |s: &Segment| s.up_to_bytes.is_none_or(|up_to| n_bytes <= up_to);
        self.segments.iter().position(holds).expect("the last segment has no bound")
    }

    /// Time of request and grant of a message of `segment` that waits for its receive, whatever others do: its
    /// own; of an eager one that of the first piece that has any, or else two ways over the wire.
    pub fn handshake_ps(&self, segment: &Segment) -> u64 {
        if segment.protocol != Protocol::Eager {
            return segment.handshake_ps;
        }
        let own = self.segments.iter().map(|other| other.handshake_ps).find(|own| *own > 0);
        own.unwrap_or(2 * segment.latency_ps)
    }

    /// The numbers for transfers of windows in place of those of [`segments`](Self::segments): there
    /// are none of a receiver's CPU, nor of a wait for it.
    pub fn transfer_segments(&self) -> impl Iterator<Item = Segment> {
        self.segments.iter().map(|messages| self.rdma.segment(messages))
    }

    /// Time of an element that a target's interface combines or compares, in picoseconds.
    pub fn atomic_ps(&self) -> u64 {
        self.rdma.atomic_ps.unwrap_or(self.node.reduce_ps)
    }
}
