//! The suite `imb-nbc`: the Intel MPI Benchmarks of collectives in flight.

pub mod collective;

use comet_core::kernel::prelude::*;

use crate::Suite;
use collective::{Overlap, Pure};

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(Overlap::<0>),
            &Timed(Pure::<0>),
            &Timed(Overlap::<1>),
            &Timed(Pure::<1>),
            &Timed(Overlap::<2>),
            &Timed(Pure::<2>),
            &Timed(Overlap::<3>),
            &Timed(Pure::<3>),
            &Timed(Overlap::<4>),
            &Timed(Pure::<4>),
            &Timed(Overlap::<5>),
            &Timed(Pure::<5>),
            &Timed(Overlap::<6>),
            &Timed(Pure::<6>),
            &Timed(Overlap::<7>),
            &Timed(Pure::<7>),
            &Timed(Overlap::<8>),
            &Timed(Pure::<8>),
            &Timed(Overlap::<9>),
            &Timed(Pure::<9>),
            &Timed(Overlap::<10>),
            &Timed(Pure::<10>),
            &Timed(Overlap::<11>),
            &Timed(Pure::<11>),
            &Timed(Overlap::<12>),
            &Timed(Pure::<12>),
        ]
    }
}
