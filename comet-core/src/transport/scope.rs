//! Scopes: unblocked calls that cannot outlive their buffers.
//!
//! A guard whose destructor must run is not enough, since `mem::forget` is safe and the peer would
//! write into freed memory. A scope is the guard that cannot be forgotten: [`Transport::scope`]
//! looks, after its closure has returned, whether every operation was finished, as
//! [`std::thread::scope`] does for threads.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use super::{Rank, RawTransport, Source, Status, Tag, Transport};
use crate::error::{Result, TransportError};

/// The promise, which only a [`Scope`] over `T` makes, that the operation started with it is
/// finished before the borrow of its buffer ends, or that the process ends first.
///
/// A backend's unsafe code may rely on this: there is no way to make a `Lease` outside this
/// module, `run` keeps the promise by counting, and a lease for one transport is none for
/// another, so that a wrapper around a transport has to go through a scope of its own.
pub struct Lease<T: ?Sized>(PhantomData<fn(&T)>);

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
    fn drop(&mut self) {
        let n_open = self.n_open.get();
        if n_open != 0 {
            self.transport.fail_job(&format!(
                "{n_open} unblocked request(s) were leaked, or were in flight during a panic"
            ));
        }
    }
}

/// Where unblocked calls live; made by [`Transport::scope`].
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

impl<'scope, 'env, T: Transport> Scope<'scope, 'env, T> {
    /// Starts to send `message` to `destination`; the message stays borrowed.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline]
    #[track_caller]
    pub fn unblocked_send(
        &'scope self,
        destination: Rank,
        tag: Tag,
        message: &'scope [u8],
    ) -> Result<SendRequest<'scope, 'env, T>> {
        // Counted first, so that not even a panic in the start would go unnoticed.
        self.open();
        let start =
            self.outstanding.transport.start_send(Lease(PhantomData), destination, tag, message);
        let op = start.inspect_err(|_| self.close())?;
        Ok(SendRequest { scope: self, op: Some(op) })
    }

    /// Starts to receive a message with `tag` from `source` into `buffer`; the buffer stays lent.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline]
    #[track_caller]
    pub fn unblocked_recv(
        &'scope self,
        source: Source,
        tag: Tag,
        buffer: &'scope mut [u8],
    ) -> Result<RecvRequest<'scope, 'env, T>> {
        // Counted first, as in `unblocked_send`.
        self.open();
        let start = self.outstanding.transport.start_recv(Lease(PhantomData), source, tag, buffer);
        let op = start.inspect_err(|_| self.close())?;
        Ok(RecvRequest { scope: self, op: Some(op) })
    }

    #[inline]
    fn open(&self) {
        self.outstanding.n_open.set(self.outstanding.n_open.get() + 1);
    }

    #[inline]
    fn close(&self) {
        self.outstanding.n_open.set(self.outstanding.n_open.get() - 1);
    }

    #[cold]
    fn note(&self, error: TransportError) {
        self.outstanding.first_error.borrow_mut().get_or_insert(error);
    }
}

/// A send in flight (the id that the thesis's `unblocked_send` returns). Dropping it waits.
#[must_use = "an unblocked send ends only when it is waited for"]
pub struct SendRequest<'scope, 'env, T: Transport> {
    scope: &'scope Scope<'scope, 'env, T>,
    op: Option<<T as RawTransport>::SendOp<'scope>>,
}

impl<T: Transport> fmt::Debug for SendRequest<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendRequest").finish_non_exhaustive()
    }
}

impl<T: Transport> SendRequest<'_, '_, T> {
    /// Waits until the message may be changed again (`wait_for_send_to_complete`).
    ///
    /// # Errors
    /// If the job has failed.
    #[inline]
    #[track_caller]
    pub fn wait(mut self) -> Result<()> {
        self.finish()
    }

    /// Makes progress; whether [`wait`](Self::wait) would return at once.
    #[inline]
    #[track_caller]
    pub fn test(&mut self) -> bool {
        self.op.as_mut().is_none_or(|op| self.scope.outstanding.transport.poll_send(op))
    }

    #[inline]
    #[track_caller]
    fn finish(&mut self) -> Result<()> {
        let Some(op) = self.op.take() else { return Ok(()) };
        let result = self.scope.outstanding.transport.finish_send(op);
        self.scope.close();
        result
    }
}

impl<T: Transport> Drop for SendRequest<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        // During a panic the peer may never answer: the open count then ends the job.
        if self.op.is_some()
            && !std::thread::panicking()
            && let Err(error) = self.finish()
        {
            self.scope.note(error);
        }
    }
}

/// A receive in flight (the id that the thesis's `unblocked_recv` returns). Dropping it waits.
#[must_use = "an unblocked receive ends only when it is waited for"]
pub struct RecvRequest<'scope, 'env, T: Transport> {
    scope: &'scope Scope<'scope, 'env, T>,
    op: Option<<T as RawTransport>::RecvOp<'scope>>,
}

impl<T: Transport> fmt::Debug for RecvRequest<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvRequest").finish_non_exhaustive()
    }
}

impl<'scope, T: Transport> RecvRequest<'scope, '_, T> {
    /// Waits until the message has arrived (`wait_for_recv_to_complete`); gives the buffer back.
    ///
    /// # Errors
    /// [`Truncated`](crate::error::TransportErrorKind::Truncated) if the message was longer than
    /// the buffer; other kinds if the job has failed.
    ///
    /// # Panics
    /// Never: only `wait` takes the operation out, and it takes the request with it.
    #[inline]
    #[track_caller]
    pub fn wait(mut self) -> Result<(Status, &'scope mut [u8])> {
        let op = self.op.take().expect("a request is waited for once");
        let (result, buffer) = self.scope.outstanding.transport.finish_recv(op);
        self.scope.close();
        Ok((result?, buffer))
    }

    /// Makes progress; whether [`wait`](Self::wait) would return at once.
    #[inline]
    #[track_caller]
    pub fn test(&mut self) -> bool {
        self.op.as_mut().is_none_or(|op| self.scope.outstanding.transport.poll_recv(op))
    }
}

impl<T: Transport> Drop for RecvRequest<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let Some(op) = self.op.take() else { return };
        let (result, _) = self.scope.outstanding.transport.finish_recv(op);
        self.scope.close();
        if let Err(error) = result {
            self.scope.note(error);
        }
    }
}
