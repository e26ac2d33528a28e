//! Meaning of a number: its quantity, and the combination of the ranks' samples into one value.
//!
//! One operation measured by two definitions gives numbers that differ several times over, so
//! every figure names its definition. The ids D1 to D9 are those of `METHODOLOGY.md`.

use crate::sample::Sample;
use comet_stats::real;

/// Quantity that a value is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// One message from one rank to another; half of what was timed.
    OneWayTime,
    /// One operation.
    OpTime,
}

impl Quantity {
    /// Name as in the record.
    pub fn name(self) -> &'static str {
        ["one_way_time", "op_time"][self as usize]
    }

    /// Divisor of the time of one operation that gives the value.
    pub fn divisor(self) -> u32 {
        if self == Self::OneWayTime { 2 } else { 1 }
    }
}

/// Combination of the ranks' samples into one value.
///
/// `s` and `e` are the clock readings of a rank around its operations, `n` the repetitions between
/// them, and `st` is the first `s`: a window opens before any rank can have read its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// D1: last `e` minus `st`, on a common clock; with a skew of the starts, minus the last `s`.
    /// D2 takes its place if clocks are not comparable.
    Completion,
    /// D2: the longest `e - s` of any rank (SKaMPI 5).
    MaxLocal,
    /// D3: `(e - s) / n` on the test node (thesis, PARKBENCH).
    TestNode,
    /// D4: half of D3.
    HalfRoundTrip,
    /// D5: the longest `(e - s) / n` of any rank, over a loop without synchronisation (IMB 3.2).
    LoopMean,
    /// D6: the mean over the ranks of `e - s` of one call (OSU).
    CallMean,
    /// D7: D3 with a barrier after each operation (broadcast of the thesis).
    ClosedByBarrier,
    /// D8: a loop of barrier and operation on the test node, minus one of barriers alone (paper on
    /// SKaMPI); may be negative.
    BarrierSubtracted,
    /// D9: `e - st` of a rank, the middle one over the ranks; all of them stand beside it.
    Release,
}

/// Definitions with their names and summaries, in the order of their ids.
const FACTS: [(Definition, &str, &str); 9] = {
    use Definition::*;
    [
        (Completion, "D1 completion", "last finish over all ranks minus their common start"),
        (MaxLocal, "D2 max_local", "longest local time over all ranks, after a common start"),
        (TestNode, "D3 test_node", "elapsed time on the test node"),
        (
            HalfRoundTrip,
            "D4 half_round_trip",
            "one way: half of the round trip timed on the test node",
        ),
        (
            LoopMean,
            "D5 loop_mean",
            "time of a loop without synchronisation, per operation, on the slowest rank",
        ),
        (CallMean, "D6 call_mean", "time of one call, the mean over all ranks"),
        (
            ClosedByBarrier,
            "D7 closed_by_barrier",
            "elapsed time on the test node, closing barrier included",
        ),
        (
            BarrierSubtracted,
            "D8 barrier_subtracted",
            "barrier and operation minus barrier alone, on the test node",
        ),
        (
            Release,
            "D9 release",
            "from the common start to the finish of a rank, the middle one over all ranks",
        ),
    ]
};

impl Definition {
    /// All definitions, in the order of their ids.
    pub fn all() -> impl Iterator<Item = Self> {
        FACTS.iter().map(|(definition, ..)| *definition)
    }

    /// The definition with this id (`D1`), name (`completion`) or both, in any case of letters.
    pub fn find(text: &str) -> Option<Self> {
        let is_named = |name: &str| {
            let mut names = name.split(' ').chain([name]);
            names.any(|name| name.eq_ignore_ascii_case(text))
        };
        Self::all().find(|definition| is_named(definition.name()))
    }

    /// Name as in the record: its id, and a word.
    pub fn name(self) -> &'static str {
        FACTS[self as usize].1
    }

    /// One sentence for table heads and reports.
    pub fn summary(self) -> &'static str {
        FACTS[self as usize].2
    }

    /// True if the test node alone samples.
    pub fn is_of_one_rank(self) -> bool {
        matches!(
            self,
            Self::TestNode | Self::HalfRoundTrip | Self::ClosedByBarrier | Self::BarrierSubtracted
        )
    }

    /// True if each sample is one operation, before which all ranks start together.
    pub fn starts_together(self) -> bool {
        matches!(self, Self::Completion | Self::MaxLocal | Self::CallMean | Self::Release)
    }

    /// The definition that the samples give whose clocks are comparable, or not.
    pub fn on_clocks(self, are_comparable: bool) -> Self {
        if are_comparable {
            return self;
        }
        match self {
            Self::Completion | Self::Release => Self::MaxLocal,
            other => other,
        }
    }

    /// Value of one sample in nanoseconds, of which an interval holds `n_values`: one for each
    /// operation, or two of a round trip. It is made of the samples that the participating ranks took,
    /// on comparable clocks where the definition needs them.
    ///
    /// # Panics
    /// If `of_ranks` is empty.
    pub fn value_ns(self, of_ranks: &[Sample], n_values: u64) -> f64 {
        let elapsed_ns = match self {
            Self::Completion => completion_ns(of_ranks),
            Self::CallMean => comet_stats::mean(&self.of_each_rank_ns(of_ranks)),
            Self::BarrierSubtracted => {
                let own = of_ranks[0];
                real(own.elapsed_ns()) - real(own.reference_ns.unwrap_or(0))
            }
            Self::Release => comet_stats::median(&self.of_each_rank_ns(of_ranks)).expect(ONE_RANK),
            _ => self.of_each_rank_ns(of_ranks).into_iter().fold(f64::NEG_INFINITY, f64::max),
        };
        elapsed_ns / real(n_values)
    }

    /// The intervals of each rank in one sample, in nanoseconds: from the common start under D9,
    /// and local ones otherwise.
    pub fn of_each_rank_ns(self, of_ranks: &[Sample]) -> Vec<f64> {
        let st_ns = common_start_ns(of_ranks);
        let of_rank = |s: &Sample| match self {
            Self::Release => real(s.end_ns.saturating_sub(st_ns)),
            _ => real(s.elapsed_ns()),
        };
        of_ranks.iter().map(of_rank).collect()
    }
}

/// Property of every sample.
const ONE_RANK: &str = "at least one rank samples each series";

/// Common start of all ranks: that of the first.
fn common_start_ns(of_ranks: &[Sample]) -> u64 {
    of_ranks.iter().map(|s| s.start_ns).min().expect(ONE_RANK)
}

/// From the common start to the last end; with skewed starts, from the last of them.
fn completion_ns(of_ranks: &[Sample]) -> f64 {
    let is_skewed = of_ranks.iter().any(|s| s.is_skewed);
    let last_start_ns = of_ranks.iter().map(|s| s.start_ns).max();
    let start_ns = if is_skewed { last_start_ns } else { Some(common_start_ns(of_ranks)) };
    let end_ns = of_ranks.iter().map(|s| s.end_ns).max();
    let (start_ns, end_ns) = start_ns.zip(end_ns).expect(ONE_RANK);
    real(end_ns.saturating_sub(start_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn sample(start_ns: u64, end_ns: u64) -> Sample {
        Sample { start_ns, end_ns, due_ns: None, reference_ns: None, is_skewed: false }
    }

    const OF_RANKS: [Sample; 3] = [sample(100, 160), sample(110, 190), sample(105, 170)];

    #[test]
    fn each_definition_makes_its_own_value_of_the_same_samples() {
        let check = |definition: Definition, expected: f64| {
            assert_eq!(definition.value_ns(&OF_RANKS, 1), expected, "{}", definition.name());
        };
        check(Definition::Completion, 90.0);
        check(Definition::MaxLocal, 80.0);
        check(Definition::LoopMean, 80.0);
        check(Definition::CallMean, (60.0 + 80.0 + 65.0) / 3.0);
        check(Definition::Release, 70.0);
    }

    #[test]
    fn a_sample_starts_with_the_first_rank_and_a_skewed_one_with_the_last() {
        // Before the first start there is nothing but the tool: the spin, and a reading.
        let in_window = OF_RANKS.map(|s| Sample { due_ns: Some(40), ..s });
        assert_eq!(Definition::Completion.value_ns(&in_window, 1), 90.0);
        assert_eq!(Definition::Release.value_ns(&in_window, 1), 70.0);
        let skewed = in_window.map(|s| Sample { is_skewed: true, ..s });
        assert_eq!(Definition::Completion.value_ns(&skewed, 1), 80.0);
    }

    #[test]
    fn a_batch_is_divided_by_its_repetitions_and_an_echo_by_two() {
        let own = &OF_RANKS[..1];
        assert_eq!(Definition::TestNode.value_ns(own, 10), 6.0);
        let in_10_trips = 10 * u64::from(Quantity::OneWayTime.divisor());
        assert_eq!(Definition::HalfRoundTrip.value_ns(own, in_10_trips), 3.0);
        assert_eq!(Definition::CallMean.value_ns(own, in_10_trips), 3.0);
    }

    #[test]
    fn what_the_barriers_took_is_subtracted_even_where_little_is_left() {
        let check = |reference_ns, expected: f64| {
            let own = Sample { reference_ns: Some(reference_ns), ..OF_RANKS[0] };
            assert_eq!(Definition::BarrierSubtracted.value_ns(&[own], 2), expected);
        };
        check(40, 10.0);
        check(70, -5.0);
    }

    #[test]
    fn clocks_that_cannot_be_compared_give_local_times() {
        let check = |definition: Definition, expected: Definition| {
            assert_eq!(definition.on_clocks(false), expected);
            assert_eq!(definition.on_clocks(true), definition);
        };
        check(Definition::Completion, Definition::MaxLocal);
        check(Definition::Release, Definition::MaxLocal);
        check(Definition::HalfRoundTrip, Definition::HalfRoundTrip);
    }

    #[test]
    fn a_definition_is_found_by_its_id_or_its_word() {
        for definition in Definition::all() {
            let (id, word) = definition.name().split_once(' ').unwrap();
            for text in [id, word, &id.to_lowercase(), definition.name()] {
                assert_eq!(Definition::find(text), Some(definition), "{text}");
            }
        }
        assert_eq!(Definition::find("D10"), None);
    }
}
