//! Wire types of the `run` line: program, transport, world, machine and clock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{KernelFacts, Machine, OfSuite};

/// Facts needed to understand and to repeat a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// `comet.record/1`.
    pub schema: String,
    /// Minor version of the format.
    pub schema_minor: u32,
    /// UUID, version 7.
    pub run_id: String,
    /// RFC 3339, UTC, milliseconds; empty, and `null` in files, where an import does not know it.
    #[serde(with = "nullable")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub started_at: String,
    /// The program.
    pub suite: Suite,
    /// Command line.
    pub argv: Vec<String>,
    /// Settings in effect, whatever they came from.
    pub config: BTreeMap<String, Value>,
    /// SHA-256 of the canonical JSON of `config`.
    pub config_sha256: String,
    /// Seed of the random numbers; `null` if the run draws none.
    pub seed: Option<u64>,
    /// The user's labels of the run; CoMet reserves `machine`, `node`, `network`, `mpi`, `user`,
    /// `site`, `contact` and `note`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Transport of the messages.
    pub transport: Transport,
    /// Launcher of the ranks.
    pub launcher: Launcher,
    /// The ranks and how they are connected.
    pub world: World,
    /// Machines, one per class of equal nodes.
    pub machines: Vec<Machine>,
    /// SHA-256 over program, transport, tuning variables, placement, processor, frequency, kernel,
    /// clocks and network: runs with the same one were taken under the same conditions.
    pub fingerprint: String,
    /// The clock that all times come from.
    pub clock: Clock,
    /// Time of a cache line from rank 0 to rank 1 before the first case, in nanoseconds: the least
    /// cost of a message; `null` if the transport does not report it. Since minor version 3.
    pub line_ns: Option<f64>,
    /// Load of the machine before the run; `end` has the same for afterwards.
    pub noise: Option<Noise>,
    /// Number of planned cases.
    pub n_cases: usize,
    /// The kernels of the plan. Since minor version 5.
    #[serde(default)]
    pub kernels: Vec<KernelFacts>,
    /// The suite whose unit the run is; absent from other runs. Since minor version 12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_suite: Option<OfSuite>,
}

impl Run {
    /// Returns the name of its machine: the label `machine`, that of the simulated one, or the name of the first
    /// host without domain and number. `None` if the record has none of these.
    pub fn machine(&self) -> Option<String> {
        let label = self.labels.get("machine").filter(|text| !text.is_empty()).cloned();
        let is_simulated = self.transport.backend.as_deref() == Some("sim");
        let simulated = self.transport.fact("machine").filter(|_| is_simulated);
        let host = self.machines.first().and_then(|machine| machine.nodes.first());
        let host = host.or(self.world.ranks.first().and_then(|entry| entry.node.as_ref()));
        label
            .or_else(|| simulated.map(str::to_owned))
            .or_else(|| host.map(|host| cluster(host).to_owned()))
    }
}

/// Returns the name of the host `host` without its domain and its number.
fn cluster(host: &str) -> &str {
    let name = host.split('.').next().unwrap_or(host);
    let cluster = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
    if cluster.is_empty() { name } else { cluster }
}

/// Texts that are `null` in files where they are empty.
mod nullable {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        Some(text).filter(|text| !text.is_empty()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or_default())
    }
}

/// The program that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Suite {
    /// `comet`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Revision of its source, where git or the build's environment knew it.
    pub git_rev: Option<String>,
    /// Version of the compiler.
    pub rustc: Option<String>,
    /// Platform that it was built for.
    pub target: String,
    /// `release` or `debug`.
    pub profile: String,
    /// Optimisation level, and flags that were given to the compiler.
    pub opt_flags: String,
    /// Instructions that the compiler might use (`avx2,fma`). Since minor version 2.
    pub target_features: Option<String>,
    /// SHA-256 of the lock file that chose the dependencies. Since minor version 2.
    pub lock_sha256: Option<String>,
    /// SHA-256 of the sources of all kernels and of their checks: equal ones measure and verify the same way. Absent
    /// where the build had no sources of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels_sha256: Option<String>,
    /// SHA-256 of the executable file. Since minor version 2.
    pub binary_sha256: Option<String>,
}

/// Transport of the messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Transport {
    /// Name of the backend (`shm`). `null` if unknown, since minor version 7.
    pub backend: Option<String>,
    /// Facts about the backend, in an object called like it (`"shm": {"ring_bytes": 65536}`).
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

impl Transport {
    /// The backend `backend` with facts that it states about itself, units in their names.
    pub fn new(backend: &str, details: BTreeMap<String, Value>) -> Self {
        let details = Value::from_iter(details);
        Self { backend: Some(backend.into()), facts: [(backend.into(), details)].into() }
    }

    /// The backend `backend` with facts that it states as texts, numbers among them.
    pub fn stated(backend: &str, facts: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
        let facts = facts.into_iter().map(|(name, text)| (name.to_owned(), value(text)));
        Self::new(backend, facts.collect())
    }

    /// The level of threads at which the backend was started, if it has such levels (`single`).
    pub fn thread_level(&self) -> Option<&str> {
        self.fact("thread_level")
    }

    /// The fact `name` that the backend states about itself, where it is a text.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.get(self.backend.as_ref()?)?.get(name)?.as_str()
    }

    /// Name of the backend for people.
    pub(crate) fn name(&self) -> &str {
        self.backend.as_deref().unwrap_or("unknown")
    }
}

/// Launcher of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Launcher {
    /// Program that started the ranks (`mpirun`), if not CoMet. Since minor version 1.
    pub name: Option<String>,
    /// Environment variables that tune communication; no others are ever written.
    pub env: BTreeMap<String, String>,
    /// Name of the process that started the first rank's (`mpirun`, `bash`). Since minor version 2.
    pub parent: Option<String>,
}

/// The ranks and how they are connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct World {
    /// Number of ranks.
    pub size: usize,
    /// Number of nodes; `null` of a run that was imported. May be `null` since minor version 4.
    pub nodes: Option<usize>,
    /// Ranks on each node, in the order in which nodes are first named.
    pub ppn: Vec<usize>,
    /// Placement of each rank.
    pub ranks: Vec<RankEntry>,
    /// The processor mesh.
    pub mesh: Mesh,
    /// The distances.
    pub hops: Hops,
}

/// Placement of one rank; what the system does not tell is `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankEntry {
    /// The rank.
    pub rank: usize,
    /// Host name.
    pub node: Option<String>,
    /// Number of this rank among those of its node.
    pub local_rank: usize,
    /// Number of its process.
    pub pid: u32,
    /// CPUs that it may run on (`0-3`).
    pub cpus: Option<String>,
    /// Hardware threads of its core (`0,4`), where it is bound to one.
    pub core: Option<String>,
    /// CPUs that share its level-3 cache, where it is bound to one core.
    pub l3: Option<String>,
    /// Its NUMA node, where it is bound to one core.
    pub numa: Option<usize>,
    /// Its socket, where it is bound to one core.
    pub socket: Option<usize>,
    /// NUMA nodes whose memory it may use (`0-1`). Since minor version 2.
    pub mems: Option<String>,
    /// CPU that it ran on at the start of the run. Since minor version 2.
    pub cpu: Option<usize>,
}

/// The processor mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mesh {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Order of filling: `gray`, `row` or `file` (a table of the user's).
    pub order: String,
    /// The ranks, row by row.
    pub map: Vec<usize>,
}

/// The distances between ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hops {
    /// Source of the distances: `hypercube`, `flat`, `torus`, `fattree` or `table`.
    pub metric: String,
    /// The largest one.
    pub diameter: usize,
    /// Number of links from rank to rank: of a table of the user's, and of a torus or a fat tree of
    /// at most 128 ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Vec<Vec<usize>>>,
}

/// The clock that all times come from, as calibrated on rank 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clock {
    /// Name of the clock (`CLOCK_MONOTONIC`). `null` if unknown, since minor version 7.
    pub source: Option<String>,
    /// Smallest positive difference of two readings; `null` if all were equal.
    pub resolution_ns: Option<u64>,
    /// Cost of one reading; `null` of a run that was imported. May be `null` since minor version 4.
    pub overhead_ns: Option<f64>,
    /// Reading of an empty interval; likewise.
    pub pair_bias_ns: Option<f64>,
    /// True if it never goes backwards.
    pub monotonic: bool,
    /// True if readings of two ranks may be compared.
    pub is_global: bool,
    /// True if it counts simulated time.
    pub is_virtual: bool,
    /// True if the time stamp counter below it runs at one rate; `null` if there is none.
    pub invariant_tsc: Option<bool>,
    /// Number of unshared clocks that the ranks read. Since minor version 2, as all that follows.
    pub domains: Option<usize>,
    /// Guaranteed error bound of a rank on the shared clock; `null` if there is none.
    pub bound_ns: Option<u64>,
    /// Offsets of the unshared clocks from that of rank 0, when the run started. Since minor version 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<ClockOffset>,
    /// Median cost of one reading.
    pub median_overhead_ns: Option<f64>,
    /// One turn of an empty loop.
    pub empty_loop_ns: Option<f64>,
    /// Gaps between consecutive readings; `null` of a simulated clock.
    pub gaps: Option<ClockGaps>,
}

/// Offset of a clock from that of rank 0, as exchanges found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// The lowest rank that reads the clock.
    pub rank: usize,
    /// Reading of the clock less that of rank 0's at the same moment.
    pub offset_ns: i64,
    /// Guaranteed error bound of the offset.
    pub bound_ns: u64,
    /// Drift of the clock against rank 0's, in millionths.
    pub drift_ppm: f64,
}

/// Gaps between consecutive readings of a clock, a measure of the quiet of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockGaps {
    /// Number of gaps.
    pub n: u64,
    /// Gaps in which the clock stood still.
    pub n_zero: u64,
    /// Gaps in which it went back.
    pub n_backwards: u64,
    /// Gaps above 1 us.
    pub n_above_1_us: u64,
    /// Gaps above 50 us.
    pub n_above_50_us: u64,
    /// The longest gap.
    pub longest_ns: u64,
}

/// Load of the machine and of the first rank's process so far; a run has the difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Noise {
    /// Average number of runnable tasks over 1, 5 and 15 minutes.
    pub loadavg: [f64; 3],
    /// CPUs in use, in the mean of 200 ms before the ranks started; `null` where they were not counted.
    /// Since minor version 10.
    #[serde(default)]
    pub busy_cpus: Option<f64>,
    /// Number of times that the process gave its CPU away. Since minor version 2, as the rest.
    pub voluntary_switches: Option<u64>,
    /// Number of times that its CPU was taken away.
    pub involuntary_switches: Option<u64>,
    /// Pages that it touched first.
    pub minor_faults: Option<u64>,
    /// Pages that had to be read from a disk.
    pub major_faults: Option<u64>,
    /// Time of all CPUs together, in ticks of the kernel.
    pub cpu_ticks: Option<u64>,
    /// Part of it in which they had nothing to do.
    pub idle_ticks: Option<u64>,
    /// Part of it that a hypervisor gave to others.
    pub steal_ticks: Option<u64>,
    /// Time in which some task of the machine waited for a CPU, in microseconds.
    pub cpu_pressure_us: Option<u64>,
    /// Number of times that heat has slowed a core.
    pub throttles: Option<u64>,
    /// Frequency of CPU 0 at this moment, in MHz.
    pub mhz: Option<f64>,
}
