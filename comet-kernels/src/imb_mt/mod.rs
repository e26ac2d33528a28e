//! The suite `imb-mt`: the Intel MPI Benchmarks of several threads of each rank.

pub mod bands;
pub mod barrier;
pub mod collective;
pub mod pairs;
pub mod ring;

use comet_core::kernel::THREADS;
use comet_core::kernel::prelude::*;

use crate::Suite;
use crate::calls::VECTORS;
use bands::{BiBand, UniBand};
use barrier::Barrier;
use collective::OfThreads;
use pairs::{PingPing, PingPong};
use ring::{Exchange, SendRecv};

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        timed![
            PingPong,
            PingPing,
            SendRecv,
            Exchange,
            UniBand,
            BiBand,
            Barrier,
            OfThreads::<0 | 1 | 2>,
        ]
    }
}

/// Number of ranks between partners.
static STRIDE: Axis =
    Axis::count("stride", "ranks between partners", "ranks between partners; 0 for half of all");

/// One thread of each rank, unless the user asks for more.
const BY_THREADS: AxisUse = AxisUse::of(&THREADS, "1");
const BY_STRIDE: AxisUse = AxisUse::of(&STRIDE, "0");

/// Facts of all kernels of the suite whose ranks have partners.
const OF_PARTNERS: KernelInfo = KernelInfo {
    axes: &[BY_THREADS, BY_STRIDE, VECTORS],
    timing: Timing::Pipelined,
    admits: |case, world| {
        world.require_ranks(2)?;
        require_threads(case)?;
        stride(case, world.n_ranks).map(drop)
    },
    bytes_per_rank: |case, _| (2 * threads(case)).saturating_mul(case.value(&LENGTH_BYTES)),
    messages_per_op: |case, world| threads(case) * world.n_ranks as u64,
    ..KernelInfo::collective("imb-mt")
};

/// Threads of each rank in `case`.
fn threads(case: &Case) -> u64 {
    case.n_threads() as u64
}

/// The most threads of a rank.
const MAX_THREADS: usize = 1024;

/// Refuses cases without a thread, or with more than any rank has.
fn require_threads(case: &Case) -> Result<(), String> {
    match case.n_threads() {
        0 => Err("a rank has at least one thread, not 0 (use threads=1)".into()),
        1..=MAX_THREADS => Ok(()),
        n => Err(format!("a rank has at most {MAX_THREADS} threads, not {n} (use fewer)")),
    }
}

/// Ranks between partners in `case` on `n_ranks` ranks.
fn stride(case: &Case, n_ranks: usize) -> Result<usize, String> {
    match (case.length(&STRIDE), n_ranks / 2) {
        (0, half) => Ok(half),
        (stride, half) if stride <= half => Ok(stride),
        (stride, half) => Err(format!(
            "partners {stride} ranks apart are not among {n_ranks} ranks (use a stride of at most {half})"
        )),
    }
}

/// The side of `rank` among `n_ranks`, of which so many are between partners: blocks of as many ranks lead
/// and follow in turn. `None` for those in blocks that are not whole.
fn side_of(rank: Rank, n_ranks: usize, stride: usize) -> Option<Side> {
    let pair_of_blocks = 2 * stride.max(1);
    if rank >= n_ranks / pair_of_blocks * pair_of_blocks {
        return None;
    }
    let leads = rank % pair_of_blocks < stride;
    Some(Side { peer: if leads { rank + stride } else { rank - stride }, leads })
}

/// The side of this rank in `case`.
fn side<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Option<Side> {
    let n_ranks = cx.transport().n_ranks();
    side_of(cx.rank(), n_ranks, stride(case, n_ranks).ok()?)
}

/// Pairs of ranks in `case`, times the threads of each rank.
fn pairs_of_threads(case: &Case, world: &World<'_>) -> u64 {
    let n_ranks = world.n_ranks;
    let stride = stride(case, n_ranks).unwrap_or(1).max(1);
    (n_ranks / (2 * stride) * stride) as u64 * threads(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_a_stride_apart_and_ranks_of_blocks_that_are_not_whole_have_none() {
        let check = |n_ranks: usize, stride: usize, expected: &[Option<Rank>]| {
            let peers = (0..n_ranks).map(|rank| Some(side_of(rank, n_ranks, stride)?.peer));
            assert_eq!(peers.collect::<Vec<_>>(), expected, "{n_ranks} ranks, {stride} apart");
        };
        check(2, 1, &[Some(1), Some(0)]);
        check(3, 1, &[Some(1), Some(0), None]);
        check(4, 2, &[Some(2), Some(3), Some(0), Some(1)]);
        check(5, 1, &[Some(1), Some(0), Some(3), Some(2), None]);
        check(6, 2, &[Some(2), Some(3), Some(0), Some(1), None, None]);
        assert!(side_of(1, 4, 2).unwrap().leads && !side_of(2, 4, 2).unwrap().leads);
    }

    #[test]
    fn strides_and_threads_that_make_no_case_are_refused_with_a_reason() {
        let topology = comet_core::topology::Topology::hypercube(5);
        let check = |values: &[u64], expected: Result<(), &str>| {
            let case =
                Case::new(const { &<PingPong as Pattern<comet_core::local::Local>>::INFO }, values);
            let found = (case.info.admits)(&case, &World::of(&topology));
            assert_eq!(found, expected.map_err(str::to_owned));
        };
        check(&[2, 2, 8], Ok(()));
        check(&[0, 2, 8], Err("a rank has at least one thread, not 0 (use threads=1)"));
        check(&[5000, 2, 8], Err("a rank has at most 1024 threads, not 5000 (use fewer)"));
        check(
            &[2, 3, 8],
            Err("partners 3 ranks apart are not among 5 ranks (use a stride of at most 2)"),
        );
    }
}
