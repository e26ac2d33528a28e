//! Epochs of the one-sided benchmarks of OSU: their axes, and the calls that begin and end them.

use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Lock, Memory, Peers, Window};

use crate::window::{Blocks, Ends};

/// Source of the memory of the parts, in the order of [`Memory::ALL`].
pub(crate) static MEMORY: Axis =
    Axis::choice("memory", "source of the memory of the parts of a window", Memory::LABELS);

/// Calls about the transfers, in the order of [`Sync::ALL`].
pub(crate) static SYNC: Axis = Axis::choice(
    "sync",
    "calls that begin and end the access to the part of another rank",
    &["lock", "flush", "flush_local", "lock_all", "pscw", "fence"],
);

/// The library's memory, as in OSU.
pub(crate) const ALLOCATED: AxisUse = AxisUse::of(&MEMORY, "1");
/// A flush, as in OSU.
pub(crate) const BY_FLUSH: AxisUse = AxisUse::of(&SYNC, "1");
/// Groups of peers, as in OSU where both ranks transfer at once.
pub(crate) const BY_PEERS: AxisUse = AxisUse::of(&SYNC, "4");

/// Calls that begin and end an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    /// A lock of one rank, and its end.
    Lock,
    /// A flush within a lock.
    Flush,
    /// A local flush within a lock.
    FlushLocal,
    /// A lock of all ranks, and its end.
    LockAll,
    /// Post, start, complete and wait.
    Pscw,
    /// Fences of all ranks.
    Fence,
}

impl Sync {
    /// Every value of [`SYNC`].
    const ALL: [Self; 6] =
        [Self::Lock, Self::Flush, Self::FlushLocal, Self::LockAll, Self::Pscw, Self::Fence];

    /// The calls of `case`.
    pub(crate) fn of(case: &Case) -> Self {
        Self::ALL[case.length(&SYNC)]
    }

    /// True if the target takes part.
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::Pscw | Self::Fence)
    }

    /// True if the lock is held about all operations.
    fn is_flush(self) -> bool {
        matches!(self, Self::Flush | Self::FlushLocal)
    }
}

/// Order of the transfers of ranks 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Of rank 0, then, where the target takes part, of rank 1.
    InTurns,
    /// Of rank 0 alone.
    OneWay,
    /// Of both at once.
    AtOnce,
}

impl Order {
    /// The other rank, seen from `rank`.
    pub(crate) fn ends(self, rank: Rank, sync: Sync) -> Ends {
        let are_both = sync.is_active() && self != Self::OneWay;
        Ends::of_first_two(rank, |rank| rank == 0 || are_both)
    }
}

/// Transfers of one run in which ranks transfer in turns.
pub(crate) fn n_turns(case: &Case) -> u32 {
    if Sync::of(case).is_active() { 2 } else { 1 }
}

/// One rank's side of the epochs of a window.
pub(crate) struct Epochs<T: Transport> {
    rank: Rank,
    sync: Sync,
    order: Order,
    lock: Lock,
    target: Option<Rank>,
    /// The other rank of both.
    peers: Option<Peers<T>>,
}

impl<T: Transport> Epochs<T> {
    /// Epochs of the window of `blocks`.
    ///
    /// # Errors
    /// If the transport makes no group of peers.
    pub(crate) fn new(blocks: &Blocks<T>, sync: Sync, order: Order, lock: Lock) -> Result<Self> {
        let rank = blocks.rank();
        let is_peer = sync == Sync::Pscw && rank < 2;
        let peers = is_peer.then(|| blocks.window().peers(&[1 - rank])).transpose()?;
        Ok(Self { rank, sync, order, lock, target: order.ends(rank, sync).target, peers })
    }

    /// Locks the target of flushes, once all ranks have filled their memory.
    pub(crate) fn begin(&self, t: &T, window: &Window<T>) -> Result<()> {
        t.barrier()?;
        let target = self.target.filter(|_| self.sync.is_flush());
        target.map_or(Ok(()), |target| window.lock(target, self.lock))
    }

    /// Ends that lock; no rank looks at its part before.
    pub(crate) fn end(&self, t: &T, window: &Window<T>) -> Result<()> {
        let target = self.target.filter(|_| self.sync.is_flush());
        target.map_or(Ok(()), |target| window.unlock(target))?;
        t.barrier()
    }

    /// The `transfers` of one run with the calls about them; ranks without a target make none.
    #[inline]
    pub(crate) fn run(
        &self,
        window: &Window<T>,
        transfers: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        match (self.sync, self.target) {
            (Sync::Pscw, _) => self.posted(window, transfers),
            (Sync::Fence, _) => self.fenced(window, transfers),
            (_, None) => Ok(()),
            (Sync::Lock, Some(target)) => {
                window.lock(target, self.lock)?;
                transfers()?;
                window.unlock(target)
            }
            (Sync::Flush, Some(target)) => {
                transfers()?;
                window.flush(target)
            }
            (Sync::FlushLocal, Some(target)) => {
                transfers()?;
                window.flush_local(target)
            }
            (Sync::LockAll, Some(_)) => {
                window.lock_all()?;
                transfers()?;
                window.unlock_all()
            }
        }
    }

    #[inline]
    fn posted(&self, window: &Window<T>, transfers: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(peers) = &self.peers else { return Ok(()) };
        let exposure = || {
            window.post(peers)?;
            window.wait()
        };
        let access = || {
            window.start(peers)?;
            transfers()?;
            window.complete()
        };
        match (self.order, self.rank) {
            (Order::InTurns, 0) => {
                access()?;
                exposure()
            }
            (Order::InTurns, _) => {
                exposure()?;
                access()
            }
            (Order::OneWay, 0) => access(),
            (Order::OneWay, _) => exposure(),
            (Order::AtOnce, _) => {
                window.post(peers)?;
                access()?;
                window.wait()
            }
        }
    }

    #[inline]
    fn fenced(&self, window: &Window<T>, transfers: impl FnOnce() -> Result<()>) -> Result<()> {
        let fence = || window.fence(Fence::Between);
        fence()?;
        match (self.order, self.rank) {
            (Order::InTurns, 0) => {
                transfers()?;
                fence()?;
            }
            (Order::InTurns, _) => {
                fence()?;
                transfers()?;
            }
            _ => transfers()?,
        }
        fence()
    }
}
