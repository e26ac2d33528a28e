//! Sides of the tori of IMB-P2P.

/// Sides of the torus of `n_ranks` ranks in 2 or 3 dimensions on which IMB-P2P has its stencils, the one of
/// neighbouring ranks first; `None` if it has none: each side has at least 2 ranks.
///
/// ```
/// use comet_core::topology::stencil_sides;
/// assert_eq!(stencil_sides(8, 2), Some(vec![4, 2]));
/// assert_eq!(stencil_sides(7, 2), None);
/// ```
pub fn stencil_sides(n_ranks: usize, n_dimensions: usize) -> Option<Vec<usize>> {
    let sides = match n_dimensions {
        2 => Some(plane(n_ranks).to_vec()),
        _ => cube(n_ranks).map(Into::into),
    };
    sides.filter(|sides| sides.iter().all(|side| *side > 1))
}

/// The shortest square or cube of at least `n` ranks: its side, of at least 2.
fn side(n: usize, dimensions: u32) -> usize {
    (2..).find(|side: &usize| side.saturating_pow(dimensions) >= n).unwrap_or(n)
}

/// Sides of a plane of `n` ranks, the second as long as the side of the shortest square lets it be.
fn plane(n: usize) -> [usize; 2] {
    let second = (1..=side(n, 2)).rev().find(|second| n.is_multiple_of(*second)).unwrap_or(1);
    [n / second, second]
}

/// Sides of a box of `n` ranks: the last is the longest for which it is no longer than the others, if the
/// search of the original comes to it.
fn cube(n: usize) -> Option<[usize; 3]> {
    let longest = side(n, 3);
    if longest.pow(3) == n {
        return Some([longest; 3]);
    }
    for last in (2..longest).rev().filter(|last| n.is_multiple_of(*last)) {
        let [first, second] = plane(n / last);
        if second >= last {
            return Some([first, second, last]);
        }
        if longest * longest * last <= n {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_those_of_the_original() {
        let check = |n, dimensions, expected: &[usize]| {
            let found = stencil_sides(n, dimensions).unwrap_or_default();
            assert_eq!(found, expected, "{n} ranks");
        };
        for (n, sides) in [(4, [2, 2]), (6, [2, 3]), (8, [4, 2]), (12, [3, 4]), (15, [5, 3])] {
            check(n, 2, &sides);
        }
        for (n, sides) in [(8, [2, 2, 2]), (12, [2, 3, 2]), (16, [4, 2, 2]), (24, [3, 4, 2])] {
            check(n, 3, &sides);
        }
        for (n, sides) in [(27, [3, 3, 3]), (30, [5, 3, 2]), (36, [3, 4, 3])] {
            check(n, 3, &sides);
        }
        for n in [1, 2, 3, 7] {
            check(n, 2, &[]);
        }
        // The original ends its search before it comes to 19 x 3 x 2.
        for n in [1, 4, 6, 7, 10, 114] {
            check(n, 3, &[]);
        }
    }
}
