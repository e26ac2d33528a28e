//! Ranks on which the cases of a kernel run, and the datatype of their messages.

use std::collections::{BTreeSet, HashMap};

use comet_core::collective::Element;
use comet_core::kernel::{
    Arrangement, Axis, Case, DATATYPE, ELEMENT, GROUPS, KernelInfo, LENGTH_BYTES, PROCS,
};
use comet_core::topology::Topology;

use super::Override;

/// The ranks on which each case runs: groups of each number of ranks, by each number of groups. The
/// word `max` is as many groups as there are ranks for. A kernel with a number of ranks of its own has
/// no other, and one between two halves even numbers. Datatypes come last, as they differ the slowest.
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
    let (mut procs, groups) = (numbers(&PROCS, n_ranks as u64)?, numbers(&GROUPS, 1)?);
    if let Some(own) = info.n_ranks {
        procs = vec![own.min(n_ranks) as u64];
    }
    if info.is_of_halves {
        procs.iter_mut().filter(|procs| **procs > 1).for_each(|procs| *procs -= *procs % 2);
        procs.dedup();
    }
    let of_procs = |procs: u64| {
        let procs = usize::try_from(procs).unwrap_or(n_ranks);
        let most = if has_max { (n_ranks / procs).max(1) } else { n_ranks };
        let groups = groups.iter().map(|n| usize::try_from(*n).unwrap_or(n_ranks).min(most));
        let groups: BTreeSet<_> = groups.collect();
        let procs = Some(procs).filter(|procs| *procs != n_ranks);
        groups.into_iter().map(move |n_groups| Arrangement { procs, n_groups, ..Arrangement::ALL })
    };
    let of_ranks: Vec<_> = procs.into_iter().flat_map(of_procs).collect();
    let of_types = overrides.iter().find(|change| *change.axis == DATATYPE);
    let Some(change) = of_types.filter(|_| has_datatype(info)) else {
        return Ok(of_ranks);
    };
    let datatypes = change.parse(topology)?.into_iter().filter_map(|index| {
        let index = usize::try_from(index).ok()?;
        Element::ALL.get(index).copied()
    });
    let with = |datatype| of_ranks.iter().map(move |of| Arrangement { datatype, ..*of });
    Ok(datatypes.map(Some).flat_map(with).collect())
}

/// True if the messages of `info` have lengths, in a type that the transport may choose: those of a
/// reduction are its elements.
pub(super) fn has_datatype(info: &KernelInfo) -> bool {
    let varies = |axis: &Axis| info.axes.iter().any(|used| used.axis == axis);
    varies(&LENGTH_BYTES) && !varies(&ELEMENT)
}

/// The cases of a kernel of two ranks, each on one number of ranks alone: the pair is the same.
pub(super) fn on_one_number(cases: Vec<Case>, is_better: fn(usize, usize) -> bool) -> Vec<Case> {
    let of_pair = |case: &Case| {
        let Arrangement { datatype, layout, .. } = case.arrangement();
        case.on(Arrangement { datatype, layout, ..Arrangement::ALL }).label()
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
