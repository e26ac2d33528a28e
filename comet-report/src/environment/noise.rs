//! Load of the machine and of this process: counters whose difference over a run shows
//! disturbances.

use std::path::Path;

use super::files::Files;
use crate::record::Noise;

/// Positions, from 1, in `/proc/self/stat` as proc(5) counts them.
const MINFLT: usize = 10;
const MAJFLT: usize = 12;
/// Positions, from 0, in the first line of `/proc/stat` after its name.
const IDLE: usize = 3;
const STEAL: usize = 7;

/// Counters below `root` for the machine and this process; `None` without a load average.
pub fn noise(root: &Path) -> Option<Noise> {
    let files = Files(root);
    let count = |name| files.field("proc/self/status", name, ':')?.parse().ok();
    let (ticks, stat) = (cpu_ticks(files), process_stat(files));
    Some(Noise {
        loadavg: loadavg(files)?,
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
    const CPUS: &str = "sys/devices/system/cpu";
    let count = |cpu: usize| {
        files.value::<u64>(&format!("{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count"))
    };
    files.numbered(CPUS, "cpu").into_iter().map(count).sum()
}
