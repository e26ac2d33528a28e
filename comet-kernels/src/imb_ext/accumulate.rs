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
//! accumulation, or about all between two clock reads; `sections` of the window, as in
//! `imb-ext/unidir_put`.
//!
//! **Verified by**: every element of the sum on rank 0; canaries on both sides.
//!
//! **Caution**: rank 0 accumulates too, as in IMB.

use comet_core::collective::Reducer;
use comet_core::collective::data::{combined_operands, fill_operand};
use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Memory};

use crate::calls::{BY_ELEMENT, VECTORS, reducer, turn};
use crate::window::{
    AGGREGATE, AGGREGATE_FIRST, BY_SECTIONS, Blocks, bytes_of_blocks, completes_each, n_sections,
};

/// `imb-ext/accumulate`; see the [module](self).
pub(crate) struct Accumulate;

/// One rank's vector, and the sum on rank 0.
pub(crate) struct Vectors<T: Transport> {
    blocks: Blocks<T>,
    by: Reducer,
    is_aggregate: bool,
    n_sections: usize,
    /// The place of the next accumulation.
    next: usize,
    /// True between the first accumulation of an interval and its end.
    is_open: bool,
}

/// The rank that has the sum.
const ROOT: Rank = 0;

impl<T: Transport> Operation<T> for Vectors<T> {
    fn fill(&mut self, _: Seeds) {
        let (by, rank) = (self.by, self.blocks.rank());
        self.next = 0;
        for index in 0..self.n_sections {
            self.blocks.write(index, |sum| fill_operand(by, ROOT, sum));
            fill_operand(by, rank, self.blocks.origin(index));
        }
    }

    /// Nobody accumulates before the sum is filled.
    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        let (window, index) = (self.blocks.window(), turn(&mut self.next, self.n_sections));
        if !self.is_open {
            window.fence(Fence::First)?;
            self.is_open = self.is_aggregate;
        }
        window.accumulate(self.blocks.own(index), self.blocks.of(ROOT, index), self.by)?;
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
            let n = self.n_sections as u64;
            for index in 0..self.n_sections {
                let n_runs = (check.n_runs() + n - 1 - index as u64) / n;
                let mut sum = self.blocks.read(index);
                let expected = combined_operands(self.by, ROOT, 0..n_ranks, n_runs, &sum);
                check.bytes(&mut sum, &expected, "the sum");
            }
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
        axes: &[AGGREGATE_FIRST, BY_SECTIONS, BY_ELEMENT, VECTORS],
        series: &[Series::of("accumulation", Quantity::OpTime, Definition::LoopMean)],
        timing: Timing::Pipelined,
        completes_each,
        admits: |case, _| reducer(case).map(drop),
        bytes_per_rank: |case, _| bytes_of_blocks(case, 2 * n_sections(case) as u64),
        is_movable: false,
        ..KernelInfo::collective("imb-ext")
    };
    type Part = Vectors<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (n_sections, length) = (n_sections(case), case.length(&LENGTH_BYTES));
        let part = Vectors {
            blocks: Blocks::new(cx, length, [n_sections; 2], Memory::Created)?,
            by: reducer(case).unwrap_or(Reducer::SUM),
            is_aggregate: case.value(&AGGREGATE) == 1,
            n_sections,
            next: 0,
            is_open: false,
        };
        Ok(Some((Duty::Together, part)))
    }
}
