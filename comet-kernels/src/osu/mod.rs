//! The suite `osu`: the OSU micro-benchmarks that no other suite has.

pub mod bibw;
pub mod bw;
pub mod neighbours;

use comet_core::kernel::prelude::*;

use crate::Suite;
use neighbours::Among;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(bw::Bw),
            &Timed(bibw::Bibw),
            &Timed(Among::<0>),
            &Timed(Among::<1>),
            &Timed(Among::<2>),
            &Timed(Among::<3>),
            &Timed(Among::<4>),
        ]
    }
}
