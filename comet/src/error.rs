//! The error of a measurement.

use std::io;

use comet_core::job::JobFailure;
use comet_core::sweep::SweepError;
use comet_report::read::ReadError;
use comet_report::record::PointStatus;
use comet_shm::LaunchError;
use comet_sim::SimError;
use comet_sim::machine::MachineError;

/// Error of a measurement: there are no times.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No rank could be started over shared memory.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is no such machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The ranks cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// This process is no rank of an MPI job.
    #[cfg(feature = "mpi")]
    #[error(transparent)]
    Join(#[from] comet_mpi::JoinError),
    /// The values of an axis cannot be understood.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// A rank failed, and the job with it.
    #[error("{}", .0.message)]
    Job(JobFailure),
    /// A case has no times: its data was wrong, or it cannot run on these ranks.
    #[error("{kernel} has no times: {message}")]
    NoTimes {
        /// Id of the kernel, `own/` and the name of the pattern.
        kernel: String,
        /// Kind of failure: [`CheckFailed`](PointStatus::CheckFailed) where data was wrong.
        status: PointStatus,
        /// The reason, as one sentence.
        message: String,
    },
    /// The memory of the record cannot be had or read.
    #[error("cannot keep the record of a measurement in memory")]
    Memory(#[from] io::Error),
    /// The record cannot be read back.
    #[error(transparent)]
    Record(#[from] ReadError),
}
