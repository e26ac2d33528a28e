//! The barrier, and which rank it lets go last.

use comet_stats::{self, Summary};

use crate::pairs::times_ns;
use crate::record::{Point, PointStatus};

/// Times of the barrier.
#[derive(Clone, Debug)]
pub struct Barrier {
    /// The medians of the ranks that took times, in nanoseconds.
    pub medians_ns: Summary,
    /// The rank with the largest one, where several took times.
    pub last: Option<usize>,
}

/// The last verified point of `comet/barrier`, if there is one.
pub(super) fn of(points: &[Point]) -> Option<Barrier> {
    let is_ours = |point: &&Point| point.suite == "comet" && point.kernel == "barrier";
    let is_ok = |point: &&Point| point.status == PointStatus::Ok;
    let times = times_ns(points.iter().filter(is_ours).rfind(is_ok)?);
    let median =
        |(rank, times_ns): &(usize, Vec<f64>)| Some((*rank, comet_stats::median(times_ns)?));
    let medians: Vec<(usize, f64)> = times.iter().filter_map(median).collect();
    let medians_ns: Vec<f64> = medians.iter().map(|(_, median_ns)| *median_ns).collect();
    let last = medians.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let last = last.filter(|_| medians.len() > 1).map(|(rank, _)| *rank);
    Some(Barrier { medians_ns: Summary::of(&medians_ns)?, last })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn the_last_rank_is_named_where_several_take_times() {
        let barrier = of(&[fixture::barrier(3, |rank| [100, 300, 200][rank])]).unwrap();
        assert_eq!((barrier.medians_ns.median, barrier.last), (200.0, Some(1)));
        assert_eq!(of(&[fixture::barrier(1, |_| 100)]).unwrap().last, None);
        assert!(of(&[]).is_none());
    }
}
