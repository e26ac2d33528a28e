//! The suite `comet`: the low-level kernels of the thesis, in its order (sections 3.3.1 to 3.3.7).

pub mod barrier;
pub mod broadcast;
pub mod contention;
pub mod echo;
pub mod exchange;
pub mod overlap;
pub mod reduction;

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(echo::Echo),
            &Timed(exchange::Exchange),
            &Timed(broadcast::Broadcast::<false>),
            &Timed(reduction::Reduction::<false>),
            &Timed(barrier::Barrier::<false>),
            &Timed(contention::Contention),
            &Timed(overlap::Overlap),
        ]
    }
}
