//! The suite `osu`: the OSU micro-benchmarks that no other suite has.

pub mod atomics;
pub mod bibw;
pub mod bw;
pub(crate) mod epochs;
pub mod mbw_mr;
pub(crate) mod messages;
pub mod multi_lat;
pub mod neighbours;
pub mod remote;

use comet_core::kernel::prelude::*;

use crate::Suite;
use crate::imb::collective::Plain;
use atomics::Atomic;
use neighbours::Among;
use remote::Remote;

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(bw::Bw),
            &Timed(bibw::Bibw),
            &Timed(mbw_mr::MbwMr),
            &Timed(multi_lat::MultiLat),
            &Timed(Plain::<16>),
            &Timed(Plain::<17>),
            &Timed(Among::<0>),
            &Timed(Among::<1>),
            &Timed(Among::<2>),
            &Timed(Among::<3>),
            &Timed(Among::<4>),
            &Timed(Remote::<false, 0>),
            &Timed(Remote::<true, 0>),
            &Timed(Remote::<false, 1>),
            &Timed(Remote::<true, 1>),
            &Timed(Remote::<false, 2>),
            &Timed(Atomic::<0>),
            &Timed(Atomic::<1>),
            &Timed(Atomic::<2>),
            &Timed(Atomic::<3>),
        ]
    }
}
