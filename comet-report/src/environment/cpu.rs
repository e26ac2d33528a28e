//! Facts of `/proc` and `/sys` about the processor and its caches.

use std::collections::BTreeSet;

use super::files::{Files, parse_bytes, parse_list};
use crate::record::{Cache, Cpu};

const CPUINFO: &str = "proc/cpuinfo";
const CPUS: &str = "sys/devices/system/cpu";

/// The processor.
pub(super) fn cpu(files: Files<'_>) -> Cpu {
    let info = |name| files.field(CPUINFO, name, ':');
    let topology = topology(files);
    Cpu {
        vendor: info("vendor_id").or_else(|| info("CPU implementer")),
        model: info("model name"),
        arch: std::env::consts::ARCH.into(),
        family: info("cpu family"),
        model_id: info("model").or_else(|| info("CPU part")),
        stepping: info("stepping"),
        microcode: info("microcode"),
        sockets: topology.as_ref().map(|t| t.sockets),
        cores: topology.as_ref().map(|t| t.cores),
        threads: topology.as_ref().map(|t| t.threads),
        smt: smt(files).or_else(|| topology.map(|t| t.threads > t.cores)),
        mhz_max: files
            .value::<f64>(&format!("{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"))
            .map(|khz| khz / 1e3),
        governor: files.text(&format!("{CPUS}/cpu0/cpufreq/scaling_governor")),
        turbo: turbo(files),
        invariant_tsc: has_flag(files, "constant_tsc")
            .zip(has_flag(files, "nonstop_tsc"))
            .map(|(constant, nonstop)| constant && nonstop),
        online: files.text(&format!("{CPUS}/online")),
        smt_control: files.text(&format!("{CPUS}/smt/control")),
    }
}

/// The caches of CPU 0, nearest first.
pub(super) fn caches(files: Files<'_>) -> Vec<Cache> {
    let folder = format!("{CPUS}/cpu0/cache");
    let cache = |index: usize| {
        let path = |name| format!("{folder}/index{index}/{name}");
        Some(Cache {
            level: files.value(&path("level"))?,
            kind: files.text(&path("type"))?,
            bytes: files.text(&path("size")).and_then(|size| parse_bytes(&size)),
            line_bytes: files.value(&path("coherency_line_size")),
            shared_cpus: files.text(&path("shared_cpu_list")),
        })
    };
    files.numbered(&folder, "index").into_iter().filter_map(cache).collect()
}

/// True if the processor has `flag`; `None` if there are no flags.
pub(super) fn has_flag(files: Files<'_>, flag: &str) -> Option<bool> {
    let flags = files.field(CPUINFO, "flags", ':')?;
    Some(flags.split_whitespace().any(|name| name == flag))
}

/// Numbers of sockets, cores and threads.
struct Topology {
    sockets: usize,
    cores: usize,
    threads: usize,
}

fn topology(files: Files<'_>) -> Option<Topology> {
    let online = parse_list(&files.text(&format!("{CPUS}/online"))?)?;
    let place = |cpu: usize| {
        let number = |name| files.value::<i64>(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
        Some((number("physical_package_id")?, number("core_id")?))
    };
    let cores: BTreeSet<_> = online.iter().map(|cpu| place(*cpu)).collect::<Option<_>>()?;
    let sockets: BTreeSet<_> = cores.iter().map(|(socket, _)| socket).collect();
    Some(Topology { sockets: sockets.len(), cores: cores.len(), threads: online.len() })
}

fn smt(files: Files<'_>) -> Option<bool> {
    files.value::<u8>(&format!("{CPUS}/smt/active")).map(|active| active == 1)
}

fn turbo(files: Files<'_>) -> Option<bool> {
    let no_turbo = files.value::<u8>(&format!("{CPUS}/intel_pstate/no_turbo"));
    let boost = files.value::<u8>(&format!("{CPUS}/cpufreq/boost"));
    no_turbo.map(|off| off == 0).or_else(|| boost.map(|on| on == 1))
}
