//! Clock domains: ranks that report the same clock, unless an exchange shows that they do not read
//! one.

use std::collections::HashMap;

use crate::collective::share;
use crate::error::Result;
use crate::transport::{Rank, Transport};

use super::burst::{Burst, Teacher, answer, ask};

/// Exchanges of each rank with the rank whose clock it says it reads.
const N_EXCHANGES: usize = 64;

/// The ranks by the clock that they read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domains {
    /// The lowest rank that reads this rank's clock.
    pub(super) leader: Rank,
    /// The other ranks that read this rank's clock, where it is the leader.
    pub(super) members: Vec<Rank>,
    /// The leaders of all domains, rank 0 first.
    pub(super) leaders: Vec<Rank>,
    /// True if exchanges have confirmed the reported domains.
    pub(super) is_verified: bool,
}

impl Domains {
    /// Finds them, together with all other ranks, of which each says that its clock is that of
    /// `domain`. With `is_verified`, it has to be so: a rank whose clock `now_ns` cannot be that of
    /// its leader becomes a leader of its own.
    pub(super) fn find<T: Transport>(
        t: &T,
        domain: u64,
        is_verified: bool,
        now_ns: &dyn Fn() -> i64,
    ) -> Result<Self> {
        if !is_verified && is_single(t, domain)? {
            // Without a table, for there may be a million of ranks.
            return Ok(Self { leader: 0, members: Vec::new(), leaders: vec![0], is_verified });
        }
        let mut leaders = first_of_each(&share(t, [domain])?.concat());
        if is_verified {
            leaders = verify(t, &leaders, now_ns)?;
        }
        Ok(Self::of(&leaders, t.rank(), is_verified))
    }

    /// The domains as `rank` sees them, from the leader of each rank.
    fn of(leader_of: &[Rank], rank: Rank, is_verified: bool) -> Self {
        let ranks = || leader_of.iter().copied().enumerate();
        let is_member = |(member, leader): &(Rank, Rank)| *leader == rank && *member != rank;
        Self {
            leader: leader_of[rank],
            members: ranks().filter(is_member).map(|(member, _)| member).collect(),
            leaders: ranks().filter(|(r, leader)| r == leader).map(|(r, _)| r).collect(),
            is_verified,
        }
    }
}

/// True if all ranks report the same; so that all receive it, the sum of those that do not is
/// known.
fn is_single<T: Transport>(t: &T, domain: u64) -> Result<bool> {
    let mut of_rank_0 = domain.to_le_bytes();
    t.blocked_broadcast(0, &mut of_rank_0)?;
    let is_other = domain != u64::from_le_bytes(of_rank_0);
    Ok(t.global_sum(f64::from(u8::from(is_other)))? == 0.0)
}

/// For each rank, the lowest one of the same domain.
fn first_of_each(domains: &[u64]) -> Vec<Rank> {
    let mut leaders = HashMap::new();
    domains.iter().enumerate().map(|(rank, of)| *leaders.entry(*of).or_insert(rank)).collect()
}

/// The leader of each rank, which is its own where its clock is not that of the leader.
fn verify<T: Transport>(t: &T, leader_of: &[Rank], now_ns: &dyn Fn() -> i64) -> Result<Vec<Rank>> {
    let (rank, mut leader) = (t.rank(), leader_of[t.rank()]);
    if leader == rank {
        let teacher = Teacher { now_ns, global_ns: &|local_ns| local_ns, bound_ns: 0 };
        let members = leader_of.iter().enumerate().filter(|(_, leader)| **leader == rank);
        for (member, _) in members.filter(|(member, _)| *member != rank) {
            answer(t, member, N_EXCHANGES, &teacher)?;
        }
    } else {
        let burst = Burst::of(&ask(t, leader, N_EXCHANGES, now_ns)?, 0.0);
        let is_one = burst.is_some_and(|burst| burst.low_ns <= 0 && burst.high_ns >= 0);
        leader = if is_one { leader } else { rank };
    }
    let leaders = share(t, [leader as u64])?.into_iter();
    Ok(leaders.map(|[leader]| usize::try_from(leader).expect("a rank was shared")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    /// The leader of each rank, whose clocks are these, and say that they are of these domains.
    fn leaders(clocks: &[u64], said: &[u64], is_verified: bool) -> Vec<Rank> {
        let domains = local::run(clocks.len(), |t| {
            // Clocks that differ are a second apart.
            let ahead_ns = clocks[t.rank()] * 1_000_000_000;
            let now_ns = || (t.now_ns() + ahead_ns).cast_signed();
            Domains::find(t, said[t.rank()], is_verified, &now_ns).unwrap()
        });
        let leaders: Vec<Rank> = domains.iter().map(|of_rank| of_rank.leader).collect();
        for (rank, of_rank) in domains.iter().enumerate() {
            assert_eq!(of_rank.leaders, Domains::of(&leaders, 0, is_verified).leaders);
            assert!(of_rank.members.iter().all(|member| leaders[*member] == rank));
        }
        leaders
    }

    #[test]
    fn the_lowest_rank_of_a_clock_leads() {
        assert_eq!(leaders(&[0], &[7], true), [0]);
        assert_eq!(leaders(&[0; 4], &[7; 4], true), [0; 4]);
        assert_eq!(leaders(&[0, 1, 0, 2, 1], &[9, 5, 9, 1, 5], true), [0, 1, 0, 3, 1]);
        assert_eq!(leaders(&[0; 4], &[7; 4], false), [0; 4]);
        assert_eq!(leaders(&[0, 1, 0], &[9, 5, 9], false), [0, 1, 0]);
    }

    #[test]
    fn a_rank_that_reads_another_clock_than_it_says_is_a_leader_of_its_own() {
        assert_eq!(leaders(&[0, 0, 1, 0], &[7; 4], true), [0, 0, 2, 0]);
        assert_eq!(leaders(&[0, 1, 1], &[7; 3], true), [0, 1, 2]);
    }
}
