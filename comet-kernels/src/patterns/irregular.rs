//! Irregular exchange: time of messages of different lengths between neighbours without any order,
//! as those of the parts of an unstructured grid.
//!
//! **Source**: thesis section 6.1; ghost exchanges of unstructured grids and of sparse matrices.
//!
//! **Pattern**, on all ranks: each sends 1 to 2 x `degree` - 1 messages, each to another rank
//! ```text
//!   rank r  --> a, b, ...      posts a receive from each rank that sends to it, then its sends,
//!           <-- c, d, ...      and waits for all
//! ```
//! **Timed** (all ranks): all receives, sends and waits, after a barrier. Draws, buffers and test
//! data are made before.
//!
//! **Reports**: completion time of one operation, which the busiest ranks decide.
//!
//! **Rate**: the sum of all lengths / time, of all ranks together.
//!
//! **Parameters**: `graph_seed` of the draws, `degree` the mean number of messages of a rank,
//! `length_bytes` of the longest message: lengths are 1 to `length_bytes`, all alike. Drawn from
//! the seed alone, they are the same on every transport and machine.
//!
//! **Verified by**: other test data of each rank and message; contents, source and length of every
//! message on every rank; canaries about all buffers.
//!
//! **Caution**: a rank sends to P - 1 others at the most, and ranks that receive nothing are drawn
//! too. One seed is one graph: a range of them (`--axis graph_seed=1..8`) shows what a graph
//! changes.

use comet_core::kernel::prelude::*;

use super::SUITE;
use crate::around::{Arrival, Node};
use crate::axes::DOUBLING;

/// Seed of the draws.
pub(super) static GRAPH_SEED: Axis =
    Axis::count("graph_seed", "seed", "seed from which neighbours and lengths are drawn");
/// Mean number of messages of a rank.
pub(super) static DEGREE: Axis = Axis::count(
    "degree",
    "messages",
    "mean number of messages that a rank sends, before the limit P - 1",
);

/// The largest mean: messages have streams of test data.
const MAX_DEGREE: u64 = 1 << 14;

/// `patterns/irregular`; see the [module](self).
pub(crate) struct Irregular;

/// Numbers that look drawn by lot (SplitMix64: Steele, Lea and Flood 2014).
struct Lot(u64);

impl Lot {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The numbers of one rank.
    fn of(seed: u64, rank: Rank) -> Self {
        let mut seeds = Self(seed);
        let of_seed = seeds.next();
        Self(of_seed ^ (rank as u64).wrapping_mul(Self::GAMMA))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 1 to `most`, or 0 if that is 0.
    fn up_to(&mut self, most: u64) -> u64 {
        // The upper half of a product of 128 bits, which is below `most`.
        let below = (u128::from(self.next()) * u128::from(most)) >> 64;
        u64::try_from(below).unwrap_or(0) + u64::from(most > 0)
    }
}

/// The messages that `rank` sends in `case` on `n_ranks` ranks, by target and length in bytes.
fn messages(case: &Case, n_ranks: usize, rank: Rank) -> Vec<(Rank, u64)> {
    let mut lot = Lot::of(case.value(&GRAPH_SEED), rank);
    let n_others = n_ranks as u64 - 1;
    let n_messages = lot.up_to(2 * case.value(&DEGREE) - 1).min(n_others);
    let mut messages: Vec<(Rank, u64)> = Vec::new();
    while (messages.len() as u64) < n_messages {
        let step = usize::try_from(lot.up_to(n_others)).unwrap_or(1);
        let to = (rank + step) % n_ranks;
        if messages.iter().all(|(other, _)| *other != to) {
            messages.push((to, lot.up_to(case.value(&LENGTH_BYTES))));
        }
    }
    messages
}

/// The messages of all ranks.
fn all_messages(case: &Case, n_ranks: usize) -> impl Iterator<Item = (Rank, usize, Rank, u64)> {
    (0..n_ranks).flat_map(move |from| {
        let numbered = messages(case, n_ranks, from).into_iter().enumerate();
        numbered.map(move |(number, (to, bytes))| (from, number, to, bytes))
    })
}

/// The most messages that a rank sends and receives together.
fn most_messages(case: &Case, n_ranks: usize) -> u64 {
    let mut of_ranks = vec![0; n_ranks];
    for (from, _, to, _) in all_messages(case, n_ranks) {
        of_ranks[from] += 1;
        of_ranks[to] += 1;
    }
    of_ranks.into_iter().max().unwrap_or(0)
}

impl<T: Transport> Pattern<T> for Irregular {
    const INFO: KernelInfo = KernelInfo {
        name: "irregular",
        file: include_str!("irregular.rs"),
        summary: "Messages of drawn lengths to drawn neighbours, as of unstructured grids",
        axes: &[AxisUse::of(&GRAPH_SEED, "1"), AxisUse::of(&DEGREE, "4"), DOUBLING],
        series: &[Series::completion("exchange")
            .moving(|case, world| {
                let lengths = all_messages(case, world.n_ranks).map(|(.., bytes)| bytes);
                Some(lengths.fold(0, u64::saturating_add))
            })
            .rated(&[Rate {
                kind: RateKind::Messages,
                formula: "messages of all ranks / time",
                per_op: |case, world| all_messages(case, world.n_ranks).count() as f64,
            }])],
        admits: |case, world| match case.value(&DEGREE) {
            1..=MAX_DEGREE => world.require_ranks(2),
            n => Err(format!("a rank sends 1 to {MAX_DEGREE} messages, got {n} (use 4)")),
        },
        bytes_per_rank: |case, world| {
            let n_messages = most_messages(case, world.n_ranks);
            case.value(&LENGTH_BYTES).saturating_mul(n_messages)
        },
        messages_per_op: |case, world| all_messages(case, world.n_ranks).count() as u64,
        is_touchable: true,
        ..SUITE
    };
    type Part = Node<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        let length = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let own = messages(case, n_ranks, rank).into_iter();
        let own: Vec<_> = own.map(|(to, bytes)| (to, length(bytes))).collect();
        let to_this = all_messages(case, n_ranks).filter(|(_, _, to, _)| *to == rank);
        let arrival = |(from, number, _, bytes)| {
            let number = u16::try_from(number).expect("admitted cases have few messages");
            Arrival { from, number, bytes: length(bytes) }
        };
        Ok(Some((Duty::Together, Node::new(cx, &own, to_this.map(arrival).collect())?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &KernelInfo = &<Irregular as Pattern<comet_core::local::Local>>::INFO;

    #[test]
    fn draws_are_those_of_the_seed_on_every_machine() {
        let case = Case::new(INFO, &[1, 2, 100]);
        let found: Vec<_> = (0..4).map(|rank| messages(&case, 4, rank)).collect();
        let expected: [&[(Rank, u64)]; 4] =
            [&[(3, 5), (1, 78)], &[(2, 16)], &[(1, 19), (0, 89)], &[(2, 20), (0, 53), (1, 45)]];
        assert_eq!(found, expected);
    }

    #[test]
    fn each_rank_sends_to_others_and_to_each_once() {
        for (seed, degree, n_ranks) in [(1, 1, 2), (2, 4, 5), (3, 9, 8), (4, 4, 100)] {
            let case = Case::new(INFO, &[seed, degree, 64]);
            for rank in 0..n_ranks {
                let found = messages(&case, n_ranks, rank);
                let mut targets: Vec<Rank> = found.iter().map(|(to, _)| *to).collect();
                targets.sort_unstable();
                targets.dedup();
                let n = targets.len();
                assert!(n == found.len() && n >= 1 && (n as u64) < 2 * degree, "{found:?}");
                assert!(!targets.contains(&rank) && n < n_ranks, "{found:?}");
                assert!(found.iter().all(|(_, bytes)| (1..=64).contains(bytes)), "{found:?}");
            }
        }
        let empty = Case::new(INFO, &[1, 4, 0]);
        assert!(messages(&empty, 5, 0).iter().all(|(_, bytes)| *bytes == 0));
    }

    #[test]
    fn messages_of_many_ranks_have_the_mean_number_and_length() {
        let case = Case::new(INFO, &[7, 4, 1000]);
        let lengths: Vec<u64> = all_messages(&case, 1000).map(|(.., bytes)| bytes).collect();
        let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
        assert!((3800..4200).contains(&lengths.len()), "{}", lengths.len());
        assert!((480.0..520.0).contains(&mean), "{mean}");
    }
}
