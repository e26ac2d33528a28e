//! The kernels of CoMet: small communication patterns, written once for every transport.
//!
//! ```text
//!   comet        the low-level kernels of the thesis, section 3.3
//!   naive        its collectives over point-to-point messages alone
//!   parkbench    the low-level communication kernels of PARKBENCH
//!   model        patterns from which the parameters of a model of the machine follow
//!   health       ranks, hosts and links that are slower than the others
//!   imb          the Intel MPI Benchmarks beyond these
//!   imb-nbc      those of collectives in flight beside work
//!   imb-mpi4     the same of collectives that were prepared
//!   imb-ext      those of windows whose epochs are fences
//!   imb-rma      those of windows whose epochs are locks
//!   imb-io       those of files
//!   imb-p2p      those of messages between all ranks
//!   imb-mt       those of several threads of each rank
//!   osu          the OSU micro-benchmarks beyond these
//!   skampi       the patterns of SKaMPI, by other calls each
//!   patterns     communication patterns of scientific computing
//! ```
//!
//! A kernel is one file in the folder of its suite, and one entry in the list of its `mod.rs`.
//! Each file names the origin of its kernel, draws its pattern, and lists the calls between the
//! clock reads. No kernel knows a transport by name, and none measures time itself.
//!
//! Listing needs no running transport:
//!
//! ```
//! let kernels = comet_kernels::comet::kernels::<comet_core::local::Local>();
//! let ids: Vec<String> = kernels.iter().map(|kernel| kernel.info().id()).collect();
//! assert_eq!(ids[0], "comet/echo");
//! ```
#![forbid(unsafe_code)]

/// A list of kernels that are timed: each by its name, or several of a family by their numbers. Others stand
/// behind a semicolon.
macro_rules! timed {
    (@ [$($listed:tt)*] $family:ident::<$($number:literal)|+>, $($rest:tt)*) => {
        timed!(@ [$($listed)* $(&Timed($family::<$number>),)+] $($rest)*)
    };
    (@ [$($listed:tt)*] $kernel:expr, $($rest:tt)*) => {
        timed!(@ [$($listed)* &Timed($kernel),] $($rest)*)
    };
    (@ [$($listed:tt)*] $(; $($other:expr),*)?) => {
        &[$($listed)* $($($other),*)?]
    };
    ($($entries:tt)*) => {
        timed!(@ [] $($entries)*)
    };
}

mod around;
mod axes;
mod calls;
mod combining;
pub mod comet;
mod daxpy;
mod guarded;
pub mod health;
pub mod imb;
pub mod imb_ext;
pub mod imb_io;
pub mod imb_mt;
pub mod imb_nbc;
pub mod imb_p2p;
pub mod imb_rma;
mod in_flight;
pub mod model;
pub mod naive;
pub mod osu;
mod overlap;
mod packed;
pub mod parkbench;
mod pattern;
pub mod patterns;
mod polynomial;
mod rates;
pub mod skampi;
#[cfg(test)]
mod tests;
mod window;

use comet_core::kernel::Kernel;
use comet_core::transport::Transport;

/// The kernels of one suite over transport `T`, in reading order.
pub type Suite<T> = &'static [&'static dyn Kernel<T>];

/// All suites, in reading order.
pub fn suites<T: Transport>() -> [Suite<T>; 16] {
    [
        comet::kernels(),
        naive::kernels(),
        parkbench::kernels(),
        model::kernels(),
        health::kernels(),
        imb::kernels(),
        imb_nbc::kernels(),
        imb_nbc::prepared_kernels(),
        imb_ext::kernels(),
        imb_rma::kernels(),
        imb_io::kernels(),
        imb_p2p::kernels(),
        imb_mt::kernels(),
        osu::kernels(),
        skampi::kernels(),
        patterns::kernels(),
    ]
}
