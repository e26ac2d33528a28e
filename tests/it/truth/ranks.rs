//! Odd and large numbers of ranks: every kernel proves there too that its data arrives.

use comet_core::kernel::{Case, World};
use comet_sim::machine::Machine;

use super::bench::{Bench, ids, settings};
use super::machines;

/// One small case of each kernel that the ranks admit, in the order of the suites.
fn cases(bench: &Bench) -> Vec<Case> {
    let small = |id: &str| match id {
        "comet/echo" => vec![vec![1, 8], vec![1, 300]],
        "model/pairs" => vec![vec![1, 300]],
        "health/pairs" => vec![vec![2, 300]],
        "comet/exchange" => vec![vec![1, 300]],
        "comet/overlap" => vec![vec![300, 50]],
        "comet/barrier" | "naive/barrier" | "parkbench/synch1" => vec![vec![]],
        "health/noise" => vec![vec![1]],
        "parkbench/poly1" | "parkbench/poly3" => vec![vec![7, 2]],
        // A message between any two ranks is a million of them between a thousand.
        "parkbench/comms3" if bench.topology.n_ranks() > 100 => vec![],
        "matrix/shift" => vec![vec![0, 4], vec![1, 4]],
        _ => vec![vec![7]],
    };
    let of_kernel = |id: String| small(&id).into_iter().filter_map(move |v| bench.case(&id, &v));
    ids().into_iter().flat_map(of_kernel).collect()
}

/// Checks that all kernels but so many have a case, and are verified twice; contention has none
/// where no routes share a link.
fn check(machine: &Machine, n_ranks: usize, n_without: usize) {
    let bench = Bench::new(machine, n_ranks);
    let cases = cases(&bench);
    let n_uncast = usize::from(World::of(&bench.topology).cast().is_err());
    // Echo and shift have two cases each.
    assert_eq!(cases.len() + n_without + n_uncast, ids().len() + 2, "{n_ranks} ranks");
    assert_eq!(bench.measure(&cases, &settings(1, 1)).len(), cases.len(), "{n_ranks} ranks");
}

#[test]
fn all_kernels_verify_their_data_at_odd_rank_counts() {
    for machine in [machines::flat(), machines::rendezvous(), machines::ipsc860()] {
        // A prime number of ranks is one row of a mesh.
        check(&machine, 3, 3);
        check(&machine, 5, 3);
        check(&machine, 12, 0);
    }
}

#[test]
fn all_kernels_verify_their_data_on_many_ranks() {
    check(&machines::rendezvous(), 100, 0);
    check(&machines::flat(), 1000, 1);
}
