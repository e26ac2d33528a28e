//! The measured curve, as one decision sees it: its segments, and which steps are still open.

use std::collections::BTreeSet;

use super::{Limits, Reading, Step};
use crate::{real, whole};

/// Half widths of a 95 % interval in one standard error.
const QUANTILE: f64 = 1.96;

/// Readings so far, and limits on further ones.
pub(super) struct Curve<'a> {
    /// Ascending sizes with positive times.
    pub(super) readings: Vec<Reading>,
    pub(super) limits: &'a Limits,
    pub(super) refused: &'a BTreeSet<u64>,
}

impl Curve<'_> {
    pub(super) fn get(&self, size: u64) -> Option<&Reading> {
        find(&self.readings, size)
    }

    /// The readings that segments end at: the keys divide by the size, so 0 is none of them.
    pub(super) fn ends(&self) -> &[Reading] {
        let n_empty = self.readings.partition_point(|reading| reading.size == 0);
        &self.readings[n_empty..]
    }

    /// The segments between neighbouring sizes.
    pub(super) fn segments(&self) -> impl Iterator<Item = Segment> {
        let ends = self.ends();
        (1..ends.len()).map(|index| Segment {
            a: index.checked_sub(2).map(|before| ends[before]),
            b: ends[index - 1],
            c: ends[index],
            d: ends.get(index + 1).copied(),
        })
    }

    /// Measures a size, if it is new and there is room for it.
    pub(super) fn measure(&self, size: u64) -> Option<Step> {
        let is_open = self.get(size).is_none() && !self.refused.contains(&size);
        (is_open && self.readings.len() < self.limits.max_points).then_some(Step::Measure(size))
    }

    /// Takes more slices of a size, if it may have more.
    pub(super) fn more_slices(&self, reading: &Reading) -> Option<Step> {
        let may_grow = reading.n_slices < self.limits.max_slices;
        let is_open = may_grow && !self.refused.contains(&reading.size);
        is_open.then_some(Step::MoreSlices(reading.size))
    }

    /// The relative standard error of a reading. One without an interval is taken to have half of
    /// `eps`, which is too much for the paper's rule, and enough to ask for more slices.
    pub(super) fn relative_error(&self, reading: &Reading) -> f64 {
        let known = reading.half_width_ns.map(|half_ns| half_ns / QUANTILE / reading.time_ns);
        known.unwrap_or(self.limits.eps / 2.0)
    }

    /// True if the paper's rule, which takes noise for shape, may trust a reading.
    pub(super) fn is_quiet(&self, reading: &Reading) -> bool {
        self.relative_error(reading) < self.limits.eps / 2.0
    }
}

/// Two neighbouring sizes, b and c, and the sizes beside them; the letters are the paper's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) a: Option<Reading>,
    pub(super) b: Reading,
    pub(super) c: Reading,
    pub(super) d: Option<Reading>,
}

impl Segment {
    pub(super) fn readings(&self) -> impl Iterator<Item = Reading> {
        [self.a, Some(self.b), Some(self.c), self.d].into_iter().flatten()
    }

    /// Its width relative to its lower end.
    pub(super) fn relative_width(&self) -> f64 {
        real(self.c.size - self.b.size) / real(self.b.size)
    }

    /// The size that divides it in the paper's way: the geometric mean of its ends; `None` if it is
    /// too narrow.
    pub(super) fn middle(&self) -> Option<u64> {
        let (b, c) = (self.b.size, self.c.size);
        let middle = whole((real(b) * real(c)).sqrt().round());
        (b < middle && middle < c).then_some(middle)
    }
}

/// The time at `size` on the line through two readings of different sizes.
pub(super) fn on_line(from: &Reading, to: &Reading, size: u64) -> f64 {
    let share = (real(size) - real(from.size)) / (real(to.size) - real(from.size));
    from.time_ns + share * (to.time_ns - from.time_ns)
}

/// The readings whose time is a positive number, in ascending order of their sizes.
pub(super) fn usable(readings: &[Reading]) -> Vec<Reading> {
    let is_usable = |r: &&Reading| r.time_ns > 0.0 && r.time_ns.is_finite();
    let mut usable: Vec<Reading> = readings.iter().filter(is_usable).copied().collect();
    usable.sort_by_key(|reading| reading.size);
    usable
}

/// The reading of `size` among ascending ones.
pub(super) fn find(readings: &[Reading], size: u64) -> Option<&Reading> {
    readings.binary_search_by_key(&size, |reading| reading.size).ok().map(|index| &readings[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_divided_at_its_geometric_mean() {
        let check = |sizes: [u64; 2], expected| {
            let readings =
                sizes.map(|size| Reading { size, time_ns: 1.0, half_width_ns: None, n_slices: 1 });
            let (limits, refused) = (Limits::default(), BTreeSet::new());
            let curve = Curve { readings: readings.to_vec(), limits: &limits, refused: &refused };
            let middles: Vec<_> = curve.segments().map(|s| s.middle()).collect();
            assert_eq!(middles, expected, "{sizes:?}");
        };
        check([64, 256], vec![Some(128)]);
        check([512, 1024], vec![Some(724)]);
        check([2, 3], vec![None]);
        check([1, 3], vec![Some(2)]);
        // No segment ends at 0.
        check([0, 3], vec![]);
    }
}
