//! Pairings: partners of ranks in operations between two.

use super::operation::Duty;
use crate::rounds;
use crate::topology::Topology;
use crate::transport::Rank;

/// Rule by which ranks become pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Rank 0 and a rank so many links away; rank 0 with itself at 0 links.
    ByHops(usize),
    /// Rank 0 and a rank as far away as there is.
    Farthest,
    /// So many ranks from rank 0 on, each with the one that is half of the ranks further.
    Halves(usize),
    /// All pairs of a round of [`rounds`], from round 1.
    Round(usize),
}

/// Part of one rank in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The other rank, or the rank itself where it is alone.
    pub peer: Rank,
    /// True if this rank begins.
    pub leads: bool,
}

impl Side {
    /// The rank that begins takes times.
    pub fn duty(self) -> Duty {
        if self.leads { Duty::Times } else { Duty::Follows }
    }
}

impl Pairing {
    /// The side of `rank`; `None` for a rank in no pair.
    pub fn side(self, rank: Rank, topology: &Topology) -> Option<Side> {
        let n_ranks = topology.n_ranks();
        let with = |peer: Rank| Side { peer, leads: rank <= peer };
        match self {
            Self::Farthest => Self::ByHops(topology.max_hops(0)).side(rank, topology),
            Self::ByHops(hops) => match topology.hop_node(0, hops)? {
                peer if rank == 0 => Some(with(peer)),
                peer => (rank == peer).then(|| with(0)),
            },
            Self::Halves(n_pairs) => {
                let half = n_ranks / 2;
                if rank < n_pairs {
                    return Some(with(rank + half));
                }
                (half..half + n_pairs).contains(&rank).then(|| with(rank - half))
            }
            Self::Round(round) => rounds::partner(rank, n_ranks, round).map(with),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides<const N: usize>(pairing: Pairing) -> [Option<Side>; N] {
        let topology = Topology::hypercube(N);
        std::array::from_fn(|rank| pairing.side(rank, &topology))
    }

    const fn leads(peer: Rank) -> Option<Side> {
        Some(Side { peer, leads: true })
    }

    const fn answers(peer: Rank) -> Option<Side> {
        Some(Side { peer, leads: false })
    }

    #[test]
    fn each_distance_has_two_sides_and_leaves_the_others_idle() {
        assert_eq!(sides(Pairing::ByHops(0)), [leads(0), None, None, None]);
        assert_eq!(sides(Pairing::ByHops(1)), [leads(1), answers(0), None, None]);
        assert_eq!(sides(Pairing::ByHops(2)), [leads(3), None, None, answers(0)]);
        assert_eq!(sides(Pairing::Farthest), [leads(3), None, None, answers(0)]);
        assert_eq!(sides(Pairing::ByHops(3)), [None; 4]);
    }

    #[test]
    fn pairs_are_between_the_halves_and_leave_the_others_idle() {
        assert_eq!(sides(Pairing::Halves(1)), [leads(2), None, answers(0), None]);
        assert_eq!(sides(Pairing::Halves(2)), [leads(2), leads(3), answers(0), answers(1)]);
        assert_eq!(sides(Pairing::Halves(2)), [leads(2), leads(3), answers(0), answers(1), None]);
    }

    #[test]
    fn one_rank_of_an_odd_number_rests_in_a_round() {
        assert_eq!(sides(Pairing::Round(1)), [leads(1), answers(0), None]);
        assert_eq!(sides(Pairing::Round(2)), [leads(2), None, answers(0)]);
        assert_eq!(sides(Pairing::Round(3)), [None, leads(2), answers(1)]);
    }
}
