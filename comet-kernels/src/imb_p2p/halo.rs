//! Halo: time of messages that all ranks of a grid exchange at once with both neighbours in each
//! dimension.
//!
//! **Source**: IMB 2021, IMB-HALO, `simple_halo`.
//!
//! **Pattern**, on all ranks of a grid of 1 to 4 dimensions, the last of which varies fastest; the
//! grid is closed, and a dimension of one rank has no messages
//! ```text
//!   rank at x-1  <--> rank at x <--> rank at x+1      posts a receive from each neighbour, then a
//!                                                     send to each, and waits for all
//! ```
//! **Timed** (ranks of the grid): 2 receives and 2 sends for each dimension, in a loop. Buffers and
//! test data are made before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: 4 x (dimensions of at least 2 ranks) x `length_bytes` / time: what one rank sends and
//! receives.
//!
//! **Parameters**: `length_bytes` of one message. `topo_1` to `topo_4`: the proportions of the
//! sides, as those of `-topo a.b.c.d`; 0 for no such dimension. Divided by what they have in common
//! they are the least grid. Where 2^N such grids fit the P ranks, in N dimensions, each side is
//! longer by the factor floor(P^(1/N)), as in IMB.
//!
//! **Verified by**: other test data of each rank and message; contents, source and length of every
//! message on every rank; canaries about all buffers.
//!
//! **Caution**: ranks beyond the grid have no part. The factor is that of IMB, which finds grids
//! with more ranks than there are (3.1 on 12 ranks), and refuses them. IMB-HALO prints the mean
//! over the ranks, and divides by it for its rate; between its warm-up and its loop is no barrier.

use comet_core::kernel::prelude::*;
use comet_core::words::count;

use super::SUITE;
use crate::around::{Node, in_order};

/// Most dimensions of the grid.
const N_DIMENSIONS: usize = 4;

/// Proportion of each side of the grid.
pub(crate) static TOPO: [Axis; N_DIMENSIONS] =
    [side("topo_1"), side("topo_2"), side("topo_3"), side("topo_4")];

const fn side(name: &'static str) -> Axis {
    Axis::count(name, "ranks", "proportion of a side of the grid of ranks, 0 for no such dimension")
}

/// `imb-p2p/halo`; see the [module](self).
pub(crate) struct Halo;

/// The sides of the grid of `case` on `n_ranks` ranks; a sentence if there is none.
fn sides(case: &Case, n_ranks: usize) -> Result<Vec<usize>, String> {
    let all = TOPO.each_ref().map(|axis| case.length(axis));
    let topo: Vec<usize> = all.into_iter().take_while(|side| *side > 0).collect();
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    if topo.is_empty() || all[topo.len()..].iter().any(|side| *side > 0) {
        return Err(format!(
            "proportions of a grid are numbers above 0, then 0 for each dimension that it has not, got \
             {} (take 1.1.0.0 for a square)",
            names.join(".")
        ));
    }
    let common = topo.iter().fold(0, |common, side| gcd(common, *side));
    let sides: Vec<usize> = topo.iter().map(|side| side / common).collect();
    let n_dimensions = u32::try_from(sides.len()).unwrap_or(u32::MAX);
    let has_room = n_ranks / product(&sides) >= 2_usize.pow(n_dimensions);
    let factor = if has_room { root(n_ranks, n_dimensions) } else { 1 };
    let sides: Vec<usize> = sides.iter().map(|side| side.saturating_mul(factor)).collect();
    let (n_needed, ranks) = (product(&sides), count(n_ranks, "rank"));
    if n_needed > n_ranks {
        return Err(format!(
            "the grid needs {n_needed} ranks, there are {n_ranks} (ask for -n {n_needed})"
        ));
    }
    if n_needed == 1 {
        return Err(format!(
            "on a grid of one rank among {ranks} nothing is sent (ask for more ranks)"
        ));
    }
    Ok(sides)
}

fn product(sides: &[usize]) -> usize {
    sides.iter().copied().fold(1, usize::saturating_mul)
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The whole part of the root of `n`, of reals of double precision, as in IMB: 3 is the third of 64.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a root of a number of ranks is small and not negative"
)]
fn root(n: usize, degree: u32) -> usize {
    (n as f64).powf(1.0 / f64::from(degree)) as usize
}

/// Neighbours of `rank` on the grid: of each dimension of at least 2 ranks the one `step` of whose messages
/// come first or go first.
fn neighbours(sides: &[usize], rank: Rank, goes_up_first: bool) -> Vec<Rank> {
    let mut stride = product(sides);
    let of_dimension = |side: &usize| {
        stride /= side;
        let place = rank / stride % side;
        let at = |place: usize, own: usize| rank - own * stride + place % side * stride;
        let [up, down] = [at(place + 1, place), at(place + side - 1, place)];
        let both = if goes_up_first { [up, down] } else { [down, up] };
        if *side > 1 { both.to_vec() } else { Vec::new() }
    };
    sides.iter().flat_map(of_dimension).collect()
}

/// Dimensions in which messages leave their rank.
fn n_open(case: &Case, n_ranks: usize) -> u64 {
    let sides = sides(case, n_ranks).unwrap_or_default();
    sides.iter().filter(|side| **side > 1).count() as u64
}

impl<T: Transport> Pattern<T> for Halo {
    const INFO: KernelInfo = KernelInfo {
        name: "halo",
        file: include_str!("halo.rs"),
        summary: "Ranks of a grid exchange messages with two neighbours in each dimension",
        aliases: &["IMB-HALO:simple_halo"],
        axes: &[
            AxisUse::of(&TOPO[0], "1"),
            AxisUse::of(&TOPO[1], "0"),
            AxisUse::of(&TOPO[2], "0"),
            AxisUse::of(&TOPO[3], "0"),
            crate::axes::DOUBLING,
        ],
        series: &[Series::of("round", Quantity::OpTime, Definition::LoopMean).moving(
            |case, world| {
                let n_messages = 4 * n_open(case, world.n_ranks);
                Some(case.value(&LENGTH_BYTES).saturating_mul(n_messages))
            },
        )],
        admits: |case, world| sides(case, world.n_ranks).map(drop),
        bytes_per_rank: |case, _| {
            let n_dimensions = TOPO.iter().filter(|axis| case.value(axis) > 0).count() as u64;
            case.value(&LENGTH_BYTES).saturating_mul(4 * n_dimensions)
        },
        messages_per_op: |case, world| 2 * n_open(case, world.n_ranks) * world.n_ranks as u64,
        ..SUITE
    };
    type Part = Node<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (rank, bytes) = (cx.rank(), case.length(&LENGTH_BYTES));
        let Ok(sides) = sides(case, cx.transport().n_ranks()) else { return Ok(None) };
        if rank >= product(&sides) {
            return Ok(None);
        }
        let targets = |rank| neighbours(&sides, rank, true);
        let messages: Vec<_> = targets(rank).into_iter().map(|to| (to, bytes)).collect();
        let arrivals = in_order(rank, &neighbours(&sides, rank, false), bytes, targets);
        Ok(Some((Duty::Together, Node::new(cx, &messages, arrivals)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &KernelInfo = &<Halo as Pattern<comet_core::local::Local>>::INFO;

    #[test]
    fn grids_are_those_of_the_original() {
        let check = |topo: &[u64], n_ranks, expected: Result<&[usize], &str>| {
            let found = sides(&Case::new(INFO, topo), n_ranks);
            let expected = expected.map(<[usize]>::to_vec).map_err(str::to_owned);
            assert_eq!(found, expected, "{topo:?} on {n_ranks}");
        };
        check(&[1], 5, Ok(&[5]));
        check(&[7], 3, Ok(&[3]));
        check(&[2, 2], 4, Ok(&[2, 2]));
        check(&[2, 1], 4, Ok(&[2, 1]));
        check(&[2, 1], 8, Ok(&[4, 2]));
        check(&[1, 1, 1], 64, Ok(&[3, 3, 3]));
        check(&[4, 1, 1], 4, Ok(&[4, 1, 1]));
        check(&[1, 1, 1, 1], 16, Ok(&[2, 2, 2, 2]));
        let many = "the grid needs 27 ranks, there are 12 (ask for -n 27)";
        check(&[3, 1], 12, Err(many));
        check(&[2, 3], 4, Err("the grid needs 6 ranks, there are 4 (ask for -n 6)"));
        let one = "on a grid of one rank among 3 ranks nothing is sent (ask for more ranks)";
        check(&[1, 1], 3, Err(one));
        let gap = "proportions of a grid are numbers above 0, then 0 for each dimension that it has not, got \
                   0.1.0.0 (take 1.1.0.0 for a square)";
        check(&[0, 1], 4, Err(gap));
    }

    #[test]
    fn messages_upwards_come_from_below() {
        // Rank 4 is in the middle of 3 x 3.
        assert_eq!(neighbours(&[3, 3], 4, true), [7, 1, 5, 3]);
        assert_eq!(neighbours(&[3, 3], 4, false), [1, 7, 3, 5]);
        assert_eq!(neighbours(&[2, 1], 0, true), [1, 1]);
        let targets = |rank| neighbours(&[2, 3], rank, true);
        for rank in 0..6 {
            let arrivals = in_order(rank, &neighbours(&[2, 3], rank, false), 8, targets);
            let numbers: Vec<_> = arrivals.iter().map(|arrival| arrival.number).collect();
            assert_eq!(numbers, [0, 1, 2, 3]);
        }
    }
}
