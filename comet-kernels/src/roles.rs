//! Who does what in a kernel of two ranks, and the refusals and checks that kernels share.

use comet_core::context::Context;
use comet_core::kernel::KernelError;
use comet_core::pattern;
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Status, Tag, Transport};

/// The rank that takes the times (thesis section 3.1.2: its clocks need not be synchronised).
pub(crate) const TEST_NODE: Rank = 0;

/// What a rank does in a kernel between the test node and one other rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The test node at 0 hops, which talks to itself.
    Alone,
    /// The test node, and its partner.
    Tester(Rank),
    /// The partner of the test node, which it names.
    Partner(Rank),
}

impl Role {
    /// The role of `rank` where the partner is `hops` links away; `None` for the other ranks.
    pub(crate) fn of(rank: Rank, topology: &Topology, hops: usize) -> Option<Self> {
        let partner = topology.hop_node(TEST_NODE, hops)?;
        match (rank == TEST_NODE, rank == partner) {
            (true, true) => Some(Self::Alone),
            (true, false) => Some(Self::Tester(partner)),
            (false, true) => Some(Self::Partner(TEST_NODE)),
            (false, false) => None,
        }
    }
}

/// The other rank of the pair, for kernels in which both do the same.
pub(crate) fn peer(rank: Rank, topology: &Topology, hops: usize) -> Option<Rank> {
    match Role::of(rank, topology, hops)? {
        Role::Tester(peer) | Role::Partner(peer) => Some(peer),
        Role::Alone => None,
    }
}

/// Refuses fewer than `n_needed` ranks.
///
/// # Errors
/// A sentence with both numbers.
pub(crate) fn require_ranks(topology: &Topology, n_needed: usize) -> Result<(), String> {
    match topology.n_ranks() {
        n_ranks if n_ranks >= n_needed => Ok(()),
        1 => Err(format!("needs at least {n_needed} ranks, there is 1")),
        n_ranks => Err(format!("needs at least {n_needed} ranks, there are {n_ranks}")),
    }
}

/// Refuses a distance at which the test node has no partner.
///
/// # Errors
/// A sentence with the distance and the largest one there is.
pub(crate) fn require_hops(topology: &Topology, hops: usize) -> Result<(), String> {
    if topology.hop_node(TEST_NODE, hops).is_some() {
        return Ok(());
    }
    let (hops, reached) = (count(hops, "hop"), count(topology.max_hops(TEST_NODE), "hop"));
    let ranks = count(topology.n_ranks(), "rank");
    let verb = if topology.n_ranks() == 1 { "reaches" } else { "reach" };
    Err(format!("no rank is {hops} from rank {TEST_NODE}: {ranks} {verb} {reached}"))
}

/// Seed of the test data that `sender` sends with `tag`: another one for each direction.
pub(crate) fn seed(tag: Tag, sender: Rank) -> u64 {
    (u64::from(tag.value()) << 32) | sender as u64
}

/// Checks source, length and contents of a message that should fill `buffer` with what
/// [`pattern::fill`] makes of `seed`; `what` names it.
///
/// # Errors
/// [`KernelError::Mismatch`] if any of them differs.
pub(crate) fn check_arrival<T: Transport>(
    cx: &Context<'_, T>,
    (status, source): (Status, Rank),
    (buffer, seed): (&mut [u8], u64),
    what: &str,
) -> Result<(), KernelError> {
    pattern::check_status(status, source, buffer.len(), what)?;
    cx.check_message(buffer, seed, what)
}

/// `1 hop`, `2 hops`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distance_has_a_tester_and_a_partner_and_leaves_the_others_idle() {
        let topology = Topology::hypercube(4);
        let check = |hops, expected: [Option<Role>; 4]| {
            let roles = [0, 1, 2, 3].map(|rank| Role::of(rank, &topology, hops));
            assert_eq!(roles, expected, "{hops} hops");
        };
        check(0, [Some(Role::Alone), None, None, None]);
        check(1, [Some(Role::Tester(1)), Some(Role::Partner(0)), None, None]);
        check(2, [Some(Role::Tester(3)), None, None, Some(Role::Partner(0))]);
        check(3, [None; 4]);
    }

    #[test]
    fn refusals_are_sentences_with_the_numbers() {
        let check = |refusal: Result<(), String>, expected: &str| {
            assert_eq!(refusal.unwrap_err(), expected);
        };
        let [one, three, four] = [1, 3, 4].map(Topology::hypercube);
        check(require_ranks(&one, 2), "needs at least 2 ranks, there is 1");
        check(require_ranks(&three, 4), "needs at least 4 ranks, there are 3");
        check(require_hops(&four, 3), "no rank is 3 hops from rank 0: 4 ranks reach 2 hops");
        check(require_hops(&one, 1), "no rank is 1 hop from rank 0: 1 rank reaches 0 hops");
        assert_eq!(require_hops(&four, 2), Ok(()));
    }

    #[test]
    fn each_tag_and_sender_has_its_own_seed() {
        let of = |tag, sender| seed(Tag::new(tag), sender);
        assert_ne!(of(1, 2), of(2, 1));
        assert_ne!(of(1, 0), of(1, 1));
    }
}
