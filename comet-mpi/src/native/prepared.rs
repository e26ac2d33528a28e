//! Operations that are prepared once and started again and again (sections 3.9 and 6.13).
//!
//! The library keeps the addresses of their memory, and reads and writes there while they are in flight alone. By
//! the lease of a start the memory that they were prepared for is borrowed until they are finished.

use std::ffi::c_int;
use std::rc::Rc;

use comet_core::collective::Collective;
use comet_core::transport::{Rank, Source, Tag};
use comet_core::waiting::Waiting;
use mpi::ffi;

use super::collective::is_mpich_4_0;
use super::comm::{Comm, envelope, source_to_c, tag_to_c, to_c};
use super::issue::Way;
use super::refused::Refused;
use super::request::has_ended;
use super::{Failure, Outcome, empty_status, outcome};

/// Requests of one operation, which are started together.
pub struct MpiPrepared {
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    /// Note for the guard while they are waited for.
    pub(crate) waiting: [u64; 2],
    is_in_flight: bool,
    /// The collective, whose lengths and places the library may read at each start.
    _call: Option<Box<Collective>>,
    /// Their communicator, which lives as long.
    _comm: Rc<Comm>,
}

impl std::fmt::Debug for MpiPrepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MpiPrepared").field("n", &self.requests.len()).finish_non_exhaustive()
    }
}

impl MpiPrepared {
    /// Room for `n` requests, which are null.
    pub(super) fn new(comm: &Rc<Comm>, n: usize, waiting: Waiting) -> Self {
        Self {
            requests: vec![constant!(RSMPI_REQUEST_NULL); n],
            statuses: vec![empty_status(); n],
            waiting: Waiting::pack(Some(waiting)),
            is_in_flight: false,
            _call: None,
            _comm: Rc::clone(comm),
        }
    }

    /// `MPI_Bcast_init` and its like (section 6.13), on `rank`; the buffers are as long as
    /// [`Collective::admit`] wants them, and no neighbours are named.
    pub(crate) fn call(
        comm: &Rc<Comm>,
        call: &Collective,
        rank: Rank,
        (input, output): (&[u8], &mut [u8]),
    ) -> Result<Self, Refused> {
        if is_mpich_4_0() {
            return Err(Refused::EarlyEnd);
        }
        let call = Box::new(call.clone());
        let mut prepared = Self::new(comm, 1, Waiting::Collective(Source::Any));
        let request = &raw mut *prepared.only();
        comm.issue(&call, rank, input, output, Way::Prepared(request))?;
        prepared._call = Some(call);
        Ok(prepared)
    }

    /// `MPI_Send_init` (section 3.9), `n` times.
    pub(crate) fn sends(
        comm: &Rc<Comm>,
        message: &[u8],
        (to, tag): (Rank, Tag),
        n: usize,
        waiting: Waiting,
    ) -> Outcome<Self> {
        let prepared = Self::new(comm, n, waiting);
        let (start, to, tag) = (message.as_ptr().cast(), to_c(to), c_int::from(tag.value()));
        prepared.each("MPI_Send_init", |request| {
            comm.with_type(message.len(), |count, kind| {
                // SAFETY: the call writes the request, and notes the address of the message alone.
                unsafe { ffi::MPI_Send_init(start, count, kind, to, tag, comm.raw(), request) }
            })
        })
    }

    /// `MPI_Recv_init` (section 3.9), `n` times; see [`MpiRecv`](super::MpiRecv) on one place for several.
    pub(crate) fn recvs(
        comm: &Rc<Comm>,
        buffer: &mut [u8],
        (source, tag): (Source, Tag),
        n: usize,
        waiting: Waiting,
    ) -> Outcome<Self> {
        let prepared = Self::new(comm, n, waiting);
        let (from, tag) = (source_to_c(source), tag_to_c(tag));
        prepared.each("MPI_Recv_init", |request| {
            comm.with_type_to_arrive(buffer.len(), |count, kind| {
                let start = buffer.as_mut_ptr().cast();
                // SAFETY: the call writes the request, and notes the address of the place alone.
                unsafe { ffi::MPI_Recv_init(start, count, kind, from, tag, comm.raw(), request) }
            })
        })
    }

    /// The request of an operation that has one.
    #[inline]
    pub(super) fn only(&mut self) -> &mut ffi::MPI_Request {
        &mut self.requests[0]
    }

    /// Makes each request by `prepare`, which is the function `name`.
    fn each(
        mut self,
        name: &'static str,
        mut prepare: impl FnMut(*mut ffi::MPI_Request) -> Outcome<c_int>,
    ) -> Outcome<Self> {
        for index in 0..self.requests.len() {
            outcome(name, prepare(&raw mut self.requests[index])?)?;
        }
        Ok(self)
    }

    /// The requests of this operation and of `other` as one; neither is in flight, and both move messages one
    /// way.
    pub(crate) fn joined(mut self, mut other: Self) -> Self {
        debug_assert!(!self.is_in_flight && !other.is_in_flight, "both are at rest");
        self.requests.append(&mut other.requests);
        self.statuses.append(&mut other.statuses);
        self
    }

    /// `MPI_Start`, or `MPI_Startall` of several.
    #[inline]
    pub(crate) fn start(&mut self) -> Outcome {
        // Also after an error: some of the requests may be active then.
        self.is_in_flight = true;
        let start = self.requests.as_mut_ptr();
        if let [_] = *self.requests {
            // SAFETY: the request was prepared, and is not active. Its memory is borrowed, as said at the head
            // of this file.
            return outcome("MPI_Start", unsafe { ffi::MPI_Start(start) });
        }
        // SAFETY: as above, for each of the requests.
        let code = unsafe { ffi::MPI_Startall(to_c(self.requests.len()), start) };
        outcome("MPI_Startall", code)
    }

    /// `MPI_Wait`, or `MPI_Waitall` of several, after which they are not active. With a failure come the source
    /// and the tag of its message.
    #[inline]
    pub(crate) fn wait(&mut self) -> Result<(), (Failure, (Rank, Tag))> {
        let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
        let ended = if let [_] = *self.requests {
            // SAFETY: the request was started; the call writes its status.
            outcome("MPI_Wait", unsafe { ffi::MPI_Wait(requests, statuses) })
        } else {
            // SAFETY: as above, for each of the requests, which have a status each.
            let code = unsafe { ffi::MPI_Waitall(to_c(self.requests.len()), requests, statuses) };
            outcome("MPI_Waitall", code)
        };
        self.is_in_flight = false;
        ended.map_err(|failure| self.first_of(failure))
    }

    /// The first failure of a message, where `failure` says that there is one.
    #[cold]
    fn first_of(&self, failure: Failure) -> (Failure, (Rank, Tag)) {
        let failed = |status: &&ffi::MPI_Status| outcome(failure.call, status.MPI_ERROR).is_err();
        match self.statuses.iter().find(failed).filter(|_| failure.is_in_status()) {
            Some(status) => (Failure { code: status.MPI_ERROR, ..failure }, envelope(status)),
            None => (failure, envelope(&self.statuses[0])),
        }
    }

    /// True if [`wait`](Self::wait) would return at once: `MPI_Request_get_status` (section 3.7.6) of each.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        // SAFETY: each request was prepared.
        self.requests.iter().all(|request| unsafe { has_ended(*request) })
    }
}

impl Drop for MpiPrepared {
    fn drop(&mut self) {
        // One in flight is not waited for: the scope that counts it ends the job.
        let is_alive = !std::thread::panicking() && !mpi::environment::is_finalized();
        if self.is_in_flight || !is_alive {
            return;
        }
        for request in &mut self.requests {
            if *request != constant!(RSMPI_REQUEST_NULL) {
                // SAFETY: the request was prepared and is not active, and MPI is not finalised. What an error
                // leaves behind nobody uses.
                unsafe { ffi::MPI_Request_free(&raw mut *request) };
            }
        }
    }
}
