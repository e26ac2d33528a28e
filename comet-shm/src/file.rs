//! Files of ranks that are processes of one machine: `pread` and `pwrite`, and a pointer of all ranks in
//! the segment.
//!
//! ```text
//!   blocked     the call of the system, at the place of the pointer
//!   unblocked   a thread of the rank makes these calls one after the other; it begins with the first
//!   shared      a word in the heap of rank 0, on which each transfer adds its length beforehand
//!   ordered     the lengths of all ranks are gathered first, and rank 0 adds them up
//! ```
//!
//! A transfer of all ranks together needs nobody to wait, unless the pointer is that of all: MPI promises
//! no more.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use comet_core::collective::{self, Collective, Kind, Parts};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::file::{Cache, Plan, Pointer, RawFile, Sharing, Together, View};
use comet_core::transport::{Rank, Transport};
use crossbeam::channel::{Receiver, Sender, bounded};
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
    file: Option<Arc<std::fs::File>>,
    /// Shared by nobody but what is left behind after an error.
    memory: Rc<ShmBuffer>,
    memory_bytes: usize,
    view: Option<View>,
    own: Cell<u64>,
    /// The pointer of all ranks, and the memory in which it lies on rank 0.
    shared: &'static AtomicU64,
    _of_shared: Option<ShmBuffer>,
    /// Pointer and length of each rank in an ordered transfer, and the call that gathers them: made before, as
    /// transfers are timed.
    entries: RefCell<Vec<u8>>,
    gathering: Collective,
    max_in_flight: usize,
    n_in_flight: Cell<usize>,
    worker: OnceCell<Worker>,
}

/// Bytes of an entry.
const ENTRY_BYTES: usize = 2 * size_of::<u64>();

impl fmt::Debug for ShmFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShmFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A transfer between memory and file, one call of the system after the other.
struct Transfer {
    file: Arc<std::fs::File>,
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
    /// The memory is there until it returns, and nobody else writes to it, or uses it if this does not write
    /// the file.
    unsafe fn make(&self) -> io::Result<()> {
        let mut done = 0;
        while done < self.length_bytes {
            let (at, n) = self.piece(self.at + done as u64, self.length_bytes - done);
            let start = std::ptr::with_exposed_provenance_mut::<u8>(self.start + done);
            if self.writes {
                // SAFETY: by the caller's promise; the piece lies within the memory.
                self.file.write_all_at(unsafe { std::slice::from_raw_parts(start, n) }, at)?;
            } else {
                // SAFETY: as above.
                self.file.read_exact_at(unsafe { std::slice::from_raw_parts_mut(start, n) }, at)?;
            }
            done += n;
        }
        Ok(())
    }

    /// Place in the file of what lies at `at` in the view, and how many of `n` bytes follow it there.
    fn piece(&self, at: u64, n: usize) -> (u64, usize) {
        let Some(View { start, block_bytes, stride_bytes }) = self.view else { return (at, n) };
        let (block, within) = (at / block_bytes, at % block_bytes);
        let left = usize::try_from(block_bytes - within).unwrap_or(usize::MAX);
        (start + block * stride_bytes + within, n.min(left))
    }
}

impl Worker {
    fn start(max_in_flight: usize) -> io::Result<Self> {
        let (jobs, to_do) = bounded::<Transfer>(max_in_flight);
        let (done, ends) = bounded(max_in_flight);
        let work = move || {
            for transfer in to_do {
                // SAFETY: `File` keeps the memory, and lets nobody use it, until `wait_all` has taken the end
                // of this transfer; on an error it is kept to the end of the process.
                let end = unsafe { transfer.make() };
                if done.send(end).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("files".into()).spawn(work)?;
        Ok(Self { jobs, ends })
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
        let memory = t.message_buffer(memory_bytes);
        let (shared, of_shared) = shared_pointer(&t)?;
        let path = plan.path_on(t.global_rank(t.rank()));
        Ok(Self {
            entries: RefCell::new(vec![0; t.n_ranks() * ENTRY_BYTES]),
            gathering: Collective::new(Kind::Allgather, Parts::Equal(ENTRY_BYTES)),
            t,
            sharing: plan.sharing,
            cache: plan.cache,
            path,
            file: None,
            memory: Rc::new(memory?),
            memory_bytes,
            view: None,
            own: Cell::new(0),
            shared,
            _of_shared: of_shared,
            max_in_flight,
            n_in_flight: Cell::new(0),
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

    fn file(&self) -> &Arc<std::fs::File> {
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
        // Relaxed: nobody moves the pointer between the two meetings but rank 0, and the meetings order that.
        let base = self.shared.load(Ordering::Relaxed);
        let mut entries = self.entries.borrow_mut();
        let own = [base, n].map(u64::to_ne_bytes);
        t.collective(&self.gathering, own.as_flattened(), &mut entries)?;
        let word = |index: usize| u64::from_ne_bytes(entries.as_chunks().0[index]);
        let up_to = |rank: Rank| (0..rank).map(|rank| word(2 * rank + 1)).sum::<u64>();
        if rank == 0 {
            self.shared.fetch_add(up_to(t.n_ranks()), Ordering::Relaxed);
        }
        t.barrier()?;
        Ok(word(0) + up_to(rank))
    }

    #[inline]
    fn transfer(&self, writes: bool, bytes: &Range<usize>, at: u64) -> Transfer {
        let start = self.memory.as_ptr().expose_provenance() + bytes.start;
        let (file, view) = (Arc::clone(self.file()), self.view);
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
        // SAFETY: the memory is this file's, which is borrowed for the whole call; transfers in flight use
        // other bytes of it, or write the file as this one does.
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
            let worker = Worker::start(self.max_in_flight.max(1));
            let worker = worker.map_err(|error| self.refused("start a thread for", &error))?;
            let _ = self.worker.set(worker);
        }
        let jobs = &self.worker.get().expect("it was made above").jobs;
        let sent = jobs.send(self.transfer(writes, bytes, at));
        sent.expect("the thread lives as long as the file");
        self.n_in_flight.set(self.n_in_flight.get() + 1);
        Ok(())
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
        Rc::get_mut(&mut self.memory).expect("nobody shares it before it is left behind")
    }

    fn abandon(&self) {
        std::mem::forget(Rc::clone(&self.memory));
    }

    fn open(&mut self) -> Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        if self.cache == Cache::Direct {
            options.custom_flags(libc::O_DIRECT);
        }
        let opened = options.open(&self.path);
        if self.is_shared() {
            if self.t.rank() == 0 {
                // Relaxed: the barrier publishes it.
                self.shared.store(0, Ordering::Relaxed);
            }
            self.t.barrier()?;
        }
        let file = opened.map_err(|error| self.refused("open", &error))?;
        (self.file, self.view) = (Some(Arc::new(file)), None);
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
        self.start(true, &from, pointer, Together::Alone)
    }

    fn start_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(false, &into, pointer, Together::Alone)
    }

    fn wait_all(&self) -> Result<()> {
        let Some(worker) = self.worker.get() else { return Ok(()) };
        let mut first = Ok(());
        for _ in 0..self.n_in_flight.take() {
            let end = worker.ends.recv().expect("the thread lives as long as the file");
            first = first.and(end);
        }
        first.map_err(|error| self.refused("write or read", &error))
    }

    fn begin_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(true, &from, pointer, Together::All)
    }

    fn begin_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()> {
        self.start(false, &into, pointer, Together::All)
    }

    fn end(&self) -> Result<()> {
        self.wait_all()
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
        let file = self.file();
        file.sync_data().map_err(|error| self.refused("sync", &error))?;
        if self.cache == Cache::Drop {
            let advice = PosixFadviseAdvice::POSIX_FADV_DONTNEED;
            let dropped = posix_fadvise(&**file, 0, 0, advice);
            dropped.map_err(|errno| self.refused("drop from memory", &errno.into()))?;
        }
        Ok(())
    }

    fn set_length(&self, bytes: u64) -> Result<()> {
        self.on_first("give a length to", || self.file().set_len(bytes))
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        self.on_first("take room for", || {
            let bytes = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
            Ok(posix_fallocate(&**self.file(), 0, bytes)?)
        })
    }
}
