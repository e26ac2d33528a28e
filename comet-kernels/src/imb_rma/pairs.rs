//! Puts and gets between two ranks in a shared lock.
//!
//! **Source**: IMB 2021, IMB-RMA, `Unidir_put`, `Unidir_get`, `Bidir_put`, `Bidir_get`,
//! `Put_local`, `Get_local`; MPI-4.1 sections 12.3, 12.5.3 and 12.5.4.
//!
//! **Pattern**
//! ```text
//!   unidir_put   rank 0  ---- put --->  part of rank 1      rank 1 waits in a barrier
//!   unidir_get   rank 0  <--- get ----  part of rank 1
//!   bidir_*      both ranks at once, each on the part of the other
//!   *_local      as unidir_*, ended on the side of rank 0 alone (a local flush)
//! ```
//! **Timed** (rank 0; both ranks in bidir_*): transfer and flush, or (aggregate) transfers and
//! one flush after all of them. The window is made and the rank is locked before.
//!
//! **Reports**: mean time of a transfer in a loop: on rank 0, or on the slower of both.
//!
//! **Rate**: `length_bytes` / time; of one direction where there are two.
//!
//! **Parameters**: `length_bytes` of a transfer; `aggregate`: a flush after each transfer, or
//! one after all between two clock reads.
//!
//! **Verified by**: other test data of each rank; contents of the part or of the origin after
//! the lock has ended; canaries on both sides of both.
//!
//! **Caution**: all transfers go to one place, as in IMB without `-off_cache`. A library whose
//! targets have to help makes progress in the barrier of rank 1.

use comet_core::kernel::prelude::*;
use comet_core::window::{Lock, Memory};

use crate::axes::DOUBLING;
use crate::window::{AGGREGATE, BY_AGGREGATE, Blocks, Ends, bytes_of_blocks, completes_each};

/// One of the kernels: puts or (`GETS`) gets, of one rank or of `BOTH`, ended on both sides or (`LOCAL`) on
/// one.
pub(crate) struct Pair<const GETS: bool, const BOTH: bool, const LOCAL: bool>;

/// One rank's side.
pub(crate) struct Side<T: Transport, const GETS: bool, const LOCAL: bool> {
    blocks: Blocks<T>,
    ends: Ends,
    is_aggregate: bool,
}

impl<T: Transport, const GETS: bool, const LOCAL: bool> Side<T, GETS, LOCAL> {
    #[inline]
    fn flush(&self, target: Rank) -> Result<()> {
        let window = self.blocks.window();
        if LOCAL { window.flush_local(target) } else { window.flush(target) }
    }
}

impl<T: Transport, const GETS: bool, const LOCAL: bool> Operation<T> for Side<T, GETS, LOCAL> {
    fn fill(&mut self, seeds: Seeds) {
        self.ends.fill::<GETS, T>(&mut self.blocks, seeds);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()?;
        self.ends.target.map_or(Ok(()), |target| self.blocks.window().lock(target, Lock::Shared))
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        self.ends.start::<GETS, T>(&self.blocks, 0)?;
        match self.ends.target {
            Some(target) if !self.is_aggregate => self.flush(target),
            _ => Ok(()),
        }
    }

    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        let target = self.ends.target.filter(|_| self.is_aggregate);
        target.map_or(Ok(()), |target| self.flush(target))
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.ends.target.map_or(Ok(()), |target| self.blocks.window().unlock(target))?;
        t.barrier()
    }

    fn check(&mut self, check: &mut Checker) {
        self.ends.check::<GETS, T>(&mut self.blocks, check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

impl<T, const GETS: bool, const BOTH: bool, const LOCAL: bool> Pattern<T>
    for Pair<GETS, BOTH, LOCAL>
where
    T: Transport,
{
    const INFO: KernelInfo = KernelInfo {
        name: match (GETS, BOTH, LOCAL) {
            (false, false, false) => "unidir_put",
            (true, false, false) => "unidir_get",
            (false, _, false) => "bidir_put",
            (true, _, false) => "bidir_get",
            (false, _, true) => "put_local",
            (true, _, true) => "get_local",
        },
        file: include_str!("pairs.rs"),
        summary: match (GETS, BOTH, LOCAL) {
            (false, false, false) => "Puts of rank 0 into the part of rank 1, ended by flushes",
            (true, false, false) => "Gets of rank 0 from the part of rank 1, ended by flushes",
            (false, _, false) => "Puts of two ranks into the part of the other, ended by flushes",
            (true, _, false) => "Gets of two ranks from the part of the other, ended by flushes",
            (false, _, true) => "Puts of rank 0 into the part of rank 1, ended on rank 0 alone",
            (true, _, true) => "Gets of rank 0 from the part of rank 1, ended on rank 0 alone",
        },
        aliases: match (GETS, BOTH, LOCAL) {
            (false, false, false) => &["IMB-RMA:Unidir_put"],
            (true, false, false) => &["IMB-RMA:Unidir_get"],
            (false, _, false) => &["IMB-RMA:Bidir_put"],
            (true, _, false) => &["IMB-RMA:Bidir_get"],
            (false, _, true) => &["IMB-RMA:Put_local"],
            (true, _, true) => &["IMB-RMA:Get_local"],
        },
        axes: &[BY_AGGREGATE, DOUBLING],
        series: &[Series::of(
            "transfer",
            Quantity::OpTime,
            if BOTH { Definition::LoopMean } else { Definition::TestNode },
        )
        .moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
        n_ranks: Some(2),
        timing: Timing::Pipelined,
        completes_each,
        bytes_per_rank: |case, _| bytes_of_blocks(case, 2),
        admits: |_, world| world.require_ranks(2),
        is_movable: false,
        ..KernelInfo::pair("imb-rma")
    };
    type Part = Side<T, GETS, LOCAL>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let ends = Ends::of_first_two(cx.rank(), |rank| BOTH || rank == 0);
        let part = Side {
            blocks: Blocks::new(cx, case.length(&LENGTH_BYTES), [1, 1], Memory::Created)?,
            ends,
            is_aggregate: case.value(&AGGREGATE) == 1,
        };
        Ok(Some((if ends.target.is_some() { Duty::Times } else { Duty::Follows }, part)))
    }
}
