//! The suite `imb-p2p`: the Intel MPI Benchmarks of messages between all ranks.

pub mod corandom;
mod draws;
pub(crate) mod halo;
pub mod pairs;
pub mod random;
pub mod replace;
mod slot;
pub mod stencil;

use comet_core::kernel::prelude::*;

use crate::Suite;
use corandom::Corandom;
use halo::Halo;
use pairs::{PingPing, PingPong};
use random::Random;
use replace::Replace;
use stencil::Stencil;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(PingPong),
            &Timed(PingPing),
            &Timed(Random::<false>),
            &Timed(Random::<true>),
            &Timed(Corandom),
            &Timed(Stencil::<2>),
            &Timed(Stencil::<3>),
            &Timed(Replace),
            &Timed(Halo),
        ]
    }
}

/// A round of all ranks, timed in a loop, in which every rank sends `N` messages.
const fn round<const N: u64>(rates: &'static [Rate]) -> Series {
    Series::of("round", Quantity::OpTime, Definition::LoopMean)
        .moving(|case, world| Some(N * world.n_ranks as u64 * case.value(&LENGTH_BYTES)))
        .rated(rates)
}

/// Messages of a round in which every rank sends one.
const ONE_OF_EACH: [Rate; 1] = [Rate {
    kind: RateKind::Messages,
    formula: "P / time",
    per_op: |_, world| world.n_ranks as f64,
}];

/// Facts that all kernels of the suite share.
const SUITE: KernelInfo = KernelInfo {
    axes: &[crate::axes::DOUBLING],
    timing: Timing::Pipelined,
    bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(2),
    messages_per_op: |_, world| world.n_ranks as u64,
    is_touchable: true,
    has_layouts: true,
    is_packed: true,
    ..KernelInfo::collective("imb-p2p")
};
