//! Raw samples: what the clock reads around one batch gave.

/// One timed batch on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Clock before the first operation, in nanoseconds of the transport's clock; once gathered,
    /// of the clock that all ranks share, if there is one.
    pub start_ns: u64,
    /// Clock after the last operation, likewise.
    pub end_ns: u64,
    /// Agreed start of all ranks, on the shared clock; `None` without a window.
    pub due_ns: Option<u64>,
    /// Time of the same loop without the operation, if it was measured too (D8).
    pub reference_ns: Option<u64>,
    /// True if the ranks were made to start at different times.
    pub is_skewed: bool,
}

/// From the first to the last start of the ranks whose samples of one operation these are, in
/// nanoseconds; 0 of none.
pub fn start_skew_ns(of_ranks: &[Sample]) -> u64 {
    let starts_ns = of_ranks.iter().map(|sample| sample.start_ns);
    starts_ns.clone().max().unwrap_or(0) - starts_ns.min().unwrap_or(0)
}

impl Sample {
    /// Length of the interval in nanoseconds.
    pub fn elapsed_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
