//! The machine as its own files describe it, read before the first measurement.
//!
//! Everything comes from `/proc`, `/sys` and `/etc` below a root that tests can choose.
//! An absent file is a missing value, never an error: virtual machines and containers lack many.

mod cpu;
pub(crate) mod files;
mod variables;
mod warnings;

pub use warnings::{Warning, warnings};

use std::collections::BTreeMap;
use std::path::Path;

use crate::record::{Machine, Noise, Os, Settings};
use files::Files;

/// What one node tells about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// The machine; `nodes` is its own name, if it has one.
    pub machine: Machine,
    /// How busy it is.
    pub noise: Option<Noise>,
    /// Environment variables that tune communication.
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// Reads the files below `root` (`/` on a real machine), and keeps those of `variables` that
    /// may be recorded (`std::env::vars()` of a real process).
    ///
    /// Kept are names that tune message passing (`OMPI_`, `UCX_`, `SLURM_` …), except those with
    /// `KEY`, `TOKEN`, `SECRET` or `PASS` in them.
    #[must_use]
    pub fn capture(root: &Path, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let files = Files(root);
        Self {
            machine: machine(files),
            noise: loadavg(files).map(|loadavg| Noise { loadavg }),
            variables: variables::allowed(variables),
        }
    }
}

fn machine(files: Files<'_>) -> Machine {
    let numa = files.numbered("sys/devices/system/node", "node").len();
    let memory = files.field("proc/meminfo", "MemTotal", ':');
    Machine {
        id: "m0".into(),
        nodes: files.text("proc/sys/kernel/hostname").into_iter().collect(),
        cpu: cpu::cpu(files),
        caches: cpu::caches(files),
        numa: Some(numa).filter(|numa| *numa > 0),
        mem_bytes: memory.and_then(|size| files::parse_bytes(&size)),
        os: Os {
            id: files.field("etc/os-release", "ID", '='),
            version: files.field("etc/os-release", "VERSION_ID", '='),
            kernel: files.text("proc/sys/kernel/osrelease"),
        },
        settings: settings(files),
    }
}

fn settings(files: Files<'_>) -> Settings {
    const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let thp = files.text("sys/kernel/mm/transparent_hugepage/enabled");
    Settings {
        thp: thp.as_deref().and_then(chosen),
        aslr: files.value("proc/sys/kernel/randomize_va_space"),
        numa_balancing: files.value("proc/sys/kernel/numa_balancing"),
        isolcpus: files.text("sys/devices/system/cpu/isolated"),
        nohz_full: files.text("sys/devices/system/cpu/nohz_full"),
        clocksource: files.text(CLOCKSOURCE),
        cgroup_cpu_max: files.text("sys/fs/cgroup/cpu.max"),
        virt: cpu::has_flag(files, "hypervisor"),
    }
}

/// The word in brackets of a list such as `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn loadavg(files: Files<'_>) -> Option<[f64; 3]> {
    let text = files.text("proc/loadavg")?;
    let numbers: Vec<f64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    numbers.first_chunk().copied()
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
        let found = Environment::capture(folder.path(), [secret, kept.clone()]);
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
        assert_eq!(settings.cgroup_cpu_max.as_deref(), Some("200000 100000"));
        assert_eq!((settings.virt, found.machine.mem_bytes), (Some(true), Some(16384)));
        assert_eq!(found.noise, Some(Noise { loadavg: [0.5, 0.25, 0.1] }));
        assert_eq!(found.variables, [kept].into());
    }
}
