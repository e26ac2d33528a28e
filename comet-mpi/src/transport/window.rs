//! Windows: their memory, and where there are none.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Lease, Source};
use comet_core::waiting::Waiting;
use comet_core::window::Memory;

use super::Mpi;
use crate::job::is_open_mpi_4;
use crate::native::{LINE_BYTES, MpiBuffer, MpiWindow, PAGE_BYTES, Parts};

/// The most communicators that keep the windows of a part apart from those of others.
const MAX_APART: usize = 256;

impl Mpi {
    /// True if windows can be made among these ranks, which find out together, once.
    pub(super) fn has_windows(&self) -> bool {
        let find_out = || {
            let apart = self.comm.spares(self.n_apart()).unwrap_or_default();
            self.comm.makes_windows().unwrap_or(false).then_some(apart)
        };
        let find_out = || self.waiting(Waiting::Collective(Source::Any), find_out);
        self.windows.get_or_init(find_out).is_some()
    }

    /// Number of communicators that these ranks hold beside theirs, another one in each part of a host.
    ///
    /// Open MPI 4 names the memory of a window on a host after a number of its communicator, the lowest one
    /// that its own ranks have free. Parts that make windows at once would have the same, and one file
    /// (its issue 9492).
    fn n_apart(&self) -> usize {
        if is_open_mpi_4() { self.group.global(0) % MAX_APART } else { 0 }
    }

    /// Memory of the library that starts at a multiple of `alignment` bytes, a power of two.
    pub(super) fn memory(&self, length_bytes: usize, alignment: usize) -> Result<MpiBuffer> {
        MpiBuffer::new(&self.library, length_bytes, alignment).ok_or_else(|| {
            let text = format!("there is no memory for a message buffer of {length_bytes} bytes");
            self.group.located(TransportError::new(TransportErrorKind::OutOfResources, text))
        })
    }

    /// A closed window with a part and an origin of so many bytes.
    pub(super) fn closed_window(
        &self,
        lease: Lease<Self>,
        [part_bytes, origin_bytes]: [usize; 2],
        memory: Memory,
    ) -> Result<MpiWindow> {
        if !self.has_windows() {
            let text = "this MPI library makes no window among these ranks (use 2 ranks or more of one \
                        host, or with Open MPI its option --mca osc pt2pt)";
            let error = TransportError::new(TransportErrorKind::Unsupported, text);
            return Err(self.group.located(error));
        }
        let own_bytes = if memory == Memory::Allocated { 0 } else { part_bytes };
        let own = self.memory(own_bytes, PAGE_BYTES);
        // Ranks without memory take part in it.
        let starts =
            self.call_of_all(Source::Any, |comm| comm.starts(memory, own.as_ref().ok()))?;
        let origin = self.memory(origin_bytes, LINE_BYTES)?;
        let parts = Parts { memory, buffer: own?, part_bytes, origin, starts };
        Ok(MpiWindow::new(lease, &self.comm, &self.group, self.vitals, parts))
    }
}
