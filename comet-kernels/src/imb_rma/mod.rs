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
        &[
            &Timed(Pair::<false, false, false>),
            &Timed(Pair::<true, false, false>),
            &Timed(Pair::<false, true, false>),
            &Timed(Pair::<true, true, false>),
            &Timed(Pair::<false, false, true>),
            &Timed(Pair::<true, false, true>),
            &Timed(All::<false, false, false>),
            &Timed(All::<true, false, false>),
            &Timed(All::<false, true, false>),
            &Timed(All::<true, true, false>),
            &Timed(All::<false, false, true>),
            &Timed(All::<true, false, true>),
            &Timed(Exchange::<false>),
            &Timed(Exchange::<true>),
            &Timed(Combining::<0>),
            &Timed(Combining::<1>),
            &Timed(Combining::<2>),
            &Timed(Combining::<3>),
            &Timed(TrulyPassive),
        ]
    }
}
