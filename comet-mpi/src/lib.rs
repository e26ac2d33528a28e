//! Ranks of an MPI job that exchange messages by native MPI calls.
//!
//! ```text
//!   join ──► Job ──run──► Mpi (the Transport of this rank) ──► native ──► MPI library
//!     └────► guard, a process that ends a rank that does not move
//! ```
//!
//! Processes are started by `mpirun`, `mpiexec` or `srun`; `join` makes this one a rank. `adopt` does
//! so in a program that has initialised MPI itself, over a communicator of its own.
//! The crate is empty without its feature `link`, so that everything builds where there is no MPI.
//!
//! Blocked calls are the blocked calls of MPI, collectives its collectives, and nothing is added
//! on the way but the test of the return code and a note for the guard of the wait at hand.
//! All unsafe code is in the module `native`.
#![cfg(feature = "link")]

mod clock;
mod guard;
mod job;
mod level;
mod line;
#[expect(unsafe_code, reason = "MPI is called through its C interface")]
mod native;
mod transport;
mod vitals;

pub use guard::{FINALIZE_STALLED, OnFailure, Sweep};
pub use job::{Job, JoinConfig, JoinError, RunConfig, adopt, join, library_version};
pub use level::ThreadLevel;
/// The binding of MPI, so that a program has the version of which [`adopt`] takes a communicator.
pub use mpi;
pub use native::{MpiBuffer, MpiCall, MpiFile, MpiPeers, MpiPrepared, MpiRecv, MpiSend, MpiWindow};
pub use transport::{Mpi, MpiConstruction};
