//! The machine as its own files describe it, read before the first measurement.
//!
//! Everything comes from `/proc`, `/sys` and `/etc` below a root that tests can choose.
//! An absent file is a missing value, never an error: virtual machines and containers lack many.

pub(crate) mod files;
mod links;
pub(crate) mod machine;
mod variables;
mod warnings;

pub(crate) use links::between_hosts;
pub use machine::{busy_cpus, last_level_cache_bytes, noise};
pub(crate) use warnings::{Apart, Disturbances, busy, disturbed, given_up, moved, sharing, stolen};
pub use warnings::{Warning, have_cpu_each, warnings};

use std::collections::BTreeMap;
use std::path::Path;

use crate::record::{Machine, Noise};
use files::Files;
use machine::machine;

/// Description of one node by its own files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// The machine; `nodes` is its own name, if it has one.
    pub machine: Machine,
    /// Load of the node.
    pub noise: Option<Noise>,
    /// CPUs in use before the ranks started, where they were counted ([`busy_cpus`]).
    pub busy_cpus: Option<f64>,
    /// Environment variables that tune communication.
    pub variables: BTreeMap<String, String>,
    /// Name of the process that started this one.
    pub parent: Option<String>,
    /// SHA-256 of the executable file of this process.
    pub binary_sha256: Option<String>,
}

impl Environment {
    /// Reads the files below `root` (`/` on a real machine), and keeps those of `variables` that
    /// may be recorded (`std::env::vars()` of a real process).
    ///
    /// Kept are names that tune message passing (`OMPI_MCA_`, `UCX_` …), except those that may hold
    /// a secret, a path, a command line or the name of the user, and of batch systems the size and
    /// placement of the job.
    pub fn capture(root: &Path, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let files = Files(root);
        Self {
            machine: machine(files),
            noise: noise(root),
            busy_cpus: None,
            variables: variables::allowed(variables),
            parent: parent(files),
            binary_sha256: None,
        }
    }

    /// Reads the hash of the executable file, which takes a while, below `root`.
    pub fn hash_program(&mut self, root: &Path) {
        self.binary_sha256 = Files(root).sha256("proc/self/exe");
    }
}

fn parent(files: Files<'_>) -> Option<String> {
    let parent = files.field("proc/self/status", "PPid", ':')?;
    files.text(&format!("proc/{parent}/comm"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Folder, machine_files};

    #[test]
    fn an_empty_root_gives_an_environment_without_values() {
        let folder = Folder::new();
        let environment = Environment::capture(folder.path(), []);
        let expected = Machine {
            id: "m0".into(),
            cpu: crate::record::Cpu { arch: std::env::consts::ARCH.into(), ..Default::default() },
            ..Machine::default()
        };
        assert_eq!(environment, Environment { machine: expected, ..Environment::default() });
    }

    #[test]
    fn a_machine_is_described_by_its_files() {
        let folder = Folder::new();
        machine_files(&folder);
        let secret = ("OMPI_TOKEN".to_owned(), "abc".to_owned());
        let kept = ("OMPI_MCA_btl".to_owned(), "self".to_owned());
        let mut found = Environment::capture(folder.path(), [secret, kept.clone()]);
        found.hash_program(folder.path());
        let Machine { cpu, caches, os, settings, .. } = &found.machine;
        assert_eq!((cpu.sockets, cpu.cores, cpu.threads), (Some(1), Some(2), Some(4)));
        assert_eq!((cpu.smt, cpu.turbo, cpu.invariant_tsc), (Some(true), Some(true), Some(true)));
        assert_eq!(cpu.model.as_deref(), Some("Example CPU"));
        assert_eq!(cpu.mhz_max, Some(3500.0));
        assert_eq!(
            (caches.len(), caches[0].bytes, caches[0].line_bytes),
            (1, Some(32768), Some(64))
        );
        assert_eq!((os.id.as_deref(), os.version.as_deref()), (Some("debian"), Some("12")));
        assert_eq!(settings.thp.as_deref(), Some("madvise"));
        assert_eq!((settings.virt, found.machine.mem_bytes), (Some(true), Some(16384)));
        assert_eq!(found.variables, [kept].into());
        assert_eq!(found.parent.as_deref(), Some("mpirun"));
        // printf 'program' | sha256sum
        let hash = "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8";
        assert_eq!(found.binary_sha256.as_deref(), Some(hash));
        let Machine { frequency, memory, kernel, .. } = &found.machine;
        assert_eq!((cpu.online.as_deref(), cpu.smt_control.as_deref()), (Some("0-3"), Some("on")));
        assert_eq!((frequency.mhz_min, frequency.mhz_max), (Some(800.0), Some(3500.0)));
        let disabled = frequency.idle_states.iter().map(|state| (&*state.name, state.is_disabled));
        assert_eq!(disabled.collect::<Vec<_>>(), [("POLL", Some(false)), ("C6", Some(true))]);
        assert_eq!((memory.page_bytes, memory.dev_shm_bytes), (Some(4096), Some(1 << 26)));
        assert_eq!(memory.numa_nodes[0].mem_bytes, Some(16384));
        assert_eq!(kernel.preemption.as_deref(), Some("PREEMPT_DYNAMIC"));
        assert_eq!(kernel.options.as_deref(), Some("nosmt"));
        assert_eq!((kernel.ptrace_scope, kernel.sched_rt_runtime_us), (Some(1), Some(-1)));
        assert_eq!(kernel.vulnerabilities["meltdown"], "Not affected");
        let Machine { clocks, container, interfaces, infiniband, .. } = &found.machine;
        assert_eq!(clocks.namespace_offsets.as_deref(), Some("monotonic 0 0 boottime 0 0"));
        assert_eq!(
            (container.mem_max_bytes, settings.cgroup_cpu_max.as_deref()),
            (None, Some("max"))
        );
        assert_eq!(container.vendor.as_deref(), Some("Example"));
        let names: Vec<_> = interfaces.iter().map(|interface| &*interface.name).collect();
        assert_eq!((names, interfaces[0].mtu_bytes), (vec!["eth0"], Some(1500)));
        assert_eq!((infiniband[0].port, infiniband[0].firmware.as_deref()), (1, Some("20.31")));
    }

    #[test]
    fn a_quota_of_either_version_of_control_groups_is_seen() {
        let found = |files: &[(&str, &str)]| {
            let folder = Folder::new();
            files.iter().for_each(|(path, text)| {
                folder.write(path, text);
            });
            Environment::capture(folder.path(), []).machine.settings.cgroup_cpu_max
        };
        let cpu = |path: &'static str, quota| {
            [
                ("proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n"),
                (path, quota),
                ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
            ]
        };
        let own = "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us";
        assert_eq!(found(&cpu(own, "150000\n")).as_deref(), Some("150000 100000"));
        assert_eq!(found(&cpu(own, "-1\n")).as_deref(), Some("max"));
        assert_eq!(
            found(&cpu("sys/fs/cgroup/cpu.max", "50000 100000\n")).as_deref(),
            Some("50000 100000")
        );
    }

    #[test]
    fn noise_is_counted_for_the_machine_and_the_process() {
        let folder = Folder::new();
        assert_eq!(noise(folder.path()), None);
        machine_files(&folder);
        let expected = Noise {
            loadavg: [0.5, 0.25, 0.1],
            busy_cpus: None,
            voluntary_switches: Some(7),
            involuntary_switches: Some(3),
            minor_faults: Some(11),
            major_faults: Some(2),
            cpu_ticks: Some(1000),
            idle_ticks: Some(800),
            steal_ticks: Some(10),
            cpu_pressure_us: Some(42),
            throttles: Some(5),
            mhz: Some(2100.5),
        };
        assert_eq!(noise(folder.path()), Some(expected));
    }
}
