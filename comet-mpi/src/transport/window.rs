//! Windows: their memory, and where there are none.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Lease, Source, Transport as _};
use comet_core::waiting::Waiting;
use comet_core::window::Memory;

use super::Mpi;
use crate::job::is_open_mpi_4;
use crate::native::{MpiWindow, Parts};

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
        let buffers = [own_bytes, origin_bytes].map(|n| self.message_buffer(n));
        // Ranks without memory take part in it.
        let own = buffers[0].as_ref().ok();
        let starts = self.call_of_all(Source::Any, |comm| comm.starts(memory, own))?;
        let [buffer, origin] = buffers;
        let parts = Parts { memory, buffer: buffer?, part_bytes, origin: origin?, starts };
        Ok(MpiWindow::new(lease, &self.comm, &self.group, self.vitals, parts))
    }
}
