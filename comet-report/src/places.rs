//! Places of ranks 0 and 1 on their host, which the time of a cache line between them tells apart.
//!
//! The host of a virtual machine moves its CPUs: two threads of one core exchange a line several times
//! as fast as two cores, and compute more slowly side by side. Figures of two places are two numbers.

use comet_core::event::LineTimes;

use crate::record::{Point, Run};

/// Number of the latest runs of a history, whose place is that of the history.
const N_LATEST: usize = 20;
/// The most places of a machine: each is half as slow again as the one before.
const MOST: usize = 32;

/// One place: times of a line from the shortest one up to half as much more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    from_ns: f64,
}

impl Place {
    /// True if the times from `from` to `to`, in nanoseconds, are of this place.
    pub(crate) fn holds(self, [from, to]: [f64; 2]) -> bool {
        from >= self.from_ns && to <= LineTimes::MAX_RATIO * self.from_ns
    }

    /// The place in the middle of which a line takes `ns` nanoseconds.
    pub(crate) fn at(ns: f64) -> Self {
        Self { from_ns: ns / LineTimes::MAX_RATIO.sqrt() }
    }

    /// A place for each of the `ranges`, which begins with it.
    pub(crate) fn starts(ranges: &[[f64; 2]]) -> impl Iterator<Item = Self> {
        ranges.iter().map(|[from_ns, _]| Self { from_ns: *from_ns })
    }

    /// The first 32 places of `ranges`, that of the most first, and the faster of two that have as many; none
    /// if all ranges are of one place. Ranges over two places are of none.
    pub(crate) fn all(ranges: &[[f64; 2]]) -> Vec<Self> {
        let mut places = Vec::new();
        if apart(ranges).is_none() {
            return places;
        }
        let mut rest = ranges.to_vec();
        rest.sort_by(|[a, _], [b, _]| a.total_cmp(b));
        while places.len() < MOST
            && let Some(fullest) = Self::fullest(&rest)
        {
            rest.retain(|range| !fullest.holds(*range));
            places.push(fullest);
        }
        places
    }

    /// The place that holds the most of `ranges`, which are in the order of their starts: the fastest of
    /// several.
    fn fullest(ranges: &[[f64; 2]]) -> Option<Self> {
        // Places begin with a range. Those that hold one follow each other: the first is long enough for
        // its end, the last begins with its start.
        let mut steps = vec![0_i64; ranges.len() + 1];
        for [from, to] in ranges {
            let first = ranges.partition_point(|[start, _]| LineTimes::MAX_RATIO * start < *to);
            let end = ranges.partition_point(|[start, _]| start <= from);
            if first < end {
                steps[first] += 1;
                steps[end] -= 1;
            }
        }
        let (mut n_held, mut fullest) = (0, (0, None));
        for (step, [from_ns, _]) in steps.iter().zip(ranges) {
            n_held += step;
            if n_held > fullest.0 {
                fullest = (n_held, Some(Self { from_ns: *from_ns }));
            }
        }
        fullest.1
    }
}

/// The shortest and the longest time of all `ranges`, if they are not of one place.
pub(crate) fn apart(ranges: &[[f64; 2]]) -> Option<[f64; 2]> {
    let [low, high] = around(ranges)?;
    (high > LineTimes::MAX_RATIO * low).then_some([low, high])
}

/// The shortest and the longest time of all `ranges`; `None` without any.
pub(crate) fn around(ranges: &[[f64; 2]]) -> Option<[f64; 2]> {
    let both = |[low, high]: [f64; 2], [from, to]: [f64; 2]| [low.min(from), high.max(to)];
    ranges.iter().copied().reduce(both)
}

/// Returns for each run of a history, in time order, if it was measured at the place that most of the latest 20 runs
/// have in common. `lines_ns` are the shortest and the longest time of a cache line around each: a run without them
/// counts.
pub fn are_of_latest(lines_ns: &[Option<[f64; 2]>]) -> Vec<bool> {
    let known: Vec<[f64; 2]> = lines_ns.iter().flatten().copied().collect();
    let mut latest = known[known.len().saturating_sub(N_LATEST)..].to_vec();
    latest.sort_by(|[a, _], [b, _]| a.total_cmp(b));
    let place = apart(&known).and_then(|_| Place::fullest(&latest)).and_then(|fullest| {
        let own: Vec<f64> =
            latest.iter().filter(|of| fullest.holds(**of)).map(|of| of[0]).collect();
        comet_stats::median(&own).map(Place::at)
    });
    let counts = |line: &Option<[f64; 2]>| place.zip(*line).is_none_or(|(at, of)| at.holds(of));
    lines_ns.iter().map(counts).collect()
}

/// Returns the shortest and the longest time of a cache line around `point`, in nanoseconds, or else the one at the
/// start of its `run`; `None` where the record has neither.
pub fn line_of(point: &Point, run: Option<&Run>) -> Option<[f64; 2]> {
    let of_point = point.quality().and_then(|quality| quality.line_ns.as_deref());
    let of_run = run.and_then(|run| run.line_ns);
    range(of_point.unwrap_or(of_run.as_slice()))
}

/// The shortest and the longest time of a cache line around `point`, in nanoseconds, if the record has
/// them.
pub(crate) fn line_ns(point: &Point) -> Option<[f64; 2]> {
    range(point.quality()?.line_ns.as_deref()?)
}

/// The least and the largest of times of a line.
pub(crate) fn range(lines_ns: &[f64]) -> Option<[f64; 2]> {
    around(&lines_ns.iter().filter(|ns| **ns > 0.0).map(|ns| [*ns; 2]).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn froms(ranges: &[[f64; 2]]) -> Vec<f64> {
        Place::all(ranges).iter().map(|place| place.from_ns).collect()
    }

    #[test]
    fn places_come_by_their_number_of_ranges_and_the_faster_first() {
        assert_eq!(froms(&[]), [0.0; 0]);
        assert_eq!(froms(&[[100.0, 120.0], [110.0, 140.0]]), [0.0; 0], "one place");
        let (apart, together) = ([104.0, 118.0], [10.0, 12.0]);
        assert_eq!(froms(&[together, apart, [110.0, 123.0]]), [104.0, 10.0]);
        assert_eq!(froms(&[apart, together]), [10.0, 104.0]);
        assert_eq!(froms(&[[11.0, 110.0], apart, apart]), [104.0], "one moved meanwhile");
        assert_eq!(froms(&[[11.0, 110.0]]), [0.0; 0], "none has a figure");
    }

    #[test]
    fn a_history_is_at_the_place_of_its_latest_runs() {
        let line = |ns: f64| Some([ns, 1.1 * ns]);
        let alike = [line(100.0), None, line(120.0)];
        assert_eq!(are_of_latest(&alike), [true; 3]);
        let some_together = [line(100.0), line(11.0), None, line(105.0), Some([11.0, 110.0])];
        assert_eq!(are_of_latest(&some_together), [true, false, true, true, false]);
        let moved = [[line(100.0); 30], [line(11.0); 30]].concat();
        assert_eq!(are_of_latest(&moved).iter().position(|counts| *counts), Some(30));
        assert!(are_of_latest(&[]).is_empty());
    }

    #[test]
    fn places_of_many_ranges_that_have_nothing_in_common_are_found_at_once() {
        let from = |n: u32| 100.0 + f64::from(n) / 1000.0;
        let ranges: Vec<_> = (0..20_000).map(|n| [from(n), 1.5 * from(n)]).collect();
        let found = froms(&ranges);
        assert_eq!(found.len(), MOST);
        assert_eq!(found[0], 100.0, "each holds one, and the fastest comes first");
    }
}
