//! The suites `imb-nbc` and `imb-mpi4`: the Intel MPI Benchmarks of collectives in flight, which are started by
//! calls of their own, or prepared once and started again and again.

pub mod collective;

use comet_core::kernel::prelude::*;

use crate::Suite;
use collective::{Overlap, PREPARED, Pure, UNBLOCKED};

/// Makes a function for the kernels of a form, each beside work and alone.
macro_rules! suite {
    ($(#[$doc:meta])* $name:ident $form:ident $($index:literal)*) => {
        $(#[$doc])*
        pub fn $name<T: Transport>() -> Suite<T> {
            const {
                &[$(&Timed(Overlap::<$form, $index>), &Timed(Pure::<$form, $index>)),*]
            }
        }
    };
}

suite! {
    /// The kernels of the suite `imb-nbc`.
    kernels UNBLOCKED 0 1 2 3 4 5 6 7 8 9 10 11 12
}
suite! {
    /// The kernels of the suite `imb-mpi4`.
    prepared_kernels PREPARED 0 1 2 3 4 5 6 7 8 9 10 11 12
}
