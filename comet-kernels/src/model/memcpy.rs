//! Memory copy: rate at which ranks copy memory without any message, a bound for the rates of messages
//! on one node.
//!
//! **Source**: memory copy as type 23 of `SKaMPI`; rule 11 of Hoefler and Belli, "Scientific
//! Benchmarking of Parallel Computing Systems" (2015): a rate is shown with its upper bound.
//!
//! **Pattern**
//! ```text
//!   each rank   from  --copy-->  to        two buffers of the transport; no messages
//! ```
//! **Timed**: a loop of copies. In the series `all_ranks` all ranks copy at once, after one barrier;
//! in `one_rank` rank 0 copies alone, and the others are idle.
//!
//! **Reports**: time of a copy, on the slowest rank where all copy. Each byte is read once and written
//! once, so that the traffic of the memory is at least twice the rate.
//!
//! **Rate**: `length_bytes` / time, of one rank.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: contents of the target on each rank, which was spoiled before.
//!
//! **Caution**: as in other kernels, the buffers are those of the operation before: a copy that fits
//! into a cache is one from that cache, unless `--buffers` moves it. Ranks that share a core share
//! its rate.

use std::hint::black_box;

use comet_core::kernel::prelude::*;
use comet_core::transport::Work;

use crate::axes;

/// `model/memcpy`; see the [module](self).
pub(crate) struct Memcpy;

/// Number of the series in which all ranks copy.
const ALL_RANKS: usize = 0;

/// Source and target of one rank.
pub(crate) struct Copy<B> {
    rank: Rank,
    from: B,
    to: B,
    /// True if other ranks copy at the same time, and none goes on before all have ended.
    is_joint: bool,
}

impl<T: Transport> Operation<T> for Copy<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let seed = seeds.of(0, self.rank);
        pattern::fill(&mut self.from, seed);
        pattern::spoil(&mut self.to, seed);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { from, to, .. } = self;
        t.compute(Work::copy(from.len()), || {
            // The black boxes make source and target unknown, so that no copy is left out.
            to.copy_from_slice(black_box(&from[..]));
            black_box(&mut to[..]);
        });
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(0, self.rank);
        check.message(&mut self.to, seed, "the copy");
    }

    fn end(&mut self, t: &T) -> Result<()> {
        if self.is_joint { t.barrier() } else { Ok(()) }
    }
}

impl<T: Transport> Pattern<T> for Memcpy {
    const INFO: KernelInfo = KernelInfo {
        name: "memcpy",
        file: include_str!("memcpy.rs"),
        participants: Participants::All,
        summary: "Copies of memory by all ranks at once and by one, a bound for messages",
        aliases: &["SKaMPI:23"],
        evaluation: Evaluation::MemoryCopy,
        axes: &[axes::MESSAGE_LENGTHS],
        series: &[
            Series::of("all_ranks", Quantity::OpTime, Definition::LoopMean)
                .moving(|case, _| Some(case.value(&LENGTH_BYTES))),
            Series::on_test_node("one_rank").moving(|case, _| Some(case.value(&LENGTH_BYTES))),
        ],
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(2),
        ..KernelInfo::compute("model")
    };
    type Part = Copy<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let (rank, is_joint) = (cx.rank(), series == ALL_RANKS);
        if rank != cx.root() && !is_joint {
            return Ok(None);
        }
        let length_bytes = case.length(&LENGTH_BYTES);
        let (from, to) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
        Ok(Some((Duty::Times, Copy { rank, from, to, is_joint })))
    }
}
