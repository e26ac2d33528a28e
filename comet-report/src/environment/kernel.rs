//! Build and boot options of the kernel, and its restrictions on programs.

use std::collections::BTreeMap;

use super::files::Files;
use crate::record::{Clocks, OsKernel};

const KERNEL: &str = "proc/sys/kernel";
const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";

/// Options of the kernel's command line that change times. The others name disks and hosts.
const OPTIONS: &str = "\
    amd_iommu amd_pstate clocksource cpuidle.governor default_hugepagesz hugepages hugepagesz \
    idle intel_idle.max_cstate intel_iommu intel_pstate iommu irqaffinity isolcpus maxcpus \
    mitigations nmi_watchdog nohz nohz_full nosmt nowatchdog nr_cpus numa_balancing preempt \
    processor.max_cstate rcu_nocbs skew_tick threadirqs transparent_hugepage tsc";

/// The kernel.
pub(super) fn kernel(files: Files<'_>) -> OsKernel {
    let build = files.text(&format!("{KERNEL}/version"));
    OsKernel {
        preemption: build.as_deref().map(preemption),
        build,
        realtime: files.value("sys/kernel/realtime"),
        options: files.text("proc/cmdline").as_deref().and_then(options),
        sched_autogroup: files.value(&format!("{KERNEL}/sched_autogroup_enabled")),
        sched_rt_runtime_us: files.value(&format!("{KERNEL}/sched_rt_runtime_us")),
        vulnerabilities: vulnerabilities(files),
        ptrace_scope: files.value(&format!("{KERNEL}/yama/ptrace_scope")),
        perf_event_paranoid: files.value(&format!("{KERNEL}/perf_event_paranoid")),
    }
}

/// The kernel's clocks.
pub(super) fn clocks(files: Files<'_>) -> Clocks {
    const AVAILABLE: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let offsets = files.text("proc/self/timens_offsets");
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Clocks {
        available: files.text(AVAILABLE),
        time_namespace: files.target("proc/self/ns/time"),
        namespace_offsets: offsets.map(one_line),
    }
}

/// The word of `build` that says how the kernel preempts itself.
fn preemption(build: &str) -> String {
    let word = build.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    word.unwrap_or("none").to_owned()
}

fn options(cmdline: &str) -> Option<String> {
    let is_listed = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        OPTIONS.split(' ').any(|option| option == name)
    };
    let options: Vec<_> = cmdline.split_whitespace().filter(is_listed).collect();
    (!options.is_empty()).then(|| options.join(" "))
}

fn vulnerabilities(files: Files<'_>) -> BTreeMap<String, String> {
    let state = |name: String| {
        let state = files.text(&format!("{VULNERABILITIES}/{name}"))?;
        Some((name, state))
    };
    files.names(VULNERABILITIES).into_iter().filter_map(state).collect()
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
    }

    #[test]
    fn preemption_is_a_word_of_the_build() {
        let check = |build, expected| assert_eq!(preemption(build), expected);
        check("#1 SMP PREEMPT_DYNAMIC Debian 6.1", "PREEMPT_DYNAMIC");
        check("#1 SMP Debian 6.1", "none");
    }
}
