//! Accumulation of all ranks into one part, between fences.
//!
//! **Source**: IMB 2021, IMB-EXT, `Accumulate`; MPI-4.1 sections 12.3.4 and 12.5.1.
//!
//! **Pattern**
//! ```text
//!   each rank r   first fence -- part of rank 0 += origin of rank r -- last fence
//!                 aggregate: all accumulations between two fences
//! ```
//! **Timed** (all ranks): fences and accumulations, in a loop. The window is made before.
//!
//! **Reports**: mean time of an accumulation in a loop, on the slowest rank.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of a vector; `element`; `aggregate`: two fences about each
//! accumulation, or about all between two clock reads.
//!
//! **Verified by**: every element of the sum on rank 0; canaries on both sides.
//!
//! **Caution**: rank 0 accumulates too, as in IMB.

use comet_core::collective::Reducer;
use comet_core::collective::data::{combined_operands, fill_operand};
use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Memory};

use crate::calls::{BY_ELEMENT, VECTORS, reducer};
use crate::window::{AGGREGATE, AGGREGATE_FIRST, Blocks, bytes_of_blocks, completes_each};

/// `imb-ext/accumulate`; see the [module](self).
pub(crate) struct Accumulate;

/// One rank's vector, and the sum on rank 0.
pub(crate) struct Vectors<T: Transport> {
    blocks: Blocks<T>,
    by: Reducer,
    is_aggregate: bool,
    /// True between the first accumulation of an interval and its end.
    is_open: bool,
}

/// The rank that has the sum.
const ROOT: Rank = 0;

impl<T: Transport> Operation<T> for Vectors<T> {
    fn fill(&mut self, _: Seeds) {
        let (by, rank) = (self.by, self.blocks.rank());
        self.blocks.write(0, |sum| fill_operand(by, ROOT, sum));
        fill_operand(by, rank, self.blocks.origin(0));
    }

    /// Nobody accumulates before the sum is filled.
    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        let window = self.blocks.window();
        if !self.is_open {
            window.fence(Fence::First)?;
            self.is_open = self.is_aggregate;
        }
        window.accumulate(self.blocks.own(0), self.blocks.of(ROOT, 0), self.by)?;
        if self.is_aggregate { Ok(()) } else { window.fence(Fence::Last) }
    }

    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        if std::mem::take(&mut self.is_open) {
            self.blocks.window().fence(Fence::Last)
        } else {
            Ok(())
        }
    }

    fn check(&mut self, check: &mut Checker) {
        let n_ranks = self.blocks.window().n_ranks();
        if self.blocks.rank() == ROOT {
            let mut sum = self.blocks.read(0);
            let expected = combined_operands(self.by, ROOT, 0..n_ranks, check.n_runs(), &sum);
            check.bytes(&mut sum, &expected, "the sum");
        }
        self.blocks.check(check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

impl<T: Transport> Pattern<T> for Accumulate {
    const INFO: KernelInfo = KernelInfo {
        name: "accumulate",
        file: include_str!("accumulate.rs"),
        summary: "All ranks accumulate into the part of rank 0, between fences",
        aliases: &["IMB-EXT:Accumulate"],
        axes: &[AGGREGATE_FIRST, BY_ELEMENT, VECTORS],
        series: &[Series::of("accumulation", Quantity::OpTime, Definition::LoopMean)],
        timing: Timing::Pipelined,
        completes_each,
        admits: |case, _| reducer(case).map(drop),
        bytes_per_rank: |case, _| bytes_of_blocks(case, 2),
        is_movable: false,
        ..KernelInfo::collective("imb-ext")
    };
    type Part = Vectors<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let part = Vectors {
            blocks: Blocks::new(cx, case.length(&LENGTH_BYTES), [1, 1], Memory::Created)?,
            by: reducer(case).unwrap_or(Reducer::SUM),
            is_aggregate: case.value(&AGGREGATE) == 1,
            is_open: false,
        };
        Ok(Some((Duty::Together, part)))
    }
}
