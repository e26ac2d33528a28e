//! Ranks in virtual time, on a machine that a file describes.
//!
//! ```text
//!   run ── a stack for each rank of the job ──► rank 0 … rank n-1, each a Sim
//!    │                                            │ compute, send, receive, probe …
//!    └── engine: clocks, messages, links ◄────────┘
//! ```
//!
//! All ranks live in one thread of this process, and the same program on the same machine gives the
//! same times to the last picosecond, whatever the machine is that simulates. Ranks share what the
//! process has, so a kernel must neither keep state outside its stack nor wait for anything but its
//! transport.
//!
//! ```
//! use comet_core::topology::Topology;
//! use comet_core::transport::{Source, Tag, Transport};
//! use comet_sim::{Outcome, RunConfig, machine};
//!
//! let machine = machine::find("ipsc860")?.machine;
//! let config = RunConfig::new(machine, Topology::hypercube(2));
//! let outcome = comet_sim::run(&config, |t| {
//!     let (start_ns, mut byte) = (t.now_ns(), [0]);
//!     t.blocked_exchange(1 - t.rank(), &[7], Source::Rank(1 - t.rank()), &mut byte, Tag::new(1))
//!         .unwrap();
//!     // 79 us and 0.63 us for the byte.
//!     u8::from(t.now_ns() - start_ns != 79_630)
//! })?;
//! assert!(matches!(outcome, Outcome::Finished { code: 0, .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod draw;
mod engine;
mod fiber;
mod job;
pub mod machine;
mod noise;
pub mod route;
mod stuck;
mod transport;

pub use comet_core::job::JobFailure;
pub use job::{Outcome, RunConfig, SimError, Statistics, describe, run};
pub use transport::{Sim, SimRecv, SimSend, SimWindow};
