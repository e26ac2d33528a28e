//! The calls that move bytes: blocked, unblocked and split ones, at each pointer, alone and together.

use std::ffi::c_void;
use std::ops::Range;

use comet_core::error::Result;
use comet_core::file::{Pointer, Together};
use mpi::ffi;

use super::MpiFile;
use crate::native::comm::to_c;
use crate::native::datatype::with_bytes;
use crate::native::{Outcome, empty_status, outcome};

/// Transfers that were started, with room for all of them.
#[derive(Default)]
pub(super) struct InFlight {
    pub(super) requests: Vec<ffi::MPI_Request>,
    pub(super) statuses: Vec<ffi::MPI_Status>,
    /// Length of each transfer in bytes.
    pub(super) lengths: Vec<usize>,
}

/// A split transfer that was begun.
#[derive(Clone, Copy)]
pub(super) struct Split {
    writes: bool,
    pointer: Pointer,
    start: *mut c_void,
    length_bytes: usize,
}

impl MpiFile {
    /// One blocked transfer.
    #[inline]
    pub(super) fn make(
        &self,
        writes: bool,
        bytes: &Range<usize>,
        by: (Pointer, Together),
    ) -> Result<()> {
        use Pointer::{At, Own, Shared};
        use Together::{All, Alone};
        let (fh, buf) = (self.raw, self.place(bytes.start));
        let mut written = empty_status();
        let status = &raw mut written;
        let what = if writes { "write" } else { "read" };
        let transfer = |n, kind| {
            // SAFETY of all: the file is open, and the memory has these bytes, which nobody else uses during
            // the call, or only reads while this one does; the call writes the status.
            match (writes, by) {
                (true, (Own, Alone)) => call!(MPI_File_write(fh, buf, n, kind, status)),
                (true, (Own, All)) => call!(MPI_File_write_all(fh, buf, n, kind, status)),
                (true, (At(at), Alone)) => {
                    call!(MPI_File_write_at(fh, offset(at), buf, n, kind, status))
                }
                (true, (At(at), All)) => {
                    call!(MPI_File_write_at_all(fh, offset(at), buf, n, kind, status))
                }
                (true, (Shared, Alone)) => call!(MPI_File_write_shared(fh, buf, n, kind, status)),
                (true, (Shared, All)) => call!(MPI_File_write_ordered(fh, buf, n, kind, status)),
                (false, (Own, Alone)) => call!(MPI_File_read(fh, buf, n, kind, status)),
                (false, (Own, All)) => call!(MPI_File_read_all(fh, buf, n, kind, status)),
                (false, (At(at), Alone)) => {
                    call!(MPI_File_read_at(fh, offset(at), buf, n, kind, status))
                }
                (false, (At(at), All)) => {
                    call!(MPI_File_read_at_all(fh, offset(at), buf, n, kind, status))
                }
                (false, (Shared, Alone)) => call!(MPI_File_read_shared(fh, buf, n, kind, status)),
                (false, (Shared, All)) => call!(MPI_File_read_ordered(fh, buf, n, kind, status)),
            }
        };
        self.noted(what, || with_bytes(bytes.len(), transfer))?;
        self.require_all(what, &written, bytes.len())
    }

    /// Starts one unblocked transfer.
    #[inline]
    pub(super) fn start(&self, writes: bool, bytes: &Range<usize>, pointer: Pointer) -> Result<()> {
        use Pointer::{At, Own, Shared};
        let (fh, buf) = (self.raw, self.place(bytes.start));
        let mut started = constant!(RSMPI_REQUEST_NULL);
        let request = &raw mut started;
        let transfer = |n, kind| {
            // SAFETY of all: as in `make`, until `wait_all` has ended the transfer, or to the end of the process;
            // the call writes the request.
            match (writes, pointer) {
                (true, Own) => call!(MPI_File_iwrite(fh, buf, n, kind, request)),
                (true, At(at)) => {
                    call!(MPI_File_iwrite_at(fh, offset(at), buf, n, kind, request))
                }
                (true, Shared) => call!(MPI_File_iwrite_shared(fh, buf, n, kind, request)),
                (false, Own) => call!(MPI_File_iread(fh, buf, n, kind, request)),
                (false, At(at)) => {
                    call!(MPI_File_iread_at(fh, offset(at), buf, n, kind, request))
                }
                (false, Shared) => call!(MPI_File_iread_shared(fh, buf, n, kind, request)),
            }
        };
        let what = if writes { "start to write" } else { "start to read" };
        self.noted(what, || with_bytes(bytes.len(), transfer))?;
        let mut in_flight = self.in_flight.borrow_mut();
        in_flight.requests.push(started);
        in_flight.statuses.push(empty_status());
        in_flight.lengths.push(bytes.len());
        Ok(())
    }

    /// Begins one split transfer.
    #[inline]
    pub(super) fn begin(&self, writes: bool, bytes: &Range<usize>, pointer: Pointer) -> Result<()> {
        use Pointer::{At, Own, Shared};
        let (fh, buf) = (self.raw, self.place(bytes.start));
        let transfer = |n, kind| {
            // SAFETY of all: as in `make`, until `end` has ended the transfer, or to the end of the process.
            match (writes, pointer) {
                (true, Own) => call!(MPI_File_write_all_begin(fh, buf, n, kind)),
                (true, At(at)) => {
                    call!(MPI_File_write_at_all_begin(fh, offset(at), buf, n, kind))
                }
                (true, Shared) => call!(MPI_File_write_ordered_begin(fh, buf, n, kind)),
                (false, Own) => call!(MPI_File_read_all_begin(fh, buf, n, kind)),
                (false, At(at)) => {
                    call!(MPI_File_read_at_all_begin(fh, offset(at), buf, n, kind))
                }
                (false, Shared) => call!(MPI_File_read_ordered_begin(fh, buf, n, kind)),
            }
        };
        let what = if writes { "begin to write" } else { "begin to read" };
        self.noted(what, || with_bytes(bytes.len(), transfer))?;
        self.split.set(Some(Split { writes, pointer, start: buf, length_bytes: bytes.len() }));
        Ok(())
    }

    /// Ends `split`.
    #[inline]
    pub(super) fn finish(&self, split: Split) -> Result<()> {
        use Pointer::{At, Own, Shared};
        let Split { writes, pointer, start: buf, length_bytes } = split;
        let fh = self.raw;
        let mut written = empty_status();
        let status = &raw mut written;
        let what = if writes { "write" } else { "read" };
        // SAFETY of all: the transfer was begun with this memory, and has not been ended; the call writes the
        // status.
        let ended = self.noted(what, || match (writes, pointer) {
            (true, Own) => call!(MPI_File_write_all_end(fh, buf, status)),
            (true, At(_)) => call!(MPI_File_write_at_all_end(fh, buf, status)),
            (true, Shared) => call!(MPI_File_write_ordered_end(fh, buf, status)),
            (false, Own) => call!(MPI_File_read_all_end(fh, buf, status)),
            (false, At(_)) => call!(MPI_File_read_at_all_end(fh, buf, status)),
            (false, Shared) => call!(MPI_File_read_ordered_end(fh, buf, status)),
        });
        ended.and_then(|()| self.require_all(what, &written, length_bytes))
    }
}

impl InFlight {
    /// `MPI_Waitall`: the first error of the transfers, all of which have ended; and how many bytes each has
    /// moved is in its status then.
    pub(super) fn wait(&mut self) -> Outcome {
        let (n, requests) = (to_c(self.requests.len()), self.requests.as_mut_ptr());
        // SAFETY: the arrays have `n` elements; each request was started and has not been waited for.
        let ended = call!(MPI_Waitall(n, requests, self.statuses.as_mut_ptr()));
        let Err(failure) = ended else { return Ok(()) };
        let mut first = Err(failure);
        for (request, status) in self.requests.iter_mut().zip(&mut self.statuses) {
            let own = if *request == constant!(RSMPI_REQUEST_NULL) {
                outcome("MPI_Waitall", status.MPI_ERROR)
            } else {
                // SAFETY: the call for all has left this one pending.
                call!(MPI_Wait(&raw mut *request, &raw mut *status))
            };
            if failure.is_in_status() && first == Err(failure) && own.is_err() {
                first = own;
            }
        }
        first
    }
}

/// A place in a file; one that no file has where the library cannot name it.
#[inline]
pub(super) fn offset(bytes: u64) -> ffi::MPI_Offset {
    ffi::MPI_Offset::try_from(bytes).unwrap_or(ffi::MPI_Offset::MAX)
}
