//! Facts that windows take from their communicator: groups of ranks, and where the parts begin.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

use comet_core::transport::Rank;
use comet_core::window::Memory;
use mpi::ffi;

use super::comm::{Comm, to_c};
use super::{MpiBuffer, Outcome, outcome, written};

/// A group of ranks, made before it is used, so that no call that is timed makes it.
#[derive(Debug)]
pub struct MpiPeers {
    pub(super) raw: ffi::MPI_Group,
}

impl Comm {
    /// True if the library makes windows of message buffers on this communicator, of which all ranks call it.
    /// Open MPI 4.1 as Debian sets it up has no component for them among one rank, and none between hosts
    /// without RDMA.
    pub(crate) fn makes_windows(&self) -> Outcome<bool> {
        let mut win = constant!(RSMPI_WIN_NULL);
        let (written, info) = (&raw mut win, constant!(RSMPI_INFO_NULL));
        let mut nothing = MaybeUninit::<u8>::uninit();
        let start = nothing.as_mut_ptr().cast();
        // SAFETY: the call writes the handle of a window without a byte.
        let code = unsafe { ffi::MPI_Win_create(start, 0, 1, info, self.raw(), written) };
        if outcome("MPI_Win_create", code).is_err() {
            return Ok(false);
        }
        // SAFETY: the window has just been made.
        outcome("MPI_Win_free", unsafe { ffi::MPI_Win_free(written) }).map(|()| true)
    }

    /// Displacements of the parts of all ranks, of which this one's is `buffer`, or none if there is no memory
    /// for it: their addresses in windows with dynamic memory, which all ranks tell each other, else 0.
    pub(crate) fn starts(
        &self,
        memory: Memory,
        buffer: Option<&MpiBuffer>,
    ) -> Outcome<Box<[ffi::MPI_Aint]>> {
        let mut starts = vec![0; self.n_ranks()?].into_boxed_slice();
        if memory != Memory::Dynamic {
            return Ok(starts);
        }
        let start = buffer.map_or(ptr::null(), |buffer| buffer.start().cast_const());
        let address = |address| {
            // SAFETY: the call looks at no byte, and writes the address.
            unsafe { ffi::MPI_Get_address(start.cast(), address) }
        };
        let own: ffi::MPI_Aint = written("MPI_Get_address", 0, address)?;
        let (from, into) = ((&raw const own).cast(), starts.as_mut_ptr().cast());
        let (n, kind) = (to_c(size_of::<ffi::MPI_Aint>()), constant!(RSMPI_UINT8_T));
        // SAFETY: the call reads one address, which lives here, and writes one for each rank, for which
        // there is room.
        let code = unsafe { ffi::MPI_Allgather(from, n, kind, into, n, kind, self.raw()) };
        outcome("MPI_Allgather", code)?;
        Ok(starts)
    }

    /// The group of `ranks` (`MPI_Group_incl`: section 7.3.2).
    pub(super) fn peers(&self, ranks: &[Rank]) -> Outcome<MpiPeers> {
        let null = constant!(RSMPI_GROUP_NULL);
        // SAFETY: the communicator is alive; the call writes the handle of a group.
        let all = |all| unsafe { ffi::MPI_Comm_group(self.raw(), all) };
        let all = MpiPeers { raw: written("MPI_Comm_group", null, all)? };
        let ranks: Vec<c_int> = ranks.iter().copied().map(to_c).collect();
        let include = |group| {
            // SAFETY: the group is alive, and as many ranks of it are named as the call reads; it writes the
            // handle of a group.
            unsafe { ffi::MPI_Group_incl(all.raw, to_c(ranks.len()), ranks.as_ptr(), group) }
        };
        Ok(MpiPeers { raw: written("MPI_Group_incl", null, include)? })
    }
}

impl Drop for MpiPeers {
    fn drop(&mut self) {
        if self.raw != constant!(RSMPI_GROUP_EMPTY) && !mpi::environment::is_finalized() {
            // SAFETY: the group was made by `peers`, and MPI is not finalised, which has just been asked: its
            // calls come from this thread alone. An epoch of the group goes on without the handle (section
            // 2.4.1). An error leaves a handle behind, which nothing uses.
            unsafe { ffi::MPI_Group_free(&raw mut self.raw) };
        }
    }
}
