//! Diagnosis of a point: what its samples tell about the run rather than about the operation.
//!
//! A confidence interval promises something only if the slices are draws from one distribution.
//! These are the signs that they are not; none of them removes a sample.

use crate::{MIN_SLICES, mean, not_empty, quantile, sorted, variance};

/// Standard deviations of a normal distribution in its median absolute deviation.
const DEVIATIONS_PER_MAD: f64 = 1.4826;
/// Variance of the median of n normal values, over that of their mean: π / 2.
const MEDIAN_OVER_MEAN: f64 = std::f64::consts::FRAC_PI_2;
/// The median absolute deviation of n values is too small by n / (n - 0.8) (Croux and Rousseeuw,
/// Computational Statistics 1, 1992).
const MAD_BIAS: f64 = 0.8;
/// Ratio above which there are regimes: medians scatter four times as widely as by chance.
const MAX_RATIO: f64 = 16.0;
/// Quantile of the normal distribution that a lag-1 correlation of chance exceeds in 5 % of cases.
const MAX_LAG1_DEVIATIONS: f64 = 1.645;
/// Multiple of the median gap, and share of the median, of a gap between two modes.
const MODE_GAP: (f64, f64) = (4.0, 0.05);
/// Longest lag of an autocorrelation, whose cost grows as its square.
const MAX_LAGS: usize = 1000;
/// Tukey's fences for mild and for severe outliers, in interquartile ranges from the quartiles.
const FENCES: (f64, f64) = (1.5, 3.0);

/// Diagnosis of the slices of one point.
///
/// Its verdicts are calibrated by simulation: how often they were given in 2000 runs each of 10
/// slices of 100 samples with 2 % log-normal noise. The last column says how often the interval of
/// the slice medians still held the true median.
///
/// | samples | [`has_regimes`](Self::has_regimes) | [`drifts`](Self::drifts) | interval holds |
/// |---|---|---|---|
/// | independent, also with 80 % noise | 0 % | 0.8 % | 98 % |
/// | autoregressive, φ = 0.8 | 2 % | 1 % | 98 % |
/// | two speeds, ratio 1.05, each for 150 samples on average | 99 % | 2 % | 44 % |
/// | two speeds, ratio 1.2, each for 150 samples on average | 99.9 % | 2 % | 44 % |
/// | linear drift by 2 % | 0.2 % | 81 % | 12 % |
///
/// 20 slices of 50 samples do better in each (0.3 % false regimes at φ = 0.8, 99 % of drifts, but
/// 2.5 % false drifts). Shorter slices know their own scatter less well: at φ = 0.8, regimes are
/// seen in 6 % of runs with slices of 20 samples, and in 22 % with slices of 5.
///
/// Regimes that outlast the run cannot be seen in it; only further launches show them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// Number of slices. What compares them is `None` or false below 5.
    pub n_slices: usize,
    /// Integrated autocorrelation time, in samples: so many count as one independent sample in the
    /// variance of the median. A slice shows no more than its length. `None` if all are equal.
    pub tau_samples: Option<f64>,
    /// Variance of the slice medians, over the one that independent samples with the scatter
    /// inside the slices would give. `None` if at least half of them have no scatter.
    pub regime_ratio: Option<f64>,
    /// Correlation of each slice median with the next; `None` if all are equal.
    pub lag1: Option<f64>,
    /// True if slice medians fall into two groups 5 % apart, as noise of 30 % does by chance.
    pub is_bimodal: bool,
    /// Samples more than 1.5, and at most 3, interquartile ranges outside the quartiles.
    pub n_mild: usize,
    /// Samples more than 3 interquartile ranges outside the quartiles.
    pub n_severe: usize,
}

impl Diagnosis {
    /// The diagnosis of `slices`, in the order in which they were taken; empty ones do not count.
    ///
    /// # Panics
    /// If there is no sample.
    pub fn of<S: AsRef<[f64]>>(slices: &[S]) -> Self {
        let slices = &not_empty(slices);
        let pooled = sorted(&slices.concat());
        let medians: Vec<f64> = slices.iter().map(|slice| quantile(&sorted(slice), 0.5)).collect();
        let (n_mild, n_severe) = outliers(&pooled);
        let is_enough = slices.len() >= MIN_SLICES;
        Self {
            n_slices: slices.len(),
            tau_samples: tau_samples(slices, quantile(&pooled, 0.5)),
            regime_ratio: is_enough.then(|| regime_ratio(slices, &medians)).flatten(),
            lag1: is_enough.then(|| lag1(&medians)).flatten(),
            is_bimodal: is_enough && is_bimodal(&medians),
            n_mild,
            n_severe,
        }
    }

    /// True if the slices met the machine at different speeds: their medians scatter far more
    /// widely than their samples explain. Without a ratio, two groups of medians decide.
    pub fn has_regimes(&self) -> bool {
        self.regime_ratio.map_or(self.is_bimodal, |ratio| ratio > MAX_RATIO)
    }

    /// True if slice medians follow each other more closely than chance would let them.
    pub fn drifts(&self) -> bool {
        let bound = MAX_LAG1_DEVIATIONS / (self.n_slices as f64).sqrt();
        self.lag1.is_some_and(|lag1| lag1 > bound)
    }
}

/// Geyer's initial positive sequence (Statistical Science 7, 1992): autocovariances of the side of
/// the median, in pairs of lags, as far as the pairs are positive. Sides are all that the median
/// depends on, and have no outliers.
fn tau_samples(slices: &[&[f64]], median: f64) -> Option<f64> {
    let side = |value: &f64| f64::from(i8::from(*value > median) - i8::from(*value < median));
    let sides: Vec<Vec<f64>> =
        slices.iter().map(|slice| slice.iter().map(side).collect()).collect();
    let at_lag = |lag| sides.iter().map(|sides| lagged_products(sides, lag)).sum::<f64>();
    let n_lags = slices.iter().map(|slice| slice.len()).max()?.min(MAX_LAGS);
    let pairs = (0..n_lags).step_by(2).map(|lag| at_lag(lag) + at_lag(lag + 1));
    let sum: f64 = pairs.take_while(|pair| *pair > 0.0).sum();
    let squares = at_lag(0);
    // Samples on alternating sides would make it negative.
    (squares > 0.0).then(|| (2.0 * sum / squares - 1.0).max(0.0))
}

fn lagged_products(values: &[f64], lag: usize) -> f64 {
    values.iter().zip(values.iter().skip(lag)).map(|(a, b)| a * b).sum()
}

fn regime_ratio(slices: &[&[f64]], medians: &[f64]) -> Option<f64> {
    let of_slice = |(slice, median): (&&[f64], &f64)| -> Vec<f64> {
        slice.iter().map(|value| (value - median).abs()).collect()
    };
    let distances: Vec<f64> = slices.iter().zip(medians).flat_map(of_slice).collect();
    let length = distances.len() as f64 / slices.len() as f64;
    let mad = quantile(&sorted(&distances), 0.5) * length / (length - MAD_BIAS);
    let expected = MEDIAN_OVER_MEAN * (DEVIATIONS_PER_MAD * mad).powi(2) / length;
    (expected > 0.0).then(|| variance(medians) / expected)
}

fn lag1(medians: &[f64]) -> Option<f64> {
    let mean = mean(medians);
    let distances: Vec<f64> = medians.iter().map(|median| median - mean).collect();
    let squares = lagged_products(&distances, 0);
    (squares > 0.0).then(|| lagged_products(&distances, 1) / squares)
}

fn is_bimodal(medians: &[f64]) -> bool {
    let sorted = sorted(medians);
    let gaps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let gaps = self::sorted(&gaps);
    let (of_median_gap, of_median) = MODE_GAP;
    gaps.last().is_some_and(|largest| {
        *largest > of_median_gap * quantile(&gaps, 0.5)
            && *largest >= of_median * quantile(&sorted, 0.5)
    })
}

/// Numbers of mild and of severe outliers.
fn outliers(sorted: &[f64]) -> (usize, usize) {
    let (p25, p75) = (quantile(sorted, 0.25), quantile(sorted, 0.75));
    let n_beyond = |fence: f64| {
        let inside = p25 - fence * (p75 - p25)..=p75 + fence * (p75 - p25);
        sorted.iter().filter(|value| !inside.contains(value)).count()
    };
    let n_severe = n_beyond(FENCES.1);
    (n_beyond(FENCES.0) - n_severe, n_severe)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of two samples each, which have these medians and the same scatter.
    fn with_medians(medians: &[f64]) -> Vec<Vec<f64>> {
        medians.iter().map(|median| vec![median - 0.5, median + 0.5]).collect()
    }

    #[test]
    fn memory_is_the_sum_of_autocorrelations() {
        let check = |slice: &[f64], expected: Option<f64>| {
            let found = Diagnosis::of(&[slice.to_vec(), slice.to_vec()]).tau_samples;
            assert_eq!(found, expected, "{slice:?}");
        };
        check(&[5.0, 5.0, 5.0, 5.0], None);
        check(&[1.0, 2.0, 1.0, 2.0], Some(0.0));
        // Sides - - + +: correlations 1, 1/4, -1/2, -1/4, of which the second pair is negative.
        check(&[1.0, 1.0, 2.0, 2.0], Some(1.5));
    }

    #[test]
    fn the_ratio_agrees_with_a_hand_computation() {
        let found = Diagnosis::of(&with_medians(&[1.0, 2.0, 3.0, 4.0, 5.0])).regime_ratio.unwrap();
        // Slice medians of variance 2.5, median distance 0.5, slices of 2 samples.
        let deviation: f64 = 1.4826 * 0.5 * 2.0 / 1.2;
        let expected = 2.5 / (std::f64::consts::FRAC_PI_2 * deviation.powi(2) / 2.0);
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn a_rising_series_drifts_and_a_jumping_one_does_not() {
        let check = |medians: &[f64], lag1: f64, drifts: bool| {
            let found = Diagnosis::of(&with_medians(medians));
            assert!((found.lag1.unwrap() - lag1).abs() < 1e-12, "{found:?}");
            assert_eq!(found.drifts(), drifts, "{found:?}");
        };
        // Distances -4.5 .. 4.5: the products of neighbours sum to 57.75, the squares to 82.5.
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], 0.7, true);
        check(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0], -7.0 / 8.0, false);
    }

    #[test]
    fn two_modes_are_a_wide_gap_between_slice_medians() {
        let check = |medians: &[f64], expected: bool| {
            assert_eq!(Diagnosis::of(&with_medians(medians)).is_bimodal, expected, "{medians:?}");
        };
        check(&[100.0, 101.0, 102.0, 110.0, 111.0, 112.0], true);
        check(&[100.0, 101.0, 102.0, 104.0, 105.0, 106.0], false);
        check(&[100.0, 110.0, 120.0, 130.0, 140.0, 150.0], false);
        check(&[100.0, 100.0, 100.0, 104.0, 104.0, 104.0], false);
    }

    #[test]
    fn regimes_are_seen_without_any_noise() {
        let slices = [1.0, 2.0, 1.0, 2.0, 2.0].map(|time| vec![time; 10]);
        let found = Diagnosis::of(&slices);
        assert_eq!(found.regime_ratio, None);
        assert!(found.is_bimodal && found.has_regimes(), "{found:?}");
        let steady = Diagnosis::of(&[1.0; 5].map(|time| vec![time; 10]));
        assert!(!steady.has_regimes() && !steady.drifts(), "{steady:?}");
    }

    #[test]
    fn outliers_are_counted_by_tukeys_fences() {
        // The quartiles are 2 and 4, the fences at -1 and 7, and at -4 and 10.
        let check = |last: f64, expected: (usize, usize)| {
            let found = Diagnosis::of(&[vec![1.0, 2.0, 3.0, 4.0, last]]);
            assert_eq!((found.n_mild, found.n_severe), expected, "{last}");
        };
        check(7.0, (0, 0));
        check(7.1, (1, 0));
        check(10.0, (1, 0));
        check(10.1, (0, 1));
    }

    #[test]
    fn few_slices_are_not_compared_and_empty_ones_do_not_count() {
        let found = Diagnosis::of(&with_medians(&[1.0, 1.0, 50.0, 50.0]));
        assert_eq!((found.regime_ratio, found.lag1, found.is_bimodal), (None, None, false));
        assert!(!found.has_regimes() && !found.drifts(), "{found:?}");
        let with_empty = [vec![1.0, 2.0], vec![], vec![3.0, 4.0]];
        assert_eq!(Diagnosis::of(&with_empty), Diagnosis::of(&[vec![1.0, 2.0], vec![3.0, 4.0]]));
    }
}
