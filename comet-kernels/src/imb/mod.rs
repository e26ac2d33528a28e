//! The suite `imb`: the Intel MPI Benchmarks that no other suite has; none yet.

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const { &[] }
}
