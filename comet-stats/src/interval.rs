//! Confidence intervals: where the value lies that a longer run would have found.
//!
//! Samples that follow each other are not independent, slices that are spread over a run nearly
//! are; so intervals come from the medians of slices, or from whole slices, never from pooled
//! samples, whose interval of the median holds the truth in a quarter of all runs (finding 1 of
//! the method study).
//! They speak of one launch: what changes from launch to launch is not in them, and in a measurement
//! over 40 launches such intervals held the median of the launches in 27 % of cases. That of several
//! launches comes from one figure of each, [`Interval::of_launches`].

use oorandom::Rand64;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::{
    MIN_SLICES, drawn, mean, not_empty, place, quantile, sorted, student_quantile, variance,
};

/// Confidence level of all intervals.
const LEVEL: f64 = 0.95;
/// Fewest slices, or launches, whose order statistics bound the median: the least and the largest of
/// six enclose it in 96.9 % of cases.
const MIN_ORDERED: usize = 6;
/// Standard error of the median of five normal values over that of their mean.
const MEDIAN_OF_FIVE: f64 = 1.198;
/// Resamples of a bootstrap.
const N_RESAMPLES: usize = 2000;

/// A two-sided confidence interval, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Least share of intervals that hold the true value, 0 to 1.
    pub level: f64,
    /// Method by which it was found.
    pub method: Method,
}

/// Method of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Between order statistics, interpolated to 95 % (Hettmansperger and Sheather 1986).
    InterpolatedOrderStatistics,
    /// Median of five slice medians, and the quantile of Student's t times its standard error.
    StudentT,
    /// The same of the logarithms of the launches' figures.
    StudentTOfLogarithms,
    /// Quantiles over resamples of whole slices.
    Bootstrap,
}

impl Method {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        ["interpolated_order_statistics", "student_t", "student_t_of_logarithms", "bootstrap"]
            [self as usize]
    }
}

impl Interval {
    /// The interval of the median of which `slice_medians` are estimates; `None` below 5 slices.
    ///
    /// From 6 slices on it lies between order statistics; of 5 it is that of Student's t around their
    /// median.
    pub fn of_medians(slice_medians: &[f64]) -> Option<Self> {
        match slice_medians.len() {
            n_slices if n_slices < MIN_SLICES => None,
            n_slices if n_slices < MIN_ORDERED => {
                let middle = quantile(&sorted(slice_medians), 0.5);
                let bounds = student_t(slice_medians, middle, MEDIAN_OF_FIVE);
                Some(Self::at_level(bounds, Method::StudentT))
            }
            _ => Some(Self::ordered(slice_medians)),
        }
    }

    /// The interval of the median over all launches of a machine, of which `figures` are those of
    /// some, one each; `None` below two launches, or with a figure that is not above 0.
    ///
    /// Below six launches it is Student's t of the logarithms, around their mean, and holds their
    /// median; from six on it lies between order statistics, as that of slices does.
    pub fn of_launches(figures: &[f64]) -> Option<Self> {
        if figures.len() < 2 || figures.iter().any(|figure| *figure <= 0.0) {
            return None;
        }
        if figures.len() >= MIN_ORDERED {
            return Some(Self::ordered(figures));
        }
        let logarithms: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
        let (low, high) = student_t(&logarithms, mean(&logarithms), 1.0);
        // The logarithm of equal figures is not exact.
        let are_equal = figures.iter().all(|figure| *figure == figures[0]);
        let bounds = if are_equal { (figures[0], figures[0]) } else { (low.exp(), high.exp()) };
        Some(Self::at_level(bounds, Method::StudentTOfLogarithms))
    }

    /// That between the order statistics of `values`, at least six, by Hettmansperger and Sheather:
    /// between the pair that encloses the median in 95 % of cases or more and the next pair inside,
    /// so that more values make it narrower.
    fn ordered(values: &[f64]) -> Self {
        let (sorted, n) = (sorted(values), values.len());
        let (j, part) = rank_from_end(n);
        let toward =
            |outer: usize, inner: usize| sorted[outer] + part * (sorted[inner] - sorted[outer]);
        let bounds = (toward(j - 1, j), toward(n - j, n - j - 1));
        Self::at_level(bounds, Method::InterpolatedOrderStatistics)
    }

    /// The interval of the `q`-quantile (0 to 1) of all samples; `None` below 5 slices
    /// that are not empty.
    ///
    /// It holds the quantiles of 95 % of 2000 bootstrap resamples (Efron's percentile interval).
    /// Whole slices are drawn, since samples of one slice depend on each other; `seed` decides
    /// which. From so few slices it promises too much: in simulation, that of the 90 % quantile
    /// held the truth in 90 % of cases with 10 slices of 100 samples and in 93 % with 20, that of
    /// the 99 % quantile in 87 % and 91 % (81 % and 88 % for autoregressive samples, φ = 0.8).
    pub fn of_quantile<S: AsRef<[f64]>>(slices: &[S], q: f64, seed: u64) -> Option<Self> {
        let slices = &not_empty(slices);
        if slices.len() < MIN_SLICES {
            return None;
        }
        let descending = descending(slices);
        let ((high, _), (low, _)) = (descending[0], descending[descending.len() - 1]);
        if low == high {
            return Some(Self::at_level((low, high), Method::Bootstrap));
        }
        let mut random = Rand64::new(u128::from(seed));
        let lengths: Vec<usize> = slices.iter().map(|slice| slice.len()).collect();
        let resamples = (0..N_RESAMPLES).map(|_| {
            let weights = resample(slices.len(), &mut random);
            quantile_of((&descending, &lengths), &weights, q)
        });
        let sorted = sorted(&resamples.collect::<Vec<_>>());
        let tail = (1.0 - LEVEL) / 2.0;
        let bounds = (quantile(&sorted, tail), quantile(&sorted, 1.0 - tail));
        Some(Self::at_level(bounds, Method::Bootstrap))
    }

    /// Half of its width: what the stop rule holds against its target.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// True if `value` lies in it or on a bound.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    const fn at_level((low, high): (f64, f64), method: Method) -> Self {
        Self { low, high, level: LEVEL, method }
    }
}

/// Largest j whose j-th least and j-th largest of at least six values enclose the median often
/// enough, and the part of the way to the next ones inside that makes it 95 %.
fn rank_from_end(n_values: usize) -> (usize, f64) {
    let below_median = Binomial::new(0.5, n_values as u64).expect("0.5 is a probability");
    let level = |j: usize| 1.0 - 2.0 * below_median.cdf(j as u64 - 1);
    let is_enough = |j: &usize| level(*j) >= LEVEL;
    let j = (1..=n_values / 2).take_while(is_enough).last().expect("six values have outer ones");
    let share = (level(j) - LEVEL) / (level(j) - level(j + 1));
    let (n_outer, n_inner) = (j as f64, (n_values - j) as f64);
    (j, n_inner * share / (n_outer + (n_inner - n_outer) * share))
}

/// Bounds of Student's t around `middle`, whose standard error is `factor` times that of the mean.
fn student_t(values: &[f64], middle: f64, factor: f64) -> (f64, f64) {
    let n = values.len() as f64;
    let t = student_quantile(f64::midpoint(1.0, LEVEL), n - 1.0);
    let half_width = factor * t * (variance(values) / n).sqrt();
    (middle - half_width, middle + half_width)
}

/// All values with the number of their slice, the largest first.
fn descending(slices: &[&[f64]]) -> Vec<(f64, usize)> {
    let of_slice = |(number, slice): (usize, &&[f64])| -> Vec<(f64, usize)> {
        slice.iter().map(|value| (*value, number)).collect()
    };
    let mut all: Vec<(f64, usize)> = slices.iter().enumerate().flat_map(of_slice).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

/// Number of draws of each of `n_slices`, if as many are drawn with replacement.
fn resample(n_slices: usize, random: &mut Rand64) -> Vec<usize> {
    let mut weights = vec![0; n_slices];
    for _ in 0..n_slices {
        weights[drawn(n_slices, random)] += 1;
    }
    weights
}

/// The quantile of the values, each as often as its slice was drawn. They are sorted once for all
/// resamples, and a high quantile is near the largest.
fn quantile_of(
    (descending, lengths): (&[(f64, usize)], &[usize]),
    weights: &[usize],
    q: f64,
) -> f64 {
    let n_values: usize = weights.iter().zip(lengths).map(|(weight, length)| weight * length).sum();
    let position = q.clamp(0.0, 1.0) * (n_values - 1) as f64;
    let n_above = n_values - 1 - place(position);
    let (mut n_larger, mut above) = (0, None);
    for (value, slice) in descending {
        n_larger += weights[*slice];
        if n_larger >= n_above.max(1) {
            above.get_or_insert(*value);
        }
        if n_larger > n_above {
            let above = above.filter(|_| n_above > 0).unwrap_or(*value);
            return value + position.fract() * (above - value);
        }
    }
    unreachable!("fewer values are above the quantile than there are")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resample_has_the_quantile_of_its_values_written_out() {
        let slices: [&[f64]; 3] = [&[1.0, 5.0, 2.0], &[4.0, 4.0], &[9.0, 0.0, 3.0, 7.0]];
        let lengths = slices.map(<[f64]>::len);
        for weights in [[1, 1, 1], [2, 0, 1], [0, 3, 0], [0, 1, 2], [3, 0, 0]] {
            let drawn = slices.iter().zip(weights);
            let written_out: Vec<f64> =
                drawn.flat_map(|(slice, weight)| slice.repeat(weight)).collect();
            for q in [0.0, 0.1, 0.5, 0.75, 0.9, 0.99, 1.0] {
                let found = quantile_of((&descending(&slices), &lengths), &weights, q);
                let expected = quantile(&sorted(&written_out), q);
                assert!((found - expected).abs() < 1e-12, "{weights:?} {q}: {found} {expected}");
            }
        }
    }

    #[test]
    fn order_statistics_are_those_of_the_binomial_distribution() {
        let check = |n_values, expected| {
            assert_eq!(rank_from_end(n_values).0, expected, "of {n_values}");
        };
        for (n_values, j) in [
            (6, 1),
            (8, 1),
            (9, 2),
            (10, 2),
            (11, 2),
            (12, 3),
            (15, 4),
            (20, 6),
            (30, 10),
            (40, 14),
        ] {
            check(n_values, j);
        }
    }

    #[test]
    fn the_method_follows_from_the_number_of_slices() {
        let check = |n_slices: u32, expected: Option<Method>| {
            let medians: Vec<f64> = (0..n_slices).map(f64::from).collect();
            let found = Interval::of_medians(&medians);
            assert_eq!(found.map(|interval| interval.method), expected, "{n_slices} slices");
        };
        check(0, None);
        check(4, None);
        check(5, Some(Method::StudentT));
        check(6, Some(Method::InterpolatedOrderStatistics));
        check(10, Some(Method::InterpolatedOrderStatistics));
    }

    #[test]
    fn launches_are_bounded_by_students_t_of_logarithms_and_from_six_on_by_themselves() {
        assert_eq!(Interval::of_launches(&[3.0]), None);
        assert_eq!(Interval::of_launches(&[3.0, 0.0]), None);
        // Logarithms -1, 0 and 1 to the base e: s = 1, and t for 2 degrees of freedom is 4.302652730.
        let e = std::f64::consts::E;
        let found = Interval::of_launches(&[1.0, e, 1.0 / e]).unwrap();
        let half_width = 4.302_652_730 / 3f64.sqrt();
        assert!((found.high.ln() - half_width).abs() < 1e-8, "{found:?}");
        assert!((found.low.ln() + half_width).abs() < 1e-8, "{found:?}");
        assert_eq!(found.method, Method::StudentTOfLogarithms);
        // The least and the largest of six enclose the median in 96.875 %, the next in 78.125 %.
        let found = Interval::of_launches(&[5.0, 1.0, 4.0, 2.0, 6.0, 3.0]).unwrap();
        let part = 5.0 / 14.0;
        assert!((found.low - 1.0 - part).abs() < 1e-9, "{found:?}");
        assert!((found.high - 6.0 + part).abs() < 1e-9, "{found:?}");
        assert_eq!(found.method, Method::InterpolatedOrderStatistics);
        let found = Interval::of_launches(&[7.1; 3]).unwrap();
        assert_eq!((found.low, found.high), (7.1, 7.1));
    }

    #[test]
    fn bounds_agree_with_a_hand_computation() {
        let check = |medians: &[f64], low: f64, high: f64| {
            let found = Interval::of_medians(medians).unwrap();
            assert!(
                (found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9,
                "{found:?}"
            );
            assert!(found.contains(low + 1e-9) && found.contains(high - 1e-9), "{found:?}");
            assert!(!found.contains(low - 1e-6) && !found.contains(high + 1e-6), "{found:?}");
            assert!((found.half_width() - (high - low) / 2.0).abs() < 1e-9, "{found:?}");
        };
        // 97.85 % between the second and the second last, 89.06 % between the third and the third last.
        let part = 73.0 / 111.0;
        check(&[10.0, 1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0, 5.0], 2.0 + part, 9.0 - part);
        // s² = 20.5, and t for 0.975 and 4 degrees of freedom is 2.776445105; the mean is 4.
        let half_width = 1.198 * 2.776_445_105_198 * 4.1f64.sqrt();
        check(&[1.0, 2.0, 3.0, 2.0, 12.0], 2.0 - half_width, 2.0 + half_width);
    }

    #[test]
    fn the_bootstrap_draws_whole_slices() {
        // Each slice holds one value, so a quantile of a resample is one of them, or between two.
        let slices: Vec<Vec<f64>> = (1..=9).map(|value| vec![f64::from(value); 40]).collect();
        let interval = Interval::of_quantile(&slices, 0.5, 7).unwrap();
        assert!(interval.low <= 3.0 && interval.high >= 7.0, "{interval:?}");
        assert_eq!((interval.level, interval.method.name()), (0.95, "bootstrap"));
        assert_eq!(Interval::of_quantile(&slices, 0.5, 7), Some(interval), "a seed decides");
        let equal = Interval::of_quantile(&[[7.1; 4]; 5], 0.9, 7).unwrap();
        assert_eq!((equal.low, equal.high, equal.method), (7.1, 7.1, Method::Bootstrap));
    }

    #[test]
    fn too_few_slices_have_no_interval_of_a_quantile() {
        let check = |slices: &[&[f64]]| assert_eq!(Interval::of_quantile(slices, 0.9, 1), None);
        check(&[]);
        check(&[[1.0, 2.0].as_slice(); 4]);
        check(&[&[1.0], &[1.0], &[1.0], &[1.0], &[]]);
    }
}
