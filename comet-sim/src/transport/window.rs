//! Windows on the simulated machine.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;

use comet_core::collective::{Element, Reducer};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::local::LocalBuffer;
use comet_core::transport::{Rank, Source, Transport as _};
use comet_core::window::{Fence, Lock, RawWindow, Remote};

use super::Sim;
use crate::engine::{AskedTransfer, Block, Epoch, Operation, Poll, WindowId, WindowName};

/// Transfers that a rank starts before the others catch up, so that few are in flight at a time.
const MAX_AHEAD: u32 = 8;

/// One rank's side of a window over [`Sim`].
pub struct SimWindow {
    t: Sim,
    id: WindowId,
    part_bytes: usize,
    origin_bytes: usize,
    /// The origin, unless the engine has it for transfers.
    origin: RefCell<Option<LocalBuffer>>,
    /// Transfers started since the others have caught up.
    n_ahead: Cell<u32>,
    /// Targets of the access that was started, and origins of the part that was posted.
    started: RefCell<Rc<[Rank]>>,
    posted: RefCell<Rc<[Rank]>>,
    is_open: bool,
    /// True if transfers may still use its memory, for ever.
    is_abandoned: Cell<bool>,
}

impl fmt::Debug for SimWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimWindow").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for SimWindow {
    fn drop(&mut self) {
        // A panic of the engine itself passes here too.
        if let (false, Ok(mut engine)) = (self.is_abandoned.get(), self.t.engine.try_borrow_mut()) {
            engine.windows.leave(self.id);
        }
    }
}

impl SimWindow {
    pub(super) fn new(t: &Sim, part_bytes: usize, origin_bytes: usize) -> Result<Self> {
        let number = t.n_windows.replace(t.n_windows.get() + 1);
        let (part, origin) = (t.message_buffer(part_bytes)?, t.message_buffer(origin_bytes)?);
        let name = WindowName { serial: t.group.serial(), first: t.group.global(0), number };
        let ranks = || (0..t.n_ranks()).map(|rank| t.group.global(rank)).collect();
        let id = t.engine.borrow_mut().windows.join(name, t.rank(), part, ranks);
        let id = id.ok_or_else(|| {
            let text = "there are too many windows at a time (free some)".to_string();
            t.group.located(TransportError::new(TransportErrorKind::OutOfResources, text))
        })?;
        Ok(Self {
            t: t.again(),
            id,
            part_bytes,
            origin_bytes,
            origin: RefCell::new(Some(origin)),
            n_ahead: Cell::new(0),
            started: RefCell::default(),
            posted: RefCell::default(),
            is_open: false,
            is_abandoned: Cell::new(false),
        })
    }

    /// Starts a transfer between `own` bytes of the origin and `other`, from a call at `site`.
    #[inline]
    fn start(
        &self,
        site: &'static Location<'static>,
        own: Range<usize>,
        other: Remote,
        operation: Operation,
    ) -> Result<()> {
        self.t.require_job()?;
        if self.n_ahead.replace(self.n_ahead.get() + 1) >= MAX_AHEAD {
            self.n_ahead.set(0);
            self.t.await_turn()?;
        }
        let mut engine = self.t.engine.borrow_mut();
        if let Some(origin) = self.origin.borrow_mut().take() {
            engine.lend_origin(self.id, self.t.group.rank(), origin);
        }
        engine.ranks[self.t.rank].note_site(site);
        let Remote { rank: target, at } = other;
        let asked =
            AskedTransfer { at, own: own.start, length_bytes: own.len(), ..self.to(target) };
        engine.transfer(self.t.rank, asked, operation);
        Ok(())
    }

    /// A transfer of no bytes to `target`.
    fn to(&self, target: Rank) -> AskedTransfer {
        let (window, origin) = (self.id, self.t.group.rank());
        AskedTransfer { window, origin, target, at: 0, own: 0, length_bytes: 0 }
    }

    /// Waits for the transfers to `target`, or to all: for their ends on both sides, or on this one.
    fn sync(
        &self,
        site: &'static Location<'static>,
        target: Option<Rank>,
        is_local: bool,
    ) -> Result<()> {
        self.t.require_job()?;
        self.t.note_site(site);
        let own = (self.id, self.t.group.rank());
        let waits = self.t.engine.borrow_mut().await_transfers(self.t.rank, own, target, is_local);
        if waits {
            self.t.wait(Block::Transfers(self.id))?;
        }
        if is_local {
            self.t.engine.borrow_mut().keep_bytes(self.id, self.t.group.rank(), target);
        }
        Ok(())
    }

    /// Asks for a lock, and waits for it.
    fn ask(
        &self,
        site: &'static Location<'static>,
        target: Rank,
        operation: Operation,
    ) -> Result<()> {
        self.t.require_job()?;
        self.t.note_site(site);
        let id = self.t.engine.borrow_mut().transfer(self.t.rank, self.to(target), operation);
        self.t.wait(Block::Lock(id))
    }

    /// Gives a lock back once the transfers before have been served, and waits for their ends.
    fn release(&self, site: &'static Location<'static>, target: Rank, of_all: bool) -> Result<()> {
        self.t.require_job()?;
        self.t.engine.borrow_mut().unlock(self.t.rank, self.to(target), of_all);
        self.sync(site, (!of_all).then_some(target), false)
    }

    /// Sends a message of no bytes to each of `ranks`.
    fn notify(&self, site: &'static Location<'static>, ranks: &[Rank], epoch: Epoch) -> Result<()> {
        let tag = epoch.tag(self.id);
        ranks.iter().try_for_each(|rank| self.t.start(site, *rank, tag, &[]).map(drop))
    }

    /// Waits for such a message of each of `ranks`.
    fn hear(&self, site: &'static Location<'static>, ranks: &[Rank], epoch: Epoch) -> Result<()> {
        let tag = epoch.tag(self.id);
        let hear = |rank: &Rank| self.t.receive(site, Source::Rank(*rank), tag, &mut []);
        ranks.iter().try_for_each(|rank| hear(rank).map(drop))
    }
}

impl RawWindow for SimWindow {
    type Peers = Rc<[Rank]>;

    fn origin_bytes(&self) -> usize {
        self.origin_bytes
    }

    fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    fn origin(&mut self) -> &mut [u8] {
        let own = self.t.group.rank();
        let origin = self.origin.get_mut();
        if origin.is_none() {
            *origin = self.t.engine.borrow_mut().return_origin(self.id, own);
        }
        origin.as_deref_mut().expect("either this side has it or the engine")
    }

    /// In no time, but after all that has happened before.
    fn read(&self, at: usize, into: &mut [u8]) {
        if self.is_open {
            // In a job that has failed nothing happens any more.
            let _ = self.t.await_turn();
        }
        self.t.engine.borrow_mut().read_part(self.id, self.t.group.rank(), at, into);
    }

    /// As [`read`](Self::read).
    fn write(&mut self, at: usize, from: &[u8]) {
        if self.is_open {
            let _ = self.t.await_turn();
        }
        self.t.engine.borrow_mut().write_part(self.id, self.t.group.rank(), at, from);
    }

    fn open(&mut self) -> Result<()> {
        self.t.collectively("open", Location::caller(), || self.t.barrier())?;
        self.is_open = true;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.t.collectively("close", Location::caller(), || self.t.barrier())?;
        self.is_open = false;
        Ok(())
    }

    fn abandon(&self) {
        self.is_abandoned.set(true);
    }

    fn put(&self, from: Range<usize>, to: Remote) -> Result<()> {
        self.start(Location::caller(), from, to, Operation::Put)
    }

    fn get(&self, into: Range<usize>, from: Remote) -> Result<()> {
        self.start(Location::caller(), into, from, Operation::Get)
    }

    fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()> {
        self.start(Location::caller(), from, to, Operation::Accumulate(by))
    }

    fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        let operation = Operation::Fetch { by, into: fetched, is_single: false };
        self.start(Location::caller(), from, to, operation)
    }

    fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()> {
        let operation = Operation::Fetch { by, into: fetched, is_single: true };
        let from = from..from + by.element().bytes();
        self.start(Location::caller(), from, to, operation)
    }

    fn compare_and_swap(
        &self,
        [expected, new, into]: [usize; 3],
        to: Remote,
        of: Element,
    ) -> Result<()> {
        let expected = expected..expected + of.bytes();
        self.start(Location::caller(), expected, to, Operation::Swap { new, into })
    }

    fn fence(&self, _: Fence) -> Result<()> {
        let site = Location::caller();
        self.t.collectively("fence", site, || {
            self.sync(site, None, false)?;
            self.t.barrier()
        })
    }

    fn lock(&self, target: Rank, lock: Lock) -> Result<()> {
        let is_exclusive = lock == Lock::Exclusive;
        self.ask(Location::caller(), target, Operation::Lock { is_exclusive, of_all: false })
    }

    fn unlock(&self, target: Rank) -> Result<()> {
        self.release(Location::caller(), target, false)
    }

    fn lock_all(&self) -> Result<()> {
        let operation = Operation::Lock { is_exclusive: false, of_all: true };
        self.ask(Location::caller(), 0, operation)
    }

    fn unlock_all(&self) -> Result<()> {
        self.release(Location::caller(), 0, true)
    }

    fn flush(&self, target: Rank) -> Result<()> {
        self.sync(Location::caller(), Some(target), false)
    }

    fn flush_local(&self, target: Rank) -> Result<()> {
        self.sync(Location::caller(), Some(target), true)
    }

    fn flush_all(&self) -> Result<()> {
        self.sync(Location::caller(), None, false)
    }

    fn flush_local_all(&self) -> Result<()> {
        self.sync(Location::caller(), None, true)
    }

    fn peers(&self, ranks: &[Rank]) -> Result<Rc<[Rank]>> {
        Ok(ranks.into())
    }

    fn post(&self, origins: &Rc<[Rank]>) -> Result<()> {
        self.posted.borrow_mut().clone_from(origins);
        self.notify(Location::caller(), origins, Epoch::Post)
    }

    fn start(&self, targets: &Rc<[Rank]>) -> Result<()> {
        self.started.borrow_mut().clone_from(targets);
        self.hear(Location::caller(), targets, Epoch::Post)
    }

    fn complete(&self) -> Result<()> {
        let site = Location::caller();
        self.sync(site, None, false)?;
        self.notify(site, &self.started.take(), Epoch::Complete)
    }

    fn wait(&self) -> Result<()> {
        self.hear(Location::caller(), &self.posted.take(), Epoch::Complete)
    }

    /// One look, which takes as long as that of a probe, whatever the number of origins.
    fn test(&self) -> Result<bool> {
        self.t.note_site(Location::caller());
        let tag = self.t.group.tag(Epoch::Complete.tag(self.id));
        if !self.t.poll(Poll::Probe(Source::Any, tag)) {
            return Err(self.t.job_failed());
        }
        let posted = Rc::clone(&self.posted.borrow());
        let mut engine = self.t.engine.borrow_mut();
        let mut from = posted.iter().map(|origin| Source::Rank(self.t.group.global(*origin)));
        if !from.all(|origin| engine.earliest(self.t.rank, origin, tag).is_some()) {
            return Ok(false);
        }
        engine.note_found(self.t.rank);
        drop(engine);
        self.wait()?;
        Ok(true)
    }
}
