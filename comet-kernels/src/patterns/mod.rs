//! The suite `patterns`: communication patterns of scientific computing, which the thesis wishes for
//! (section 6.1). A transpose of the matrix by divide and conquer stands beside them in comet-matrix.

mod cells;
mod fft_transpose;
mod halo;
mod handler;
mod irregular;
mod partitioned;
mod ring;
mod ring_alltoallv;
mod sweep;

use comet_core::kernel::prelude::*;

use crate::Suite;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(ring::Ring),
            &Timed(ring_alltoallv::RingAlltoallv),
            &Timed(halo::Halo::<2>),
            &Timed(halo::Halo::<3>),
            &Timed(sweep::Sweep),
            &Timed(fft_transpose::FftTranspose),
            &Timed(irregular::Irregular),
            &Timed(handler::Handler::<false>),
            &Timed(handler::Handler::<true>),
            &Timed(partitioned::Partitioned),
        ]
    }
}

/// Facts that all kernels of the suite share.
const SUITE: KernelInfo = KernelInfo::collective("patterns");

#[cfg(test)]
mod tests;
