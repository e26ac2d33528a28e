//! Puts and gets between two ranks whose epochs are fences.
//!
//! **Source**: IMB 2021, IMB-EXT, `Unidir_Put`, `Unidir_Get`, `Bidir_Put`, `Bidir_Get`; MPI-4.1
//! sections 12.3 and 12.5.1.
//!
//! **Pattern**
//! ```text
//!   unidir_put   rank 0  ---- put --->  rank 1        unidir_get   rank 0  <--- get ----  rank 1
//!   bidir_put    rank 0  <--- put --->  rank 1        bidir_get    rank 0  <--- get --->  rank 1
//!   all ranks    fence after each transfer, or (aggregate) one fence after all of them
//! ```
//! **Timed** (all ranks): transfers and fences, in a loop. A fence is before it. The window is
//! made before.
//!
//! **Reports**: mean time of a transfer in a loop, on the slowest rank.
//!
//! **Rate**: `length_bytes` / time; of one direction where there are two.
//!
//! **Parameters**: `length_bytes` of a transfer; `aggregate`: a fence after each transfer, or
//! one after all between two clock reads; `sections` of the window: one for all transfers, as in IMB
//! 2021 without `-off_cache`, or disjoint ones in turn, as the guide of version 3.2 asks for (section
//! 4.2.2.2), so many as a loop of IMB has transfers: 1000, or as many as 40 MiB hold.
//!
//! **Verified by**: other test data of each rank; contents of the part or of the origin after
//! the last fence; canaries on both sides of both.
//!
//! **Caution**: the window is one of all ranks of the case, and so is a fence: the case runs
//! on two ranks. In `unidir_get` the rank that gets is rank 1, as in IMB. Transfers to one place stay
//! in the caches.

use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Memory};

use crate::axes::DOUBLING;
use crate::calls::turn;
use crate::window::{
    AGGREGATE, AGGREGATE_FIRST, BY_SECTIONS, Blocks, Ends, bytes_of_blocks, completes_each,
    n_sections,
};

/// One of the kernels: puts or (`GETS`) gets, of one rank or of `BOTH`.
pub(crate) struct Pair<const GETS: bool, const BOTH: bool>;

/// One rank's side.
pub(crate) struct Side<T: Transport, const GETS: bool> {
    blocks: Blocks<T>,
    ends: Ends,
    is_aggregate: bool,
    n_sections: usize,
    /// The place of the next transfer.
    next: usize,
}

impl<T: Transport, const GETS: bool> Operation<T> for Side<T, GETS> {
    fn fill(&mut self, seeds: Seeds) {
        self.next = 0;
        self.ends.fill::<GETS, T>(&mut self.blocks, seeds);
    }

    fn begin(&mut self, _: &T) -> Result<()> {
        self.blocks.window().fence(Fence::Between)
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        self.ends.start::<GETS, T>(&self.blocks, turn(&mut self.next, self.n_sections))?;
        if self.is_aggregate { Ok(()) } else { self.blocks.window().fence(Fence::Between) }
    }

    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        if self.is_aggregate { self.blocks.window().fence(Fence::Between) } else { Ok(()) }
    }

    fn check(&mut self, check: &mut Checker) {
        self.ends.check::<GETS, T>(&mut self.blocks, check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

impl<T: Transport, const GETS: bool, const BOTH: bool> Pattern<T> for Pair<GETS, BOTH> {
    const INFO: KernelInfo = KernelInfo {
        name: match (GETS, BOTH) {
            (false, false) => "unidir_put",
            (true, false) => "unidir_get",
            (false, true) => "bidir_put",
            (true, true) => "bidir_get",
        },
        file: include_str!("pairs.rs"),
        summary: match (GETS, BOTH) {
            (false, false) => "Puts of rank 0 into the part of rank 1, ended by fences",
            (true, false) => "Gets of rank 1 from the part of rank 0, ended by fences",
            (false, true) => "Puts of two ranks into the part of the other, ended by fences",
            (true, true) => "Gets of two ranks from the part of the other, ended by fences",
        },
        aliases: match (GETS, BOTH) {
            (false, false) => &["IMB-EXT:Unidir_Put"],
            (true, false) => &["IMB-EXT:Unidir_Get"],
            (false, true) => &["IMB-EXT:Bidir_Put"],
            (true, true) => &["IMB-EXT:Bidir_Get"],
        },
        axes: &[AGGREGATE_FIRST, BY_SECTIONS, DOUBLING],
        series: &[Series::of("transfer", Quantity::OpTime, Definition::LoopMean)
            .moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
        class: Class::PointToPoint,
        timing: Timing::Pipelined,
        n_ranks: Some(2),
        completes_each,
        bytes_per_rank: |case, _| bytes_of_blocks(case, 2 * n_sections(case) as u64),
        is_movable: false,
        ..KernelInfo::collective("imb-ext")
    };
    type Part = Side<T, GETS>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let makes = |rank: Rank| BOTH || rank == Rank::from(GETS);
        let (n_sections, length) = (n_sections(case), case.length(&LENGTH_BYTES));
        let part = Side {
            blocks: Blocks::new(cx, length, [n_sections; 2], Memory::Created)?,
            ends: Ends::of_first_two(cx.rank(), makes),
            is_aggregate: case.value(&AGGREGATE) == 1,
            n_sections,
            next: 0,
        };
        Ok(Some((Duty::Together, part)))
    }
}
