//! What a number is: its quantity, and how the samples of the ranks make one value.
//!
//! One operation measured by two definitions gives numbers that differ several times over, so
//! every figure names its definition. The ids D1 to D9 are those of `METHODOLOGY.md`.

use crate::sample::Sample;

/// What a value is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// One message from one rank to another; half of what was timed.
    OneWayTime,
    /// One operation.
    OpTime,
}

impl Quantity {
    /// Name as in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneWayTime => "one_way_time",
            Self::OpTime => "op_time",
        }
    }
}

/// How the samples of the ranks make one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// D1: last finish minus first start over the ranks that took part, on a common clock, after
    /// a barrier; where the clocks are not common, the longest local time (D2) instead.
    Completion,
    /// D3: elapsed time on the test node, the only rank that samples.
    TestNode,
    /// D4: half of the elapsed time on the test node.
    HalfRoundTrip,
    /// D7: elapsed time on the test node, with a closing barrier inside.
    ClosedByBarrier,
}

impl Definition {
    /// All definitions, in the order of their ids.
    pub const ALL: [Self; 4] =
        [Self::Completion, Self::TestNode, Self::HalfRoundTrip, Self::ClosedByBarrier];

    /// Name as in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completion => "D1 completion",
            Self::TestNode => "D3 test_node",
            Self::HalfRoundTrip => "D4 half_round_trip",
            Self::ClosedByBarrier => "D7 closed_by_barrier",
        }
    }

    /// One sentence for table heads and reports.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Completion => "last finish minus first start over all ranks, after a barrier",
            Self::TestNode => "elapsed time on the test node",
            Self::HalfRoundTrip => "one way: half of the round trip timed on the test node",
            Self::ClosedByBarrier => "elapsed time on the test node, closing barrier included",
        }
    }

    /// Whether one rank alone samples.
    #[must_use]
    pub fn is_of_one_rank(self) -> bool {
        self != Self::Completion
    }

    /// What the measured interval is divided by to give the value.
    #[must_use]
    pub fn divisor(self) -> u32 {
        if self == Self::HalfRoundTrip { 2 } else { 1 }
    }

    /// Value of one sample in nanoseconds for one operation, from the samples that the
    /// participating ranks took of it.
    ///
    /// `clock_is_global` says whether two ranks' readings may be compared.
    ///
    /// # Panics
    /// If `of_ranks` is empty.
    #[must_use]
    pub fn value_ns(self, of_ranks: &[Sample], repetitions: u32, clock_is_global: bool) -> f64 {
        let longest_ns = || of_ranks.iter().map(|s| s.elapsed_ns()).max();
        let elapsed_ns = if self == Self::Completion && clock_is_global {
            let first_ns = of_ranks.iter().map(|s| s.start_ns).min();
            let last_ns = of_ranks.iter().map(|s| s.end_ns).max();
            last_ns.zip(first_ns).map(|(last_ns, first_ns)| last_ns - first_ns)
        } else {
            longest_ns()
        };
        let elapsed_ns = elapsed_ns.expect("at least one rank samples each series");
        #[expect(clippy::cast_precision_loss, reason = "intervals are far below 2^53 ns")]
        let elapsed_ns = elapsed_ns as f64;
        elapsed_ns / f64::from(repetitions) / f64::from(self.divisor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_RANKS: [Sample; 2] =
        [Sample { start_ns: 100, end_ns: 160 }, Sample { start_ns: 110, end_ns: 190 }];

    #[test]
    fn completion_spans_all_ranks_on_a_common_clock() {
        assert_eq!(Definition::Completion.value_ns(&OF_RANKS, 1, true), 90.0);
    }

    #[test]
    fn completion_without_a_common_clock_is_the_longest_local_time() {
        assert_eq!(Definition::Completion.value_ns(&OF_RANKS, 1, false), 80.0);
    }

    #[test]
    fn a_batch_is_divided_by_its_repetitions_and_an_echo_by_two() {
        let sample = &OF_RANKS[..1];
        assert_eq!(Definition::TestNode.value_ns(sample, 10, true), 6.0);
        assert_eq!(Definition::HalfRoundTrip.value_ns(sample, 10, true), 3.0);
    }
}
