//! The suite `imb-io`: the Intel MPI Benchmarks of files.

mod numbered;
pub mod open_close;
pub mod overlap;
mod side;
mod spec;
pub mod transfer;

use comet_core::kernel::prelude::*;

use crate::Suite;
use open_close::OpenClose;
use overlap::Overlap;
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
            &Timed(Overlap::<0>),
            &Timed(Overlap::<1>),
            &Timed(Overlap::<2>),
            &Timed(Overlap::<3>),
            &Timed(Overlap::<4>),
            &Timed(Overlap::<5>),
            &Timed(Overlap::<6>),
            &Timed(Overlap::<7>),
            &Timed(Overlap::<8>),
            &Timed(Overlap::<9>),
            &Timed(Overlap::<10>),
            &Timed(Overlap::<11>),
            &Timed(Overlap::<12>),
            &Timed(Overlap::<13>),
            &Timed(Overlap::<14>),
            &Timed(Overlap::<15>),
            &Timed(Overlap::<16>),
            &Timed(Overlap::<17>),
        ]
    }
}
