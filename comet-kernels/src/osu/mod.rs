//! The suite `osu`: the OSU micro-benchmarks that no other suite has.

pub mod bibw;
pub mod bw;

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const { &[&Timed(bw::Bw), &Timed(bibw::Bibw)] }
}
