//! Starts that are late on purpose, to see how an operation depends on who arrives when.

use oorandom::Rand64;

use crate::transport::Rank;

/// Ranks that start late, and their delays in units of a scale `S`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skew {
    /// None is late.
    #[default]
    None,
    /// Each by a time of its own, evenly from 0 to `S`, in each sample anew.
    Uniform,
    /// The last rank, by `S`.
    Last,
    /// Each by more than the rank before: from 0 on rank 0 to `S` on the last.
    Linear,
}

impl Skew {
    /// Name as in the record.
    pub fn name(self) -> &'static str {
        ["none", "uniform", "last", "linear"][self as usize]
    }

    /// By how many nanoseconds `rank` of `n_ranks` starts late in sample number `index`, if the
    /// scale is `scale_ns`; the same in every run with `seed`.
    pub fn delay_ns(self, rank: Rank, n_ranks: usize, scale_ns: u64, seed: u64, index: u64) -> u64 {
        let last = n_ranks.saturating_sub(1);
        match self {
            Self::None => 0,
            Self::Uniform => {
                // Ranks and samples far apart, so that no two have one seed.
                let of_sample = u128::from(index) << 32 | rank as u128;
                Rand64::new(u128::from(seed) << 64 ^ of_sample).rand_range(0..scale_ns + 1)
            }
            Self::Last => scale_ns * u64::from(rank == last),
            Self::Linear => scale_ns * rank as u64 / last.max(1) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_late_as_the_skew_says() {
        let check = |skew: Skew, expected: [u64; 5]| {
            let found = [0, 1, 2, 3, 4].map(|rank| skew.delay_ns(rank, 5, 1000, 1, 0));
            assert_eq!(found, expected, "{skew:?}");
        };
        check(Skew::None, [0; 5]);
        check(Skew::Last, [0, 0, 0, 0, 1000]);
        check(Skew::Linear, [0, 250, 500, 750, 1000]);
        assert_eq!(Skew::Linear.delay_ns(0, 1, 1000, 1, 0), 0);
    }

    #[test]
    fn even_delays_fill_the_scale_and_do_not_follow_each_other() {
        let delay = |rank, index| Skew::Uniform.delay_ns(rank, 64, 1000, 7, index) as f64 - 500.0;
        let places = || (0..64).flat_map(|rank| (0..64).map(move |index| (rank, index)));
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 4096.0;
        assert!(places().all(|(rank, index)| delay(rank, index).abs() <= 500.0));
        // Standard errors are 4.5 of the mean, 1160 of the square, and 1300 of the products.
        assert!(mean(&mut places().map(|(r, i)| delay(r, i))).abs() < 20.0);
        let square = mean(&mut places().map(|(r, i)| delay(r, i).powi(2)));
        assert!((square - 83_400.0).abs() < 5000.0, "{square}");
        let of_ranks = mean(&mut places().map(|(r, i)| delay(r, i) * delay(r + 1, i)));
        let of_samples = mean(&mut places().map(|(r, i)| delay(r, i) * delay(r, i + 1)));
        assert!(of_ranks.abs() < 6000.0 && of_samples.abs() < 6000.0, "{of_ranks} {of_samples}");
    }

    #[test]
    fn the_seed_decides_the_delays() {
        let delays = |seed| [0, 1, 2].map(|rank| Skew::Uniform.delay_ns(rank, 3, 1 << 40, seed, 5));
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }
}
