//! Life of a window: time to make one, to use it, and to free it.
//!
//! **Source**: IMB 2021, IMB-EXT, `Window`; MPI-4.1 sections 12.2.1, 12.2.5 and 12.5.1.
//!
//! **Pattern**
//! ```text
//!   all ranks    create -- fence -- put of one byte to itself -- fence -- free
//! ```
//! **Timed** (all ranks): the five calls, in a loop. The memory is made before. An empty window
//! has no put.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of the part of each rank.
//!
//! **Verified by**: the byte that was put.
//!
//! **Caution**: the put keeps a library from leaving out what nobody uses. It is no measure of
//! one.

use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Memory, Remote, Window};

use crate::axes::DOUBLING;

/// `imb-ext/window`; see the [module](self).
pub(crate) struct Whole;

/// A window of one rank, which is open for the time of an operation.
pub(crate) struct Life<T: Transport> {
    window: Window<T>,
    rank: Rank,
    length: usize,
}

/// Bytes that are put.
const PUT: std::ops::Range<usize> = 0..1;

impl<T: Transport> Operation<T> for Life<T> {
    fn fill(&mut self, seeds: Seeds) {
        let seed = seeds.of(1, self.rank);
        pattern::fill(self.window.origin(), seed);
        if self.length > 0 {
            let mut byte = [0];
            pattern::spoil(&mut byte, seed);
            self.window.write(0, &byte);
        }
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        self.window.open()?;
        self.window.fence(Fence::Between)?;
        if self.length > 0 {
            self.window.put(PUT, Remote { rank: self.rank, at: 0 })?;
        }
        self.window.fence(Fence::Between)?;
        self.window.close()
    }

    fn check(&mut self, check: &mut Checker) {
        let mut byte = vec![0; PUT.end.min(self.length)];
        self.window.read(0, &mut byte);
        let seed = check.seeds().of(1, self.rank);
        check.message(&mut byte, seed, "the part of a window");
    }
}

impl<T: Transport> Pattern<T> for Whole {
    const INFO: KernelInfo = KernelInfo {
        name: "window",
        file: include_str!("window.rs"),
        summary: "A window is made, used once and freed",
        aliases: &["IMB-EXT:Window"],
        class: Class::Synchronisation,
        axes: &[DOUBLING],
        series: &[Series::of("life", Quantity::OpTime, Definition::LoopMean)],
        timing: Timing::Pipelined,
        admits: |_, _| Ok(()),
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_add(1),
        is_movable: false,
        ..KernelInfo::collective("imb-ext")
    };
    type Part = Life<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (rank, length) = (cx.rank(), case.length(&LENGTH_BYTES));
        let window = cx.window(length, PUT.end, Memory::Created)?;
        Ok(Some((Duty::Together, Life { window, rank, length })))
    }
}
