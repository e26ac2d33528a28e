//! Puts and gets between one rank, or each, and all others.
//!
//! **Source**: IMB 2021, IMB-RMA, `One_put_all`, `One_get_all`, `All_put_all`, `All_get_all`,
//! `Put_all_local`, `Get_all_local`; MPI-4.1 sections 12.3, 12.5.3 and 12.5.4.
//!
//! **Pattern**
//! ```text
//!   one_put_all   rank 0  ---- put --->  parts of ranks 1, 2 ... P-1
//!   all_put_all   rank r  ---- put --->  parts of ranks r+1, r+2 ... P-1, 0 ... r-1
//!   *_get_*       as these, from the parts to the origin
//!   *_local       as one_*, ended on the side of rank 0 alone (a local flush of all)
//! ```
//! **Timed** (rank 0; all ranks in all_*): the transfers of all repetitions, and one flush of
//! all after them. The window is made and all ranks are locked before.
//!
//! **Reports**: mean time of P-1 transfers in a loop: on rank 0, or on the slowest rank.
//!
//! **Rate**: (P-1) x `length_bytes` / time in one_* and *_local, none in all_*.
//!
//! **Parameters**: `length_bytes` of a transfer.
//!
//! **Verified by**: contents of the parts or of the origin after the locks have ended; canaries
//! on both sides of both.
//!
//! **Caution**: all transfers to a rank go to one place, as in IMB, and so do all gets: they
//! have the same data, since nobody knows which is the last.

use comet_core::kernel::prelude::*;
use comet_core::window::Memory;

use crate::axes::DOUBLING;
use crate::window::{Blocks, bytes_of_blocks};

/// One of the kernels: puts or (`GETS`) gets, of rank 0 or (`ALL`) of each, ended on both sides or (`LOCAL`)
/// on one.
pub(crate) struct All<const GETS: bool, const ALL: bool, const LOCAL: bool>;

/// One rank's side.
pub(crate) struct Side<T: Transport, const GETS: bool, const LOCAL: bool> {
    blocks: Blocks<T>,
    /// True if this rank makes transfers, and true if another one does.
    is_origin: bool,
    is_target: bool,
}

/// The data of every transfer.
fn seed(seeds: Seeds) -> u64 {
    seeds.of(1, 0)
}

impl<T: Transport, const GETS: bool, const LOCAL: bool> Operation<T> for Side<T, GETS, LOCAL> {
    fn fill(&mut self, seeds: Seeds) {
        let seed = seed(seeds);
        let fill: [fn(&mut [u8], u64); 2] = [pattern::fill, pattern::spoil];
        let [of_part, of_origin] = if GETS { fill } else { [fill[1], fill[0]] };
        self.blocks.write(0, |part| of_part(part, seed));
        of_origin(self.blocks.origin(0), seed);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()?;
        if self.is_origin { self.blocks.window().lock_all() } else { Ok(()) }
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        if !self.is_origin {
            return Ok(());
        }
        let (window, rank) = (self.blocks.window(), self.blocks.rank());
        let n_ranks = window.n_ranks();
        for target in (rank + 1..n_ranks).chain(0..rank) {
            let (own, other) = (self.blocks.own(0), self.blocks.of(target, 0));
            if GETS { window.get(own, other)? } else { window.put(own, other)? }
        }
        Ok(())
    }

    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        let window = self.blocks.window();
        match (self.is_origin, LOCAL) {
            (false, _) => Ok(()),
            (true, false) => window.flush_all(),
            (true, true) => window.flush_local_all(),
        }
    }

    fn end(&mut self, t: &T) -> Result<()> {
        if self.is_origin {
            self.blocks.window().unlock_all()?;
        }
        t.barrier()
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = seed(check.seeds());
        if GETS && self.is_origin {
            check.message(self.blocks.origin(0), seed, "what was got from another part");
        } else if !GETS && self.is_target {
            check.message(&mut self.blocks.read(0), seed, "what another rank has put");
        }
        self.blocks.check(check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

impl<T, const GETS: bool, const ALL: bool, const LOCAL: bool> Pattern<T> for All<GETS, ALL, LOCAL>
where
    T: Transport,
{
    const INFO: KernelInfo = KernelInfo {
        name: match (GETS, ALL, LOCAL) {
            (false, false, false) => "one_put_all",
            (true, false, false) => "one_get_all",
            (false, true, _) => "all_put_all",
            (true, true, _) => "all_get_all",
            (false, false, true) => "put_all_local",
            (true, false, true) => "get_all_local",
        },
        file: include_str!("all.rs"),
        summary: match (GETS, ALL, LOCAL) {
            (false, false, false) => "Puts of rank 0 into the parts of all others",
            (true, false, false) => "Gets of rank 0 from the parts of all others",
            (false, true, _) => "Puts of each rank into the parts of all others",
            (true, true, _) => "Gets of each rank from the parts of all others",
            (false, false, true) => "Puts of rank 0 into all other parts, ended on rank 0 alone",
            (true, false, true) => "Gets of rank 0 from all other parts, ended on rank 0 alone",
        },
        aliases: match (GETS, ALL, LOCAL) {
            (false, false, false) => &["IMB-RMA:One_put_all"],
            (true, false, false) => &["IMB-RMA:One_get_all"],
            (false, true, _) => &["IMB-RMA:All_put_all"],
            (true, true, _) => &["IMB-RMA:All_get_all"],
            (false, false, true) => &["IMB-RMA:Put_all_local"],
            (true, false, true) => &["IMB-RMA:Get_all_local"],
        },
        class: if ALL { Class::Collective } else { Class::PointToPoint },
        participants: Participants::All,
        axes: &[DOUBLING],
        series: &[Series::of(
            "transfers",
            Quantity::OpTime,
            if ALL { Definition::LoopMean } else { Definition::TestNode },
        )
        .moving(|case, world| {
            let n = if ALL { None } else { Some(world.n_ranks as u64 - 1) };
            n.map(|n| n * case.value(&LENGTH_BYTES))
        })],
        timing: Timing::Pipelined,
        bytes_per_rank: |case, _| bytes_of_blocks(case, 2),
        is_movable: false,
        ..KernelInfo::collective("imb-rma")
    };
    type Part = Side<T, GETS, LOCAL>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let rank = cx.rank();
        let part = Side {
            blocks: Blocks::new(cx, case.length(&LENGTH_BYTES), [1, 1], Memory::Created)?,
            is_origin: ALL || rank == 0,
            is_target: ALL || rank > 0,
        };
        let duty = match (ALL, rank) {
            (true, _) => Duty::Together,
            (false, 0) => Duty::Times,
            _ => Duty::Follows,
        };
        Ok(Some((duty, part)))
    }
}
