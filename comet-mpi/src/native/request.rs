//! Operations in flight.
//!
//! They are started with the lease of a scope, which promises that they are waited for before the
//! borrow of their buffer ends, or that the process ends first; so to start them is safe. The library
//! waits for a set of them in one call (section 3.7.5).

use std::ffi::c_int;
use std::marker::PhantomData;
use std::{ptr, slice};

use comet_core::collective::Collective;
use comet_core::transport::{Lease, Outgoing, Place, Rank, SendMode, Source, Tag};
use comet_core::waiting::Waiting;
use mpi::ffi;

use super::comm::{Arrived, Comm, envelope, source_to_c, tag_to_c, to_c};
use super::issue::Way;
use super::modes::unblocked;
use super::refused::Refused;
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
    start: *mut u8,
    /// Length of the buffer that is given back.
    returned_bytes: usize,
    place: PhantomData<Place<'env>>,
}

/// A collective in flight; it holds the borrows of its buffers, and of the lengths and places of their parts.
#[derive(Debug)]
pub struct MpiCall<'env> {
    request: Request,
    buffers: PhantomData<(&'env Collective, &'env [u8], &'env mut [u8])>,
}

impl<'env> MpiCall<'env> {
    /// `MPI_Ibcast` and its like (section 6.12), on `rank`; the buffers are as long as
    /// [`Collective::admit`] wants them.
    #[inline]
    pub(crate) fn start(
        _lease: Lease<Mpi>,
        comm: &Comm,
        call: &'env Collective,
        rank: Rank,
        (input, output): (&'env [u8], &'env mut [u8]),
    ) -> Result<Self, Refused> {
        let mut raw = constant!(RSMPI_REQUEST_NULL);
        // By the lease the buffers, the lengths and the places stay borrowed until the call has ended.
        comm.issue(call, rank, input, output, Way::Started(&raw mut raw))?;
        let waiting = Waiting::pack(Some(Waiting::Collective(Source::Any)));
        Ok(Self { request: Request { raw, waiting }, buffers: PhantomData })
    }
}

impl<'env> MpiSend<'env> {
    /// `MPI_Isend`, `MPI_Issend`, `MPI_Ibsend` or `MPI_Irsend`.
    #[inline(always)]
    pub(crate) fn start_in(
        lease: Lease<Mpi>,
        comm: &Comm,
        mode: SendMode,
        message: &'env [u8],
        envelope: (Rank, Tag),
        waiting: Waiting,
    ) -> Outcome<Self> {
        let message = (message.as_ptr(), message.len());
        Self::start_at(lease, comm, mode, message, envelope, waiting)
    }

    /// The same out of memory that others are received into before or after.
    #[inline]
    pub(crate) fn start_from(
        lease: Lease<Mpi>,
        comm: &Comm,
        message: Outgoing<'env>,
        (to, tag): (Rank, Tag),
        waiting: Waiting,
    ) -> Outcome<Self> {
        let message = (message.start(), message.length_bytes());
        Self::start_at(lease, comm, SendMode::Standard, message, (to, tag), waiting)
    }

    /// The same of a start and a length, which are those of a message that is borrowed for 'env.
    #[inline(always)]
    fn start_at(
        _lease: Lease<Mpi>,
        comm: &Comm,
        mode: SendMode,
        (start, length_bytes): (*const u8, usize),
        (to, tag): (Rank, Tag),
        waiting: Waiting,
    ) -> Outcome<Self> {
        let (start, (name, send)) = (start.cast(), unblocked(mode));
        let (to, tag) = (to_c(to), c_int::from(tag.value()));
        let send = move |count, kind, request| {
            // SAFETY: by the lease the message stays borrowed until the send has ended, and who has the
            // memory writes nothing to it until then.
            unsafe { send(start, count, kind, to, tag, comm.raw(), request) }
        };
        let request = Request::start(name, waiting, move |request| {
            comm.with_type(length_bytes, move |count, kind| send(count, kind, request))
        })?;
        Ok(Self { request, message: PhantomData })
    }
}

impl<'env> MpiRecv<'env> {
    /// `MPI_Irecv` (section 3.7.2). MPI does not allow two receives into one place at once, though
    /// OSU and IMB do so in their windows, and libraries only write what arrives; with a shared
    /// `place` CoMet does as they do, and reads nothing of it before all receives have ended.
    #[inline(always)]
    pub(crate) fn start(
        _lease: Lease<Mpi>,
        comm: &Comm,
        mut place: Place<'env>,
        (source, tag): (Source, Tag),
        waiting: Waiting,
    ) -> Outcome<Self> {
        let (capacity_bytes, returned_bytes) = (place.length_bytes(), place.returned_bytes());
        let start = place.start();
        let (from, tag) = (source_to_c(source), tag_to_c(tag));
        let recv = move |count, kind, request| {
            // SAFETY: by the lease the place stays borrowed until the receive has ended, and there
            // is no reference to its bytes: a shared one is made of cells.
            unsafe { ffi::MPI_Irecv(start.cast(), count, kind, from, tag, comm.raw(), request) }
        };
        let request = Request::start("MPI_Irecv", waiting, move |request| {
            comm.with_type_to_arrive(capacity_bytes, move |count, kind| recv(count, kind, request))
        })?;
        Ok(Self { request, start, returned_bytes, place: PhantomData })
    }

    /// Message that has arrived, and the buffer back, once the operation is over, as `end` says.
    #[inline(always)]
    pub(crate) fn ended(self, comm: &Comm, end: End<'_>) -> (Arrived, &'env mut [u8]) {
        let arrived = end.outcome.and_then(|()| comm.status(end.status));
        // SAFETY: pointer and length are those of the slice that `start` took for 'env, and the
        // operation, the only one to use them, is over; of a landing no byte is given back.
        let buffer = unsafe { slice::from_raw_parts_mut(self.start, self.returned_bytes) };
        (arrived.map_err(|failure| (failure, envelope(end.status))), buffer)
    }
}

impl AsRef<Request> for MpiCall<'_> {
    #[inline]
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

impl AsMut<Request> for MpiCall<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

impl AsRef<Request> for MpiSend<'_> {
    #[inline]
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

impl AsMut<Request> for MpiSend<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

impl AsRef<Request> for MpiRecv<'_> {
    #[inline]
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

impl AsMut<Request> for MpiRecv<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

/// The handle of an operation that was started. It is small, since it is moved a few times between
/// start and wait.
#[derive(Debug)]
pub(crate) struct Request {
    raw: ffi::MPI_Request,
    /// The wait for it in the terms of the guard, packed.
    pub(crate) waiting: [u64; 2],
}

/// Outcome and status of one operation.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) status: &'a ffi::MPI_Status,
}

impl Request {
    /// Starts an operation by `start`, which is the function `call`.
    #[inline(always)]
    fn start(
        call: &'static str,
        waiting: Waiting,
        start: impl FnOnce(*mut ffi::MPI_Request) -> Outcome<c_int>,
    ) -> Outcome<Self> {
        let mut raw = constant!(RSMPI_REQUEST_NULL);
        outcome(call, start(&raw mut raw)?)?;
        Ok(Self { raw, waiting: Waiting::pack(Some(waiting)) })
    }

    /// `MPI_Wait` (section 3.7.3), after which the operation is over, also if it failed; the call
    /// writes `status`, if that of the operation tells anything.
    #[inline]
    pub(crate) fn wait(&mut self, status: Option<&mut ffi::MPI_Status>) -> Outcome {
        let status = status.map_or(constant!(RSMPI_STATUS_IGNORE), ptr::from_mut);
        // SAFETY: the request was started, and no set has ended it, which would have taken it from
        // its owner, who waits for it once.
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
        // SAFETY: the request was started and has not been waited for.
        unsafe { has_ended(self.raw) }
    }
}

/// True if a wait for `request` would return at once, also since its operation has failed.
///
/// # Safety
/// The request is one of the library's: started and not waited for, or prepared.
#[inline]
pub(super) unsafe fn has_ended(request: ffi::MPI_Request) -> bool {
    let (mut flag, mut status) = (0, empty_status());
    let (ended, ignored) = (&raw mut flag, &raw mut status);
    // SAFETY: the request is one of the library's; the call writes the flag, and the status if it is set.
    let code = unsafe { ffi::MPI_Request_get_status(request, ended, ignored) };
    flag != 0 || outcome("MPI_Request_get_status", code).is_err()
}

/// The arrays of a call for several requests, kept from one call to the next.
#[derive(Default)]
pub(crate) struct Set {
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    indices: Vec<c_int>,
}

/// Operations that a call for several requests has ended, in the arrays of its [`Set`].
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    /// Number of statuses that the call has written.
    pub(crate) n: usize,
    /// The call.
    name: &'static str,
    code: c_int,
}

impl Set {
    /// `MPI_Waitall`; the statuses have the order of `ops`.
    #[inline]
    pub(crate) fn wait_all<P: AsRef<Request>>(&mut self, ops: &[Option<P>]) -> Ended {
        let n = self.gather(ops);
        self.wait(n)
    }

    /// `MPI_Waitall` of two sets; the statuses of `others` stand behind those of `ops`.
    #[inline]
    pub(crate) fn wait_both<P: AsRef<Request>, Q: AsRef<Request>>(
        &mut self,
        ops: &[Option<P>],
        others: &[Option<Q>],
    ) -> Ended {
        self.gather(ops);
        let n = self.add(others);
        self.wait(n)
    }

    /// `MPI_Waitall` of the `n` operations in the array.
    #[inline]
    fn wait(&mut self, n: c_int) -> Ended {
        let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
        // SAFETY: the arrays have `n` elements; each request is null, or was started and has not
        // been waited for. Their buffers are borrowed by the operations.
        let code = unsafe { ffi::MPI_Waitall(n, requests, statuses) };
        Ended { n: self.requests.len(), name: "MPI_Waitall", code }
    }

    /// `MPI_Waitany`: the index of an operation that has ended, with the first status.
    pub(crate) fn wait_any<P: AsRef<Request>>(&mut self, ops: &[Option<P>]) -> (usize, Ended) {
        let n = self.gather(ops);
        let mut found = ffi::MPI_UNDEFINED;
        let (requests, index) = (self.requests.as_mut_ptr(), &raw mut found);
        let status = self.statuses.as_mut_ptr();
        // SAFETY: as in `wait_all`; the call writes the index and the first status, which exists, as
        // no set is empty that is waited for.
        let code = unsafe { ffi::MPI_Waitany(n, requests, index, status) };
        let index = usize::try_from(found).ok().filter(|index| *index < ops.len());
        // If the call has failed as a whole, any operation is waited for alone.
        let any = || ops.iter().position(Option::is_some).unwrap_or(0);
        (index.unwrap_or_else(any), Ended { n: 1, name: "MPI_Waitany", code })
    }

    /// `MPI_Waitsome`; the statuses are those of the operations at [`indices`](Self::index).
    pub(crate) fn wait_some<P: AsRef<Request>>(&mut self, ops: &[Option<P>]) -> Ended {
        let n = self.gather(ops);
        self.indices.resize(ops.len(), 0);
        let mut n_ended = 0;
        let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
        let (ended, indices) = (&raw mut n_ended, self.indices.as_mut_ptr());
        // SAFETY: as in `wait_all`; the array of indices has `n` elements too.
        let code = unsafe { ffi::MPI_Waitsome(n, requests, ended, indices, statuses) };
        // `MPI_UNDEFINED`, which is negative, if none was active.
        Ended { n: usize::try_from(n_ended).unwrap_or(0), name: "MPI_Waitsome", code }
    }

    /// The index of the operation with the status at `place`, of those that `MPI_Waitsome` has ended.
    pub(crate) fn index(&self, place: usize) -> usize {
        usize::try_from(self.indices[place]).unwrap_or(0)
    }

    /// End of the operation at `index`, whose status lies at `place`; `None` if the call has
    /// left it pending after an error, so that it is waited for alone.
    #[inline]
    pub(crate) fn end(&self, index: usize, place: usize, ended: Ended) -> Option<End<'_>> {
        let (request, status) = (self.requests.get(index)?, self.statuses.get(place)?);
        if *request != constant!(RSMPI_REQUEST_NULL) {
            return None;
        }
        let outcome = match outcome(ended.name, ended.code) {
            Err(failure) if failure.is_in_status() => outcome(ended.name, status.MPI_ERROR),
            outcome => outcome,
        };
        Some(End { outcome, status })
    }

    /// Copies the handles of `ops` into the array, null where there is none; their number.
    #[inline]
    fn gather<P: AsRef<Request>>(&mut self, ops: &[Option<P>]) -> c_int {
        self.requests.clear();
        self.add(ops)
    }

    /// Adds those of `ops`; the number of all.
    #[inline]
    fn add<P: AsRef<Request>>(&mut self, ops: &[Option<P>]) -> c_int {
        let null = constant!(RSMPI_REQUEST_NULL);
        let raw = |op: &Option<P>| op.as_ref().map_or(null, |op| op.as_ref().raw);
        self.requests.extend(ops.iter().map(raw));
        self.statuses.resize(self.requests.len(), empty_status());
        to_c(self.requests.len())
    }
}
