//! What a kernel sees while it runs: its transport, buffers, and the timed loop.

use crate::error::{Result, TransportError};
use crate::kernel::{KernelError, MAX_SERIES, Timing};
use crate::pattern;
use crate::sample::Sample;
use crate::topology::Topology;
use crate::transport::{Rank, Transport};

/// How often a kernel repeats its operation; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Operations between two clock reads, at least 1.
    pub repetitions: u32,
    /// Timed batches per series.
    pub n_samples: u32,
    /// Operations before the first clock read, by series.
    pub settle: [u32; MAX_SERIES],
}

/// One rank's view of the case at hand.
#[derive(Debug)]
pub struct Context<'a, T: Transport> {
    transport: &'a T,
    timing: Timing,
    pace: Pace,
    corrupt: bool,
    samples: Vec<Vec<Sample>>,
}

impl<'a, T: Transport> Context<'a, T> {
    /// A context for a kernel of `n_series` series; `corrupt` spoils what the kernel checks, to
    /// show that the check works.
    #[must_use]
    pub fn new(
        transport: &'a T,
        timing: Timing,
        pace: Pace,
        n_series: usize,
        corrupt: bool,
    ) -> Self {
        let reserved = || Vec::with_capacity(pace.n_samples as usize);
        let samples = (0..n_series).map(|_| reserved()).collect();
        Self { transport, timing, pace, corrupt, samples }
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &'a T {
        self.transport
    }

    /// This rank.
    #[must_use]
    pub fn rank(&self) -> Rank {
        self.transport.rank()
    }

    /// Mesh and hops.
    #[must_use]
    pub fn topology(&self) -> &'a Topology {
        self.transport.topology()
    }

    /// A message buffer of the transport's fastest memory, zeroed.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn message(&self, length_bytes: usize) -> Result<T::Buffer> {
        self.transport.message_buffer(length_bytes)
    }

    /// Times `op` as series `series`: the only timed loop of CoMet.
    ///
    /// Between the two clock reads lie the operations and their counter, nothing else.
    ///
    /// # Errors
    /// The first error of `op`.
    #[inline]
    pub fn time(&mut self, series: usize, mut op: impl FnMut(&T) -> Result<()>) -> Result<()> {
        let (t, pace) = (self.transport, self.pace);
        self.settle(series, &mut op)?;
        for _ in 0..pace.n_samples {
            self.start_together()?;
            let start_ns = t.now_ns();
            for _ in 0..pace.repetitions {
                op(t)?;
            }
            let end_ns = t.now_ns();
            self.samples[series].push(Sample { start_ns, end_ns });
        }
        Ok(())
    }

    /// Runs `op` as often as [`time`](Self::time) does, without a clock: for the partners of the
    /// test node, whose times are not asked for.
    ///
    /// # Errors
    /// The first error of `op`.
    #[inline]
    pub fn follow(&mut self, series: usize, mut op: impl FnMut(&T) -> Result<()>) -> Result<()> {
        let (t, pace) = (self.transport, self.pace);
        self.settle(series, &mut op)?;
        for _ in 0..pace.n_samples {
            self.start_together()?;
            for _ in 0..pace.repetitions {
                op(t)?;
            }
        }
        Ok(())
    }

    /// [`time`](Self::time) on the rank `test_node`, [`follow`](Self::follow) on the others.
    ///
    /// # Errors
    /// The first error of `op`.
    #[inline]
    pub fn time_on(
        &mut self,
        test_node: Rank,
        series: usize,
        op: impl FnMut(&T) -> Result<()>,
    ) -> Result<()> {
        if self.rank() == test_node { self.time(series, op) } else { self.follow(series, op) }
    }

    /// Checks that `message` is the pattern `seed` (see [`pattern`]); `what` names it.
    ///
    /// # Errors
    /// [`KernelError::Mismatch`] with the first wrong byte.
    pub fn check_message(
        &self,
        message: &mut [u8],
        seed: u64,
        what: &str,
    ) -> std::result::Result<(), KernelError> {
        if self.corrupt
            && let Some(byte) = message.last_mut()
        {
            *byte ^= 1;
        }
        pattern::check(message, seed, what)
    }

    /// Checks that `values` are `expected`, to the last bit; `what` names them.
    ///
    /// # Errors
    /// [`KernelError::Mismatch`] with the first wrong value.
    pub fn check_values(
        &self,
        values: &mut [f64],
        expected: impl Fn(usize) -> f64,
        what: &str,
    ) -> std::result::Result<(), KernelError> {
        if self.corrupt
            && let Some(value) = values.last_mut()
        {
            *value += 1.0;
        }
        let wrong = values
            .iter()
            .enumerate()
            .find(|(index, value)| value.to_bits() != expected(*index).to_bits());
        let Some((index, value)) = wrong else { return Ok(()) };
        let what = format!("element {index} of {} of {what}", values.len());
        Err(KernelError::mismatch(what, expected(index), value))
    }

    /// The samples taken, by series; empty where this rank took none.
    #[must_use]
    pub fn into_samples(self) -> Vec<Vec<Sample>> {
        self.samples
    }

    #[inline]
    fn settle(&self, series: usize, op: &mut impl FnMut(&T) -> Result<()>) -> Result<()> {
        for _ in 0..self.pace.settle[series] {
            self.start_together()?;
            op(self.transport)?;
        }
        Ok(())
    }

    #[inline]
    fn start_together(&self) -> Result<(), TransportError> {
        if self.timing.starts_at_barrier() { self.transport.barrier() } else { Ok(()) }
    }
}
