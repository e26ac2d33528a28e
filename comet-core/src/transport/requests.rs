//! Sets of requests: waiting for all, for the first, or for some of them.

use std::fmt;
use std::mem;

use super::{Pending, Request, Scope, Status, Transport};
use crate::error::{Result, TransportError};

/// Operations of one kind in flight, numbered from 0 in the order in which they were pushed.
///
/// Waiting for the set is one call of the library where the transport is native (`MPI_Waitall`,
/// `MPI_Waitany`, `MPI_Waitsome`: MPI-4.1 section 3.7.5). Dropping the set waits for all of it.
///
/// ```
/// use comet_core::transport::{Source, Tag, Transport};
/// const TAG: Tag = Tag::new(1);
/// comet_core::local::run_alone(|t| {
///     let (message, mut buffers) = ([7u8; 4], [[0u8; 4]; 3]);
///     t.scope(|s| {
///         let (mut sends, mut receives) = (s.requests(), s.requests());
///         for buffer in &mut buffers {
///             receives.push(s.unblocked_recv(Source::Any, TAG, buffer)?);
///             sends.push(s.unblocked_send(0, TAG, &message)?);
///         }
///         let first = receives.wait_any()?.expect("three receives are in flight");
///         assert_eq!((first.0, first.1.0.length_bytes), (0, 4));
///         receives.wait_all()?;
///         sends.wait_all()
///     })?;
///     assert_eq!(buffers, [[7; 4]; 3]);
///     Ok::<_, comet_core::error::TransportError>(())
/// })
/// .unwrap();
/// ```
///
/// The compiler refuses to touch a buffer that is lent to a set:
///
/// ```compile_fail,E0502
/// # use comet_core::transport::{Source, Tag, Transport};
/// comet_core::local::run_alone(|t| {
///     let mut buffer = [0u8; 3];
///     t.scope(|s| {
///         let mut receives = s.requests();
///         receives.push(s.unblocked_recv(Source::Any, Tag::new(1), &mut buffer)?);
///         println!("{}", buffer[0]); // may be written at this moment
///         receives.wait_all()
///     })
/// });
/// ```
///
/// to free it too early:
///
/// ```compile_fail,E0597
/// # use comet_core::transport::{Source, Tag, Transport};
/// comet_core::local::run_alone(|t| {
///     t.scope(|s| {
///         let mut receives = s.requests();
///         {
///             let mut buffer = [0u8; 3]; // younger than the scope
///             receives.push(s.unblocked_recv(Source::Any, Tag::new(1), &mut buffer)?);
///         }
///         receives.wait_all()
///     })
/// });
/// ```
///
/// and to let a set out of its scope:
///
/// ```compile_fail
/// # use comet_core::transport::{Tag, Transport};
/// comet_core::local::run_alone(|t| {
///     let buffer = [0u8; 3];
///     let mut sends = t.scope(|s| {
///         let mut sends = s.requests();
///         sends.push(s.unblocked_send(t.rank(), Tag::new(1), &buffer)?);
///         Ok(sends)
///     })?;
///     sends.wait_all()
/// });
/// ```
#[must_use = "unblocked operations end only when they are waited for"]
pub struct Requests<'scope, 'env, T: Transport, P: Pending<T>> {
    scope: &'scope Scope<'scope, 'env, T>,
    ops: Vec<Option<P>>,
}

/// Memory of a set of requests between two scopes; it holds no operation.
pub struct Room<P>(Vec<Option<P>>);

impl<P> Room<P> {
    /// Memory for `n` operations, so that the first set allocates none.
    pub fn of(n: usize) -> Self {
        Self(Vec::with_capacity(n))
    }

    /// The memory as slots of another type, reused if that has the same layout: it does if the
    /// two differ in a lifetime only.
    #[inline]
    pub(crate) fn into_slots<Q>(self) -> Vec<Option<Q>> {
        self.0.into_iter().filter_map(|_| None).collect()
    }
}

impl<P> Room<P> {
    /// The memory of `slots`, which hold no operation any more.
    #[inline]
    pub(crate) fn of_slots<Q>(slots: Vec<Option<Q>>) -> Self {
        Self(Room(slots).into_slots())
    }
}

#[cfg(test)]
impl<P> Room<P> {
    /// Address and capacity of the memory.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.0.as_ptr().addr(), self.0.capacity())
    }
}

impl<P> Default for Room<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> fmt::Debug for Room<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").field("capacity", &self.0.capacity()).finish()
    }
}

shown!([T: Transport, P: Pending<T>] Requests<'_, '_, T, P>, "Requests", |this| n_slots: this.ops.len());

impl<'scope, 'env, T: Transport, P: Pending<T>> Requests<'scope, 'env, T, P> {
    #[inline]
    pub(super) fn new(scope: &'scope Scope<'scope, 'env, T>, ops: Vec<Option<P>>) -> Self {
        Self { scope, ops }
    }

    /// Adds `request`, under the next number.
    #[inline]
    pub fn push(&mut self, request: Request<'scope, 'env, T, P>) {
        self.ops.push(request.into_op());
    }

    /// Waits for all operations, and empties the set.
    ///
    /// # Errors
    /// The first error of an operation; all of them have ended in any case.
    #[inline]
    #[track_caller]
    pub fn wait_all(&mut self) -> Result<()> {
        self.wait_each(|_, _| ())
    }

    /// Waits for all operations, shows each result to `each` by its number, and empties the set.
    ///
    /// # Errors
    /// The first error of an operation; all of them have ended in any case.
    #[inline]
    #[track_caller]
    pub fn wait_each(&mut self, mut each: impl FnMut(usize, P::Out)) -> Result<()> {
        let (scope, mut outcome) = (self.scope, Ok(()));
        P::wait_all(scope.transport(), &mut self.ops, |index, result| {
            scope.close();
            match result {
                Ok(out) => each(index, out),
                Err(error) => keep_first(&mut outcome, error),
            }
        });
        self.ops.clear();
        outcome
    }

    /// Waits for the first operation to end: its number and result, or `None` for an empty set.
    /// The numbers of the others stay. Of several that have ended it is the one with the least number, or
    /// the library's choice over MPI.
    ///
    /// # Errors
    /// That of the operation, which has ended.
    #[inline]
    #[track_caller]
    pub fn wait_any(&mut self) -> Result<Option<(usize, P::Out)>> {
        let Some((index, result)) = P::wait_any(self.scope.transport(), &mut self.ops) else {
            return Ok(None);
        };
        self.scope.close();
        Ok(Some((index, result?)))
    }

    /// Waits for at least one operation, and shows the result of each that has ended to `each` by
    /// its number; returns how many have. 0 is for an empty set.
    ///
    /// # Errors
    /// The first error of an operation that has ended.
    #[inline]
    #[track_caller]
    pub fn wait_some(&mut self, mut each: impl FnMut(usize, P::Out)) -> Result<usize> {
        let (scope, mut outcome, mut n_ended) = (self.scope, Ok(()), 0);
        P::wait_some(scope.transport(), &mut self.ops, |index, result| {
            scope.close();
            n_ended += 1;
            match result {
                Ok(out) => each(index, out),
                Err(error) => keep_first(&mut outcome, error),
            }
        });
        outcome.map(|()| n_ended)
    }

    /// Makes progress; `true` if [`wait_all`](Self::wait_all) would return at once (`MPI_Testall`).
    #[inline]
    #[track_caller]
    pub fn test_all(&mut self) -> bool {
        for op in self.ops.iter_mut().flatten() {
            if !op.poll(self.scope.transport()) {
                return false;
            }
        }
        true
    }

    /// Waits for all operations, and gives the memory of the set back.
    ///
    /// # Errors
    /// The first error of an operation; all of them have ended in any case.
    #[inline]
    #[track_caller]
    pub fn into_room<Q>(mut self) -> Result<Room<Q>> {
        self.wait_all()?;
        Ok(Room::of_slots(mem::take(&mut self.ops)))
    }
}

impl<'scope, T: Transport> Requests<'scope, '_, T, T::RecvOp<'scope>> {
    /// Waits for all of these receives and all of `sends`, in one call of the library where the transport
    /// is native, shows each receive to `each` by its number, and empties both sets.
    ///
    /// # Errors
    /// The first error of a receive or else of a send; all of them have ended in any case.
    #[inline]
    #[track_caller]
    pub fn wait_each_with(
        &mut self,
        sends: &mut Requests<'scope, '_, T, T::SendOp<'scope>>,
        mut each: impl FnMut(usize, (Status, &'scope mut [u8])),
    ) -> Result<()> {
        let (scope, mut received, mut sent) = (self.scope, Ok(()), Ok(()));
        scope.transport().wait_for_both(
            &mut self.ops,
            &mut sends.ops,
            |index, result| {
                scope.close();
                match result {
                    Ok(out) => each(index, out),
                    Err(error) => keep_first(&mut received, error),
                }
            },
            |_, result| {
                scope.close();
                result.unwrap_or_else(|error| keep_first(&mut sent, error));
            },
        );
        self.ops.clear();
        sends.ops.clear();
        received.and(sent)
    }
}

/// Makes `outcome` the error, unless it is one already.
#[cold]
fn keep_first(outcome: &mut Result<()>, error: TransportError) {
    if outcome.is_ok() {
        *outcome = Err(error);
    }
}

impl<T: Transport, P: Pending<T>> Drop for Requests<'_, '_, T, P> {
    #[inline]
    fn drop(&mut self) {
        // During a panic the peer may never answer: the open count then ends the job.
        if !self.ops.is_empty()
            && !std::thread::panicking()
            && let Err(error) = self.wait_all()
        {
            self.scope.note(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{self, Local};
    use crate::transport::{RawTransport, Source, Tag};

    const TAG: Tag = Tag::new(1);

    #[test]
    fn a_room_keeps_its_memory_from_scope_to_scope() {
        let addresses = local::run_alone(|t| {
            let (message, mut addresses) = ([0u8; 8], Vec::new());
            let mut room: Room<<Local as RawTransport>::RecvOp<'static>> = Room::default();
            for _ in 0..3 {
                let mut buffers = [[0; 8]; 5];
                t.scope(|s| {
                    let mut receives = s.requests_in(mem::take(&mut room));
                    for buffer in &mut buffers {
                        receives.push(s.unblocked_recv(Source::Any, TAG, buffer)?);
                        s.unblocked_send(0, TAG, &message)?.wait()?;
                    }
                    room = receives.into_room()?;
                    Ok(())
                })
                .unwrap();
                addresses.push(room.place());
            }
            addresses
        });
        assert_eq!(addresses[0], addresses[1]);
        assert_eq!(addresses[1], addresses[2]);
    }
}
