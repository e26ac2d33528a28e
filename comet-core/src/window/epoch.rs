//! Epochs: what a rank may do to the parts of others, from which call to which.

use std::rc::Rc;

use super::{Access, Fence, Lock, Peers, RawWindow, Window};
use crate::error::{Result, TransportError};
use crate::transport::{Rank, Transport};

impl<T: Transport> Window<T> {
    /// Ends all transfers of all ranks, and the access of this one but for the next epoch; all
    /// ranks call it (MPI-4.1 section 12.5.1).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if the window is
    /// closed or in an epoch of another kind, or if a transfer goes before a
    /// [first](Fence::First) fence; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn fence(&self, fence: Fence) -> Result<()> {
        let may = self.is_open
            && matches!(self.access.get(), Access::None | Access::Fenced)
            && !(fence == Fence::First && self.is_busy.get());
        let remedy =
            "open it, and end other epochs before, transfers by a fence that is not the first";
        self.require(may, "fenced", remedy)?;
        self.raw.fence(fence)?;
        self.is_busy.set(false);
        self.access.set(if fence == Fence::Last { Access::None } else { Access::Fenced });
        Ok(())
    }

    /// Begins the access to the part of `target`, which has no part in it (MPI-4.1 section 12.5.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such
    /// rank, if it is locked already, or in an epoch of another kind; other kinds if the job has
    /// failed.
    #[inline]
    #[track_caller]
    pub fn lock(&self, target: Rank, lock: Lock) -> Result<()> {
        self.require_target(target)?;
        let may = self.is_open
            && matches!(self.access.get(), Access::None | Access::Fenced | Access::Locked)
            && !self.reached.borrow()[target]
            && !self.is_busy.get() | (self.access.get() == Access::Locked);
        self.require(may, "locked", "open it, and end other epochs before")?;
        self.raw.lock(target, lock)?;
        self.access.set(Access::Locked);
        self.reach(target, true);
        Ok(())
    }

    /// Ends the access to the part of `target`, and all transfers to it on both sides (MPI-4.1
    /// section 12.5.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if it is not locked;
    /// other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn unlock(&self, target: Rank) -> Result<()> {
        self.require_target(target)?;
        let may = self.access.get() == Access::Locked && self.reached.borrow()[target];
        self.require(may, "unlocked", "lock the rank before")?;
        self.raw.unlock(target)?;
        self.reach(target, false);
        if self.n_reached.get() == 0 {
            self.end_access();
        }
        Ok(())
    }

    /// Begins the access to the parts of all ranks, with shared locks (MPI-4.1 section 12.5.3).
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock).
    #[inline]
    #[track_caller]
    pub fn lock_all(&self) -> Result<()> {
        let may = self.is_open
            && matches!(self.access.get(), Access::None | Access::Fenced)
            && !self.is_busy.get();
        self.require(may, "locked", "open it, and end other epochs before")?;
        self.raw.lock_all()?;
        self.access.set(Access::AllLocked);
        Ok(())
    }

    /// Ends what [`lock_all`](Self::lock_all) began.
    ///
    /// # Errors
    /// Those of [`unlock`](Self::unlock).
    #[inline]
    #[track_caller]
    pub fn unlock_all(&self) -> Result<()> {
        let may = self.access.get() == Access::AllLocked;
        self.require(may, "unlocked", "lock all ranks before")?;
        self.raw.unlock_all()?;
        self.end_access();
        Ok(())
    }

    /// Ends all transfers to `target` on both sides, within an access by locks (MPI-4.1 section
    /// 12.5.4).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if it is not locked;
    /// other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn flush(&self, target: Rank) -> Result<()> {
        self.require_locked(target)?;
        self.raw.flush(target)
    }

    /// Ends all transfers to `target` on this side: its part of the origin may be used again
    /// (MPI-4.1 section 12.5.4).
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush).
    #[inline]
    #[track_caller]
    pub fn flush_local(&self, target: Rank) -> Result<()> {
        self.require_locked(target)?;
        self.raw.flush_local(target)
    }

    /// [`flush`](Self::flush) of all ranks that are locked.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if none is; other
    /// kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn flush_all(&self) -> Result<()> {
        self.require_any_locked()?;
        self.raw.flush_all()?;
        self.is_busy.set(false);
        Ok(())
    }

    /// [`flush_local`](Self::flush_local) of all ranks that are locked.
    ///
    /// # Errors
    /// Those of [`flush_all`](Self::flush_all).
    #[inline]
    #[track_caller]
    pub fn flush_local_all(&self) -> Result<()> {
        self.require_any_locked()?;
        self.raw.flush_local_all()?;
        self.is_busy.set(false);
        Ok(())
    }

    /// The group of `ranks`, made before any timed call.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such
    /// rank, or if one is named twice; other kinds if the job has failed.
    pub fn peers(&self, ranks: &[Rank]) -> Result<Peers<T>> {
        ranks.iter().try_for_each(|rank| self.require_target(*rank))?;
        let twice = ranks.iter().enumerate().find(|(index, rank)| ranks[..*index].contains(rank));
        if let Some((_, rank)) = twice {
            let text = format!("a group of peers has rank {rank} twice (name each rank once)");
            return Err(self.invalid(text));
        }
        let window = Rc::clone(&self.identity);
        Ok(Peers { ranks: ranks.to_vec(), raw: self.raw.peers(ranks)?, window })
    }

    /// Lets `origins` access this rank's part; does not wait for them (MPI-4.1 section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if it is posted
    /// already or closed, or if the group is of another window; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn post(&self, origins: &Peers<T>) -> Result<()> {
        let may = self.is_open && !self.is_posted.get();
        self.require(may, "posted", "open it, and wait for the origins of the last post")?;
        self.require_peers(origins)?;
        self.raw.post(&origins.raw)?;
        self.is_posted.set(true);
        Ok(())
    }

    /// Begins the access to the parts of `targets`, each of which posts for this rank (MPI-4.1
    /// section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) in another epoch, or
    /// if the window is closed, or if the group is of another window; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn start(&self, targets: &Peers<T>) -> Result<()> {
        let may = self.is_open
            && matches!(self.access.get(), Access::None | Access::Fenced)
            && !self.is_busy.get();
        self.require(may, "started", "open it, and end other epochs before")?;
        self.require_peers(targets)?;
        self.raw.start(&targets.raw)?;
        self.access.set(Access::Started);
        targets.ranks.iter().for_each(|rank| self.reach(*rank, true));
        Ok(())
    }

    /// Ends what [`start`](Self::start) began, and all transfers on this side (MPI-4.1 section
    /// 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if nothing was
    /// started; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn complete(&self) -> Result<()> {
        let may = self.access.get() == Access::Started;
        self.require(may, "completed", "start an access before")?;
        self.raw.complete()?;
        self.reached.borrow_mut().fill(false);
        self.n_reached.set(0);
        self.end_access();
        Ok(())
    }

    /// Ends what [`post`](Self::post) began, once all of its origins have completed (MPI-4.1
    /// section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if nothing was
    /// posted; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.require(self.is_posted.get(), "waited for", "post it before")?;
        self.raw.wait()?;
        self.is_posted.set(false);
        Ok(())
    }

    /// True if all origins of [`post`](Self::post) have completed, which ends what it began as
    /// [`wait`](Self::wait) does; false, at once, if one has not (MPI-4.1 section 12.5.2).
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    #[inline]
    #[track_caller]
    pub fn test(&self) -> Result<bool> {
        self.require(self.is_posted.get(), "tested", "post it before")?;
        let has_ended = self.raw.test()?;
        self.is_posted.set(!has_ended);
        Ok(has_ended)
    }

    #[inline]
    fn require_peers(&self, peers: &Peers<T>) -> Result<()> {
        let is_own = Rc::ptr_eq(&self.identity, &peers.window);
        self.require(is_own, "reached by peers of another window", "make them by its own peers()")
    }

    #[inline]
    fn require_target(&self, rank: Rank) -> Result<()> {
        if rank < self.n_ranks() {
            return Ok(());
        }
        Err(TransportError::no_such_rank(rank, self.n_ranks()).on_rank(self.rank_of_job))
    }

    #[inline]
    fn require_locked(&self, target: Rank) -> Result<()> {
        let is_locked = match self.access.get() {
            Access::AllLocked => target < self.n_ranks(),
            Access::Locked => self.reached.borrow().get(target).is_some_and(|reached| *reached),
            _ => false,
        };
        self.require(is_locked, "flushed", "lock the rank before")
    }

    #[inline]
    fn require_any_locked(&self) -> Result<()> {
        let is_locked = matches!(self.access.get(), Access::Locked | Access::AllLocked);
        self.require(is_locked, "flushed", "lock a rank before")
    }

    fn reach(&self, rank: Rank, is_reached: bool) {
        let before = std::mem::replace(&mut self.reached.borrow_mut()[rank], is_reached);
        let n = self.n_reached.get() + usize::from(is_reached) - usize::from(before);
        self.n_reached.set(n);
    }

    fn end_access(&self) {
        self.is_busy.set(false);
        self.access.set(Access::None);
    }
}
