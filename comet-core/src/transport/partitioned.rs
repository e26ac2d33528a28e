//! Messages in parts (MPI-4.1 section 4.2): the memory of a message is named once, and each start of it sends the
//! parts as they get ready, in any order.
//!
//! ```text
//!   rank a   prepare ── start ── ready(2) ── ready(0) ── ready(1) ── wait ── start ── …
//!   rank b   prepare ── start ────── has_arrived(0)? ─────────────── wait ── start ── …
//! ```
//!
//! A transport with calls of its own has them (`MPI_Psend_init`, `MPI_Pready`, `MPI_Parrived`); elsewhere a
//! part is a message, sent once it and all parts before it are ready.

use std::fmt;

use super::prepared::{Bound, invalid, wait_for_all};
use super::{
    Lease, Pending, Place, Rank, RawPrepared, Request, Room, Scope, Source, Tag, Transport,
    require_destination, require_rank,
};
use crate::error::{Result, TransportError};

/// Parts of a message in memory.
#[derive(Clone, Copy, Debug)]
struct Parts {
    bound: Bound,
    n: usize,
    length_bytes: usize,
}

impl Parts {
    /// `n` parts of `memory`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if they have no common length.
    fn of<T: Transport>(t: &T, memory: &[u8], n: usize) -> Result<Self> {
        if n == 0 || !memory.len().is_multiple_of(n) {
            let text = format!(
                "a message of {} bytes has no {n} parts of one length (name a number that divides its length)",
                memory.len()
            );
            return Err(invalid(t, text));
        }
        Ok(Self { bound: Bound::of(memory), n, length_bytes: memory.len() / n })
    }
}

/// A send of one message in parts to one rank, prepared once and started again and again.
///
/// ```
/// use comet_core::transport::{PartitionedRecv, PartitionedSend, Tag, Transport};
/// const TAG: Tag = Tag::new(1);
/// comet_core::local::run_alone(|t| {
///     let (message, mut buffer) = ([1, 2, 3, 4, 5, 6], [0; 6]);
///     let mut send = PartitionedSend::new(t, 0, TAG, &message, 3)?;
///     let mut receive = PartitionedRecv::new(t, 0, TAG, &mut buffer, 3)?;
///     t.scope(|s| {
///         let arriving = s.start_partitioned_recv(&mut receive, &mut buffer)?;
///         let mut leaving = s.start_partitioned_send(&mut send, &message)?;
///         for part in [2, 0, 1] {
///             leaving.ready(part)?;
///         }
///         leaving.wait()?;
///         arriving.wait()
///     })?;
///     assert_eq!(buffer, message);
///     Ok::<_, comet_core::error::TransportError>(())
/// })
/// .unwrap();
/// ```
pub struct PartitionedSend<T: Transport> {
    to: Rank,
    tag: Tag,
    parts: Parts,
    /// Parts that are ready, of the present start.
    is_ready: Vec<bool>,
    /// The transport's own operation, if it has one.
    own: Option<T::PreparedOp>,
    /// Memory of plain messages between two starts.
    room: Room<T::SendOp<'static>>,
}

/// A receive of one message in parts from one rank; the counterpart of [`PartitionedSend`].
pub struct PartitionedRecv<T: Transport> {
    source: Rank,
    tag: Tag,
    parts: Parts,
    own: Option<T::PreparedOp>,
    room: Room<T::RecvOp<'static>>,
}

impl<T: Transport> fmt::Debug for PartitionedSend<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (to, parts) = (&self.to, &self.parts);
        f.debug_struct("PartitionedSend")
            .field("to", to)
            .field("parts", parts)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> fmt::Debug for PartitionedRecv<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, parts) = (&self.source, &self.parts);
        f.debug_struct("PartitionedRecv")
            .field("source", source)
            .field("parts", parts)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> PartitionedSend<T> {
    /// The send of `message` to rank `destination` in `n_parts` parts of one length, of this memory alone. The
    /// two ranks prepare their sends and receives with one tag in one order, with as many parts.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such rank, or if the
    /// number of parts does not divide the length;
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) if the library of the transport lacks the
    /// call; other kinds if the job has failed.
    pub fn new(t: &T, destination: Rank, tag: Tag, message: &[u8], n_parts: usize) -> Result<Self> {
        require_destination(t, destination, tag)?;
        let parts = Parts::of(t, message, n_parts)?;
        let own = t.prepare_partitioned_send(destination, tag, message, n_parts)?;
        let room = Room::of(if own.is_none() { n_parts } else { 0 });
        Ok(Self { to: destination, tag, parts, is_ready: vec![false; n_parts], own, room })
    }
}

impl<T: Transport> PartitionedRecv<T> {
    /// The receive from rank `source` into `buffer` in `n_parts` parts of one length, into this memory alone.
    ///
    /// # Errors
    /// Those of [`PartitionedSend::new`].
    pub fn new(t: &T, source: Rank, tag: Tag, buffer: &mut [u8], n_parts: usize) -> Result<Self> {
        require_rank(t, source)?;
        let parts = Parts::of(t, buffer, n_parts)?;
        let own = t.prepare_partitioned_recv(source, tag, buffer, n_parts)?;
        let room = Room::of(if own.is_none() { n_parts } else { 0 });
        Ok(Self { source, tag, parts, own, room })
    }
}

/// A message in parts that leaves.
pub struct PartitionedLeaving<'env, T: Transport> {
    is_ready: &'env mut [bool],
    way: Leaving<'env, T>,
}

/// Way in which the parts leave.
enum Leaving<'env, T: Transport> {
    /// By calls of the transport's own.
    Own(&'env mut T::PreparedOp),
    /// One by one, in their order.
    Plain {
        message: &'env [u8],
        part_bytes: usize,
        envelope: (Rank, Tag),
        ops: Vec<Option<T::SendOp<'env>>>,
        room: &'env mut Room<T::SendOp<'static>>,
    },
}

/// A message in parts that arrives.
pub struct PartitionedArriving<'env, T: Transport> {
    n_parts: usize,
    way: Arriving<'env, T>,
}

/// Way in which the parts arrive.
enum Arriving<'env, T: Transport> {
    Own(&'env mut T::PreparedOp),
    Plain {
        ops: Vec<Option<T::RecvOp<'env>>>,
        room: &'env mut Room<T::RecvOp<'static>>,
        /// Error of the start that ended the others.
        outcome: Result<()>,
    },
}

impl<T: Transport> fmt::Debug for PartitionedLeaving<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedLeaving")
            .field("is_ready", &self.is_ready)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> fmt::Debug for PartitionedArriving<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedArriving").finish_non_exhaustive()
    }
}

impl<T: Transport> PartitionedLeaving<'_, T> {
    #[inline]
    fn ready(&mut self, t: &T, part: usize) -> Result<()> {
        match self.is_ready.get_mut(part) {
            Some(is_ready @ false) => *is_ready = true,
            found => return Err(no_such_part(t, part, found.is_some(), self.is_ready.len())),
        }
        match &mut self.way {
            Leaving::Own(op) => op.ready(t, part),
            Leaving::Plain { message, part_bytes, envelope: (to, tag), ops, .. } => {
                while self.is_ready.get(ops.len()) == Some(&true) {
                    let start = ops.len() * *part_bytes;
                    let part = &message[start..start + *part_bytes];
                    ops.push(Some(t.start_send(Lease::of_part(), *to, *tag, part)?));
                }
                Ok(())
            }
        }
    }
}

#[cold]
fn no_such_part<T: Transport>(t: &T, part: usize, is_ready: bool, n: usize) -> TransportError {
    let text = if is_ready {
        format!("part {part} is ready already (name each part once in a start)")
    } else {
        format!("there is no part {part} of a message in {n} parts (name 0 to {})", n - 1)
    };
    invalid(t, text)
}

impl<T: Transport> Pending<T> for PartitionedLeaving<'_, T> {
    type Out = ();

    #[inline]
    fn poll(&mut self, t: &T) -> bool {
        let is_ready = self.is_ready.iter().all(|is_ready| *is_ready);
        is_ready
            && match &mut self.way {
                Leaving::Own(op) => op.poll(t),
                Leaving::Plain { ops, .. } => ops.iter_mut().flatten().all(|op| op.poll(t)),
            }
    }

    /// Parts that are not ready are sent too.
    #[inline]
    fn finish(mut self, t: &T) -> Result<()> {
        let mut outcome = Ok(());
        for part in 0..self.is_ready.len() {
            if !self.is_ready[part] {
                outcome = outcome.and(self.ready(t, part));
            }
        }
        match self.way {
            Leaving::Own(op) => outcome.and(op.finish(t)),
            Leaving::Plain { ops, room, .. } => wait_for_all(t, ops, room, outcome),
        }
    }
}

impl<T: Transport> PartitionedArriving<'_, T> {
    #[inline]
    fn has_arrived(&mut self, t: &T, part: usize) -> Result<bool> {
        if part >= self.n_parts {
            return Err(no_such_part(t, part, false, self.n_parts));
        }
        match &mut self.way {
            Arriving::Own(op) => op.has_arrived(t, part),
            // Of a start that has failed parts are missing.
            Arriving::Plain { ops, .. } => {
                Ok(ops.get_mut(part).and_then(Option::as_mut).is_none_or(|op| op.poll(t)))
            }
        }
    }
}

impl<T: Transport> Pending<T> for PartitionedArriving<'_, T> {
    type Out = ();

    #[inline]
    fn poll(&mut self, t: &T) -> bool {
        match &mut self.way {
            Arriving::Own(op) => op.poll(t),
            Arriving::Plain { ops, .. } => ops.iter_mut().flatten().all(|op| op.poll(t)),
        }
    }

    #[inline]
    fn finish(self, t: &T) -> Result<()> {
        match self.way {
            Arriving::Own(op) => op.finish(t),
            Arriving::Plain { ops, room, outcome } => wait_for_all(t, ops, room, outcome),
        }
    }
}

impl<'scope, 'env, T: Transport> Scope<'scope, 'env, T> {
    /// Starts the send that was prepared, of `message`, which stays borrowed; no part is ready yet.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) for other memory than it was prepared
    /// for; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn start_partitioned_send(
        &'scope self,
        send: &'scope mut PartitionedSend<T>,
        message: &'scope [u8],
    ) -> Result<Request<'scope, 'env, T, PartitionedLeaving<'scope, T>>> {
        self.counted(|t, lease| {
            let PartitionedSend { to, tag, parts, is_ready, own, room } = send;
            parts.bound.require(t, "a message", message)?;
            is_ready.fill(false);
            let way = match own {
                Some(op) => {
                    op.start(t, lease)?;
                    Leaving::Own(op)
                }
                None => Leaving::Plain {
                    message,
                    part_bytes: parts.length_bytes,
                    envelope: (*to, *tag),
                    ops: std::mem::take(room).into_slots(),
                    room,
                },
            };
            Ok(PartitionedLeaving { is_ready, way })
        })
    }

    /// Starts the receive that was prepared, into `buffer`, which stays borrowed.
    ///
    /// # Errors
    /// Those of [`start_partitioned_send`](Self::start_partitioned_send).
    #[inline]
    #[track_caller]
    pub fn start_partitioned_recv(
        &'scope self,
        receive: &'scope mut PartitionedRecv<T>,
        buffer: &'scope mut [u8],
    ) -> Result<Request<'scope, 'env, T, PartitionedArriving<'scope, T>>> {
        self.counted(|t, lease| {
            let PartitionedRecv { source, tag, parts, own, room } = receive;
            parts.bound.require(t, "a buffer", buffer)?;
            let n_parts = parts.n;
            if let Some(op) = own {
                op.start(t, lease)?;
                return Ok(PartitionedArriving { n_parts, way: Arriving::Own(op) });
            }
            let (mut ops, mut rest, mut outcome) =
                (std::mem::take(room).into_slots(), buffer, Ok(()));
            while outcome.is_ok() && ops.len() < n_parts {
                let (part, others) = rest.split_at_mut(parts.length_bytes);
                rest = others;
                let place = Place::Own(part);
                let source = Source::Rank(*source);
                // Those before an error are in flight.
                outcome = t
                    .start_recv(Lease::of_part(), source, *tag, place)
                    .map(|op| ops.push(Some(op)));
            }
            Ok(PartitionedArriving { n_parts, way: Arriving::Plain { ops, room, outcome } })
        })
    }
}

impl<T: Transport> Request<'_, '_, T, PartitionedLeaving<'_, T>> {
    /// Lets part number `part` of the message leave (`MPI_Pready`).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such part, or if it is
    /// ready already; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    pub fn ready(&mut self, part: usize) -> Result<()> {
        self.in_flight().map_or(Ok(()), |(op, t)| op.ready(t, part))
    }
}

impl<T: Transport> Request<'_, '_, T, PartitionedArriving<'_, T>> {
    /// Makes progress; true if part number `part` of the message has arrived (`MPI_Parrived`).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such part; other kinds
    /// if the job has failed.
    #[inline]
    #[track_caller]
    pub fn has_arrived(&mut self, part: usize) -> Result<bool> {
        self.in_flight().map_or(Ok(true), |(op, t)| op.has_arrived(t, part))
    }
}
