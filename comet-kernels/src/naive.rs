//! The suite `naive`: the collectives of `comet` over point-to-point messages, as a baseline for
//! those of a transport.

use comet_core::kernel::prelude::*;

use crate::Suite;
use crate::comet::barrier::Barrier;
use crate::comet::broadcast::Broadcast;
use crate::comet::reduction::Reduction;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const { &[&Timed(Broadcast::<true>), &Timed(Reduction::<true>), &Timed(Barrier::<true>)] }
}
