//! Sends in a mode, and the memory of buffered ones.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{mem, ptr};

use comet_core::transport::{Rank, SendMode, Tag};
use mpi::ffi;

use super::comm::{Comm, to_c};
use super::{Outcome, outcome};

/// A blocked send of the library, and its name.
type Blocked = unsafe extern "C" fn(
    *const c_void,
    c_int,
    ffi::MPI_Datatype,
    c_int,
    c_int,
    ffi::MPI_Comm,
) -> c_int;

/// An unblocked send of the library.
pub(super) type Unblocked = unsafe extern "C" fn(
    *const c_void,
    c_int,
    ffi::MPI_Datatype,
    c_int,
    c_int,
    ffi::MPI_Comm,
    *mut ffi::MPI_Request,
) -> c_int;

/// The blocked send in `mode` (section 3.4).
#[inline(always)]
fn blocked(mode: SendMode) -> (&'static str, Blocked) {
    match mode {
        SendMode::Standard => ("MPI_Send", ffi::MPI_Send),
        SendMode::Synchronous => ("MPI_Ssend", ffi::MPI_Ssend),
        SendMode::Buffered => ("MPI_Bsend", ffi::MPI_Bsend),
        SendMode::Ready => ("MPI_Rsend", ffi::MPI_Rsend),
    }
}

/// The unblocked send in `mode` (section 3.7.2).
#[inline(always)]
pub(super) fn unblocked(mode: SendMode) -> (&'static str, Unblocked) {
    match mode {
        SendMode::Standard => ("MPI_Isend", ffi::MPI_Isend),
        SendMode::Synchronous => ("MPI_Issend", ffi::MPI_Issend),
        SendMode::Buffered => ("MPI_Ibsend", ffi::MPI_Ibsend),
        SendMode::Ready => ("MPI_Irsend", ffi::MPI_Irsend),
    }
}

impl Comm {
    /// `MPI_Send`, `MPI_Ssend`, `MPI_Bsend` or `MPI_Rsend`.
    #[inline(always)]
    pub(crate) fn send_in(&self, mode: SendMode, message: &[u8], to: Rank, tag: Tag) -> Outcome {
        let (name, send) = blocked(mode);
        let start = message.as_ptr().cast();
        let (to, tag) = (to_c(to), c_int::from(tag.value()));
        let code = self.with_type(message.len(), move |count, kind| {
            // SAFETY: the message is borrowed for the whole call, which reads no more than its length.
            unsafe { send(start, count, kind, to, tag, self.raw()) }
        })?;
        outcome(name, code)
    }
}

/// The memory that is attached for buffered sends; a process has one for all of its communicators.
#[derive(Default)]
pub(crate) struct Room {
    memory: Mutex<Vec<u8>>,
    /// Length of the memory, which sends look at.
    // Relaxed: a thread that sends has attached the memory, or was started after that.
    attached_bytes: AtomicUsize,
}

impl Room {
    /// Bytes for `n_messages` of `length_bytes`, and for the library to align the first; `None` beyond what an
    /// `int` counts.
    pub(crate) fn bytes(n_messages: usize, length_bytes: usize) -> Option<usize> {
        let overhead = ffi::MPI_BSEND_OVERHEAD as usize;
        let each = length_bytes.checked_add(overhead)?;
        let each = each.checked_next_multiple_of(align_of::<u128>())?;
        let all = each.checked_mul(n_messages)?.checked_add(overhead)?;
        c_int::try_from(all).is_ok().then_some(all)
    }

    /// True if a message of `length_bytes` fits into what is attached.
    #[inline]
    pub(crate) fn holds(&self, length_bytes: usize) -> bool {
        Self::bytes(1, length_bytes).is_some_and(|bytes| bytes <= self.attached_bytes())
    }

    /// `MPI_Buffer_attach` (section 3.6) of `length_bytes`, after `MPI_Buffer_detach` if fewer are attached.
    pub(crate) fn attach(&self, length_bytes: usize) -> Outcome {
        let mut memory = self.lock();
        if memory.len() >= length_bytes {
            return Ok(());
        }
        self.detach_from(&mut memory)?;
        let mut new = vec![0; length_bytes];
        let start = new.as_mut_ptr().cast::<c_void>();
        // SAFETY: nothing is attached, as the lock holds other threads off; the memory is kept until it is
        // detached, and nothing else uses it.
        let code = unsafe { ffi::MPI_Buffer_attach(start, to_c(length_bytes)) };
        outcome("MPI_Buffer_attach", code)?;
        *memory = new;
        self.attached_bytes.store(length_bytes, Ordering::Relaxed);
        Ok(())
    }

    /// `MPI_Buffer_detach`, which waits until the messages in the memory have left; nothing without memory.
    pub(crate) fn detach(&self) -> Outcome {
        self.detach_from(&mut self.lock())
    }

    fn detach_from(&self, memory: &mut Vec<u8>) -> Outcome {
        if memory.is_empty() {
            return Ok(());
        }
        self.attached_bytes.store(0, Ordering::Relaxed);
        let (mut start, mut length): (*mut c_void, c_int) = (ptr::null_mut(), 0);
        // SAFETY: memory is attached; the call writes its place, which is known, and its length.
        let code = unsafe { ffi::MPI_Buffer_detach((&raw mut start).cast(), &raw mut length) };
        outcome("MPI_Buffer_detach", code)?;
        *memory = Vec::new();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attached_bytes(&self) -> usize {
        self.attached_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !mpi::environment::is_finalized() && self.detach().is_ok() {
            return;
        }
        // What the library may still read is left where it is.
        let memory = self.memory.get_mut().unwrap_or_else(PoisonError::into_inner);
        mem::forget(mem::take(memory));
    }
}
