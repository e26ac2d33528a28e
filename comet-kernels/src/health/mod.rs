//! The suite `health`: ranks, hosts and links that are slower than the others.

pub mod noise;
pub mod pairs;

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const { &[&Timed(pairs::AllPairs), &Timed(noise::Noise)] }
}
