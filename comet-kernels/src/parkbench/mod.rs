//! The suite `parkbench`: the low-level communication kernels of PARKBENCH, each beside its baseline.

pub mod comms1;
pub mod comms2;
pub mod comms3;
pub mod poly1;
pub mod poly3;
pub mod synch1;

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(comms1::Comms1),
            &Timed(comms2::Comms2),
            &Timed(comms3::Comms3),
            &Timed(poly1::Poly1),
            &Timed(poly3::Poly3),
            &Timed(synch1::Synch1),
        ]
    }
}
