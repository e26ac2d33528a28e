//! Raw samples: what the two clock reads around one batch gave.

/// One timed batch on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Clock before the first operation, in nanoseconds of the transport's clock.
    pub start_ns: u64,
    /// Clock after the last operation.
    pub end_ns: u64,
}

impl Sample {
    /// Length of the interval in nanoseconds.
    #[must_use]
    pub fn elapsed_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
