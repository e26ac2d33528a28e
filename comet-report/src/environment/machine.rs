//! Facts of `/proc`, `/sys` and `/etc` about the machine: processor, memory, kernel, container and
//! network, and its load: counters whose difference over a run shows disturbances.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::files::{Files, chosen, parse_bytes, parse_list};
use crate::record::{
    Cache, Clocks, Container, Cpu, Frequency, IdleState, InfinibandPort, Interface, Machine,
    Memory, Noise, NumaNode, Os, OsKernel, Settings,
};

const CPUINFO: &str = "proc/cpuinfo";
const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";
const KERNEL: &str = "proc/sys/kernel";
const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";
const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0";
const HUGE_PAGES: &str = "sys/kernel/mm/transparent_hugepage";
const CGROUPS: &str = "sys/fs/cgroup";
const INTERFACES: &str = "sys/class/net";
const INFINIBAND: &str = "sys/class/infiniband";

/// Options of the kernel's command line that change times. The others name disks and hosts.
const OPTIONS: &str = "\
    amd_iommu amd_pstate clocksource cpuidle.governor default_hugepagesz hugepages hugepagesz \
    idle intel_idle.max_cstate intel_iommu intel_pstate iommu irqaffinity isolcpus maxcpus \
    mitigations nmi_watchdog nohz nohz_full nosmt nowatchdog nr_cpus numa_balancing preempt \
    processor.max_cstate rcu_nocbs skew_tick threadirqs transparent_hugepage tsc";

/// The machine, whose only node is this one.
pub(super) fn machine(files: Files<'_>) -> Machine {
    let memory_bytes = |name| parse_bytes(&files.field("proc/meminfo", name, ':')?);
    let numa_nodes = numa_nodes(files);
    Machine {
        id: "m0".into(),
        nodes: files.text(&format!("{KERNEL}/hostname")).into_iter().collect(),
        cpu: cpu(files),
        caches: caches(files),
        numa: Some(numa_nodes.len()).filter(|numa| *numa > 0),
        mem_bytes: memory_bytes("MemTotal"),
        os: Os {
            id: files.field("etc/os-release", "ID", '='),
            version: files.field("etc/os-release", "VERSION_ID", '='),
            kernel: files.text(&format!("{KERNEL}/osrelease")),
        },
        settings: settings(files),
        frequency: frequency(files),
        memory: Memory {
            available_bytes: memory_bytes("MemAvailable"),
            page_bytes: files
                .field("proc/self/smaps", "KernelPageSize", ':')
                .and_then(|size| parse_bytes(&size)),
            huge_page_bytes: memory_bytes("Hugepagesize"),
            thp_shmem: files.text(&format!("{HUGE_PAGES}/shmem_enabled")).and_then(chosen),
            dev_shm_bytes: files.text("proc/mounts").as_deref().and_then(dev_shm_bytes),
            numa_nodes,
        },
        kernel: kernel(files),
        clocks: clocks(files),
        container: Container {
            cpuset: limit(files, "cpuset.cpus.effective"),
            // Without a limit there stands `max`, which is no number.
            mem_max_bytes: limit(files, "memory.max").and_then(|text| text.parse().ok()),
            vendor: files.text("sys/class/dmi/id/sys_vendor"),
            product: files.text("sys/class/dmi/id/product_name"),
        },
        interfaces: interfaces(files),
        infiniband: infiniband(files),
    }
}

fn cpu(files: Files<'_>) -> Cpu {
    let info = |name| files.field(CPUINFO, name, ':');
    let topology = topology(files);
    let is_smt = files.value::<u8>(&format!("{CPUS}/smt/active")).map(|active| active == 1);
    let max_khz = files.value::<f64>(&format!("{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"));
    let tsc = has_flag(files, "constant_tsc").zip(has_flag(files, "nonstop_tsc"));
    let no_turbo = files.value::<u8>(&format!("{CPUS}/intel_pstate/no_turbo"));
    let boost = || files.value::<u8>(&format!("{CPUS}/cpufreq/boost"));
    Cpu {
        vendor: info("vendor_id").or_else(|| info("CPU implementer")),
        model: info("model name"),
        arch: std::env::consts::ARCH.into(),
        family: info("cpu family"),
        model_id: info("model").or_else(|| info("CPU part")),
        stepping: info("stepping"),
        microcode: info("microcode"),
        sockets: topology.map(|[sockets, ..]| sockets),
        cores: topology.map(|[_, cores, _]| cores),
        threads: topology.map(|[.., threads]| threads),
        smt: is_smt.or_else(|| topology.map(|[_, cores, threads]| threads > cores)),
        mhz_max: max_khz.map(|khz| khz / 1e3),
        governor: files.text(&format!("{CPUS}/cpu0/cpufreq/scaling_governor")),
        turbo: no_turbo.map(|off| off == 0).or_else(|| boost().map(|on| on == 1)),
        invariant_tsc: tsc.map(|(constant, nonstop)| constant && nonstop),
        online: files.text(&format!("{CPUS}/online")),
        smt_control: files.text(&format!("{CPUS}/smt/control")),
    }
}

/// True if the processor has `flag`; `None` if there are no flags.
fn has_flag(files: Files<'_>, flag: &str) -> Option<bool> {
    let flags = files.field(CPUINFO, "flags", ':')?;
    Some(flags.split_whitespace().any(|name| name == flag))
}

/// Numbers of sockets, cores and threads.
fn topology(files: Files<'_>) -> Option<[usize; 3]> {
    let online = parse_list(&files.text(&format!("{CPUS}/online"))?)?;
    let place = |cpu: usize| {
        let number = |name| files.value::<i64>(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
        Some((number("physical_package_id")?, number("core_id")?))
    };
    let cores: BTreeSet<_> = online.iter().map(|cpu| place(*cpu)).collect::<Option<_>>()?;
    let sockets: BTreeSet<_> = cores.iter().map(|(socket, _)| socket).collect();
    Some([sockets.len(), cores.len(), online.len()])
}

/// Size of the last-level cache of CPU 0 by the files below `root`, in bytes; `None` if unknown.
pub fn last_level_cache_bytes(root: &Path) -> Option<u64> {
    let caches = caches(Files(root));
    let holds_data = |cache: &&Cache| cache.kind != "Instruction";
    caches.iter().filter(holds_data).max_by_key(|cache| cache.level)?.bytes
}

/// The caches of CPU 0, nearest first.
fn caches(files: Files<'_>) -> Vec<Cache> {
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

fn settings(files: Files<'_>) -> Settings {
    Settings {
        thp: files.text(&format!("{HUGE_PAGES}/enabled")).and_then(chosen),
        aslr: files.value(&format!("{KERNEL}/randomize_va_space")),
        numa_balancing: files.value(&format!("{KERNEL}/numa_balancing")),
        isolcpus: files.text(&format!("{CPUS}/isolated")),
        nohz_full: files.text(&format!("{CPUS}/nohz_full")),
        clocksource: files.text(&format!("{CLOCKSOURCE}/current_clocksource")),
        cgroup_cpu_max: limit(files, "cpu.max").or_else(|| quota_of_version_1(files)),
        virt: has_flag(files, "hypervisor"),
    }
}

/// Frequency and idle states of CPU 0.
fn frequency(files: Files<'_>) -> Frequency {
    let scaling = |name| files.text(&format!("{CPUS}/cpu0/cpufreq/{name}"));
    let mhz = |name| scaling(name)?.parse::<f64>().ok().map(|khz| khz / 1e3);
    let folder = format!("{CPUS}/cpu0/cpuidle");
    let state = |number: usize| {
        let disabled = files.value::<u8>(&format!("{folder}/state{number}/disable"));
        let name = files.text(&format!("{folder}/state{number}/name"))?;
        Some(IdleState { name, is_disabled: disabled.map(|value| value != 0) })
    };
    Frequency {
        driver: scaling("scaling_driver"),
        mhz_min: mhz("scaling_min_freq"),
        mhz_max: mhz("scaling_max_freq"),
        energy_preference: scaling("energy_performance_preference"),
        pstate: files.text(&format!("{CPUS}/intel_pstate/status")),
        idle_driver: files.text(&format!("{CPUS}/cpuidle/current_driver")),
        idle_states: files.numbered(&folder, "state").into_iter().filter_map(state).collect(),
    }
}

/// The option `size=` of the file system at `/dev/shm`; without it, half of the memory is its size.
fn dev_shm_bytes(mounts: &str) -> Option<u64> {
    let options = mounts.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        (words.next() == Some("/dev/shm")).then(|| words.nth(1))?
    });
    let size = options?.split(',').find_map(|option| option.strip_prefix("size="))?;
    parse_bytes(&size.to_uppercase())
}

fn numa_nodes(files: Files<'_>) -> Vec<NumaNode> {
    let node = |node: usize| {
        let text = |name| files.text(&format!("{NODES}/node{node}/{name}"));
        // A line such as `Node 0 MemTotal:  16 kB`.
        let total = text("meminfo")
            .and_then(|lines| parse_bytes(lines.split_once("MemTotal:")?.1.lines().next()?.trim()));
        NumaNode { node, cpus: text("cpulist"), mem_bytes: total, distances: text("distance") }
    };
    files.numbered(NODES, "node").into_iter().map(node).collect()
}

fn kernel(files: Files<'_>) -> OsKernel {
    let build = files.text(&format!("{KERNEL}/version"));
    let state = |name: String| {
        let state = files.text(&format!("{VULNERABILITIES}/{name}"))?;
        Some((name, state))
    };
    let vulnerabilities: BTreeMap<_, _> =
        files.names(VULNERABILITIES).into_iter().filter_map(state).collect();
    OsKernel {
        preemption: build.as_deref().map(preemption),
        build,
        realtime: files.value("sys/kernel/realtime"),
        options: files.text("proc/cmdline").as_deref().and_then(options),
        sched_autogroup: files.value(&format!("{KERNEL}/sched_autogroup_enabled")),
        sched_rt_runtime_us: files.value(&format!("{KERNEL}/sched_rt_runtime_us")),
        vulnerabilities,
        ptrace_scope: files.value(&format!("{KERNEL}/yama/ptrace_scope")),
        perf_event_paranoid: files.value(&format!("{KERNEL}/perf_event_paranoid")),
    }
}

/// The word of `build` that says how the kernel preempts itself.
fn preemption(build: &str) -> String {
    let word = build.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    word.unwrap_or("none").to_owned()
}

fn options(cmdline: &str) -> Option<String> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let is_listed = |word: &&str| OPTIONS.split(' ').any(|option| option == name(word));
    let options: Vec<_> = cmdline.split_whitespace().filter(is_listed).collect();
    (!options.is_empty()).then(|| options.join(" "))
}

fn clocks(files: Files<'_>) -> Clocks {
    let offsets = files.text("proc/self/timens_offsets");
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Clocks {
        available: files.text(&format!("{CLOCKSOURCE}/available_clocksource")),
        time_namespace: files.target("proc/self/ns/time"),
        namespace_offsets: offsets.map(one_line),
    }
}

/// The limit `name` of the control group of this process; a container sees its own as the root.
fn limit(files: Files<'_>, name: &str) -> Option<String> {
    let groups = files.text("proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let of_group = |group: &str| files.text(&format!("{CGROUPS}{group}/{name}"));
    own.and_then(of_group).or_else(|| of_group(""))
}

/// The limit of processor time of the first version of control groups, in the words of the second.
fn quota_of_version_1(files: Files<'_>) -> Option<String> {
    let groups = files.text("proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| {
        let (names, group) = line.split_once(':')?.1.split_once(':')?;
        names.split(',').any(|name| name == "cpu").then_some(group)
    })?;
    // A container sees its own group as the root.
    let value = |name: &str| {
        let of_group = |group: &str| files.value::<i64>(&format!("{CGROUPS}/cpu{group}/{name}"));
        of_group(own).or_else(|| of_group(""))
    };
    let (quota_us, period_us) = value("cpu.cfs_quota_us").zip(value("cpu.cfs_period_us"))?;
    Some(if quota_us < 0 { "max".into() } else { format!("{quota_us} {period_us}") })
}

/// The interfaces that have a device.
fn interfaces(files: Files<'_>) -> Vec<Interface> {
    let interface = |name: String| {
        let path = |fact| format!("{INTERFACES}/{name}/{fact}");
        let driver = files.target(&path("device/driver"));
        files.exists(&path("device")).then(|| Interface {
            mbit_per_s: files.value(&path("speed")),
            mtu_bytes: files.value(&path("mtu")),
            state: files.text(&path("operstate")),
            driver: driver.and_then(|target| Some(target.rsplit('/').next()?.to_owned())),
            name: name.clone(),
        })
    };
    files.names(INTERFACES).into_iter().filter_map(interface).collect()
}

/// The ports of all InfiniBand adapters.
fn infiniband(files: Files<'_>) -> Vec<InfinibandPort> {
    let ports = |device: String| {
        let folder = format!("{INFINIBAND}/{device}");
        let numbers = files.numbered(&format!("{folder}/ports"), "");
        numbers.into_iter().map(move |port| InfinibandPort {
            device: device.clone(),
            port,
            firmware: files.text(&format!("{folder}/fw_ver")),
            rate: files.text(&format!("{folder}/ports/{port}/rate")),
            link_layer: files.text(&format!("{folder}/ports/{port}/link_layer")),
        })
    };
    files.names(INFINIBAND).into_iter().flat_map(ports).collect()
}

/// Positions, from 1, in `/proc/self/stat` as proc(5) counts them.
const MINFLT: usize = 10;
const MAJFLT: usize = 12;
/// Positions, from 0, in the first line of `/proc/stat` after its name.
const IDLE: usize = 3;
const WAITING: usize = 4;
const STEAL: usize = 7;

/// Counters below `root` for the machine and this process; `None` without a load average.
pub fn noise(root: &Path) -> Option<Noise> {
    let files = Files(root);
    let count = |name| files.field("proc/self/status", name, ':')?.parse().ok();
    let (ticks, stat) = (cpu_ticks(files), process_stat(files));
    Some(Noise {
        loadavg: loadavg(files)?,
        busy_cpus: None,
        voluntary_switches: count("voluntary_ctxt_switches"),
        involuntary_switches: count("nonvoluntary_ctxt_switches"),
        minor_faults: stat_field(stat.as_deref(), MINFLT),
        major_faults: stat_field(stat.as_deref(), MAJFLT),
        // Guests are counted a second time behind the steal.
        cpu_ticks: ticks.get(..=STEAL).map(|ticks| ticks.iter().sum()),
        idle_ticks: ticks.get(IDLE).copied(),
        steal_ticks: ticks.get(STEAL).copied(),
        cpu_pressure_us: cpu_pressure_us(files),
        throttles: throttles(files),
        mhz: files.field("proc/cpuinfo", "cpu MHz", ':').and_then(|mhz| mhz.parse().ok()),
    })
}

/// CPUs in use, in the mean of the next `time`, by `/proc/stat` below `root`, whose clock ticks 100 times
/// a second.
pub fn busy_cpus(root: &Path, time: Duration) -> Option<f64> {
    let files = Files(root);
    let before = cpu_ticks(files);
    std::thread::sleep(time);
    let after = cpu_ticks(files);
    let ticks: Vec<u64> = after.iter().zip(&before).map(|(a, b)| a.saturating_sub(*b)).collect();
    let all: u64 = ticks.get(..=STEAL)?.iter().sum();
    // What a hypervisor gives to others has a warning of its own.
    let idle = ticks[IDLE] + ticks[WAITING] + ticks[STEAL];
    let n_cpus = files.text("proc/stat")?.lines().filter(|line| line.starts_with("cpu")).count();
    let n_cpus = n_cpus.saturating_sub(1) as f64;
    (all > 0).then(|| n_cpus * (1.0 - idle as f64 / all as f64))
}

/// The numbers of `/proc/self/stat`, of which the name in brackets may hold anything.
pub(crate) fn process_stat(files: Files<'_>) -> Option<String> {
    let text = files.text("proc/self/stat")?;
    Some(text.rsplit_once(')')?.1.to_owned())
}

/// Field `position` of proc(5), of which the first two come before `stat`.
pub(crate) fn stat_field(stat: Option<&str>, position: usize) -> Option<u64> {
    stat?.split_whitespace().nth(position - 3)?.parse().ok()
}

fn loadavg(files: Files<'_>) -> Option<[f64; 3]> {
    let text = files.text("proc/loadavg")?;
    let numbers: Vec<f64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    numbers.first_chunk().copied()
}

fn cpu_ticks(files: Files<'_>) -> Vec<u64> {
    let text = files.text("proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    line.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

/// The number behind `total=` in the line `some …`.
fn cpu_pressure_us(files: Files<'_>) -> Option<u64> {
    let text = files.text("proc/pressure/cpu")?;
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_once("total=")?.1.parse().ok()
}

fn throttles(files: Files<'_>) -> Option<u64> {
    let count = |cpu: usize| {
        files.value::<u64>(&format!("{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count"))
    };
    files.numbered(CPUS, "cpu").into_iter().map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_keeps_what_changes_times() {
        let check = |cmdline, expected: Option<&str>| {
            assert_eq!(options(cmdline).as_deref(), expected, "{cmdline}");
        };
        check("root=UUID=1234 quiet isolcpus=2-3 nosmt", Some("isolcpus=2-3 nosmt"));
        check("root=UUID=1234 ip=10.0.0.1", None);
        check("", None);
        assert_eq!(preemption("#1 SMP PREEMPT_DYNAMIC Debian 6.1"), "PREEMPT_DYNAMIC");
        assert_eq!(preemption("#1 SMP Debian 6.1"), "none");
    }

    #[test]
    fn the_size_of_dev_shm_is_that_of_its_mount() {
        let check = |mounts, expected| assert_eq!(dev_shm_bytes(mounts), expected, "{mounts}");
        check("shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n", Some(1 << 26));
        check("proc /proc proc rw 0 0\nshm /dev/shm tmpfs size=1g,rw 0 0\n", Some(1 << 30));
        check("tmpfs /dev/shm tmpfs rw,nosuid 0 0\n", None);
        check("tmpfs /tmp tmpfs size=1g 0 0\n", None);
    }
}
