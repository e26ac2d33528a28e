//! Operations that several kernels share.

mod bounce;
mod crossing;

pub(crate) use bounce::Bounce;
pub(crate) use crossing::Crossing;
