//! The exact signed rank test of pairs (Wilcoxon, Biometrics Bulletin 1, 1945).

/// The probability of differences that lean as much to one side as these by chance, two-sided, if
/// each had either sign with the same probability; `None` if all are 0.
///
/// Differences of 0 are left out, and equal ones share their ranks. With five pairs it is never
/// below 6 %.
#[must_use]
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    let mut sizes: Vec<f64> =
        differences.iter().copied().filter(|of_pair| *of_pair != 0.0).collect();
    sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&sizes);
    let total: usize = ranks.iter().sum();
    let positive: usize =
        ranks.iter().zip(&sizes).filter(|(_, of)| **of > 0.0).map(|(r, _)| r).sum();
    let least = positive.min(total - positive);
    let shares = shares_of_sums(&ranks);
    let tail: f64 = shares[..=least].iter().sum();
    (!ranks.is_empty()).then_some((2.0 * tail).min(1.0))
}

/// Twice the rank of each of the ascending `sizes`, so that shared ranks are whole too.
fn doubled_ranks(sizes: &[f64]) -> Vec<usize> {
    let rank = |size: &f64| {
        let n_less = sizes.iter().filter(|other| other.abs() < size.abs()).count();
        let n_equal = sizes.iter().filter(|other| other.abs() == size.abs()).count();
        2 * n_less + n_equal + 1
    };
    sizes.iter().map(rank).collect()
}

/// Probability of each sum, from 0 on, if each of `ranks` is in it with probability 1/2.
fn shares_of_sums(ranks: &[usize]) -> Vec<f64> {
    let mut shares = vec![0.0; ranks.iter().sum::<usize>() + 1];
    shares[0] = 1.0;
    for rank in ranks {
        for sum in (0..shares.len()).rev() {
            let with_it = sum.checked_sub(*rank).map_or(0.0, |without| shares[without]);
            shares[sum] = f64::midpoint(shares[sum], with_it);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(differences: &[f64], expected: f64) {
        let found = signed_rank_p(differences).expect("there are differences");
        assert!((found - expected).abs() < 1e-12, "{differences:?}: {found}");
    }

    #[test]
    fn all_on_one_side_are_as_rare_as_so_many_equal_tosses() {
        check(&[1.0, 2.0, 3.0, 4.0, 5.0], 2.0 / 32.0);
        check(&[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], 2.0 / 64.0);
    }

    #[test]
    fn ranks_count_rather_than_signs() {
        // Of 16 sums, 0, 1 and 2 are at most 2; and 3 more than once.
        check(&[1.0, -2.0, 3.0, 4.0], 2.0 * 3.0 / 16.0);
        // The sums 0 to 3 of five ranks can be had in 1, 1, 1 and 2 ways.
        check(&[1.0, 2.0, -3.0, 4.0, 5.0], 2.0 * 5.0 / 32.0);
    }

    #[test]
    fn equal_sizes_share_their_ranks() {
        // Ranks 1.5, 1.5 and 3: the sums 0, 1.5 (twice), 3 (twice), 4.5 (twice), 6.
        check(&[1.0, -1.0, 2.0], 2.0 * 3.0 / 8.0);
    }

    #[test]
    fn pairs_without_a_difference_say_nothing() {
        assert_eq!(signed_rank_p(&[]), None);
        assert_eq!(signed_rank_p(&[0.0, 0.0]), None);
        check(&[0.0, 1.0, 2.0], 2.0 / 4.0);
    }
}
