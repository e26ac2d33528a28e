//! Stencils: time of messages that all ranks exchange at once with their neighbours on a torus.
//!
//! **Source**: IMB 2021, IMB-P2P, `Stencil2D`, `Stencil3D`.
//!
//! **Pattern**, on all ranks, for each dimension of a torus of 2 or 3
//! ```text
//!   rank at x-1  <--> rank at x <--> rank at x+1      posts a receive from each neighbour, then a
//!                                                     send to each, and waits for all
//! ```
//! **Timed** (all ranks): 4 or 6 receives and as many sends, in a loop. Buffers and test data are
//! made before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: 4 P (stencil2d) or 6 P (stencil3d) x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank and message; contents, source and length of every
//! message on every rank; canaries about all buffers.
//!
//! **Caution**: sides of the torus are those of IMB-P2P, which finds none for a prime number of
//! ranks and for some others. Where a side has 2 ranks both neighbours are one. IMB-P2P prints as t
//! the mean time of the ranks divided by 4 or 6, and touches messages unless told otherwise
//! (`--buffers touched:lines`).

use comet_core::kernel::prelude::*;
use comet_core::topology::stencil_sides;
use comet_core::words::count;

use super::{SUITE, round};
use crate::around::{Node, in_order};

/// The kernel on a torus of `N` dimensions.
pub(crate) struct Stencil<const N: usize>;

/// Neighbours of `rank` on a torus, the first dimension first: of each dimension the one before and the one
/// after.
fn neighbours(sides: &[usize], rank: Rank) -> Vec<Rank> {
    let mut stride = 1;
    let of_dimension = |side: &usize| {
        let (own, of_side) = (stride, *side);
        stride *= of_side;
        let place = rank / own % of_side;
        [of_side - 1, 1].map(|step| rank - place * own + (place + step) % of_side * own)
    };
    sides.iter().flat_map(of_dimension).collect()
}

impl<const N: usize, T: Transport> Pattern<T> for Stencil<N> {
    const INFO: KernelInfo = KernelInfo {
        name: if N == 2 { "stencil2d" } else { "stencil3d" },
        file: include_str!("stencil.rs"),
        summary: if N == 2 {
            "All ranks exchange messages with 4 neighbours on a torus of 2 dimensions"
        } else {
            "All ranks exchange messages with 6 neighbours on a torus of 3 dimensions"
        },
        aliases: if N == 2 { &["IMB-P2P:Stencil2D"] } else { &["IMB-P2P:Stencil3D"] },
        series: if N == 2 {
            &[round::<4>(&[Rate {
                kind: RateKind::Messages,
                formula: "4 P / time",
                per_op: |_, world| 4.0 * world.n_ranks as f64,
            }])]
        } else {
            &[round::<6>(&[Rate {
                kind: RateKind::Messages,
                formula: "6 P / time",
                per_op: |_, world| 6.0 * world.n_ranks as f64,
            }])]
        },
        admits: |_, world| match stencil_sides(world.n_ranks, N) {
            Some(_) => Ok(()),
            None => Err(format!(
                "{} make no torus of {N} dimensions with sides of at least 2 (ask for -n {})",
                count(world.n_ranks, "rank"),
                1 << N
            )),
        },
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(4 * N as u64),
        messages_per_op: |_, world| 2 * (N * world.n_ranks) as u64,
        ..SUITE
    };
    type Part = Node<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(sides) = stencil_sides(cx.transport().n_ranks(), N) else { return Ok(None) };
        let (rank, bytes) = (cx.rank(), case.length(&LENGTH_BYTES));
        let around = |rank| neighbours(&sides, rank);
        let messages: Vec<_> = around(rank).into_iter().map(|to| (to, bytes)).collect();
        let arrivals = in_order(rank, &around(rank), bytes, around);
        Ok(Some((Duty::Together, Node::new(cx, &messages, arrivals)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_the_ones_before_and_after_in_each_dimension() {
        assert_eq!(neighbours(&[4, 2], 5), [4, 6, 1, 1]);
        assert_eq!(neighbours(&[3, 4, 2], 0), [2, 1, 9, 3, 12, 12]);
        for sides in [&[2, 3][..], &[2, 2], &[4, 2, 2], &[3, 4, 2]] {
            for rank in 0..sides.iter().product() {
                let around = |rank| neighbours(sides, rank);
                for (index, arrival) in in_order(rank, &around(rank), 8, around).iter().enumerate()
                {
                    let back = around(arrival.from)[usize::from(arrival.number)];
                    assert_eq!(back, rank, "{sides:?} {index}");
                }
            }
        }
    }
}
