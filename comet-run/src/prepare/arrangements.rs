//! Ranks on which the cases of a kernel run, and the elements of their messages.

use std::collections::{BTreeSet, HashMap};

use comet_core::collective::Element;
use comet_core::kernel::{
    Arrangement, Axis, Case, ELEMENT, GROUPS, KernelInfo, LENGTH_BYTES, PROCS,
};
use comet_core::topology::Topology;

use super::Override;

/// The ranks on which each case runs: groups of each number of ranks, by each number of groups. The
/// word `max` is as many groups as there are ranks for. Elements come last, as they differ the slowest.
pub(super) fn of(
    info: &KernelInfo,
    overrides: &[Override],
    topology: &Topology,
) -> anyhow::Result<Vec<Arrangement>> {
    let numbers = |axis: &Axis, default| {
        let change = overrides.iter().find(|change| change.axis == axis);
        change.map_or(Ok(vec![default]), |change| change.parse(topology))
    };
    let has_max =
        overrides.iter().any(|change| *change.axis == GROUPS && change.values.contains("max"));
    let n_ranks = topology.n_ranks();
    let (procs, groups) = (numbers(&PROCS, n_ranks as u64)?, numbers(&GROUPS, 1)?);
    let of_procs = |procs: u64| {
        let procs = usize::try_from(procs).unwrap_or(n_ranks);
        let most = if has_max { (n_ranks / procs).max(1) } else { n_ranks };
        let groups = groups.iter().map(|n| usize::try_from(*n).unwrap_or(n_ranks).min(most));
        let groups: BTreeSet<_> = groups.collect();
        let procs = Some(procs).filter(|procs| *procs != n_ranks);
        groups.into_iter().map(move |n_groups| Arrangement { procs, n_groups, element: None })
    };
    let of_ranks: Vec<_> = procs.into_iter().flat_map(of_procs).collect();
    let of_elements = overrides.iter().find(|change| *change.axis == ELEMENT);
    let Some(change) = of_elements.filter(|_| has_elements(info)) else {
        return Ok(of_ranks);
    };
    let elements = change.parse(topology)?.into_iter().filter_map(|index| {
        let index = usize::try_from(index).ok()?;
        Element::ALL.get(index).copied()
    });
    let with = |element| of_ranks.iter().map(move |of| Arrangement { element, ..*of });
    Ok(elements.map(Some).flat_map(with).collect())
}

/// True if `info` leaves the elements of its messages to the transport.
pub(super) fn has_elements(info: &KernelInfo) -> bool {
    info.axes.iter().any(|used| *used.axis == LENGTH_BYTES) && !combines(info)
}

/// True if `info` combines elements, of a type that is its own.
pub(super) fn combines(info: &KernelInfo) -> bool {
    info.axes.iter().any(|used| *used.axis == ELEMENT)
}

/// The `overrides` of those of `kernels` that combine nothing: elements are theirs only where none does.
pub(super) fn overrides_of_messages(
    kernels: &[&KernelInfo],
    overrides: &[Override],
) -> Vec<Override> {
    let is_taken = kernels.iter().any(|info| combines(info));
    let of_messages = overrides.iter().filter(|change| !is_taken || *change.axis != ELEMENT);
    of_messages.cloned().collect()
}

/// The cases of a kernel of two ranks, each on one number of ranks alone: the pair is the same.
pub(super) fn on_one_number(cases: Vec<Case>, is_better: fn(usize, usize) -> bool) -> Vec<Case> {
    let of_pair = |case: &Case| {
        let element = case.arrangement().element;
        case.on(Arrangement { element, ..Arrangement::ALL }).label()
    };
    let n_ranks = |case: &Case| case.arrangement().procs.unwrap_or(usize::MAX);
    let mut best: HashMap<String, usize> = HashMap::new();
    for case in &cases {
        let n = best.entry(of_pair(case)).or_insert(n_ranks(case));
        if is_better(n_ranks(case), *n) {
            *n = n_ranks(case);
        }
    }
    cases.into_iter().filter(|case| best[&of_pair(case)] == n_ranks(case)).collect()
}
