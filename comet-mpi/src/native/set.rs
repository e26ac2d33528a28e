//! Sets of operations in flight, which the library waits for in one call (section 3.7.5).

use std::ffi::c_int;

use mpi::ffi;

use super::comm::to_c;
use super::request::Request;
use super::{empty_status, outcome};

/// The arrays of the calls, kept from one to the next.
#[derive(Default)]
pub(crate) struct Set {
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    indices: Vec<c_int>,
}

impl Set {
    /// `MPI_Waitall`. What the library leaves pending after an error is waited for later, alone.
    pub(crate) fn wait_all<P: AsMut<Request>>(&mut self, ops: &mut [Option<P>]) {
        let n = self.gather(ops);
        let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
        // SAFETY: the arrays have `n` elements; each request is null, or was started and has not
        // been waited for. Their buffers are borrowed by the operations.
        let code = unsafe { ffi::MPI_Waitall(n, requests, statuses) };
        for (index, op) in ops.iter_mut().enumerate() {
            let status = self.statuses[index];
            self.end(op, index, code_of(code, &status), status);
        }
    }

    /// `MPI_Waitany`: the index of an operation that has ended.
    pub(crate) fn wait_any<P: AsMut<Request>>(&mut self, ops: &mut [Option<P>]) -> Option<usize> {
        if let Some(index) = ops.iter_mut().position(has_been_waited_for) {
            return Some(index);
        }
        let n = self.gather(ops);
        let (mut found, mut status) = (ffi::MPI_UNDEFINED, empty_status());
        let (index, written) = (&raw mut found, &raw mut status);
        let requests = self.requests.as_mut_ptr();
        // SAFETY: as in `wait_all`; the call writes the index and the status.
        let code = unsafe { ffi::MPI_Waitany(n, requests, index, written) };
        let index = usize::try_from(found).ok().filter(|index| *index < ops.len());
        let Some(index) = index else {
            // The call has failed as a whole: any operation is then waited for alone.
            return ops.iter().position(Option::is_some);
        };
        self.end(&mut ops[index], index, code, status);
        Some(index)
    }

    /// `MPI_Waitsome`; marks the operations that have ended.
    pub(crate) fn wait_some<P: AsMut<Request>>(&mut self, ops: &mut [Option<P>]) {
        let n = self.gather(ops);
        let mut n_ended = 0;
        let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
        let (ended, indices) = (&raw mut n_ended, self.indices.as_mut_ptr());
        // SAFETY: as in `wait_all`; the array of indices has `n` elements too.
        let code = unsafe { ffi::MPI_Waitsome(n, requests, ended, indices, statuses) };
        // `MPI_UNDEFINED`, which is negative, if none was active.
        for place in 0..usize::try_from(n_ended).unwrap_or(0) {
            let (index, status) = (self.indices[place], self.statuses[place]);
            let Some(op) = usize::try_from(index).ok().and_then(|index| ops.get_mut(index)) else {
                continue;
            };
            let index = usize::try_from(index).unwrap_or(0);
            self.end(op, index, code_of(code, &status), status);
        }
    }

    /// Copies the handles of `ops` into the array, null for those that have ended; their number.
    fn gather<P: AsMut<Request>>(&mut self, ops: &mut [Option<P>]) -> c_int {
        let null = constant!(RSMPI_REQUEST_NULL);
        self.requests.clear();
        let raw = |op: &mut Option<P>| op.as_mut().map_or(null, |op| op.as_mut().raw);
        self.requests.extend(ops.iter_mut().map(raw));
        self.statuses.resize(ops.len(), empty_status());
        self.indices.resize(ops.len(), 0);
        to_c(ops.len())
    }

    /// Takes over what a call has left of operation `index`.
    fn end<P: AsMut<Request>>(
        &self,
        op: &mut Option<P>,
        index: usize,
        code: c_int,
        status: ffi::MPI_Status,
    ) {
        let null = constant!(RSMPI_REQUEST_NULL);
        let Some(op) = op.as_mut().map(AsMut::as_mut) else { return };
        let was_active = op.raw != null;
        op.raw = self.requests[index];
        if was_active && op.raw == null {
            (op.ended, op.status) = (Some(code), status);
        }
    }
}

/// `true` for an operation that an earlier call has ended.
pub(crate) fn has_been_waited_for<P: AsMut<Request>>(op: &mut Option<P>) -> bool {
    op.as_mut().is_some_and(|op| op.as_mut().ended.is_some())
}

/// The code of one operation, from that of its call and its status (section 3.7.5).
fn code_of(call: c_int, status: &ffi::MPI_Status) -> c_int {
    match outcome("MPI_Waitall", call) {
        Err(failure) if failure.is_in_status() => status.MPI_ERROR,
        _ => call,
    }
}
