//! Scopes: unblocked calls that cannot outlive their buffers.
//!
//! A guard whose destructor must run is not enough, since `mem::forget` is safe and the peer would
//! write into freed memory. A scope is the guard that cannot be forgotten: [`Transport::scope`]
//! counts the operations in flight, and checks the count after its closure has returned, as
//! [`std::thread::scope`] does for threads.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use super::{Landing, Pending, Place, Rank, Requests, Room, SendMode, Source, Tag, Transport};
use crate::collective::{Prepared, Started};
use crate::error::{Result, TransportError};

/// The promise, which only a [`Scope`] over `T` makes, that the operation started with it is
/// finished before the borrow of its buffer ends, or that the process ends first; and that of a
/// [`Window`](crate::window::Window) or a [`File`](crate::file::File), that it alone uses what was made
/// with it. A [collective in flight](crate::collective::InFlight), which a scope counts, ends the messages
/// that it starts before it ends itself. An operation that was [prepared](super::RawPrepared) is started
/// while the memory is borrowed for which it was prepared.
///
/// A backend's unsafe code may rely on this: there is no way to make a `Lease` outside this
/// module, `run` keeps the promise by counting, and a lease for one transport is none for
/// another, so that a wrapper around a transport has to go through a scope of its own.
pub struct Lease<T: ?Sized>(PhantomData<fn(&T)>);

impl<T: ?Sized> Lease<T> {
    /// The lease of a window or a file, which owns its memory.
    pub(crate) fn of_owner() -> Self {
        Self(PhantomData)
    }

    /// The lease of a message that is a part of an operation which a scope counts.
    pub(crate) fn of_part() -> Self {
        Self(PhantomData)
    }
}

#[cfg(test)]
impl<T: ?Sized> Lease<T> {
    /// The lease for the transport that a test's transport wraps.
    pub(crate) fn of_wrapped<U: ?Sized>(self) -> Lease<U> {
        Lease(PhantomData)
    }
}

impl<T: ?Sized> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lease")
    }
}

/// Counts the operations in flight; ends the job when one is left behind.
struct Outstanding<'env, T: Transport> {
    transport: &'env T,
    n_open: Cell<usize>,
    first_error: RefCell<Option<TransportError>>,
}

impl<T: Transport> Drop for Outstanding<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let n_open = self.n_open.get();
        if n_open != 0 {
            lost(self.transport, n_open);
        }
    }
}

/// Ends the job of `t`, which has lost `n_open` requests.
#[cold]
fn lost<T: Transport>(t: &T, n_open: usize) -> ! {
    t.fail_job(&format!(
        "{n_open} unblocked request(s) were leaked, or were in flight during a panic"
    ))
}

/// Scope of unblocked calls; made by [`Transport::scope`].
pub struct Scope<'scope, 'env: 'scope, T: Transport> {
    outstanding: &'scope Outstanding<'env, T>,
    // Both lifetimes invariant, as in std::thread::Scope: 'scope must not shrink to a shorter one.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<T: Transport> fmt::Debug for Scope<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("n_open", &self.outstanding.n_open.get()).finish()
    }
}

/// Body of [`Transport::scope`].
#[inline]
pub(super) fn run<'env, T: Transport, R>(
    transport: &'env T,
    f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>) -> Result<R>,
) -> Result<R> {
    // Whether `f` returns or panics, this is dropped, and looks at its count, before any buffer
    // that was lent inside `f` is freed.
    let outstanding =
        Outstanding { transport, n_open: Cell::new(0), first_error: RefCell::new(None) };
    let result = f(&Scope { outstanding: &outstanding, scope: PhantomData, env: PhantomData });
    match (result, outstanding.first_error.take()) {
        (Ok(_), Some(error)) => Err(error),
        (result, _) => result,
    }
}

// Starts are inlined, so that their operations stay in registers: a load of what smaller stores have
// just written waits until all stores before it are done, those of the message to another core too.
impl<'scope, 'env, T: Transport> Scope<'scope, 'env, T> {
    /// Starts to send `message` to `destination`; the message stays borrowed.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline(always)]
    #[track_caller]
    pub fn unblocked_send(
        &'scope self,
        destination: Rank,
        tag: Tag,
        message: &'scope [u8],
    ) -> Result<Request<'scope, 'env, T, T::SendOp<'scope>>> {
        // Counted first, so that not even a panic in the start would go unnoticed.
        self.open();
        let start =
            self.outstanding.transport.start_send(Lease(PhantomData), destination, tag, message);
        let op = start.inspect_err(|_| self.close())?;
        Ok(Request { scope: self, op: Some(op) })
    }

    /// Starts to send `message` to `destination` in `mode`; the message stays borrowed.
    ///
    /// # Errors
    /// [`OutOfResources`](crate::error::TransportErrorKind::OutOfResources) if a buffered message finds no
    /// room, [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such rank,
    /// or no receive for a ready message where the transport can tell; other kinds if the job has failed.
    #[inline(always)]
    #[track_caller]
    pub fn unblocked_send_in(
        &'scope self,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &'scope [u8],
    ) -> Result<Request<'scope, 'env, T, T::SendOp<'scope>>> {
        self.counted(|t, lease| t.start_send_in(lease, mode, destination, tag, message))
    }

    /// Starts to receive a message with `tag` from `source` into `buffer`, which stays borrowed.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline(always)]
    #[track_caller]
    pub fn unblocked_recv(
        &'scope self,
        source: Source,
        tag: Tag,
        buffer: &'scope mut [u8],
    ) -> Result<Request<'scope, 'env, T, T::RecvOp<'scope>>> {
        self.receive(source, tag, Place::Own(buffer))
    }

    /// Starts to receive a message with `tag` from `source` into `landing`, into which others may be
    /// received at once; the result has an empty buffer.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline(always)]
    #[track_caller]
    pub fn unblocked_recv_into(
        &'scope self,
        source: Source,
        tag: Tag,
        landing: Landing<'scope>,
    ) -> Result<Request<'scope, 'env, T, T::RecvOp<'scope>>> {
        self.receive(source, tag, Place::Shared(landing))
    }

    #[inline(always)]
    #[track_caller]
    fn receive(
        &'scope self,
        source: Source,
        tag: Tag,
        place: Place<'scope>,
    ) -> Result<Request<'scope, 'env, T, T::RecvOp<'scope>>> {
        // Counted first, as in `unblocked_send`.
        self.open();
        let start = self.outstanding.transport.start_recv(Lease(PhantomData), source, tag, place);
        let op = start.inspect_err(|_| self.close())?;
        Ok(Request { scope: self, op: Some(op) })
    }

    /// Starts the collective that was prepared, for [unblocked](Prepared::unblocked) calls or to be
    /// [started again and again](Prepared::persistent), from `input` to `output`, which stay borrowed; all
    /// ranks start it, and their unblocked collectives in one order (MPI-4.1 sections 6.12 and 6.13).
    ///
    /// Where the transport has no [call of its own](Transport::starts_own), it goes on only in the calls that
    /// test it or wait for it, or for a [set](Requests) that it is in. So ranks with several in flight wait
    /// for them one by one in the same order, or for all as a set. As many as 128 may be in flight at once.
    ///
    /// ```
    /// use comet_core::collective::{Collective, Kind, Parts, Prepared};
    /// use comet_core::transport::Transport;
    /// comet_core::local::run(3, |t| {
    ///     let call = Collective::new(Kind::Allgather, Parts::Equal(1));
    ///     let mut gather = Prepared::unblocked(t, call, None)?;
    ///     let (input, mut output) = ([t.rank() as u8], [9; 3]);
    ///     t.scope(|s| {
    ///         let mut request = s.unblocked_collective(&mut gather, &input, &mut output)?;
    ///         request.test();
    ///         request.wait()
    ///     })?;
    ///     assert_eq!(output, [0, 1, 2]);
    ///     Ok::<_, comet_core::error::TransportError>(())
    /// });
    /// ```
    ///
    /// # Errors
    /// Those of [`Transport::collective`], and
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) for other memory than a
    /// persistent one was prepared for.
    #[inline]
    #[track_caller]
    pub fn unblocked_collective(
        &'scope self,
        prepared: &'scope mut Prepared<T>,
        input: &'scope [u8],
        output: &'scope mut [u8],
    ) -> Result<Request<'scope, 'env, T, Started<'scope, T>>> {
        self.counted(|t, lease| prepared.start(t, lease, input, output))
    }

    /// Starts an operation by `start`, with a lease of this scope, which counts it.
    #[inline]
    #[track_caller]
    pub(super) fn counted<P: Pending<T>>(
        &'scope self,
        start: impl FnOnce(&'env T, Lease<T>) -> Result<P>,
    ) -> Result<Request<'scope, 'env, T, P>> {
        // Counted first, as in `unblocked_send`.
        self.open();
        let start = start(self.outstanding.transport, Lease(PhantomData));
        let op = start.inspect_err(|_| self.close())?;
        Ok(Request { scope: self, op: Some(op) })
    }

    /// An empty set of requests, all of one kind.
    #[inline]
    pub fn requests<P: Pending<T>>(&'scope self) -> Requests<'scope, 'env, T, P> {
        Requests::new(self, Vec::new())
    }

    /// An empty set of requests in the memory of `room`, which
    /// [`Requests::into_room`] gives back; for a timed loop, which must not allocate.
    #[inline]
    pub fn requests_in<P: Pending<T>, Q>(
        &'scope self,
        room: Room<Q>,
    ) -> Requests<'scope, 'env, T, P> {
        Requests::new(self, room.into_slots())
    }

    /// The transport on which the operations of this scope run.
    #[inline]
    pub(super) fn transport(&self) -> &'env T {
        self.outstanding.transport
    }

    /// Finishes an operation that this scope has counted.
    #[inline(always)]
    #[track_caller]
    pub(super) fn finish<P: Pending<T>>(&self, op: P) -> Result<P::Out> {
        let result = op.finish(self.transport());
        self.close();
        result
    }

    #[inline]
    fn open(&self) {
        self.outstanding.n_open.set(self.outstanding.n_open.get() + 1);
    }

    /// Counts an operation of this scope as finished.
    #[inline]
    pub(super) fn close(&self) {
        self.outstanding.n_open.set(self.outstanding.n_open.get() - 1);
    }

    /// Finishes an operation whose request was dropped.
    #[cold]
    fn abandon<P: Pending<T>>(&self, op: P) {
        // During a panic the peer may never answer: the open count then ends the job.
        if !std::thread::panicking()
            && let Err(error) = self.finish(op)
        {
            self.note(error);
        }
    }

    /// Keeps the error of a request that nobody waits for.
    #[cold]
    pub(super) fn note(&self, error: TransportError) {
        self.outstanding.first_error.borrow_mut().get_or_insert(error);
    }
}

/// An operation in flight (the id that the thesis's unblocked calls return). Dropping it waits.
#[must_use = "an unblocked operation ends only when it is waited for"]
pub struct Request<'scope, 'env, T: Transport, P: Pending<T>> {
    scope: &'scope Scope<'scope, 'env, T>,
    op: Option<P>,
}

shown!([T: Transport, P: Pending<T>] Request<'_, '_, T, P>, "Request");

impl<T: Transport, P: Pending<T>> Request<'_, '_, T, P> {
    /// Waits for the end of the operation: until the message of a send may be changed again
    /// (`wait_for_send_to_complete`), or until that of a receive has arrived
    /// (`wait_for_recv_to_complete`), which gives status and buffer back.
    ///
    /// # Errors
    /// [`Truncated`](crate::error::TransportErrorKind::Truncated) if a message was longer than its
    /// buffer; other kinds if the job has failed.
    ///
    /// # Panics
    /// Never: only `wait` and a set take the operation out, and the request with it.
    #[inline(always)]
    #[track_caller]
    pub fn wait(self) -> Result<P::Out> {
        let scope = self.scope;
        scope.finish(self.into_op().expect("a request is waited for once"))
    }

    /// Makes progress; `true` if [`wait`](Self::wait) would return at once.
    #[inline]
    #[track_caller]
    pub fn test(&mut self) -> bool {
        self.in_flight().is_none_or(|(op, t)| op.poll(t))
    }

    /// The operation, unless it was waited for, with its transport.
    #[inline]
    pub(super) fn in_flight(&mut self) -> Option<(&mut P, &T)> {
        Some((self.op.as_mut()?, self.scope.transport()))
    }

    /// The operation, still counted, for a set of the same scope.
    #[inline(always)]
    pub(super) fn into_op(self) -> Option<P> {
        ManuallyDrop::new(self).op.take()
    }
}

impl<T: Transport, P: Pending<T>> Drop for Request<'_, '_, T, P> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(op) = self.op.take() {
            self.scope.abandon(op);
        }
    }
}
