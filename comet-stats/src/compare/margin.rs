//! Smallest change of interest, and the verdict on a difference in view of it.

use super::Difference;

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
}

impl Verdict {
    /// Its name in tables and files.
    pub const fn name(self) -> &'static str {
        ["slower", "faster", "same", "inconclusive"][self as usize]
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

impl Difference {
    /// Verdict, if a change of `margin`, a share, is of no interest, and a larger value is worse.
    pub fn verdict(&self, margin: f64) -> Verdict {
        Verdict::of(self.low, self.high, margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
