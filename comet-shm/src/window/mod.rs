//! Windows in the segment: a transfer is a copy by its origin, an epoch some words in front of the part.
//!
//! ```text
//!   heap of rank 0                heap of rank 1                origin of rank 0
//!   ┌──────┬─────────┬──────┐     ┌──────┬─────────┬──────┐     ┌────────┐
//!   │ head │ signals │ part │     │ head │ signals │ part │ ◄── │        │   put: one copy
//!   └──────┴─────────┴──────┘     └──────┴─────────┴──────┘     └────────┘
//! ```
//!
//! | call | is |
//! |---|---|
//! | put, get | a copy, which is over when the call returns |
//! | accumulate and its kin | a loop over elements, in the turn of the target |
//! | fence, open, close | a barrier |
//! | flush | a fence of the processor; locally nothing |
//! | lock, unlock | a ticket of the target's lock, given back |
//! | post, start, complete, wait | a signal to each peer, and one from each |
//! | test | a look at the signals |
//!
//! All accumulations go through the turn, also those of one word: an atomic addition of the processor
//! between the loads and stores of a loop would be lost.

mod memory;
pub(crate) mod words;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::slice;

use comet_core::collective::{self, Element, Reducer};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Rank, Transport};
use comet_core::window::{Fence, Lock, RawWindow, Remote};

use crate::heap::{Heap, ShmBuffer};
use crate::layout::{Signal, Signals, WindowHead};
use crate::transport::Shm;

use memory::{Area, copy, copy_bytes};

/// Bytes that are combined in one turn: they stay in the first cache, and others wait for no more.
const BLOCK_BYTES: usize = 8192;

/// One rank's side of a window over [`Shm`]; made by `make_window`, which
/// [`Window`](comet_core::window::Window) alone can call. So ranks and places exist, epochs are in order,
/// and transfers happen while the window is open on all ranks.
pub struct ShmWindow {
    t: Shm,
    /// Memory of this rank; nothing once it is abandoned.
    own: Cell<Option<ShmBuffer>>,
    /// Those of all ranks.
    areas: Box<[Area]>,
    part_bytes: usize,
    origin: ShmBuffer,
    /// Elements of a part while they are combined, aligned as the longest of them.
    block: RefCell<Box<[u64; BLOCK_BYTES / 8]>>,
    /// Locks of this rank, by target.
    locks: Box<[Cell<Option<Lock>>]>,
    /// Numbers of posts and of completions seen, by peer.
    seen: Box<[[Cell<u32>; 2]]>,
    started: RefCell<Rc<[Rank]>>,
    posted: RefCell<Rc<[Rank]>>,
}

impl fmt::Debug for ShmWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, part_bytes) = (self.t.rank(), self.part_bytes);
        f.debug_struct("ShmWindow")
            .field("rank", &rank)
            .field("part_bytes", &part_bytes)
            .finish_non_exhaustive()
    }
}

impl ShmWindow {
    /// A closed window of the ranks of `t`, with memory of this rank from `heap`. All ranks call it.
    ///
    /// # Errors
    /// If a part does not fit into the heap of its rank, or if the job has failed.
    pub(crate) fn new(
        t: Shm,
        heap: &Rc<Heap>,
        part_bytes: usize,
        origin_bytes: usize,
    ) -> Result<Self> {
        let n_ranks = t.n_ranks();
        let area_bytes = Area::bytes(n_ranks, part_bytes);
        let own = area_bytes.and_then(|n| ShmBuffer::shared(heap, n));
        let offset_of = |own: &ShmBuffer| t.segment().heap_offset(own.start(), own.length_bytes());
        // An offset is told plus one, so that 0 says that a rank has no memory.
        let told = own.as_ref().and_then(offset_of).map_or(0, |offset| offset as u64 + 1);
        let told = collective::share(&t, [told])?;
        let Some(own) = own else {
            return Err(no_room(&t, part_bytes, heap.room_bytes()));
        };
        let area = |(rank, [told]): (Rank, &[u64; 1])| {
            let offset = told.checked_sub(1).and_then(|offset| usize::try_from(offset).ok());
            let offset = offset.ok_or_else(|| no_room_of_other(&t, rank))?;
            Ok(Area::at(t.segment(), offset, n_ranks))
        };
        let areas = told.iter().enumerate().map(area).collect::<Result<_>>()?;
        let origin = ShmBuffer::new(heap, origin_bytes)?;
        let nobody: Rc<[Rank]> = Rc::new([]);
        Ok(Self {
            t,
            own: Cell::new(Some(own)),
            areas,
            part_bytes,
            origin,
            block: RefCell::new(Box::new([0; _])),
            locks: (0..n_ranks).map(|_| Cell::new(None)).collect(),
            seen: (0..n_ranks).map(|_| [Cell::new(0), Cell::new(0)]).collect(),
            started: RefCell::new(Rc::clone(&nobody)),
            posted: RefCell::new(nobody),
        })
    }

    /// Start of the bytes `range` of the origin.
    #[inline]
    fn origin_at(&self, range: &Range<usize>) -> *mut u8 {
        debug_assert!(range.end <= self.origin.length_bytes());
        self.origin.start().wrapping_add(range.start)
    }

    /// Start of the place `at`.
    #[inline]
    fn place(&self, at: Remote) -> *mut u8 {
        self.areas[at.rank].part().wrapping_add(at.at)
    }

    #[inline]
    fn head(&self, rank: Rank) -> &WindowHead {
        // SAFETY: the window is open, and so all ranks have their areas; models have no windows.
        unsafe { self.areas[rank].head() }
    }

    /// The signals from `from` to `to`.
    #[inline]
    fn signals(&self, from: Rank, to: Rank) -> &Signals {
        // SAFETY: as in `head`.
        unsafe { self.areas[to].signals(from) }
    }

    /// Combines the part at `to` with the bytes `from` the origin, block by block; before that, copies what is
    /// there to the origin at byte `fetched`, if that is wanted.
    #[inline]
    fn combine(
        &self,
        from: &Range<usize>,
        fetched: Option<usize>,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        let turn = &self.head(to.rank).turn;
        let block = &mut *self.block.borrow_mut();
        let block: &mut [u8] = bytemuck::cast_slice_mut(&mut block[..]);
        for start in (0..from.len()).step_by(BLOCK_BYTES) {
            let n = BLOCK_BYTES.min(from.len() - start);
            let own = from.start + start..from.start + start + n;
            let place = self.place(Remote { at: to.at + start, ..to });
            turn.hold(self.t.engine(), || {
                // SAFETY: the place is in the part, and the block has `n` bytes.
                unsafe { copy(place, block.as_mut_ptr(), n) };
                if let Some(fetched) = fetched {
                    let into = fetched + start..fetched + start + n;
                    // SAFETY: by `Window`'s word they are in the origin, to which there is no reference.
                    unsafe { copy(block.as_mut_ptr(), self.origin_at(&into), n) };
                }
                // SAFETY: they are in the origin, which only this rank writes, and not before `combine`
                // returns: what was fetched lies elsewhere, by `Window`'s word.
                let own = unsafe { slice::from_raw_parts(self.origin_at(&own), n) };
                by.combine(&mut block[..n], own);
                // SAFETY: as for the first copy.
                unsafe { copy(block.as_mut_ptr(), place, n) };
            })?;
        }
        Ok(())
    }

    /// Waits for the next signal from each of `peers`, `which` of both.
    #[inline]
    fn await_signals(
        &self,
        peers: &[Rank],
        which: usize,
        signal: impl Fn(&Signals) -> &Signal,
    ) -> Result<()> {
        for peer in peers {
            let signal = signal(self.signals(*peer, self.t.rank()));
            let seen = &self.seen[*peer][which];
            let n = seen.get();
            signal.wait(n, self.t.global_rank(*peer), self.t.engine())?;
            seen.set(n.wrapping_add(1));
        }
        Ok(())
    }

    /// Gives a signal to each of `peers`.
    #[inline]
    fn give_signals(&self, peers: &[Rank], signal: impl Fn(&Signals) -> &Signal) {
        for peer in peers {
            signal(self.signals(self.t.rank(), *peer)).give();
            self.t.engine().waiter.wake(self.t.global_rank(*peer));
        }
    }
}

#[cold]
fn no_room(t: &Shm, part_bytes: usize, room_bytes: usize) -> TransportError {
    let rank = t.global_rank(t.rank());
    let text = format!(
        "a part of {part_bytes} bytes of a window does not fit into the shared memory of rank {rank}, of \
         which {room_bytes} bytes are free in one piece (ask for a shorter window)"
    );
    TransportError::new(TransportErrorKind::OutOfResources, text).on_rank(rank)
}

#[cold]
fn no_room_of_other(t: &Shm, rank: Rank) -> TransportError {
    let rank = t.global_rank(rank);
    let text = format!(
        "the part of rank {rank} of a window does not fit into its shared memory (ask for a shorter window)"
    );
    TransportError::new(TransportErrorKind::OutOfResources, text).on_rank(t.global_rank(t.rank()))
}

impl RawWindow for ShmWindow {
    type Peers = Rc<[Rank]>;

    #[inline]
    fn origin_bytes(&self) -> usize {
        self.origin.length_bytes()
    }

    #[inline]
    fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    fn origin(&mut self) -> &mut [u8] {
        &mut self.origin
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        let from = self.place(Remote { rank: self.t.rank(), at });
        // SAFETY: by `Window`'s word so many bytes are in the part; a slice of the caller lies elsewhere.
        unsafe { copy(from, into.as_mut_ptr(), into.len()) };
    }

    fn write(&mut self, at: usize, from: &[u8]) {
        let to = self.place(Remote { rank: self.t.rank(), at });
        // SAFETY: as in `read`; these may not be written, and so are no words.
        unsafe { copy_bytes(from.as_ptr(), to, from.len()) };
    }

    fn open(&mut self) -> Result<()> {
        self.t.barrier()
    }

    fn close(&mut self) -> Result<()> {
        self.t.barrier()
    }

    fn abandon(&self) {
        // Never given back to the heap, since others still use it.
        std::mem::forget(self.own.take());
    }

    #[inline]
    fn put(&self, from: Range<usize>, to: Remote) -> Result<()> {
        // SAFETY: by `Window`'s word both places exist, the target's area is in use, and there is no
        // reference to the origin; parts and origins are memory of their own.
        unsafe { copy(self.origin_at(&from), self.place(to), from.len()) };
        Ok(())
    }

    #[inline]
    fn get(&self, into: Range<usize>, from: Remote) -> Result<()> {
        // SAFETY: as in `put`.
        unsafe { copy(self.place(from), self.origin_at(&into), into.len()) };
        Ok(())
    }

    #[inline]
    fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()> {
        self.combine(&from, None, to, by)
    }

    #[inline]
    fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        self.combine(&from, Some(fetched), to, by)
    }

    #[inline]
    fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()> {
        self.combine(&(from..from + by.element().bytes()), Some(fetched), to, by)
    }

    #[inline]
    fn compare_and_swap(
        &self,
        [expected, new, fetched]: [usize; 3],
        to: Remote,
        of: Element,
    ) -> Result<()> {
        let n = of.bytes();
        let [expected, new, fetched] =
            [expected, new, fetched].map(|at| self.origin_at(&(at..at + n)));
        let place = self.place(to);
        self.head(to.rank).turn.hold(self.t.engine(), || {
            // SAFETY: by `Window`'s word both are there, and there is no reference to them.
            unsafe { copy(place, fetched, n) };
            // SAFETY: it lies in the origin, which nobody writes now.
            let found = unsafe { slice::from_raw_parts(fetched, n) };
            // SAFETY: so does this.
            let expected = unsafe { slice::from_raw_parts(expected, n) };
            if found == expected {
                // SAFETY: as for the first copy.
                unsafe { copy(new, place, n) };
            }
        })
    }

    #[inline]
    fn fence(&self, _: Fence) -> Result<()> {
        self.t.barrier()
    }

    #[inline]
    fn lock(&self, target: Rank, lock: Lock) -> Result<()> {
        let own_rank = self.t.global_rank(self.t.rank());
        self.head(target).lock.acquire(lock, own_rank, self.t.engine())?;
        self.locks[target].set(Some(lock));
        Ok(())
    }

    #[inline]
    fn unlock(&self, target: Rank) -> Result<()> {
        if let Some(lock) = self.locks[target].take() {
            self.head(target).lock.release(lock, self.t.engine());
        }
        Ok(())
    }

    #[inline]
    fn lock_all(&self) -> Result<()> {
        (0..self.areas.len()).try_for_each(|rank| self.lock(rank, Lock::Shared))
    }

    #[inline]
    fn unlock_all(&self) -> Result<()> {
        (0..self.areas.len()).try_for_each(|rank| self.unlock(rank))
    }

    #[inline]
    fn flush(&self, _: Rank) -> Result<()> {
        words::flush();
        self.t.engine().waiter.check_job()
    }

    /// Nothing but a look at the job: a copy is over when its call returns.
    #[inline]
    fn flush_local(&self, _: Rank) -> Result<()> {
        self.t.engine().waiter.check_job()
    }

    #[inline]
    fn flush_all(&self) -> Result<()> {
        self.flush(self.t.rank())
    }

    #[inline]
    fn flush_local_all(&self) -> Result<()> {
        self.flush_local(self.t.rank())
    }

    fn peers(&self, ranks: &[Rank]) -> Result<Rc<[Rank]>> {
        Ok(ranks.into())
    }

    #[inline]
    fn post(&self, origins: &Rc<[Rank]>) -> Result<()> {
        *self.posted.borrow_mut() = Rc::clone(origins);
        self.give_signals(origins, |signals| &signals.posted);
        self.t.engine().waiter.check_job()
    }

    #[inline]
    fn start(&self, targets: &Rc<[Rank]>) -> Result<()> {
        *self.started.borrow_mut() = Rc::clone(targets);
        self.await_signals(targets, 0, |signals| &signals.posted)
    }

    #[inline]
    fn complete(&self) -> Result<()> {
        self.give_signals(&self.started.borrow(), |signals| &signals.completed);
        self.t.engine().waiter.check_job()
    }

    #[inline]
    fn wait(&self) -> Result<()> {
        self.await_signals(&self.posted.borrow(), 1, |signals| &signals.completed)
    }

    #[inline]
    fn test(&self) -> Result<bool> {
        self.t.engine().waiter.check_job()?;
        self.t.engine().progress(false);
        let has_completed = |peer: &Rank| {
            let signal = &self.signals(*peer, self.t.rank()).completed;
            signal.is_given(self.seen[*peer][1].get())
        };
        let have_all = self.posted.borrow().iter().all(has_completed);
        self.t.looked(have_all);
        if have_all {
            self.wait()?;
        }
        Ok(have_all)
    }
}
