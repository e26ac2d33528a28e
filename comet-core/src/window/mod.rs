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

mod epoch;
mod raw;
mod transfer;

#[cfg(test)]
pub(crate) use raw::window_calls;
pub use raw::{NoWindow, RawWindow};

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::collective;
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

named!(Memory: Created "create", Allocated "allocate", Dynamic "dynamic");

/// A place in the part of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The rank.
    pub rank: Rank,
    /// Start in its part, in bytes.
    pub at: usize,
}

/// Promise of all ranks with a fence, the same on each (MPI-4.1 section 12.5.1).
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
    /// The identity of their window; it also keeps them on its thread.
    window: Rc<()>,
}

impl<T: Transport> fmt::Debug for Peers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peers").field(&self.ranks).finish()
    }
}

/// Access of this rank to the parts of others.
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
    /// Identity that its peers hold.
    identity: Rc<()>,
}

shown!([T: Transport] Window<T>, "Window", |this| part_bytes: this.part_bytes, access: this.access.get());

impl<T: Transport> Window<T> {
    /// A closed window with a part of `part_bytes` and an origin of `origin_bytes`, both zeroed. All ranks
    /// of `t` call it, each with lengths of its own.
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) on all ranks alike if the transport has no windows,
    /// or if there is not that much memory on one of them; other kinds if the job has failed.
    pub fn new(t: &T, part_bytes: usize, origin_bytes: usize, memory: Memory) -> Result<Self> {
        let raw = match t.make_window(Lease::of_owner(), part_bytes, origin_bytes, memory) {
            Err(error) if error.is_unsupported() => return Err(error),
            raw => raw,
        };
        // A length is told plus one, so that 0 says that a rank has no memory.
        let told = if raw.is_ok() { part_bytes as u64 + 1 } else { 0 };
        let told = collective::share(t, [told])?;
        let raw = raw.map_err(|error| match error.kind {
            TransportErrorKind::OutOfResources => {
                TransportError::new(TransportErrorKind::Unsupported, error.to_string())
            }
            _ => error,
        })?;
        let lengths: Option<Box<[usize]>> =
            told.iter().map(|[told]| usize::try_from(told.checked_sub(1)?).ok()).collect();
        let Some(part_bytes) = lengths else {
            let text = "another rank has no memory for its part of a window".to_string();
            return Err(TransportError::new(TransportErrorKind::Unsupported, text));
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
            identity: Rc::new(()),
        })
    }

    /// Number of ranks.
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
}

impl<T: Transport> Drop for Window<T> {
    fn drop(&mut self) {
        // What is open may be written by others, and what is busy by transfers of this rank.
        if self.is_open || self.is_busy.get() {
            self.raw.abandon();
        }
    }
}
