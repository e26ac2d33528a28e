//! Collectives, carried out and started.

use comet_core::collective::{Collective, NoCall};
use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Lease, Source, Transport as _};
use comet_core::waiting::Waiting;

use super::Mpi;
use crate::native::{Comm, MpiCall, Outcome, Refused};

impl Mpi {
    /// Makes a call that all ranks make, of which `peer` is waited for.
    #[inline]
    pub(super) fn call_of_all<R>(
        &self,
        peer: Source,
        call: impl FnOnce(&Comm) -> Outcome<R>,
    ) -> Result<R> {
        self.waiting(Waiting::Collective(peer), || call(&self.comm))
            .map_err(|failure| self.error(failure))
    }

    /// Carries `call` out.
    #[inline]
    pub(super) fn carry_out(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<()> {
        self.admit(call, input, output)?;
        self.require_graph(call)?;
        let at = (self.rank(), self.n_ranks());
        let carry_out = || self.comm.collective(call, at, input, output);
        self.waiting(Waiting::Collective(Source::Any), carry_out)
            .map_err(|refused| self.refused(refused))
    }

    /// `call`, started by one call of the library.
    #[inline]
    pub(super) fn started<'env>(
        &self,
        lease: Lease<Self>,
        call: &'env Collective,
        (input, output): (&'env [u8], &'env mut [u8]),
    ) -> Result<MpiCall<'env>> {
        if !self.starts_own(call) {
            return Err(self.group.located(NoCall::unsupported(call)));
        }
        self.admit(call, input, output)?;
        MpiCall::start(lease, &self.comm, call, self.rank(), (input, output))
            .map_err(|refused| self.refused(refused))
    }

    /// Refuses what [`Collective::admit`] does.
    #[inline]
    fn admit(&self, call: &Collective, input: &[u8], output: &[u8]) -> Result<()> {
        let admitted = call.admit((self.rank(), self.n_ranks()), input, output);
        admitted.map_err(|error| self.group.located(error))
    }

    /// Reason that a collective was not carried out.
    #[cold]
    pub(super) fn refused(&self, refused: Refused) -> TransportError {
        match refused.reason() {
            Ok((kind, text)) => self.group.located(TransportError::new(kind, text)),
            Err(failure) => self.error(failure),
        }
    }

    /// Refuses a collective among neighbours that are not those of the communicator.
    #[inline]
    fn require_graph(&self, call: &Collective) -> Result<()> {
        if !call.kind().is_among_neighbours()
            || self.neighbours.is_some() && call.neighbours() == self.neighbours.as_ref()
        {
            return Ok(());
        }
        let text = format!(
            "{} among other neighbours than those of its communicator (call it on the transport that \
             with_neighbours makes for them)",
            call.kind().name()
        );
        Err(self.group.located(TransportError::new(TransportErrorKind::InvalidArgument, text)))
    }
}
