//! Puts into the part of a rank that computes: whether they end without its help.
//!
//! **Source**: IMB 2021, IMB-RMA, `Truly_passive_put`; MPI-4.1 section 12.7.3.
//!
//! **Pattern**
//! ```text
//!               rank 0                                   rank 1
//!   pure        put into the part of rank 1, flush, barrier      barrier
//!   overlapped  put into the part of rank 1, flush, barrier      work, barrier
//! ```
//! **Timed** (rank 0): a loop of one line of the drawing. The window is made and the rank is locked
//! before.
//!
//! **Reports**: the times t_pure and t_ovrl of one round. The work takes about t_pure. From their
//! medians follows the share of the work for which a put waits, (t_ovrl - t_pure) / t_pure: about 1
//! if nothing moves while rank 1 works, and if puts are truly passive the share of the barrier in
//! t_pure, which is near 0 for long transfers.
//!
//! **Rate**: `length_bytes` / time, of both.
//!
//! **Parameters**: `length_bytes` of a put.
//!
//! **Verified by**: other test data in each series; contents of the part after the lock has ended;
//! canaries on both sides of part and origin; the value to which the rounds of the work have come.
//!
//! **Caution**: the work is as long as the rounds before it were on average, in each slice by
//! itself; a rank that shares its core computes later than it is told to, and the puts wait longer.

use comet_core::busy::Busy;
use comet_core::collective;
use comet_core::kernel::prelude::*;
use comet_core::window::{Lock, Memory};

use crate::axes::DOUBLING;
use crate::window::{Blocks, Ends, bytes_of_blocks};

/// Numbers of the series.
const PURE: usize = 0;
const OVERLAPPED: usize = 1;

/// Work beside a put of which no time is known yet, in nanoseconds.
const UNKNOWN_NS: u64 = 1000;

/// `imb-rma/truly_passive_put`; see the [module](self).
pub(crate) struct TrulyPassive;

/// One rank's side of one series.
pub(crate) struct Side<T: Transport> {
    blocks: Blocks<T>,
    ends: Ends,
    /// The work of rank 1.
    busy: Option<Busy>,
}

impl<T: Transport> Operation<T> for Side<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.ends.fill::<false, T>(&mut self.blocks, seeds);
        self.busy.iter_mut().for_each(Busy::reset);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()?;
        self.ends.target.map_or(Ok(()), |target| self.blocks.window().lock(target, Lock::Shared))
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if let Some(target) = self.ends.target {
            self.ends.start::<false, T>(&self.blocks, 0)?;
            self.blocks.window().flush(target)?;
        }
        if let Some(busy) = &mut self.busy {
            busy.run(t);
        }
        t.barrier()
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.ends.target.map_or(Ok(()), |target| self.blocks.window().unlock(target))?;
        t.barrier()
    }

    fn check(&mut self, check: &mut Checker) {
        self.ends.check::<false, T>(&mut self.blocks, check);
        if let Some(busy) = &self.busy {
            busy.check_after(check.n_runs(), check);
        }
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

/// Length of the work beside the puts: the mean of the rounds of rank 0 without any.
fn work_ns<T: Transport>(cx: &Context<'_, T>) -> Result<u64> {
    let own = cx.mean_ns(PURE).unwrap_or(UNKNOWN_NS);
    Ok(collective::share(cx.transport(), [own])?[0][0])
}

impl<T: Transport> Pattern<T> for TrulyPassive {
    const INFO: KernelInfo = KernelInfo {
        name: "truly_passive_put",
        file: include_str!("passive.rs"),
        summary: "Puts into the part of a rank that waits, and of one that computes",
        aliases: &["IMB-RMA:Truly_passive_put"],
        axes: &[DOUBLING],
        series: &[
            Series::on_test_node("pure").moving(|case, _| Some(case.value(&LENGTH_BYTES))),
            Series::on_test_node("overlapped").moving(|case, _| Some(case.value(&LENGTH_BYTES))),
        ],
        n_ranks: Some(2),
        bytes_per_rank: |case, _| bytes_of_blocks(case, 2),
        admits: |_, world| world.require_ranks(2),
        is_movable: false,
        ..KernelInfo::pair("imb-rma")
    };
    type Part = Side<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let work_ns = if series == OVERLAPPED { Some(work_ns(cx)?) } else { None };
        let ends = Ends::of_first_two(cx.rank(), |rank| rank == 0);
        let part = Side {
            blocks: Blocks::new(cx, case.length(&LENGTH_BYTES), [1, 1], Memory::Created)?,
            ends,
            busy: work_ns.filter(|_| ends.origin.is_some()).map(|ns| cx.busy(ns)),
        };
        Ok(Some((if ends.target.is_some() { Duty::Times } else { Duty::Follows }, part)))
    }

    fn derived(&self, _: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [pure, overlapped] = summaries else { return Vec::new() };
        let (pure, overlapped) = (pure.median, overlapped.median);
        vec![Derived::of(
            "waiting_share",
            "(t_ovrl - t_pure) / t_pure, with the medians of pure and overlapped",
            (pure > 0.0).then(|| (overlapped - pure) / pure),
        )]
    }
}
