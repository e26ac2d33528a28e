//! Windows: memory of each rank that the others reach without its help (MPI-4.1 chapter 12).
//!
//! ```text
//!   rank r                                        rank s
//!   ┌────────┐  put, accumulate ──────────────►  ┌────────┐
//!   │ origin │                                   │  part  │   its own length on each rank
//!   └────────┘  ◄────────────── get, fetched     └────────┘
//! ```
//!
//! A rank owns two memories of a window. Its *part* is what the others reach. Its *origin* is where the
//! data of its own transfers come from and go to. Both belong to the [`Window`], so a transfer in
//! flight outlives no buffer, and there is no reference to memory that somebody may write: the origin
//! is borrowed only while no transfer is in flight, and the part is copied in and out.
//!
//! Every method makes one call of the library below. Its arguments, the epoch and the bounds are checked
//! before it: a put to a rank that this one has not locked is a sentence, and no crash elsewhere.
//!
//! ```
//! use comet_core::window::{Fence, Memory, Remote, Window};
//! use comet_core::transport::Transport;
//! let parts = comet_core::local::run(2, |t| {
//!     let mut window = Window::new(t, 8, 8, Memory::Created)?;
//!     window.open()?;
//!     window.origin().fill(t.rank() as u8 + 1);
//!     window.fence(Fence::First)?;
//!     window.put(0..8, Remote { rank: 1 - t.rank(), at: 0 })?;
//!     window.fence(Fence::Last)?;
//!     let mut part = [0; 8];
//!     window.read(0, &mut part);
//!     window.close()?;
//!     Ok::<_, comet_core::error::TransportError>(part)
//! });
//! assert_eq!(parts[0].as_ref().unwrap(), &[2; 8]);
//! ```
//!
//! The compiler refuses a transfer while the origin is looked at:
//!
//! ```compile_fail,E0502
//! # use comet_core::window::{Memory, Remote, Window};
//! comet_core::local::run_alone(|t| {
//!     let mut window = Window::new(t, 8, 8, Memory::Created).unwrap();
//!     let origin = window.origin();
//!     window.put(0..8, Remote { rank: 0, at: 0 }); // may be read by the transfer from now on
//!     origin[0] = 1;
//! });
//! ```
//!
//! and to free a window whose origin is borrowed:
//!
//! ```compile_fail,E0505
//! # use comet_core::window::{Memory, Window};
//! comet_core::local::run_alone(|t| {
//!     let mut window = Window::new(t, 8, 8, Memory::Created).unwrap();
//!     let origin = window.origin();
//!     drop(window);
//!     origin[0] = 1;
//! });
//! ```

mod raw;

pub use raw::{NoWindow, RawWindow};

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use crate::collective::{self, Element, Reducer};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::{Lease, Rank, Transport};

/// Source of the memory of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Message buffers, of which a window is made (`MPI_Win_create`: MPI-4.1 section 12.2.1).
    #[default]
    Created,
    /// The library's own (`MPI_Win_allocate`: section 12.2.2).
    Allocated,
    /// Message buffers that are attached to a window without memory (`MPI_Win_create_dynamic`: section
    /// 12.2.4).
    Dynamic,
}

impl Memory {
    /// Every source, in the order of [`LABELS`](Self::LABELS).
    pub const ALL: [Self; 3] = [Self::Created, Self::Allocated, Self::Dynamic];
    /// Words of the sources on the command line and in the record.
    pub const LABELS: &'static [&'static str] = &["create", "allocate", "dynamic"];
}

/// A place in the part of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The rank.
    pub rank: Rank,
    /// Start in its part, in bytes.
    pub at: usize,
}

/// Promise of a rank with a fence (MPI-4.1 section 12.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Ends one epoch and begins another.
    Between,
    /// No transfer of this rank goes before (`MPI_MODE_NOPRECEDE`).
    First,
    /// No transfer of this rank follows before the next fence (`MPI_MODE_NOSUCCEED`).
    Last,
}

/// Kind of a lock (MPI-4.1 section 12.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Beside other shared ones.
    Shared,
    /// Beside none.
    Exclusive,
}

/// Ranks with which this one synchronises, for [`Window::post`] and [`Window::start`].
pub struct Peers<T: Transport> {
    ranks: Vec<Rank>,
    raw: <T::Window as RawWindow>::Peers,
}

impl<T: Transport> fmt::Debug for Peers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peers").field(&self.ranks).finish()
    }
}

/// What this rank may do to the parts of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Nothing.
    None,
    /// Transfers to all, until a fence.
    Fenced,
    /// Transfers to the ranks that are reached, and flushes.
    Locked,
    /// Transfers to all, and flushes.
    AllLocked,
    /// Transfers to the ranks that are reached, until the end of the access.
    Started,
}

/// One rank's side of a window.
///
/// It is made closed, and is closed before it is dropped. One that is dropped open, or with transfers in
/// flight, as after an error, leaves its memory to the end of the process.
pub struct Window<T: Transport> {
    raw: T::Window,
    rank_of_job: Rank,
    /// Length of the part of each rank in bytes.
    part_bytes: Box<[usize]>,
    is_open: bool,
    access: Cell<Access>,
    /// The ranks that are locked one by one, or started.
    reached: RefCell<Box<[bool]>>,
    n_reached: Cell<usize>,
    /// True if this rank lets others access its part until `wait`.
    is_posted: Cell<bool>,
    /// True if transfers may still use the origin.
    is_busy: Cell<bool>,
}

impl<T: Transport> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("part_bytes", &self.part_bytes)
            .field("access", &self.access.get())
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Window<T> {
    /// A closed window with a part of `part_bytes` and an origin of `origin_bytes`, both zeroed. All ranks
    /// of `t` call it, each with lengths of its own.
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) on all ranks alike if the transport has no windows,
    /// [`OutOfResources`](TransportErrorKind::OutOfResources) if there is not that much memory on one of
    /// them; other kinds if the job has failed.
    pub fn new(t: &T, part_bytes: usize, origin_bytes: usize, memory: Memory) -> Result<Self> {
        let raw = match t.make_window(Lease::of_owner(), part_bytes, origin_bytes, memory) {
            Err(error) if error.is_unsupported() => return Err(error),
            raw => raw,
        };
        // A length is told plus one, so that 0 says that a rank has no memory.
        let told = if raw.is_ok() { part_bytes as u64 + 1 } else { 0 };
        let told = collective::share(t, [told])?;
        let raw = raw?;
        let lengths: Option<Box<[usize]>> =
            told.iter().map(|[told]| usize::try_from(told.checked_sub(1)?).ok()).collect();
        let Some(part_bytes) = lengths else {
            let text = "another rank has no memory for its part of a window".to_string();
            return Err(TransportError::new(TransportErrorKind::OutOfResources, text));
        };
        Ok(Self {
            raw,
            rank_of_job: t.global_rank(t.rank()),
            reached: RefCell::new(vec![false; part_bytes.len()].into()),
            part_bytes,
            is_open: false,
            access: Cell::new(Access::None),
            n_reached: Cell::new(0),
            is_posted: Cell::new(false),
            is_busy: Cell::new(false),
        })
    }

    /// How many ranks there are.
    #[inline]
    pub fn n_ranks(&self) -> usize {
        self.part_bytes.len()
    }

    /// Length of the part of `rank` in bytes.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn part_bytes(&self, rank: Rank) -> usize {
        self.part_bytes[rank]
    }

    /// The memory of this rank's own transfers.
    ///
    /// # Panics
    /// If transfers may be in flight: a fence, a flush of all, or the end of the epoch goes before.
    pub fn origin(&mut self) -> &mut [u8] {
        assert!(!self.is_busy.get(), "the origin is free only once its transfers have ended");
        self.raw.origin()
    }

    /// Copies from this rank's part, from byte `at` on. Bytes that another rank writes meanwhile are
    /// undefined.
    ///
    /// # Panics
    /// If the part has not that many, or if it is the library's and the window is closed.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        self.require_own(at, into.len());
        self.raw.read(at, into);
    }

    /// Copies into this rank's part, from byte `at` on. Bytes that another rank accesses meanwhile are
    /// undefined.
    ///
    /// # Panics
    /// As [`read`](Self::read).
    pub fn write(&mut self, at: usize, from: &[u8]) {
        self.require_own(at, from.len());
        self.raw.write(at, from);
    }

    fn require_own(&self, at: usize, n: usize) {
        let part_bytes = self.raw.part_bytes();
        let fits = at.checked_add(n).is_some_and(|end| end <= part_bytes);
        assert!(fits, "{n} bytes at {at} are outside of the part of {part_bytes} bytes");
    }

    /// Makes the parts reachable; all ranks call it (MPI-4.1 section 12.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is open; other kinds if the job has
    /// failed.
    #[inline]
    #[track_caller]
    pub fn open(&mut self) -> Result<()> {
        self.require(!self.is_open, "opened while it is open", "close it first")?;
        self.raw.open()?;
        self.is_open = true;
        Ok(())
    }

    /// Ends the window, which may be opened again; all ranks call it, after their last epoch
    /// (`MPI_Win_free`: MPI-4.1 section 12.2.5).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is not open or in the middle of an
    /// epoch; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn close(&mut self) -> Result<()> {
        let is_idle = matches!(self.access.get(), Access::None | Access::Fenced);
        let may_close = self.is_open && is_idle && !self.is_posted.get() && !self.is_busy.get();
        self.require(may_close, "closed", "open it before, and end its epochs")?;
        self.raw.close()?;
        self.is_open = false;
        self.access.set(Access::None);
        Ok(())
    }

    /// Copies the bytes `from` of the origin to `to` (MPI-4.1 section 12.3.1).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if there is no such place, or if this rank
    /// has no access to it now, and nothing was started; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn put(&self, from: Range<usize>, to: Remote) -> Result<()> {
        self.begin(&from, to, 1)?;
        self.raw.put(from, to)
    }

    /// Copies as many bytes as `into` has, which is in the origin, from `from` (MPI-4.1 section 12.3.2).
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[inline]
    #[track_caller]
    pub fn get(&self, into: Range<usize>, from: Remote) -> Result<()> {
        self.begin(&into, from, 1)?;
        self.raw.get(into, from)
    }

    /// Combines the bytes at `to` with those `from` the origin, element by element, each at once with
    /// regard to other accumulations (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and if the length or the place is no whole number of elements.
    #[inline]
    #[track_caller]
    pub fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()> {
        self.begin(&from, to, by.element().bytes())?;
        self.raw.accumulate(from, to, by)
    }

    /// [`accumulate`](Self::accumulate), after what was there has been copied to the origin at byte
    /// `fetched` (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`accumulate`](Self::accumulate), and if the two parts of the origin overlap.
    #[inline]
    #[track_caller]
    pub fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        let (start, n, element_bytes) = (from.start, from.len(), by.element().bytes());
        self.require_apart(&[start, fetched], n, element_bytes)?;
        self.begin(&from, to, element_bytes)?;
        self.raw.get_accumulate(from, fetched, to, by)
    }

    /// [`get_accumulate`](Self::get_accumulate) of one element (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`get_accumulate`](Self::get_accumulate).
    #[inline]
    #[track_caller]
    pub fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()> {
        let n = by.element().bytes();
        self.require_apart(&[from, fetched], n, n)?;
        self.begin(&(from..from.saturating_add(n)), to, n)?;
        self.raw.fetch_and_op(from, fetched, to, by)
    }

    /// Copies the element at `to` to the origin at byte `fetched`, and replaces it by the one at `new` if it
    /// equals that at `expected`; at once with regard to other accumulations (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`get_accumulate`](Self::get_accumulate), and for elements that are no integers.
    #[inline]
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        [expected, new, fetched]: [usize; 3],
        to: Remote,
        of: Element,
    ) -> Result<()> {
        let n = of.bytes();
        let is_integer = !matches!(of, Element::F32 | Element::F64);
        self.require(is_integer, "asked to compare reals", "name elements that are integers")?;
        self.require_apart(&[expected, new, fetched], n, n)?;
        self.begin(&(expected..expected.saturating_add(n)), to, n)?;
        self.raw.compare_and_swap([expected, new, fetched], to, of)
    }

    /// Ends all transfers of all ranks, and the access of this one but for the next epoch; all ranks call
    /// it (MPI-4.1 section 12.5.1).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if the window is closed or in an epoch of
    /// another kind; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn fence(&self, fence: Fence) -> Result<()> {
        let may = self.is_open && matches!(self.access.get(), Access::None | Access::Fenced);
        self.require(may, "fenced", "open it, and end other epochs before")?;
        self.raw.fence(fence)?;
        self.is_busy.set(false);
        self.access.set(if fence == Fence::Last { Access::None } else { Access::Fenced });
        Ok(())
    }

    /// Begins the access to the part of `target`, which has no part in it (MPI-4.1 section 12.5.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if there is no such rank, if it is locked
    /// already, or in an epoch of another kind; other kinds if the job has failed.
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

    /// Ends the access to the part of `target`, and all transfers to it on both sides (MPI-4.1 section
    /// 12.5.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is not locked; other kinds if the job
    /// has failed.
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

    /// Ends all transfers to `target` on both sides, within an access by locks (MPI-4.1 section 12.5.4).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is not locked; other kinds if the job
    /// has failed.
    #[inline]
    #[track_caller]
    pub fn flush(&self, target: Rank) -> Result<()> {
        self.require_locked(target)?;
        self.raw.flush(target)
    }

    /// Ends all transfers to `target` on this side: its part of the origin may be used again (MPI-4.1
    /// section 12.5.4).
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
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if none is; other kinds if the job has failed.
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
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if there is no such rank, or if one is
    /// named twice; other kinds if the job has failed.
    pub fn peers(&self, ranks: &[Rank]) -> Result<Peers<T>> {
        ranks.iter().try_for_each(|rank| self.require_target(*rank))?;
        let twice = ranks.iter().enumerate().find(|(index, rank)| ranks[..*index].contains(rank));
        if let Some((_, rank)) = twice {
            let text = format!("a group of peers has rank {rank} twice (name each rank once)");
            return Err(self.invalid(text));
        }
        Ok(Peers { ranks: ranks.to_vec(), raw: self.raw.peers(ranks)? })
    }

    /// Lets `origins` access this rank's part; does not wait for them (MPI-4.1 section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is posted already or closed; other kinds
    /// if the job has failed.
    #[inline]
    #[track_caller]
    pub fn post(&self, origins: &Peers<T>) -> Result<()> {
        let may = self.is_open && !self.is_posted.get();
        self.require(may, "posted", "open it, and wait for the origins of the last post")?;
        self.raw.post(&origins.raw)?;
        self.is_posted.set(true);
        Ok(())
    }

    /// Begins the access to the parts of `targets`, each of which posts for this rank (MPI-4.1 section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) in another epoch, or if the window is closed;
    /// other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn start(&self, targets: &Peers<T>) -> Result<()> {
        let may = self.is_open
            && matches!(self.access.get(), Access::None | Access::Fenced)
            && !self.is_busy.get();
        self.require(may, "started", "open it, and end other epochs before")?;
        self.raw.start(&targets.raw)?;
        self.access.set(Access::Started);
        targets.ranks.iter().for_each(|rank| self.reach(*rank, true));
        Ok(())
    }

    /// Ends what [`start`](Self::start) began, and all transfers on this side (MPI-4.1 section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if nothing was started; other kinds if the job
    /// has failed.
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

    /// Ends what [`post`](Self::post) began, once all of its origins have completed (MPI-4.1 section 12.5.2).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if nothing was posted; other kinds if the job
    /// has failed.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.require(self.is_posted.get(), "waited for", "post it before")?;
        self.raw.wait()?;
        self.is_posted.set(false);
        Ok(())
    }

    /// Checks a transfer between `own` bytes of the origin and as many at `other`, which are elements of so
    /// many bytes.
    #[inline]
    fn begin(&self, own: &Range<usize>, other: Remote, element_bytes: usize) -> Result<()> {
        let has_access = match self.access.get() {
            Access::None => false,
            Access::Fenced | Access::AllLocked => true,
            Access::Locked | Access::Started => {
                self.reached.borrow().get(other.rank).is_some_and(|reached| *reached)
            }
        };
        let n = own.end.wrapping_sub(own.start);
        let part_bytes = self.part_bytes.get(other.rank).copied().unwrap_or(0);
        let fits = own.start <= own.end
            && own.end <= self.raw.origin_bytes()
            && other.at <= part_bytes
            && n <= part_bytes - other.at
            && (n | other.at | own.start) & (element_bytes - 1) == 0;
        if !(has_access && fits) {
            return Err(self.refuse(own, other, element_bytes, has_access));
        }
        self.is_busy.set(true);
        Ok(())
    }

    #[cold]
    fn refuse(
        &self,
        own: &Range<usize>,
        Remote { rank, at }: Remote,
        element_bytes: usize,
        has_access: bool,
    ) -> TransportError {
        if rank >= self.n_ranks() {
            return TransportError::no_such_rank(rank, self.n_ranks()).on_rank(self.rank_of_job);
        }
        if !has_access {
            let text = format!(
                "a transfer to rank {rank} outside of an epoch (fence, lock or start an access before)"
            );
            return self.invalid(text);
        }
        self.invalid(format!(
            "a transfer of bytes {own:?} of an origin of {} bytes to byte {at} of a part of {} bytes \
             (both hold it, at multiples of {element_bytes})",
            self.raw.origin_bytes(),
            self.part_bytes[rank],
        ))
    }

    /// Refuses places of `n` bytes in the origin that overlap, or go beyond it.
    #[inline]
    fn require_apart(&self, starts: &[usize], n: usize, element_bytes: usize) -> Result<()> {
        let origin_bytes = self.raw.origin_bytes();
        let are_apart = starts.iter().enumerate().all(|(index, start)| {
            *start <= origin_bytes
                && n <= origin_bytes - start
                && start & (element_bytes - 1) == 0
                && starts[..index].iter().all(|other| start.abs_diff(*other) >= n)
        });
        self.require(
            are_apart,
            "asked for such places",
            "name elements of its origin that do not overlap",
        )
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

    #[inline]
    fn require(&self, holds: bool, what: &str, remedy: &str) -> Result<()> {
        if holds {
            Ok(())
        } else {
            Err(self.invalid(format!("a window cannot be {what} now ({remedy})")))
        }
    }

    #[cold]
    fn invalid(&self, text: String) -> TransportError {
        TransportError::new(TransportErrorKind::InvalidArgument, text).on_rank(self.rank_of_job)
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

impl<T: Transport> Drop for Window<T> {
    fn drop(&mut self) {
        // What is open may be written by others, and what is busy by transfers of this rank.
        if self.is_open || self.is_busy.get() {
            self.raw.abandon();
        }
    }
}
