//! Every kernel and the driver over every transport: the one place in which generic code of kernels,
//! driver and conformance checks meets a transport, and is compiled.
//!
//! ```text
//!   comet-kernels, comet-matrix ──┐
//!   driver, conformance ──────────┼──► Suites, once for each transport ──► comet-run, comet-studies
//!   comet-shm, comet-sim, mpi? ───┘
//! ```
//!
//! The functions of [`Suites`] are not generic, so that a program that calls them compiles none of it
//! again, nor do its tests.
#![forbid(unsafe_code)]

use comet_core::conformance::{self, Report, Verdict};
use comet_core::driver::{self, DriverError, Settings};
use comet_core::error;
use comet_core::event::{Listener, RunEnd};
use comet_core::file::Folder;
use comet_core::kernel::{Case, Kernel, KernelInfo};
use comet_core::transport::Transport;

/// Kernels in reading order.
pub type Kernels<'a, T> = [&'a dyn Kernel<T>];

/// A transport with all kernels over it.
pub trait Suites: Transport + 'static {
    /// Every kernel of every suite, in reading order; the same list on every transport.
    fn kernels() -> Vec<&'static dyn Kernel<Self>>;

    /// The driver on rank 0: measures `cases`, whose kernels are among `kernels` (see
    /// [`driver::conduct`]).
    ///
    /// # Errors
    /// If the transport or `listener` fails.
    ///
    /// # Panics
    /// On another rank, and if `kernels` lacks that of a case.
    fn conduct(
        &self,
        kernels: &Kernels<'_, Self>,
        cases: &[Case],
        settings: &Settings,
        listener: &mut dyn Listener,
    ) -> Result<RunEnd, DriverError>;

    /// The driver on the other ranks (see [`driver::follow`]).
    ///
    /// # Errors
    /// If the transport fails.
    ///
    /// # Panics
    /// On rank 0.
    fn follow(&self, kernels: &Kernels<'_, Self>, settings: &Settings) -> error::Result<RunEnd>;

    /// Tests the transport, files in `folder` (see [`conformance::run`]).
    fn test(&self, folder: Option<&Folder>, report: &mut Report<'_>) -> Verdict;
}

/// Descriptions of all kernels; needs no running transport.
pub fn infos() -> Vec<&'static KernelInfo> {
    comet_shm::Shm::kernels().into_iter().map(Kernel::info).collect()
}

macro_rules! compiled {
    ($($transport:ty),*) => {$(
        impl Suites for $transport {
            #[inline(never)]
            fn kernels() -> Vec<&'static dyn Kernel<Self>> {
                // The kernels of 1993 come first.
                let [comet, others @ ..] = comet_kernels::suites();
                // The last suite has kernels of both crates.
                let of_matrix = [comet_matrix::kernels(), comet_matrix::wished()];
                [&[comet, of_matrix[0]], &others[..], &of_matrix[1..]].concat().concat()
            }

            #[inline(never)]
            fn conduct(
                &self,
                kernels: &Kernels<'_, Self>,
                cases: &[Case],
                settings: &Settings,
                listener: &mut dyn Listener,
            ) -> Result<RunEnd, DriverError> {
                driver::conduct(self, kernels, cases, settings, listener)
            }

            #[inline(never)]
            fn follow(
                &self,
                kernels: &Kernels<'_, Self>,
                settings: &Settings,
            ) -> error::Result<RunEnd> {
                driver::follow(self, kernels, settings)
            }

            #[inline(never)]
            fn test(&self, folder: Option<&Folder>, report: &mut Report<'_>) -> Verdict {
                conformance::run(self, folder, report)
            }
        }
    )*};
}

compiled!(comet_shm::Shm, comet_sim::Sim);
#[cfg(feature = "mpi")]
compiled!(comet_mpi::Mpi);
