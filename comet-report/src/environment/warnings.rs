//! Conditions of the machine or the placement that make times worse or less repeatable than they
//! could be.

use std::collections::{BTreeMap, BTreeSet};

use comet_core::event::{CoresMoved, WindowGivenUp};

use super::Environment;
use crate::points;
use crate::record::{Event, Level, Machine, Noise, Point, Quality, RankEntry};
use crate::words::count;

/// Clock sources that a program reads without entering the kernel.
const FAST_CLOCKS: &[&str] = &["tsc", "arch_sys_counter"];
/// CPUs in use, of each hardware thread, on a machine that counts as idle.
const IDLE_SHARE: f64 = 0.1;
/// Share of a time from which on a skew of the starts is told of.
const MAX_SKEW_SHARE: f64 = 0.05;
/// Share of the processor time that a hypervisor may give to others.
const MAX_STOLEN_SHARE: f64 = 0.005;

/// One reason to read the numbers with care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The reason in one word, as in the record (`governor`, `oversubscribed`).
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// Remedy; empty if there is none.
    pub hint: &'static str,
}

impl Warning {
    /// The record of it in the run `run_id`, at `t_rel_s` seconds from its start.
    pub(crate) fn event(&self, run_id: Option<String>, t_rel_s: Option<f64>) -> Event {
        Event {
            run_id,
            t_rel_s,
            level: Level::Warning,
            code: self.code.into(),
            rank: None,
            message: self.message.clone(),
            hint: Some(self.hint.into()).filter(|_| !self.hint.is_empty()),
        }
    }
}

/// Everything about `environment` and `placements` that spoils measurements.
///
/// The environment is that of one node; the placements are those of all ranks.
pub fn warnings(environment: &Environment, placements: &[RankEntry]) -> Vec<Warning> {
    let found = [
        oversubscribed(placements),
        unbound(placements),
        smt_shared(placements),
        governor(environment),
        turbo(environment),
        clocksource(environment),
        busy(environment.busy_cpus, &environment.machine),
    ];
    found.into_iter().flatten().collect()
}

/// Warns if a hypervisor gave too much processor time to others between `before` and `after`.
pub(crate) fn stolen(before: &Noise, after: &Noise) -> Option<Warning> {
    let between = |ticks: fn(&Noise) -> Option<u64>| {
        let ticks = ticks(after)?.checked_sub(ticks(before)?)?;
        Some(ticks as f64)
    };
    let stolen = between(|noise| noise.steal_ticks)?;
    let share = stolen / between(|noise| noise.cpu_ticks).filter(|ticks| *ticks > 0.0)?;
    (share > MAX_STOLEN_SHARE).then(|| Warning {
        code: "steal",
        message: format!("the hypervisor gave {:.1} % of the CPUs' time to others", share * 100.0),
        hint: "measure on a machine of your own",
    })
}

/// Slices of a run, and what the system did to ranks during them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disturbances {
    n_slices: u64,
    /// Slices in which ranks were preempted.
    n_disturbed: u64,
    n_page_faults: u64,
    n_major_faults: u64,
}

impl Disturbances {
    /// Those of a point with this quality, in `n_slices` slices.
    pub(crate) fn of(quality: &Quality, n_slices: u32) -> Self {
        Self {
            n_slices: n_slices.into(),
            n_disturbed: quality.disturbed_slices.unwrap_or(0).into(),
            n_page_faults: quality.page_faults.unwrap_or(0),
            n_major_faults: quality.major_faults.unwrap_or(0),
        }
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            n_slices: self.n_slices + other.n_slices,
            n_disturbed: self.n_disturbed + other.n_disturbed,
            n_page_faults: self.n_page_faults + other.n_page_faults,
            n_major_faults: self.n_major_faults + other.n_major_faults,
        }
    }

    /// True if ranks were preempted in more than a tenth of the slices.
    pub(crate) fn has_preemption(&self) -> bool {
        10 * self.n_disturbed > self.n_slices
    }
}

/// Warnings about preempted ranks and page faults.
pub(crate) fn disturbed(of: &Disturbances) -> Vec<Warning> {
    let Disturbances { n_slices, n_disturbed, n_page_faults, n_major_faults } = *of;
    let preempted = of.has_preemption().then(|| Warning {
        code: "preempted",
        message: format!("ranks were preempted in {n_disturbed} of {}", count(n_slices, "slice")),
        hint: "start fewer ranks, on a machine that does nothing else",
    });
    let n_minor_faults = n_page_faults.saturating_sub(n_major_faults);
    let minor = (n_minor_faults > 0).then(|| Warning {
        code: "page_faults",
        message: format!(
            "{} during measurement: memory was touched for the first time",
            count(n_minor_faults, "minor page fault")
        ),
        hint: "compare with a longer --warm-up",
    });
    let major = (n_major_faults > 0).then(|| Warning {
        code: "major_faults",
        message: format!(
            "{} during measurement: memory was read from a disk",
            count(n_major_faults, "major page fault")
        ),
        hint: "leave more memory free",
    });
    [preempted, minor, major].into_iter().flatten().collect()
}

/// Points whose times, from the first start of a rank to the last finish, hold a skew of the starts
/// above 5 %.
#[derive(Clone, Debug, Default)]
pub(crate) struct Apart {
    n_points: usize,
    /// The largest share of a skew in its time, and where that is.
    worst: Option<(f64, String)>,
}

impl Apart {
    /// Counts `point`.
    pub(crate) fn add(&mut self, point: &Point) {
        let Some(measured) = point.measured() else { return };
        let Some(skew_ns) = points::skew_ns(measured) else { return };
        let time_ns = measured.numbers.time_ns.median;
        if skew_ns <= MAX_SKEW_SHARE * time_ns {
            return;
        }
        let share = skew_ns / time_ns;
        self.n_points += 1;
        if self.worst.as_ref().is_none_or(|(worst, _)| share > *worst) {
            let (id, params, percent) = (point.id(), &point.params, 100.0 * share);
            let place =
                format!("by {skew_ns:.0} ns of {time_ns:.0} ns ({percent:.0} %) in {id} {params}");
            self.worst = Some((share, place));
        }
    }

    /// One sentence about all of them, if there are any.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let (_, place) = self.worst.as_ref()?;
        let points = count(self.n_points, "point");
        Some(Warning {
            code: "start_skew",
            message: format!(
                "ranks start apart by more than 5 % of the time in {points}, the most {place}"
            ),
            hint: "the time of ranks that start together lies between the value and the value less the \
                   skew; give each rank a core of its own, and start in windows",
        })
    }
}

/// That windows of a kernel were given up.
pub(crate) fn given_up(of: &WindowGivenUp) -> Warning {
    Warning {
        code: "window_given_up",
        message: format!(
            "windows were given up at {}: most of its starts lay too far apart, so that all cases of \
             the kernel that are still to be written start after a barrier",
            of.case
        ),
        hint: "give each rank a core of its own, or ask for --sync barrier",
    }
}

/// That cores moved while the cases of a kernel were measured.
pub(crate) fn moved(moved: &CoresMoved) -> Warning {
    Warning {
        code: "cores_moved",
        message: moved.line_times.describe(&moved.info.id()),
        hint: "measure again, on a machine whose virtual CPUs keep their cores",
    }
}

/// True if each rank can have a CPU of its own; `None` if CPUs are not known.
pub fn have_cpu_each(placements: &[RankEntry]) -> Option<bool> {
    let nodes = ranks_and_cpus(placements)?;
    (!nodes.is_empty()).then(|| nodes.iter().all(|(n_ranks, n_cpus)| n_ranks <= n_cpus))
}

/// Numbers of ranks and of CPUs of each node.
fn ranks_and_cpus(placements: &[RankEntry]) -> Option<Vec<(usize, usize)>> {
    let mut nodes: BTreeMap<_, (usize, BTreeSet<usize>)> = BTreeMap::new();
    for placement in placements {
        let (n_ranks, cpus) = nodes.entry(&placement.node).or_default();
        *n_ranks += 1;
        cpus.extend(placement.allowed_cpus()?);
    }
    Some(nodes.into_values().map(|(n_ranks, cpus)| (n_ranks, cpus.len())).collect())
}

/// Numbers of ranks and of CPUs of the first node whose ranks share CPUs, if there is one.
pub(crate) fn sharing(placements: &[RankEntry]) -> Option<(usize, usize)> {
    ranks_and_cpus(placements)?.into_iter().find(|(n_ranks, n_cpus)| n_ranks > n_cpus)
}

fn oversubscribed(placements: &[RankEntry]) -> Option<Warning> {
    let (n_ranks, n_cpus) = sharing(placements)?;
    let cpus = count(n_cpus, "CPU");
    Some(Warning {
        code: "oversubscribed",
        message: format!("{n_ranks} ranks share {cpus}: times include scheduling"),
        hint: "start at most one rank for each CPU",
    })
}

fn unbound(placements: &[RankEntry]) -> Option<Warning> {
    let floats =
        |placement: &&RankEntry| placement.allowed_cpus().is_some_and(|cpus| cpus.len() > 1);
    let n_floating = placements.iter().filter(floats).count();
    (n_floating > 0).then(|| Warning {
        code: "unbound",
        message: format!("{n_floating} of {} ranks may move between CPUs", placements.len()),
        hint: "bind each rank to a core, with taskset or with options of the launcher",
    })
}

fn smt_shared(placements: &[RankEntry]) -> Option<Warning> {
    let mut cores: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for placement in placements.iter().filter(|placement| placement.core.is_some()) {
        cores.entry((&placement.node, &placement.core)).or_default().insert(&placement.cpus);
    }
    let n_shared = cores.values().filter(|threads| threads.len() > 1).count();
    (n_shared > 0).then(|| Warning {
        code: "smt_shared",
        message: format!("{n_shared} cores run several ranks on sibling hardware threads"),
        hint: "bind the ranks to different cores",
    })
}

fn governor(environment: &Environment) -> Option<Warning> {
    let governor = environment.machine.cpu.governor.as_deref()?;
    (governor != "performance").then(|| Warning {
        code: "governor",
        message: format!("the frequency governor is {governor}, not performance"),
        hint: "set it with cpupower frequency-set -g performance",
    })
}

fn turbo(environment: &Environment) -> Option<Warning> {
    environment.machine.cpu.turbo?.then(|| Warning {
        code: "turbo",
        message: "turbo is on: the frequency depends on load and temperature".into(),
        hint: "switch it off where results have to be repeatable",
    })
}

fn clocksource(environment: &Environment) -> Option<Warning> {
    let source = environment.machine.settings.clocksource.as_deref()?;
    (!FAST_CLOCKS.contains(&source)).then(|| Warning {
        code: "clocksource",
        message: format!("the kernel's clock source is {source}, which is slow to read"),
        hint: "use tsc where the machine has a stable one",
    })
}

/// Warns if other programs used `n_busy` CPUs of `machine` before the ranks started, and that is much.
pub(crate) fn busy(n_busy: Option<f64>, machine: &Machine) -> Option<Warning> {
    let n_busy = n_busy?;
    let threads = machine.cpu.threads?;
    (n_busy > IDLE_SHARE * threads as f64).then(|| Warning {
        code: "load",
        message: format!("other programs used {n_busy:.1} of {threads} CPUs before the start"),
        hint: "measure on an idle machine",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Cpu, Settings};

    fn placement(rank: usize, cpus: &str, core: Option<&str>) -> RankEntry {
        RankEntry {
            rank,
            node: Some("host".into()),
            pid: 1,
            cpus: Some(cpus.into()),
            core: core.map(Into::into),
            ..RankEntry::default()
        }
    }

    fn check(environment: &Environment, placements: &[RankEntry], expected: &[&str]) {
        let codes: Vec<_> =
            warnings(environment, placements).iter().map(|warning| warning.code).collect();
        assert_eq!(codes, expected);
    }

    #[test]
    fn nothing_known_is_nothing_to_warn_of() {
        check(&Environment::default(), &[RankEntry::default()], &[]);
    }

    #[test]
    fn placement_warnings_count_ranks_and_cores() {
        let bound = [placement(0, "0", Some("0,4")), placement(1, "1", Some("1,5"))];
        check(&Environment::default(), &bound, &[]);
        let siblings = [placement(0, "0", Some("0,4")), placement(1, "4", Some("0,4"))];
        check(&Environment::default(), &siblings, &["smt_shared"]);
        let floating = [placement(0, "0-1", None), placement(1, "0-1", None)];
        check(&Environment::default(), &floating, &["unbound"]);
        let crowded = [placement(0, "0", Some("0")), placement(1, "0", Some("0"))];
        check(&Environment::default(), &crowded, &["oversubscribed"]);
    }

    #[test]
    fn settings_that_change_times_are_named() {
        let cpu = Cpu {
            governor: Some("powersave".into()),
            turbo: Some(true),
            threads: Some(2),
            ..Cpu::default()
        };
        let settings = Settings { clocksource: Some("hpet".into()), ..Settings::default() };
        let environment = Environment {
            machine: Machine { cpu, settings, ..Machine::default() },
            busy_cpus: Some(0.3),
            ..Environment::default()
        };
        check(&environment, &[], &["governor", "turbo", "clocksource", "load"]);
    }

    #[test]
    fn time_that_went_to_others_is_a_share_of_the_run() {
        let noise = |cpu_ticks, steal_ticks| Noise { cpu_ticks, steal_ticks, ..Noise::default() };
        let check = |after: Noise, expected: Option<&str>| {
            let warning = stolen(&noise(Some(1000), Some(100)), &after);
            assert_eq!(warning.map(|warning| warning.message).as_deref(), expected);
        };
        let message = "the hypervisor gave 0.6 % of the CPUs' time to others";
        check(noise(Some(2000), Some(106)), Some(message));
        check(noise(Some(2000), Some(105)), None);
        check(noise(Some(1000), Some(100)), None);
        check(noise(None, Some(200)), None);
    }
}
