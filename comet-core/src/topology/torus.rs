//! Sides of a torus.

/// Most dimensions of a torus: 2^16 ranks have no more.
pub const MAX_TORUS_DIMENSIONS: usize = 16;

/// The sides of a torus of `n_ranks` ranks in so many dimensions, the longest first, which is as short
/// as it can be (`MPI_Dims_create`: MPI-4.1 section 8.5.2).
///
/// ```
/// use comet_core::topology::torus_sides;
/// assert_eq!(torus_sides(12, 2), [4, 3]);
/// ```
pub fn torus_sides(n_ranks: usize, n_dimensions: usize) -> Vec<usize> {
    let (mut rest, mut sides) = (n_ranks, Vec::new());
    for n_left in (0..n_dimensions).rev() {
        let shortest = |side: &usize| splits(rest / side, n_left, *side);
        let side = divisors(rest).into_iter().find(shortest).unwrap_or(rest);
        sides.push(side);
        rest /= side;
    }
    sides
}

/// True if `n` is a product of so many factors, none of them above `most`.
fn splits(n: usize, n_factors: usize, most: usize) -> bool {
    match n_factors {
        0 => n == 1,
        1 => n <= most,
        _ => {
            let mut factors = divisors(n).into_iter().filter(|factor| *factor <= most);
            factors.any(|factor| splits(n / factor, n_factors - 1, factor))
        }
    }
}

/// The divisors of `n`, in order.
fn divisors(n: usize) -> Vec<usize> {
    let small =
        (1..).take_while(|small| small * small <= n).filter(|small| n.is_multiple_of(*small));
    let mut all: Vec<usize> = small.flat_map(|small| [small, n / small]).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_as_equal_as_they_can_be() {
        let check = |n, n_dimensions, expected: &[usize]| {
            assert_eq!(torus_sides(n, n_dimensions), expected, "{n} in {n_dimensions}");
        };
        check(7, 1, &[7]);
        check(9, 2, &[3, 3]);
        check(12, 2, &[4, 3]);
        check(12, 3, &[3, 2, 2]);
        check(36, 2, &[6, 6]);
        check(27, 3, &[3, 3, 3]);
        check(7, 2, &[7, 1]);
        check(16, 3, &[4, 2, 2]);
        check(1, 2, &[1, 1]);
    }
}
