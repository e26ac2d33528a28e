//! The calls of the kernels, and the ranks that take part in each.

use comet_core::transport::Rank;

/// A call, with what goes before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Free,
    FenceOpen,
    FenceClose,
    FenceBoth,
    Post,
    Start,
    Complete,
    Wait,
    Test,
    Put,
    PutFence,
    FenceBehind,
    PutDedicated,
    PutPassive,
    PingPong,
    Accumulate,
}

impl Call {
    /// True if it is one of two ranks.
    pub(super) const fn is_of_pair(self) -> bool {
        use Call::{Accumulate, FenceBehind, PingPong, Put, PutDedicated, PutFence, PutPassive};
        matches!(
            self,
            Put | PutFence | FenceBehind | PutDedicated | PutPassive | PingPong | Accumulate
        )
    }

    /// True if ranks put data that are looked at.
    pub(super) const fn moves(self) -> bool {
        use Call::{Complete, FenceBoth, FenceClose, Test, Wait};
        self.is_of_pair() || matches!(self, FenceClose | FenceBoth | Complete | Wait | Test)
    }

    /// True if rank 0 alone takes times.
    pub(super) const fn is_of_first(self) -> bool {
        self.has_delay() || matches!(self, Self::Put | Self::PutPassive)
    }

    /// True if each rank puts to itself.
    pub(super) const fn is_own(self) -> bool {
        matches!(self, Self::FenceClose | Self::FenceBoth)
    }

    /// True if all others put to rank 0.
    pub(super) const fn gathers(self) -> bool {
        matches!(self, Self::Wait | Self::Test)
    }

    /// True if other ranks than rank 0 may be late.
    pub(super) const fn has_delay(self) -> bool {
        matches!(self, Self::Start | Self::Complete | Self::Wait | Self::Test)
    }

    /// The ranks that put to the part of `rank` of `n_ranks`.
    pub(super) fn origins(self, rank: Rank, n_ranks: usize) -> Vec<Rank> {
        match (self, rank) {
            _ if self.is_own() => vec![rank],
            _ if self.is_of_pair() && rank > 1 => Vec::new(),
            (Self::Wait | Self::Test, 0) => (1..n_ranks).collect(),
            (Self::PingPong, 0) => vec![1],
            (Self::Wait | Self::Test, _) | (_, 0) => Vec::new(),
            _ if self.moves() => vec![0],
            _ => Vec::new(),
        }
    }

    /// The ranks to whose parts `rank` of `n_ranks` puts.
    pub(super) fn targets(self, rank: Rank, n_ranks: usize) -> Vec<Rank> {
        (0..n_ranks).filter(|target| self.origins(*target, n_ranks).contains(&rank)).collect()
    }

    /// The ranks for which `rank` of `n_ranks` posts, or to which it starts an access.
    pub(super) fn peers(self, rank: Rank, n_ranks: usize) -> Vec<Rank> {
        match (self, rank) {
            (Self::PutDedicated | Self::Accumulate, 0 | 1) => vec![1 - rank],
            _ if self == Self::Post || self.has_delay() && rank == 0 => {
                (0..n_ranks).filter(|other| *other != rank).collect()
            }
            _ if self.has_delay() => vec![0],
            _ => Vec::new(),
        }
    }
}
