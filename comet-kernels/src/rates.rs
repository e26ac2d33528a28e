//! The rates that several kernels share: bandwidths of collectives, by the conventions of nccl-tests,
//! and message rates of windows.
//!
//! The size S of a collective is the longest buffer that it names on any rank, in bytes: the message
//! of a broadcast, the vector of a reduction, and the parts of all ranks where each rank has one.
//! An optimal algorithm over point-to-point messages moves S times a factor on each rank, or on the
//! busiest one where the root is that.
//!
//! | operation | S | factor |
//! |---|---|---|
//! | broadcast, reduce | `length_bytes` | 1 |
//! | allreduce | `length_bytes` | 2 (P-1)/P |
//! | reduce-scatter, gather, scatter, allgather, alltoall | P x `length_bytes` | (P-1)/P |
//! | scan, exscan | `length_bytes` | none in use |

use comet_core::collective::Kind;
use comet_core::kernel::prelude::*;

/// Length of one message, which is all of it.
fn one(case: &Case, _: &World<'_>) -> f64 {
    case.value(&LENGTH_BYTES) as f64
}

/// Parts of all ranks.
fn all(case: &Case, world: &World<'_>) -> f64 {
    world.n_ranks as f64 * one(case, world)
}

/// Parts of all ranks but one.
fn all_others(case: &Case, world: &World<'_>) -> f64 {
    others(world) * one(case, world)
}

/// Number of the ranks beside a rank.
pub(crate) fn others(world: &World<'_>) -> f64 {
    world.n_ranks.saturating_sub(1) as f64
}

/// The share of a vector that an optimal allreduce moves on each rank.
pub(crate) fn share_of_allreduce(world: &World<'_>) -> f64 {
    2.0 * others(world) / world.n_ranks as f64
}

const ALGORITHM: Rate =
    Rate { kind: RateKind::Algorithm, formula: "length_bytes / time", per_op: one };

const OF_ROOT: [Rate; 2] =
    [ALGORITHM, Rate { kind: RateKind::Bus, formula: "length_bytes / time", per_op: one }];

const OF_ALLREDUCE: [Rate; 2] = [
    ALGORITHM,
    Rate {
        kind: RateKind::Bus,
        formula: "2 (P-1)/P x length_bytes / time",
        per_op: |case, world| share_of_allreduce(world) * one(case, world),
    },
];

const OF_PARTS: [Rate; 2] = [
    Rate { kind: RateKind::Algorithm, formula: "P x length_bytes / time", per_op: all },
    Rate { kind: RateKind::Bus, formula: "(P-1)/P x P x length_bytes / time", per_op: all_others },
];

/// The rates of the collective `kind`, whose parts have `length_bytes` each.
pub(crate) const fn of_collective(kind: Kind) -> &'static [Rate] {
    match kind {
        Kind::Broadcast | Kind::Reduce => &OF_ROOT,
        Kind::Allreduce => &OF_ALLREDUCE,
        Kind::ReduceScatter | Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall => {
            &OF_PARTS
        }
        Kind::Scan | Kind::Exscan => &[ALGORITHM],
        _ => &[],
    }
}

/// Messages of a window of one pair in one direction.
pub(crate) const WINDOW_ONE_WAY: [Rate; 1] = [Rate {
    kind: RateKind::Messages,
    formula: "window / time",
    per_op: |case, _| case.value(&WINDOW) as f64,
}];

/// Messages of a window of one pair in both directions.
pub(crate) const WINDOW_BOTH_WAYS: [Rate; 1] = [Rate {
    kind: RateKind::Messages,
    formula: "2 x window / time",
    per_op: |case, _| 2.0 * case.value(&WINDOW) as f64,
}];

/// Messages of windows of all pairs of the two halves in one direction.
pub(crate) const HALVES_ONE_WAY: Rate = Rate {
    kind: RateKind::Messages,
    formula: "window x floor(P/2) / time",
    per_op: |case, world| messages_of_halves(case, world) as f64,
};

/// Messages of windows of all pairs of the two halves in both directions.
pub(crate) const HALVES_BOTH_WAYS: Rate = Rate {
    kind: RateKind::Messages,
    formula: "2 x window x floor(P/2) / time",
    per_op: |case, world| 2.0 * messages_of_halves(case, world) as f64,
};

/// Messages of windows of all pairs of the two halves of the ranks, in one direction.
pub(crate) fn messages_of_halves(case: &Case, world: &World<'_>) -> u64 {
    case.value(&WINDOW) * (world.n_ranks / 2) as u64
}

#[cfg(test)]
mod tests {
    use comet_core::collective::{Collective, Parts};
    use comet_core::topology::Topology;

    use super::*;

    static INFO: KernelInfo = KernelInfo {
        name: "any",
        axes: &[AxisUse::of(&LENGTH_BYTES, "24")],
        ..KernelInfo::collective("test")
    };

    #[test]
    fn an_algorithm_bandwidth_counts_the_longest_buffer_of_any_rank() {
        for kind in Kind::ALL {
            let is_algorithm = |rate: &&Rate| rate.kind == RateKind::Algorithm;
            let Some(rate) = of_collective(kind).iter().find(is_algorithm) else { continue };
            for n_ranks in [2, 3, 8] {
                let call = Collective::new(kind, Parts::Equal(24));
                let buffers =
                    |rank| [call.input_bytes(rank, n_ranks), call.output_bytes(rank, n_ranks)];
                // A broadcast has one buffer, which is its output.
                let longest = (0..n_ranks).flat_map(buffers).max().unwrap();
                let (case, topology) = (Case::new(&INFO, &[24]), Topology::hypercube(n_ranks));
                let found = (rate.per_op)(&case, &World::of(&topology));
                assert_eq!(found, longest as f64, "{} on {n_ranks}", kind.name());
            }
        }
    }
}
