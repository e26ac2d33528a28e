//! Ring by an all-to-all: time in which each rank sends a message to the next one, by one call of all
//! ranks whose other parts are empty.
//!
//! **Source**: the ring of the effective bandwidth benchmark (`b_eff`), which the SKaMPI paper names
//! (section 1.1): it sends the messages by themselves, and by `MPI_Alltoallv`.
//!
//! **Pattern**, on all P ranks
//! ```text
//!   rank r   Alltoallv: length_bytes to r+1 and from r-1, 0 bytes to and from all others
//! ```
//! **Timed** (all ranks): one call, after a barrier. Buffers, lengths and test data are made before.
//!
//! **Reports**: completion time of one operation.
//!
//! **Rate**: P x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of the message of each rank.
//!
//! **Verified by**: contents on every rank, over a spoiled buffer with canaries on both sides.
//!
//! **Caution**: `imb/sendrecv` has the same messages as messages. The difference is what the library
//! pays for parts that are empty: it grows with P where the library visits each of them.

use comet_core::collective::{Collective, Kind, Parts};
use comet_core::kernel::prelude::*;

use super::SUITE;
use crate::axes::DOUBLING;
use crate::calls::{Blocked, Part};

/// `patterns/ring_alltoallv`; see the [module](self).
pub(crate) struct RingAlltoallv;

/// The call of `rank`, with messages of `length` bytes.
fn call(rank: Rank, n_ranks: usize, length: usize) -> Collective {
    let only = |peer: Rank| {
        Parts::packed((0..n_ranks).map(|other| if other == peer { length } else { 0 }).collect())
    };
    let (from, to) = ((rank + n_ranks - 1) % n_ranks, (rank + 1) % n_ranks);
    Collective::new(Kind::Alltoall, only(from)).with_sent(only(to))
}

impl<T: Transport> Pattern<T> for RingAlltoallv {
    const INFO: KernelInfo = KernelInfo {
        name: "ring_alltoallv",
        file: include_str!("ring_alltoallv.rs"),
        summary: "A message of each rank to the next by one Alltoallv of all ranks",
        axes: &[DOUBLING],
        series: &[Series::completion("call").moving(|case, world| {
            Some((world.n_ranks as u64).saturating_mul(case.value(&LENGTH_BYTES)))
        })],
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(2),
        messages_per_op: |_, world| (world.n_ranks * (world.n_ranks - 1)) as u64,
        ..SUITE
    };
    type Part = Blocked<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let call = call(cx.rank(), cx.transport().n_ranks(), case.length(&LENGTH_BYTES));
        Ok(Some((Duty::Together, Blocked(Part::of(cx, call)?))))
    }
}
