//! Messages in parts (MPI-4.1 section 4.2), which libraries before MPI-4 lack.

use std::ffi::c_int;
use std::rc::Rc;

use comet_core::transport::{Rank, Tag};
use comet_core::waiting::Waiting;
use mpi::ffi;

use super::comm::{Comm, to_c};
use super::optional::{self, In, Kind, LongCount, Out};
use super::prepared::MpiPrepared;
use super::refused::Refused;
use super::{Outcome, long, outcome};

type Info = ffi::MPI_Info;
type Request = ffi::MPI_Request;

optional_functions! {
    psend_init: c"MPI_Psend_init"
        (In, c_int, LongCount, Kind, c_int, c_int, optional::Comm, Info, *mut Request);
    precv_init: c"MPI_Precv_init"
        (Out, c_int, LongCount, Kind, c_int, c_int, optional::Comm, Info, *mut Request);
    pready: c"MPI_Pready" (c_int, Request);
    parrived: c"MPI_Parrived" (Request, c_int, *mut c_int);
}

impl MpiPrepared {
    /// `MPI_Psend_init` of `message` in `n_parts` parts.
    pub(crate) fn partitioned_send(
        comm: &Rc<Comm>,
        message: &[u8],
        (to, tag): (Rank, Tag),
        n_parts: usize,
        waiting: Waiting,
    ) -> Result<Self, Refused> {
        let init = psend_init().filter(|_| pready().is_some());
        let init = init.ok_or(Refused::Lacking("MPI_Psend_init"))?;
        let mut prepared = Self::new(comm, 1, waiting);
        let (n, kind) = comm.counted(message.len() / n_parts);
        let (start, to, tag) = (message.as_ptr().cast(), to_c(to), c_int::from(tag.value()));
        let (info, request) = (constant!(RSMPI_INFO_NULL), prepared.only());
        // SAFETY: the call writes the request, and notes the address of the message alone.
        let code = unsafe {
            init(start, to_c(n_parts), long::count(n), kind, to, tag, comm.raw(), info, request)
        };
        outcome("MPI_Psend_init", code)?;
        Ok(prepared)
    }

    /// `MPI_Precv_init` into `buffer` in `n_parts` parts.
    pub(crate) fn partitioned_recv(
        comm: &Rc<Comm>,
        buffer: &mut [u8],
        (source, tag): (Rank, Tag),
        n_parts: usize,
        waiting: Waiting,
    ) -> Result<Self, Refused> {
        let init = precv_init().filter(|_| parrived().is_some());
        let init = init.ok_or(Refused::Lacking("MPI_Precv_init"))?;
        let mut prepared = Self::new(comm, 1, waiting);
        let (n, kind) = comm.counted_to_arrive(buffer.len() / n_parts);
        let (start, from, tag) =
            (buffer.as_mut_ptr().cast(), to_c(source), c_int::from(tag.value()));
        let (info, request) = (constant!(RSMPI_INFO_NULL), prepared.only());
        // SAFETY: the call writes the request, and notes the address of the place alone.
        let code = unsafe {
            init(start, to_c(n_parts), long::count(n), kind, from, tag, comm.raw(), info, request)
        };
        outcome("MPI_Precv_init", code)?;
        Ok(prepared)
    }

    /// `MPI_Pready` of the part.
    #[inline]
    pub(crate) fn let_leave(&mut self, part: usize) -> Outcome {
        let Some(ready) = pready() else { return Ok(()) };
        // SAFETY: the request is that of a send in parts, which is in flight and has the part, as the caller says.
        outcome("MPI_Pready", unsafe { ready(to_c(part), *self.only()) })
    }

    /// `MPI_Parrived` of the part.
    #[inline]
    pub(crate) fn part_has_arrived(&mut self, part: usize) -> Outcome<bool> {
        let (Some(arrived), mut flag) = (parrived(), 0) else { return Ok(true) };
        // SAFETY: the request is that of a receive in parts, which is in flight; the call writes the flag.
        let code = unsafe { arrived(*self.only(), to_c(part), &raw mut flag) };
        outcome("MPI_Parrived", code)?;
        Ok(flag != 0)
    }
}
