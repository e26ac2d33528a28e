//! Rounds of disjoint pairs: all ranks meet all others, as many at the same time as possible.
//!
//! The circle method, by which players of a tournament are paired: where the number of ranks is
//! even, all of them have a partner in each of n - 1 rounds; where it is odd, one of them rests in
//! each of n rounds.
//!
//! ```
//! use comet_core::rounds;
//! let of_round = |round| [0, 1, 2].map(|rank| rounds::partner(rank, 3, round));
//! assert_eq!(rounds::count(3), 3);
//! assert_eq!(of_round(1), [Some(1), Some(0), None]);
//! ```

use crate::transport::Rank;

/// In how many rounds all of `n_ranks` ranks meet each other; 0 where there is one rank alone.
pub fn count(n_ranks: usize) -> usize {
    if n_ranks < 2 { 0 } else { n_ranks - 1 + n_ranks % 2 }
}

/// Partner of `rank` of `n_ranks` ranks in `round`, from 1 to [`count`]; `None` if it rests.
///
/// # Panics
/// If there is no such rank or no such round.
pub fn partner(rank: Rank, n_ranks: usize, round: usize) -> Option<Rank> {
    let n_rounds = count(n_ranks);
    assert!(rank < n_ranks, "there is no rank {rank} of {n_ranks}");
    assert!((1..=n_rounds).contains(&round), "{n_ranks} ranks have no round {round}");
    // All places but the last form a circle, on which those meet whose sum is that of the round.
    // The one that would meet itself there meets the last place instead.
    let last = n_rounds;
    let halved = |sum: usize| if sum.is_multiple_of(2) { sum / 2 } else { (sum + n_rounds) / 2 };
    let partner = match (round + n_rounds - rank) % n_rounds {
        _ if rank == last => halved(round % n_rounds),
        other if other == rank => last,
        other => other,
    };
    (partner < n_ranks).then_some(partner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_meets_exactly_once() {
        for n_ranks in 1..=17 {
            let mut met = BTreeSet::new();
            for round in 1..=count(n_ranks) {
                for rank in 0..n_ranks {
                    let Some(peer) = partner(rank, n_ranks, round) else { continue };
                    assert_eq!(partner(peer, n_ranks, round), Some(rank), "round {round}");
                    assert!(rank != peer && met.insert((rank, peer)), "{rank} and {peer} again");
                }
            }
            assert_eq!(met.len(), n_ranks * (n_ranks - 1), "ordered pairs of {n_ranks} ranks");
        }
    }

    #[test]
    fn nobody_rests_in_a_round_of_an_even_number_and_one_in_a_round_of_an_odd_number() {
        for n_ranks in 2..=17 {
            for round in 1..=count(n_ranks) {
                let rests = |rank: &Rank| partner(*rank, n_ranks, round).is_none();
                let n_resting = (0..n_ranks).filter(rests).count();
                assert_eq!(n_resting, n_ranks % 2, "round {round} of {n_ranks} ranks");
            }
        }
    }

    #[test]
    fn there_are_as_few_rounds_as_there_can_be() {
        let check = |n_ranks, expected| assert_eq!(count(n_ranks), expected, "{n_ranks} ranks");
        check(0, 0);
        check(1, 0);
        check(2, 1);
        check(7, 7);
        check(8, 7);
    }

    #[test]
    #[should_panic(expected = "4 ranks have no round 4")]
    fn a_round_too_many_is_a_mistake() {
        let _ = partner(0, 4, 4);
    }
}
