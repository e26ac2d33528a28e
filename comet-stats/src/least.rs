//! Least value of a fixed number of samples, which does not depend on how long one measures.
//!
//! The least of all samples falls as their number grows, and with it the number of slices that may
//! have been the luckiest. The least of 20 that follow each other has one expectation, whatever the
//! number of such blocks; their median, and the median over the slices, is only known better.

use crate::{median, quantile, sorted};

/// Values of which one is the least.
const BLOCK: usize = 20;

/// Median over `slices` of the least of 20 values: in each slice the median over its whole blocks of
/// 20, or the least of all where a slice has fewer; `None` without values.
pub fn least_of_20<S: AsRef<[f64]>>(slices: &[S]) -> Option<f64> {
    let of_slice = |slice: &S| {
        let values = slice.as_ref();
        let blocks = values.chunks_exact(BLOCK).map(least);
        median(&blocks.collect::<Vec<_>>()).or_else(|| (!values.is_empty()).then(|| least(values)))
    };
    let of_slices: Vec<f64> = slices.iter().filter_map(of_slice).collect();
    (!of_slices.is_empty()).then(|| quantile(&sorted(&of_slices), 0.5))
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use oorandom::Rand64;

    use super::*;
    use crate::mean;
    use crate::truth::Noise;

    #[test]
    fn the_least_of_a_block_counts_and_not_that_of_all() {
        let check = |slices: &[Vec<f64>], expected| assert_eq!(least_of_20(slices), expected);
        check(&[], None);
        check(&[vec![]], None);
        check(&[vec![3.0, 2.0, 4.0]], Some(2.0));
        let block = |least: f64| (0..20).map(move |i| least + f64::from(i));
        let blocks = |of: &[f64]| of.iter().flat_map(|least| block(*least)).collect::<Vec<_>>();
        // The last values make no block.
        check(&[[blocks(&[5.0, 1.0, 6.0]), vec![0.5]].concat()], Some(5.0));
        check(&[blocks(&[5.0]), blocks(&[1.0, 2.0, 3.0]), blocks(&[4.0]), vec![]], Some(4.0));
    }

    /// Means over `n_trials` of the logarithms of `estimate` after a quick run, 3 slices of 20, and
    /// after a standard one, 10 of 100: of a median of 1, where slices differ by 4 % and samples
    /// by 5 %.
    fn means(estimate: fn(&[Vec<f64>]) -> f64) -> [f64; 2] {
        [(3, 20), (10, 100)].map(|(n_slices, n_samples)| {
            let trial = |seed| {
                let mut noise = Noise(Rand64::new(seed));
                let speeds = noise.log_normal(n_slices, 0.04);
                let slice = |speed: f64| {
                    let samples = noise.log_normal(n_samples, 0.05);
                    samples.into_iter().map(|value| speed * value).collect()
                };
                estimate(&speeds.into_iter().map(slice).collect::<Vec<Vec<f64>>>()).ln()
            };
            mean(&(0..1000).map(trial).collect::<Vec<_>>())
        })
    }

    #[test]
    fn a_short_run_and_a_long_one_agree() {
        let [quick, standard] = means(|slices| least_of_20(slices).unwrap());
        assert!((quick - standard).abs() < 0.003, "{quick} {standard}");
        let [quick, standard] = means(|slices| least(&slices.concat()));
        assert!(quick - standard > 0.05, "the least of all: {quick} {standard}");
    }
}
