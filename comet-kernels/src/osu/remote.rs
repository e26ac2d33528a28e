//! Puts and gets between two ranks, by themselves or in windows of several.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_put_latency`, `osu_get_latency`, `osu_put_bw`,
//! `osu_get_bw`, `osu_put_bibw`; MPI-4.1 sections 12.3 and 12.5.
//!
//! **Pattern**, W transfers in a window of messages, of which a latency has one
//! ```text
//!   put_*      rank 0  ---- put --->  part of rank 1        get_*   rank 0  <--- get ---- rank 1
//!   put_bibw   rank 0  <--- put --->  rank 1, both at once
//!   lock, lock_all        lock, W transfers, unlock
//!   flush, flush_local    W transfers, flush; rank 1 is locked before
//!   pscw     latency      rank 0: start, transfer, complete, post, wait
//!                         rank 1: post, wait, start, transfer, complete
//!            bandwidth    rank 0: start, W transfers, complete        rank 1: post, wait
//!            put_bibw     both:   post, start, W puts, complete, wait
//!   fence    latency      fence, transfer of rank 0, fence, transfer of rank 1, fence
//!            others       fence, W transfers, fence
//! ```
//! **Timed** (rank 0): the calls above. The window of memory is made before.
//!
//! **Reports**: time of a latency, half of it by pscw and fence, where both ranks transfer in
//! turn; time of a window.
//!
//! **Rate**: `length_bytes` / time; W x `length_bytes` / time, and twice that of put_bibw.
//!
//! **Parameters**: `memory` of the parts (`MPI_Win_create`, `_allocate` or `_create_dynamic`);
//! `sync`, the calls about the transfers, pscw and fence alone in put_bibw; `window`, which is W
//! (64 in OSU); `length_bytes` of one transfer.
//!
//! **Verified by**: other test data of each rank and transfer; contents of the part or of the
//! origin after the last epoch; canaries on both sides of both.
//!
//! **Caution**: after a local flush a put may be under way still. OSU reads its clock behind the
//! first start of pscw; here each start lies within. In each repetition of a latency OSU reads it
//! twice for its percentiles, which its mean contains (40 ns on some machines), and this one does
//! not. All windows begin at the same place.

use comet_core::kernel::prelude::*;
use comet_core::window::{Lock, Memory};

use super::epochs::{ALLOCATED, BY_FLUSH, BY_PEERS, Epochs, MEMORY, Order, SYNC, Sync, n_turns};
use super::messages::Shape;
use crate::axes::{OF_WINDOWS, WINDOW_OF_OSU};
use crate::rates;
use crate::window::{Blocks, Ends, bytes_of_blocks};

/// One of the kernels: puts or (`GETS`) gets, number `KIND` of the three below.
pub(crate) struct Remote<const GETS: bool, const KIND: usize>;

const LATENCY: usize = 0;
const BANDWIDTH: usize = 1;
const BOTH_WAYS: usize = 2;

/// One rank's side.
pub(crate) struct Side<T: Transport, const GETS: bool> {
    /// One block, with all transfers of a window.
    blocks: Blocks<T>,
    ends: Ends,
    epochs: Epochs<T>,
    length_bytes: usize,
    n_transfers: usize,
}

impl<T: Transport, const GETS: bool> Operation<T> for Side<T, GETS> {
    fn fill(&mut self, seeds: Seeds) {
        self.ends.fill::<GETS, T>(&mut self.blocks, seeds);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        self.epochs.begin(t, self.blocks.window())
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        let Self { blocks, ends, epochs, length_bytes, n_transfers } = self;
        epochs.run(blocks.window(), || {
            ends.start_each::<GETS, T>(blocks, *length_bytes, *n_transfers)
        })
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.epochs.end(t, self.blocks.window())
    }

    fn check(&mut self, check: &mut Checker) {
        self.ends.check::<GETS, T>(&mut self.blocks, check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

/// Transfers of a run of `case`.
fn n_transfers(case: &Case) -> u64 {
    case.find(&WINDOW).unwrap_or(1)
}

/// Refuses `case` on a rank alone, empty windows, and locks where both ranks transfer at once.
fn admit<const KIND: usize>(case: &Case, world: &World<'_>) -> Result<(), String> {
    match Sync::of(case) {
        _ if KIND == LATENCY => world.require_ranks(2),
        sync if KIND == BOTH_WAYS && !sync.is_active() => {
            let sync = SYNC.label(case.value(&SYNC)).unwrap_or_default();
            Err(format!("both ranks put at once by pscw or fence, not by {sync} (use sync=pscw)"))
        }
        _ => Shape::admit(case, world),
    }
}

impl<T: Transport, const GETS: bool, const KIND: usize> Pattern<T> for Remote<GETS, KIND> {
    const INFO: KernelInfo = KernelInfo {
        name: match (GETS, KIND) {
            (false, LATENCY) => "put_latency",
            (true, LATENCY) => "get_latency",
            (false, BANDWIDTH) => "put_bw",
            (true, BANDWIDTH) => "get_bw",
            _ => "put_bibw",
        },
        file: include_str!("remote.rs"),
        summary: match (GETS, KIND) {
            (false, LATENCY) => "Puts of rank 0 into the part of rank 1, each in an epoch",
            (true, LATENCY) => "Gets of rank 0 from the part of rank 1, each in an epoch",
            (false, BANDWIDTH) => "Windows of puts of rank 0 into the part of rank 1",
            (true, BANDWIDTH) => "Windows of gets of rank 0 from the part of rank 1",
            _ => "Windows of puts of two ranks into the part of the other at once",
        },
        class: if KIND == BOTH_WAYS { Class::Exchange } else { Class::PointToPoint },
        aliases: match (GETS, KIND) {
            (false, LATENCY) => &["OSU:osu_put_latency"],
            (true, LATENCY) => &["OSU:osu_get_latency"],
            (false, BANDWIDTH) => &["OSU:osu_put_bw"],
            (true, BANDWIDTH) => &["OSU:osu_get_bw"],
            _ => &["OSU:osu_put_bibw"],
        },
        axes: match KIND {
            LATENCY => &[ALLOCATED, BY_FLUSH, OF_WINDOWS],
            BANDWIDTH => &[ALLOCATED, BY_FLUSH, WINDOW_OF_OSU, OF_WINDOWS],
            _ => &[ALLOCATED, BY_PEERS, WINDOW_OF_OSU, OF_WINDOWS],
        },
        series: match KIND {
            LATENCY => &[Series::on_test_node("transfer")
                .moving(|case, _| Some(case.value(&LENGTH_BYTES)))
                .in_turns(n_turns)],
            BANDWIDTH => &[Series::on_test_node("window")
                .moving(|case, _| Some(case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
                .rated(&rates::WINDOW_ONE_WAY)],
            _ => &[Series::on_test_node("window_both")
                .moving(|case, _| Some(2 * case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
                .rated(&rates::WINDOW_BOTH_WAYS)],
        },
        n_ranks: Some(2),
        // Rank 1 waits for no answer where it is one window behind.
        timing: if KIND == BANDWIDTH { Timing::Pipelined } else { Timing::Batched },
        admits: admit::<KIND>,
        bytes_per_rank: |case, _| bytes_of_blocks(case, n_transfers(case).saturating_mul(2)),
        is_movable: false,
        ..KernelInfo::pair("osu")
    };
    type Part = Side<T, GETS>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let order = [Order::InTurns, Order::OneWay, Order::AtOnce][KIND];
        let (sync, memory) = (Sync::of(case), Memory::ALL[case.length(&MEMORY)]);
        let length_bytes = case.length(&LENGTH_BYTES);
        let n_transfers = case.find(&WINDOW).map_or(1, |_| case.length(&WINDOW));
        let blocks = Blocks::new(cx, n_transfers * length_bytes, [1, 1], memory)?;
        let part = Side {
            ends: order.ends(cx.rank(), sync),
            epochs: Epochs::new(&blocks, sync, order, Lock::Shared)?,
            blocks,
            length_bytes,
            n_transfers,
        };
        Ok(Some((if cx.rank() == 0 { Duty::Times } else { Duty::Follows }, part)))
    }
}
