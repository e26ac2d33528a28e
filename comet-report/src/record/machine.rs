//! Wire types of the machine: one object per class of equal nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A class of equal nodes; what the system does not tell is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Frequency control and idle states. Since minor version 2.
    #[serde(default)]
    pub frequency: Frequency,
    /// Memory, and how it is given out. Since minor version 2.
    #[serde(default)]
    pub memory: Memory,
    /// Build and boot options of the kernel. Since minor version 2.
    #[serde(default)]
    pub kernel: OsKernel,
    /// The kernel's clocks. Since minor version 2.
    #[serde(default)]
    pub clocks: Clocks,
    /// Container and virtual machine. Since minor version 2.
    #[serde(default)]
    pub container: Container,
    /// Network interfaces that have a device; others come and go. Since minor version 2.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
    /// Ports of InfiniBand adapters. Since minor version 2.
    #[serde(default)]
    pub infiniband: Vec<InfinibandPort>,
}

/// Processor of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// True if cores run several threads at once.
    pub smt: Option<bool>,
    /// Highest frequency in MHz.
    pub mhz_max: Option<f64>,
    /// Frequency governor (`performance`, `powersave`).
    pub governor: Option<String>,
    /// True if the frequency may rise above the nominal one.
    pub turbo: Option<bool>,
    /// True if the time stamp counter runs at one rate in all states.
    pub invariant_tsc: Option<bool>,
    /// Hardware threads that are online (`0-7`). Since minor version 2.
    pub online: Option<String>,
    /// Use of sibling threads (`on`, `off`, `notsupported`). Since minor version 2.
    pub smt_control: Option<String>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Os {
    /// Id of the distribution (`debian`).
    pub id: Option<String>,
    /// Version of the distribution.
    pub version: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
}

/// Settings of a node's system that change times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Settings {
    /// Transparent huge pages (`always`, `madvise`, `never`).
    pub thp: Option<String>,
    /// Address space randomisation (0, 1 or 2).
    pub aslr: Option<u64>,
    /// Movement of pages between NUMA nodes by the system (0 or 1).
    pub numa_balancing: Option<u64>,
    /// CPUs kept free of other tasks.
    pub isolcpus: Option<String>,
    /// CPUs without a periodic tick.
    pub nohz_full: Option<String>,
    /// Clock source of the kernel (`tsc`).
    pub clocksource: Option<String>,
    /// Processor time that the control group grants: `max` or microseconds, and the period.
    pub cgroup_cpu_max: Option<String>,
    /// True if the system runs in a virtual machine.
    pub virt: Option<bool>,
}

/// Frequency control and idle states of CPU 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Frequency {
    /// Driver that sets the frequency (`intel_pstate`, `acpi-cpufreq`).
    pub driver: Option<String>,
    /// Lowest frequency that the governor may choose, in MHz.
    pub mhz_min: Option<f64>,
    /// Highest frequency that the governor may choose, in MHz.
    pub mhz_max: Option<f64>,
    /// Preference of the hardware (`performance`, `balance_power`).
    pub energy_preference: Option<String>,
    /// Mode of the driver `intel_pstate` (`active`, `passive`, `off`).
    pub pstate: Option<String>,
    /// Driver that chooses idle states (`intel_idle`).
    pub idle_driver: Option<String>,
    /// The idle states, shallowest first.
    pub idle_states: Vec<IdleState>,
}

/// One state in which a processor rests; the deeper, the longer it takes to wake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Its name (`C1E`).
    pub name: String,
    /// True if it is switched off.
    pub is_disabled: Option<bool>,
}

/// Memory, and how it is given out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Memory {
    /// Memory available to programs before the run, in bytes.
    pub available_bytes: Option<u64>,
    /// Size of a page in bytes.
    pub page_bytes: Option<u64>,
    /// Size of a huge page in bytes.
    pub huge_page_bytes: Option<u64>,
    /// Huge pages in shared memory (`always`, `within_size`, `advise`, `never`).
    pub thp_shmem: Option<String>,
    /// Size of `/dev/shm` in bytes, where it was mounted with one.
    pub dev_shm_bytes: Option<u64>,
    /// The NUMA nodes.
    pub numa_nodes: Vec<NumaNode>,
}

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NumaNode {
    /// Its number.
    pub node: usize,
    /// Its CPUs (`0-3`).
    pub cpus: Option<String>,
    /// Its memory in bytes.
    pub mem_bytes: Option<u64>,
    /// Its distances from all nodes, as the firmware states them (`10 21`).
    pub distances: Option<String>,
}

/// Build and boot options of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Kernel"))]
pub struct OsKernel {
    /// Its build (`#1 SMP PREEMPT_DYNAMIC …`).
    pub build: Option<String>,
    /// Preemption model, by its build (`PREEMPT_RT`, `PREEMPT_DYNAMIC`, `PREEMPT`, `none`).
    pub preemption: Option<String>,
    /// 1 if it is a real-time kernel.
    pub realtime: Option<u64>,
    /// Options of its command line that change times; no others are ever written.
    pub options: Option<String>,
    /// 1 if it groups tasks by session.
    pub sched_autogroup: Option<u64>,
    /// Time in microseconds of each period that real-time tasks may take; -1: all of it.
    pub sched_rt_runtime_us: Option<i64>,
    /// Flaws of the processor, and what is done about them.
    pub vulnerabilities: BTreeMap<String, String>,
    /// Restriction on reading another process; above 0, messages cannot be copied at once.
    pub ptrace_scope: Option<i64>,
    /// Restriction on the performance counters.
    pub perf_event_paranoid: Option<i64>,
}

/// The kernel's clocks, beside the clock source in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clocks {
    /// Clock sources to choose from (`tsc hpet acpi_pm`).
    pub available: Option<String>,
    /// The time namespace (`time:[4026531834]`).
    pub time_namespace: Option<String>,
    /// Offsets of that namespace's clocks, in seconds and nanoseconds.
    pub namespace_offsets: Option<String>,
}

/// Container and virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Container {
    /// CPUs that the control group grants.
    pub cpuset: Option<String>,
    /// Memory that the control group grants, in bytes; `null` without a limit.
    pub mem_max_bytes: Option<u64>,
    /// Vendor of the machine, or of its hypervisor.
    pub vendor: Option<String>,
    /// Product name.
    pub product: Option<String>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interface {
    /// Its name (`eth0`).
    pub name: String,
    /// Speed in Mbit/s, 10^6 bits.
    pub mbit_per_s: Option<u64>,
    /// Largest packet in bytes.
    pub mtu_bytes: Option<u64>,
    /// State (`up`).
    pub state: Option<String>,
    /// Name of its driver.
    pub driver: Option<String>,
}

/// A port of an InfiniBand adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InfinibandPort {
    /// The adapter (`mlx5_0`).
    pub device: String,
    /// Number of the port.
    pub port: usize,
    /// Version of the adapter's firmware.
    pub firmware: Option<String>,
    /// Speed as the adapter states it (`100 Gb/sec (4X EDR)`).
    pub rate: Option<String>,
    /// `InfiniBand` or `Ethernet`.
    pub link_layer: Option<String>,
}
