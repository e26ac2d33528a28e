//! Windows: their memory, and where there are none.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Lease, Source, Transport as _};
use comet_core::waiting::Waiting;
use comet_core::window::Memory;

use super::Mpi;
use crate::native::{MpiWindow, Parts};

impl Mpi {
    /// True if windows can be made among these ranks, which find out together, once.
    pub(super) fn has_windows(&self) -> bool {
        *self.has_windows.get_or_init(|| {
            self.waiting(Waiting::Collective(Source::Any), || {
                self.comm.makes_windows().unwrap_or(false)
            })
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
        let buffers = [own_bytes, origin_bytes].map(|n| self.message_buffer(n));
        let starts = || self.comm.starts(memory, buffers[0].as_ref().ok());
        // Ranks without memory take part in it.
        let starts = self.waiting(Waiting::Collective(Source::Any), starts);
        let starts = starts.map_err(|failure| self.error(failure))?;
        let [buffer, origin] = buffers;
        let parts = Parts { memory, buffer: buffer?, part_bytes, origin: origin?, starts };
        Ok(MpiWindow::new(lease, &self.comm, &self.group, self.vitals, parts))
    }
}
