//! Difference of two sides: the logarithm of their ratio, and its interval; smallest change of interest,
//! the probability of a larger one by chance, and the verdict in view of it.

use statrs::distribution::{ContinuousCDF, Normal};

use super::middle::Middle;
use crate::{student, student_quantile};

/// Confidence level of all intervals.
const LEVEL: f64 = 0.95;
/// Share of changes of the smallest detectable size that are found.
const POWER: f64 = 0.80;

/// Difference of two sides. All but `dof` are natural logarithms of a ratio, new over base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub log_ratio: f64,
    /// Its standard error; 0 where nothing varies.
    pub error: f64,
    /// Degrees of freedom of that; infinite where the error is as good as known.
    pub dof: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Method by which it was found.
    pub method: Method,
}

/// Method of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Launches of both sides are independent (Welch, Biometrika 34, 1947; of trimmed means with the
    /// errors of Tukey and McLaughlin, Sankhya A 25, 1963).
    Welch,
    /// Each launch of one side is held against its neighbour of the other (Student's t; of trimmed
    /// means that of Tukey and McLaughlin).
    Paired,
    /// Nothing varies: times are those of a simulation without noise.
    Exact,
    /// From the samples within launches. What changes from launch to launch is not in it.
    Samples,
}

impl Method {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        ["welch", "paired", "exact", "samples"][self as usize]
    }
}

impl Difference {
    /// By independent launches, of which there must be two on each side; `cuts` as in [`Middle::of`].
    pub(super) fn welch(base: &[f64], new: &[f64], cuts: bool) -> Option<Self> {
        let [base, new] = [Middle::of(base, cuts)?, Middle::of(new, cuts)?];
        let square = |side: Middle| side.error * side.error;
        let part = |side: Middle| square(side) * square(side) / side.dof;
        let sum = square(base) + square(new);
        let dof = sum * sum / (part(base) + part(new));
        Some(Self::around(new.mean - base.mean, sum.sqrt(), dof, Method::Welch))
    }

    /// By the differences of pairs, of which there must be two; `cuts` as in [`Middle::of`].
    pub(super) fn paired(differences: &[f64], cuts: bool) -> Option<Self> {
        let Middle { mean, error, dof } = Middle::of(differences, cuts)?;
        Some(Self::around(mean, error, dof, Method::Paired))
    }

    /// Of times that do not vary.
    pub fn exact(log_ratio: f64) -> Self {
        Self::around(log_ratio, 0.0, f64::INFINITY, Method::Exact)
    }

    /// Of single launches, whose `error` follows from their samples.
    pub fn of_samples(log_ratio: f64, error: f64) -> Self {
        Self::around(log_ratio, error, f64::INFINITY, Method::Samples)
    }

    /// The same difference, whose interval is not narrower than `half` on either side, as where times are
    /// rounded.
    #[must_use]
    pub fn no_narrower(self, half: f64) -> Self {
        if self.high - self.log_ratio >= half {
            return self;
        }
        let error = half / student_quantile(f64::midpoint(1.0, LEVEL), f64::INFINITY);
        Self::around(self.log_ratio, error, f64::INFINITY, self.method)
    }

    /// The smallest change, as a share, that launches like these show as one in four of five
    /// comparisons: one below `margin` is of no interest, and beyond it the interval has to be.
    pub fn smallest_detectable(&self, margin: f64) -> f64 {
        let quantiles =
            [f64::midpoint(1.0, LEVEL), POWER].map(|share| student_quantile(share, self.dof));
        margin + (quantiles[0] + quantiles[1]) * self.error
    }

    /// Verdict, if a change of `margin`, a share, is of no interest, and a larger value is worse.
    pub fn verdict(&self, margin: f64) -> Verdict {
        Verdict::of(self.low, self.high, margin)
    }

    fn around(log_ratio: f64, error: f64, dof: f64, method: Method) -> Self {
        // Where nothing varies, degrees of freedom are 0 over 0.
        let dof = if error > 0.0 { dof } else { f64::INFINITY };
        let half = student_quantile(f64::midpoint(1.0, LEVEL), dof) * error;
        Self { log_ratio, error, dof, low: log_ratio - half, high: log_ratio + half, method }
    }

    /// Probability of a difference as large as this by chance, on either side, if the true one is just
    /// `margin`, a share: at a margin of 0 the two-sided p of equal sides.
    pub fn p(&self, margin: f64) -> f64 {
        let (size, edge) = (self.log_ratio.abs(), margin.ln_1p());
        (self.tail(size - edge) + self.tail(size + edge)).min(1.0)
    }

    /// Probability of such a difference by chance, if the new side takes longer by just `margin`, a share.
    pub fn p_slower(&self, margin: f64) -> f64 {
        self.tail(self.log_ratio - margin.ln_1p())
    }

    /// The probability that Student's t times the error is `distance` or more.
    fn tail(&self, distance: f64) -> f64 {
        match self.error {
            0.0 => f64::from(distance <= 0.0),
            error if self.dof.is_infinite() => Normal::standard().sf(distance / error),
            error => student(self.dof).sf(distance / error),
        }
    }
}

/// Changes below this share are of no interest, unless somebody says otherwise.
pub const MARGIN: f64 = 0.05;
/// Below this time a share counts twice as much, because a cache line more is a tenth of it.
const SHORT_NS: f64 = 1000.0;
/// Changes below this time are of no interest, however large their share is.
const LEAST_NS: f64 = 20.0;

/// Facts that the margin of a point depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The time of one operation, in nanoseconds; above 0.
    pub time_ns: f64,
    /// Cost of one clock reading, in nanoseconds.
    pub clock_ns: f64,
    /// Operations between two readings; at least 1.
    pub repetitions: u32,
}

/// The largest change of a point, as a share, that is of no interest: `share`, twice that below
/// 1 us, at least 20 ns, and at least what two readings of the clock cost an operation.
pub fn margin(share: f64, scale: Scale) -> f64 {
    let Scale { time_ns, clock_ns, repetitions } = scale;
    let share = if time_ns < SHORT_NS { 2.0 * share } else { share };
    let clock = 2.0 * clock_ns / f64::from(repetitions.max(1));
    share.max(LEAST_NS / time_ns).max(clock / time_ns)
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Worse by more than the margin.
    Slower,
    /// Better by more than the margin.
    Faster,
    /// Changed by less than the margin, if at all.
    Same,
    /// The launches do not tell.
    Inconclusive,
    /// Changed for certain, by less or by more than the margin.
    Changed,
}

impl Verdict {
    /// Its name in tables and files.
    pub const fn name(self) -> &'static str {
        ["slower", "faster", "same", "inconclusive", "changed"][self as usize]
    }

    /// Verdict on a difference from `low` to `high`, logarithms of a ratio (larger is worse).
    pub fn of(low: f64, high: f64, margin: f64) -> Self {
        let edge = margin.ln_1p();
        if low > edge {
            Self::Slower
        } else if high < -edge {
            Self::Faster
        } else if -edge <= low && high <= edge {
            Self::Same
        } else {
            Self::Inconclusive
        }
    }

    /// Verdict on the opposite difference.
    pub const fn reversed(self) -> Self {
        match self {
            Self::Slower => Self::Faster,
            Self::Faster => Self::Slower,
            other => other,
        }
    }

    /// True if it is a change.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Slower | Self::Faster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Option<Difference>, expected: [f64; 5]) {
        let found = found.expect("there are launches enough");
        let values = [found.log_ratio, found.dof, found.low, found.high, found.p(0.0)];
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 2e-4;
        assert!(values.iter().zip(&expected).all(is_near), "{values:?} is not {expected:?}");
    }

    #[test]
    fn independent_launches_agree_with_a_hand_computation() {
        // Means 3 and 6, variances 2.5 and 10, so the error is the root of 2.5 and t is 1.8974;
        // dof = 2.5² / (0.5² / 4 + 2² / 4) = 5.88235, whose quantile is 2.45881.
        let new = [2.0, 4.0, 6.0, 8.0, 10.0];
        let found = Difference::welch(&[1.0, 2.0, 3.0, 4.0, 5.0], &new, false);
        check(found, [3.0, 5.882_35, -0.887_72, 6.887_72, 0.107_53]);
    }

    #[test]
    fn pairs_agree_with_a_hand_computation() {
        // Mean 2, variance 2.5, error the root of 0.5; 4 degrees of freedom, quantile 2.77645.
        let half = 2.776_445 * 0.5f64.sqrt();
        let found = Difference::paired(&[0.0, 1.0, 2.0, 3.0, 4.0], false);
        check(found, [2.0, 4.0, 2.0 - half, 2.0 + half, 0.047_42]);
    }

    #[test]
    fn single_launches_have_no_difference_by_launches() {
        assert_eq!(Difference::welch(&[1.0], &[1.0, 2.0], false), None);
        assert_eq!(Difference::paired(&[1.0], false), None);
    }

    #[test]
    fn samples_have_the_interval_of_the_normal_distribution() {
        let found = Difference::of_samples(0.0, 1.0);
        assert!((found.high - 1.959_964).abs() < 1e-5 && found.p(0.0) == 1.0, "{found:?}");
    }

    #[test]
    fn times_that_do_not_vary_differ_surely_or_not_at_all() {
        let same = Difference::exact(0.0);
        assert_eq!((same.low, same.high, same.p(0.0)), (0.0, 0.0, 1.0));
        let other = Difference::welch(&[1.0, 1.0], &[1.5, 1.5], false).unwrap();
        assert_eq!((other.low, other.high, other.p(0.0)), (0.5, 0.5, 0.0));
    }

    #[test]
    fn a_change_just_at_the_margin_is_chance() {
        let edge = 0.05f64.ln_1p();
        let found = Difference::of_samples(edge, 0.01);
        assert!((found.p_slower(0.05) - 0.5).abs() < 1e-9, "{}", found.p_slower(0.05));
        assert!((found.p(0.05) - 0.5).abs() < 1e-6, "{}", found.p(0.05));
        assert!(found.p(0.0) < 1e-5, "{}", found.p(0.0));
        // An interval that ends at the margin is as likely by chance as any interval is wrong to one side.
        let found = Difference::of_samples(edge + 1.959_964 * 0.01, 0.01);
        assert!((found.p_slower(0.05) - 0.025).abs() < 1e-6, "{}", found.p_slower(0.05));
        assert!(Difference::of_samples(-1.0, 0.01).p_slower(0.05) > 0.999);
        assert_eq!([0.04, 0.06].map(|margin| Difference::exact(edge).p(margin)), [0.0, 1.0]);
    }

    #[test]
    fn the_smallest_change_follows_from_the_spread_of_the_launches() {
        // The study's example: 10 % of spread, ten launches a side, 13 % beyond the margin.
        let dof = 18.0;
        let found = Difference::around(0.0, 0.1 * 0.2f64.sqrt(), dof, Method::Welch);
        assert!((found.smallest_detectable(0.05) - 0.05 - 0.1325).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn the_margin_is_a_share_with_two_floors() {
        let check = |time_ns, clock_ns, repetitions, expected: f64| {
            let found = margin(MARGIN, Scale { time_ns, clock_ns, repetitions });
            assert!((found - expected).abs() < 1e-12, "{time_ns} ns: {found}");
        };
        check(1e6, 20.0, 1000, 0.05);
        check(900.0, 20.0, 1000, 0.10);
        check(100.0, 20.0, 1000, 0.20);
        check(10_000.0, 1000.0, 1, 0.20);
        check(10_000.0, 1000.0, 2, 0.10);
    }

    #[test]
    fn an_interval_is_beyond_the_margin_within_it_or_neither() {
        let check = |low, high, expected| assert_eq!(Verdict::of(low, high, 0.05), expected);
        check(0.05, 0.2, Verdict::Slower);
        check(0.04, 0.2, Verdict::Inconclusive);
        check(-0.2, -0.05, Verdict::Faster);
        check(-0.2, -0.04, Verdict::Inconclusive);
        check(-0.048, 0.048, Verdict::Same);
        check(-0.2, 0.2, Verdict::Inconclusive);
    }

    #[test]
    fn without_a_margin_equal_is_the_same_and_all_else_is_not() {
        let check = |log_ratio, expected| {
            assert_eq!(Difference::exact(log_ratio).verdict(0.0), expected);
        };
        check(0.0, Verdict::Same);
        check(1e-6, Verdict::Slower);
        check(-1e-6, Verdict::Faster);
    }
}
