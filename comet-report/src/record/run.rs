//! Wire types of the `run` line: program, transport, world, machine and clock.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Machine;

/// What is needed to understand and to repeat a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// `comet.record/1`.
    pub schema: String,
    /// Minor version of the format.
    pub schema_minor: u32,
    /// UUID, version 7.
    pub run_id: String,
    /// RFC 3339, UTC, milliseconds.
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
    /// What the user says about the run; CoMet reserves `machine`, `node`, `network`, `mpi`,
    /// `user`, `site`, `contact` and `note`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What moves the messages.
    pub transport: Transport,
    /// What the ranks were started with.
    pub launcher: Launcher,
    /// The ranks and how they are connected.
    pub world: World,
    /// Machines, one per class of equal nodes.
    pub machines: Vec<Machine>,
    /// SHA-256 over machine class, transport and shape of the world: runs with the same one may
    /// be compared.
    pub fingerprint: String,
    /// The clock that all times come from.
    pub clock: Clock,
    /// How busy the machine was before the run.
    pub noise: Option<Noise>,
    /// How many cases were planned.
    pub n_cases: usize,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

impl Suite {
    /// This build, as the build script noted it.
    #[must_use]
    pub fn of_this_build() -> Self {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        let target = option_env!("COMET_TARGET").unwrap_or(std::env::consts::ARCH);
        let level = option_env!("COMET_OPT_LEVEL").unwrap_or("?");
        let flags = option_env!("COMET_RUSTFLAGS").unwrap_or_default();
        Self {
            name: "comet".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            git_rev: option_env!("COMET_GIT_REV").map(Into::into),
            rustc: option_env!("COMET_RUSTC").map(Into::into),
            target: target.into(),
            profile: profile.into(),
            opt_flags: format!("-C opt-level={level} {flags}").trim_end().into(),
        }
    }
}

/// What moves the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transport {
    /// Name of the backend (`shm`).
    pub backend: String,
    /// Facts about the backend, in an object called like it (`"shm": {"ring_bytes": 65536}`).
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

impl Transport {
    /// The backend `backend` with facts that it states about itself, units in their names.
    #[must_use]
    pub fn new(backend: &str, details: BTreeMap<String, Value>) -> Self {
        let details = Value::from_iter(details);
        Self { backend: backend.into(), facts: [(backend.into(), details)].into() }
    }
}

/// What the ranks were started with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Launcher {
    /// The program outside that started the ranks (`Open MPI's mpirun`); `null` if CoMet started
    /// them itself. Since minor version 1.
    pub name: Option<String>,
    /// Environment variables that tune communication; no others are ever written.
    pub env: BTreeMap<String, String>,
}

/// The ranks and how they are connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct World {
    /// Number of ranks.
    pub size: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Ranks on each node, in the order in which nodes are first named.
    pub ppn: Vec<usize>,
    /// Where each rank runs.
    pub ranks: Vec<RankEntry>,
    /// The processor mesh.
    pub mesh: Mesh,
    /// The distances.
    pub hops: Hops,
}

/// Where one rank runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

/// The processor mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mesh {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// How it is filled: `gray`, `row` or `file` (a table of the user's).
    pub order: String,
    /// The ranks, row by row.
    pub map: Vec<usize>,
}

/// The distances between ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hops {
    /// Where they come from: `hypercube`, `flat`, `torus`, `fattree` or `table`.
    pub metric: String,
    /// The largest one.
    pub diameter: usize,
    /// Number of links from rank to rank, where it is a table of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Vec<Vec<usize>>>,
}

/// The clock that all times come from, as calibrated on rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// Name of the clock (`CLOCK_MONOTONIC`).
    pub source: String,
    /// Smallest positive difference of two readings; `null` if all were equal.
    pub resolution_ns: Option<u64>,
    /// Cost of one reading.
    pub overhead_ns: f64,
    /// What an empty interval reads.
    pub pair_bias_ns: f64,
    /// Whether it never goes backwards.
    pub monotonic: bool,
    /// Whether readings of two ranks may be compared.
    pub is_global: bool,
    /// Whether it counts simulated time.
    pub is_virtual: bool,
    /// Whether the time stamp counter below it runs at one rate; `null` where there is none.
    pub invariant_tsc: Option<bool>,
}

/// How busy the machine was before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Average number of runnable tasks over 1, 5 and 15 minutes.
    pub loadavg: [f64; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_in_a_file_of_minor_version_0_has_no_name() {
        let launcher: Launcher = serde_json::from_str(r#"{"env":{}}"#).unwrap();
        assert_eq!(launcher, Launcher::default());
    }
}
