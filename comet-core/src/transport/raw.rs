//! The part of a transport that backends write for unblocked calls, and kernels never call.

use super::{Group, Lease, Outgoing, Place, Rank, SendMode, Source, Status, Tag};
use crate::collective::{Collective, NoCall};
use crate::error::Result;
use crate::file::{NoFile, Plan, RawFile};
use crate::layout::Construction;
use crate::window::{Memory, RawWindow};

/// An operation in flight on a transport `T`: started, and not finished yet.
///
/// [`Request`](super::Request) and [`Requests`](super::Requests) call these methods; a finished
/// operation leaves its buffer alone.
pub trait Pending<T: ?Sized>: Sized {
    /// The result of the operation.
    type Out;

    /// Makes progress; `true` once the operation has ended, also with an error.
    #[track_caller]
    fn poll(&mut self, t: &T) -> bool;

    /// Waits for the end of the operation.
    /// The buffer is in use no more, also if the result is an error.
    ///
    /// # Errors
    /// The failure of this operation, or that of the job.
    #[track_caller]
    fn finish(self, t: &T) -> Result<Self::Out>;

    /// Waits for all of `ops`, takes them out, and gives the result of each to `each` with its index.
    /// By default for one after the other.
    #[inline]
    #[track_caller]
    fn wait_all(t: &T, ops: &mut [Option<Self>], mut each: impl FnMut(usize, Result<Self::Out>)) {
        // Loops rather than closures, which would hide the caller's place in the source.
        for (index, slot) in ops.iter_mut().enumerate() {
            if let Some(op) = slot.take() {
                each(index, op.finish(t));
            }
        }
    }

    /// Waits until one of `ops` has ended, and takes it out: its index and result; `None` if `ops`
    /// holds none. By default of the [`first`](Self::first).
    #[track_caller]
    fn wait_any(t: &T, ops: &mut [Option<Self>]) -> Option<(usize, Result<Self::Out>)> {
        let index = Self::first(t, ops)?;
        let op = ops[index].take()?;
        Some((index, op.finish(t)))
    }

    /// Waits until at least one of `ops` has ended; takes out all that have, and gives the result of
    /// each to `each` with its index. By default it waits for the first and polls the others once.
    #[track_caller]
    fn wait_some(t: &T, ops: &mut [Option<Self>], mut each: impl FnMut(usize, Result<Self::Out>)) {
        let first = Self::first(t, ops);
        for (index, slot) in ops.iter_mut().enumerate() {
            if let Some(op) = slot
                && (first == Some(index) || op.poll(t))
                && let Some(op) = slot.take()
            {
                each(index, op.finish(t));
            }
        }
    }

    /// Waits until one of `ops` has ended, and leaves it there: its index; `None` if `ops` holds
    /// none. By default it polls them in a circle.
    #[track_caller]
    fn first(t: &T, ops: &mut [Option<Self>]) -> Option<usize> {
        while ops.iter().any(Option::is_some) {
            for (index, slot) in ops.iter_mut().enumerate() {
                if let Some(op) = slot
                    && op.poll(t)
                {
                    return Some(index);
                }
            }
            std::hint::spin_loop();
        }
        None
    }
}

/// An operation of a transport's own that was prepared for certain memory, and is started again and again
/// (MPI-4.1 sections 3.9 and 6.13). Dropping it frees it.
///
/// [`Request`](super::Request) calls these methods, in turn: start, any number of polls, finish.
pub trait RawPrepared<T: ?Sized>: Sized {
    /// Starts the operation, which is not in flight. By the lease the memory for which it was prepared is
    /// borrowed until it is finished.
    ///
    /// # Errors
    /// If the job has failed; nothing was started then.
    fn start(&mut self, t: &T, lease: Lease<T>) -> Result<()>;

    /// Makes progress; `true` once the operation has ended, also with an error.
    fn poll(&mut self, t: &T) -> bool;

    /// Waits for the end of the operation; its memory is in use no more, also after an error.
    ///
    /// # Errors
    /// The failure of this operation, or that of the job.
    fn finish(&mut self, t: &T) -> Result<()>;

    /// This operation and `other` as one, which is started and ends with both (`MPI_Startall`, `MPI_Waitall`).
    /// Neither is in flight, and both move messages one way, from or to one rank.
    fn joined(self, other: Self) -> Self;

    /// Lets part number `part` of a message in parts leave (`MPI_Pready`). The send is in flight, has this part,
    /// and has not let it leave since its start.
    ///
    /// # Errors
    /// If the job has failed.
    fn ready(&mut self, t: &T, part: usize) -> Result<()>;

    /// Makes progress; true once part number `part` of a message in parts has arrived (`MPI_Parrived`). The
    /// receive is in flight, and has this part.
    ///
    /// # Errors
    /// If the job has failed.
    fn has_arrived(&mut self, t: &T, part: usize) -> Result<bool>;
}

/// The prepared operation of a transport that has none of its own: there is no value of it.
#[derive(Clone, Copy, Debug)]
pub enum NoPrepared {}

impl<T: ?Sized> RawPrepared<T> for NoPrepared {
    fn start(&mut self, _: &T, _: Lease<T>) -> Result<()> {
        match *self {}
    }

    fn poll(&mut self, _: &T) -> bool {
        match *self {}
    }

    fn finish(&mut self, _: &T) -> Result<()> {
        match *self {}
    }

    fn joined(self, _: Self) -> Self {
        match self {}
    }

    fn ready(&mut self, _: &T, _: usize) -> Result<()> {
        match *self {}
    }

    fn has_arrived(&mut self, _: &T, _: usize) -> Result<bool> {
        match *self {}
    }
}

/// The unblocked calls of a backend; kernels use [`Transport::scope`](super::Transport::scope).
///
/// The operations are typed, so a backend keeps in them what it needs (an `MPI_Request`, an index
/// into its table) together with the borrow of the buffer.
/// The [`Lease`] that a start takes is the promise, made by [`Scope`](super::Scope) alone, that the
/// operation is finished before the borrow ends, or that the process ends first.
/// So a backend may keep a raw pointer to the buffer until then.
pub trait RawTransport {
    /// A send that was started.
    type SendOp<'env>: Pending<Self, Out = ()>;
    /// A receive that was started; it holds the borrow of its buffer, and gives it back (an empty one
    /// where it fills a landing).
    type RecvOp<'env>: Pending<Self, Out = (Status, &'env mut [u8])>;
    /// A collective that was started by a call of the transport's own;
    /// [`NoCall`] where it has none.
    type OwnCall<'env>: Pending<Self, Out = ()>;
    /// An operation that was prepared by a call of the transport's own;
    /// [`NoPrepared`] where it has none.
    type PreparedOp: RawPrepared<Self>;
    /// One side of a window.
    type Window: RawWindow;
    /// One side of a file.
    type File: RawFile;
    /// The construction of a datatype by calls of the transport's own;
    /// [`PieceSearch`](crate::layout::PieceSearch) where it has none.
    type Construction: Construction<Self>;

    /// The ranks of this transport, and its place among those of the job.
    fn group(&self) -> &Group;

    /// Starts to send `message` to rank `destination`. By default in the standard mode.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed; nothing was started then.
    #[inline]
    #[track_caller]
    fn start_send<'env>(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: &'env [u8],
    ) -> Result<Self::SendOp<'env>> {
        self.start_send_in(lease, SendMode::Standard, destination, tag, message)
    }

    /// Starts to send `message` to rank `destination` in `mode`; a standard send is that of
    /// [`start_send`](Self::start_send).
    ///
    /// # Errors
    /// [`OutOfResources`](crate::error::TransportErrorKind::OutOfResources) if a buffered message finds no
    /// room, [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such rank,
    /// or no receive for a ready message where the transport can tell; other kinds if the job has failed.
    /// Nothing was started then.
    #[track_caller]
    fn start_send_in<'env>(
        &self,
        lease: Lease<Self>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &'env [u8],
    ) -> Result<Self::SendOp<'env>>;

    /// Starts to send `message` out of the memory of a collective in flight to rank `destination`.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed; nothing was started then.
    #[track_caller]
    fn start_send_from<'env>(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: Outgoing<'env>,
    ) -> Result<Self::SendOp<'env>>;

    /// Number of the next unblocked collective by messages of the ranks of this transport, which counts
    /// up: they start such calls in one order, and so count alike.
    fn next_call(&self) -> u16 {
        self.group().next_call()
    }

    /// Starts `call` from `input` to `output` by a call of the transport's own; all ranks start it.
    ///
    /// # Errors
    /// Those of [`Transport::collective`](super::Transport::collective), and nothing was started then; by
    /// default [`Unsupported`](crate::error::TransportErrorKind::Unsupported).
    #[track_caller]
    fn start_own<'env>(
        &self,
        lease: Lease<Self>,
        call: &'env Collective,
        input: &'env [u8],
        output: &'env mut [u8],
    ) -> Result<Self::OwnCall<'env>> {
        let _ = (lease, input, output);
        Err(NoCall::unsupported(call))
    }

    /// `call` from `input` to `output`, which are long enough, prepared by a call of the transport's own; all
    /// ranks prepare it. `None` where there is no such call, which is the default.
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) if the library lacks it, on all ranks
    /// alike; other kinds if the job has failed.
    fn prepare_own(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<Option<Self::PreparedOp>> {
        let _ = (call, input, output);
        Ok(None)
    }

    /// `n` sends of `message` to rank `destination`, prepared by calls of the transport's own and started
    /// together; `None` where there are no such calls, which is the default.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    fn prepare_sends(
        &self,
        destination: Rank,
        tag: Tag,
        message: &[u8],
        n: usize,
    ) -> Result<Option<Self::PreparedOp>> {
        let _ = (destination, tag, message, n);
        Ok(None)
    }

    /// The same for `n` receives into `buffer`, all into the same place.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    fn prepare_recvs(
        &self,
        source: Source,
        tag: Tag,
        buffer: &mut [u8],
        n: usize,
    ) -> Result<Option<Self::PreparedOp>> {
        let _ = (source, tag, buffer, n);
        Ok(None)
    }

    /// The send of `message` to rank `destination` in `n_parts` parts, which divide its length, prepared by a call
    /// of the transport's own; `None` where parts are plain messages, which is the default.
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) if the library lacks it, on all ranks
    /// alike; other kinds if the job has failed.
    fn prepare_partitioned_send(
        &self,
        destination: Rank,
        tag: Tag,
        message: &[u8],
        n_parts: usize,
    ) -> Result<Option<Self::PreparedOp>> {
        let _ = (destination, tag, message, n_parts);
        Ok(None)
    }

    /// The same for a receive from rank `source` into `buffer`.
    ///
    /// # Errors
    /// Those of [`prepare_partitioned_send`](Self::prepare_partitioned_send).
    fn prepare_partitioned_recv(
        &self,
        source: Rank,
        tag: Tag,
        buffer: &mut [u8],
        n_parts: usize,
    ) -> Result<Option<Self::PreparedOp>> {
        let _ = (source, tag, buffer, n_parts);
        Ok(None)
    }

    /// Starts to receive into `place`, which no other operation uses unless it is shared.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed; nothing was started then.
    #[track_caller]
    fn start_recv<'env>(
        &self,
        lease: Lease<Self>,
        source: Source,
        tag: Tag,
        place: Place<'env>,
    ) -> Result<Self::RecvOp<'env>>;

    /// This rank's side of a closed window, with zeroed memory; all ranks call it, with lengths in bytes of
    /// their own.
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) on all ranks alike if there are no
    /// windows, [`OutOfResources`](crate::error::TransportErrorKind::OutOfResources) if there is not that
    /// much memory.
    fn make_window(
        &self,
        lease: Lease<Self>,
        part_bytes: usize,
        origin_bytes: usize,
        memory: Memory,
    ) -> Result<Self::Window>;

    /// This rank's side of a closed file, with `memory_bytes` of zeroed memory for transfers, of which at most
    /// `n_in_flight` are in flight at once; all ranks call it.
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) on all ranks alike if there are no
    /// files, which is the default, [`OutOfResources`](crate::error::TransportErrorKind::OutOfResources) if
    /// there is not that much memory.
    fn make_file(
        &self,
        lease: Lease<Self>,
        plan: &Plan,
        memory_bytes: usize,
        n_in_flight: usize,
    ) -> Result<Self::File> {
        let _ = (lease, plan, memory_bytes, n_in_flight);
        Err(NoFile::unsupported())
    }

    /// Waits for all of `receives` and all of `sends`, takes them out, and gives the result of each to
    /// `received` or `sent` with its index. By default for one set after the other.
    #[inline]
    #[track_caller]
    fn wait_for_both<'r, 's>(
        &self,
        receives: &mut [Option<Self::RecvOp<'r>>],
        sends: &mut [Option<Self::SendOp<'s>>],
        received: impl FnMut(usize, Result<(Status, &'r mut [u8])>),
        sent: impl FnMut(usize, Result<()>),
    ) {
        Self::RecvOp::wait_all(self, receives, received);
        Self::SendOp::wait_all(self, sends, sent);
    }

    /// Ends this process and the job, without unwinding, because a buffer that an unfinished
    /// operation uses is about to be freed.
    fn fail_job(&self, reason: &str) -> !;
}
