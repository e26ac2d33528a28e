//! Kernels of the OSU micro-benchmarks that no other suite has.

pub mod bw;
