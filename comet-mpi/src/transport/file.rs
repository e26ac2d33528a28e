//! Files: their memory, and what MPI leaves to its library.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::file::{Cache, Plan};
use comet_core::transport::{Lease, Transport as _};

use super::Mpi;
use crate::native::MpiFile;

impl Mpi {
    /// A closed file with memory of so many bytes.
    pub(super) fn closed_file(
        &self,
        lease: Lease<Self>,
        plan: &Plan,
        memory_bytes: usize,
        n_in_flight: usize,
    ) -> Result<MpiFile> {
        if plan.cache == Cache::Direct {
            let text = "MPI has no transfers past the system's memory (leave --io-cache direct out, or give the \
                        library a hint of its own, as in --io-hint direct_write=true)";
            let error = TransportError::new(TransportErrorKind::Unsupported, text);
            return Err(self.group.located(error));
        }
        let memory = (self.message_buffer(memory_bytes)?, n_in_flight);
        MpiFile::new(lease, &self.comm, &self.group, self.vitals, plan, memory)
    }
}
