//! The low-level communication kernels of PARKBENCH, one file each.

pub mod comms1;
pub mod comms2;
pub mod comms3;
pub mod poly1;
pub mod poly3;
pub mod synch1;
