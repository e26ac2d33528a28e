//! The kernels of CoMet: small communication patterns, written once for every transport.
//!
//! ```text
//!   suite       what it holds                                          list
//!   comet       the low-level kernels of the thesis, section 3.3       comet()
//!   naive       its collectives over point-to-point messages alone     naive()
//!   parkbench   the low-level communication kernels of PARKBENCH       parkbench()
//!   model       what models of the machine follow from                 model()
//!   health      what tells ranks, hosts and links that stand out       health()
//!   osu         what the OSU micro-benchmarks have beyond these         osu()
//! ```
//!
//! A kernel is one file in its suite's folder and one line in its suite's list.
//! Each file says where the kernel comes from, draws its pattern, and says what lies between the
//! clock reads. No kernel knows a transport by name, and none measures time itself.
//!
//! Listing needs no running transport:
//!
//! ```
//! let kernels = comet_kernels::comet::<comet_core::local::Local>();
//! let ids: Vec<String> = kernels.iter().map(|kernel| kernel.info().id()).collect();
//! assert_eq!(ids[0], "comet/echo");
//! ```
#![forbid(unsafe_code)]

mod axes;
pub mod comet;
mod daxpy;
#[cfg(test)]
mod harness;
pub mod health;
pub mod model;
pub mod osu;
pub mod parkbench;
mod pattern;
mod polynomial;

use comet_core::kernel::{Kernel, Timed};
use comet_core::transport::Transport;

use crate::comet::barrier::Barrier;
use crate::comet::broadcast::Broadcast;
use crate::comet::contention::Contention;
use crate::comet::echo::Echo;
use crate::comet::exchange::Exchange;
use crate::comet::overlap::Overlap;
use crate::comet::reduction::Reduction;
use crate::health::noise::Noise;
use crate::health::pairs::AllPairs;
use crate::model::injection::Injection;
use crate::model::pairs::Pairs;
use crate::osu::bw::Bw;
use crate::parkbench::comms1::Comms1;
use crate::parkbench::comms2::Comms2;
use crate::parkbench::comms3::Comms3;
use crate::parkbench::poly1::Poly1;
use crate::parkbench::poly3::Poly3;
use crate::parkbench::synch1::Synch1;

/// The suite `comet`: the low-level kernels of the thesis, in its order (sections 3.3.1 to 3.3.7).
#[must_use]
pub fn comet<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const {
        &[
            &Timed(Echo),
            &Timed(Exchange),
            &Timed(Broadcast::<false>),
            &Timed(Reduction::<false>),
            &Timed(Barrier::<false>),
            &Timed(Contention),
            &Timed(Overlap),
        ]
    }
}

/// The suite `naive`: the collectives of [`comet()`], made of point-to-point messages, so that a
/// transport's own can be held against them.
#[must_use]
pub fn naive<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const { &[&Timed(Broadcast::<true>), &Timed(Reduction::<true>), &Timed(Barrier::<true>)] }
}

/// The suite `parkbench`: the low-level communication kernels of PARKBENCH, each beside what it is
/// held against.
#[must_use]
pub fn parkbench<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const {
        &[
            &Timed(Comms1),
            &Timed(Comms2),
            &Timed(Comms3),
            &Timed(Poly1),
            &Timed(Poly3),
            &Timed(Synch1),
        ]
    }
}

/// The suite `model`: patterns from which the parameters of a model of the machine follow.
#[must_use]
pub fn model<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const { &[&Timed(Injection), &Timed(Pairs)] }
}

/// The suite `health`: what tells ranks, hosts and links that stand out from the others.
#[must_use]
pub fn health<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const { &[&Timed(AllPairs), &Timed(Noise)] }
}

/// The suite `osu`: what the OSU micro-benchmarks measure and no other suite does.
#[must_use]
pub fn osu<T: Transport>() -> &'static [&'static dyn Kernel<T>] {
    const { &[&Timed(Bw)] }
}
