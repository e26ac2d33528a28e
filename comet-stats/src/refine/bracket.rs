//! Protocol switches: between which two sizes the law of the times changes, to the byte.
//!
//! ```text
//!   time                   right ..·´     Between the two readings beside a jump, the middle is
//!     │                     ..·´          measured and belongs to the line that it is nearer to;
//!     │       ┌──────── o··´              so the bracket halves, to two adjacent sizes.
//!     │  left │     ..
//!     │   ..·o´··´´  └─ above
//!     └──────┴ below ─────────── size
//! ```
//!
//! A size that belongs clearly to neither line even after further slices leaves the bracket as it
//! is.

use super::curve::{Curve, Segment};
use super::verified::Z;
use super::{Reading, Step};
use crate::fit::{Bounds, Line, Weights, segments};
use crate::real;

/// The least relative jump of the time at a switch; less is a change of slope.
const MIN_JUMP: f64 = 0.05;
/// Noise allowances that a time must jump by where only a single segment shows it.
const N_ALLOWANCES: f64 = 4.0;
/// The logarithm of the odds at which a size is taken to be of one line: 99 to 1.
const MIN_LOG_ODDS: f64 = 4.595_119_850_134_59;
/// Largest number of readings of one size.
const MAX_LOOKS: u32 = 5;
/// The relative standard error below which no line is trusted, as in the weights of fits.
const NOISE_FLOOR: f64 = 0.005;
/// Points of a local line, at least; and they span an octave.
const MIN_POINTS: usize = 4;

/// Two sizes between which the protocol switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// The largest size that is known to be below the switch.
    pub below: u64,
    /// The smallest size that is known to be above it; one above `below` if it was found.
    pub above: u64,
}

/// The search for all switches of a curve.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// Open searches, the last first.
    open: Vec<Search>,
    found: Vec<Bracket>,
    /// Sizes still to be measured about the switch that was found last.
    around: Vec<u64>,
}

impl Switches {
    /// The jumps that a refined curve shows.
    pub(super) fn of(curve: &Curve<'_>) -> Self {
        let mut open = searches(curve);
        open.reverse();
        Self { open, ..Self::default() }
    }

    pub(super) fn found(&self) -> &[Bracket] {
        &self.found
    }

    /// The next measurement of the search; `None` once all switches are found or given up.
    pub(super) fn next(&mut self, curve: &Curve<'_>) -> Option<Step> {
        loop {
            let around = std::mem::take(&mut self.around);
            if let Some(step) = around.iter().find_map(|size| curve.measure(*size)) {
                self.around = around;
                return Some(step);
            }
            let search = self.open.last_mut()?;
            if let Some(step) = search.next(curve) {
                return Some(step);
            }
            let Search { below, above, .. } = self.open.pop()?;
            let bracket = Bracket { below, above };
            self.around = around_power_of_two(&bracket, curve);
            self.found.push(bracket);
        }
    }
}

/// The search for one switch.
#[derive(Debug)]
struct Search {
    below: u64,
    above: u64,
    /// The laws below and above; `None` where the readings do not tell them.
    lines: Option<Lines>,
    n_looks: u32,
}

impl Search {
    /// The next measurement; `None` once the bracket is as narrow as it gets.
    fn next(&mut self, curve: &Curve<'_>) -> Option<Step> {
        let lines = self.lines?;
        while let Some(middle) = self.middle() {
            let Some(reading) = curve.get(middle) else { return curve.measure(middle) };
            match lines.side(reading, curve) {
                Side::Left => self.below = middle,
                Side::Right => self.above = middle,
                Side::Unclear => return self.look_again(reading, curve),
            }
            self.n_looks = 0;
        }
        None
    }

    /// The size halfway; `None` if the ends are adjacent.
    fn middle(&self) -> Option<u64> {
        let distance = self.above - self.below;
        (distance > 1).then_some(self.below + distance / 2)
    }

    fn look_again(&mut self, reading: &Reading, curve: &Curve<'_>) -> Option<Step> {
        self.n_looks += 1;
        if self.n_looks == MAX_LOOKS { None } else { curve.more_slices(reading) }
    }
}

/// The laws beside a switch.
#[derive(Clone, Copy, Debug)]
struct Lines {
    left: Line,
    right: Line,
}

enum Side {
    Left,
    Right,
    Unclear,
}

impl Lines {
    /// The line that a reading is nearer to in logarithmic time, if noise leaves no doubt.
    fn side(&self, reading: &Reading, curve: &Curve<'_>) -> Side {
        let distance = |line: &Line| (reading.time_ns / line.at(real(reading.size))).ln();
        let error = curve.relative_error(reading).max(NOISE_FLOOR);
        let squares = distance(&self.right).powi(2) - distance(&self.left).powi(2);
        let log_odds = squares / (2.0 * error * error);
        if log_odds > MIN_LOG_ODDS {
            Side::Left
        } else if log_odds < -MIN_LOG_ODDS {
            Side::Right
        } else {
            Side::Unclear
        }
    }

    /// By how much the time jumps up at `size`.
    fn jump(&self, size: u64) -> f64 {
        self.right.at(real(size)) / self.left.at(real(size)) - 1.0
    }

    /// True if the lines stay `min_jump` apart between two sizes, without a crossing.
    fn are_apart(&self, below: u64, above: u64, min_jump: f64) -> bool {
        let [first, last] = [self.jump(below), self.jump(above)];
        first.abs().min(last.abs()) >= min_jump && first.signum() == last.signum()
    }
}

/// One search for each jump, in ascending order.
fn searches(curve: &Curve<'_>) -> Vec<Search> {
    let ends = curve.ends();
    let mut cuts = cuts(ends);
    cuts.extend(narrow_jumps(curve, &cuts));
    cuts.sort_unstable();
    cuts.dedup();
    let bounds: Vec<usize> = [&[0], &cuts[..], &[ends.len()]].concat();
    bounds
        .windows(3)
        .filter_map(|at| search(&ends[at[0]..at[1]], &ends[at[1]..at[2]], curve))
        .collect()
}

/// Search between `left` and `right`; `None` if the time does not jump there.
fn search(left: &[Reading], right: &[Reading], curve: &Curve<'_>) -> Option<Search> {
    let (left, right) = (local(left.iter().rev()), local(right.iter()));
    let (b, c) = (*left.last()?, *right.first()?);
    let plain = Search { below: b.size, above: c.size, lines: None, n_looks: 0 };
    let (Some(left_line), Some(right_line)) = (line(&left), line(&right)) else {
        return Some(plain);
    };
    let lines = Lines { left: left_line, right: right_line };
    let search = match settled(&lines, &[left, right].concat(), curve) {
        Some((below, above)) => Search { below, above, lines: Some(lines), ..plain },
        None => plain,
    };
    let min_jump = MIN_JUMP.max(noise_allowance(&b, &c, curve));
    lines.are_apart(search.below, search.above, min_jump).then_some(search)
}

/// Sizes about a jump that noise leaves clearly on the left and on the right line.
fn settled(lines: &Lines, readings: &[Reading], curve: &Curve<'_>) -> Option<(u64, u64)> {
    let first_right =
        readings.iter().position(|reading| matches!(lines.side(reading, curve), Side::Right))?;
    let is_left = |reading: &&Reading| matches!(lines.side(reading, curve), Side::Left);
    let below = readings[..first_right].iter().rev().find(is_left)?;
    Some((below.size, readings[first_right].size))
}

/// The first reading of each law after the first one.
fn cuts(ends: &[Reading]) -> Vec<usize> {
    let points = points(ends);
    // Too few readings are one law.
    let laws = segments(&points, &Bounds::default()).unwrap_or_default();
    laws.iter().skip(1).map(|law| points.partition_point(|point| point.0 < law.from)).collect()
}

/// The segments, by the index of their upper end, that are too narrow to be divided, and over
/// which the time leaves the line of the readings below: a law may have too few readings for a cut.
fn narrow_jumps(curve: &Curve<'_>, cuts: &[usize]) -> Vec<usize> {
    let ends = curve.ends();
    let (mut jumps, mut from) = (Vec::new(), 0);
    for (index, segment) in (1..).zip(curve.segments()) {
        if cuts.contains(&index) {
            from = index;
        } else if is_narrow(&segment, curve) && leaves(&ends[from..index], &segment, curve) {
            jumps.push(index);
            from = index;
        }
    }
    jumps
}

fn is_narrow(segment: &Segment, curve: &Curve<'_>) -> bool {
    segment.relative_width() < curve.limits.eps || segment.middle().is_none()
}

/// True if the upper end of a segment is off the line of the readings below it.
fn leaves(below: &[Reading], Segment { b, c, .. }: &Segment, curve: &Curve<'_>) -> bool {
    let Some(line) = line(&local(below.iter().rev())) else { return false };
    let jump = (c.time_ns - line.at(real(c.size))).abs() / c.time_ns;
    jump >= MIN_JUMP.max(N_ALLOWANCES * noise_allowance(b, c, curve))
}

/// Difference of two readings that noise alone explains, relative to their times.
fn noise_allowance(b: &Reading, c: &Reading, curve: &Curve<'_>) -> f64 {
    Z * curve.relative_error(b).hypot(curve.relative_error(c))
}

/// The readings next to a switch, in ascending order, of those that `outward` lists.
fn local<'a>(outward: impl Iterator<Item = &'a Reading>) -> Vec<Reading> {
    let mut local: Vec<Reading> = Vec::new();
    for reading in outward {
        let spans_octave = local
            .first()
            .is_some_and(|first| first.size.max(reading.size) > 2 * first.size.min(reading.size));
        if local.len() >= MIN_POINTS && spans_octave {
            break;
        }
        local.push(*reading);
    }
    local.sort_by_key(|reading| reading.size);
    local
}

/// The law of some readings; `None` if there are too few.
fn line(readings: &[Reading]) -> Option<Line> {
    Line::fit(&points(readings), Weights::Relative).ok()
}

fn points(readings: &[Reading]) -> Vec<(f64, f64)> {
    readings.iter().map(|reading| (real(reading.size), reading.time_ns)).collect()
}

/// The power of two that a found switch is near to, and the sizes beside it, within the sweep.
fn around_power_of_two(bracket: &Bracket, curve: &Curve<'_>) -> Vec<u64> {
    let Bracket { below, above } = *bracket;
    let power = nearest_power_of_two(above);
    let is_near = real(above.abs_diff(power)) <= (curve.limits.eps * real(power)).max(1.0);
    if above - below > 1 || !is_near {
        return Vec::new();
    }
    let (Some(first), Some(last)) = (curve.ends().first(), curve.ends().last()) else {
        return Vec::new();
    };
    let beside = [power.saturating_sub(1), power, power + 1];
    beside.into_iter().filter(|size| (first.size..=last.size).contains(size)).collect()
}

/// The power of two that is nearest to a size of at least 1.
fn nearest_power_of_two(size: u64) -> u64 {
    let above = size.next_power_of_two();
    if above - size <= size - above / 2 { above } else { above / 2 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{Limits, Refiner, Rule};
    use super::*;

    /// A curve without noise.
    type Truth = fn(u64) -> f64;

    /// Refines `start`, and gives the brackets and the sizes in the order in which they came.
    fn refined(truth_ns: Truth, start: &[u64], limits: Limits) -> (Vec<(u64, u64)>, Vec<u64>) {
        let reading = |size| {
            let time_ns = truth_ns(size);
            Reading { size, time_ns, half_width_ns: Some(0.0), n_slices: 10 }
        };
        let mut refiner = Refiner::new(Rule::Verified, limits);
        let mut readings: Vec<Reading> = start.iter().copied().map(reading).collect();
        while let Step::Measure(size) = refiner.next(&readings) {
            readings.push(reading(size));
        }
        let brackets = refiner.brackets().iter().map(|b| (b.below, b.above)).collect();
        (brackets, readings.iter().map(|reading| reading.size).collect())
    }

    fn jumping_ns(size: u64, from: u64, jump_ns: f64) -> f64 {
        1000.0 + real(size) + if size < from { 0.0 } else { jump_ns }
    }

    fn doubled(last: u32) -> Vec<u64> {
        (0..=last).map(|exponent| 1 << exponent).collect()
    }

    #[test]
    fn switches_are_bracketed_to_one_byte() {
        let check = |truth_ns: Truth, expected: &[(u64, u64)]| {
            assert_eq!(refined(truth_ns, &doubled(20), Limits::default()).0, expected);
        };
        check(|size| 1000.0 + real(size), &[]);
        check(|size| jumping_ns(size, 64_000, 20_000.0), &[(63_999, 64_000)]);
        check(|size| jumping_ns(size, 64_000, -20_000.0), &[(63_999, 64_000)]);
        // Only two sizes are above the switch, and only two below.
        check(|size| jumping_ns(size, 1_000_000, 500_000.0), &[(999_999, 1_000_000)]);
        check(|size| jumping_ns(size, 3, 500.0), &[(2, 3)]);
    }

    #[test]
    fn a_change_of_slope_is_no_switch() {
        let kink: Truth = |size| 1000.0 + real(size) + 2.0 * real(size.saturating_sub(4096));
        assert_eq!(refined(kink, &doubled(20), Limits::default()).0, []);
    }

    #[test]
    fn sizes_about_a_power_of_two_follow_a_switch_near_it() {
        let check = |truth_ns: Truth, expected: &[u64]| {
            let sizes = refined(truth_ns, &doubled(14), Limits::default()).1;
            assert_eq!(sizes[sizes.len() - expected.len()..], *expected);
        };
        // What the search measured already is not repeated.
        check(|size| if size < 4097 { 1000.0 } else { 1500.0 }, &[4098, 4097, 4095]);
        check(|size| if size < 4090 { 1000.0 } else { 1500.0 }, &[4089, 4095, 4097]);
    }

    #[test]
    fn the_nearest_power_of_two_may_lie_on_either_side() {
        let check = |size, expected| assert_eq!(nearest_power_of_two(size), expected, "{size}");
        check(1, 1);
        check(3, 4);
        check(257, 256);
        check(8192, 8192);
        check(63_305, 65_536);
    }

    #[test]
    fn a_size_that_stays_unclear_is_looked_at_five_times_and_left() {
        let line = |t0| Line::fit(&[(1.0, t0), (100.0, t0)], Weights::Relative).unwrap();
        let lines = Some(Lines { left: line(100.0), right: line(125.0) });
        let mut search = Search { below: 40, above: 80, lines, n_looks: 0 };
        let (limits, refused) = (Limits::default(), BTreeSet::new());
        let mut next = |time_ns| {
            let reading = Reading { size: 60, time_ns, half_width_ns: Some(5.0), n_slices: 1 };
            search.next(&Curve { readings: vec![reading], limits: &limits, refused: &refused })
        };
        let steps: Vec<_> = (0..5).map(|_| next(112.0)).collect();
        let more = Some(Step::MoreSlices(60));
        assert_eq!(steps, [more, more, more, more, None]);
        assert_eq!((search.below, search.above), (40, 80));
    }
}
