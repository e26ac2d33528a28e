//! The low-level kernels of the thesis (section 3.3.1 to 3.3.7), one file each.

pub mod barrier;
pub mod broadcast;
pub mod contention;
pub mod echo;
pub mod exchange;
pub mod overlap;
pub mod reduction;
