//! Memory from MPI, which the library moves fastest.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;
use std::sync::Arc;

use mpi::ffi;

use super::{Library, outcome};

/// Below this address nothing is mapped. MPICH 4.0 counts on from a null address that it does not
/// look at, and reports success.
const LOWEST_ADDRESS: usize = 4096;
/// Alignment of buffers of messages, in bytes.
pub(crate) const LINE_BYTES: usize = 64;
/// The same of parts of windows: where a library copies a part page by page, as Open MPI does through the
/// system, a piece that lies in two pages takes longer.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A message buffer from `MPI_Alloc_mem` (section 9.2); it keeps the library alive.
pub struct MpiBuffer {
    /// Block of the library, somewhat longer than the buffer.
    block: *mut u8,
    start: *mut u8,
    length_bytes: usize,
    /// True if the block is never freed.
    is_kept: Cell<bool>,
    _library: Arc<Library>,
}

impl MpiBuffer {
    /// `length_bytes` zeroed bytes that start at a multiple of `alignment`, a power of two, or `None` if there
    /// is not that much memory.
    pub(crate) fn new(
        library: &Arc<Library>,
        length_bytes: usize,
        alignment: usize,
    ) -> Option<Self> {
        let block_bytes = length_bytes.checked_add(alignment)?;
        let size = ffi::MPI_Aint::try_from(block_bytes).ok()?;
        let mut block: *mut u8 = std::ptr::null_mut();
        let written = (&raw mut block).cast::<c_void>();
        let info = constant!(RSMPI_INFO_NULL);
        // SAFETY: the library is initialised; the call writes the address of a block.
        let code = unsafe { ffi::MPI_Alloc_mem(size, info, written) };
        outcome("MPI_Alloc_mem", code).ok()?;
        if block.addr() < LOWEST_ADDRESS {
            return None;
        }
        let margin_bytes = block.align_offset(alignment).min(alignment);
        // SAFETY: the block is longer than the buffer by the most that the margin can be.
        let start = unsafe { block.add(margin_bytes) };
        // SAFETY: the buffer lies within the block, which nobody else knows.
        unsafe { start.write_bytes(0, length_bytes) };
        let is_kept = Cell::new(false);
        Some(Self { block, start, length_bytes, is_kept, _library: Arc::clone(library) })
    }

    /// The address of the first byte, without a reference to any.
    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        self.start
    }

    /// The length in bytes, likewise.
    #[inline]
    pub(super) fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    /// Keeps the memory to the end of the process.
    pub(super) fn keep(&self) {
        self.is_kept.set(true);
    }
}

impl Deref for MpiBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are initialised, and belong to this value until it is dropped.
        unsafe { slice::from_raw_parts(self.start, self.length_bytes) }
    }
}

impl DerefMut for MpiBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow of this value is the only way to them.
        unsafe { slice::from_raw_parts_mut(self.start, self.length_bytes) }
    }
}

impl Drop for MpiBuffer {
    fn drop(&mut self) {
        if self.is_kept.get() {
            return;
        }
        // SAFETY: the block came from the library, which is still initialised, and nothing borrows
        // it any more. What a failure would leave behind is memory alone.
        unsafe { ffi::MPI_Free_mem(self.block.cast()) };
    }
}

impl fmt::Debug for MpiBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MpiBuffer").field("length_bytes", &self.length_bytes).finish()
    }
}
