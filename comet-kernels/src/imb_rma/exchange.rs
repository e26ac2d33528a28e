//! Puts and gets of each rank between it and both neighbours on a ring.
//!
//! **Source**: IMB 2021, IMB-RMA, `Exchange_put`, `Exchange_get`; MPI-4.1 sections 12.3, 12.5.3
//! and 12.5.4.
//!
//! **Pattern**, for each rank r
//! ```text
//!   exchange_put   part of r-1, block 0  <--- put ---  rank r  --- put --->  part of r+1, block 1
//!   exchange_get   part of r-1, block 1  ---- get -->  rank r  <-- get ----  part of r+1, block 0
//! ```
//! **Timed** (all ranks): two transfers and a flush of each neighbour, in a loop. The window is
//! made and the neighbours are locked before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of a transfer.
//!
//! **Verified by**: other test data of each rank and block; contents of parts or origins after
//! the locks have ended; canaries on both sides of both.
//!
//! **Caution**: on two ranks both neighbours are one, which is locked and flushed once.

use comet_core::kernel::prelude::*;
use comet_core::window::{Lock, Memory};

use crate::axes::DOUBLING;
use crate::window::{Blocks, bytes_of_blocks};

/// One of the kernels: puts or (`GETS`) gets.
pub(crate) struct Exchange<const GETS: bool>;

/// One rank's side.
pub(crate) struct Side<T: Transport, const GETS: bool> {
    blocks: Blocks<T>,
    left: Rank,
    right: Rank,
}

impl<T: Transport, const GETS: bool> Side<T, GETS> {
    /// Seed of block `index` in the origin of `rank`, or in its part for gets.
    fn seed(seeds: Seeds, rank: Rank, index: u16) -> u64 {
        seeds.of(1 + index, rank)
    }

    /// The rank whose data end up in block `index`.
    fn source(&self, index: u16) -> Rank {
        if index == 0 { self.right } else { self.left }
    }
}

impl<T: Transport, const GETS: bool> Operation<T> for Side<T, GETS> {
    fn fill(&mut self, seeds: Seeds) {
        for (index, block) in [(0, 0), (1, 1)] {
            let own = Self::seed(seeds, self.blocks.rank(), index);
            let arriving = Self::seed(seeds, self.source(index), index);
            if GETS {
                self.blocks.write(block, |part| pattern::fill(part, own));
                pattern::spoil(self.blocks.origin(block), arriving);
            } else {
                pattern::fill(self.blocks.origin(block), own);
                self.blocks.write(block, |part| pattern::spoil(part, arriving));
            }
        }
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()?;
        let window = self.blocks.window();
        window.lock(self.left, Lock::Shared)?;
        if self.left == self.right { Ok(()) } else { window.lock(self.right, Lock::Shared) }
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        let Self { blocks, left, right } = self;
        let window = blocks.window();
        if GETS {
            window.get(blocks.own(0), blocks.of(*right, 0))?;
            window.get(blocks.own(1), blocks.of(*left, 1))?;
        } else {
            window.put(blocks.own(0), blocks.of(*left, 0))?;
            window.put(blocks.own(1), blocks.of(*right, 1))?;
        }
        window.flush(*left)?;
        if left == right { Ok(()) } else { window.flush(*right) }
    }

    fn end(&mut self, t: &T) -> Result<()> {
        let window = self.blocks.window();
        window.unlock(self.left)?;
        if self.left != self.right {
            window.unlock(self.right)?;
        }
        t.barrier()
    }

    fn check(&mut self, check: &mut Checker) {
        for (index, block) in [(0, 0), (1, 1)] {
            let source = self.source(index);
            let seed = Self::seed(check.seeds(), source, index);
            let what = format!("block {index} of rank {source}");
            if GETS {
                check.message(self.blocks.origin(block), seed, what);
            } else {
                check.message(&mut self.blocks.read(block), seed, what);
            }
        }
        self.blocks.check(check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

impl<T: Transport, const GETS: bool> Pattern<T> for Exchange<GETS> {
    const INFO: KernelInfo = KernelInfo {
        name: if GETS { "exchange_get" } else { "exchange_put" },
        file: include_str!("exchange.rs"),
        summary: if GETS {
            "Gets of each rank from the parts of both neighbours on a ring"
        } else {
            "Puts of each rank into the parts of both neighbours on a ring"
        },
        aliases: if GETS { &["IMB-RMA:Exchange_get"] } else { &["IMB-RMA:Exchange_put"] },
        axes: &[DOUBLING],
        series: &[Series::of("round", Quantity::OpTime, Definition::LoopMean)],
        timing: Timing::Pipelined,
        bytes_per_rank: |case, _| bytes_of_blocks(case, 4),
        is_movable: false,
        ..KernelInfo::collective("imb-rma")
    };
    type Part = Side<T, GETS>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (left, right) = cx.ring();
        let blocks = Blocks::new(cx, case.length(&LENGTH_BYTES), [2, 2], Memory::Created)?;
        Ok(Some((Duty::Together, Side { blocks, left, right })))
    }
}
