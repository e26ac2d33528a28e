//! The pairs of ranks at one message length: what they take, class by class, and which are slow, by
//! their distances from the others.

use std::collections::BTreeMap;

use comet_stats::Summary;

use super::effects::{self, Between, Level};
use super::suspects::{Class, Places};
use crate::pairs::{Reading, readings, world};
use crate::record::Point;

/// Times of the pairs of ranks at one message length.
#[derive(Clone, Debug)]
pub struct OfLength {
    /// Length of the messages.
    pub length_bytes: u64,
    /// The pairs that are equally far apart.
    pub classes: Vec<OfClass>,
    /// Every pair that could be compared, the lower rank first.
    pub(super) pairs: Vec<Pair>,
}

/// Times of the pairs of one class.
#[derive(Clone, Debug)]
pub struct OfClass {
    /// Class of their distance.
    pub class: Class,
    /// Their one-way times in nanoseconds.
    pub one_way_ns: Summary,
    /// Number of outliers; `None` if the pairs are too few to compare.
    pub n_slow: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) ranks: [usize; 2],
    /// Ratio to the usual time of its class, if it is an outlier.
    pub(super) slowness: Option<f64>,
}

/// The pairs in `points`, for each length in ascending order; a pair is slow that takes more than
/// `factor` times the usual time of its class: between hosts that of hosts without an effect, where
/// they can be told, and the median elsewhere.
pub(super) fn of_lengths(points: &[Point], places: &Places<'_>, factor: f64) -> Vec<OfLength> {
    let mut lengths: BTreeMap<u64, Vec<Reading>> = BTreeMap::new();
    for point in points {
        let Some((_, length_bytes)) = world(point) else { continue };
        // The rank that begins sees whole round trips, and nothing of what precedes them.
        let of_pairs = readings(point).into_iter().filter(|reading| reading.rank < reading.peer);
        lengths.entry(length_bytes).or_default().extend(of_pairs);
    }
    let of_length = |(length_bytes, readings): (u64, Vec<Reading>)| {
        let mut classes: BTreeMap<Class, Vec<Reading>> = BTreeMap::new();
        for reading in readings {
            classes.entry(places.class(reading.rank, reading.peer)).or_default().push(reading);
        }
        let levels = levels(&classes, places);
        let mut found = OfLength { length_bytes, classes: Vec::new(), pairs: Vec::new() };
        for (class, readings) in &classes {
            found.compare(*class, readings, levels.get(class), factor);
        }
        found
    };
    lengths.into_iter().map(of_length).collect()
}

/// Levels of the classes of pairs between hosts, as far as they can be told.
fn levels(classes: &BTreeMap<Class, Vec<Reading>>, places: &Places<'_>) -> BTreeMap<Class, Level> {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (class, readings) in classes {
        for reading in readings {
            let Some(names) = places.hosts([reading.rank, reading.peer]) else { continue };
            let number = names.map(|name| {
                let n_hosts = hosts.len();
                *hosts.entry(name).or_insert(n_hosts)
            });
            let ln = reading.median_ns.ln();
            pairs.push(Between { class: *class, hosts: number, ln });
        }
    }
    pairs.retain(|pair| pair.ln.is_finite());
    effects::levels(&pairs).unwrap_or_default()
}

impl OfLength {
    fn compare(&mut self, class: Class, readings: &[Reading], level: Option<&Level>, factor: f64) {
        let medians_ns: Vec<f64> = readings.iter().map(|reading| reading.median_ns).collect();
        let Some(one_way_ns) = Summary::of(&medians_ns) else { return };
        let of_medians = Usual::of(&medians_ns, factor);
        let usual = of_medians.map(|of_all| level.map_or(of_all, |level| of_all.at(level)));
        let pairs = usual.iter().flat_map(|usual| {
            readings.iter().map(|reading| Pair {
                ranks: [reading.rank, reading.peer],
                slowness: usual.excess(reading.median_ns, reading.quartile_ns),
            })
        });
        let pairs: Vec<Pair> = pairs.collect();
        let n_slow = pairs.iter().filter(|pair| pair.slowness.is_some()).count();
        self.classes.push(OfClass { class, one_way_ns, n_slow: usual.map(|_| n_slow) });
        self.pairs.extend(pairs);
    }
}

/// The fewest values of which one can stand out.
pub(super) const MIN_VALUES: usize = 5;
/// Modified z-score above which a value lies apart from the others (Iglewicz and Hoaglin, 1993,
/// take 3.5).
const MAX_Z: f64 = 5.0;
/// Factor from the median of the distances from the median to a standard deviation of normal
/// values.
const NORMAL: f64 = 0.6745;

/// Usual range of values of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    median: f64,
    mad: f64,
    factor: f64,
}

impl Usual {
    /// Usual range of `values`, with `factor` times the median as its limit; `None` if they are too
    /// few.
    pub(super) fn of(values: &[f64], factor: f64) -> Option<Self> {
        let Summary { median, mad, .. } = Summary::of(values)?;
        (values.len() >= MIN_VALUES).then_some(Self { median, mad, factor })
    }

    /// The same about the usual time `level`.
    fn at(self, level: &Level) -> Self {
        let median = level.ln.exp();
        Self { median, mad: median * level.mad, ..self }
    }

    /// Ratio of `value` to the median, if it is an outlier: above the factor, and far from the
    /// median in units of the spread. `least` is exceeded by all but a few of its samples, and has
    /// to be above the factor too.
    pub(super) fn excess(&self, value: f64, least: f64) -> Option<f64> {
        let is_apart = NORMAL * (value - self.median) > MAX_Z * self.mad;
        let is_above = least.min(value) > self.factor * self.median;
        (is_apart && is_above && self.median > 0.0).then(|| value / self.median)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::runs::RunRecords;

    fn of_run(records: &RunRecords) -> OfLength {
        let places = Places::of(records.run.as_deref());
        of_lengths(&records.points, &places, 1.1).remove(0)
    }

    fn slow(length: &OfLength) -> Vec<[usize; 2]> {
        let is_slow = |pair: &&Pair| pair.slowness.is_some();
        length.pairs.iter().filter(is_slow).map(|pair| pair.ranks).collect()
    }

    #[test]
    fn a_pair_is_compared_with_those_that_are_as_far_apart() {
        // Ranks of one host take 100 ns, others 1000 ns, and one pair each takes longer.
        let mut records = fixture::pairs(8, |a, b| match (a, b) {
            (0, 1) => 150,
            (2, 6) => 1200,
            _ if a / 4 == b / 4 => 100,
            _ => 1000,
        });
        fixture::on_hosts(&mut records, 4);
        let length = of_run(&records);
        assert_eq!(slow(&length), [[0, 1], [2, 6]]);
        let classes: Vec<String> = length.classes.iter().map(|c| c.class.to_string()).collect();
        assert_eq!(classes, ["one host", "two hosts"]);
        assert!(length.classes.iter().all(|class| class.n_slow == Some(1)));
    }

    #[test]
    fn classes_of_few_pairs_are_not_compared() {
        let records = fixture::pairs(3, |a, _| 100 + 900 * a);
        let length = of_run(&records);
        assert_eq!((length.classes[0].n_slow, length.pairs.len()), (None, 0));
        assert_eq!(length.classes[0].one_way_ns.n, 3);
    }

    #[test]
    fn lengths_are_in_ascending_order_and_compared_apart() {
        let mut records = fixture::pairs(4, |a, b| if (a, b) == (0, 3) { 2000 } else { 1000 });
        records.points.iter_mut().for_each(|point| fixture::set(point, "length_bytes", 1024));
        fixture::add_length(&mut records, 8, fixture::pairs(4, |_, _| 100));
        let places = Places::of(None);
        let lengths = of_lengths(&records.points, &places, 1.1);
        let found: Vec<_> = lengths.iter().map(|l| (l.length_bytes, slow(l))).collect();
        assert_eq!(found, [(8, vec![]), (1024, vec![[0, 3]])]);
    }

    #[test]
    fn a_value_stands_out_by_the_factor_and_by_the_spread_of_the_others() {
        let check = |values: &[f64], value, least, expected| {
            let usual = Usual::of(values, 1.1).unwrap();
            assert_eq!(usual.excess(value, least), expected, "{value} among {values:?}");
        };
        let quiet = [100.0, 100.0, 101.0, 99.0, 100.0];
        check(&quiet, 150.0, 150.0, Some(1.5));
        check(&quiet, 109.0, 109.0, None);
        // A quarter of its samples are like those of the others.
        check(&quiet, 150.0, 100.0, None);
        check(&quiet, 50.0, 50.0, None);
        let wide = [100.0, 80.0, 120.0, 60.0, 140.0];
        check(&wide, 200.0, 200.0, None);
        check(&wide, 300.0, 300.0, Some(3.0));
        check(&[0.0; 5], 1.0, 1.0, None);
    }

    #[test]
    fn among_a_few_values_none_stands_out() {
        assert!(Usual::of(&[1.0; 4], 1.1).is_none() && Usual::of(&[1.0; 5], 1.1).is_some());
    }
}
