//! Windows, and the calls on them (chapter 12).
//!
//! ```text
//!   memory       open                                    displacement of byte 0    part
//!   Created      MPI_Win_create                          0                         a message buffer
//!   Allocated    MPI_Win_allocate, zeroed, a barrier     0                         the library's, while open
//!   Dynamic      MPI_Win_create_dynamic, MPI_Win_attach, its address there         a message buffer
//!                a barrier
//! ```
//!
//! [`Window`](comet_core::window::Window) alone has an [`MpiWindow`], and the unsafe code here relies on what
//! it guarantees: places exist on both sides, epochs are open where a call needs them, the origin is not
//! looked at while transfers are in flight, and a window that others or transfers may still use is abandoned
//! before it is dropped, which keeps its memory.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use comet_core::collective::{Element, Reducer};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Group, Lease, Rank, Source};
use comet_core::waiting::Waiting;
use comet_core::window::{Fence, Lock, Memory, RawWindow, Remote};
use mpi::ffi;

use super::collective::{kind_of, operator};
use super::comm::{Comm, to_c};
use super::{MpiBuffer, MpiPeers, Outcome, outcome};
use crate::job::is_open_mpi_4;
use crate::transport::{Mpi, failed};
use crate::vitals::Vitals;

/// Multiple of bytes that the library is asked for: MPICH 4.0 misplaces parts of another length.
const UNIT_BYTES: usize = 16;

/// One call on the window, which waits for the ranks `$peer`; the outcome as an error of the transport.
///
/// Who uses it says why the call may be made with these arguments.
macro_rules! call {
    ($window:expr, $peer:expr, $name:ident($($argument:expr),*)) => {
        $window.call($peer, || {
            // SAFETY: as said where the macro is used.
            outcome(stringify!($name), unsafe { ffi::$name($($argument,)* $window.raw) })
        })
    };
}

/// One rank's side of a window, with its memory.
pub struct MpiWindow {
    /// Null while the window is closed.
    raw: ffi::MPI_Win,
    comm: Rc<Comm>,
    group: Group,
    vitals: &'static Vitals,
    memory: Memory,
    /// The part, or no byte where the library has it.
    buffer: MpiBuffer,
    /// Start of the part; null while the library has none.
    part: *mut u8,
    part_bytes: usize,
    origin: MpiBuffer,
    /// Displacement of byte 0 of the part of each rank.
    starts: Box<[ffi::MPI_Aint]>,
    /// The rank with which swaps of 8 bytes are refused, if any: this one, where they crash the library.
    unswappable: Option<Rank>,
}

/// Parts and origins of windows, as they are made.
pub(crate) struct Parts {
    pub(crate) memory: Memory,
    /// The part, or no byte if the library has it.
    pub(crate) buffer: MpiBuffer,
    pub(crate) part_bytes: usize,
    pub(crate) origin: MpiBuffer,
    /// See [`Comm::starts`].
    pub(crate) starts: Box<[ffi::MPI_Aint]>,
}

impl MpiWindow {
    /// A closed window with `parts`, among the ranks of `comm`, which is the communicator of `group`. The
    /// lease is the promise that a [`Window`](comet_core::window::Window) alone uses it.
    pub(crate) fn new(
        _lease: Lease<Mpi>,
        comm: &Rc<Comm>,
        group: &Group,
        vitals: &'static Vitals,
        parts: Parts,
    ) -> Self {
        let Parts { memory, buffer, part_bytes, origin, starts } = parts;
        let is_own = memory != Memory::Allocated;
        Self {
            raw: constant!(RSMPI_WIN_NULL),
            comm: Rc::clone(comm),
            group: group.clone(),
            vitals,
            memory,
            part: if is_own { buffer.start() } else { ptr::null_mut() },
            buffer,
            part_bytes,
            origin,
            starts,
            // Open MPI 4.1.4 sends them to itself over a connection that it has not made.
            unswappable: is_open_mpi_4().then_some(group.rank()),
        }
    }

    #[cold]
    fn refused_swap(&self) -> TransportError {
        let text = "a swap of 8 bytes with the rank itself crashes Open MPI 4 (swap 4 bytes, or with another \
                    rank)";
        self.group.located(TransportError::new(TransportErrorKind::Unsupported, text))
    }

    /// Makes `call` with a note for the guard that it waits for `peer`.
    #[inline]
    fn call(&self, peer: Source, call: impl FnOnce() -> Outcome) -> Result<()> {
        self.vitals.enter(Waiting::Window(self.group.source(peer)));
        let outcome = call();
        self.vitals.leave();
        outcome.map_err(|failure| failed(&self.group, failure))
    }

    /// The address of byte `at` of the origin.
    #[inline]
    fn own(&self, at: usize) -> *mut c_void {
        self.origin.start().wrapping_add(at).cast()
    }

    /// Rank and displacement of a place.
    #[inline]
    fn target(&self, Remote { rank, at }: Remote) -> (c_int, ffi::MPI_Aint) {
        (to_c(rank), self.starts[rank].wrapping_add(displacement(at)))
    }

    /// Starts a transfer of `length_bytes` bytes by `start`, which is called `name`.
    #[inline]
    fn transfer(
        &self,
        name: &'static str,
        target: Rank,
        length_bytes: usize,
        start: impl FnOnce(c_int, ffi::MPI_Datatype) -> c_int,
    ) -> Result<()> {
        self.call(Source::Rank(target), || {
            let (n_elements, kind) = self.comm.counted(length_bytes);
            let code = if n_elements <= self.comm.max_count() {
                start(to_c(n_elements), kind)
            } else {
                self.comm.with_long_type(length_bytes, start)?
            };
            outcome(name, code)
        })
    }

    /// Makes `call` with the number of elements of `length_bytes` bytes, and 0; in pieces where an `int` does
    /// not hold their number, with what precedes each, in bytes: an accumulation is one of each element.
    #[inline]
    fn in_pieces(
        &self,
        length_bytes: usize,
        element: Element,
        mut call: impl FnMut(c_int, usize) -> Result<()>,
    ) -> Result<()> {
        let (shift, most) = (element.bytes().trailing_zeros(), self.comm.max_count());
        let n_elements = length_bytes >> shift;
        if n_elements <= most {
            return call(to_c(n_elements), 0);
        }
        let mut starts = (0..n_elements).step_by(most);
        starts.try_for_each(|start| call(to_c((n_elements - start).min(most)), start << shift))
    }

    /// Makes the window, and the part reachable.
    fn make(&mut self) -> Outcome {
        let (comm, info) = (self.comm.raw(), constant!(RSMPI_INFO_NULL));
        let (part, win) = (self.part.cast::<c_void>(), &raw mut self.raw);
        let unit = if self.memory == Memory::Allocated { UNIT_BYTES } else { 1 };
        // No memory is longer than half of all addresses; the library refuses what is no length.
        let size = self.part_bytes.checked_next_multiple_of(unit);
        let size = size.and_then(|size| ffi::MPI_Aint::try_from(size).ok()).unwrap_or(-1);
        match self.memory {
            Memory::Created => {
                // SAFETY: the part has that many bytes, and outlives the window: it is freed only after
                // `close`, and kept if the window is abandoned before. Nobody has a reference to it.
                let code = unsafe { ffi::MPI_Win_create(part, size, 1, info, comm, win) };
                outcome("MPI_Win_create", code)?;
            }
            Memory::Allocated => {
                let base = (&raw mut self.part).cast();
                // SAFETY: the call writes the handle, and the address of as many bytes.
                let code = unsafe { ffi::MPI_Win_allocate(size, 1, info, comm, base, win) };
                outcome("MPI_Win_allocate", code)?;
            }
            Memory::Dynamic => {
                // SAFETY: the call writes the handle.
                let code = unsafe { ffi::MPI_Win_create_dynamic(info, comm, win) };
                outcome("MPI_Win_create_dynamic", code)?;
            }
        }
        let returned = constant!(RSMPI_ERRORS_RETURN);
        // SAFETY: the window has just been made. The handler is one of the window itself, since windows have
        // none of their communicator (section 9.3.2).
        let code = unsafe { ffi::MPI_Win_set_errhandler(self.raw, returned) };
        outcome("MPI_Win_set_errhandler", code)?;
        match self.memory {
            Memory::Created => return Ok(()),
            Memory::Allocated if self.part_bytes > 0 => {
                // SAFETY: the library has given that many bytes to this rank, and the others come to
                // them only after the barrier.
                unsafe { self.part.write_bytes(0, self.part_bytes) };
            }
            Memory::Dynamic if self.part_bytes > 0 => {
                // SAFETY: as in `MPI_Win_create`.
                let code = unsafe { ffi::MPI_Win_attach(self.raw, part, size) };
                outcome("MPI_Win_attach", code)?;
            }
            _ => (),
        }
        self.comm.barrier()
    }

    /// Start of `n_bytes` bytes of the part from `at` on.
    fn own_part(&self, at: usize, n_bytes: usize) -> *mut u8 {
        assert!(
            n_bytes == 0 || !self.part.is_null(),
            "a closed window has no memory of the library"
        );
        self.part.wrapping_add(at)
    }
}

impl RawWindow for MpiWindow {
    type Peers = MpiPeers;

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
        let from = self.own_part(at, into.len()).cast_const();
        // SAFETY: the part has that many bytes from there on, which were zeroed, and is another memory than
        // the slice. Bytes that another rank writes meanwhile are copied as they are found.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
    }

    fn write(&mut self, at: usize, from: &[u8]) {
        let into = self.own_part(at, from.len());
        // SAFETY: the part has that many bytes from there on, is another memory than the slice, and there
        // is no reference to it.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) };
    }

    #[inline]
    fn open(&mut self) -> Result<()> {
        self.vitals.enter(Waiting::Collective(Source::Any));
        let made = self.make();
        self.vitals.leave();
        made.map_err(|failure| {
            // The window may be there, and `Window` does not take it for open.
            self.abandon();
            failed(&self.group, failure)
        })
    }

    #[inline]
    fn close(&mut self) -> Result<()> {
        let win = &raw mut self.raw;
        self.vitals.enter(Waiting::Collective(Source::Any));
        // SAFETY: the window is open, and in no epoch. After the call no rank reaches the part any more.
        let code = unsafe { ffi::MPI_Win_free(win) };
        self.vitals.leave();
        outcome("MPI_Win_free", code).map_err(|failure| failed(&self.group, failure))?;
        if self.memory == Memory::Allocated {
            self.part = ptr::null_mut();
        }
        Ok(())
    }

    fn abandon(&self) {
        self.buffer.keep();
        self.origin.keep();
    }

    #[inline]
    fn put(&self, from: Range<usize>, to: Remote) -> Result<()> {
        let (own, (rank, at)) = (self.own(from.start), self.target(to));
        self.transfer("MPI_Put", to.rank, from.len(), |n, kind| {
            // SAFETY: the bytes lie in the origin, which nobody writes and which lives until the transfer has
            // ended, and the part of the target has as many at that place.
            unsafe { ffi::MPI_Put(own, n, kind, rank, at, n, kind, self.raw) }
        })
    }

    #[inline]
    fn get(&self, into: Range<usize>, from: Remote) -> Result<()> {
        let (own, (rank, at)) = (self.own(into.start), self.target(from));
        self.transfer("MPI_Get", from.rank, into.len(), |n, kind| {
            // SAFETY: as in `put`, and there is no reference to the origin until the transfer has ended.
            unsafe { ffi::MPI_Get(own, n, kind, rank, at, n, kind, self.raw) }
        })
    }

    /// `MPI_Accumulate`, several times for more than 2^31 - 1 elements.
    #[inline]
    fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()> {
        let (kind, op) = (kind_of(by.element()), operator(by));
        self.in_pieces(from.len(), by.element(), |n, offset| {
            let own = self.own(from.start + offset);
            let (rank, at) = self.target(Remote { at: to.at + offset, ..to });
            // SAFETY: as in `put`.
            call!(self, Source::Rank(to.rank), MPI_Accumulate(own, n, kind, rank, at, n, kind, op))
        })
    }

    /// `MPI_Get_accumulate`, several times for more than 2^31 - 1 elements.
    #[inline]
    fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        let (kind, op) = (kind_of(by.element()), operator(by));
        self.in_pieces(from.len(), by.element(), |n, offset| {
            let (own, result) = (self.own(from.start + offset), self.own(fetched + offset));
            let (rank, at) = self.target(Remote { at: to.at + offset, ..to });
            // SAFETY: as in `get`; what is fetched is another part of the origin than what is added.
            call!(
                self,
                Source::Rank(to.rank),
                MPI_Get_accumulate(own, n, kind, result, n, kind, rank, at, n, kind, op)
            )
        })
    }

    #[inline]
    fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()> {
        let (kind, op) = (kind_of(by.element()), operator(by));
        let (own, result, (rank, at)) = (self.own(from), self.own(fetched), self.target(to));
        // SAFETY: as in `get_accumulate`, of one element.
        call!(self, Source::Rank(to.rank), MPI_Fetch_and_op(own, result, kind, rank, at, op))
    }

    #[inline]
    fn compare_and_swap(
        &self,
        [expected, new, fetched]: [usize; 3],
        to: Remote,
        of: Element,
    ) -> Result<()> {
        if self.unswappable == Some(to.rank) && of.bytes() == 8 {
            return Err(self.refused_swap());
        }
        let (kind, (rank, at)) = (kind_of(of), self.target(to));
        let [expected, new, fetched] = [expected, new, fetched].map(|place| self.own(place));
        // SAFETY: as in `get_accumulate`, of three elements that do not overlap.
        call!(
            self,
            Source::Rank(to.rank),
            MPI_Compare_and_swap(new, expected, fetched, kind, rank, at)
        )
    }

    #[inline]
    fn fence(&self, fence: Fence) -> Result<()> {
        let assertion = match fence {
            Fence::Between => 0,
            Fence::First => ffi::MPI_MODE_NOPRECEDE.cast_signed(),
            Fence::Last => ffi::MPI_MODE_NOSUCCEED.cast_signed(),
        };
        // SAFETY: the window is open, and in no epoch of another kind.
        call!(self, Source::Any, MPI_Win_fence(assertion))
    }

    #[inline]
    fn lock(&self, target: Rank, lock: Lock) -> Result<()> {
        let kind = match lock {
            Lock::Shared => ffi::MPI_LOCK_SHARED.cast_signed(),
            Lock::Exclusive => ffi::MPI_LOCK_EXCLUSIVE.cast_signed(),
        };
        // SAFETY: the window is open, and has such a rank, which this one has not locked.
        call!(self, Source::Rank(target), MPI_Win_lock(kind, to_c(target), 0))
    }

    #[inline]
    fn unlock(&self, target: Rank) -> Result<()> {
        // SAFETY: this rank has locked the target.
        call!(self, Source::Rank(target), MPI_Win_unlock(to_c(target)))
    }

    #[inline]
    fn lock_all(&self) -> Result<()> {
        // SAFETY: the window is open, and this rank in no epoch.
        call!(self, Source::Any, MPI_Win_lock_all(0))
    }

    #[inline]
    fn unlock_all(&self) -> Result<()> {
        // SAFETY: this rank has locked all.
        call!(self, Source::Any, MPI_Win_unlock_all())
    }

    #[inline]
    fn flush(&self, target: Rank) -> Result<()> {
        // SAFETY: this rank has locked the target.
        call!(self, Source::Rank(target), MPI_Win_flush(to_c(target)))
    }

    #[inline]
    fn flush_local(&self, target: Rank) -> Result<()> {
        // SAFETY: this rank has locked the target.
        call!(self, Source::Rank(target), MPI_Win_flush_local(to_c(target)))
    }

    #[inline]
    fn flush_all(&self) -> Result<()> {
        // SAFETY: this rank has locked a rank, or all.
        call!(self, Source::Any, MPI_Win_flush_all())
    }

    #[inline]
    fn flush_local_all(&self) -> Result<()> {
        // SAFETY: this rank has locked a rank, or all.
        call!(self, Source::Any, MPI_Win_flush_local_all())
    }

    fn peers(&self, ranks: &[Rank]) -> Result<MpiPeers> {
        self.comm.peers(ranks).map_err(|failure| failed(&self.group, failure))
    }

    #[inline]
    fn post(&self, origins: &MpiPeers) -> Result<()> {
        // SAFETY: the window is open and not posted, and the group one of its ranks.
        call!(self, Source::Any, MPI_Win_post(origins.raw, 0))
    }

    #[inline]
    fn start(&self, targets: &MpiPeers) -> Result<()> {
        // SAFETY: the window is open, this rank in no epoch, and the group one of its ranks.
        call!(self, Source::Any, MPI_Win_start(targets.raw, 0))
    }

    #[inline]
    fn complete(&self) -> Result<()> {
        // SAFETY: this rank has started an access.
        call!(self, Source::Any, MPI_Win_complete())
    }

    #[inline]
    fn wait(&self) -> Result<()> {
        // SAFETY: this rank has posted.
        call!(self, Source::Any, MPI_Win_wait())
    }

    #[inline]
    fn test(&self) -> Result<bool> {
        let mut has_ended = 0;
        let flag = &raw mut has_ended;
        self.call(Source::Any, || {
            // SAFETY: this rank has posted, and the call writes the flag.
            outcome("MPI_Win_test", unsafe { ffi::MPI_Win_test(self.raw, flag) })
        })?;
        Ok(has_ended != 0)
    }
}

impl fmt::Debug for MpiWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiWindow")
            .field("memory", &self.memory)
            .field("part_bytes", &self.part_bytes)
            .field("origin_bytes", &self.origin.length_bytes())
            .finish_non_exhaustive()
    }
}

/// A place in a part as a displacement.
#[inline]
#[expect(clippy::cast_possible_wrap, reason = "no memory is longer than half of all addresses")]
fn displacement(at: usize) -> ffi::MPI_Aint {
    at as ffi::MPI_Aint
}
