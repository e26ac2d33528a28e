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

use super::prepared::{Bound, PreparedInFlight, Way, invalid};
use super::{
    Lease, Pending, Place, Rank, RawPrepared as _, Request, Scope, Source, StartedRecvs,
    StartedSends, StartedSet, Tag, Transport, require_destination, require_rank,
};
use crate::error::{Result, TransportError};

/// The length of each of `n` parts of `memory`.
///
/// # Errors
/// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if they have no common length.
fn part_bytes<T: Transport>(t: &T, memory: &[u8], n: usize) -> Result<usize> {
    if n == 0 || !memory.len().is_multiple_of(n) {
        let text = format!(
            "a message of {} bytes has no {n} parts of one length (name a number that divides its length)",
            memory.len()
        );
        return Err(invalid(t, text));
    }
    Ok(memory.len() / n)
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
    part_bytes: usize,
    /// Parts that are ready, of the present start.
    is_ready: Vec<bool>,
    way: Way<T, T::SendOp<'static>>,
}

/// A receive of one message in parts from one rank; the counterpart of [`PartitionedSend`].
pub struct PartitionedRecv<T: Transport> {
    source: Rank,
    tag: Tag,
    part_bytes: usize,
    way: Way<T, T::RecvOp<'static>>,
}

shown!([T: Transport] PartitionedSend<T>, "PartitionedSend", |this| to: this.to, way: this.way);

shown!([T: Transport] PartitionedRecv<T>, "PartitionedRecv", |this| source: this.source, way: this.way);

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
        let part_bytes = part_bytes(t, message, n_parts)?;
        let prepare = |message| t.prepare_partitioned_send(destination, tag, message, n_parts);
        let way = Way::new([message], n_parts, |message| Bound::of(message), prepare)?;
        Ok(Self { to: destination, tag, part_bytes, is_ready: vec![false; n_parts], way })
    }
}

impl<T: Transport> PartitionedRecv<T> {
    /// The receive from rank `source` into `buffer` in `n_parts` parts of one length, into this memory alone.
    ///
    /// # Errors
    /// Those of [`PartitionedSend::new`].
    pub fn new(t: &T, source: Rank, tag: Tag, buffer: &mut [u8], n_parts: usize) -> Result<Self> {
        require_rank(t, source)?;
        let part_bytes = part_bytes(t, buffer, n_parts)?;
        let prepare = |buffer| t.prepare_partitioned_recv(source, tag, buffer, n_parts);
        let way = Way::new([buffer], n_parts, |buffer| Bound::of(buffer), prepare)?;
        Ok(Self { source, tag, part_bytes, way })
    }
}

/// A message in parts that leaves.
pub struct PartitionedLeaving<'env, T: Transport> {
    message: &'env [u8],
    part_bytes: usize,
    envelope: (Rank, Tag),
    is_ready: &'env mut [bool],
    /// Plain messages are those of the parts so far.
    way: StartedSends<'env, T>,
}

/// A message in parts that arrives.
pub struct PartitionedArriving<'env, T: Transport> {
    n_parts: usize,
    way: StartedRecvs<'env, T>,
}

shown!([T: Transport] PartitionedLeaving<'_, T>, "PartitionedLeaving", |this| is_ready: this.is_ready);

shown!([T: Transport] PartitionedArriving<'_, T>, "PartitionedArriving");

impl<T: Transport> PartitionedLeaving<'_, T> {
    #[inline]
    fn ready(&mut self, t: &T, part: usize) -> Result<()> {
        match self.is_ready.get_mut(part) {
            Some(is_ready @ false) => *is_ready = true,
            found => return Err(no_such_part(t, part, found.is_some(), self.is_ready.len())),
        }
        let Self { message, part_bytes, envelope: (to, tag), is_ready, way } = self;
        match way {
            StartedSet::Own(flight) => flight.op.ready(t, part),
            StartedSet::Plain { ops, .. } => {
                while is_ready.get(ops.len()) == Some(&true) {
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
        self.is_ready.iter().all(|is_ready| *is_ready) && self.way.poll(t)
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
        let ended = self.way.finish(t);
        outcome.and(ended)
    }
}

impl<T: Transport> PartitionedArriving<'_, T> {
    #[inline]
    fn has_arrived(&mut self, t: &T, part: usize) -> Result<bool> {
        if part >= self.n_parts {
            return Err(no_such_part(t, part, false, self.n_parts));
        }
        match &mut self.way {
            StartedSet::Own(flight) => flight.op.has_arrived(t, part),
            // Of a start that has failed parts are missing.
            StartedSet::Plain { ops, .. } => {
                Ok(ops.get_mut(part).and_then(Option::as_mut).is_none_or(|op| op.poll(t)))
            }
        }
    }
}

impl<T: Transport> Pending<T> for PartitionedArriving<'_, T> {
    type Out = ();

    #[inline]
    fn poll(&mut self, t: &T) -> bool {
        self.way.poll(t)
    }

    #[inline]
    fn finish(self, t: &T) -> Result<()> {
        self.way.finish(t)
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
            let PartitionedSend { to, tag, part_bytes, is_ready, way } = send;
            way.bounds[0].require(t, "a message", message)?;
            is_ready.fill(false);
            let (part_bytes, envelope) = (*part_bytes, (*to, *tag));
            let way = match &mut way.own {
                Some(op) => {
                    op.start(t, lease)?;
                    StartedSet::Own(PreparedInFlight::of(op))
                }
                None => {
                    let ops = std::mem::take(&mut way.room).into_slots();
                    StartedSet::Plain { ops, room: &mut way.room, outcome: Ok(()) }
                }
            };
            Ok(PartitionedLeaving { message, part_bytes, envelope, is_ready, way })
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
            let PartitionedRecv { source, tag, part_bytes, way } = receive;
            let n_parts = way.n_of_each;
            let (place, mut rest) = ((Bound::of(buffer), ()), buffer);
            let way = way.start((t, lease), "a buffer", std::iter::once(place), |()| {
                let (part, others) = std::mem::take(&mut rest).split_at_mut(*part_bytes);
                rest = others;
                t.start_recv(Lease::of_part(), Source::Rank(*source), *tag, Place::Own(part))
            })?;
            Ok(PartitionedArriving { n_parts, way })
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
