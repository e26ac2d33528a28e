//! Operations in flight.
//!
//! They are started with the lease of a scope, which promises that they are waited for before the
//! borrow of their buffer ends, or that the process ends first; so to start them is safe. The library
//! waits for a set of them in one call (section 3.7.5).

use std::ffi::c_int;
use std::marker::PhantomData;
use std::slice;

use comet_core::transport::{Lease, Place, Rank, Source, Tag};
use comet_core::waiting::Waiting;
use mpi::ffi;

use super::comm::{Arrived, Comm, envelope, source_to_c, to_c};
use super::{Outcome, abort, empty_status, outcome};
use crate::transport::Mpi;

/// Code of a process that the library left with an operation that neither ended nor goes on.
const LOST: u8 = 1;

/// A send in flight.
#[derive(Debug)]
pub struct MpiSend<'env> {
    request: Request,
    message: PhantomData<&'env [u8]>,
}

/// A receive in flight; it holds the borrow of its buffer.
#[derive(Debug)]
pub struct MpiRecv<'env> {
    request: Request,
    pub(crate) source: Source,
    pub(crate) capacity_bytes: usize,
    start: *mut u8,
    /// Length of the buffer that is given back.
    returned_bytes: usize,
    place: PhantomData<Place<'env>>,
}

impl<'env> MpiSend<'env> {
    /// `MPI_Isend` (section 3.7.2).
    #[inline]
    pub(crate) fn start(
        _lease: Lease<Mpi>,
        comm: &Comm,
        message: &'env [u8],
        (to, tag): (Rank, Tag),
        waiting: Waiting,
    ) -> Outcome<Self> {
        let (start, length_bytes) = (message.as_ptr().cast(), message.len());
        let send = |count, kind, request| {
            let (to, tag) = (to_c(to), c_int::from(tag.value()));
            // SAFETY: by the lease the message stays borrowed until the send has ended.
            unsafe { ffi::MPI_Isend(start, count, kind, to, tag, comm.raw(), request) }
        };
        let request = Request::start(comm, "MPI_Isend", length_bytes, waiting, send)?;
        Ok(Self { request, message: PhantomData })
    }
}

impl<'env> MpiRecv<'env> {
    /// `MPI_Irecv` (section 3.7.2). MPI does not allow two receives into one place at once, though
    /// OSU and IMB do so in their windows, and libraries only write what arrives; with a shared
    /// `place` CoMet does as they do, and reads nothing of it before all receives have ended.
    #[inline]
    pub(crate) fn start(
        _lease: Lease<Mpi>,
        comm: &Comm,
        mut place: Place<'env>,
        (source, tag): (Source, Tag),
        waiting: Waiting,
    ) -> Outcome<Self> {
        let (capacity_bytes, returned_bytes) = (place.length_bytes(), place.returned_bytes());
        let start = place.start();
        let recv = |count, kind, request| {
            let (from, tag) = (source_to_c(source), c_int::from(tag.value()));
            // SAFETY: by the lease the place stays borrowed until the receive has ended, and there
            // is no reference to its bytes: a shared one is made of cells.
            unsafe { ffi::MPI_Irecv(start.cast(), count, kind, from, tag, comm.raw(), request) }
        };
        let request = Request::start(comm, "MPI_Irecv", capacity_bytes, waiting, recv)?;
        Ok(Self { request, source, capacity_bytes, start, returned_bytes, place: PhantomData })
    }

    /// Waits for the message, and gives the buffer back.
    #[inline]
    pub(crate) fn wait(mut self, comm: &Comm) -> (Arrived, &'env mut [u8]) {
        let ended = self.request.wait();
        let status = &self.request.status;
        let arrived = ended.and_then(|()| comm.status(status));
        // SAFETY: pointer and length are those of the slice that `start` took for 'env, and the
        // operation, the only one to use them, is over; of a landing no byte is given back.
        let buffer = unsafe { slice::from_raw_parts_mut(self.start, self.returned_bytes) };
        (arrived.map_err(|failure| (failure, envelope(status))), buffer)
    }
}

impl AsMut<Request> for MpiSend<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

impl AsMut<Request> for MpiRecv<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

/// The handle of an operation that was started.
#[derive(Debug)]
pub(crate) struct Request {
    /// `MPI_REQUEST_NULL` once a set has waited for it.
    pub(super) raw: ffi::MPI_Request,
    /// The code of the operation, once a set has waited for it.
    pub(super) ended: Option<c_int>,
    /// Status of the operation, once it has been waited for.
    pub(super) status: ffi::MPI_Status,
    /// The wait for it, in the terms of the guard.
    pub(crate) waiting: Waiting,
}

impl Request {
    /// Starts an operation on `length_bytes` bytes by `start`, which is the function `call`.
    #[inline]
    fn start(
        comm: &Comm,
        call: &'static str,
        length_bytes: usize,
        waiting: Waiting,
        start: impl FnOnce(c_int, ffi::MPI_Datatype, *mut ffi::MPI_Request) -> c_int,
    ) -> Outcome<Self> {
        let mut raw = constant!(RSMPI_REQUEST_NULL);
        let written = &raw mut raw;
        let code = comm.with_type(length_bytes, |count, kind| start(count, kind, written))?;
        outcome(call, code)?;
        Ok(Self { raw, ended: None, status: empty_status(), waiting })
    }

    /// `MPI_Wait` (section 3.7.3), after which the operation is over, also if it failed; no call if
    /// a set has waited.
    #[inline]
    pub(crate) fn wait(&mut self) -> Outcome {
        if let Some(code) = self.ended {
            return outcome("MPI_Wait", code);
        }
        let status = &raw mut self.status;
        // SAFETY: the request was started, and neither a set has waited for it nor its owner, who
        // does so once.
        let ended = outcome("MPI_Wait", unsafe { ffi::MPI_Wait(&raw mut self.raw, status) });
        if ended.is_err() && self.raw != constant!(RSMPI_REQUEST_NULL) {
            // The library has not let go of the buffer, so nobody else may have it again.
            abort(LOST)
        }
        ended
    }

    /// True if [`wait`](Self::wait) would return at once: `MPI_Request_get_status` (section 3.7.6),
    /// which makes progress as `MPI_Test` does, and leaves the request as it is. An operation that
    /// has failed has ended too.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        if self.ended.is_some() {
            return true;
        }
        let (mut flag, mut status) = (0, empty_status());
        let (ended, ignored) = (&raw mut flag, &raw mut status);
        // SAFETY: the request was started and has not been waited for; the call writes the flag,
        // and the status if it is set.
        let code = unsafe { ffi::MPI_Request_get_status(self.raw, ended, ignored) };
        flag != 0 || outcome("MPI_Request_get_status", code).is_err()
    }
}

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
