//! Dimension-order routes on a torus: one dimension after the other, the shorter way around, and
//! upwards where both ways are as long.
//!
//! Source: Dally and Seitz, The torus routing chip, Distributed Computing 1, 1986.

use comet_core::transport::Rank;

/// The link after `step` others on a torus whose first dimension varies fastest with the rank.
/// Links are numbered rank by rank, two (up and down) for each of the `dims`, none of which is 0.
#[inline]
pub(super) fn next(dims: &[usize], from: Rank, to: Rank, step: usize) -> Option<usize> {
    let (mut from_rest, mut to_rest, mut steps_left) = (from, to, step);
    // What the places before and at this dimension contribute to a rank.
    let (mut done, mut stride) = (0, 1);
    for (index, &dim) in dims.iter().enumerate() {
        let (at, goal) = (from_rest % dim, to_rest % dim);
        let ahead = if goal >= at { goal - at } else { goal + dim - at };
        let is_up = 2 * ahead <= dim;
        let distance = if is_up { ahead } else { dim - ahead };
        if steps_left < distance {
            let moved = if is_up { at + steps_left } else { at + dim - steps_left } % dim;
            let place = done + (from_rest - at + moved) * stride;
            return Some(2 * (place * dims.len() + index) + usize::from(!is_up));
        }
        steps_left -= distance;
        done += goal * stride;
        stride *= dim;
        (from_rest, to_rest) = (from_rest / dim, to_rest / dim);
    }
    None
}

/// `n_dims` dimensions for `n_ranks` ranks, the largest first: each in turn is the smallest factor
/// that is at least the root of what is left, so that they are as equal as the factors allow
/// (compare MPI 4.1 section 8.5.2, `MPI_Dims_create`).
pub(super) fn near_equal(n_ranks: usize, n_dims: usize) -> Vec<usize> {
    let mut rest = n_ranks;
    let mut dims: Vec<usize> = (1..=n_dims)
        .rev()
        .map(|n_left| {
            let dim = factor_above_root(rest, n_left);
            rest /= dim;
            dim
        })
        .collect();
    dims.sort_unstable_by(|a, b| b.cmp(a));
    dims
}

/// The smallest factor of `number` whose `degree`-th power is at least `number`.
fn factor_above_root(number: usize, degree: usize) -> usize {
    let degree = u32::try_from(degree).unwrap_or(u32::MAX);
    let reaches = |factor: usize| factor.checked_pow(degree).is_none_or(|power| power >= number);
    (1..=number).find(|factor| number.is_multiple_of(*factor) && reaches(*factor)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_as_equal_as_the_factors_allow() {
        let check = |n_ranks, expected: &[usize]| {
            assert_eq!(near_equal(n_ranks, expected.len()), expected, "{n_ranks} ranks");
        };
        check(1, &[1, 1]);
        check(7, &[7, 1]);
        check(12, &[4, 3]);
        check(24, &[4, 3, 2]);
        check(64, &[4, 4, 4]);
        check(65_536, &[64, 32, 32]);
        check(65_537, &[65_537, 1, 1]);
        check(1 << 20, &[1024, 1024]);
    }
}
