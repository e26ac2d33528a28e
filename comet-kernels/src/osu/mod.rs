//! The suite `osu`: the OSU micro-benchmarks that no other suite has.

pub mod atomics;
pub mod bibw;
pub mod bibw_persistent;
pub mod bw;
pub mod bw_persistent;
pub(crate) mod epochs;
pub mod latency_persistent;
pub mod mbw_mr;
pub(crate) mod messages;
pub mod multi_lat;
pub mod neighbours;
pub mod persistent;
pub(crate) mod prepared;
pub mod remote;
pub mod startup;
pub mod unblocked;

use comet_core::kernel::prelude::*;

use crate::Suite;
use crate::imb::collective::Plain;
use atomics::Atomic;
use neighbours::Among;
use persistent::Persistent;
use remote::Remote;
use startup::Startup;
use unblocked::{Unblocked, UnblockedAmong};

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        &[
            &Timed(bw::Bw),
            &Timed(bibw::Bibw),
            &Timed(mbw_mr::MbwMr),
            &Timed(multi_lat::MultiLat),
            &Timed(latency_persistent::LatencyPersistent),
            &Timed(bw_persistent::BwPersistent),
            &Timed(bibw_persistent::BibwPersistent),
            &Timed(Plain::<16>),
            &Timed(Plain::<17>),
            &Timed(Among::<0>),
            &Timed(Among::<1>),
            &Timed(Among::<2>),
            &Timed(Among::<3>),
            &Timed(Among::<4>),
            &Timed(Unblocked::<0>),
            &Timed(Unblocked::<1>),
            &Timed(Unblocked::<2>),
            &Timed(Unblocked::<3>),
            &Timed(Unblocked::<4>),
            &Timed(Unblocked::<5>),
            &Timed(Unblocked::<6>),
            &Timed(Unblocked::<7>),
            &Timed(Unblocked::<8>),
            &Timed(Unblocked::<9>),
            &Timed(Unblocked::<10>),
            &Timed(Unblocked::<11>),
            &Timed(Unblocked::<12>),
            &Timed(Unblocked::<13>),
            &Timed(Unblocked::<14>),
            &Timed(UnblockedAmong::<0>),
            &Timed(UnblockedAmong::<1>),
            &Timed(UnblockedAmong::<2>),
            &Timed(UnblockedAmong::<3>),
            &Timed(UnblockedAmong::<4>),
            &Timed(Persistent::<0>),
            &Timed(Persistent::<1>),
            &Timed(Persistent::<2>),
            &Timed(Persistent::<3>),
            &Timed(Persistent::<4>),
            &Timed(Persistent::<5>),
            &Timed(Persistent::<6>),
            &Timed(Persistent::<7>),
            &Timed(Persistent::<8>),
            &Timed(Persistent::<9>),
            &Timed(Persistent::<10>),
            &Timed(Persistent::<11>),
            &Timed(Persistent::<12>),
            &Timed(Persistent::<13>),
            &Timed(Remote::<false, 0>),
            &Timed(Remote::<true, 0>),
            &Timed(Remote::<false, 1>),
            &Timed(Remote::<true, 1>),
            &Timed(Remote::<false, 2>),
            &Timed(Atomic::<0>),
            &Timed(Atomic::<1>),
            &Timed(Atomic::<2>),
            &Timed(Atomic::<3>),
            &Startup::<false>,
            &Startup::<true>,
        ]
    }
}
