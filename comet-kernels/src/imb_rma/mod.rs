//! The suite `imb-rma`: the Intel MPI Benchmarks of windows whose epochs are locks.

pub mod all;
pub mod atomic;
pub mod exchange;
pub mod pairs;
pub mod passive;

use comet_core::kernel::prelude::*;

use crate::Suite;
use all::All;
use atomic::Combining;
use exchange::Exchange;
use pairs::Pair;
use passive::TrulyPassive;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        timed![
            Pair::<false, false, false>,
            Pair::<true, false, false>,
            Pair::<false, true, false>,
            Pair::<true, true, false>,
            Pair::<false, false, true>,
            Pair::<true, false, true>,
            All::<false, false, false>,
            All::<true, false, false>,
            All::<false, true, false>,
            All::<true, true, false>,
            All::<false, false, true>,
            All::<true, false, true>,
            Exchange::<false>,
            Exchange::<true>,
            Combining::<0 | 1 | 2 | 3>,
            TrulyPassive,
        ]
    }
}
