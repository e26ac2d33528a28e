//! The suite `imb`: the Intel MPI Benchmarks that no other suite has.

pub mod collective;
pub mod parallel;
pub mod pingping;
pub mod pingpong;
pub mod reduce_local;
pub mod specific_source;
pub mod windows;

use comet_core::kernel::prelude::*;

use crate::Suite;
use collective::Plain;
use parallel::Ring;
use pingping::PingPing;
use pingpong::PingPong;
use reduce_local::ReduceLocal;
use specific_source::{PingPingAgain, PingPongAgain};
use windows::{Biband, Uniband};

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        timed![
            PingPongAgain,
            PingPong,
            PingPing::<false>,
            PingPingAgain,
            PingPing::<true>,
            Ring::<false>,
            Ring::<true>,
            ReduceLocal,
            Uniband,
            Biband,
            Plain::<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15>,
        ]
    }
}
