//! Wire types of the machine: one object per class of equal nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A class of equal nodes; what the system does not tell is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Name of the class within this run (`m0`).
    pub id: String,
    /// Host names of its nodes.
    pub nodes: Vec<String>,
    /// Processor.
    pub cpu: Cpu,
    /// Caches that CPU 0 uses.
    pub caches: Vec<Cache>,
    /// Number of NUMA nodes.
    pub numa: Option<usize>,
    /// Memory in bytes.
    pub mem_bytes: Option<u64>,
    /// Operating system.
    pub os: Os,
    /// Settings of the system that change times.
    pub settings: Settings,
}

/// Processor of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Vendor (`GenuineIntel`).
    pub vendor: Option<String>,
    /// Name for people.
    pub model: Option<String>,
    /// Instruction set (`x86_64`).
    pub arch: String,
    /// Family number.
    pub family: Option<String>,
    /// Model number.
    pub model_id: Option<String>,
    /// Stepping.
    pub stepping: Option<String>,
    /// Revision of the microcode.
    pub microcode: Option<String>,
    /// Number of sockets.
    pub sockets: Option<usize>,
    /// Number of physical cores.
    pub cores: Option<usize>,
    /// Number of hardware threads that are online.
    pub threads: Option<usize>,
    /// Whether cores run several threads at once.
    pub smt: Option<bool>,
    /// Highest frequency in MHz.
    pub mhz_max: Option<f64>,
    /// What decides about the frequency (`performance`, `powersave`).
    pub governor: Option<String>,
    /// Whether the frequency may rise above the nominal one.
    pub turbo: Option<bool>,
    /// Whether the time stamp counter runs at one rate in all states.
    pub invariant_tsc: Option<bool>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size in bytes.
    pub bytes: Option<u64>,
    /// Length of a line in bytes.
    pub line_bytes: Option<u64>,
    /// CPUs that share it (`0-3`).
    pub shared_cpus: Option<String>,
}

/// Operating system of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Os {
    /// Id of the distribution (`debian`).
    pub id: Option<String>,
    /// Version of the distribution.
    pub version: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
}

/// Settings of a node's system that change times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Transparent huge pages (`always`, `madvise`, `never`).
    pub thp: Option<String>,
    /// Address space randomisation (0, 1 or 2).
    pub aslr: Option<u64>,
    /// Whether pages move between NUMA nodes by themselves (0 or 1).
    pub numa_balancing: Option<u64>,
    /// CPUs kept free of other tasks.
    pub isolcpus: Option<String>,
    /// CPUs without a periodic tick.
    pub nohz_full: Option<String>,
    /// Clock source of the kernel (`tsc`).
    pub clocksource: Option<String>,
    /// Processor time that the control group grants: `max` or microseconds, and the period.
    pub cgroup_cpu_max: Option<String>,
    /// Whether the system runs in a virtual machine.
    pub virt: Option<bool>,
}
