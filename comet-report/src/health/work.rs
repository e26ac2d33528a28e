//! The work of each rank without messages, and the barrier with the rank that it lets go last.

use std::collections::BTreeMap;

use comet_core::kernel::{Class, Evaluation};
use comet_stats::{self, Summary};

use super::links::{MIN_VALUES, Usual};
use crate::pairs::times_ns;
use crate::record::Point;

/// A piece of work is late that takes so many times the median of its rank.
const LATE: f64 = 1.5;
/// A rank is noisy whose share of late pieces is more than so many times that of the others.
const MAX_RATIO: f64 = 3.0;
/// Most probable chance, over all ranks, by which one is called noisy.
const MAX_CHANCE: f64 = 1e-3;

/// Times of a fixed piece of work on the ranks.
#[derive(Clone, Debug)]
pub struct Work {
    /// The medians of the ranks, in nanoseconds.
    pub medians_ns: Summary,
    /// The 99th percentiles of the ranks over their medians.
    pub tails: Summary,
    /// Ranks that are slow: how many times the median of all they take.
    pub(super) slow: Vec<(usize, f64)>,
    /// Ranks that are noisy: their share of late pieces, and that of the others.
    pub(super) noisy: Vec<(usize, [f64; 2])>,
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
    Some(Work { slow: slow.collect(), noisy: noisy(&ranks), medians_ns, tails: of_tails })
}

/// Ranks with more late pieces than those of the others make probable: a disturbance that all ranks
/// have makes none of them noisy. One late piece among the others is supposed.
fn noisy(ranks: &BTreeMap<usize, Vec<f64>>) -> Vec<(usize, [f64; 2])> {
    let late = |sorted: &Vec<f64>| {
        let bound_ns = LATE * comet_stats::quantile(sorted, 0.5);
        [sorted.iter().filter(|ns| **ns > bound_ns).count() as u64, sorted.len() as u64]
    };
    let counts: Vec<(usize, [u64; 2])> =
        ranks.iter().map(|(rank, sorted)| (*rank, late(sorted))).collect();
    let [n_late, n] = [0, 1].map(|i| counts.iter().map(|(_, count)| count[i]).sum::<u64>());
    let share = |n_late: u64, n: u64| n_late as f64 / n as f64;
    let is_noisy = |(rank, [own_late, own]): (usize, [u64; 2])| {
        let usual = share(n_late - own_late + 1, n - own + 1);
        let chance = counts.len() as f64 * comet_stats::at_least(own_late, own, usual);
        let shares = [share(own_late, own), share(n_late - own_late, n - own)];
        (shares[0] > MAX_RATIO * usual && chance < MAX_CHANCE).then_some((rank, shares))
    };
    let is_enough = counts.len() >= MIN_VALUES;
    counts.iter().copied().filter(|_| is_enough).filter_map(is_noisy).collect()
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
        let work = of(&vec![point; 10], 1.1).unwrap();
        assert_eq!(work.noisy, [(4, [0.25, 0.0])]);
        assert_eq!((work.slow.len(), work.slow[0].0), (1, 2));
        assert!((work.slow[0].1 - 401.5 / 101.5).abs() < 1e-9, "{:?}", work.slow);
    }

    #[test]
    fn the_points_of_a_run_are_looked_at_together() {
        let part = |rank: usize, time_ns| {
            fixture::noise(5, move |r| if r == rank { [100, 100, 100, time_ns] } else { [100; 4] })
        };
        let found = |n_late| {
            let parts = (0..20).map(|index| part(3, if index < n_late { 1000 } else { 100 }));
            of(&parts.collect::<Vec<_>>(), 1.1).unwrap().noisy
        };
        // One late piece of 80 is no evidence.
        assert_eq!((found(1), found(8)), (vec![], vec![(3, [0.1, 0.0])]));
    }

    #[test]
    fn a_disturbance_that_all_ranks_have_makes_none_of_them_noisy() {
        let mut state = 2003_u64;
        let mut uniform = || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut blamed = |share: fn(usize) -> f64| {
            let parts = (0..250).map(|_| {
                let late = [(); 9].map(|()| [(); 4].map(|()| uniform()));
                let time_ns = |rank: usize, u: f64| if u < share(rank) { 1000 } else { 100 };
                fixture::noise(9, |rank| late[rank].map(|u| time_ns(rank, u)))
            });
            let noisy = of(&parts.collect::<Vec<_>>(), 1.1).unwrap().noisy;
            noisy.iter().map(|(rank, _)| *rank).collect::<Vec<_>>()
        };
        for _ in 0..20 {
            assert!(blamed(|_| 0.01).is_empty());
            assert_eq!(blamed(|rank| if rank == 5 { 0.05 } else { 0.01 }), [5]);
        }
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
