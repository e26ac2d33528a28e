//! The rule that checks itself: a segment is measured in its middle, and divided if that time is
//! farther from the straight line than noise explains.
//!
//! The paper's rule takes noise for shape, because the lines that it prolongs amplify it by a
//! factor of 3, and then measures without end. Here each segment is tested once, so it ends by
//! itself; the paper's key only says which comes first.

use std::collections::BTreeMap;

use super::curve::{Curve, Segment, on_line};
use super::{Reading, Step, paper};
use crate::real;

/// Standard errors within which a difference is taken for noise.
pub(super) const Z: f64 = 2.0;

/// The tests made so far.
#[derive(Debug, Default)]
pub(super) struct Verified {
    /// Verdicts of parent tests on the segments between two sizes.
    verdicts: BTreeMap<(u64, u64), Shape>,
    /// The sizes of the test under way: both ends, and between them the middle.
    test: Option<[u64; 3]>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Straight,
    /// The relative error of the straight line that was found.
    Bent(f64),
}

impl Verified {
    /// The key of a segment that is to be tested; `None` if it was, or is too narrow.
    pub(super) fn wants(&self, segment: &Segment, curve: &Curve<'_>) -> Option<f64> {
        if segment.relative_width() < curve.limits.eps {
            return None;
        }
        match self.verdicts.get(&(segment.b.size, segment.c.size)) {
            Some(Shape::Straight) => None,
            Some(Shape::Bent(error)) => Some(*error),
            None => Some(paper::key(segment)),
        }
    }

    /// True if a test has given its verdict on a segment.
    pub(super) fn has_tested(&self, segment: &Segment) -> bool {
        self.verdicts.contains_key(&(segment.b.size, segment.c.size))
    }

    /// Says that `step` measures the middle of `segment`.
    pub(super) fn start_test(&mut self, segment: &Segment, step: Step) {
        if let Step::Measure(middle) = step {
            self.test = Some([segment.b.size, middle, segment.c.size]);
        }
    }

    /// Ends the test under way, or asks for what it lacks.
    pub(super) fn judge(&mut self, curve: &Curve<'_>) -> Option<Step> {
        let sizes = self.test?;
        // A middle that could not be measured ends the test without a verdict.
        if let [Some(b), Some(m), Some(c)] = sizes.map(|size| curve.get(size)) {
            let triple = Triple { b: *b, m: *m, c: *c };
            if let Some(step) = triple.lacks(curve) {
                return Some(step);
            }
            let verdict = triple.verdict(curve);
            self.verdicts.insert((b.size, m.size), verdict);
            self.verdicts.insert((m.size, c.size), verdict);
        }
        self.test = None;
        None
    }
}

/// The ends of a segment and its middle.
#[derive(Clone, Copy, Debug)]
struct Triple {
    b: Reading,
    m: Reading,
    c: Reading,
}

impl Triple {
    /// Relative distance of the middle from the line that noise alone explains.
    fn noise_allowance(&self, curve: &Curve<'_>) -> f64 {
        let Self { b, m, c } = self;
        let share = real(m.size - b.size) / real(c.size - b.size);
        let error = |reading: &Reading, weight: f64| {
            weight * reading.time_ns / m.time_ns * curve.relative_error(reading)
        };
        let errors = [error(m, 1.0), error(b, 1.0 - share), error(c, share)];
        Z * errors.iter().map(|error| error * error).sum::<f64>().sqrt()
    }

    /// More slices of the noisiest reading that may have more, if noise hides what matters.
    fn lacks(&self, curve: &Curve<'_>) -> Option<Step> {
        if self.noise_allowance(curve) <= curve.limits.eps {
            return None;
        }
        let mut readings = [self.b, self.m, self.c];
        readings.sort_by(|x, y| curve.relative_error(y).total_cmp(&curve.relative_error(x)));
        readings.iter().find_map(|reading| curve.more_slices(reading))
    }

    fn verdict(&self, curve: &Curve<'_>) -> Shape {
        let Self { b, m, c } = self;
        let error = (m.time_ns - on_line(b, c, m.size)).abs() / m.time_ns;
        if error <= self.noise_allowance(curve).max(curve.limits.eps) {
            return Shape::Straight;
        }
        Shape::Bent(error)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, Refiner, Rule};
    use super::*;

    /// A reading whose standard error is this share of its time.
    fn reading(size: u64, time_ns: f64, error: f64, n_slices: u32) -> Reading {
        Reading { size, time_ns, half_width_ns: Some(1.96 * error * time_ns), n_slices }
    }

    /// Step that follows once 128 is measured in the middle of 64 and 256.
    fn after_test(ends: [Reading; 2], middle: Reading) -> Step {
        let limits = Limits { max_points: 4, ..Limits::default() };
        let mut refiner = Refiner::new(Rule::Verified, limits);
        assert_eq!(refiner.next(&ends), Step::Measure(128));
        refiner.next(&[ends[0], ends[1], middle])
    }

    #[test]
    fn a_middle_off_the_line_by_more_than_noise_divides_the_segment() {
        // The line is at 120 in the middle.
        let check = |middle_ns: f64, error: f64, expected: Step| {
            let ends = [reading(64, 100.0, error, 20), reading(256, 160.0, error, 20)];
            assert_eq!(after_test(ends, reading(128, middle_ns, error, 20)), expected);
        };
        check(122.0, 0.0, Step::Done);
        check(123.0, 0.0, Step::Measure(91));
        // Noise of 3 % allows for some 7 %.
        check(126.0, 0.03, Step::Done);
        check(132.0, 0.03, Step::Measure(91));
    }

    #[test]
    fn more_slices_of_the_noisiest_come_before_a_verdict() {
        let check = |[b, m, c]: [(f64, u32); 3], expected: Step| {
            let ends = [reading(64, 100.0, b.0, b.1), reading(256, 160.0, c.0, c.1)];
            assert_eq!(after_test(ends, reading(128, 132.0, m.0, m.1)), expected);
        };
        check([(0.01, 10), (0.02, 10), (0.03, 10)], Step::MoreSlices(256));
        // That one has all that it may have.
        check([(0.01, 10), (0.02, 10), (0.03, 20)], Step::MoreSlices(128));
        // The noise is below eps.
        check([(0.005, 10), (0.005, 10), (0.005, 10)], Step::Measure(91));
    }

    #[test]
    fn a_reading_without_an_interval_gets_more_slices() {
        let unknown =
            |size, time_ns| Reading { half_width_ns: None, ..reading(size, time_ns, 0.0, 3) };
        let step = after_test([unknown(64, 100.0), unknown(256, 160.0)], unknown(128, 120.0));
        assert_eq!(step, Step::MoreSlices(64));
    }
}
