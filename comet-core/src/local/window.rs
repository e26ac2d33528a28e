//! Windows of ranks that are threads: parts under a mutex each, epochs by conditions.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::{Local, LocalBuffer, PATIENCE};
use crate::collective::{Element, Reducer};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::{Rank, Tag, Transport};
use crate::window::{Fence, Lock, Memory, RawWindow, Remote};

/// The windows of a job, by the serial number and the first rank of their group, and their number in it.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<HashMap<(u64, Rank, u64), Weak<Shared>>>);

/// State that the ranks of a window share.
#[derive(Debug)]
struct Shared {
    parts: Vec<Mutex<Vec<u8>>>,
    epochs: Mutex<Epochs>,
    changed: Condvar,
}

/// State of the epochs of all ranks.
#[derive(Debug)]
struct Epochs {
    /// By target: number of shared locks, and whether there is an exclusive one.
    locks: Vec<(usize, bool)>,
    /// By target and origin: posts so far.
    n_posts: HashMap<(Rank, Rank), u64>,
    /// By target and origin: accesses that were completed so far.
    n_completes: HashMap<(Rank, Rank), u64>,
}

/// One rank's side of a window over [`Local`].
pub struct LocalWindow {
    t: Local,
    shared: Arc<Shared>,
    /// A mutex, since transfers of this rank write to it through a shared reference.
    origin: Mutex<LocalBuffer>,
    /// The locks of this rank, by target.
    locked: Mutex<Vec<Option<Lock>>>,
    /// Targets of the access that was started, and origins of the part that was posted.
    started: Mutex<Vec<Rank>>,
    posted: Mutex<Vec<Rank>>,
}

shown!([] LocalWindow, "LocalWindow", |this| rank: this.t.rank());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Bytes and counts are whole at any moment, so a panic elsewhere does not spoil them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LocalWindow {
    /// Window number `number` of the group of `t`.
    pub(super) fn new(
        t: &Local,
        number: u64,
        part_bytes: usize,
        origin_bytes: usize,
        _: Memory,
    ) -> Result<Self> {
        let origin = t.message_buffer(origin_bytes)?;
        let n_ranks = t.n_ranks();
        let key = (t.group.serial(), t.group.global(0), number);
        let mut windows = lock(&t.shared.windows.0);
        let shared = windows.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| {
            let epochs = Epochs {
                locks: vec![(0, false); n_ranks],
                n_posts: HashMap::new(),
                n_completes: HashMap::new(),
            };
            let parts = (0..n_ranks).map(|_| Mutex::default()).collect();
            let shared =
                Arc::new(Shared { parts, epochs: Mutex::new(epochs), changed: Condvar::new() });
            windows.insert(key, Arc::downgrade(&shared));
            shared
        });
        drop(windows);
        lock(&shared.parts[t.rank()]).resize(part_bytes, 0);
        Ok(Self {
            t: t.clone(),
            shared,
            origin: Mutex::new(origin),
            locked: Mutex::new(vec![None; n_ranks]),
            started: Mutex::default(),
            posted: Mutex::default(),
        })
    }

    fn own(&self) -> Rank {
        self.t.rank()
    }

    /// Waits until `take` takes what it waits for from the state of the epochs.
    fn until(&self, what: &str, mut take: impl FnMut(&mut Epochs) -> bool) -> Result<()> {
        let epochs = lock(&self.shared.epochs);
        let waited = self.shared.changed.wait_timeout_while(epochs, PATIENCE, |e| !take(e));
        let (epochs, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            let text = format!("{what} lasted longer than {} s", PATIENCE.as_secs());
            let error = TransportError::new(TransportErrorKind::TimedOut, text);
            return Err(self.t.group.located(error));
        }
        drop(epochs);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Changes the state of the epochs.
    fn change(&self, change: impl FnOnce(&mut Epochs)) {
        change(&mut lock(&self.shared.epochs));
        self.shared.changed.notify_all();
    }

    /// Calls `transfer` with the bytes at `other` and the origin. What it writes last, at `written` in the
    /// origin or else at `other`, arrives changed as messages do.
    fn with(
        &self,
        other: Remote,
        n: usize,
        written: Option<usize>,
        transfer: impl FnOnce(&mut [u8], &mut [u8]),
    ) {
        let mut part = lock(&self.shared.parts[other.rank]);
        let (part, origin) = (&mut part[other.at..other.at + n], &mut lock(&self.origin)[..]);
        transfer(part, origin);
        let (to, arrived) = match written {
            Some(start) => (self.own(), &mut origin[start..start + n]),
            None => (other.rank, part),
        };
        self.t.corrupt(to, Tag::new(1), arrived);
    }
}

impl RawWindow for LocalWindow {
    type Peers = Vec<Rank>;

    fn origin_bytes(&self) -> usize {
        lock(&self.origin).len()
    }

    fn part_bytes(&self) -> usize {
        lock(&self.shared.parts[self.own()]).len()
    }

    fn origin(&mut self) -> &mut [u8] {
        self.origin.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&lock(&self.shared.parts[self.own()])[at..at + into.len()]);
    }

    fn write(&mut self, at: usize, from: &[u8]) {
        lock(&self.shared.parts[self.own()])[at..at + from.len()].copy_from_slice(from);
    }

    fn open(&mut self) -> Result<()> {
        self.t.barrier()
    }

    fn close(&mut self) -> Result<()> {
        self.t.barrier()
    }

    fn abandon(&self) {
        // The parts live as long as any rank has the window.
    }

    fn put(&self, from: Range<usize>, to: Remote) -> Result<()> {
        self.with(to, from.len(), None, |part, origin| part.copy_from_slice(&origin[from]));
        Ok(())
    }

    fn get(&self, into: Range<usize>, from: Remote) -> Result<()> {
        let (n, written) = (into.len(), Some(into.start));
        self.with(from, n, written, |part, origin| origin[into].copy_from_slice(part));
        Ok(())
    }

    fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()> {
        self.with(to, from.len(), None, |part, origin| by.combine(part, &origin[from]));
        Ok(())
    }

    fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        let n = from.len();
        self.with(to, n, Some(fetched), |part, origin| {
            origin[fetched..fetched + n].copy_from_slice(part);
            by.combine(part, &origin[from]);
        });
        Ok(())
    }

    fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()> {
        self.get_accumulate(from..from + by.element().bytes(), fetched, to, by)
    }

    fn compare_and_swap(
        &self,
        [expected, new, fetched]: [usize; 3],
        to: Remote,
        of: Element,
    ) -> Result<()> {
        let n = of.bytes();
        self.with(to, n, Some(fetched), |part, origin| {
            origin[fetched..fetched + n].copy_from_slice(part);
            if *part == origin[expected..expected + n] {
                part.copy_from_slice(&origin[new..new + n]);
            }
        });
        Ok(())
    }

    fn fence(&self, _: Fence) -> Result<()> {
        self.t.barrier()
    }

    fn lock(&self, target: Rank, how: Lock) -> Result<()> {
        self.until("a lock of another rank", |epochs| {
            let (n_shared, is_exclusive) = &mut epochs.locks[target];
            match how {
                _ if *is_exclusive => return false,
                Lock::Shared => *n_shared += 1,
                Lock::Exclusive if *n_shared > 0 => return false,
                Lock::Exclusive => *is_exclusive = true,
            }
            true
        })?;
        lock(&self.locked)[target] = Some(how);
        Ok(())
    }

    fn unlock(&self, target: Rank) -> Result<()> {
        let how = lock(&self.locked)[target].take();
        self.change(|epochs| match how {
            Some(Lock::Shared) => epochs.locks[target].0 -= 1,
            _ => epochs.locks[target].1 = false,
        });
        Ok(())
    }

    fn lock_all(&self) -> Result<()> {
        (0..self.t.n_ranks()).try_for_each(|rank| self.lock(rank, Lock::Shared))
    }

    fn unlock_all(&self) -> Result<()> {
        (0..self.t.n_ranks()).try_for_each(|rank| self.unlock(rank))
    }

    fn flush(&self, _: Rank) -> Result<()> {
        Ok(())
    }

    fn flush_local(&self, _: Rank) -> Result<()> {
        Ok(())
    }

    fn flush_all(&self) -> Result<()> {
        Ok(())
    }

    fn flush_local_all(&self) -> Result<()> {
        Ok(())
    }

    fn peers(&self, ranks: &[Rank]) -> Result<Vec<Rank>> {
        Ok(ranks.to_vec())
    }

    fn post(&self, origins: &Vec<Rank>) -> Result<()> {
        lock(&self.posted).clone_from(origins);
        self.change(|epochs| {
            for origin in origins {
                *epochs.n_posts.entry((self.own(), *origin)).or_default() += 1;
            }
        });
        Ok(())
    }

    fn start(&self, targets: &Vec<Rank>) -> Result<()> {
        lock(&self.started).clone_from(targets);
        targets.iter().try_for_each(|target| {
            self.until("the post of a target", |epochs| {
                take(&mut epochs.n_posts, (*target, self.own()))
            })
        })
    }

    fn complete(&self) -> Result<()> {
        let targets = std::mem::take(&mut *lock(&self.started));
        self.change(|epochs| {
            for target in targets {
                *epochs.n_completes.entry((target, self.own())).or_default() += 1;
            }
        });
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        let origins = std::mem::take(&mut *lock(&self.posted));
        origins.iter().try_for_each(|origin| {
            self.until("the access of an origin", |epochs| {
                take(&mut epochs.n_completes, (self.own(), *origin))
            })
        })
    }

    fn test(&self) -> Result<bool> {
        let has_completed = |origin: &Rank| {
            lock(&self.shared.epochs)
                .n_completes
                .get(&(self.own(), *origin))
                .is_some_and(|n| *n > 0)
        };
        let have_all = lock(&self.posted).iter().all(has_completed);
        if have_all {
            self.wait()?;
        }
        Ok(have_all)
    }
}

/// Takes one of what is counted under `key`, if there is any.
fn take(counts: &mut HashMap<(Rank, Rank), u64>, key: (Rank, Rank)) -> bool {
    match counts.get_mut(&key) {
        Some(n) if *n > 0 => {
            *n -= 1;
            true
        }
        _ => false,
    }
}
