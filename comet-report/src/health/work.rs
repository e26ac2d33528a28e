//! The work of each rank without messages, and the barrier with the rank that it lets go last.

use std::collections::BTreeMap;

use comet_core::kernel::{Class, Evaluation};
use comet_stats::{self, Summary};

use super::links::{MIN_VALUES, Usual};
use crate::pairs::times_ns;
use crate::record::Point;

/// A rank is noisy whose tail is so many times that of the middle rank.
const MAX_TAIL: f64 = 3.0;

/// Times of a fixed piece of work on the ranks.
#[derive(Clone, Debug)]
pub struct Work {
    /// The medians of the ranks, in nanoseconds.
    pub medians_ns: Summary,
    /// The 99th percentiles of the ranks over their medians.
    pub tails: Summary,
    /// Ranks that are slow: how many times the median of all they take.
    pub(super) slow: Vec<(usize, f64)>,
    /// Ranks that are noisy: how many times their median their 99th percentile is.
    pub(super) noisy: Vec<(usize, f64)>,
}

pub(super) fn of(points: &[Point], factor: f64) -> Option<Work> {
    let ranks = sorted_times_ns(points);
    let medians: Vec<f64> =
        ranks.values().map(|sorted| comet_stats::quantile(sorted, 0.5)).collect();
    let tail = |sorted: &Vec<f64>| {
        comet_stats::quantile(sorted, 0.99) / comet_stats::quantile(sorted, 0.5)
    };
    let tails: Vec<f64> = ranks.values().map(tail).collect();
    let (medians_ns, of_tails) = (Summary::of(&medians)?, Summary::of(&tails)?);
    let usual = Usual::of(&medians, factor);
    let slow = ranks.iter().zip(&medians).filter_map(|((rank, sorted), median)| {
        let excess = usual?.excess(*median, comet_stats::quantile(sorted, 0.25))?;
        Some((*rank, excess))
    });
    let is_noisy = |tail: f64| tails.len() >= MIN_VALUES && tail > MAX_TAIL * of_tails.median;
    let noisy = ranks.keys().copied().zip(tails.iter().copied());
    Some(Work {
        slow: slow.collect(),
        noisy: noisy.filter(|(_, tail)| is_noisy(*tail)).collect(),
        medians_ns,
        tails: of_tails,
    })
}

fn sorted_times_ns(points: &[Point]) -> BTreeMap<usize, Vec<f64>> {
    let is_ours = |point: &&Point| point.facts.evaluation == Evaluation::RankWork;
    let mut ranks: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (rank, times_ns) in points.iter().filter(is_ours).filter(is_ok).flat_map(times_ns) {
        ranks.entry(rank).or_default().extend(times_ns);
    }
    ranks.values_mut().for_each(|times_ns| times_ns.sort_by(f64::total_cmp));
    // A simulated machine may compute in no time.
    ranks.retain(|_, sorted| !sorted.is_empty() && comet_stats::quantile(sorted, 0.5) > 0.0);
    ranks
}

/// Times of the barrier.
#[derive(Clone, Debug)]
pub struct Barrier {
    /// The medians of the ranks that took times, in nanoseconds.
    pub medians_ns: Summary,
    /// The rank with the largest one, where several took times.
    pub last: Option<usize>,
}

pub(super) fn barrier(points: &[Point]) -> Option<Barrier> {
    let is_barrier = |point: &&Point| point.facts.class() == Some(Class::Synchronisation);
    let times = times_ns(points.iter().filter(is_barrier).rfind(is_ok)?);
    let median =
        |(rank, times_ns): &(usize, Vec<f64>)| Some((*rank, comet_stats::median(times_ns)?));
    let medians: Vec<(usize, f64)> = times.iter().filter_map(median).collect();
    let medians_ns: Vec<f64> = medians.iter().map(|(_, median_ns)| *median_ns).collect();
    let last = medians.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let last = last.filter(|_| medians.len() > 1).map(|(rank, _)| *rank);
    Some(Barrier { medians_ns: Summary::of(&medians_ns)?, last })
}

fn is_ok(point: &&Point) -> bool {
    point.numbers().is_some()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn a_rank_is_slow_by_its_median_and_noisy_by_its_tail() {
        let point = fixture::noise(6, |rank| match rank {
            2 => [400, 401, 402, 403],
            4 => [100, 100, 100, 900],
            _ => [100, 101, 102, 103],
        });
        let work = of(&[point], 1.1).unwrap();
        let ranks =
            |found: &[(usize, f64)]| found.iter().map(|(rank, _)| *rank).collect::<Vec<_>>();
        assert_eq!((ranks(&work.slow), ranks(&work.noisy)), (vec![2], vec![4]));
        assert!((work.slow[0].1 - 401.5 / 101.5).abs() < 1e-9, "{:?}", work.slow);
    }

    #[test]
    fn the_points_of_a_run_are_looked_at_together() {
        let part = |rank: usize, time_ns| {
            fixture::noise(5, move |r| if r == rank { [100, 100, 100, time_ns] } else { [100; 4] })
        };
        // One sample of eight is far above the 99th percentile of all.
        let work = of(&[part(0, 100), part(3, 1000)], 1.1).unwrap();
        assert_eq!(work.noisy.len(), 1);
        assert_eq!(work.noisy[0].0, 3);
    }

    #[test]
    fn few_ranks_are_described_and_not_compared() {
        let work = of(&[fixture::noise(2, |rank| [100 + 900 * rank as u64; 4])], 1.1).unwrap();
        assert_eq!((work.slow, work.noisy), (vec![], vec![]));
        assert_eq!((work.medians_ns.min, work.medians_ns.max), (100.0, 1000.0));
        assert!(of(&[], 1.1).is_none());
    }

    #[test]
    fn the_last_rank_is_named_where_several_take_times() {
        let found = barrier(&[fixture::barrier(3, |rank| [100, 300, 200][rank])]).unwrap();
        assert_eq!((found.medians_ns.median, found.last), (200.0, Some(1)));
        assert_eq!(barrier(&[fixture::barrier(1, |_| 100)]).unwrap().last, None);
        assert!(barrier(&[]).is_none());
    }
}
