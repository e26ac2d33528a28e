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
    Tag, Transport, require_destination, require_source,
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
        self.require_same(t, what, Self::of(memory))
    }

    /// The same of memory that was `found`.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument).
    #[inline]
    fn require_same<T: Transport>(self, t: &T, what: &str, found: Self) -> Result<()> {
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
        invalid(t, text)
    }
}

/// The refusal of other memory, on this rank.
#[cold]
pub(super) fn invalid<T: Transport>(t: &T, text: String) -> TransportError {
    let error = TransportError::new(TransportErrorKind::InvalidArgument, text);
    error.on_rank(t.global_rank(t.rank()))
}

/// An operation that the transport has prepared, in flight.
pub struct PreparedInFlight<'env, T: Transport> {
    pub(super) op: &'env mut T::PreparedOp,
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

shown!([T: Transport] PreparedInFlight<'_, T>, "PreparedInFlight");

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

/// Sends of one message, or of several, to one rank, prepared once and started together, again and again.
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

/// Receives from one source into one place, or into several, prepared once and started together, again and
/// again; the counterpart of [`PreparedSends`].
pub struct PreparedRecvs<T: Transport> {
    source: Source,
    tag: Tag,
    way: Way<T, T::RecvOp<'static>>,
}

/// Messages with the memory for which they were prepared.
pub(super) struct Way<T: Transport, Q> {
    /// Messages of each place in memory.
    pub(super) n_of_each: usize,
    pub(super) bounds: Vec<Bound>,
    /// The transport's own operation, if it has prepared one.
    pub(super) own: Option<T::PreparedOp>,
    /// Memory of the plain messages between two starts.
    pub(super) room: Room<Q>,
}

impl<T: Transport, Q> Way<T, Q> {
    /// `n_of_each` messages of each of `places`, which `prepare` makes operations of the transport's own, and
    /// of which `bound` is the memory.
    pub(super) fn new<M>(
        places: impl IntoIterator<Item = M>,
        n_of_each: usize,
        bound: impl Fn(&M) -> Bound,
        mut prepare: impl FnMut(M) -> Result<Option<T::PreparedOp>>,
    ) -> Result<Self> {
        let (mut bounds, mut own): (Vec<_>, Option<T::PreparedOp>) = (Vec::new(), None);
        for place in places {
            bounds.push(bound(&place));
            own = match (own, prepare(place)?) {
                (Some(before), Some(op)) => Some(before.joined(op)),
                (_, op) => op,
            };
        }
        let n_plain = if own.is_none() { n_of_each * bounds.len() } else { 0 };
        Ok(Self { n_of_each, bounds, own, room: Room::of(n_plain) })
    }

    /// Starts the messages of `places`, each with its memory, the plain ones by `start` each; `what` is the
    /// name of a place in sentences.
    #[inline]
    pub(super) fn start<'env, P, L: Copy>(
        &'env mut self,
        (t, lease): (&T, Lease<T>),
        what: &str,
        places: impl ExactSizeIterator<Item = (Bound, L)>,
        mut start: impl FnMut(L) -> Result<P>,
    ) -> Result<StartedSet<'env, T, P, Q>> {
        let Self { n_of_each, bounds, own, room } = self;
        if places.len() != bounds.len() {
            return Err(other_number(t, what, places.len(), bounds.len()));
        }
        if let Some(op) = own {
            each_place(t, what, bounds, places, |_| Ok(()))?;
            op.start(t, lease)?;
            return Ok(StartedSet::Own(PreparedInFlight::of(op)));
        }
        let mut ops = std::mem::take(room).into_slots();
        // Those before an error are in flight.
        let outcome = each_place(t, what, bounds, places, |place| {
            for _ in 0..*n_of_each {
                ops.push(Some(start(place)?));
            }
            Ok(())
        });
        Ok(StartedSet::Plain { ops, room, outcome })
    }
}

#[cold]
fn other_number<T: Transport>(t: &T, what: &str, n: usize, expected: usize) -> TransportError {
    let text = format!(
        "{n} times {what}, where the operation was prepared for {expected} (start it with all of them)"
    );
    invalid(t, text)
}

/// Passes each of `places`, of which `bounds` is the memory, to `each`.
#[inline]
fn each_place<T: Transport, L>(
    t: &T,
    what: &str,
    bounds: &[Bound],
    places: impl Iterator<Item = (Bound, L)>,
    mut each: impl FnMut(L) -> Result<()>,
) -> Result<()> {
    for (bound, (found, place)) in bounds.iter().zip(places) {
        bound.require_same(t, what, found)?;
        each(place)?;
    }
    Ok(())
}

impl<T: Transport, Q> fmt::Debug for Way<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_own = self.own.is_some();
        f.debug_struct("Way")
            .field("n_of_each", &self.n_of_each)
            .field("n_places", &self.bounds.len())
            .field("is_own", &is_own)
            .finish_non_exhaustive()
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
        Self::of_each(t, destination, tag, std::iter::once(message), n)
    }

    /// `n_of_each` sends of each of `messages` to rank `destination`, all of which are started together.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    pub fn of_each<'m>(
        t: &T,
        destination: Rank,
        tag: Tag,
        messages: impl IntoIterator<Item = &'m [u8]>,
        n_of_each: usize,
    ) -> Result<Self> {
        require_destination(t, destination, tag)?;
        let way = Way::new(
            messages,
            n_of_each,
            |message| Bound::of(message),
            |message| t.prepare_sends(destination, tag, message, n_of_each),
        )?;
        Ok(Self { to: destination, tag, way })
    }
}

impl<T: Transport> PreparedRecvs<T> {
    /// `n` receives from `source` into `buffer`, into this memory alone; each message fills it, or its front.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    pub fn new(t: &T, source: Source, tag: Tag, buffer: &mut [u8], n: usize) -> Result<Self> {
        Self::of_each(t, source, tag, std::iter::once(buffer), n)
    }

    /// `n_of_each` receives from `source` into each of `buffers`, all of which are started together.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    pub fn of_each<'m>(
        t: &T,
        source: Source,
        tag: Tag,
        buffers: impl IntoIterator<Item = &'m mut [u8]>,
        n_of_each: usize,
    ) -> Result<Self> {
        require_source(t, source, tag)?;
        let way = Way::new(
            buffers,
            n_of_each,
            |buffer| Bound::of(buffer),
            |buffer| t.prepare_recvs(source, tag, buffer, n_of_each),
        )?;
        Ok(Self { source, tag, way })
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

shown!([T: Transport, P, Q] StartedSet<'_, T, P, Q>, "StartedSet");

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
        self.start_each_send(sends, std::iter::once(message))
    }

    /// Starts the sends that were prepared, of each of `messages`, which stay borrowed.
    ///
    /// # Errors
    /// Those of [`start_sends`](Self::start_sends), also for another number of messages.
    #[inline]
    #[track_caller]
    pub fn start_each_send(
        &'scope self,
        sends: &'scope mut PreparedSends<T>,
        messages: impl IntoIterator<Item = &'scope [u8], IntoIter: ExactSizeIterator>,
    ) -> Result<Request<'scope, 'env, T, StartedSends<'scope, T>>> {
        let PreparedSends { to, tag, way } = sends;
        let (to, tag) = (*to, *tag);
        let messages = messages.into_iter().map(|message| (Bound::of(message), message));
        self.counted(|t, lease| {
            way.start((t, lease), "a message", messages, |message| {
                t.start_send(Lease::of_part(), to, tag, message)
            })
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
        self.start_each_recv(receives, std::iter::once(buffer))
    }

    /// Starts the receives that were prepared, into each of `buffers`, which stay borrowed.
    ///
    /// # Errors
    /// Those of [`start_recvs`](Self::start_recvs), also for another number of buffers.
    #[inline]
    #[track_caller]
    pub fn start_each_recv(
        &'scope self,
        receives: &'scope mut PreparedRecvs<T>,
        buffers: impl IntoIterator<Item = &'scope mut [u8], IntoIter: ExactSizeIterator>,
    ) -> Result<Request<'scope, 'env, T, StartedRecvs<'scope, T>>> {
        let PreparedRecvs { source, tag, way } = receives;
        let (source, tag) = (*source, *tag);
        let places = buffers.into_iter().map(|buffer| (Bound::of(buffer), Landing::new(buffer)));
        self.counted(|t, lease| {
            way.start((t, lease), "a buffer", places, |landing| {
                t.start_recv(Lease::of_part(), source, tag, Place::Shared(landing))
            })
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
