//! The suite `imb-ext`: the Intel MPI Benchmarks of windows whose epochs are fences.

pub mod accumulate;
pub mod pairs;
pub mod window;

use comet_core::kernel::prelude::*;

use crate::Suite;
use accumulate::Accumulate;
use pairs::Pair;
use window::Whole;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(Whole),
            &Timed(Pair::<false, false>),
            &Timed(Pair::<true, false>),
            &Timed(Pair::<false, true>),
            &Timed(Pair::<true, true>),
            &Timed(Accumulate),
        ]
    }
}
