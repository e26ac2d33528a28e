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
        &[
            &Timed(PingPongAgain),
            &Timed(PingPong),
            &Timed(PingPing::<false>),
            &Timed(PingPingAgain),
            &Timed(PingPing::<true>),
            &Timed(Ring::<false>),
            &Timed(Ring::<true>),
            &Timed(ReduceLocal),
            &Timed(Uniband),
            &Timed(Biband),
            &Timed(Plain::<0>),
            &Timed(Plain::<1>),
            &Timed(Plain::<2>),
            &Timed(Plain::<3>),
            &Timed(Plain::<4>),
            &Timed(Plain::<5>),
            &Timed(Plain::<6>),
            &Timed(Plain::<7>),
            &Timed(Plain::<8>),
            &Timed(Plain::<9>),
            &Timed(Plain::<10>),
            &Timed(Plain::<11>),
            &Timed(Plain::<12>),
            &Timed(Plain::<13>),
            &Timed(Plain::<14>),
            &Timed(Plain::<15>),
        ]
    }
}
