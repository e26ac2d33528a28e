//! The suite `imb-io`: the Intel MPI Benchmarks of files.

pub mod open_close;
pub mod transfer;

use comet_core::kernel::prelude::*;

use crate::Suite;
use open_close::OpenClose;
use transfer::Transfer;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(OpenClose),
            &Timed(Transfer::<0>),
            &Timed(Transfer::<1>),
            &Timed(Transfer::<2>),
            &Timed(Transfer::<3>),
            &Timed(Transfer::<4>),
            &Timed(Transfer::<5>),
            &Timed(Transfer::<6>),
            &Timed(Transfer::<7>),
            &Timed(Transfer::<8>),
            &Timed(Transfer::<9>),
            &Timed(Transfer::<10>),
            &Timed(Transfer::<11>),
            &Timed(Transfer::<12>),
            &Timed(Transfer::<13>),
            &Timed(Transfer::<14>),
            &Timed(Transfer::<15>),
            &Timed(Transfer::<16>),
            &Timed(Transfer::<17>),
        ]
    }
}
