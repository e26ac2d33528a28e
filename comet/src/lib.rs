//! Measurement of a program's own communication patterns, by the method of CoMet.
//!
//! # Start here
//!
//! A pattern is two closures: one makes the buffers of a rank, the other is the operation on them.
//! [`measure`] runs it on ranks over shared memory: with warm-up, in slices, until the interval of the
//! median is narrow.
//!
//! ```standalone_crate
//! use comet::{Source, Tag, Transport};
//!
//! let times = comet::measure(
//!     2,
//!     |t| Ok([t.message_buffer(1024)?, t.message_buffer(1024)?]),
//!     |t, [sent, received]| {
//!         let peer = 1 - t.rank();
//!         t.blocked_exchange(peer, sent, Source::Rank(peer), received, Tag::new(1)).map(drop)
//!     },
//! )?;
//! println!("{times}"); // 412 ns (95 % interval 405 to 420 ns, 1000 samples)
//! std::fs::write(std::env::temp_dir().join("exchange.jsonl"), &*times.record)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The record is a result file of `comet-run`, for its `show`, `report`, `compare` and `validate`.
//!
//! - [`simulate`] runs the same closures in virtual time, on a machine that a file describes.
//! - [`Ranks::pattern`] adds a name, a check, a rate, another profile or definition.
//! - [`Ranks::kernel`] measures a kernel: a pattern with axes, each over a sweep of values.
//! - `MpiRanks` (feature `mpi`) measures inside of an MPI program, over a communicator of it.
//!
//! A pattern that runs on several of these is generic over the [`Transport`]:
//!
//! ```
//! use comet::{Ranks as _, Result, Simulation, Transport};
//!
//! fn message<T: Transport>(t: &T) -> Result<T::Buffer> {
//!     t.message_buffer(8)
//! }
//!
//! fn broadcast<T: Transport>(t: &T, message: &mut T::Buffer) -> Result<()> {
//!     t.blocked_broadcast(0, message)
//! }
//!
//! let ranks = Simulation::new("ipsc860", 8)?;
//! let times = ranks.pattern(message, broadcast).named("broadcast").moving(8).measure()?;
//! assert!(times.median_ns > 3.0 * 79_000.0, "three messages follow each other");
//! # Ok::<(), comet::Error>(())
//! ```
//!
//! The folder `examples` has a pattern, a kernel with a check, and a measurement inside of an MPI
//! program. Ranks over shared memory are forked, so that the program has one thread until then, and
//! closures run in processes of their own: what they change outside of their buffers is lost.
#![forbid(unsafe_code)]

mod error;
mod experiment;
#[cfg(feature = "mpi")]
mod mpi;
mod own;
mod ranks;
mod times;

pub use error::Error;
pub use experiment::Experiment;
#[cfg(feature = "mpi")]
pub use mpi::MpiRanks;
pub use own::{Own, Unchecked};
pub use ranks::{Ranks, SharedMemory, Simulation};
pub use times::Times;

pub use comet_core::definition::Definition;
pub use comet_core::driver::Settings;
pub use comet_core::error::Result;
pub use comet_core::kernel;
pub use comet_core::kernel::{Checker, Profile, Seeds};
pub use comet_core::pattern;
pub use comet_core::transport::{Rank, Source, Status, Tag, Transport};
#[cfg(feature = "mpi")]
pub use comet_mpi;
pub use comet_report::record;
pub use comet_shm::Shm;
pub use comet_sim::Sim;

/// Measures a pattern on `n_ranks` processes of this machine over shared memory.
///
/// Each rank makes its `buffers` once, and repeats `operation` on them.
///
/// # Errors
/// If the ranks cannot be started, or if one of them fails.
pub fn measure<S>(
    n_ranks: usize,
    buffers: impl Fn(&Shm) -> Result<S> + Send + Sync,
    operation: impl Fn(&Shm, &mut S) -> Result<()> + Send + Sync,
) -> std::result::Result<Times, Error> {
    SharedMemory::new(n_ranks).pattern(buffers, operation).measure()
}

/// Measures a pattern on `n_ranks` simulated ranks of the machine `machine`, a name of those that
/// `comet-run machines` lists or the path of a machine file.
///
/// ```
/// let times = comet::simulate("t3e", 4, |_| Ok(()), |t, ()| comet::Transport::barrier(t))?;
/// assert_eq!(times.interval_ns, None, "an exact machine needs two samples");
/// # Ok::<(), comet::Error>(())
/// ```
///
/// # Errors
/// If there is no such machine, if it has no place for so many ranks, or if the simulation fails.
pub fn simulate<S>(
    machine: &str,
    n_ranks: usize,
    buffers: impl Fn(&Sim) -> Result<S> + Send + Sync,
    operation: impl Fn(&Sim, &mut S) -> Result<()> + Send + Sync,
) -> std::result::Result<Times, Error> {
    Simulation::new(machine, n_ranks)?.pattern(buffers, operation).measure()
}
