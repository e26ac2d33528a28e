//! Steady part of a series: the values before it are warm-up, and dropped.
//!
//! The marginal standard error rule (White, Simulation 69, 1997) drops as much from the front as
//! makes the rest known best. Its input is medians of blocks here, since one preempted operation
//! would decide about means.

use crate::{quantile, sorted, variance};

/// Values in a block.
const BLOCK: usize = 20;
/// Fewest blocks that are left: the variance of two is small by chance too often.
const MIN_LEFT: usize = 3;
/// Least part of the blocks that is left, as a divisor, for the same reason in long series.
const LEFT_DIVISOR: usize = 4;

/// Warm-up at the start of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Values to drop from the front, whole blocks of 20.
    pub n_dropped: usize,
    /// True if at most half is dropped; otherwise it may never have become steady.
    pub is_steady: bool,
}

/// Length of the warm-up at the head of `values`.
///
/// With medians m of complete blocks, it is the prefix d for which `variance(m[d..]) / (len - d)`
/// is least, where three blocks and a quarter of all are left at least. In less than seven blocks
/// that is half at most, so that they cannot be called unsteady; in less than four, it is nothing.
///
/// By chance, of independent steady values (2000 simulated series) 19 % look unsteady with 10
/// blocks, 10 % with 20, and 1 % with 50; so an unsteady series deserves a second, longer try.
pub fn steady_from(values: &[f64]) -> WarmUp {
    let medians = block_medians(values);
    let min_left = MIN_LEFT.max(medians.len().div_ceil(LEFT_DIVISOR));
    let prefixes = 0..=medians.len().saturating_sub(min_left);
    let error = |d: &usize| squared_error(&medians[*d..]);
    let best = prefixes.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(0);
    WarmUp { n_dropped: best * BLOCK, is_steady: 2 * best <= medians.len() }
}

/// Medians of the whole blocks of 20 values, in their order: input of the rule.
pub fn block_medians(values: &[f64]) -> Vec<f64> {
    values.chunks_exact(BLOCK).map(|block| quantile(&sorted(block), 0.5)).collect()
}

/// The squared standard error of the mean.
fn squared_error(values: &[f64]) -> f64 {
    variance(values) / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 20 values each, of which these are the medians.
    fn series(medians: &[f64]) -> Vec<f64> {
        let offsets = (0..BLOCK).map(|i| 0.01 * (i as f64 - 9.5));
        medians
            .iter()
            .flat_map(|median| offsets.clone().map(move |offset| median + offset))
            .collect()
    }

    #[test]
    fn the_slow_start_is_dropped() {
        let check = |medians: &[f64], n_dropped, is_steady| {
            let expected = WarmUp { n_dropped, is_steady };
            assert_eq!(steady_from(&series(medians)), expected, "{medians:?}");
        };
        check(&[1.0; 8], 0, true);
        check(&[9.0, 1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 1.0], 20, true);
        check(&[9.0, 8.0, 5.0, 1.0, 1.1, 1.0, 1.1, 1.0], 60, true);
        check(&[9.0, 8.0, 7.0, 6.0, 5.0, 1.0, 1.1, 1.0], 100, false);
        // A slow block goes with all that was before it, but not with nearly all.
        check(&[1.0, 1.1, 1.0, 9.0, 1.1, 1.0, 1.1, 1.0], 80, true);
        check(&[1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 9.0, 1.0], 0, true);
    }

    #[test]
    fn a_preempted_operation_is_no_warm_up() {
        let mut values = series(&[1.0, 1.1, 1.0, 1.1, 1.0, 1.1]);
        values[3] = 5000.0;
        assert_eq!(steady_from(&values), WarmUp { n_dropped: 0, is_steady: true });
    }

    #[test]
    fn too_few_values_drop_nothing() {
        let check = |n_values: usize| {
            let values: Vec<f64> = (0..n_values).map(|i| 100.0 - i as f64).collect();
            assert_eq!(steady_from(&values), WarmUp { n_dropped: 0, is_steady: true });
        };
        [0, 1, 19, 20, 59, 60].into_iter().for_each(check);
    }
}
