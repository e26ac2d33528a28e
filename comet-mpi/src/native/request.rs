//! Operations in flight.
//!
//! They are started with the lease of a scope, which promises that they are waited for before the
//! borrow of their buffer ends, or that the process ends first; so to start them is safe.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::slice;

use comet_core::transport::{Lease, Place, Rank, Source, Tag};
use mpi::ffi;

use super::comm::{Arrived, Comm, envelope, source_to_c, to_c};
use super::{Operation, Outcome, abort, empty_status, outcome};
use crate::transport::Mpi;

/// Code of a process that the library left with an operation that neither ended nor goes on.
const LOST: u8 = 1;

/// A send that was started.
pub(crate) struct Sending<'env> {
    request: Request,
    message: PhantomData<&'env [u8]>,
}

/// A receive that was started.
pub(crate) struct Receiving<'env> {
    request: Request,
    status: ffi::MPI_Status,
    start: *mut u8,
    /// Length of the buffer that is given back.
    returned_bytes: usize,
    place: PhantomData<Place<'env>>,
}

impl<'env> Sending<'env> {
    /// `MPI_Isend` (section 3.7.2).
    #[inline]
    pub(crate) fn start(
        _lease: Lease<Mpi>,
        comm: &Comm,
        message: &'env [u8],
        to: Rank,
        tag: Tag,
    ) -> Outcome<Self> {
        let start = message.as_ptr().cast();
        let request = Request::start(comm, "MPI_Isend", message.len(), |count, kind, request| {
            let (to, tag) = (to_c(to), c_int::from(tag.value()));
            // SAFETY: by the lease the message stays borrowed until the send has ended.
            unsafe { ffi::MPI_Isend(start, count, kind, to, tag, comm.raw(), request) }
        })?;
        Ok(Self { request, message: PhantomData })
    }

    /// Whether [`wait`](Self::wait) would return at once; makes progress.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.request.has_ended()
    }

    /// `MPI_Wait` (section 3.7.3), unless a set has waited.
    #[inline]
    pub(crate) fn wait(mut self) -> Outcome {
        let ignored = constant!(RSMPI_STATUS_IGNORE);
        self.request.wait(ignored)
    }
}

impl<'env> Receiving<'env> {
    /// `MPI_Irecv` (section 3.7.2). MPI does not allow two receives into one place at once, though
    /// OSU and IMB do so in their windows, and libraries only write what arrives; with a shared
    /// `place` CoMet does as they do, and reads nothing of it before all receives have ended.
    #[inline]
    pub(crate) fn start(
        _lease: Lease<Mpi>,
        comm: &Comm,
        mut place: Place<'env>,
        from: Source,
        tag: Tag,
    ) -> Outcome<Self> {
        let (capacity_bytes, returned_bytes) = (place.length_bytes(), place.returned_bytes());
        let start = place.start();
        let request = Request::start(comm, "MPI_Irecv", capacity_bytes, |count, kind, request| {
            let (from, tag) = (source_to_c(from), c_int::from(tag.value()));
            // SAFETY: by the lease the place stays borrowed until the receive has ended, and there
            // is no reference to its bytes: a shared one is made of cells.
            unsafe { ffi::MPI_Irecv(start.cast(), count, kind, from, tag, comm.raw(), request) }
        })?;
        let status = empty_status();
        Ok(Self { request, status, start, returned_bytes, place: PhantomData })
    }

    /// Whether [`wait`](Self::wait) would return at once; makes progress.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.request.has_ended()
    }

    /// `MPI_Wait` (section 3.7.3), unless a set has waited; gives the buffer back.
    #[inline]
    pub(crate) fn wait(mut self, comm: &Comm) -> (Arrived, &'env mut [u8]) {
        let ended = self.request.wait(&raw mut self.status);
        let status = &self.status;
        let arrived = ended.and_then(|()| comm.status(status));
        // SAFETY: pointer and length are those of the slice that `start` took for 'env, and the
        // operation, the only one to use them, is over; of a landing no byte is given back.
        let buffer = unsafe { slice::from_raw_parts_mut(self.start, self.returned_bytes) };
        (arrived.map_err(|failure| (failure, envelope(status))), buffer)
    }
}

impl Operation for Sending<'_> {
    fn request(&mut self) -> &mut Request {
        &mut self.request
    }

    fn keep(&mut self, _status: ffi::MPI_Status) {}
}

impl Operation for Receiving<'_> {
    fn request(&mut self) -> &mut Request {
        &mut self.request
    }

    fn keep(&mut self, status: ffi::MPI_Status) {
        self.status = status;
    }
}

/// The handle of an operation that was started.
pub(crate) struct Request {
    /// `MPI_REQUEST_NULL` once a set has waited for it.
    pub(super) raw: ffi::MPI_Request,
    /// The code of the operation, once a set has waited for it.
    pub(super) ended: Option<c_int>,
}

impl Request {
    /// Starts an operation on `length_bytes` bytes by `start`, which is the function `call`.
    #[inline]
    fn start(
        comm: &Comm,
        call: &'static str,
        length_bytes: usize,
        start: impl FnOnce(c_int, ffi::MPI_Datatype, *mut ffi::MPI_Request) -> c_int,
    ) -> Outcome<Self> {
        let mut request = constant!(RSMPI_REQUEST_NULL);
        let written = &raw mut request;
        let code = comm.with_type(length_bytes, |count, kind| start(count, kind, written))?;
        outcome(call, code)?;
        Ok(Self { raw: request, ended: None })
    }

    /// `MPI_Wait` (section 3.7.3), after which the operation is over, also if it failed; no call if
    /// a set has waited.
    #[inline]
    fn wait(&mut self, status: *mut ffi::MPI_Status) -> Outcome {
        if let Some(code) = self.ended {
            return outcome("MPI_Wait", code);
        }
        // SAFETY: the request was started, and neither a set has waited for it nor its owner, who
        // does so once.
        let ended = outcome("MPI_Wait", unsafe { ffi::MPI_Wait(&raw mut self.raw, status) });
        if ended.is_err() && self.raw != constant!(RSMPI_REQUEST_NULL) {
            // The library has not let go of the buffer, so nobody else may have it again.
            abort(LOST)
        }
        ended
    }

    /// `MPI_Request_get_status` (section 3.7.6), which makes progress as `MPI_Test` does, and
    /// leaves the request as it is. An operation that has failed has ended too.
    #[inline]
    fn has_ended(&self) -> bool {
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
