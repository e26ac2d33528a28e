//! Times of each two ranks for a message, from kernels that take them in rounds.

use comet_core::kernel::AxisKind;
use comet_core::rounds;

use crate::plot::Quantity;
use crate::record::{Measured, Over, Point};
use crate::units::bytes;

/// Axis of the rounds, in each of which a rank meets another one.
const ROUND: Over = Over::Kind(AxisKind::Round);
/// Messages of at least this length have a rate, shorter ones a latency.
pub(crate) const LONG_BYTES: u64 = 64 * 1024;
/// A round trip is two messages.
const WAYS: f64 = 2.0;

/// A value for each two ranks, at one message length.
#[derive(Clone, Debug, PartialEq)]
pub struct PairMatrix {
    /// Title (`one-way time of 8 B between two ranks`).
    pub title: String,
    /// Number of ranks.
    pub n_ranks: usize,
    /// Length of the messages.
    pub length_bytes: u64,
    /// Quantity: one-way times in ns, or rates in bytes per second.
    pub quantity: Quantity,
    /// Row by row: by the clock of the rank of the row, with the rank of the column; `None` where
    /// nothing was measured, as between a rank and itself.
    pub values: Vec<Option<f64>>,
}

impl PairMatrix {
    /// The rates of these times, for messages that are long enough to have one.
    pub(crate) fn rates(&self) -> Option<Self> {
        let length_bytes = self.length_bytes;
        let rate = |ns: &f64| length_bytes as f64 / ns * 1e9;
        let values = self.values.iter().map(|ns| ns.as_ref().filter(|ns| **ns > 0.0).map(rate));
        (length_bytes >= LONG_BYTES).then(|| Self {
            title: format!("bandwidth of {} between two ranks", bytes(length_bytes)),
            quantity: Quantity::BytesPerSecond,
            values: values.collect(),
            ..self.clone()
        })
    }
}

/// Reading of one rank for its messages to and from another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) rank: usize,
    pub(crate) peer: usize,
    /// Median of the one-way times, half of each round trip, in nanoseconds.
    pub(crate) median_ns: f64,
    /// Their lower quartile: three quarters of the samples took longer.
    pub(crate) quartile_ns: f64,
}

/// The matrices of the verified points: one for each number of ranks and message length.
pub fn matrices(points: &[&Point]) -> Vec<PairMatrix> {
    let mut matrices: Vec<PairMatrix> = Vec::new();
    for point in points {
        let Some((n_ranks, length_bytes)) = world(point) else { continue };
        let is_it = |m: &PairMatrix| (m.n_ranks, m.length_bytes) == (n_ranks, length_bytes);
        let index = matrices.iter().position(is_it).unwrap_or_else(|| {
            matrices.push(empty(n_ranks, length_bytes));
            matrices.len() - 1
        });
        for Reading { rank, peer, median_ns, .. } in readings(point) {
            let value = matrices[index].values.get_mut(rank * n_ranks + peer);
            value.into_iter().for_each(|value| *value = Some(median_ns));
        }
    }
    matrices
}

fn empty(n_ranks: usize, length_bytes: u64) -> PairMatrix {
    PairMatrix {
        title: format!("one-way time of {} between two ranks", bytes(length_bytes)),
        n_ranks,
        length_bytes,
        quantity: Quantity::TimeNs,
        values: vec![None; n_ranks * n_ranks],
    }
}

/// Number of ranks and message length of a verified point in rounds; `None` of any other, and of
/// one that states more ranks than have sampled (one may rest).
pub(crate) fn world(point: &Point) -> Option<(usize, u64)> {
    let has_numbers = point.on(ROUND).is_some() && point.numbers().is_some();
    let n_sampled = point.measured()?.samples.as_ref()?.ranks.len();
    let n_ranks = usize::try_from(point.params.ranks()?).ok().filter(|n| *n <= n_sampled + 1);
    n_ranks.zip(point.on(Over::Message)).filter(|_| has_numbers)
}

/// Readings of the ranks of a point in rounds; none if the point is another, or is not whole.
pub(crate) fn readings(point: &Point) -> Vec<Reading> {
    let round = point.on(ROUND).and_then(|round| usize::try_from(round).ok());
    let Some(((n_ranks, _), round)) = world(point).zip(round) else { return Vec::new() };
    if !(1..=rounds::count(n_ranks)).contains(&round) {
        return Vec::new();
    }
    let reading = |(rank, times_ns): (usize, Vec<f64>)| {
        let peer = rounds::partner(rank, n_ranks, round)?;
        let sorted = comet_stats::sorted(&times_ns);
        let quantile = |q| comet_stats::quantile(&sorted, q) / WAYS;
        Some(Reading { rank, peer, median_ns: quantile(0.5), quartile_ns: quantile(0.25) })
    };
    let of_ranks = times_ns(point).into_iter().filter(|(rank, _)| *rank < n_ranks);
    of_ranks.filter_map(reading).collect()
}

/// The times of one operation in nanoseconds, sample by sample, on each rank that sampled.
pub(crate) fn times_ns(point: &Point) -> Vec<(usize, Vec<f64>)> {
    let Some(Measured { samples: Some(samples), reps, .. }) = point.measured() else {
        return Vec::new();
    };
    let n_samples = samples.shape[1].max(1);
    let time_ns = |elapsed_ns: &u64| *elapsed_ns as f64 / f64::from(reps.inner.max(1));
    let of_rank = |elapsed_ns: &[u64]| elapsed_ns.iter().map(time_ns).collect();
    samples.ranks.iter().copied().zip(samples.data.chunks(n_samples).map(of_rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::fixture;
    use crate::record::Outcome;

    #[test]
    fn each_pair_has_the_medians_of_its_two_ranks() {
        let records = fixture::pairs(3, |a, b| 100 * (a + b));
        let points: Vec<&Point> = records.points.iter().collect();
        let [matrix] = <[PairMatrix; 1]>::try_from(matrices(&points)).unwrap();
        assert_eq!((matrix.n_ranks, matrix.length_bytes), (3, 8));
        assert_eq!(matrix.quantity, Quantity::TimeNs);
        let [ab, ac, bc] = [Some(100.0), Some(200.0), Some(300.0)];
        assert_eq!(matrix.values, [None, ab, ac, ab, None, bc, ac, bc, None]);
    }

    #[test]
    fn more_ranks_than_have_sampled_make_no_matrix() {
        let mut records = fixture::pairs(3, |_, _| 100);
        for n_ranks in [5, 1 << 32, u64::MAX] {
            records.points.iter_mut().for_each(|point| fixture::set(point, "procs", n_ranks));
            let points: Vec<&Point> = records.points.iter().collect();
            assert_eq!(matrices(&points), [], "{n_ranks}");
        }
    }

    #[test]
    fn numbers_of_ranks_and_lengths_have_matrices_of_their_own() {
        let mut records = fixture::pairs(3, |_, _| 100);
        records.points.extend(fixture::pairs(2, |_, _| 100).points);
        fixture::add_length(&mut records, 1024, fixture::pairs(2, |_, _| 100));
        let points: Vec<&Point> = records.points.iter().collect();
        let found: Vec<_> = matrices(&points).iter().map(|m| (m.n_ranks, m.length_bytes)).collect();
        assert_eq!(found, [(3, 8), (2, 8), (2, 1024)]);
        assert_eq!(matrices(&points)[2].title, "one-way time of 1 KiB between two ranks");
    }

    #[test]
    fn long_messages_have_rates() {
        let mut records = fixture::pairs(2, |_, _| 100);
        fixture::add_length(&mut records, 1 << 20, fixture::pairs(2, |_, _| 1000));
        let points: Vec<&Point> = records.points.iter().collect();
        let [short, long] = <[PairMatrix; 2]>::try_from(matrices(&points)).unwrap();
        assert_eq!(short.rates(), None);
        let rates = long.rates().unwrap();
        let expected = f64::from(1 << 20) / long.values[1].unwrap() * 1e9;
        assert_eq!(rates.values, [None, Some(expected), Some(expected), None]);
        assert_eq!(rates.title, "bandwidth of 1 MiB between two ranks");
    }

    #[test]
    fn what_was_not_measured_is_empty() {
        let mut records = fixture::pairs(3, |_, _| 100);
        records.points.remove(0);
        records.points[0].outcome = Outcome::default();
        let points: Vec<&Point> = records.points.iter().collect();
        let n_values = |matrix: &PairMatrix| matrix.values.iter().flatten().count();
        assert_eq!(matrices(&points).iter().map(n_values).collect::<Vec<_>>(), [2]);
        assert_eq!(matrices(&[]), []);
    }

    #[test]
    fn a_round_that_there_cannot_be_tells_nothing() {
        let mut records = fixture::pairs(3, |_, _| 100);
        for round in [0, 4, u64::MAX] {
            fixture::set(&mut records.points[0], "round", round);
            assert_eq!(readings(&records.points[0]), [], "round {round}");
        }
    }
}
