//! The library of algorithms: for each kind of collective operation the ways that are known, as plans
//! over messages, on any transport.
//!
//! An algorithm is a function that writes the plan of one rank. Sources: Thakur, Rabenseifner and
//! Gropp, "Optimization of Collective Communication Operations in MPICH" (2005), section numbers as
//! there; Bruck et al., "Efficient Algorithms for All-to-All Communications" (1997); Hensgen,
//! Finkel and Manber, "Two Algorithms for Barrier Synchronization" (1988).

mod halving;
mod neighbours;
mod rooted;
mod shared;

use Needs::{EqualParts, EqualPartsOnPowerOfTwo, EvenRanks, Nothing, PowerOfTwo};

use super::call::{Collective, Kind};
use super::plan::{Plan, Planner};
use crate::transport::Rank;

/// Length of a segment of pipelined messages in bytes.
const SEGMENT_BYTES: usize = 64 << 10;
/// Most messages of an algorithm that limits those under way.
const N_UNDER_WAY: usize = 32;

/// Most ranks beside the root whose messages are counted.
const N_COUNTED: usize = 32;

/// A way to carry out a collective operation.
#[derive(Debug)]
pub struct Algorithm {
    /// Word on the command line and in the record.
    pub name: &'static str,
    /// One line of description.
    pub summary: &'static str,
    needs: Needs,
    write: fn(&mut Planner<'_>),
}

/// Needs of an algorithm, in ranks and parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    PowerOfTwo,
    EvenRanks,
    EqualParts,
    EqualPartsOnPowerOfTwo,
}

impl Algorithm {
    /// Says whether it can do `call` on `n_ranks` ranks.
    ///
    /// # Errors
    /// One sentence with what it needs, and what there is.
    pub fn admit(&self, call: &Collective, n_ranks: usize) -> Result<(), String> {
        let needs = |what: &str| Err(format!("the algorithm {} needs {what}", self.name));
        let wants_power = matches!(self.needs, PowerOfTwo | EqualPartsOnPowerOfTwo);
        let wants_equal = matches!(self.needs, EqualParts | EqualPartsOnPowerOfTwo | EvenRanks);
        if wants_power && !n_ranks.is_power_of_two() {
            return needs(&format!("a power of two of ranks, there are {n_ranks}"));
        }
        if self.needs == EvenRanks && !n_ranks.is_multiple_of(2) {
            return needs(&format!("an even number of ranks, there are {n_ranks}"));
        }
        if wants_equal && !call.parts().is_equal() {
            return needs("parts of one length");
        }
        Ok(())
    }

    /// The plan of `rank` of `n_ranks` for `call`, which it admits.
    pub fn plan(&self, call: &Collective, rank: Rank, n_ranks: usize) -> Plan {
        let mut planner = Planner::new(call, rank, n_ranks);
        (self.write)(&mut planner);
        planner.finish()
    }

    /// Number of messages of `call` on `n_ranks` ranks, which it admits. Of more than 33 ranks the root
    /// and 32 others are counted, which stand for the rest.
    pub fn n_messages(&self, call: &Collective, n_ranks: usize) -> u64 {
        // Each message has two ends.
        let n_ends = |rank| self.plan(call, rank, n_ranks).n_messages() as u64;
        let n_others = n_ranks - 1;
        let n_counted = n_others.min(N_COUNTED);
        // Scattered, as ranks at equal distances may be all at one height of a tree.
        let scattered = |i: usize| i.wrapping_mul(0x9e37_79b9) % n_others;
        let other = |i| if n_counted == n_others { i } else { scattered(i) };
        let ends = (0..n_counted).map(|i| n_ends((call.root() + 1 + other(i)) % n_ranks));
        let of_others = ends.sum::<u64>() * n_others as u64 / n_counted.max(1) as u64;
        (n_ends(call.root()) + of_others) / 2
    }
}

const fn algorithm(
    name: &'static str,
    summary: &'static str,
    needs: Needs,
    write: fn(&mut Planner<'_>),
) -> Algorithm {
    Algorithm { name, summary, needs, write }
}

/// The algorithms of `kind`, the simplest first.
pub fn of(kind: Kind) -> &'static [Algorithm] {
    match kind {
        Kind::Barrier => BARRIER,
        Kind::Broadcast => BROADCAST,
        Kind::Reduce => REDUCE,
        Kind::Allreduce => ALLREDUCE,
        Kind::ReduceScatter => REDUCE_SCATTER,
        Kind::Scan => SCAN,
        Kind::Exscan => EXSCAN,
        Kind::Gather => GATHER,
        Kind::Scatter => SCATTER,
        Kind::Allgather => ALLGATHER,
        Kind::Alltoall => ALLTOALL,
        Kind::NeighbourAllgather | Kind::NeighbourAlltoall => AMONG_NEIGHBOURS,
    }
}

#[rustfmt::skip] // One algorithm a line.
const BARRIER: &[Algorithm] = &[
    algorithm("linear", "signals to rank 0, and back", Nothing, shared::linear_barrier),
    algorithm("tree", "signals up and down a binomial tree", Nothing, shared::tree_barrier),
    algorithm("dissemination", "in round i each rank signals the one 2^i above", Nothing, shared::dissemination),
    algorithm("pairwise", "in round i each rank exchanges signals with the one that differs in bit i", PowerOfTwo, shared::pairwise_barrier),
];
#[rustfmt::skip] // One algorithm a line.
const BROADCAST: &[Algorithm] = &[
    algorithm("linear", "the root sends to each rank", Nothing, rooted::linear_broadcast),
    algorithm("binomial", "along a binomial tree", Nothing, rooted::binomial_broadcast),
    algorithm("binary", "along a binary tree: rank r sends to 2r+1, then to 2r+2", Nothing, rooted::binary_broadcast),
    algorithm("chain", "segments of 64 KiB from rank to rank", Nothing, rooted::chain_broadcast),
    algorithm("scatter_doubling", "parts down a binomial tree, gathered by recursive doubling", PowerOfTwo, rooted::scatter_doubling),
    algorithm("scatter_ring", "parts down a binomial tree, gathered along a ring", Nothing, rooted::scatter_ring),
];
#[rustfmt::skip] // One algorithm a line.
const REDUCE: &[Algorithm] = &[
    algorithm("linear", "the root receives from each rank", Nothing, rooted::linear_reduce),
    algorithm("binomial", "along a binomial tree", Nothing, rooted::binomial_reduce),
    algorithm("chain", "segments of 64 KiB from rank to rank", Nothing, rooted::chain_reduce),
    algorithm("rabenseifner", "recursive halving, gathered along a binomial tree", Nothing, halving::reduce),
];
#[rustfmt::skip] // One algorithm a line.
const ALLREDUCE: &[Algorithm] = &[
    algorithm("linear", "to rank 0 and back, rank by rank", Nothing, shared::linear_allreduce),
    algorithm("reduce_bcast", "to rank 0 and back along a binomial tree", Nothing, shared::reduce_bcast),
    algorithm("recursive_doubling", "whole vectors between ranks that differ in one bit", Nothing, halving::recursive_doubling),
    algorithm("rabenseifner", "recursive halving, then recursive doubling", Nothing, halving::allreduce),
    algorithm("ring", "parts around a ring, summed and then gathered", Nothing, shared::ring_allreduce),
    algorithm("segmented_ring", "the ring for a segment of 64 KiB of each rank at a time", Nothing, shared::segmented_ring),
];
#[rustfmt::skip] // One algorithm a line.
const REDUCE_SCATTER: &[Algorithm] = &[
    algorithm("reduce_scatterv", "to rank 0 along a binomial tree, and each part to its rank", Nothing, shared::reduce_scatterv),
    algorithm("pairwise", "in round i each rank sends the part of the one i above", Nothing, shared::pairwise_reduce_scatter),
    algorithm("ring", "parts around a ring, summed on their way", Nothing, shared::ring_reduce_scatter),
    algorithm("recursive_halving", "half of what is left between ranks that differ in one bit", Nothing, halving::reduce_scatter),
];
#[rustfmt::skip] // One algorithm a line.
const SCAN: &[Algorithm] = &[
    algorithm("linear", "from rank to rank", Nothing, shared::linear_scan),
    algorithm("recursive_doubling", "partial results between ranks that differ in one bit", Nothing, shared::doubling_scan),
];
#[rustfmt::skip] // One algorithm a line.
const EXSCAN: &[Algorithm] = &[
    algorithm("linear", "from rank to rank", Nothing, shared::linear_exscan),
    algorithm("recursive_doubling", "partial results between ranks that differ in one bit", Nothing, shared::doubling_scan),
];
#[rustfmt::skip] // One algorithm a line.
const GATHER: &[Algorithm] = &[
    algorithm("linear", "the root receives from all ranks at once", Nothing, rooted::linear_gather),
    algorithm("linear_sync", "the root asks each rank in turn", Nothing, rooted::linear_sync_gather),
    algorithm("binomial", "along a binomial tree", EqualParts, rooted::binomial_gather),
];
#[rustfmt::skip] // One algorithm a line.
const SCATTER: &[Algorithm] = &[
    algorithm("linear", "the root sends to all ranks at once", Nothing, rooted::linear_scatter),
    algorithm("binomial", "along a binomial tree", EqualParts, rooted::binomial_scatter),
];
#[rustfmt::skip] // One algorithm a line.
const ALLGATHER: &[Algorithm] = &[
    algorithm("gather_bcast", "to rank 0, and all of it along a binomial tree", Nothing, shared::gather_bcast),
    algorithm("ring", "parts around a ring", Nothing, shared::ring_allgather),
    algorithm("bruck", "in round i what a rank has goes to the one 2^i below", Nothing, shared::bruck_allgather),
    algorithm("recursive_doubling", "what they have between ranks that differ in one bit", EqualPartsOnPowerOfTwo, shared::doubling_allgather),
    algorithm("neighbour_exchange", "pairs of parts between neighbours, to one side and the other in turn", EvenRanks, shared::neighbour_exchange),
];
#[rustfmt::skip] // One algorithm a line.
const ALLTOALL: &[Algorithm] = &[
    algorithm("linear", "all messages at once", Nothing, shared::linear_alltoall),
    algorithm("scattered", "32 messages of each direction at once", Nothing, shared::scattered_alltoall),
    algorithm("ring", "in round i to the rank i above, from the one i below", Nothing, shared::ring_alltoall),
    algorithm("pairwise", "in round i with the rank that differs in the bits of i", PowerOfTwo, shared::pairwise_alltoall),
    algorithm("bruck", "in round i all parts with that bit in their distance, together", EqualParts, shared::bruck_alltoall),
];

const AMONG_NEIGHBOURS: &[Algorithm] =
    &[algorithm("linear", "all messages at once", Nothing, neighbours::linear)];

/// The algorithm `name` of `kind`.
pub fn find(kind: Kind, name: &str) -> Option<&'static Algorithm> {
    of(kind).iter().find(|algorithm| algorithm.name == name)
}

/// The algorithm for `call` on `n_ranks` ranks by the lengths at which MPICH switches (Thakur,
/// Rabenseifner and Gropp, 2005).
///
/// # Panics
/// Never: each rule names an algorithm of its kind.
pub fn automatic(call: &Collective, n_ranks: usize) -> &'static Algorithm {
    // A rank may have no part among its neighbours.
    if call.kind().is_among_neighbours() {
        return &AMONG_NEIGHBOURS[0];
    }
    let (kind, part) = (call.kind(), call.parts().length(0));
    let total = call.parts().total(n_ranks);
    let (is_power, is_equal) = (n_ranks.is_power_of_two(), call.parts().is_equal());
    let name = match kind {
        Kind::Barrier if is_power => "pairwise",
        Kind::Barrier => "dissemination",
        Kind::Broadcast if part < 12 << 10 || n_ranks < 8 => "binomial",
        Kind::Broadcast if part < 512 << 10 && is_power => "scatter_doubling",
        Kind::Broadcast => "scatter_ring",
        Kind::Reduce if part <= 2 << 10 => "binomial",
        Kind::Allreduce if part <= 2 << 10 => "recursive_doubling",
        Kind::Reduce | Kind::Allreduce => "rabenseifner",
        Kind::ReduceScatter if total < 512 << 10 => "recursive_halving",
        Kind::ReduceScatter => "pairwise",
        Kind::Scan | Kind::Exscan => "recursive_doubling",
        Kind::Gather | Kind::Scatter if is_equal => "binomial",
        Kind::Gather | Kind::Scatter => "linear",
        Kind::Allgather if total < 512 << 10 && is_power && is_equal => "recursive_doubling",
        Kind::Allgather if total < 80 << 10 => "bruck",
        Kind::Allgather => "ring",
        Kind::Alltoall if part <= 256 && n_ranks >= 8 && is_equal => "bruck",
        Kind::Alltoall if part <= 32 << 10 || !is_equal => "scattered",
        Kind::Alltoall if is_power => "pairwise",
        Kind::Alltoall => "ring",
        Kind::NeighbourAllgather | Kind::NeighbourAlltoall => "linear",
    };
    find(kind, name).expect("each rule names an algorithm of its kind")
}

/// The bytes of part `index` of `n` of a vector of `length` bytes, whose elements of `unit` bytes stay
/// whole.
fn block(length: usize, unit: usize, index: usize, n: usize) -> std::ops::Range<usize> {
    let n_elements = length / unit;
    let start = |index: usize| n_elements * index / n * unit;
    let end = if index + 1 == n { length } else { start(index + 1) };
    start(index)..end
}

/// The segments of a vector of `length` bytes, whose elements of `unit` bytes stay whole.
fn segments(length: usize, unit: usize) -> Vec<std::ops::Range<usize>> {
    let step = SEGMENT_BYTES / unit * unit;
    (0..length).step_by(step).map(|start| start..(start + step).min(length)).collect()
}
