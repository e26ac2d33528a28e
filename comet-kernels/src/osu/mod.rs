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
        timed![
            bw::Bw,
            bibw::Bibw,
            mbw_mr::MbwMr,
            multi_lat::MultiLat,
            latency_persistent::LatencyPersistent,
            bw_persistent::BwPersistent,
            bibw_persistent::BibwPersistent,
            Plain::<16 | 17>,
            Among::<0 | 1 | 2 | 3 | 4>,
            Unblocked::<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14>,
            UnblockedAmong::<0 | 1 | 2 | 3 | 4>,
            Persistent::<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13>,
            Remote::<false, 0>,
            Remote::<true, 0>,
            Remote::<false, 1>,
            Remote::<true, 1>,
            Remote::<false, 2>,
            Atomic::<0 | 1 | 2 | 3>,
            ; &Startup::<false>, &Startup::<true>
        ]
    }
}
