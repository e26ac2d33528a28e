//! Frequency control of the processor, and its idle states.

use super::files::Files;
use crate::record::{Frequency, IdleState};

const CPUS: &str = "sys/devices/system/cpu";

/// Frequency and idle states of CPU 0.
pub(super) fn frequency(files: Files<'_>) -> Frequency {
    let scaling = |name| files.text(&format!("{CPUS}/cpu0/cpufreq/{name}"));
    let mhz = |name| scaling(name)?.parse::<f64>().ok().map(|khz| khz / 1e3);
    Frequency {
        driver: scaling("scaling_driver"),
        mhz_min: mhz("scaling_min_freq"),
        mhz_max: mhz("scaling_max_freq"),
        energy_preference: scaling("energy_performance_preference"),
        pstate: files.text(&format!("{CPUS}/intel_pstate/status")),
        idle_driver: files.text(&format!("{CPUS}/cpuidle/current_driver")),
        idle_states: idle_states(files),
    }
}

fn idle_states(files: Files<'_>) -> Vec<IdleState> {
    let folder = format!("{CPUS}/cpu0/cpuidle");
    let state = |number: usize| {
        let disabled = files.value::<u8>(&format!("{folder}/state{number}/disable"));
        let name = files.text(&format!("{folder}/state{number}/name"))?;
        Some(IdleState { name, is_disabled: disabled.map(|value| value != 0) })
    };
    files.numbered(&folder, "state").into_iter().filter_map(state).collect()
}
