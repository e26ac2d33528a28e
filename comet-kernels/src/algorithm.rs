//! Who carries out a collective: the transport, or point-to-point messages.
//!
//! A collective kernel takes its [`Algorithm`] as a type, so that one file serves two suites and
//! no choice is left to be made inside a timed loop.

use comet_core::collective;
use comet_core::error::Result;
use comet_core::transport::{Rank, Transport};

/// One way to carry out the collectives, and the suite that measures it.
pub trait Algorithm: Sync + 'static {
    /// Suite of the kernels with this algorithm.
    const SUITE: &'static str;
    /// Summary of the broadcast kernel.
    const BROADCAST_SUMMARY: &'static str;
    /// Summary of the reduction kernel.
    const REDUCTION_SUMMARY: &'static str;
    /// Summary of the barrier kernel.
    const BARRIER_SUMMARY: &'static str;

    /// See [`Transport::barrier`].
    ///
    /// # Errors
    /// If the job has failed.
    fn barrier<T: Transport>(t: &T) -> Result<()>;

    /// See [`Transport::blocked_broadcast`].
    ///
    /// # Errors
    /// If there is no rank `root`, if the lengths differ, or if the job has failed.
    fn broadcast<T: Transport>(t: &T, root: Rank, message: &mut [u8]) -> Result<()>;

    /// See [`Transport::global_sum_vector`].
    ///
    /// # Errors
    /// If the lengths differ, or if the job has failed.
    fn global_sum_vector<T: Transport>(t: &T, values: &mut [f64]) -> Result<()>;
}

/// The collectives of the transport, the best that it has.
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl Algorithm for Native {
    const SUITE: &'static str = "comet";
    const BROADCAST_SUMMARY: &'static str = "Broadcast from the test node, closed by a barrier";
    const REDUCTION_SUMMARY: &'static str = "Global sum of a vector, element by element";
    const BARRIER_SUMMARY: &'static str = "Least time of a global synchronisation";

    #[inline]
    fn barrier<T: Transport>(t: &T) -> Result<()> {
        t.barrier()
    }

    #[inline]
    fn broadcast<T: Transport>(t: &T, root: Rank, message: &mut [u8]) -> Result<()> {
        t.blocked_broadcast(root, message)
    }

    #[inline]
    fn global_sum_vector<T: Transport>(t: &T, values: &mut [f64]) -> Result<()> {
        t.global_sum_vector(values)
    }
}

/// The collectives of [`comet_core::collective`]: trees and rings of point-to-point messages.
#[derive(Clone, Copy, Debug)]
pub struct PointToPoint;

impl Algorithm for PointToPoint {
    const SUITE: &'static str = "naive";
    const BROADCAST_SUMMARY: &'static str = "Broadcast along a tree of point-to-point messages";
    const REDUCTION_SUMMARY: &'static str = "Global sum along a tree of point-to-point messages";
    const BARRIER_SUMMARY: &'static str = "Global synchronisation by point-to-point messages";

    #[inline]
    fn barrier<T: Transport>(t: &T) -> Result<()> {
        collective::barrier(t)
    }

    #[inline]
    fn broadcast<T: Transport>(t: &T, root: Rank, message: &mut [u8]) -> Result<()> {
        collective::broadcast(t, root, message)
    }

    #[inline]
    fn global_sum_vector<T: Transport>(t: &T, values: &mut [f64]) -> Result<()> {
        collective::global_sum_vector(t, values)
    }
}
