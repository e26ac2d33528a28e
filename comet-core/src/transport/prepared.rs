//! Operations that are prepared once, for certain memory, and started again and again: sends and receives
//! (MPI-4.1 section 3.9); collectives are [`Prepared`](crate::collective::Prepared).
//!
//! ```text
//!   prepare ── start ── wait ── start ── wait ── … ── drop
//!                └──────┘         └──────┘
//!            the memory is borrowed, by a scope
//! ```
//!
//! A prepared operation holds no borrow of its memory, which may be used and changed while it is not in
//! flight. A start names the memory again: with other memory it is refused.

use std::fmt;
use std::marker::PhantomData;

use super::{
    Landing, Lease, Pending, Place, Rank, RawPrepared, RawTransport, Request, Room, Scope, Source,
    Tag, Transport, require_rank, require_source,
};
use crate::error::{Result, TransportError, TransportErrorKind};

/// Memory for which an operation was prepared: its address and its length in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    address: usize,
    length_bytes: usize,
}

impl Bound {
    /// That of `memory`.
    #[inline]
    pub(crate) fn of(memory: &[u8]) -> Self {
        Self { address: memory.as_ptr().addr(), length_bytes: memory.len() }
    }

    /// Refuses any other memory than this one; `what` is its name in the sentence. Memory without a byte has
    /// no address.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument).
    #[inline]
    pub(crate) fn require<T: Transport>(self, t: &T, what: &str, memory: &[u8]) -> Result<()> {
        let found = Self::of(memory);
        let is_same = found.length_bytes == self.length_bytes
            && (found.address == self.address || found.length_bytes == 0);
        if is_same { Ok(()) } else { Err(self.other(t, what, found)) }
    }

    #[cold]
    fn other<T: Transport>(self, t: &T, what: &str, found: Self) -> TransportError {
        let place = if found.length_bytes == self.length_bytes { " elsewhere" } else { "" };
        let text = format!(
            "{what} of {} bytes{place}, where the operation was prepared for one of {} bytes (start it with \
             the memory that it was prepared for)",
            found.length_bytes, self.length_bytes
        );
        let error = TransportError::new(TransportErrorKind::InvalidArgument, text);
        error.on_rank(t.global_rank(t.rank()))
    }
}

/// An operation that the transport has prepared, in flight.
pub struct PreparedInFlight<'env, T: Transport> {
    op: &'env mut T::PreparedOp,
    /// Its memory, by the lease.
    memory: PhantomData<(&'env [u8], &'env mut [u8])>,
}

impl<'env, T: Transport> PreparedInFlight<'env, T> {
    /// `op`, which has been started.
    #[inline]
    pub(crate) fn of(op: &'env mut T::PreparedOp) -> Self {
        Self { op, memory: PhantomData }
    }
}

impl<T: Transport> fmt::Debug for PreparedInFlight<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedInFlight").finish_non_exhaustive()
    }
}

impl<T: Transport> Pending<T> for PreparedInFlight<'_, T> {
    type Out = ();

    #[inline]
    fn poll(&mut self, t: &T) -> bool {
        self.op.poll(t)
    }

    #[inline]
    fn finish(self, t: &T) -> Result<()> {
        self.op.finish(t)
    }
}

/// Sends of one message to one rank, prepared once and started together, again and again.
///
/// They are calls that the transport has prepared (`MPI_Send_init`, `MPI_Startall`), and plain sends where it
/// has none.
///
/// ```
/// use comet_core::transport::{PreparedRecvs, PreparedSends, Source, Tag, Transport};
/// const TAG: Tag = Tag::new(1);
/// comet_core::local::run_alone(|t| {
///     let (mut message, mut buffer) = ([0; 4], [9; 4]);
///     let mut sends = PreparedSends::new(t, 0, TAG, &message, 3)?;
///     let mut receives = PreparedRecvs::new(t, Source::Rank(0), TAG, &mut buffer, 3)?;
///     for round in 1..=2 {
///         message.fill(round);
///         t.scope(|s| {
///             let arriving = s.start_recvs(&mut receives, &mut buffer)?;
///             s.start_sends(&mut sends, &message)?.wait()?;
///             arriving.wait()
///         })?;
///         assert_eq!(buffer, [round; 4]);
///     }
///     Ok::<_, comet_core::error::TransportError>(())
/// })
/// .unwrap();
/// ```
pub struct PreparedSends<T: Transport> {
    to: Rank,
    tag: Tag,
    way: Way<T, T::SendOp<'static>>,
}

/// Receives from one source into one place, prepared once and started together, again and again; the
/// counterpart of [`PreparedSends`].
pub struct PreparedRecvs<T: Transport> {
    source: Source,
    tag: Tag,
    way: Way<T, T::RecvOp<'static>>,
}

/// Messages with the memory for which they were prepared.
struct Way<T: Transport, Q> {
    n: usize,
    bound: Bound,
    /// The transport's own operation, if it has prepared one.
    own: Option<T::PreparedOp>,
    /// Memory of the plain messages between two starts.
    room: Room<Q>,
}

impl<T: Transport, Q> Way<T, Q> {
    fn new(memory: &[u8], n: usize, own: Option<T::PreparedOp>) -> Self {
        let room = if own.is_none() { Room::of(n) } else { Room::default() };
        Self { n, bound: Bound::of(memory), own, room }
    }

    /// Starts the messages, the plain ones by `start` each.
    #[inline]
    fn start<'env, P>(
        &'env mut self,
        t: &T,
        lease: Lease<T>,
        mut start: impl FnMut() -> Result<P>,
    ) -> Result<StartedSet<'env, T, P, Q>> {
        let Self { n, own, room, .. } = self;
        if let Some(op) = own {
            op.start(t, lease)?;
            return Ok(StartedSet::Own(PreparedInFlight::of(op)));
        }
        let (mut ops, mut outcome) = (std::mem::take(room).into_slots(), Ok(()));
        for _ in 0..*n {
            match start() {
                Ok(op) => ops.push(Some(op)),
                Err(error) => {
                    // Those before it are in flight.
                    outcome = Err(error);
                    break;
                }
            }
        }
        Ok(StartedSet::Plain { ops, room, outcome })
    }
}

impl<T: Transport, Q> fmt::Debug for Way<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_own = self.own.is_some();
        f.debug_struct("Way").field("n", &self.n).field("is_own", &is_own).finish_non_exhaustive()
    }
}

impl<T: Transport> fmt::Debug for PreparedSends<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedSends").field("to", &self.to).field("way", &self.way).finish()
    }
}

impl<T: Transport> fmt::Debug for PreparedRecvs<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, way) = (&self.source, &self.way);
        f.debug_struct("PreparedRecvs").field("source", source).field("way", way).finish()
    }
}

impl<T: Transport> PreparedSends<T> {
    /// `n` sends of `message` to rank `destination`, of this memory alone.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    pub fn new(t: &T, destination: Rank, tag: Tag, message: &[u8], n: usize) -> Result<Self> {
        require_rank(t, destination)?;
        let own = t.prepare_sends(destination, tag, message, n)?;
        Ok(Self { to: destination, tag, way: Way::new(message, n, own) })
    }
}

impl<T: Transport> PreparedRecvs<T> {
    /// `n` receives from `source` into `buffer`, into this memory alone; each message fills it, or its front.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    pub fn new(t: &T, source: Source, tag: Tag, buffer: &mut [u8], n: usize) -> Result<Self> {
        require_source(t, source, tag)?;
        let own = t.prepare_recvs(source, tag, buffer, n)?;
        Ok(Self { source, tag, way: Way::new(buffer, n, own) })
    }
}

/// Messages that were started together.
pub enum StartedSet<'env, T: Transport, P, Q> {
    /// By a call that the transport has prepared.
    Own(PreparedInFlight<'env, T>),
    /// One by one.
    Plain {
        /// The messages.
        ops: Vec<Option<P>>,
        /// Their memory between two starts.
        room: &'env mut Room<Q>,
        /// Error of the start that ended them.
        outcome: Result<()>,
    },
}

/// Sends that were started together.
pub type StartedSends<'env, T> =
    StartedSet<'env, T, <T as RawTransport>::SendOp<'env>, <T as RawTransport>::SendOp<'static>>;

/// Receives that were started together.
pub type StartedRecvs<'env, T> =
    StartedSet<'env, T, <T as RawTransport>::RecvOp<'env>, <T as RawTransport>::RecvOp<'static>>;

impl<T: Transport, P, Q> fmt::Debug for StartedSet<'_, T, P, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedSet").finish_non_exhaustive()
    }
}

impl<T: Transport, P: Pending<T>, Q> Pending<T> for StartedSet<'_, T, P, Q> {
    type Out = ();

    #[inline]
    fn poll(&mut self, t: &T) -> bool {
        match self {
            Self::Own(op) => op.poll(t),
            Self::Plain { ops, .. } => ops.iter_mut().flatten().all(|op| op.poll(t)),
        }
    }

    #[inline]
    fn finish(self, t: &T) -> Result<()> {
        let (mut ops, room, mut outcome) = match self {
            Self::Own(op) => return op.finish(t),
            Self::Plain { ops, room, outcome } => (ops, room, outcome),
        };
        P::wait_all(t, &mut ops, |_, result| {
            if let (Ok(()), Err(error)) = (&outcome, result) {
                outcome = Err(error);
            }
        });
        ops.clear();
        *room = Room::of_slots(ops);
        outcome
    }
}

impl<'scope, 'env, T: Transport> Scope<'scope, 'env, T> {
    /// Starts the sends that were prepared, of `message`, which stays borrowed.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) for other memory than they were prepared for;
    /// other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn start_sends(
        &'scope self,
        sends: &'scope mut PreparedSends<T>,
        message: &'scope [u8],
    ) -> Result<Request<'scope, 'env, T, StartedSends<'scope, T>>> {
        let PreparedSends { to, tag, way } = sends;
        let (to, tag) = (*to, *tag);
        self.counted(|t, lease| {
            way.bound.require(t, "a message", message)?;
            way.start(t, lease, || t.start_send(Lease::of_part(), to, tag, message))
        })
    }

    /// Starts the receives that were prepared, into `buffer`, which stays borrowed.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) for other memory than they were prepared for;
    /// other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn start_recvs(
        &'scope self,
        receives: &'scope mut PreparedRecvs<T>,
        buffer: &'scope mut [u8],
    ) -> Result<Request<'scope, 'env, T, StartedRecvs<'scope, T>>> {
        let PreparedRecvs { source, tag, way } = receives;
        let (source, tag) = (*source, *tag);
        self.counted(|t, lease| {
            way.bound.require(t, "a buffer", buffer)?;
            let landing = Landing::new(buffer);
            let place = || Place::Shared(landing);
            way.start(t, lease, || t.start_recv(Lease::of_part(), source, tag, place()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn plain_messages_keep_their_memory_from_start_to_start() {
        const TAG: Tag = Tag::new(1);
        let rooms = local::run_alone(|t| {
            let (message, mut buffer) = ([1; 8], [0; 8]);
            let mut sends = PreparedSends::new(t, 0, TAG, &message, 5)?;
            let mut receives = PreparedRecvs::new(t, Source::Any, TAG, &mut buffer, 5)?;
            let mut rooms = Vec::new();
            for _ in 0..3 {
                t.scope(|s| {
                    let arriving = s.start_recvs(&mut receives, &mut buffer)?;
                    s.start_sends(&mut sends, &message)?.wait()?;
                    arriving.wait()
                })?;
                rooms.push([sends.way.room.place(), receives.way.room.place()]);
            }
            Ok::<_, TransportError>(rooms)
        })
        .unwrap();
        assert_eq!(rooms[0], rooms[1]);
        assert_eq!(rooms[1], rooms[2]);
        assert!(rooms[0].iter().all(|(_, capacity)| *capacity == 5), "{rooms:?}");
    }
}
