//! Files of ranks that are processes of one machine: `pread` and `pwrite`, and a pointer of all ranks in
//! the segment.
//!
//! ```text
//!   blocked     the call of the system, at the place of the pointer
//!   unblocked   a thread of the rank makes these calls one after the other; it begins with the first
//!   shared      a word in the heap of rank 0, on which each transfer adds its length beforehand
//!   ordered     the lengths of all ranks are gathered first, and rank 0 adds their sum and says to what
//! ```
//!
//! A transfer of all ranks together needs nobody to wait, unless the pointer is that of all: MPI promises
//! no more.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;

use comet_core::collective::{self, Collective, Kind, Parts};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::file::{Cache, DIRECT_UNIT_BYTES, Plan, Pointer, RawFile, Sharing, Together, View};
use comet_core::transport::Transport;
use comet_core::words::no_thread;
use crossbeam::channel::{Receiver, Sender, bounded};
use nix::errno::Errno;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise, posix_fallocate};
use nix::libc;

use crate::heap::ShmBuffer;
use crate::sync::{AtomicU64, Ordering};
use crate::transport::Shm;

/// One rank's side of a file.
pub struct ShmFile {
    t: Shm,
    sharing: Sharing,
    cache: Cache,
    path: PathBuf,
    /// This and the buffer are shared by nobody but what is left behind after an error.
    file: Option<Rc<std::fs::File>>,
    buffer: Rc<ShmBuffer>,
    /// Start of the memory in the buffer, and its length.
    memory_at: usize,
    memory_bytes: usize,
    view: Option<View>,
    own: Cell<u64>,
    /// The pointer of all ranks, and the memory in which it lies on rank 0.
    shared: &'static AtomicU64,
    _of_shared: Option<ShmBuffer>,
    /// Length of each rank in an ordered transfer, and the call that gathers them: made before, as transfers are
    /// timed.
    entries: RefCell<Vec<u8>>,
    gathering: Collective,
    max_in_flight: usize,
    /// Unblocked transfers whose ends have not been taken, and the first error of those that have been since the
    /// last wait.
    n_in_flight: Cell<usize>,
    ended: Cell<io::Result<()>>,
    worker: OnceCell<Worker>,
}

/// Bytes of an entry.
const ENTRY_BYTES: usize = size_of::<u64>();

/// Alignment of the memory in bytes, as transfers past the system's memory need it.
const ALIGN_BYTES: usize = DIRECT_UNIT_BYTES;

impl fmt::Debug for ShmFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShmFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A transfer between memory and file, one call of the system after the other.
struct Transfer {
    file: RawFd,
    writes: bool,
    /// Address of the memory.
    start: usize,
    length_bytes: usize,
    /// Place in the view.
    at: u64,
    view: Option<View>,
}

/// The thread of a rank that makes unblocked transfers.
struct Worker {
    jobs: Sender<Transfer>,
    ends: Receiver<io::Result<()>>,
}

impl Transfer {
    /// Makes the transfer.
    ///
    /// # Safety
    /// File and memory are there until it returns, and nobody has a reference to the memory. Other transfers may
    /// use the same bytes: the system alone comes to them, and they hold anything then.
    unsafe fn make(&self) -> io::Result<()> {
        let mut done = 0;
        while done < self.length_bytes {
            let place = self.at.checked_add(done as u64);
            let place = place.and_then(|at| self.piece(at, self.length_bytes - done));
            let (at, n) = place.ok_or_else(|| io::Error::from(Errno::EOVERFLOW))?;
            let start = std::ptr::with_exposed_provenance_mut::<u8>(self.start + done).cast();
            let moved = if self.writes {
                // SAFETY: by the caller's promise; the piece lies within the memory.
                unsafe { libc::pwrite(self.file, start, n, at) }
            } else {
                // SAFETY: as above.
                unsafe { libc::pread(self.file, start, n, at) }
            };
            match usize::try_from(moved) {
                Ok(0) if self.writes => return Err(io::ErrorKind::WriteZero.into()),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => done += n,
                Err(_) if Errno::last() == Errno::EINTR => (),
                Err(_) => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }

    /// Place in the file of what lies at `at` in the view, and how many of `n` bytes follow it there; `None` where
    /// no file has such a place.
    fn piece(&self, at: u64, n: usize) -> Option<(libc::off_t, usize)> {
        let (at, n) = match self.view {
            None => (at, n),
            Some(View { start, block_bytes, stride_bytes }) => {
                let (block, within) = (at / block_bytes, at % block_bytes);
                let left = usize::try_from(block_bytes - within).unwrap_or(usize::MAX);
                let at =
                    block.checked_mul(stride_bytes)?.checked_add(start)?.checked_add(within)?;
                (at, n.min(left))
            }
        };
        Some((libc::off_t::try_from(at).ok()?, n))
    }
}

impl Worker {
    fn start(max_in_flight: usize) -> io::Result<Self> {
        // And a split one.
        let (jobs, to_do) = bounded::<Transfer>(max_in_flight + 1);
        let (done, ends) = bounded(max_in_flight + 1);
        let work = move || {
            for transfer in to_do {
                // SAFETY: `File` keeps the memory and the open file, and gives out no reference, until `wait_all` or
                // `end` has taken the end of this transfer; on an error both are kept to the end of the process.
                let end = unsafe { transfer.make() };
                if done.send(end).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("files".into()).spawn(work)?;
        Ok(Self { jobs, ends })
    }

    /// Waits for the next end; transfers end in the order in which they were started.
    fn take_end(&self) -> io::Result<()> {
        self.ends.recv().expect("the thread lives as long as the file")
    }
}

impl ShmFile {
    /// A closed file; all ranks of `t` make it.
    pub(crate) fn new(
        t: Shm,
        plan: &Plan,
        memory_bytes: usize,
        max_in_flight: usize,
    ) -> Result<Self> {
        let buffer = t.message_buffer(memory_bytes.saturating_add(ALIGN_BYTES));
        let (shared, of_shared) = shared_pointer(&t)?;
        let path = plan.path_on(t.global_rank(t.rank()));
        let buffer = buffer?;
        let memory_at = buffer.start().addr().next_multiple_of(ALIGN_BYTES) - buffer.start().addr();
        Ok(Self {
            entries: RefCell::new(vec![0; t.n_ranks() * ENTRY_BYTES]),
            gathering: Collective::new(Kind::Allgather, Parts::Equal(ENTRY_BYTES)),
            t,
            sharing: plan.sharing,
            cache: plan.cache,
            path,
            file: None,
            buffer: Rc::new(buffer),
            memory_at,
            memory_bytes,
            view: None,
            own: Cell::new(0),
            shared,
            _of_shared: of_shared,
            max_in_flight,
            n_in_flight: Cell::new(0),
            ended: Cell::new(Ok(())),
            worker: OnceCell::new(),
        })
    }

    /// Error of the system while it did `what`.
    #[cold]
    fn refused(&self, what: &str, error: &io::Error) -> TransportError {
        let text = format!("cannot {what} {}: {error}", self.path.display());
        let rank = self.t.global_rank(self.t.rank());
        TransportError::new(TransportErrorKind::Storage, text).on_rank(rank)
    }

    fn file(&self) -> &std::fs::File {
        self.file.as_ref().expect("a file is open between its two calls")
    }

    fn is_shared(&self) -> bool {
        self.sharing == Sharing::All
    }

    /// Place in the view of a transfer of `n` bytes, which moves its pointer on.
    #[inline]
    fn place(&self, pointer: Pointer, together: Together, n: usize) -> Result<u64> {
        let n = n as u64;
        match (pointer, together) {
            (Pointer::Own, _) => Ok(self.own.replace(self.own.get() + n)),
            (Pointer::At(at), _) => Ok(at),
            // Relaxed: a number for each, and nothing is published with it.
            (Pointer::Shared, _) if !self.is_shared() => Ok(self.own.replace(self.own.get() + n)),
            (Pointer::Shared, Together::Alone) => Ok(self.shared.fetch_add(n, Ordering::Relaxed)),
            (Pointer::Shared, Together::All) => self.ordered_place(n),
        }
    }

    /// Place behind what the ranks below this one transfer.
    fn ordered_place(&self, n: u64) -> Result<u64> {
        let (t, rank) = (&self.t, self.t.rank());
        let mut entries = self.entries.borrow_mut();
        t.collective(&self.gathering, &n.to_ne_bytes(), &mut entries)?;
        let lengths = entries.as_chunks().0.iter().map(|entry| u64::from_ne_bytes(*entry));
        let mut base = 0;
        if rank == 0 {
            // Relaxed: as for a rank alone, among whose transfers this one takes its place.
            base = self.shared.fetch_add(lengths.clone().sum(), Ordering::Relaxed);
        }
        let mut message = base.to_ne_bytes();
        t.blocked_broadcast(0, &mut message)?;
        Ok(u64::from_ne_bytes(message) + lengths.take(rank).sum::<u64>())
    }

    #[inline]
    fn transfer(&self, writes: bool, bytes: &Range<usize>, at: u64) -> Transfer {
        let start = self.buffer.start().expose_provenance() + self.memory_at + bytes.start;
        let (file, view) = (self.file().as_raw_fd(), self.view);
        Transfer { file, writes, start, length_bytes: bytes.len(), at, view }
    }

    #[inline]
    fn make(
        &self,
        writes: bool,
        bytes: &Range<usize>,
        pointer: Pointer,
        together: Together,
    ) -> Result<()> {
        let at = self.place(pointer, together, bytes.len())?;
        let transfer = self.transfer(writes, bytes, at);
        // SAFETY: both are this file's, which is borrowed for the whole call, and a reference to its memory borrows
        // it to be changed.
        let made = unsafe { transfer.make() };
        made.map_err(|error| self.refused(if writes { "write" } else { "read" }, &error))
    }

    fn start(
        &self,
        writes: bool,
        bytes: &Range<usize>,
        pointer: Pointer,
        together: Together,
    ) -> Result<()> {
        let at = self.place(pointer, together, bytes.len())?;
        if self.worker.get().is_none() {
            let worker = Worker::start(self.max_in_flight);
            let no_worker = |error| io::Error::other(no_thread(error));
            let worker =
                worker.map_err(|error| self.refused("write or read", &no_worker(error)))?;
            let _ = self.worker.set(worker);
        }
        let jobs = &self.worker.get().expect("it was made above").jobs;
        let sent = jobs.send(self.transfer(writes, bytes, at));
        sent.expect("the thread lives as long as the file");
        Ok(())
    }

    /// Starts an unblocked transfer.
    fn start_alone(&self, writes: bool, bytes: &Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(writes, bytes, pointer, Together::Alone)?;
        self.n_in_flight.set(self.n_in_flight.get() + 1);
        Ok(())
    }

    /// Takes the ends of all unblocked transfers.
    fn take_ends(&self, worker: &Worker) {
        for _ in 0..self.n_in_flight.take() {
            self.ended.set(self.ended.replace(Ok(())).and(worker.take_end()));
        }
    }

    /// The outcome of transfers that have ended.
    fn outcome(&self, ended: io::Result<()>) -> Result<()> {
        ended.map_err(|error| self.refused("write or read", &error))
    }

    /// Does `what` on one rank for all that share the file, and has the others wait.
    fn on_first(&self, what: &str, act: impl FnOnce() -> io::Result<()>) -> Result<()> {
        let is_first = !self.is_shared() || self.t.rank() == 0;
        let done = if is_first { act() } else { Ok(()) };
        if self.is_shared() {
            self.t.barrier()?;
        }
        done.map_err(|error| self.refused(what, &error))
    }
}

/// The pointer of all ranks of `t`, which is 0, and on rank 0 its memory.
fn shared_pointer(t: &Shm) -> Result<(&'static AtomicU64, Option<ShmBuffer>)> {
    const NOWHERE: u64 = u64::MAX;
    let memory = (t.rank() == 0).then(|| t.message_buffer(size_of::<u64>()).ok()).flatten();
    let place = memory.as_ref().and_then(|memory| t.segment().heap_offset(memory.as_ptr(), 8));
    let [place] = collective::share(t, [place.map_or(NOWHERE, |place| place as u64)])?[0];
    let Some(place) = usize::try_from(place).ok().filter(|_| place != NOWHERE) else {
        let text =
            "the heap of rank 0 has no room for the pointer of a file (ask for shorter messages)";
        return Err(TransportError::new(TransportErrorKind::OutOfResources, text));
    };
    let pointer = t.segment().heap_pointer(place, 8).cast::<AtomicU64>();
    // SAFETY: a message buffer is aligned to 128 bytes, was zeroed before its place was told, and is used as this
    // word alone until rank 0 gives it back: when it drops the file, as all ranks do at one place. The segment is
    // never unmapped.
    Ok((unsafe { &*pointer }, memory))
}

impl RawFile for ShmFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    fn memory(&mut self) -> &mut [u8] {
        let buffer =
            Rc::get_mut(&mut self.buffer).expect("nobody shares it before it is left behind");
        &mut buffer[self.memory_at..][..self.memory_bytes]
    }

    fn abandon(&self) {
        std::mem::forget((self.file.clone(), Rc::clone(&self.buffer)));
    }

    fn open(&mut self) -> Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        if self.cache == Cache::Direct {
            options.custom_flags(libc::O_DIRECT);
        }
        let opened = options.open(&self.path);
        let mut n_failed = f64::from(u8::from(opened.is_err()));
        if self.is_shared() {
            if self.t.rank() == 0 {
                // Relaxed: the sum publishes it.
                self.shared.store(0, Ordering::Relaxed);
            }
            n_failed = self.t.global_sum(n_failed)?;
        }
        let file = opened.map_err(|error| self.refused("open", &error))?;
        if n_failed > 0.0 {
            let error = io::Error::other(format!("{n_failed} of the ranks that share it cannot"));
            return Err(self.refused("open", &error));
        }
        (self.file, self.view) = (Some(Rc::new(file)), None);
        self.own.set(0);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.file = None;
        if self.is_shared() { self.t.barrier() } else { Ok(()) }
    }

    fn remove(&self) -> Result<()> {
        self.on_first("remove", || match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    #[inline]
    fn write(&self, from: Range<usize>, pointer: Pointer, together: Together) -> Result<()> {
        self.make(true, &from, pointer, together)
    }

    #[inline]
    fn read(&self, into: Range<usize>, pointer: Pointer, together: Together) -> Result<()> {
        self.make(false, &into, pointer, together)
    }

    fn start_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start_alone(true, &from, pointer)
    }

    fn start_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start_alone(false, &into, pointer)
    }

    fn wait_all(&self) -> Result<()> {
        let Some(worker) = self.worker.get() else { return Ok(()) };
        self.take_ends(worker);
        self.outcome(self.ended.replace(Ok(())))
    }

    fn begin_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(true, &from, pointer, Together::All)
    }

    fn begin_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(false, &into, pointer, Together::All)
    }

    fn end(&self) -> Result<()> {
        let Some(worker) = self.worker.get() else { return Ok(()) };
        // All that were started before end before.
        self.take_ends(worker);
        self.outcome(worker.take_end())
    }

    fn set_view(&mut self, view: Option<View>) -> Result<()> {
        self.view = view;
        self.own.set(0);
        self.rewind(Pointer::Shared)
    }

    fn rewind(&self, pointer: Pointer) -> Result<()> {
        if pointer == Pointer::Shared && self.is_shared() {
            self.t.barrier()?;
            if self.t.rank() == 0 {
                // Relaxed: the barriers about it order it with the transfers of all ranks.
                self.shared.store(0, Ordering::Relaxed);
            }
            return self.t.barrier();
        }
        self.own.set(0);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.file().sync_data().map_err(|error| self.refused("sync", &error))
    }

    fn drop_cached(&self) -> Result<()> {
        let dropped = posix_fadvise(self.file(), 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        dropped.map_err(|errno| self.refused("drop from memory", &errno.into()))
    }

    fn set_length(&self, bytes: u64) -> Result<()> {
        self.on_first("give a length to", || self.file().set_len(bytes))
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        self.on_first("take room for", || {
            let bytes = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
            Ok(posix_fallocate(self.file(), 0, bytes)?)
        })
    }
}
