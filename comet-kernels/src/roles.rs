//! Who does what in a kernel of two ranks, and the refusals and checks that kernels share.

use comet_core::context::Context;
use comet_core::error::KernelError;
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
    fn each_tag_and_sender_has_its_own_seed() {
        let of = |tag, sender| seed(Tag::new(tag), sender);
        assert_ne!(of(1, 2), of(2, 1));
        assert_ne!(of(1, 0), of(1, 1));
    }
}
