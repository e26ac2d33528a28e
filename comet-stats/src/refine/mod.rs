//! Adaptive refinement: which size a sweep measures next, so that straight lines between the
//! measured sizes describe those that were not measured, and where a library switches protocols.
//!
//! ```text
//!   sweep ───────► refine ──────────────► bracket ───────────────────► Done
//!                  paper: by the key      bisect each jump to one byte,
//!                  verified: by the       then measure about the power
//!                  measured midpoint      of two that it is near
//! ```
//!
//! The paper is R. Reussner, P. Sanders, J. L. Träff, SKaMPI: a comprehensive benchmark for public
//! benchmarking of MPI, Scientific Programming 10 (2002), section 4.2. A [`Refiner`] reads no clock
//! and knows no transport: rank 0 asks it after each measurement, and tells the others.

mod bracket;
mod crossings;
mod curve;
mod paper;
#[cfg(test)]
mod truth;
mod verified;

use std::collections::BTreeSet;

pub use bracket::Bracket;
use bracket::Switches;
pub use crossings::Crossings;
use curve::{Curve, Segment};
use verified::Verified;

/// Reading of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The size, usually in bytes.
    pub size: u64,
    /// Its time in nanoseconds; a reading whose time is no positive number counts for nothing.
    pub time_ns: f64,
    /// Half of the width of its 95 % confidence interval; `None` if there are too few slices.
    pub half_width_ns: Option<f64>,
    /// Slices that its time comes from.
    pub n_slices: u32,
}

/// Next step of a refinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Measure this size.
    Measure(u64),
    /// Take at least one slice more of this size.
    MoreSlices(u64),
    /// Nothing is left to refine.
    Done,
}

/// Limits of a refinement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Relative error that straight lines between measured sizes may make.
    pub eps: f64,
    /// Most sizes that are measured, those of the sweep included (`Max_Steps`).
    pub max_points: usize,
    /// Most slices of one size.
    pub max_slices: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { eps: 0.02, max_points: 140, max_slices: 20 }
    }
}

/// Rule that chooses the next size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// By the errors that neighbours predict, as in the paper; searches no switches.
    Paper,
    /// By the error that was found at the midpoint, beyond what noise explains.
    #[default]
    Verified,
    /// The paper's where the standard error is below half of `eps`, the verified one elsewhere.
    Auto,
    /// Between sizes at which different curves are the lowest ([`Crossings`]); one curve alone needs
    /// no further size.
    Crossings,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 4] = [Self::Paper, Self::Verified, Self::Auto, Self::Crossings];

    /// Name as in the record.
    pub fn name(self) -> &'static str {
        ["skampi", "verified", "auto", "crossings"][self as usize]
    }

    /// True if the paper's key alone decides on this segment; a test overrides it.
    fn is_papers(self, segment: &Segment, verified: &Verified, curve: &Curve<'_>) -> bool {
        let is_quiet = || segment.readings().all(|reading| curve.is_quiet(&reading));
        match self {
            Self::Paper => true,
            Self::Verified | Self::Crossings => false,
            Self::Auto => is_quiet() && !verified.has_tested(segment),
        }
    }
}

/// A refinement under way.
///
/// ```
/// use comet_stats::refine::{Limits, Reading, Refiner, Rule, Step};
/// let reading = |size: u64| {
///     let time_ns = 1000.0 + size as f64 * if size < 1000 { 0.1 } else { 0.5 };
///     Reading { size, time_ns, half_width_ns: Some(0.0), n_slices: 10 }
/// };
/// let mut refiner = Refiner::new(Rule::Auto, Limits::default());
/// let mut readings = [1, 64, 4096].map(reading).to_vec();
/// while let Step::Measure(size) = refiner.next(&readings) {
///     readings.push(reading(size));
/// }
/// let switch = refiner.brackets()[0];
/// assert_eq!((switch.below, switch.above), (999, 1000));
/// ```
#[derive(Debug)]
pub struct Refiner {
    rule: Rule,
    limits: Limits,
    verified: Verified,
    /// `None` until no segment is left to divide.
    switches: Option<Switches>,
    /// The size of the last step, and the slices that it had before.
    asked: Option<(u64, Option<u32>)>,
    /// Sizes for which the last step was not taken.
    refused: BTreeSet<u64>,
}

impl Refiner {
    /// A refinement by `rule` within `limits`.
    pub fn new(rule: Rule, limits: Limits) -> Self {
        Self {
            rule,
            limits,
            verified: Verified::default(),
            switches: None,
            asked: None,
            refused: BTreeSet::new(),
        }
    }

    /// Next step, given one reading of each size measured so far.
    ///
    /// It ends whatever the readings are: a step that was not taken is not asked for again.
    #[must_use]
    pub fn next(&mut self, readings: &[Reading]) -> Step {
        let usable = curve::usable(readings);
        let n_slices = |size| curve::find(&usable, size).map(|reading| reading.n_slices);
        if let Some((size, before)) = self.asked.take()
            && n_slices(size) <= before
        {
            self.refused.insert(size);
        }
        let step = self.decide(usable.clone());
        if let Step::Measure(size) | Step::MoreSlices(size) = step {
            self.asked = Some((size, n_slices(size)));
        }
        step
    }

    /// The protocol switches that were found, in ascending order; complete once all is done.
    /// Straight lines say nothing about sizes between the two of a bracket.
    pub fn brackets(&self) -> &[Bracket] {
        self.switches.as_ref().map_or(&[], |switches| switches.found())
    }

    fn decide(&mut self, usable: Vec<Reading>) -> Step {
        let curve = Curve { readings: usable, limits: &self.limits, refused: &self.refused };
        if self.switches.is_none() {
            if let Some(step) = refine(self.rule, &mut self.verified, &curve) {
                return step;
            }
            let is_paper = self.rule == Rule::Paper;
            self.switches = Some(if is_paper { Switches::default() } else { Switches::of(&curve) });
        }
        self.switches.as_mut().and_then(|open| open.next(&curve)).unwrap_or(Step::Done)
    }
}

/// Divides the segment with the largest key of those that need it.
fn refine(rule: Rule, verified: &mut Verified, curve: &Curve<'_>) -> Option<Step> {
    if let Some(step) = verified.judge(curve) {
        return Some(step);
    }
    let mut best: Option<(f64, Segment, Step)> = None;
    for segment in curve.segments() {
        let key = if rule.is_papers(&segment, verified, curve) {
            paper::wants(&segment, curve)
        } else {
            verified.wants(&segment, curve)
        };
        let step = segment.middle().and_then(|middle| curve.measure(middle));
        if let (Some(key), Some(step)) = (key, step)
            && best.as_ref().is_none_or(|best| key > best.0)
        {
            best = Some((key, segment, step));
        }
    }
    let (_, segment, step) = best?;
    if !rule.is_papers(&segment, verified, curve) {
        verified.start_test(&segment, step);
    }
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(size: u64, time_ns: f64) -> Reading {
        Reading { size, time_ns, half_width_ns: Some(0.0), n_slices: 10 }
    }

    #[test]
    fn a_step_that_is_not_taken_is_not_asked_for_again() {
        let mut refiner = Refiner::new(Rule::Paper, Limits::default());
        let readings = [reading(64, 100.0), reading(256, 1000.0)];
        assert_eq!(refiner.next(&readings), Step::Measure(128));
        assert_eq!(refiner.next(&readings), Step::Done);
    }

    #[test]
    fn a_time_that_is_no_positive_number_is_no_reading() {
        for time_ns in [0.0, -5.0, f64::NAN, f64::INFINITY] {
            let mut refiner = Refiner::new(Rule::Auto, Limits::default());
            let ends = [reading(64, 100.0), reading(256, 1000.0)];
            assert_eq!(refiner.next(&ends), Step::Measure(128));
            let with_middle = [ends[0], reading(128, time_ns), ends[1]];
            assert_eq!(refiner.next(&with_middle), Step::Done, "{time_ns}");
        }
    }

    #[test]
    fn automatic_choice_follows_the_noise_of_each_segment() {
        // All lies on two lines once 512 is known, but noise of 3 % leaves that open.
        let times = [(16, 100.0), (64, 100.0), (256, 100.0), (1024, 400.0), (512, 200.0)];
        let check = |relative_half_width: f64, expected: Step| {
            let readings = times.map(|(size, time_ns)| Reading {
                half_width_ns: Some(relative_half_width * time_ns),
                ..reading(size, time_ns)
            });
            let mut refiner = Refiner::new(Rule::Auto, Limits::default());
            assert_eq!(refiner.next(&readings[..4]), Step::Measure(512));
            assert_eq!(refiner.next(&readings), expected);
        };
        check(0.001, Step::Done);
        check(0.06, Step::MoreSlices(256));
    }
}
