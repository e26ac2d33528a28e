//! Collectives with what their calls need, made before the first of them; and those that were started.

use std::fmt;

use super::algorithm::{self, Algorithm};
use super::call::Collective;
use super::in_flight::InFlight;
use super::running::Running;
use super::tag_of_call;
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::{Bound, Lease, Pending, PreparedInFlight, RawPrepared as _, Transport};

/// A collective, and the plan by which it is carried out unless the transport has a way of its own.
///
/// It is made for blocked calls, for unblocked ones, or for many starts over the same memory, which may
/// have ways of their own each. One operation of it is in flight at a time.
pub struct Prepared<T: Transport> {
    call: Collective,
    way: Way<T>,
    /// Input and output of a persistent one.
    bound: Option<[Bound; 2]>,
}

/// The way in which a collective goes on.
enum Way<T: Transport> {
    /// Each call is one of the transport's.
    Own,
    /// By messages.
    Planned(Running<T>),
    /// By a call that the transport has prepared.
    Persistent(T::PreparedOp),
}

impl<T: Transport> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way: &dyn fmt::Debug = match &self.way {
            Way::Own => &"own",
            Way::Planned(running) => running,
            Way::Persistent(_) => &"persistent",
        };
        f.debug_struct("Prepared").field("call", &self.call).field("way", way).finish()
    }
}

impl<T: Transport> Prepared<T> {
    /// Blocked calls of `call` by an algorithm of the library, or as the transport carries it out.
    ///
    /// # Errors
    /// Those of [`Transport::collective`] with buffers of any length, or if there is no memory for what lies
    /// between input and output.
    pub fn new(t: &T, call: Collective, by: Option<&Algorithm>) -> Result<Self> {
        let has_own = t.has_own(&call);
        Self::planned(t, call, by, has_own)
    }

    /// Unblocked calls of `call` by an algorithm of the library, or as the transport starts it.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn unblocked(t: &T, call: Collective, by: Option<&Algorithm>) -> Result<Self> {
        let starts_own = t.starts_own(&call);
        Self::planned(t, call, by, starts_own)
    }

    /// Starts of `call` from `input` to `output`, these two alone, by an algorithm of the library or by a
    /// call that the transport prepares (`MPI_Allreduce_init` and its like: MPI-4.1 section 6.13). All ranks
    /// prepare it, and drop it at one place.
    ///
    /// Elsewhere it is the plan of an unblocked call. The memory may be used, and changed, while the
    /// operation is not in flight.
    ///
    /// ```
    /// use comet_core::collective::{Collective, Kind, Parts, Prepared};
    /// use comet_core::transport::Transport;
    /// comet_core::local::run(3, |t| {
    ///     let call = Collective::new(Kind::Allgather, Parts::Equal(1));
    ///     let (mut input, mut output) = ([0], [9; 3]);
    ///     let mut gather = Prepared::persistent(t, call, None, &input, &mut output)?;
    ///     for round in 1..=2 {
    ///         input[0] = round * t.rank() as u8;
    ///         t.scope(|s| s.unblocked_collective(&mut gather, &input, &mut output)?.wait())?;
    ///         assert_eq!(output, [0, round, 2 * round]);
    ///     }
    ///     Ok::<_, comet_core::error::TransportError>(())
    /// });
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) if the library lacks the call, on all ranks alike;
    /// if a buffer is too short or if there is no such root; if there is no memory for what lies between.
    pub fn persistent(
        t: &T,
        call: Collective,
        by: Option<&Algorithm>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<Self> {
        let bound = Some([Bound::of(input), Bound::of(output)]);
        admit(t, &call, input, output)?;
        if by.is_none()
            && let Some(op) = t.prepare_own(&call, input, output)?
        {
            let call = call.ready_on(t.rank(), t.n_ranks());
            return Ok(Self { call, way: Way::Persistent(op), bound });
        }
        Ok(Self { bound, ..Self::planned(t, call, by, false)? })
    }

    fn planned(t: &T, call: Collective, by: Option<&Algorithm>, has_own: bool) -> Result<Self> {
        let (rank, n_ranks) = (t.rank(), t.n_ranks());
        let possible = call.require_possible((rank, n_ranks));
        possible.map_err(|error| error.on_rank(t.global_rank(rank)))?;
        let of_library = || algorithm::automatic(&call, n_ranks);
        let by = by.or_else(|| (!has_own).then(of_library));
        let way = match by.map(|algorithm| algorithm.plan(&call, rank, n_ranks)) {
            Some(plan) => Way::Planned(Running::new(t, plan)?),
            None => Way::Own,
        };
        Ok(Self { call: call.ready_on(rank, n_ranks), way, bound: None })
    }

    /// The operation.
    #[inline]
    pub fn call(&self) -> &Collective {
        &self.call
    }

    /// Carries the call out from `input` to `output`; all ranks call it.
    ///
    /// # Errors
    /// Those of [`Transport::collective`].
    ///
    /// # Panics
    /// If it has a plan, and a buffer is shorter than the operation wants it.
    #[inline]
    pub fn run(&mut self, t: &T, [input, output]: [&mut [u8]; 2]) -> Result<()> {
        match &mut self.way {
            Way::Planned(running) => running.run(t, input, output),
            Way::Own | Way::Persistent(_) => t.collective(&self.call, input, output),
        }
    }

    /// Starts the call with the lease of the scope that counts it.
    ///
    /// # Errors
    /// Those of [`Transport::collective`]; nothing is in flight then.
    #[inline]
    pub(crate) fn start<'env>(
        &'env mut self,
        t: &T,
        lease: Lease<T>,
        input: &'env [u8],
        output: &'env mut [u8],
    ) -> Result<Started<'env, T>> {
        let Self { call, way, bound } = self;
        if let Some([of_input, of_output]) = bound {
            of_input.require(t, "an input", input)?;
            of_output.require(t, "an output", output)?;
        }
        match way {
            Way::Own => Ok(Started::Own(t.start_own(lease, call, input, output)?)),
            Way::Planned(running) => {
                admit(t, call, input, output)?;
                let tag = tag_of_call(t.next_call());
                Ok(Started::Planned(running.start(t, lease, tag, input, output)))
            }
            // Its memory, which is that of the buffers, is long enough.
            Way::Persistent(op) => {
                op.start(t, lease)?;
                Ok(Started::Persistent(PreparedInFlight::of(op)))
            }
        }
    }
}

/// Refuses what [`Collective::admit`] does on this rank.
#[inline]
fn admit<T: Transport>(t: &T, call: &Collective, input: &[u8], output: &[u8]) -> Result<()> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    call.admit((rank, n_ranks), input, output).map_err(|error| error.on_rank(t.global_rank(rank)))
}

/// A collective in flight.
#[derive(Debug)]
pub enum Started<'env, T: Transport> {
    /// By a call of the transport's own.
    Own(T::OwnCall<'env>),
    /// By messages, in the calls that test it or wait for it.
    Planned(InFlight<'env, T>),
    /// By a call that the transport has prepared.
    Persistent(PreparedInFlight<'env, T>),
}

impl<T: Transport> Pending<T> for Started<'_, T> {
    type Out = ();

    #[inline]
    fn poll(&mut self, t: &T) -> bool {
        match self {
            Self::Own(op) => op.poll(t),
            Self::Planned(op) => op.poll(t),
            Self::Persistent(op) => op.poll(t),
        }
    }

    #[inline]
    fn finish(self, t: &T) -> Result<()> {
        match self {
            Self::Own(op) => op.finish(t),
            Self::Planned(op) => op.finish(t),
            Self::Persistent(op) => op.finish(t),
        }
    }

    /// For whichever ends next, so that all of them make progress.
    fn wait_all(t: &T, ops: &mut [Option<Self>], mut each: impl FnMut(usize, Result<()>)) {
        while let Some((index, result)) = Self::wait_any(t, ops) {
            each(index, result);
        }
    }
}

/// The unblocked collective of a transport that has none of its own: there is no value of it.
#[derive(Clone, Copy, Debug)]
pub enum NoCall {}

impl NoCall {
    /// The refusal of a start of `call`.
    #[cold]
    pub fn unsupported(call: &Collective) -> TransportError {
        let text = format!(
            "this transport starts no {} by a call of its own (prepare it for unblocked calls)",
            call.kind().name()
        );
        TransportError::new(TransportErrorKind::Unsupported, text)
    }
}

impl<T: ?Sized> Pending<T> for NoCall {
    type Out = ();

    fn poll(&mut self, _: &T) -> bool {
        match *self {}
    }

    fn finish(self, _: &T) -> Result<()> {
        match self {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Parts, Places};
    use super::*;
    use crate::local;

    #[test]
    fn calls_that_no_buffers_make_possible_are_not_prepared() {
        let reversed = Parts::Uneven(Places::new(vec![8, 8], vec![8, 0]));
        for call in [
            Collective::new(Kind::ReduceScatter, reversed),
            Collective::new(Kind::Broadcast, Parts::Equal(8)).with_root(2),
            Collective::new(Kind::Allgather, Parts::packed(vec![8; 3])),
        ] {
            let of_ranks = local::run(2, |t| {
                let by = algorithm::of(call.kind()).last();
                let prepared = Prepared::new(t, call.clone(), by).map(drop);
                prepared.and_then(|()| Prepared::unblocked(t, call.clone(), None).map(drop))
            });
            for result in of_ranks {
                let error = result.unwrap_err();
                assert_eq!(error.kind, TransportErrorKind::InvalidArgument, "{error}");
            }
        }
    }
}
