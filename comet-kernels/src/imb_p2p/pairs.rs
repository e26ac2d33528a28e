//! Pairs: time of messages of all pairs at once, between the first half of the ranks and the second.
//!
//! **Source**: IMB 2021, IMB-P2P, `PingPong`, `PingPing`.
//!
//! **Pattern**, for each rank r of the first half of P ranks, all pairs at once
//! ```text
//!   pingpong   rank r  --OUT-->   rank r + P/2    blocked sends, blocked receives
//!                      <-BACK--
//!   pingping   rank r  --OUT-->   rank r + P/2    each posts its receive, sends, and waits for the
//!                      <-BACK--                   receive
//! ```
//! **Timed** (all ranks): one round trip, or the three calls, in a loop. Buffers and test data are
//! made before.
//!
//! **Reports**: mean time in a loop on the slowest rank, of half a round trip (pingpong) or of the
//! three calls (pingping).
//!
//! **Rate**: P/2 (pingpong) or P (pingping) x `length_bytes` / time, of all pairs together.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents, source and length of every message;
//! canaries about the buffers of pingping.
//!
//! **Caution**: the number of ranks is even. IMB-P2P prints as t the mean over the ranks, and
//! touches messages unless told otherwise (`--buffers touched:lines`).

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use super::slot::{Beside, Slot};
use super::{ONE_OF_EACH, SUITE, round};
use crate::pattern::Bounce;

/// `imb-p2p/pingpong`; see the [module](self).
pub(crate) struct PingPong;

/// `imb-p2p/pingping`; see the [module](self).
pub(crate) struct PingPing;

/// Refuses ranks of which one has no partner.
fn admit(_: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    match world.n_ranks {
        n if n % 2 == 0 => Ok(()),
        n => Err(format!(
            "pairs of all ranks need an even number of them, there are {n} (ask for -n {})",
            n + 1
        )),
    }
}

/// The side of this rank.
fn side<T: Transport>(cx: &Context<'_, T>) -> Option<Side> {
    cx.side(Pairing::Halves(cx.transport().n_ranks() / 2))
}

impl<T: Transport> Pattern<T> for PingPong {
    const INFO: KernelInfo = KernelInfo {
        name: "pingpong",
        file: include_str!("pairs.rs"),
        summary: "Half round trips of all pairs at once, between two halves of the ranks",
        aliases: &["IMB-P2P:PingPong"],
        series: &[Series::of("trip", Quantity::OneWayTime, Definition::LoopMean)
            .moving(|case, world| Some(world.n_ranks as u64 / 2 * case.value(&LENGTH_BYTES)))
            .rated(&[Rate {
                kind: RateKind::Messages,
                formula: "P/2 / time",
                per_op: |_, world| world.n_ranks as f64 / 2.0,
            }])],
        admits: admit,
        ..SUITE
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx) else { return Ok(None) };
        Ok(Some((Duty::Together, Bounce::new(cx, side, case.length(&LENGTH_BYTES))?)))
    }
}

/// One side of two messages that cross.
pub(crate) struct Crossed<B> {
    slot: Slot<B>,
    peer: Rank,
}

impl<T: Transport> Operation<T> for Crossed<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        self.slot.fill(seeds, self.peer);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.slot.exchange(t, [self.peer; 2], &mut Beside::Nothing)
    }

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        self.slot.exchange(t, [self.peer; 2], &mut Beside::Touch(touch))
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.slot.exchange(t, [self.peer; 2], &mut Beside::Packing(packing))
    }

    fn check(&mut self, check: &mut Checker) {
        self.slot.check(check);
    }
}

impl<T: Transport> Pattern<T> for PingPing {
    const INFO: KernelInfo = KernelInfo {
        name: "pingping",
        file: include_str!("pairs.rs"),
        summary: "Messages both ways of all pairs at once, between two halves of the ranks",
        aliases: &["IMB-P2P:PingPing"],
        series: &[round::<1>(&ONE_OF_EACH)],
        admits: admit,
        ..SUITE
    };
    type Part = Crossed<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(Side { peer, .. }) = side(cx) else { return Ok(None) };
        let slot = Slot::new(cx, case.length(&LENGTH_BYTES))?;
        Ok(Some((Duty::Together, Crossed { slot, peer })))
    }
}
