//! Odd and large numbers of ranks: every kernel proves there too that its data arrives.

use comet_core::kernel::{AxisKind, AxisUse, Case, KernelInfo, LENGTH_BYTES, World, harness};
use comet_sim::machine::Machine;

use super::bench::{Bench, infos, settings};
use super::machines;

/// A small value of an axis, or some.
fn small(used: &AxisUse) -> Vec<u64> {
    match used.axis.kind {
        AxisKind::Choice => (0..used.axis.labels.len() as u64).collect(),
        // The load of contention follows from echoes of two lengths.
        AxisKind::Size if used.axis == &LENGTH_BYTES => vec![8, 300],
        AxisKind::Size | AxisKind::Side => vec![7],
        _ => vec![1],
    }
}

/// A message between any two ranks is a million of them between a thousand.
fn is_small(case: &Case, world: &World<'_>) -> bool {
    let bytes_per_op = case.info.series.iter().filter_map(|s| (s.bytes_per_op)(case, world)).max();
    let length_bytes = case.find(&LENGTH_BYTES).unwrap_or(u64::MAX);
    bytes_per_op.unwrap_or(0) / length_bytes.max(1) <= 100 * world.n_ranks as u64
}

/// Checks that all kernels but `without` have a case, and are verified twice; contention has none
/// where no routes share a link.
fn check(machine: &Machine, n_ranks: usize, without: &[&str]) {
    let bench = Bench::new(machine, n_ranks);
    let world = World::of(&bench.topology);
    let of_kernel = |info: &&'static KernelInfo| -> Vec<Case> {
        let mut cases = harness::cases(info, &bench.topology, small);
        cases.retain(|case| is_small(case, &world));
        cases
    };
    let (some, none): (Vec<_>, Vec<_>) =
        infos().into_iter().partition(|info| !of_kernel(info).is_empty());
    let mut none: Vec<String> = none.into_iter().map(KernelInfo::id).collect();
    none.retain(|id| id != "comet/contention" || world.cast().is_ok());
    assert_eq!(none, without, "{n_ranks} ranks");
    let cases: Vec<Case> = some.iter().flat_map(of_kernel).collect();
    assert_eq!(bench.measure(&cases, &settings(1, 1)).len(), cases.len(), "{n_ranks} ranks");
}

#[test]
fn all_kernels_verify_their_data_at_odd_rank_counts() {
    for machine in [machines::flat(), machines::rendezvous(), machines::ipsc860()] {
        // A prime number of ranks is one row of a mesh.
        check(&machine, 5, &["matrix/transpose", "matrix/row_broadcast"]);
        check(&machine, 12, &[]);
    }
}

#[test]
fn all_kernels_verify_their_data_on_many_ranks() {
    check(&machines::rendezvous(), 100, &[]);
    check(&machines::flat(), 400, &["parkbench/comms3"]);
}
