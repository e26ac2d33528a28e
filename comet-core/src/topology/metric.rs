//! Distance of two ranks: by the shape of a network, or by a user's table.
//!
//! A shape needs no table, whose square would not fit where there are 65,536 ranks.

use crate::transport::Rank;
use crate::words::count;

/// The largest distance that a table may hold.
const MAX_HOPS: usize = 1000;

/// Rule of the distance between two ranks: links on the way, of which the one from a rank up to its
/// switch counts as none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The number of bits in which the two ranks differ (thesis section 3.1.5).
    Hypercube,
    /// A crossbar: every other rank is one hop away.
    Flat,
    /// A torus of these dimensions, of which the first varies fastest with the rank: the shorter
    /// way in each.
    Torus(Vec<usize>),
    /// A k-ary n-tree (Petrini and Vanneschi, k-ary n-trees, IPPS 1997): the switches on the way,
    /// so that ranks below one switch are one hop apart, and `2 l + 1` if they meet `l` levels up.
    FatTree {
        /// Children of one switch.
        radix: usize,
    },
    /// `table[from][to]`.
    Table(Vec<Vec<usize>>),
}

impl Metric {
    /// Its name in the record: `hypercube`, `flat`, `torus`, `fattree` or `table`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hypercube => "hypercube",
            Self::Flat => "flat",
            Self::Torus(_) => "torus",
            Self::FatTree { .. } => "fattree",
            Self::Table(_) => "table",
        }
    }

    /// Accepts a metric that has the distances between `n_ranks` ranks.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if a torus has another number of places, if a switch
    /// has fewer than two children, or, of a table, if it is not square over the ranks, if a rank
    /// is not exactly 0 hops away from itself alone, or if a distance is above 1000.
    pub fn check(&self, n_ranks: usize) -> Result<(), String> {
        match self {
            Self::Hypercube | Self::Flat => Ok(()),
            Self::Torus(dims) => check_torus(dims, n_ranks),
            Self::FatTree { radix } => check_radix(*radix),
            Self::Table(table) => check_table(table, n_ranks),
        }
    }

    /// Number of hops from one rank to another, 0 from a rank to itself.
    ///
    /// # Panics
    /// If there is no such rank in a table, or if the metric fails its [`check`](Self::check).
    pub fn hops(&self, from: Rank, to: Rank) -> usize {
        match self {
            Self::Hypercube => (from ^ to).count_ones() as usize,
            Self::Flat => usize::from(from != to),
            Self::Torus(dims) => torus_hops(dims, from, to),
            Self::FatTree { radix } => (2 * tree_levels(*radix, from, to)).saturating_sub(1),
            Self::Table(table) => table[from][to],
        }
    }

    /// The node after `from` on the way to another node, where routes are known.
    pub(super) fn next(&self, from: usize, to: usize) -> Option<usize> {
        match self {
            Self::Hypercube => Some(from ^ (1 << (from ^ to).trailing_zeros())),
            Self::Torus(dims) => torus_next(dims, from, to),
            Self::Flat | Self::FatTree { .. } | Self::Table(_) => None,
        }
    }

    /// The largest distance from `rank` to one of `n_ranks` ranks: without looking at each of
    /// them, because every rank of a large machine asks.
    pub(super) fn max_hops(&self, rank: Rank, n_ranks: usize) -> usize {
        match self {
            Self::Hypercube => farthest_corner(rank, n_ranks),
            Self::Flat => usize::from(n_ranks > 1),
            Self::Torus(dims) => farthest_place(dims, rank, n_ranks),
            Self::Table(table) => table[rank][..n_ranks].iter().copied().max().unwrap_or(0),
            // What is below one switch is a range, so that one of its ends is beyond it.
            Self::FatTree { .. } => self.hops(rank, 0).max(self.hops(rank, n_ranks - 1)),
        }
    }
}

fn check_torus(dims: &[usize], n_ranks: usize) -> Result<(), String> {
    let places = dims.iter().try_fold(1usize, |places, dim| places.checked_mul(*dim));
    if places == Some(n_ranks) && !dims.is_empty() {
        return Ok(());
    }
    let shape = dims.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    let shape = if dims.is_empty() { "no dimensions" } else { &shape };
    Err(format!(
        "a torus of {shape} does not hold {} exactly (give dimensions whose product is {n_ranks})",
        count(n_ranks, "rank")
    ))
}

fn torus_next(dims: &[usize], from: usize, to: usize) -> Option<usize> {
    let mut stride = 1;
    for dim in dims {
        let (at, goal) = (from / stride % dim, to / stride % dim);
        let up = (goal + dim - at) % dim;
        if up > 0 {
            let after = if 2 * up <= *dim { (at + 1) % dim } else { (at + dim - 1) % dim };
            return Some(from - at * stride + after * stride);
        }
        stride *= dim;
    }
    None
}

fn check_radix(radix: usize) -> Result<(), String> {
    if radix >= 2 {
        return Ok(());
    }
    Err(format!("a fat tree needs switches of at least 2 children, got {radix}"))
}

fn check_table(table: &[Vec<usize>], n_ranks: usize) -> Result<(), String> {
    if table.len() != n_ranks {
        let (rows, ranks) = (count(table.len(), "row"), count(n_ranks, "rank"));
        return Err(format!("the hop table has {rows}, the mesh has {ranks}"));
    }
    for (from, row) in table.iter().enumerate() {
        if row.len() != n_ranks {
            let found = row.len();
            return Err(format!("row {from} of the hop table has {found} entries, not {n_ranks}"));
        }
        let is_wrong = |to: &usize| (row[*to] == 0) != (from == *to) || row[*to] > MAX_HOPS;
        if let Some(to) = (0..n_ranks).find(is_wrong) {
            let found = row[to];
            return Err(format!(
                "the hop table says {found} from rank {from} to rank {to}: expected 0 to itself \
                 alone, and at most {MAX_HOPS}"
            ));
        }
    }
    Ok(())
}

fn torus_hops(dims: &[usize], mut from: Rank, mut to: Rank) -> usize {
    let mut hops = 0;
    for dim in dims {
        let ahead = (to % dim + dim - from % dim) % dim;
        hops += ahead.min(dim - ahead);
        (from, to) = (from / dim, to / dim);
    }
    hops
}

/// Number of levels of switches between the ranks and the lowest that both are below.
fn tree_levels(radix: usize, mut from: Rank, mut to: Rank) -> usize {
    let mut levels = 0;
    while from != to {
        (from, to) = (from / radix, to / radix);
        levels += 1;
    }
    levels
}

/// The ranks below `n_ranks` fall into one class for each of its set bits: they agree with it above
/// that bit, are 0 there and anything below.
fn farthest_corner(rank: Rank, n_ranks: usize) -> usize {
    let bits = (0..usize::BITS).filter(|bit| n_ranks >> bit & 1 == 1);
    let farthest = bits.map(|bit| ((rank ^ n_ranks ^ (1 << bit)) >> bit).count_ones() + bit);
    farthest.max().unwrap_or(0) as usize
}

/// Places below `n_ranks` either lie below it in a dimension, and anywhere in those that vary faster,
/// or agree with it there; none does in any dimension if `n_ranks` is the size of the torus.
fn farthest_place(dims: &[usize], rank: Rank, n_ranks: usize) -> usize {
    let (mut farthest, mut anywhere, mut stride) = (None, 0, 1);
    for dim in dims {
        let hops = |place: usize| {
            let ahead = (rank / stride + dim - place) % dim;
            ahead.min(dim - ahead)
        };
        let (at, end) = (rank / stride % dim, n_ranks / stride % dim);
        // The place opposite is farthest, or else one of the ends.
        let places = [0, end.wrapping_sub(1), (at + dim / 2) % dim, (at + dim.div_ceil(2)) % dim];
        let below = places.into_iter().filter(|place| *place < end);
        let below = below.map(|place| hops(place) + anywhere).max();
        farthest = below.max(farthest.map(|faster: usize| faster + hops(end)));
        anywhere += dim / 2;
        stride *= dim;
    }
    farthest.unwrap_or(anywhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_shape() {
        let check = |metric: Metric, from, expected: &[usize]| {
            let found: Vec<_> = (0..expected.len()).map(|to| metric.hops(from, to)).collect();
            assert_eq!(found, expected, "{metric:?} from {from}");
        };
        check(Metric::Hypercube, 1, &[1, 0, 2, 1, 2]);
        check(Metric::Flat, 1, &[1, 0, 1, 1]);
        check(Metric::Torus(vec![5]), 0, &[0, 1, 2, 2, 1]);
        check(Metric::Torus(vec![4, 2]), 0, &[0, 1, 2, 1, 1, 2, 3, 2]);
        check(Metric::FatTree { radix: 2 }, 0, &[0, 1, 3, 3, 5, 5, 5, 5, 7]);
        check(Metric::FatTree { radix: 4 }, 5, &[3, 3, 3, 3, 1, 0, 1, 1, 3]);
        check(Metric::Table(vec![vec![0, 7], vec![3, 0]]), 0, &[0, 7]);
    }

    #[test]
    fn the_largest_distance_is_that_to_some_rank() {
        let check_part = |metric: &Metric, n_ranks: usize| {
            for rank in 0..n_ranks {
                let expected = (0..n_ranks).map(|to| metric.hops(rank, to)).max();
                let found = metric.max_hops(rank, n_ranks);
                assert_eq!(Some(found), expected, "{metric:?} of {n_ranks} ranks from {rank}");
            }
        };
        (1..=60).for_each(|n_ranks| check_part(&Metric::Torus(vec![5, 4, 3]), n_ranks));
        let check = |metric: Metric, n_ranks: usize| {
            assert_eq!(metric.check(n_ranks), Ok(()));
            check_part(&metric, n_ranks);
        };
        for n_ranks in 1..=70 {
            check(Metric::Hypercube, n_ranks);
            check(Metric::Flat, n_ranks);
            check(Metric::FatTree { radix: 2 }, n_ranks);
            check(Metric::FatTree { radix: 5 }, n_ranks);
            check(Metric::Torus(vec![n_ranks]), n_ranks);
            check(Metric::Torus(vec![3, n_ranks, 2]), 6 * n_ranks);
        }
        // A part of a machine: as many ranks as would take hours if each looked at all others.
        let part = Metric::Torus(vec![1 << 20, 1 << 20, 1 << 20]);
        assert_eq!((0..1 << 10).map(|rank| part.max_hops(rank, 3 << 58)).max(), Some(3 << 19));
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused_with_a_reason() {
        let check = |metric: Metric, expected: &str| {
            assert_eq!(metric.check(12).unwrap_err(), expected);
        };
        check(
            Metric::Torus(vec![4, 4]),
            "a torus of 4 x 4 does not hold 12 ranks exactly (give dimensions whose product is 12)",
        );
        check(
            Metric::Torus(vec![usize::MAX, 2]),
            "a torus of 18446744073709551615 x 2 does not hold 12 ranks exactly (give dimensions \
             whose product is 12)",
        );
        check(
            Metric::Torus(vec![]),
            "a torus of no dimensions does not hold 12 ranks exactly (give dimensions whose \
             product is 12)",
        );
        check(
            Metric::FatTree { radix: 1 },
            "a fat tree needs switches of at least 2 children, got 1",
        );
    }
}
