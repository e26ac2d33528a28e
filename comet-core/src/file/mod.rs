//! Files that all ranks of a transport read and write (MPI-4.1 chapter 14).
//!
//! ```text
//!   pointer     own       each rank has a place of its own, which its transfers move on
//!               at        each transfer names its place
//!               shared    all ranks have one place, which the transfers of each move on
//!   together    alone     a rank calls when it wants to
//!               all       all ranks call, in rank order where the pointer is shared
//!   form        blocked   `write`, `read`
//!               unblocked `start_write`, `start_read`, and `wait_all` for all of them
//!               split     `begin_write`, `begin_read`, and `end`, by all ranks together
//! ```
//!
//! A [`File`] owns the memory of its transfers, so one in flight outlives no buffer: the memory is
//! borrowed only while none is. Offsets and lengths are in bytes, within the view where there is one.
//!
//! An error of the file system (a full disk, a folder that may only be read) is of the kind
//! [`Storage`](crate::error::TransportErrorKind::Storage) with path and reason, on the rank that has it,
//! or on all of them for an open: the transport goes on.
//!
//! The compiler refuses a transfer while its memory is looked at:
//!
//! ```compile_fail,E0502
//! # use comet_core::file::{File, Pointer, Together};
//! # use comet_core::transport::Transport;
//! fn look<T: Transport>(file: &mut File<T>) {
//!     let memory = file.memory();
//!     let _ = file.write(0..8, Pointer::Own, Together::Alone); // may be read from now on
//!     memory[0] = 1;
//! }
//! ```

mod raw;

pub use raw::{NoFile, RawFile};

use std::cell::Cell;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::{Lease, Rank, Transport};

/// Place of a transfer in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// That of this rank, which the transfer moves on (MPI-4.1 section 14.4.3).
    Own,
    /// So many bytes from the start of the view (section 14.4.2).
    At(u64),
    /// That of all ranks, which the transfer moves on (section 14.4.4).
    Shared,
}

/// Ranks that make a transfer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// This one.
    Alone,
    /// All of the transport.
    All,
}

/// Part of a file that a rank sees: blocks of one length at one distance, from a start on (MPI-4.1 section
/// 14.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Start of the first block in bytes.
    pub start: u64,
    /// Length of a block in bytes, at least 1.
    pub block_bytes: u64,
    /// Distance between the starts of two blocks in bytes, at least the length of one.
    pub stride_bytes: u64,
}

/// Use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All ranks of the transport have it open.
    All,
    /// Each rank has a file of its own, with its number in the job behind the name.
    Private,
}

/// Use of the system's own memory for what files hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// The system keeps what it wants to.
    #[default]
    Keep,
    /// The contents of a file are dropped from the system's memory before it is used.
    Drop,
    /// Transfers go past the system's memory (`O_DIRECT`), where the file system allows it: their places and
    /// lengths, also in the memory of the file, are multiples of [`DIRECT_UNIT_BYTES`].
    Direct,
}

/// Length in bytes of which direct transfers have multiples: a page, which no block of a disk exceeds.
pub const DIRECT_UNIT_BYTES: usize = 4096;

named!(Cache: Keep "keep", Drop "drop", Direct "direct");

/// Everything about a file but its contents.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its path; of a private one, that of all ranks without their numbers.
    pub path: PathBuf,
    /// The ranks that use it.
    pub sharing: Sharing,
    /// Use of the system's memory.
    pub cache: Cache,
    /// Hints for the library: keys and values (MPI-4.1 section 14.2.8).
    pub hints: Vec<(String, String)>,
}

impl Plan {
    /// Path of the file that `rank` of the job uses.
    pub fn path_on(&self, rank: Rank) -> PathBuf {
        match self.sharing {
            Sharing::All => self.path.clone(),
            Sharing::Private => {
                let mut name = self.path.clone().into_os_string();
                name.push(format!("-{rank}"));
                name.into()
            }
        }
    }
}

/// Beginning of the names of the files of all runs.
const PREFIX: &str = "comet-io-";

/// Folder of the files of a run, and what holds for all of them.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// Bytes that are free in it at the start of the run.
    pub free_bytes: u64,
    /// Number of the run, which tells its files from those of others.
    pub run: u64,
    /// Use of the system's memory.
    pub cache: Cache,
    /// Hints for the library.
    pub hints: Vec<(String, String)>,
}

impl Folder {
    /// The folder `path` with so many free bytes, for the files of a run with this number.
    pub const fn new(path: PathBuf, free_bytes: u64, run: u64) -> Self {
        Self { path, free_bytes, run, cache: Cache::Keep, hints: Vec::new() }
    }

    /// Beginning of the names of all files of the run.
    pub fn prefix(&self) -> String {
        format!("{PREFIX}{:016x}", self.run)
    }

    /// Number of the run of the file called `name`, if it is one of a run.
    pub fn run_of(name: &str) -> Option<u64> {
        u64::from_str_radix(name.strip_prefix(PREFIX)?.get(..16)?, 16).ok()
    }

    /// Beginning of their paths.
    pub fn beginning(&self) -> PathBuf {
        self.path.join(self.prefix())
    }

    /// A file of the group of ranks that begins at rank `first` of the job.
    pub fn plan(&self, first: Rank, sharing: Sharing) -> Plan {
        let path = self.path.join(format!("{}-{first}", self.prefix()));
        Plan { path, sharing, cache: self.cache, hints: self.hints.clone() }
    }

    /// This folder with the number of the run of rank 0; all ranks call it.
    pub(crate) fn agree<T: Transport>(&self, t: &T) -> Result<Self> {
        let mut run = self.run.to_le_bytes();
        t.blocked_broadcast(0, &mut run)?;
        Ok(Self { run: u64::from_le_bytes(run), ..self.clone() })
    }
}

/// One rank's side of a file.
///
/// It is made closed; its file is made when it is opened. It is closed, and its file removed, by all ranks
/// before it is dropped.
pub struct File<T: Transport> {
    raw: T::File,
    rank_of_job: usize,
    is_open: bool,
    /// Unblocked transfers in flight, and whether a split one is.
    n_started: Cell<usize>,
    is_split: Cell<bool>,
}

shown!([T: Transport] File<T>, "File", |this| path: this.raw.path());

impl<T: Transport> File<T> {
    /// A closed file with `memory_bytes` of zeroed memory for transfers, of which at most `n_in_flight` are
    /// in flight at once. All ranks of `t` call it.
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) on all ranks alike if the transport has no files,
    /// [`OutOfResources`](TransportErrorKind::OutOfResources) if there is not that much memory.
    pub fn new(t: &T, plan: &Plan, memory_bytes: usize, n_in_flight: usize) -> Result<Self> {
        let raw = t.make_file(Lease::of_owner(), plan, memory_bytes, n_in_flight)?;
        Ok(Self {
            raw,
            rank_of_job: t.global_rank(t.rank()),
            is_open: false,
            n_started: Cell::new(0),
            is_split: Cell::new(false),
        })
    }

    /// Path of the file that this rank uses.
    pub fn path(&self) -> &Path {
        self.raw.path()
    }

    /// The memory of its transfers.
    ///
    /// # Panics
    /// If a transfer is in flight.
    pub fn memory(&mut self) -> &mut [u8] {
        let is_free = self.n_started.get() == 0 && !self.is_split.get();
        assert!(is_free, "the memory is free only once its transfers have ended");
        self.raw.memory()
    }

    /// Opens the file to read and write, and makes it if it is not there; all ranks that share it call it
    /// (MPI-4.1 section 14.2.1).
    ///
    /// Once all of them have had it open, a transport may make the call alone, since it may be timed; its error is
    /// that of one rank then.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is open,
    /// [`Storage`](TransportErrorKind::Storage), on all that share it, if the system refuses one of them; other kinds
    /// if the job has failed.
    #[inline]
    pub fn open(&mut self) -> Result<()> {
        self.require(!self.is_open, "opened while it is open", "close it first")?;
        self.raw.open()?;
        self.is_open = true;
        Ok(())
    }

    /// Closes it; all ranks that share it call it (MPI-4.1 section 14.2.2).
    ///
    /// # Errors
    /// As [`open`](Self::open), and if transfers are in flight.
    #[inline]
    pub fn close(&mut self) -> Result<()> {
        self.require_idle("closed")?;
        self.is_open = false;
        self.raw.close()
    }

    /// Removes the file, which is closed, if it is there; of a shared one, the first rank does (MPI-4.1 section
    /// 14.2.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if it is open,
    /// [`Storage`](TransportErrorKind::Storage) if the system refuses.
    pub fn remove(&self) -> Result<()> {
        self.require(!self.is_open, "removed while it is open", "close it first")?;
        self.raw.remove()
    }

    /// Writes the bytes `from` of the memory (MPI-4.1 sections 14.4.2 to 14.4.4).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if the memory has not these bytes, if the file is
    /// closed, or if a split transfer is in flight; [`Storage`](TransportErrorKind::Storage) if the system
    /// refuses, or has written less; other kinds if the job has failed.
    #[inline]
    pub fn write(&self, from: Range<usize>, pointer: Pointer, together: Together) -> Result<()> {
        self.begin(&from)?;
        self.raw.write(from, pointer, together)
    }

    /// Reads into the bytes `into` of the memory (MPI-4.1 sections 14.4.2 to 14.4.4).
    ///
    /// # Errors
    /// Those of [`write`](Self::write), and if the file ends before.
    #[inline]
    pub fn read(&self, into: Range<usize>, pointer: Pointer, together: Together) -> Result<()> {
        self.begin(&into)?;
        self.raw.read(into, pointer, together)
    }

    /// Starts to [`write`](Self::write); several may use the same memory, which holds anything if one reads into
    /// it.
    ///
    /// # Errors
    /// Those of [`write`](Self::write), and if too many are in flight; nothing was started then.
    #[inline]
    pub fn start_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.begin(&from)?;
        self.require_room()?;
        self.raw.start_write(from, pointer)?;
        self.n_started.set(self.n_started.get() + 1);
        Ok(())
    }

    /// Starts to [`read`](Self::read).
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and if too many are in flight; nothing was started then.
    #[inline]
    pub fn start_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.begin(&into)?;
        self.require_room()?;
        self.raw.start_read(into, pointer)?;
        self.n_started.set(self.n_started.get() + 1);
        Ok(())
    }

    /// Waits for the end of all transfers that were started.
    ///
    /// # Errors
    /// The first of theirs; all have ended also then, unless the job has failed.
    #[inline]
    pub fn wait_all(&self) -> Result<()> {
        let waited = self.raw.wait_all();
        if waited.as_ref().err().is_none_or(|error| !error.ends_job()) {
            self.n_started.set(0);
        }
        waited
    }

    /// Begins to [`write`](Self::write) together with all ranks (MPI-4.1 section 14.4.5).
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    #[inline]
    pub fn begin_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.begin(&from)?;
        self.raw.begin_write(from, pointer)?;
        self.is_split.set(true);
        Ok(())
    }

    /// Begins to [`read`](Self::read) together with all ranks (MPI-4.1 section 14.4.5).
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    #[inline]
    pub fn begin_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.begin(&into)?;
        self.raw.begin_read(into, pointer)?;
        self.is_split.set(true);
        Ok(())
    }

    /// Ends what [`begin_write`](Self::begin_write) or [`begin_read`](Self::begin_read) began.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if nothing was begun; otherwise those of
    /// [`write`](Self::write).
    #[inline]
    pub fn end(&self) -> Result<()> {
        self.require(self.is_split.get(), "ended", "begin a transfer before")?;
        let ended = self.raw.end();
        if ended.as_ref().err().is_none_or(|error| !error.ends_job()) {
            self.is_split.set(false);
        }
        ended
    }

    /// Shows each rank its part of the file, or all of it, and begins at its start; all ranks that share the
    /// file call it (MPI-4.1 section 14.3).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if a view has no bytes or its blocks overlap, or
    /// if transfers are in flight; other kinds if the job has failed.
    pub fn set_view(&mut self, view: Option<View>) -> Result<()> {
        self.require_idle("given a view")?;
        let is_sound = |view: View| view.block_bytes > 0 && view.stride_bytes >= view.block_bytes;
        let remedy = "name blocks of at least one byte that do not overlap";
        self.require(view.is_none_or(is_sound), "given such a view", remedy)?;
        self.raw.set_view(view)
    }

    /// Moves the own pointer, or that of all ranks, which all of them call then, to the start of the view
    /// (MPI-4.1 sections 14.4.3 and 14.4.4).
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) if transfers are in flight; other kinds if the job
    /// has failed.
    pub fn rewind(&self, pointer: Pointer) -> Result<()> {
        self.require_idle("moved to its start")?;
        self.raw.rewind(pointer)
    }

    /// Brings what this rank has written to the disk; all ranks that share the file call it (MPI-4.1 section
    /// 14.6.1).
    ///
    /// # Errors
    /// [`Storage`](TransportErrorKind::Storage) if the system refuses; other kinds if the job has failed.
    #[inline]
    pub fn sync(&self) -> Result<()> {
        self.require(self.is_open, "brought to the disk", "open it first")?;
        self.raw.sync()
    }

    /// Drops from the system's memory what of the file is on the disk (`posix_fadvise`), if the file system does so.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn drop_cached(&self) -> Result<()> {
        self.require_idle("dropped from memory")?;
        self.raw.drop_cached()
    }

    /// Makes the file so many bytes long; all ranks that share it call it (MPI-4.1 section 14.2.4).
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn set_length(&self, bytes: u64) -> Result<()> {
        self.require_idle("given a length")?;
        self.raw.set_length(bytes)
    }

    /// Takes room for so many bytes on the disk; all ranks that share it call it (MPI-4.1 section 14.2.5).
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn preallocate(&self, bytes: u64) -> Result<()> {
        self.require_idle("given room")?;
        self.raw.preallocate(bytes)
    }

    #[inline]
    fn begin(&self, bytes: &Range<usize>) -> Result<()> {
        let fits = bytes.start <= bytes.end && bytes.end <= self.raw.memory_bytes();
        if fits && self.is_open && !self.is_split.get() {
            return Ok(());
        }
        Err(self.refuse(bytes))
    }

    #[cold]
    fn refuse(&self, bytes: &Range<usize>) -> TransportError {
        let text = if self.is_open && !self.is_split.get() {
            let memory_bytes = self.raw.memory_bytes();
            format!(
                "a transfer of bytes {bytes:?} of a memory of {memory_bytes} (name bytes that it has)"
            )
        } else {
            "a transfer of a file that is closed or in a split one (open it, or end that)".into()
        };
        self.invalid(text)
    }

    #[inline]
    fn require_room(&self) -> Result<()> {
        let has_room = self.n_started.get() < self.raw.max_in_flight();
        self.require(has_room, "used by more transfers", "wait for those that were started")
    }

    #[inline]
    fn require_idle(&self, what: &str) -> Result<()> {
        let is_idle = self.is_open && self.n_started.get() == 0 && !self.is_split.get();
        self.require(is_idle, what, "open it, and wait for its transfers")
    }

    #[inline]
    fn require(&self, holds: bool, what: &str, remedy: &str) -> Result<()> {
        if holds {
            Ok(())
        } else {
            Err(self.invalid(format!("a file cannot be {what} now ({remedy})")))
        }
    }

    #[cold]
    fn invalid(&self, text: String) -> TransportError {
        TransportError::new(TransportErrorKind::InvalidArgument, text).on_rank(self.rank_of_job)
    }
}

impl<T: Transport> Drop for File<T> {
    fn drop(&mut self) {
        if self.n_started.get() > 0 || self.is_split.get() {
            self.raw.abandon();
        }
    }
}
