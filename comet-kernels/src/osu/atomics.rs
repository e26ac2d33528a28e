//! Accumulations and swaps between two ranks.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_acc_latency`, `osu_get_acc_latency`,
//! `osu_fop_latency`, `osu_cas_latency`; MPI-4.1 sections 12.3.4 and 12.5.
//!
//! **Pattern**
//! ```text
//!   acc_latency        part of rank 1 += origin of rank 0
//!   get_acc_latency    the same, after what was there has been fetched
//!   fop_latency        the same of one element
//!   cas_latency        one whole number, replaced if it is the expected one, and fetched
//!   lock, lock_all        lock, call, unlock
//!   flush, flush_local    call, flush; rank 1 is locked before
//!   pscw                  rank 0: start, call, complete, post, wait
//!                         rank 1: post, wait, start, call, complete
//!   fence                 fence, call of rank 0, fence, call of rank 1, fence
//! ```
//! **Timed** (rank 0): the calls above. The window is made before.
//!
//! **Reports**: time of a call; half of it by pscw and fence, where both ranks call in turn.
//!
//! **Rate**: `length_bytes` / time of acc_latency and get_acc_latency, none otherwise.
//!
//! **Parameters**: `memory` of the parts (`MPI_Win_create`, `_allocate` or `_create_dynamic`);
//! `sync`, the calls about the operation; `element` of sums and swaps; `length_bytes` of a
//! vector, where there is one.
//!
//! **Verified by**: every element of the part, and of what the last call has fetched; canaries
//! on both sides. 8-bit sums may wrap or end at the greatest integer.
//!
//! **Caution**: locks are exclusive in get_acc_latency, by flushes too, and those about each call
//! of fop_latency and cas_latency, as in OSU. The first swap finds what it expects, and the
//! others do not: in OSU none does where the library makes the memory. OSU reads its clock twice in
//! each repetition, for its percentiles, which its mean contains (40 ns on some machines).

use comet_core::collective::{Element, Reducer};
use comet_core::kernel::ELEMENT;
use comet_core::kernel::prelude::*;
use comet_core::window::{Lock, Memory};

use super::epochs::{ALLOCATED, BY_FLUSH, Epochs, MEMORY, Order, SYNC, Sync, n_turns};
use crate::axes::OF_WINDOWS;
use crate::calls::reducer;
use crate::combining::{ACCUMULATE, COMPARE_AND_SWAP, Calls, FETCH_AND_OP, GET_ACCUMULATE};
use crate::window::Blocks;

/// Kernel number `KIND`, in the order of the pattern above.
pub(crate) struct Atomic<const KIND: usize>;

/// Characters, as in OSU.
const CHARACTERS: AxisUse = AxisUse::of(&ELEMENT, "1");
/// Message buffers and a lock, which OSU has where it names none.
const CREATED: AxisUse = AxisUse::of(&MEMORY, "0");
const BY_LOCK: AxisUse = AxisUse::of(&SYNC, "0");

/// One rank's side.
pub(crate) struct Side<T: Transport, const KIND: usize> {
    blocks: Blocks<T>,
    calls: Calls<KIND>,
    epochs: Epochs<T>,
}

impl<T: Transport, const KIND: usize> Operation<T> for Side<T, KIND> {
    fn fill(&mut self, _: Seeds) {
        self.calls.fill(&mut self.blocks);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        self.epochs.begin(t, self.blocks.window())
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        self.epochs.run(self.blocks.window(), || self.calls.start(&self.blocks))
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.epochs.end(t, self.blocks.window())
    }

    fn check(&mut self, check: &mut Checker) {
        self.calls.check(&mut self.blocks, check, false);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

/// The lock of OSU.
fn lock_of(kind: usize, sync: Sync) -> Lock {
    match (kind, sync) {
        (GET_ACCUMULATE, _) | (FETCH_AND_OP | COMPARE_AND_SWAP, Sync::Lock) => Lock::Exclusive,
        _ => Lock::Shared,
    }
}

/// Refuses `case` on a rank alone, and swaps of elements that are no whole numbers.
fn admit<const KIND: usize>(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    let element = reducer(case)?.element();
    if KIND == COMPARE_AND_SWAP && matches!(element, Element::F32 | Element::F64) {
        let name = element.name();
        return Err(format!("a swap compares whole numbers, not {name} (use element=int)"));
    }
    Ok(())
}

/// Length of a block: a vector, or one element.
fn block_bytes(case: &Case) -> usize {
    case.find(&LENGTH_BYTES)
        .map_or(Element::ALL[case.length(&ELEMENT)].bytes(), |_| case.length(&LENGTH_BYTES))
}

impl<T: Transport, const KIND: usize> Pattern<T> for Atomic<KIND> {
    const INFO: KernelInfo = KernelInfo {
        name: ["acc_latency", "get_acc_latency", "fop_latency", "cas_latency"][KIND],
        file: include_str!("atomics.rs"),
        summary: [
            "Sums of rank 0 into the part of rank 1, each in an epoch",
            "Sums into the part of rank 1, which is fetched before, in epochs",
            "Sums of one element into the part of rank 1, in epochs",
            "Swaps of one element in the part of rank 1, in epochs",
        ][KIND],
        aliases: match KIND {
            ACCUMULATE => &["OSU:osu_acc_latency"],
            GET_ACCUMULATE => &["OSU:osu_get_acc_latency"],
            FETCH_AND_OP => &["OSU:osu_fop_latency"],
            _ => &["OSU:osu_cas_latency"],
        },
        axes: match KIND {
            ACCUMULATE => &[ALLOCATED, BY_FLUSH, CHARACTERS, OF_WINDOWS],
            GET_ACCUMULATE => &[CREATED, BY_LOCK, CHARACTERS, OF_WINDOWS],
            _ => &[ALLOCATED, BY_FLUSH, CHARACTERS],
        },
        series: &[Series::on_test_node("call")
            .moving(|case, _| case.find(&LENGTH_BYTES))
            .in_turns(n_turns)],
        n_ranks: Some(2),
        admits: admit::<KIND>,
        bytes_per_rank: |case, _| {
            let n_blocks = Calls::<KIND>::N_BLOCKS.into_iter().sum::<usize>() as u64;
            n_blocks.saturating_mul(block_bytes(case) as u64)
        },
        is_movable: false,
        ..KernelInfo::pair("osu")
    };
    type Part = Side<T, KIND>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (sync, memory) = (Sync::of(case), Memory::ALL[case.length(&MEMORY)]);
        let ends = Order::InTurns.ends(cx.rank(), sync);
        let blocks = Blocks::new(cx, block_bytes(case), Calls::<KIND>::N_BLOCKS, memory)?;
        let by = reducer(case).unwrap_or(Reducer::SUM);
        let part = Side {
            calls: Calls { by, ends, are_swapped: true },
            epochs: Epochs::new(&blocks, sync, Order::InTurns, lock_of(KIND, sync))?,
            blocks,
        };
        Ok(Some((if cx.rank() == 0 { Duty::Times } else { Duty::Follows }, part)))
    }
}
