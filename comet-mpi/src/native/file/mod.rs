//! Files, and the calls on them (chapter 14).
//!
//! ```text
//!   pointer    blocked, alone      blocked, together     unblocked            split
//!   own        MPI_File_write      MPI_File_write_all    MPI_File_iwrite      MPI_File_write_all_begin
//!   at         ..._write_at        ..._write_at_all      ..._iwrite_at        ..._write_at_all_begin
//!   shared     ..._write_shared    ..._write_ordered     ..._iwrite_shared    ..._write_ordered_begin
//! ```
//!
//! A private file is opened on `MPI_COMM_SELF`, so that the same calls serve both kinds. Everything is counted
//! in bytes, of which the status of each transfer says how many were moved.
//!
//! [`File`](comet_core::file::File) alone has an [`MpiFile`], and the unsafe code here relies on what it
//! guarantees: the memory has the bytes of a transfer, nobody looks at them while one is in flight, calls are
//! made on an open file, and a file whose transfers may go on is abandoned before it is dropped, which keeps
//! its memory.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::file::{Cache, Plan, Pointer, RawFile, Sharing, Together, View};
use comet_core::transport::{Group, Lease};
use comet_core::waiting::Waiting;
use mpi::ffi;
use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::comm::{Comm, to_c};
use super::datatype::in_blocks;
use super::{Failure, MpiBuffer, Outcome, outcome, written};
use crate::transport::Mpi;
use crate::vitals::Vitals;

/// One call of the library; the outcome.
///
/// Who uses it says why the call may be made with these arguments.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: as said where the macro is used.
        outcome(stringify!($name), unsafe { ffi::$name($($argument),*) })
    }};
}

mod hints;
mod transfer;

use hints::Hints;
use transfer::{InFlight, Split, offset};

/// One rank's side of a file, with the memory of its transfers.
pub struct MpiFile {
    /// Null while the file is closed.
    raw: ffi::MPI_File,
    comm: Rc<Comm>,
    group: Group,
    vitals: &'static Vitals,
    sharing: Sharing,
    cache: Cache,
    path: PathBuf,
    /// The path as the library takes it.
    name: CString,
    hints: Hints,
    /// True once all ranks that share the file have had it open.
    was_open: bool,
    /// The file once more, where what it holds is dropped from the system's memory; or why it is not there.
    cached: Option<io::Result<std::fs::File>>,
    memory: MpiBuffer,
    max_in_flight: usize,
    in_flight: RefCell<InFlight>,
    split: Cell<Option<Split>>,
}

impl MpiFile {
    /// A closed file of the ranks of `comm`, which is the communicator of `group`. The lease is the promise
    /// that a [`File`](comet_core::file::File) alone uses it.
    pub(crate) fn new(
        _lease: Lease<Mpi>,
        comm: &Rc<Comm>,
        group: &Group,
        vitals: &'static Vitals,
        plan: &Plan,
        (memory, max_in_flight): (MpiBuffer, usize),
    ) -> Result<Self> {
        let refused = |text: String| {
            group.located(TransportError::new(TransportErrorKind::InvalidArgument, text))
        };
        let path = plan.path_on(group.global(group.rank()));
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|error| refused(format!("{}: {error}", path.display())))?;
        let hints = Hints::new(&plan.hints);
        let hints =
            hints.map_err(|error| refused(format!("the library refuses a hint, {error}")))?;
        let (null, returned) = (constant!(RSMPI_FILE_NULL), constant!(RSMPI_ERRORS_RETURN));
        // SAFETY: files that are opened from now on inherit the handler of the null file (section 14.7), which
        // is this one unless the program has said otherwise.
        let set = call!(MPI_File_set_errhandler(null, returned));
        set.map_err(|failure| refused(failure.text()))?;
        let in_flight = RefCell::new(InFlight {
            requests: Vec::with_capacity(max_in_flight),
            statuses: Vec::with_capacity(max_in_flight),
            lengths: Vec::with_capacity(max_in_flight),
        });
        Ok(Self {
            raw: constant!(RSMPI_FILE_NULL),
            comm: Rc::clone(comm),
            group: group.clone(),
            vitals,
            sharing: plan.sharing,
            cache: plan.cache,
            path,
            name,
            hints,
            was_open: false,
            cached: None,
            memory,
            max_in_flight,
            in_flight,
            split: Cell::new(None),
        })
    }

    /// Error of the library while it did `what`.
    #[cold]
    fn refused(&self, what: &str, reason: &str) -> TransportError {
        let text = format!("cannot {what} {}: {reason}", self.path.display());
        self.group.located(TransportError::new(TransportErrorKind::Storage, text))
    }

    /// Makes `call`, which does `what`, with a note for the guard.
    #[inline]
    fn noted(&self, what: &str, call: impl FnOnce() -> Outcome) -> Result<()> {
        self.vitals.enter(Waiting::File);
        let outcome = call();
        self.vitals.leave();
        outcome.map_err(|failure| self.refused(what, &reason(failure)))
    }

    /// Address of byte `at` of the memory.
    #[inline]
    fn place(&self, at: usize) -> *mut c_void {
        self.memory.start().wrapping_add(at).cast()
    }

    /// An error if `status` says that fewer than `length_bytes` bytes were moved.
    #[inline]
    fn require_all(&self, what: &str, status: &ffi::MPI_Status, length_bytes: usize) -> Result<()> {
        let byte = constant!(RSMPI_UINT8_T);
        let count = |count| {
            // SAFETY: the status was written by the library; the call writes the count.
            unsafe { ffi::MPI_Get_elements_x(status, byte, count) }
        };
        let moved = written("MPI_Get_elements_x", 0, count);
        let moved = moved.map_err(|failure| self.refused(what, &reason(failure)))?;
        if usize::try_from(moved) == Ok(length_bytes) {
            return Ok(());
        }
        let text = format!("{moved} bytes of {length_bytes} were moved");
        Err(self.refused(what, &text))
    }

    /// The communicator on which the file is opened.
    fn opened_on(&self) -> ffi::MPI_Comm {
        match self.sharing {
            Sharing::All => self.comm.raw(),
            Sharing::Private => constant!(RSMPI_COMM_SELF),
        }
    }

    /// Waits for the other ranks that use the file.
    fn meet(&self) -> Outcome {
        match self.sharing {
            Sharing::All => self.comm.barrier(),
            Sharing::Private => Ok(()),
        }
    }

    /// The greatest code of the ranks that share the file, before its first call or behind it.
    fn greatest(&self, code: c_int) -> Outcome<c_int> {
        match self.sharing {
            Sharing::All if !self.was_open => self.comm.largest(code),
            _ => Ok(code),
        }
    }

    /// Opens the file without the library: ranks that can wait in Open MPI's call for one that cannot.
    fn require_access(&self) -> Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let code = |error: io::Error| error.raw_os_error().unwrap_or(Errno::EIO as c_int);
        let own = options.open(&self.path).err().map_or(0, code);
        let mut found = 0;
        self.noted("open", || self.greatest(own).map(|greatest| found = greatest))?;
        let error = io::Error::from_raw_os_error(found);
        match found {
            0 => Ok(()),
            _ if found == own => Err(self.refused("open", &error.to_string())),
            _ => Err(self.refused("open", &format!("{error} on another rank"))),
        }
    }
}

impl RawFile for MpiFile {
    fn path(&self) -> &Path {
        &self.path
    }

    #[inline]
    fn memory_bytes(&self) -> usize {
        self.memory.length_bytes()
    }

    #[inline]
    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    fn abandon(&self) {
        self.memory.keep();
    }

    /// One call, which may be timed; the first time the ranks agree before and after it.
    fn open(&mut self) -> Result<()> {
        if !self.was_open {
            self.require_access()?;
        }
        let (comm, name, hints) = (self.opened_on(), self.name.as_ptr(), self.hints.0);
        let mode = to_c((ffi::MPI_MODE_CREATE | ffi::MPI_MODE_RDWR) as usize);
        let mut raw = constant!(RSMPI_FILE_NULL);
        let written = &raw mut raw;
        self.noted("open", || {
            // SAFETY: the path ends with a zero; the call writes the handle.
            let own = call!(MPI_File_open(comm, name, mode, hints, written));
            // A class is a code that all ranks know.
            match self.greatest(own.err().map_or(0, Failure::class))? {
                code @ 1.. if own.is_ok() => Err(Failure { call: "MPI_File_open", code }),
                _ => own,
            }
        })?;
        (self.raw, self.was_open) = (raw, true);
        self.cached = (self.cache == Cache::Drop).then(|| std::fs::File::open(&self.path));
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.cached = None;
        let mut raw = std::mem::replace(&mut self.raw, constant!(RSMPI_FILE_NULL));
        let file = &raw mut raw;
        // SAFETY: the file is open, and no transfer is in flight.
        self.noted("close", || call!(MPI_File_close(file)))
    }

    fn remove(&self) -> Result<()> {
        let is_first = self.sharing == Sharing::Private || self.group.rank() == 0;
        let (name, hints) = (self.name.as_ptr(), self.hints.0);
        let removed = match is_first && self.path.exists() {
            // SAFETY: the path ends with a zero.
            true => self.noted("remove", || call!(MPI_File_delete(name, hints))),
            false => Ok(()),
        };
        self.noted("remove", || self.meet())?;
        removed
    }

    #[inline]
    fn write(&self, from: Range<usize>, pointer: Pointer, together: Together) -> Result<()> {
        self.make(true, &from, (pointer, together))
    }

    #[inline]
    fn read(&self, into: Range<usize>, pointer: Pointer, together: Together) -> Result<()> {
        self.make(false, &into, (pointer, together))
    }

    #[inline]
    fn start_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(true, &from, pointer)
    }

    #[inline]
    fn start_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(false, &into, pointer)
    }

    #[inline]
    fn wait_all(&self) -> Result<()> {
        let mut in_flight = self.in_flight.borrow_mut();
        let mut ended = self.noted("write or read", || in_flight.wait());
        for (status, length_bytes) in in_flight.statuses.iter().zip(&in_flight.lengths) {
            if ended.is_ok() {
                ended = self.require_all("write or read", status, *length_bytes);
            }
        }
        in_flight.requests.clear();
        in_flight.statuses.clear();
        in_flight.lengths.clear();
        ended
    }

    #[inline]
    fn begin_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.begin(true, &from, pointer)
    }

    #[inline]
    fn begin_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.begin(false, &into, pointer)
    }

    #[inline]
    fn end(&self) -> Result<()> {
        self.split.take().map_or(Ok(()), |split| self.finish(split))
    }

    fn set_view(&mut self, view: Option<View>) -> Result<()> {
        let (file, info) = (self.raw, self.hints.0);
        let byte = constant!(RSMPI_UINT8_T);
        let set = |start: u64, kind| {
            // SAFETY: the types are committed and the text ends with a zero; none is used after the call.
            call!(MPI_File_set_view(file, offset(start), byte, kind, c"native".as_ptr(), info))
        };
        self.noted("show a part of", || match view {
            None => set(0, byte),
            Some(View { start, block_bytes, stride_bytes }) => {
                in_blocks(block_bytes, stride_bytes, |kind| set(start, kind))
            }
        })
    }

    /// `MPI_File_seek`, or `MPI_File_seek_shared` behind a barrier: the library lets ranks that are early
    /// move the pointer under the transfers of others.
    fn rewind(&self, pointer: Pointer) -> Result<()> {
        let (file, whence) = (self.raw, to_c(ffi::MPI_SEEK_SET as usize));
        self.noted("move to the start of", || match pointer {
            Pointer::Shared => {
                self.meet()?;
                // SAFETY: the file is open, and all ranks that share it come here.
                call!(MPI_File_seek_shared(file, 0, whence))
            }
            // SAFETY: the file is open.
            _ => call!(MPI_File_seek(file, 0, whence)),
        })
    }

    #[inline]
    fn sync(&self) -> Result<()> {
        // SAFETY: the file is open.
        self.noted("sync", || call!(MPI_File_sync(self.raw)))
    }

    fn drop_cached(&self) -> Result<()> {
        let Some(file) = &self.cached else { return Ok(()) };
        let said = |error: &io::Error| self.refused("open once more", &error.to_string());
        let file = file.as_ref().map_err(said)?;
        let dropped = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        let said = |errno: Errno| io::Error::from(errno).to_string();
        dropped.map_err(|errno| self.refused("drop from memory", &said(errno)))
    }

    fn set_length(&self, bytes: u64) -> Result<()> {
        // SAFETY: the file is open.
        self.noted("give a length to", || call!(MPI_File_set_size(self.raw, offset(bytes))))
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        // SAFETY: the file is open.
        self.noted("take room for", || call!(MPI_File_preallocate(self.raw, offset(bytes))))
    }
}

impl fmt::Debug for MpiFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The library's message, in one line, and the error of the system that its class stands for.
#[cold]
fn reason(failure: Failure) -> String {
    let said = failure.text();
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = format!("{} failed: {}", failure.call, said.join(" "));
    let class = failure.class();
    let of: [(u32, Errno); 7] = [
        (ffi::MPI_ERR_NO_SPACE, Errno::ENOSPC),
        (ffi::MPI_ERR_NO_SUCH_FILE, Errno::ENOENT),
        (ffi::MPI_ERR_ACCESS, Errno::EACCES),
        (ffi::MPI_ERR_QUOTA, Errno::EDQUOT),
        (ffi::MPI_ERR_READ_ONLY, Errno::EROFS),
        (ffi::MPI_ERR_FILE_EXISTS, Errno::EEXIST),
        (ffi::MPI_ERR_BAD_FILE, Errno::ENAMETOOLONG),
    ];
    let errno = of.iter().find(|(of, _)| c_int::try_from(*of) == Ok(class));
    errno.map_or(said.clone(), |(_, errno)| format!("{said} ({errno})"))
}
