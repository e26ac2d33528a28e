//! The cpu of each rank.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;

use comet_core::transport::Rank;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::{Bind, LaunchError};

/// Number of usable CPUs: the affinity of the process, or the smaller quota of its group.
pub fn usable_cpus() -> usize {
    let quota = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    match allowed_cpus().len() {
        0 => quota,
        n_allowed => n_allowed.min(quota),
    }
}

/// Number of physical cores of the usable CPUs, or of these CPUs if the system does not tell.
pub fn usable_cores() -> usize {
    n_cores(&allowed_cpus(), siblings).clamp(1, usable_cpus())
}

/// Number of cores of `cpus`, each of which has the `siblings` of its core.
fn n_cores(cpus: &[usize], siblings: impl Fn(usize) -> Vec<usize>) -> usize {
    BTreeSet::from_iter(cpus.iter().map(|cpu| siblings(*cpu))).len()
}

/// The cpu of each rank, or nothing if ranks are not bound.
pub(super) fn cpus_of_ranks(bind: &Bind, n_ranks: usize) -> Result<Vec<usize>, LaunchError> {
    let cpus = match bind {
        Bind::None => return Ok(Vec::new()),
        Bind::Core => cores_first(&allowed_cpus(), siblings_before),
        Bind::List(cpus) => {
            require_usable(cpus, &allowed_cpus())?;
            cpus.clone()
        }
    };
    Ok(cpus.into_iter().cycle().take(n_ranks).collect())
}

/// Refuses to bind ranks to `cpus` where the system lets no process choose its own.
pub(super) fn require_binding(cpus: &[usize]) -> Result<(), LaunchError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let own = Pid::from_raw(0);
    let same = sched_getaffinity(own).and_then(|set| sched_setaffinity(own, &set));
    same.map_err(LaunchError::Bind)
}

/// The other ranks on the core of `rank`; none if ranks are unbound, which empty `cpus` mean.
pub(super) fn mates_of(rank: Rank, cpus: &[usize]) -> Vec<Rank> {
    (0..cpus.len()).filter(|other| *other != rank && cpus[*other] == cpus[rank]).collect()
}

/// Number of cores of ranks bound to `cpus` (or unbound, if there are none).
pub(super) fn cores_for(cpus: &[usize], usable: usize) -> usize {
    let mut distinct = cpus.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.is_empty() { usable } else { distinct.len().min(usable) }
}

/// Cpus that this process may run on, ascending.
fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

fn require_usable(cpus: &[usize], allowed: &[usize]) -> Result<(), LaunchError> {
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => {
            let usable = allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            Err(LaunchError::Cpu { cpu: *cpu, usable })
        }
    }
}

/// `cpus` with the first hardware thread of each core before all second ones.
fn cores_first(cpus: &[usize], siblings_before: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut ordered = cpus.to_vec();
    ordered.sort_by_key(|cpu| (siblings_before(*cpu), *cpu));
    ordered
}

/// Number of hardware threads of its core before `cpu`.
fn siblings_before(cpu: usize) -> usize {
    siblings(cpu).iter().filter(|sibling| **sibling < cpu).count()
}

/// The hardware threads of the core of `cpu`; itself alone if the system does not report them.
fn siblings(cpu: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(path).map_or_else(|_| vec![cpu], |text| parse_list(text.trim()))
}

/// The numbers of a kernel list such as `0-2,8`.
fn parse_list(text: &str) -> Vec<usize> {
    let range = |item: &str| {
        let (from, to) = item.split_once('-').unwrap_or((item, item));
        Some(from.parse().ok()?..=to.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_are_understood() {
        assert_eq!(parse_list("0-2,8"), [0, 1, 2, 8]);
        assert_eq!(parse_list("5"), [5]);
        assert_eq!(parse_list(""), [0usize; 0]);
    }

    #[test]
    fn second_hardware_threads_come_last() {
        let before = |cpu: usize| usize::from(cpu % 2 == 1);
        assert_eq!(cores_first(&[0, 1, 2, 3], before), [0, 2, 1, 3]);
    }

    #[test]
    fn cores_are_counted_once_also_by_their_second_threads() {
        let siblings = |cpu: usize| vec![cpu % 4, cpu % 4 + 4];
        let check = |cpus: &[usize], expected| assert_eq!(n_cores(cpus, siblings), expected);
        check(&[0, 1, 2, 3, 4, 5, 6, 7], 4);
        check(&[4, 5], 2);
        check(&[1, 5], 1);
        assert!((1..=usable_cpus()).contains(&usable_cores()));
    }

    #[test]
    fn ranks_go_round_the_cpus() {
        let cpus = allowed_cpus();
        assert_eq!(cpus_of_ranks(&Bind::None, 3).unwrap(), [0usize; 0]);
        let bound = cpus_of_ranks(&Bind::List(vec![cpus[0]]), 3).unwrap();
        assert_eq!(bound, [cpus[0]; 3]);
        assert_eq!(cpus_of_ranks(&Bind::Core, 1000).unwrap().len(), 1000);
    }

    #[test]
    fn a_cpu_that_may_not_be_used_is_refused() {
        let error = require_usable(&[7], &[0, 1]).unwrap_err().to_string();
        assert_eq!(error, "cannot run on cpu 7: this process may use 0,1");
    }
}
