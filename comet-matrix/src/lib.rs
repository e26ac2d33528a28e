//! The matrix kernels of CoMet: what a parallel program does with a matrix that lies in blocks on
//! a mesh of ranks.
//!
//! ```text
//!   setup.rs ──► block.rs ◄── ops/*.rs        three parts, as in the thesis (section 3.2.2):
//!   check.rs ──────┘                          initial values, operations, expected values
//! ```
//!
//! Every rank holds a square block of `local_n` x `local_n` doubles with a guard ring of one
//! element, so the global matrix has (mesh rows x `local_n`) rows and (mesh columns x `local_n`)
//! columns, on every rank count and every mesh.
//! Operations may be replaced by better ones; `setup.rs` and `check.rs` stay as they are and
//! never use an operation.
//!
//! All kernels report the completion time of one operation over all ranks, after a barrier.
//!
//! ```
//! let ids: Vec<_> = comet_matrix::kernels::<comet_core::local::Local>()
//!     .iter()
//!     .map(|kernel| kernel.info().id())
//!     .collect();
//! assert_eq!(ids[..2], ["matrix/update_guard", "matrix/shift"]);
//! ```
//!
//! [`wished`] has the operations that the thesis leaves to a future extension, in a suite of their own.
//!
//! Source: CoMet thesis (1993), sections 3.2.2, 3.3.8 to 3.3.11 and 4.3.
#![forbid(unsafe_code)]

mod block;
mod check;
mod ops;
mod setup;

pub use ops::{kernels, wished};

#[cfg(test)]
mod tests;
