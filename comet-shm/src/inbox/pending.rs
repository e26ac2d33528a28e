//! A receive that waits for its message, and the buffer that it writes to.

use std::ptr;

use comet_core::transport::{Rank, Status, Tag};

use crate::remote_copy::{Gone, Place, RemoteCopy};

/// A receive that is not over.
pub(super) struct PendingRecv {
    pub(super) tag: Tag,
    pub(super) buffer: *mut u8,
    pub(super) capacity_bytes: usize,
    /// Status of the arrived message, once all of it has arrived.
    pub(super) arrived: Option<Status>,
}

impl PendingRecv {
    /// Writes `data` at `at`, as far as the buffer goes.
    pub(super) fn write(&mut self, at: usize, data: &[u8]) {
        let n = data.len().min(self.capacity_bytes.saturating_sub(at));
        if n == 0 {
            return;
        }
        // SAFETY: `at` is inside the buffer, since there is room for at least one byte.
        let place = unsafe { self.buffer.add(at) };
        // SAFETY: `n` bytes fit from there on; whoever started the receive keeps the buffer
        // writable, for nobody but receives into the same landing, until it is over, and `data` lies
        // in the ring or in a vector.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), place, n) };
    }

    /// Copies `n` bytes that lie `at` bytes after the start of a lent message to where they belong.
    pub(super) fn copy(
        &mut self,
        remote: RemoteCopy,
        lent: (Rank, Place),
        at: usize,
        n: usize,
    ) -> Result<(), Gone> {
        debug_assert!(at + n <= self.capacity_bytes);
        // SAFETY: `n` bytes fit from there on; whoever started the receive keeps the buffer
        // writable, for nobody but receives into the same landing, until it is over; the sender
        // leaves the message alone until its ticket is finished (or the job has failed: nobody
        // relies on what arrives any more).
        unsafe { remote.read(lent, at, self.buffer.wrapping_add(at), n) }
    }

    /// Notes that all of it has arrived.
    pub(super) fn finish(&mut self, source: Rank, length_bytes: usize) {
        self.arrived = Some(Status { source, tag: self.tag, length_bytes });
    }
}
