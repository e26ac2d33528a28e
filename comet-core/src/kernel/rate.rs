//! Rates beside bytes per second: those that people compare, each with its formula.

use super::case::Case;
use super::world::World;

/// Quantity of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateKind {
    /// Bytes of the longest buffer of a collective, per second (algorithm bandwidth of nccl-tests).
    Algorithm,
    /// Bytes per second and rank that an optimal algorithm moves in that time (bus bandwidth of
    /// nccl-tests), to be compared with the rate of a link.
    Bus,
    /// Messages per second.
    Messages,
    /// Bytes per second that cross the cut between two halves of the ranks, both directions together.
    Bisection,
}

named! {
    RateKind: Algorithm "algorithm_bytes_per_s", Bus "bus_bytes_per_s", Messages "messages_per_s",
    Bisection "bisection_bytes_per_s"
}

impl RateKind {
    /// Unit of its amount: `bytes` or `messages`.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Algorithm | Self::Bus | Self::Bisection => "bytes",
        }
    }

    /// Its words in titles.
    pub const fn words(self) -> &'static str {
        ["algorithm bandwidth", "bus bandwidth", "message rate", "bisection bandwidth"]
            [self as usize]
    }
}

/// One rate of a series: an amount of each operation, divided by its time.
///
/// ```
/// use comet_core::kernel::{LENGTH_BYTES, Rate, RateKind};
/// const SENT: Rate = Rate {
///     kind: RateKind::Algorithm,
///     formula: "length_bytes / time",
///     per_op: |case, _| case.value(&LENGTH_BYTES) as f64,
/// };
/// assert_eq!(SENT.kind.name(), "algorithm_bytes_per_s");
/// ```
#[derive(Debug)]
pub struct Rate {
    /// Quantity.
    pub kind: RateKind,
    /// Formula, of the kernel's axes, the number of ranks P and the `time` of one operation.
    pub formula: &'static str,
    /// Amount of one operation: the formula without the time, in bytes or messages.
    pub per_op: fn(&Case, &World<'_>) -> f64,
}
