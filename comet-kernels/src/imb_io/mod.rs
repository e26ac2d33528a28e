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
        timed![
            OpenClose,
            Transfer::<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17>,
            Overlap::<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17>,
        ]
    }
}
