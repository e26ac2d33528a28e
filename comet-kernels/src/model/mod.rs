//! The suite `model`: patterns from which the parameters of a model of the machine follow.

pub mod bisection;
pub mod injection;
pub mod memcpy;
pub mod pairs;

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(injection::Injection),
            &Timed(pairs::Pairs),
            &Timed(bisection::Bisection),
            &Timed(memcpy::Memcpy),
        ]
    }
}
