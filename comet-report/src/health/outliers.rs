//! Outliers among values, by their distances from the others.

use comet_stats::Summary;

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
    use super::*;

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
