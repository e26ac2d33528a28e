//! Operations that are prepared once and started again and again.

use comet_core::collective::Collective;
use comet_core::error::Result;
use comet_core::transport::{
    Lease, Rank, RawPrepared, Source, Tag, Transport as _, require_destination, require_rank,
    require_source,
};
use comet_core::waiting::Waiting;

use super::Mpi;
use crate::native::MpiPrepared;

impl Mpi {
    /// `call`, prepared by one call of the library, unless it is among neighbours.
    pub(super) fn prepared_call(
        &self,
        call: &Collective,
        buffers: (&[u8], &mut [u8]),
    ) -> Result<Option<MpiPrepared>> {
        if !self.starts_own(call) {
            return Ok(None);
        }
        let prepare = || MpiPrepared::call(&self.comm, call, self.rank(), buffers);
        let prepared = self.waiting(Waiting::Collective(Source::Any), prepare);
        prepared.map(Some).map_err(|refused| self.refused(refused))
    }

    /// Sends, prepared by one call each.
    pub(super) fn prepared_sends(
        &self,
        (to, tag): (Rank, Tag),
        message: &[u8],
        n: usize,
    ) -> Result<MpiPrepared> {
        require_destination(self, to, tag)?;
        let waiting = Waiting::Send(self.group.global(to), tag, message.len());
        MpiPrepared::sends(&self.comm, message, (to, tag), n, waiting)
            .map_err(|failure| self.error(failure))
    }

    /// Receives, prepared by one call each.
    pub(super) fn prepared_recvs(
        &self,
        (source, tag): (Source, Tag),
        buffer: &mut [u8],
        n: usize,
    ) -> Result<MpiPrepared> {
        require_source(self, source, tag)?;
        let waiting = Waiting::Recv(self.group.source(source), tag, buffer.len());
        MpiPrepared::recvs(&self.comm, buffer, (source, tag), n, waiting)
            .map_err(|failure| self.error(failure))
    }

    /// A send in parts, prepared by one call.
    pub(super) fn prepared_parts_to(
        &self,
        (to, tag): (Rank, Tag),
        message: &[u8],
        n_parts: usize,
    ) -> Result<MpiPrepared> {
        require_destination(self, to, tag)?;
        let waiting = Waiting::Send(self.group.global(to), tag, message.len());
        MpiPrepared::partitioned_send(&self.comm, message, (to, tag), n_parts, waiting)
            .map_err(|refused| self.refused(refused))
    }

    /// A receive in parts, prepared by one call.
    pub(super) fn prepared_parts_from(
        &self,
        (source, tag): (Rank, Tag),
        buffer: &mut [u8],
        n_parts: usize,
    ) -> Result<MpiPrepared> {
        require_rank(self, source)?;
        let from = Source::Rank(self.group.global(source));
        let waiting = Waiting::Recv(from, tag, buffer.len());
        MpiPrepared::partitioned_recv(&self.comm, buffer, (source, tag), n_parts, waiting)
            .map_err(|refused| self.refused(refused))
    }
}

impl RawPrepared<Mpi> for MpiPrepared {
    #[inline]
    fn start(&mut self, t: &Mpi, _: Lease<Mpi>) -> Result<()> {
        // By the lease its memory is borrowed until it is finished.
        Self::start(self).map_err(|failure| t.error(failure))
    }

    #[inline]
    fn poll(&mut self, _: &Mpi) -> bool {
        self.has_ended()
    }

    #[inline]
    fn finish(&mut self, t: &Mpi) -> Result<()> {
        let ended = t.waiting_for(self.waiting, || self.wait());
        ended.map_err(|failed| t.failed_at(self.waiting, failed))
    }

    fn joined(self, other: Self) -> Self {
        Self::joined(self, other)
    }

    #[inline]
    fn ready(&mut self, t: &Mpi, part: usize) -> Result<()> {
        self.let_leave(part).map_err(|failure| t.error(failure))
    }

    #[inline]
    fn has_arrived(&mut self, t: &Mpi, part: usize) -> Result<bool> {
        self.part_has_arrived(part).map_err(|failure| t.error(failure))
    }
}
