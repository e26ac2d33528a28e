//! Locks of a window: in the order in which requests come to a target, those of all targets too.
//!
//! A lock of all ranks is one request to the window's first rank. It is granted while no rank is locked
//! exclusively, nor waits to be; an exclusive lock waits for all that were granted before.

use std::collections::VecDeque;
use std::panic::Location;

use comet_core::transport::Rank;

use super::transfer::{Operation, Transfer};
use super::{Engine, TransferId, WindowId};

/// The locks of a window.
#[derive(Debug)]
pub(crate) struct Locks {
    by_target: Box<[Queue]>,
    of_all: Queue,
    /// Exclusive locks that are held, and those that wait.
    n_exclusive: u32,
}

/// The locks of one target, or those of all: held, and in the order in which they wait.
#[derive(Debug, Default)]
struct Queue {
    holders: Vec<Holder>,
    /// True if the only holder excludes others.
    is_exclusive: bool,
    waiting: VecDeque<TransferId>,
}

/// A rank that has a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    /// Number in the window.
    origin: u32,
    /// Number in the job.
    pub(crate) rank: Rank,
    /// Place in the kernel at which it was locked.
    pub(crate) site: Option<&'static Location<'static>>,
}

impl Locks {
    pub(super) fn new(n_ranks: usize) -> Self {
        Self {
            by_target: (0..n_ranks).map(|_| Queue::default()).collect(),
            of_all: Queue::default(),
            n_exclusive: 0,
        }
    }

    /// A rank whose lock a request waits for.
    pub(crate) fn in_the_way(&self, request: &Transfer) -> Option<Holder> {
        let held = |queue: &Queue| queue.holders.first().copied();
        match request.operation {
            Operation::Lock { of_all: true, .. } => {
                self.by_target.iter().filter(|queue| queue.is_exclusive).find_map(held)
            }
            _ => held(&self.by_target[request.target as usize]),
        }
        .or_else(|| held(&self.of_all))
    }
}

impl Engine {
    /// A request for a lock has come to its target.
    pub(super) fn ask_for_lock(&mut self, id: TransferId, now_ps: u64) {
        let Transfer { window, target, operation, .. } = self.transfers[id as usize];
        let Operation::Lock { is_exclusive, of_all } = operation else { return };
        let locks = &mut self.windows.get_mut(window).locks;
        locks.n_exclusive += u32::from(is_exclusive);
        if of_all {
            locks.of_all.waiting.push_back(id);
            self.grant_all(window, now_ps);
        } else {
            locks.by_target[target as usize].waiting.push_back(id);
            self.grant(window, target as usize, now_ps);
        }
    }

    /// Grants what can be granted of the locks of `target`.
    fn grant(&mut self, window: WindowId, target: usize, now_ps: u64) {
        loop {
            let locks = &self.windows.get(window).locks;
            let queue = &locks.by_target[target];
            let Some(id) = queue.waiting.front().copied() else { return };
            let operation = self.transfers[id as usize].operation;
            let is_exclusive = matches!(operation, Operation::Lock { is_exclusive: true, .. });
            let is_free = queue.holders.is_empty() && locks.of_all.holders.is_empty();
            if queue.is_exclusive || (is_exclusive && !is_free) {
                return;
            }
            let holder = self.holder(id);
            let queue = &mut self.windows.get_mut(window).locks.by_target[target];
            queue.waiting.pop_front();
            queue.is_exclusive = is_exclusive;
            queue.holders.push(holder);
            self.answer(id, now_ps);
        }
    }

    /// Grants what can be granted of the locks of all ranks.
    fn grant_all(&mut self, window: WindowId, now_ps: u64) {
        while self.windows.get(window).locks.n_exclusive == 0 {
            let of_all = &mut self.windows.get_mut(window).locks.of_all;
            let Some(id) = of_all.waiting.pop_front() else { return };
            let holder = self.holder(id);
            self.windows.get_mut(window).locks.of_all.holders.push(holder);
            self.answer(id, now_ps);
        }
    }

    /// The origin of a request, which waits for it where it called.
    fn holder(&self, id: TransferId) -> Holder {
        let Transfer { window, origin, .. } = self.transfers[id as usize];
        let rank = self.windows.get(window).ranks[origin as usize];
        Holder { origin, rank, site: self.ranks[rank].site }
    }

    /// The origin of a request has its lock.
    pub(super) fn end_lock(&mut self, id: TransferId, now_ps: u64) {
        let Holder { rank, .. } = self.holder(id);
        self.transfers.remove(id as usize);
        let clock_ps = &mut self.ranks[rank].clock_ps;
        *clock_ps = (*clock_ps).max(now_ps);
        self.wake(rank);
    }

    /// The transfers before an unlock have been served, and others may have the lock.
    pub(super) fn release_lock(&mut self, id: TransferId, now_ps: u64) {
        let Transfer { window, origin, target, operation, .. } = self.transfers.remove(id as usize);
        let n_ranks = self.windows.get(window).ranks.len();
        let locks = &mut self.windows.get_mut(window).locks;
        let of_all = matches!(operation, Operation::Unlock { of_all: true, .. });
        let queue = if of_all { &mut locks.of_all } else { &mut locks.by_target[target as usize] };
        queue.holders.retain(|holder| holder.origin != origin);
        locks.n_exclusive -= u32::from(std::mem::take(&mut queue.is_exclusive));
        if !of_all {
            self.grant(window, target as usize, now_ps);
            self.grant_all(window, now_ps);
        } else if locks.of_all.holders.is_empty() {
            (0..n_ranks).for_each(|target| self.grant(window, target, now_ps));
        }
        self.windows.leave(window);
    }
}
